/**
 * Expr: the linked, immutable graph that user code builds. Each node knows its dtype and shape when it is
 * made.
 *
 * Kinds are a closed union handled by exhaustive switches; ops and reductions are rows of open tables. Bulk
 * data never sits in a node: a source refers to it. `NodeData` is what an Expr and a canonical graph's node
 * (`graph.ts`) share.
 */

import type { DType, Scalar } from './dtype.js';
import type { Epilogue } from './epilogue.js';
import type { CudaFunction, ElementLoop, MonoidPart } from './loop-step.js';
import type { OpName } from './ops.js';
import type { ReductionName } from './reductions.js';
import type { RoutineName } from './routines.js';
import type { UserKernel } from './user-kernel.js';

/** The size along each axis. */
export type Shape = readonly number[];

/**
 * Any typed array that can hold elements: 64-bit integers in bigint arrays, halves as their bits in
 * Uint16Array.
 */
export type TypedArray =
  | Int8Array
  | Uint8Array
  | Uint8ClampedArray
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | Float32Array
  | Float64Array
  | BigInt64Array
  | BigUint64Array;

/**
 * The typed array that holds the elements of each dtype: 64-bit integers are bigints, halves their bits,
 * complex numbers pairs.
 */
export interface TypedArrays {
  readonly bool: Uint8Array;
  readonly int8: Int8Array;
  readonly int16: Int16Array;
  readonly int32: Int32Array;
  readonly int64: BigInt64Array;
  readonly uint8: Uint8Array;
  readonly uint16: Uint16Array;
  readonly uint32: Uint32Array;
  readonly uint64: BigUint64Array;
  readonly float16: Uint16Array;
  readonly bfloat16: Uint16Array;
  readonly float32: Float32Array;
  readonly float64: Float64Array;
  readonly complex64: Float32Array;
  readonly complex128: Float64Array;
}

/**
 * Elements in host memory: `data[offset + Σ index[k] * strides[k]]`, in elements (a complex element is two
 * values).
 */
export interface HostSource {
  readonly type: 'host';
  readonly data: TypedArray;
  readonly offset: number;
  readonly strides: readonly number[];
}

/** A buffer on a device, contiguous in C order. */
export interface DeviceSource {
  readonly type: 'device';
  readonly buffer: DeviceBuffer;
}

/** Owned by the native side; freed by `dispose()` or the collector. */
export interface DeviceBuffer {
  /** `cpu`, `cuda:0` …; of one that is in shards, the devices of those: `cuda:0,cuda:1`. */
  readonly device: string;
  /** Where its bytes are, if they are on several devices. */
  readonly shards?: readonly Shard[];
  readonly byteLength: number;
  readonly disposed: boolean;
  /** Another buffer over the same memory, which is freed when all of them are disposed of. */
  share(): DeviceBuffer;
  dispose(): void;
}

/** Some bytes of a buffer, from `first` on. Shards may overlap. */
export interface Shard {
  readonly buffer: DeviceBuffer;
  readonly first: number;
}

/** The devices that hold a buffer. */
export const holdersOf = ({ device, shards }: DeviceBuffer): readonly string[] =>
  shards?.map(({ buffer }) => buffer.device) ?? [device];

/** A key that is equal for buffers of the same layout: devices and, for shards, their byte ranges. */
export const layoutOf = ({ device, shards }: DeviceBuffer): string =>
  shards === undefined
    ? device
    : shards.map(({ buffer, first }) => `${buffer.device}@${first}+${buffer.byteLength}`).join(',');

/** The integers 0 … n - 1 (int64, one axis), which exist only as indices in kernels. */
export interface IotaSource {
  readonly type: 'iota';
}

/**
 * Which file it was when its header was read: a file that is another one by now is refused when it is read.
 */
export interface FileStamp {
  readonly device: bigint;
  readonly inode: bigint;
  readonly byteLength: bigint;
  readonly modifiedNs: bigint;
}

/** CRC-32s of the bytes before a region that belong to it, and of those and the region's own together. */
export interface RegionChecksum {
  readonly head: number;
  readonly whole: number;
}

