/**
 * Programs as plain data for the native addon: buffers, steps, device code. `native/runtime/program.cpp` reads
 * a `ProgramSpec` and checks it.
 */
import type { TapeSpec } from '../../codegen/cpu/tape.js';
import type { BUFFER_ROLES } from '../../shared/layout.js';
import type { LibrarySpec } from '../calls/products/product-specs.js';
import type { LoopSkew, LoopState, StreamPlan, SweepWindows } from '../plan/plan.js';

export interface BufferSpec {
  /**
   * `spill`: host memory of the run, which sweeps write and read in windows; `state`: a loop says where it
   * lies.
   */
  readonly role: (typeof BUFFER_ROLES)[number];
  readonly byteLength: number;
  /** Byte offset in the arena, for temporaries: a multiple of 64 on the CPU, of 256 on a GPU. */
  readonly offset: number;
  /**
   * Whether only windows of it are ever on the device, brought in and out by sweeps. An input is then not
   * copied as a whole, an output has no memory on the device and is wanted on the host, a temporary has slots
   * only.
   */
  readonly windowed?: boolean | undefined;
  /**
   * Of an input of the CPU that is not in memory: whoever computes a block of a tape reads its elements then.
   */
  readonly readInBlocks?: boolean | undefined;
  /** Of a windowed output that stays on its device: the bytes [first, last) that are there. */
  readonly part?: readonly [first: number, last: number] | undefined;
}

/**
 * How an array lies in a buffer, axes from the fastest one on, and the box of it that a kernel copies at a time between
 * global and shared memory (`cp.async.bulk.tensor`). Strides are bytes, multiples of 16, of the axes from the second one on;
 * a box has at most 256 elements along an axis, and rows of a multiple of 16 bytes.
 */
export interface TensorMap {
  readonly buffer: number;
  readonly elementBytes: number;
  readonly sizes: readonly number[];
  readonly strides: readonly number[];
  readonly box: readonly number[];
}

/**
 * An argument of a CUDA kernel: a buffer's address, the bytes of a scalar, which may be a constant that comes with a run,
 * by its position, or the number of the first block
 * that runs (unsigned, 32 bits): that of a tile's range in a sweep, else 0; or how many steps of its loop it
 * does (the same), or how many were done before (signed, 64 bits); or the first and the end of the indices that are
 * there of buffers that are taken from in windows (signed, 64 bits): z0 and z1 of the tile's range; or a tensor map, of
 * 128 bytes at a multiple of 64 (`const __grid_constant__ CUtensorMap`), which the driver encodes for the buffer's address
 * in a run, zeros where that is no multiple of 16.
 */
export type LaunchArgument =
  | { readonly buffer: number }
  | { readonly bytes: Uint8Array; readonly number?: number | undefined }
  | { readonly block: 'x' | 'y' | 'first' | 'last' }
  | { readonly steps: true }
  | { readonly done: true }
  | { readonly tensorMap: TensorMap };

export type StepSpec =
  | RoutineSpec
  /** `tape`: its position in `tapes`, here and in phases. */
  | { readonly kind: 'tape'; readonly tape: number; readonly buffers: readonly number[] }
  | {
      readonly kind: 'launch';
      /** Position in `images`. */
      readonly image: number;
      readonly function: string;
      /** No dimension is 0. */
      readonly grid: readonly [number, number, number];
      readonly block: readonly [number, number, number];
      /** Dynamic shared memory. */
      readonly sharedByteLength: number;
      readonly args: readonly LaunchArgument[];
    }
  | LibrarySpec
  /** Sets a buffer's bytes to 0. */
  | { readonly kind: 'zero'; readonly buffer: number }
  /**
   * One phase of a tape over ranges of its slots; partial results stay in the last buffer, its scratch
   * memory.
   */
  | {
      readonly kind: 'tapePhase';
      readonly tape: number;
      readonly phase: number;
      readonly buffers: readonly number[];
    }
  /** Combines the partial results of a phase and computes what rows hold after it. */
  | {
      readonly kind: 'tapeFinish';
      readonly tape: number;
      readonly phase: number;
      readonly buffers: readonly number[];
    }
  | LoopSpec
  | SweepSpec;

/** A routine of Weft's own on the CPU (`native/cpu/routines.h`), which knows what its numbers are. */
export interface RoutineSpec {
  readonly kind: 'routine';
  readonly name: string;
  readonly numbers: readonly number[];
  readonly operands: readonly number[];
  readonly results: readonly number[];
  readonly workspace: number | undefined;
  /** Gives the elements of the first operand, which is then not among `operands`. */
  readonly prologue?: RoutineMapSpec;
  /** The same of the values that rows have in bins. */
  readonly weights?: RoutineMapSpec;
  /** Maps values of the routine's own, which are its buffer `given`. */
  readonly values?: RoutineMapSpec;
  /** Takes the elements of the routine as its buffer `given`, and writes the results. */
  readonly epilogue?: RoutineMapSpec;
}

