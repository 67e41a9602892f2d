/**
 * Names, codes, field orders and limits that C++ and TypeScript both know: those of `native/shared/layout.h`.
 * Written by scripts/make-layout.mjs from the addon: do not edit. Positions are codes.
 */

/** Every dtype, in promotion order within its kind. The position is its code. */
export const DTYPES = [
  'bool',
  'int8',
  'int16',
  'int32',
  'int64',
  'uint8',
  'uint16',
  'uint32',
  'uint64',
  'float16',
  'bfloat16',
  'float32',
  'float64',
  'complex64',
  'complex128',
] as const;
/** Bytes of an element of each. */
export const DTYPE_BYTES = [1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8, 8, 16] as const;
/** First word of an instruction of a tape. */
export const OPCODE = {
  load: 0,
  index: 1,
  inside: 2,
  map: 3,
  cast: 4,
  reduce: 5,
  store: 6,
  chain: 7,
} as const;
/** Roles of a tape's loops: the axes that they walk. */
export const LOOP_ROLE = { unit: 0, lanes: 1, rows: 2, shared: 3 } as const;
/** Axes that a block's lanes lie on. */
export const LANE_KIND = { parallel: 0, reduced: 1, both: 2 } as const;
/** How an affine function changes from lane to lane. */
export const LANE_MODE = { splat: 0, stride: 1, table: 2 } as const;
/** The value of a load outside of a bound. */
export const OUTSIDE = { zero: 0, nearest: 1, reflect: 2, mirror: 3, wrap: 4 } as const;
/** Where a tape keeps a value. */
export const STORAGE = { block: 0, row: 1, constant: 2 } as const;
/** Operands of a chain's steps. */
export const CHAIN_OPERAND = { input: 0, slot: 1, output: 2, reduction: 3 } as const;
/** Numbers of a window of a sweep, for each tile. */
export const WINDOW = { slot: 0, copies: 1, first: 2, width: 3, rows: 4, pitch: 5 } as const;
/** Numbers of what a step of a sweep runs, for each tile. */
export const RANGE = { x0: 0, x1: 1, y0: 2, y1: 3, z0: 4, z1: 5 } as const;
/** Numbers of a span of a timeline. */
export const SPAN = { track: 0, kind: 1, name: 2, begin: 3, end: 4, bytes: 5, tile: 6 } as const;
/** Numbers of a sample of memory in a timeline. */
export const SAMPLE = { device: 0, time: 1, bytes: 2 } as const;
/** Kinds of spans of native work. */
export const NATIVE_SPAN_KINDS = [
  'kernel',
  'library',
  'graph',
  'zero',
  'copy in',
  'copy out',
  'copy within',
  'copy between',
  'queue',
  'stage',
  'read',
  'write',
  'compile',
  'load',
] as const;
/** Roles of a program's buffers. */
export const BUFFER_ROLES = ['input', 'output', 'temporary', 'spill', 'state'] as const;
/** The property of a launch's argument that says which it is. */
export const LAUNCH_ARGUMENTS = ['buffer', 'bytes', 'block', 'steps', 'done', 'tensorMap'] as const;
/** Fields, with their types, of what counts a loop's steps on a GPU. */
export const LOOP_RECORD = {
  steps: 'long long',
  until: 'unsigned long long',
  isOver: 'unsigned long long',
} as const;
/** Values of a partial result: of the argument's dtype, its component's, the result's. */
export const PARTIAL_RESULTS = {
  argmin: [1, 0, 1],
  argmax: [1, 0, 1],
  squaredDeviations: [1, 2, 0],
  logsumexp: [0, 0, 2],
  sumexp: [0, 0, 2],
} as const;
/** How many those of a window are. */
export const WINDOW_FIELDS = 6;
/** How many those of a range are. */
export const RANGE_FIELDS = 6;
/** How many those of a span are. */
export const SPAN_FIELDS = 7;
/** How many those of a sample are. */
export const SAMPLE_FIELDS = 3;
/** Bytes of a loop's record. */
export const LOOP_RECORD_BYTES = 24;
/** Lanes of the smallest unit that a CPU function works on; widths are padded to it. */
export const CHUNK = 64;
/** Elements that a lane of a reduction on the CPU takes up in a row before they meet others in the tree. */
export const LEAF_STEPS = 16;
/** Bytes of a constant of a tape, which is in its dtype, little endian. */
export const CONSTANT_BYTES = 16;
/** Alignment of host memory and of buffers in the CPU's arenas: a cache line. */
export const HOST_ALIGNMENT = 64;
/** Alignment of buffers in arenas and of windows in slots, on any device. */
export const DEVICE_ALIGNMENT = 256;
/** Bytes from which on blocks of host memory are rounded to more than that. */
export const HOST_LEAST_PAGED = 65536;
/** Bytes to which such blocks are rounded that a run works in. */
export const HOST_PAGE = 4096;
/** Bytes to which such blocks are rounded that are for results. */
export const HOST_GRANULE = 65536;
/** Bytes to which the smallest blocks of a GPU's pool are rounded. */
export const DEVICE_LEAST_STEP = 512;
/** Bytes to which the largest blocks of a GPU's pool are rounded. */
export const DEVICE_MOST_STEP = 2097152;
/** Sizes of a GPU's other blocks from one power of two to the next. */
export const DEVICE_STEPS = 128;
/** Bytes of an array up to which it is copied beside others, packed. */
export const PACKED_BYTES = 65536;
/** The most streams of a GPU that the steps of a program run in. */
export const MOST_STREAMS = 8;
/** Instructions times elements of tapes, by the weights of their ops, that one thread does soon: in 2 to 20 us. */
export const SHORT_WORK = 50000;
/** Contracted indices on the CPU whose products are summed before the next. */
export const MATMUL_GRANULE = 2048;
/** Elements of a dot product that are summed by themselves: from two such on, a tree. */
export const DOT_SLOT = 65536;
/** Dot products that are too many for trees. */
export const MANY_DOTS = 64;
/** Blocks of a launch along x: CUDA's limit on every device. */
export const MAX_GRID_X = 2147483647;
/** Blocks of a launch along y or z. */
export const MAX_GRID_YZ = 65535;
/** Threads of a block. */
export const MAX_BLOCK_THREADS = 1024;
/** Threads of a block along z. */
export const MAX_BLOCK_Z = 64;
/** Bytes of a scalar argument of a launch. */
export const MAX_SCALAR_BYTES = 4096;