/** Bytes of a file that hold elements. */
export interface FileRegion {
  /** Absolute. */
  readonly path: string;
  readonly byteOffset: number;
  readonly byteLength: number;
  /** Whether the bytes of every value stand in the other order than in memory. */
  readonly swapped: boolean;
  readonly stamp: FileStamp;
  /** Where the format has one: it is checked when all of the region has been read, in however many parts. */
  readonly checksum?: RegionChecksum | undefined;
}

/**
 * Elements in a file, read when a graph runs; offset and strides in elements of the region, as a host
 * source's.
 */
export interface FileSource {
  readonly type: 'file';
  readonly region: FileRegion;
  readonly offset: number;
  readonly strides: readonly number[];
}

/** A line of elements that a function gives, in parts. */
export interface ElementReader {
  /** The name of the data in error messages. */
  readonly label: string;
  /** `count` elements from `start` on, in an array of the dtype's memory; called while a graph runs. */
  read(start: number, count: number, signal?: AbortSignal): Promise<TypedArray>;
}

/** Elements that come through JavaScript when a graph runs: decompressed, decoded, fetched. */
export interface ReaderSource {
  readonly type: 'reader';
  readonly reader: ElementReader;
  readonly offset: number;
  readonly strides: readonly number[];
}

/**
 * Elements in several arrays, one after the other: more than one ArrayBuffer can hold, or what came in parts.
 */
export interface ChunkedSource {
  readonly type: 'chunked';
  /** All of one type. */
  readonly chunks: readonly TypedArray[];
  readonly offset: number;
  readonly strides: readonly number[];
}

/** An argument of a loop's body, bound anew at each step; `index` is its position. Occurs in bodies only. */
export interface ArgumentSource {
  readonly type: 'argument';
  readonly index: number;
}

/**
 * The lower part of a deep graph, put aside until it is computed, before what reads it
 * (`fusion/passes/segment.ts`).
 */
export interface Segment {
  /** How many values it gives. */
  readonly valueCount: number;
}

/** A value of a segment, contiguous in C order. */
export interface SegmentSource {
  readonly type: 'segment';
  readonly segment: Segment;
  readonly value: number;
}

/** Sources that have elements in a line, which offset and strides say how to read. */
export type StridedSource = HostSource | ChunkedSource | FileSource | ReaderSource;

export type Source = StridedSource | DeviceSource | IotaSource | ArgumentSource | SegmentSource;

/** A view: output element to input element, without arithmetic. */
export type View =
  /** Same elements in C order, another shape. */
  | { readonly type: 'reshape' }
  /** Output axis k is input axis order[k]. */
  | { readonly type: 'permute'; readonly order: readonly number[] }
  /**
   * Output index i along axis k reads input index starts[k] + i * steps[k]; steps may be negative, never 0.
   */
  | { readonly type: 'slice'; readonly starts: readonly number[]; readonly steps: readonly number[] }
  /** NumPy broadcasting to the node's shape. */
  | { readonly type: 'broadcast' }
  /**
   * Output index i reads input index i - before[k] where that exists. Elsewhere it is zero, or with `fold` the
   * element at the index that is folded back, from at most `foldReach` outside of either end. Places before may be
   * negative: then the first elements are left out.
   */
  | { readonly type: 'pad'; readonly before: readonly number[]; readonly fold?: Fold | undefined };

/**
 * How an index outside of 0 … n - 1 is folded back, with SciPy's names: to the nearest end (`nearest`: a a | a b c
 * | c c), mirrored at the edge (`reflect`: b a | a b c | c b) or at the centre of the last element (`mirror`: c b
 * | a b c | b a), or from the other end (`wrap`: b c | a b c | a b).
 */
export type Fold = 'nearest' | 'reflect' | 'mirror' | 'wrap';

/** How far from an axis of n elements an index may be that is folded back. */
export const foldReach = (fold: Fold, n: number): number => {
  if (n === 0) return 0;
  if (fold === 'nearest' || n === 1) return Number.MAX_SAFE_INTEGER;
  return fold === 'mirror' ? n - 1 : n;
};

/**
 * The element that an index i of an axis of n elements reads: i modulo n (`wrap`), the nearest of 0 … n - 1
 * (`clip`), or i, counted from the end where negative (`raise`); then an index outside of -n … n - 1 is an
 * error, found before the graph runs.
 */