/** A map of the elements of a routine on the CPU; `native/cpu/element-map.h`. */
export interface RoutineMapSpec {
  readonly tape: TapeSpec;
  /** -1: it is in no memory, or is the routine's result. */
  readonly buffers: readonly number[];
  /** -1: none. */
  readonly given: number;
  /** Of each result the operation (`SCAN_OPS`) by which its elements are combined, or -1; without it, none are. */
  readonly folds?: readonly number[];
}

/** Runs a body again and again; see `LoopStep` of `plan.ts`. */
export interface LoopSpec {
  readonly kind: 'loop';
  readonly steps: number;
  readonly condition: number;
  readonly every: number;
  readonly stepsAtOnce: number;
  readonly states: readonly LoopState[];
  /** Where sweeps are among them, states may lie in host memory. */
  readonly body: readonly StepSpec[];
  /**
   * The kernels that decide on a GPU whether to go on, and the temporary of `LOOP_RECORD_BYTES` that it
   * counts in; see `loop-check.ts`.
   */
  readonly check?:
    | { readonly image: number; readonly begin: string; readonly goOn: string; readonly record: number }
    | undefined;
  /** On the CPU, of a body of one tape without reductions. */
  readonly skew?: LoopSkew | undefined;
}

/** A buffer of which a sweep has windows on the device. */
export type SweepBuffer = SweepWindows;

/** A step of a sweep and what it runs for each tile. */
export interface SweepStep {
  readonly step: Exclude<StepSpec, SweepSpec>;
  /**
   * For each tile, six numbers: blocks [x0, x1) × [y0, y1) of a launch, tiles [x0, x1) of a tape, slots [y0,
   * y1) of a tape's phase, elements
   * [x0, x1) of the label y0 of a contraction, rows [x0, x1), columns [y0, y1) and contracted indices [z0, z1) of a matrix
   * product, which adds to its result where z0 > 0. Rows of a batch are counted on through all its matrices:
   * of several, x0 and x1 are multiples of m. Nothing runs where x0 = x1. Of a loop, for each tile the
   * numbers of every step of its body: the tile goes through all its runs.
   */
  readonly ranges: Float64Array;
}

/**
 * Walks tiles in order: copies windows in, runs the body on its ranges, copies windows out; copies overlap
 * other tiles' work. On the CPU a window of a value may begin with what the one before has of it.
 */
export interface SweepSpec {
  readonly kind: 'sweep';
  readonly tiles: number;
  /**
   * For each tile, the part that it belongs to: of those, a run does the ones that no other run with the same
   * tile queue has taken.
   */
  readonly queueParts?: Float64Array | undefined;
  readonly buffers: readonly SweepBuffer[];
  readonly body: readonly SweepStep[];
}

export interface ProgramSpec {
  /** `cpu` or `cuda:N`. */
  readonly device: string;
  readonly buffers: readonly BufferSpec[];
  readonly arenaByteLength: number;
  /** The most pinned memory for copies of each kind; without it, as much as is of use. */
  readonly copyByteLength?: number | undefined;
  /** The most memory of results that may be page-locked in all; without it, what the runtime finds right. */
  readonly lockByteLength?: number | undefined;
  /** Device code (cubin); `key` identifies it, so that a module is loaded once per device. */
  readonly images: readonly { readonly key: string; readonly bytes: Uint8Array }[];
  /** Those of the CPU's kernels, each once. */
  readonly tapes?: readonly TapeSpec[] | undefined;
  readonly steps: readonly StepSpec[];
  /**
   * There where products, routines and kernels of the CPU take, all together, no longer than to wake a thread for them. Of
   * few elements in kernels alone the addon knows it without.
   */
  readonly isShort?: true;
  /** Where a GPU runs each step, if not one after the other. */
  readonly streams?: StreamPlan | undefined;
  /**
   * Launches, products and zeroed buffers in a row that a GPU repeats as one CUDA graph; ascending. With
   * `streams`, graphs of all steps have them as branches; another is in one stream, only its first step waits
   * for others, and only its last is waited for.
   */
  readonly graphs?: readonly { readonly first: number; readonly count: number }[];
}

/** Opaque; freed by the collector. */
export interface NativeProgram {
  readonly __program: unique symbol;
}