export type IndexMode = 'raise' | 'wrap' | 'clip';

/**
 * Of indices that only Weft takes by: in `raiseFromStart` a negative one is an error too; in `raiseStarts`, of starts of
 * rows, also a first one that is not 0, and one below the one before. An index of `inRange` is one of 0 … n - 1 by the way
 * it is computed, and is read as it is.
 */
export type GatherMode = IndexMode | 'raiseFromStart' | 'raiseStarts' | 'inRange';

/**
 * Indices, as they were given, of an axis whose size depends on data: others than from -length up to it are an error. Those
 * that the node has are from 0 on.
 */
export interface IndicesWithin {
  readonly indices: Expr;
  readonly length: Expr;
}

export type NodeData =
  | { readonly kind: 'source'; readonly source: Source }
  /** One value; its shape is []. */
  | { readonly kind: 'const'; readonly value: Scalar }
  /**
   * An op of the table. Inputs have the dtypes of the op's signature and broadcast to the node's shape
   * implicitly.
   */
  | { readonly kind: 'map'; readonly op: OpName }
  | { readonly kind: 'cast' }
  /** State number `result` after a loop of each element; inputs are its arguments, and broadcast. */
  | { readonly kind: 'repeat'; readonly loop: ElementLoop; readonly result: number }
  /** Result number `result` of a function of scalars in CUDA C, of inputs that broadcast. */
  | { readonly kind: 'function'; readonly function: CudaFunction; readonly result: number }
  /** Reduces `axes` (ascending, of the input) away; `keepdims` is a reshape after it. */
  | {
      readonly kind: 'reduce';
      readonly reduction: ReductionName;
      /** Of the reduction `monoid`: inputs are the parts of the accumulators, of one shape. */
      readonly monoid?: MonoidPart | undefined;
      readonly axes: readonly number[];
      /** Written out as ops by the kernels that need it, in the order of its elements (`unroll-reductions.ts`). */
      readonly unrolled?: boolean | undefined;
      /**
       * One kernel has a reduction for each of its few results, and computes once what these share of a row, whatever is stored
       * for others (`row-results.ts`); so does one that has it written out.
       */
      readonly together?: boolean | undefined;
      /** Its rows are those of so many equal reductions, one after the other, each of which keeps its order. */
      readonly batch?: number | undefined;
    }
  | { readonly kind: 'view'; readonly view: View }
  /** The inputs one after the other along an axis; their sizes along the others, and their dtypes, agree. */
  | { readonly kind: 'join'; readonly axis: number }
  /**
   * Σ over the labels missing from `output` of the product of the inputs; `labels[i]` names input i's axes.
   * Labels are small integers; every label has one size. Inputs and result have one dtype. With an epilogue
   * there are two factors, further inputs that it reads, and the result may have another dtype.
   */
  | {
      readonly kind: 'contract';
      readonly labels: readonly (readonly number[])[];
      readonly output: readonly number[];
      readonly precision: Precision | undefined;
      /** The most bytes of an intermediate, where the user says so. */
      readonly memoryLimit: number | undefined;
      readonly epilogue?: Epilogue | undefined;
      /**
       * The library that the user wants; of a lowered product `'cutensor'` where that computes it, with any
       * labels, and `'weft'` where the CPU is not to use a BLAS.
       */
      readonly library?: ProductLibrary | undefined;
      /** Positions of the factors of which the complex conjugates are multiplied, by cuTENSOR. */
      readonly conjugated?: readonly number[] | undefined;
    }
  /**
   * The elements of input 0 at the int64 indices of input 1 along `axis`, which becomes the axes of the
   * indices. Every index reads an element of the axis: `mode` says which, where it is out of range.
   */
  | {
      readonly kind: 'gather';
      readonly axis: number;
      readonly mode: GatherMode;
      /** The function that the user called; `take` where it is not said. */
      readonly asked?: string | undefined;
      readonly within?: IndicesWithin | undefined;
    }
  /**
   * Result number `result` of a routine over the inputs, which `routines.ts` describes. The nodes of one call
   * differ in nothing else.
   */
  | {
      readonly kind: 'call';
      readonly routine: RoutineName;
      readonly parameters: readonly number[];
      readonly result: number;
      /** The function that the user called, where indices may be out of range. */
      readonly asked?: string | undefined;
      /** Of the routine `kernel`. */
      readonly kernel?: UserKernel | undefined;
    }
  /**
   * One result of a loop: state number `result` after its last step, or, with `every`, the states after every
   * so many steps along a new first axis. The inputs are the states before the first step, then what the body
   * captures.
   */
  | { readonly kind: 'loop'; readonly loop: LoopBody; readonly result: number };

/**
 * Less than a dtype's own precision, in which a device may multiply. `tf32`: factors rounded to 10 bits of
 * mantissa, products and sums in float32; `tf32x3`: three such products of factors that are split in two. A
 * device without such units multiplies in full.
 */
export type Precision = 'tf32' | 'tf32x3' | 'tf32-stretched';

/** A library of products; `'weft'`: kernels of Weft's own. */
export type ProductLibrary = 'cutensor' | 'cublas' | 'weft';

/** How often a loop's body is run. */
export interface LoopCount {
  /** Steps; where there is a condition, at most so many. */
  readonly steps: number;
  /** The state, a single bool, without which the loop ends: it is looked at before every step. */
  readonly condition: number | undefined;
  /** Steps from one state that is kept to the next; undefined: the last state is the result. */
  readonly every: number | undefined;
}

/** A loop as the user builds it; the nodes of all its results share it. */
export interface LoopBody extends LoopCount {
  /**
   * The next states, from arguments: the states, then what is captured. Dtypes and shapes are those of the
   * states.
   */
  readonly next: readonly Expr[];
  /** Indices in the body that have to be in range before it runs: no step changes them. */
  readonly checked: readonly CheckedIndices[];
  /** Indices that each step looks at by itself. */
  readonly stepChecks: readonly StepCheck[];
}

/** Indices that the steps of a loop change (`step-checks.ts`). */
export interface StepCheck extends Pick<CheckedIndices, 'op' | 'axis' | 'from' | 'size' | 'site'> {
  /** The state that has the first one out of range, as int64; 0 while there is none. */
  readonly state: number;
  /** Whether that are the bits of a uint64. */
  readonly isUnsigned: boolean;
  /** The state that has the size of the axis then, where it depends on data. */
  readonly lengthState?: number | undefined;
}

/** Indices from `from` up to `size` of an axis, of which others are an error. */
export interface CheckedIndices {
  readonly indices: Expr;
  readonly op: string;
  readonly axis: number;
  readonly from: number;
  readonly size: number;
  /** The size of an axis where it depends on data: `size` is its bound then, and `from` the same below 0. */
  readonly length?: Expr;
  /** Whether the least of them has to be `from`. */
  readonly begins?: boolean;
  /** Whether what follows relies on them, where a gather by itself reads nothing outside of its axis. */
  readonly isReliedOn?: boolean;
  readonly site: Site | undefined;
}

export type NodeKind = NodeData['kind'];

/** Where the user made a node: a captured stack, formatted only when it is read. */
export interface Site {
  readonly stack?: string;
}

export interface NodeBase {
  readonly dtype: DType;
  readonly shape: Shape;
}

/**
 * A node as users build it. It never changes, but for this: one that is deep in a graph may become a segmented
 * source of the same value (`fusion/passes/segment.ts`).
 */
export type Expr = NodeData &
  NodeBase & {
    readonly inputs: readonly Expr[];
    readonly site: Site | undefined;
    /** Nodes on the longest way down to one without inputs, whose own is 0. */
    readonly depth: number;
    /**
     * Whether it meets arrays as a JavaScript number does, in their dtype where that holds its kind: the
     * number of a loop's step, and what is computed from it alone. Its own dtype is that of its kind: int64,
     * float64, complex128 or bool.
     */
    readonly weak: boolean;
    /** Of an axis whose size depends on data, whose size in `shape` is a bound (`extent.ts`). */
    readonly extent?: Extent | undefined;
  };
/** The true size of an axis: an int64 scalar. */
export interface Extent {
  readonly axis: number;
  readonly length: Expr;
}
export type ExprOf<K extends NodeKind> = Extract<Expr, { kind: K }>;
