/**
 * The plain data that goes to the native addon and comes back: programs, runs, descriptions.
 *
 * `native/runtime/program.cpp` reads a `ProgramSpec` and checks it; `native.ts` has the functions.
 */
import type { TapeSpec } from '../../codegen/cpu/tape.js';
import type { DeviceBuffer, FileStamp, RegionChecksum } from '../../graph/expr.js';
import type { MatrixOperand } from '../calls/call.js';
import type { LoopSkew, LoopState, StreamPlan, SweepWindows } from '../plan/plan.js';

export interface BufferSpec {
  /**
   * `spill`: host memory of the run, which sweeps write and read in windows; `state`: a loop says where it
   * lies.
   */
  readonly role: 'input' | 'output' | 'temporary' | 'spill' | 'state';
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
 * An argument of a CUDA kernel: a buffer's address, the bytes of a scalar, or the number of the first block
 * that runs (unsigned, 32 bits): that of a tile's range in a sweep, else 0; or how many steps of its loop it
 * does (the same), or how many were done before (signed, 64 bits).
 */
export type LaunchArgument =
  | { readonly buffer: number }
  | { readonly bytes: Uint8Array }
  | { readonly block: 'x' | 'y' }
  | { readonly steps: true }
  | { readonly done: true };

export type StepSpec =
  | RoutineSpec
  | { readonly kind: 'tape'; readonly tape: TapeSpec; readonly buffers: readonly number[] }
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
  | {
      readonly kind: 'matmul';
      /** Code of the dtype (`dtypeCode`). */
      readonly dtype: number;
      readonly m: number;
      readonly n: number;
      readonly k: number;
      readonly batch: number;
      readonly a: MatrixOperand;
      readonly b: MatrixOperand;
      readonly c: MatrixOperand;
      /** A temporary that it may use besides; without one, a product on the CPU takes memory of its own. */
      readonly workspace?: number | undefined;
    }
  /** Sets a buffer's bytes to 0. */
  | { readonly kind: 'zero'; readonly buffer: number }
  /**
   * One phase of a tape over ranges of its slots; partial results stay in the last buffer, its scratch
   * memory.
   */
  | {
      readonly kind: 'tapePhase';
      readonly tape: TapeSpec;
      readonly phase: number;
      readonly buffers: readonly number[];
    }
  /** Combines the partial results of a phase and computes what rows hold after it. */
  | {
      readonly kind: 'tapeFinish';
      readonly tape: TapeSpec;
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
}

/** A matrix product. */
export type ProductSpec = Extract<StepSpec, { kind: 'matmul' }>;

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
   * What decides on a GPU whether to go on, and the temporary of `LOOP_RECORD_BYTES` that it counts in; see
   * `loop-check.ts`.
   */
  readonly check?:
    | { readonly image: number; readonly begin: string; readonly goOn: string; readonly record: number }
    | undefined;
  /** On the CPU, of a body of one tape without reductions. */
  readonly skew?: LoopSkew | undefined;
}

/** Numbers for each window in `SweepBuffer.windows`. */
export const WINDOW_FIELDS = 6;
/** Numbers for each range in `SweepStep.ranges`. */
export const RANGE_FIELDS = 6;

/** A buffer of which a sweep has windows on the device. */
export type SweepBuffer = SweepWindows;

/** A step of a sweep and what it runs for each tile. */
export interface SweepStep {
  readonly step: Exclude<StepSpec, SweepSpec>;
  /**
   * For each tile, six numbers: blocks [x0, x1) × [y0, y1) of a launch, tiles [x0, x1) of a tape, slots [y0,
   * y1) of a tape's phase, rows [x0, x1), columns [y0, y1) and contracted indices [z0, z1) of a matrix
   * product, which adds to its result where z0 > 0. Rows of a batch are counted on through all its matrices:
   * of several, x0 and x1 are multiples of m. Nothing runs where x0 = x1. Of a loop, for each tile the
   * numbers of every step of its body: the tile goes through all its runs.
   */
  readonly ranges: Float64Array;
}

/**
 * Walks tiles in order: copies windows in, runs the body on its ranges, copies windows out; copies overlap
 * other tiles' work.
 */
export interface SweepSpec {
  readonly kind: 'sweep';
  readonly tiles: number;
  /**
   * For each tile, the part that it belongs to: of those, a run does the ones that no other run with the same
   * claims has.
   */
  readonly claims?: Float64Array | undefined;
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
  readonly steps: readonly StepSpec[];
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

/** A region of a file, read by native threads while a program runs. */
export interface FileInput {
  readonly path: string;
  readonly byteOffset: number;
  readonly byteLength: number;
  /** Bytes of the values whose bytes stand in the other order: 2, 4 or 8; 0: in this one. */
  readonly swap: number;
  readonly stamp: FileStamp;
  /** Of a region that has the bytes that are read. */
  readonly checksum?:
    | (RegionChecksum & { readonly byteOffset: number; readonly byteLength: number })
    | undefined;
}

/** Elements in several pieces, as their bytes, one after the other. */
export interface ChunkedInput {
  readonly chunks: readonly (Uint8Array | DataView)[];
}

/** An array that JavaScript reads part by part while the run is under way. */
export interface ReaderInput {
  readonly byteLength: number;
  /** Calls `done` once, now or later: with the bytes, or without any where they cannot be read. */
  readonly read: (byteOffset: number, byteLength: number, done: (bytes?: Uint8Array) => void) => void;
}

/** Some bytes of a buffer, from `first` on, in the memory of a GPU. */
export interface BufferPiece {
  readonly buffer: DeviceBuffer;
  readonly first: number;
}

/** A buffer whose bytes are in pieces on several GPUs: they may overlap, and have all that the run needs. */
export interface PiecesInput {
  readonly pieces: readonly BufferPiece[];
}

/** What fills a buffer of role `input`. */
export type RunInput = ArrayBufferView | DeviceBuffer | FileInput | ChunkedInput | ReaderInput | PiecesInput;

/** A place in an open file that a result is written to by native threads. */
export interface FileOutput {
  readonly fd: number;
  /** For messages. */
  readonly path: string;
  readonly byteOffset: number;
  /** As for a FileInput. */
  readonly swap: number;
  /** Given: the CRC-32 of the bytes before the result, if one is wanted of those and the result. */
  readonly checksum?: number | undefined;
}

/**
 * Where a result is wanted: in host memory, on its device, in files, or, on a GPU for one of which there are
 * windows only, in host memory of as many bytes (`allocateHost`), of which the run writes those that it
 * makes.
 */
export type OutputPlace = 'host' | 'device' | readonly FileOutput[] | DeviceBuffer;

export interface RunOptions {
  /** For each output buffer. */
  readonly outputs: readonly OutputPlace[];
  /** Token made by `createCancel`, or undefined. */
  readonly cancel?: object | undefined;
  /** Whether the result says when things happened. */
  readonly timeline?: boolean | undefined;
  /**
   * Whether results that all stay on a GPU are wanted once their work is queued: what fails then shows in a
   * later run.
   */
  readonly whenQueued?: boolean | undefined;
  /**
   * The same for runs of any length: results are wanted once they are queued, where they all stay on a GPU
   * and the run reads nothing of JavaScript's. Other devices may read them, too.
   */
  readonly ahead?: boolean | undefined;
  /**
   * Made by `createClaims`, the same for all runs that share the tiles of a sweep; undefined for a program
   * without such a one.
   */
  readonly claims?: object | undefined;
}

/** When things happened to a run, in nanoseconds after it was asked for. */
export interface RunTimeline {
  /** The device's executor took it: before that, it waited for runs before it. */
  readonly taken: number;
  /** All its work was queued. */
  readonly issued: number;
  /** Its end was seen on a native thread. */
  readonly ended: number;
  /** JavaScript was told. */
  readonly told: number;
}

export interface RunResult {
  /**
   * One for each buffer of role `output`, in the order of `ProgramSpec.buffers`; without bytes if it went to
   * files or to an array that was there.
   */
  readonly outputs: readonly (ArrayBuffer | DeviceBuffer)[];
  /**
   * For each output, the checksums of the files it went to, 0 where none was wanted; empty if none went to
   * files.
   */
  readonly checksums: readonly (readonly number[])[];
  /** From when the device's executor took the run to when its end was seen, in nanoseconds. */
  readonly nanoseconds: number;
  /** Whether the run went ahead: it has not ended yet, and its end is that of a later run on the device. */
  readonly isAhead: boolean;
  /** There if it was asked for. */
  readonly timeline?: RunTimeline;
}

/**
 * Host memory that the process may use (the machine's, or the limit of its container), and of it what is
 * free.
 */
export interface HostMemory {
  readonly totalBytes: number;
  readonly freeBytes: number;
}

/** The bytes a device's pool has out, holds from the system, and had out at most since the last `trim`. */
export interface MemoryReport {
  readonly device: string;
  readonly inUse: number;
  readonly held: number;
  readonly peak: number;
  /**
   * The most that runs held at once since the last `trim`: on the CPU, beside inputs in memory and results.
   */
  readonly workPeak: number;
  /** Pinned host memory that copies to and from the device go through. */
  readonly staging: number;
}

/**
 * The most bytes of pinned memory that the small inputs and results of a run go through, and copies of larger
 * ones in a direction.
 */
export interface StagingLimits {
  readonly packed: number;
  readonly copies: number;
  /** With less than this nothing can be copied. */
  readonly leastCopies: number;
}

/** Numbers for each span in `RawTimeline.spans`. */
export const SPAN_FIELDS = 7;
/** Numbers for each sample in `RawTimeline.samples`. */
export const SAMPLE_FIELDS = 3;

/** What was recorded from `beginProfile` to `endProfile`. Times are nanoseconds after the begin. */
export interface RawTimeline {
  /** Streams of devices, and threads of the `host`. */
  readonly tracks: readonly { readonly device: string; readonly name: string }[];
  readonly names: readonly string[];
  /**
   * Of each: track, kind (`Kind` of `native/runtime/recorder.h`), name, begin, end, bytes, tile (-1: none).
   */
  readonly spans: Float64Array;
  /** Of each: name of the device, time, bytes that it has out from then on. */
  readonly samples: Float64Array;
  readonly nanoseconds: number;
  /** Spans and samples that were not kept: there were too many, or a device did not tell their times. */
  readonly dropped: number;
}

/**
 * How many objects of the driver and of cuBLAS a CUDA device keeps for its next run; none where it was never
 * used.
 */
export interface KeptObjects {
  readonly streams: number;
  readonly events: number;
  readonly modules: number;
  readonly pools: number;
  readonly cublasHandles: number;
  /** CUDA graphs, and those among them that can be launched. */
  readonly graphs: number;
  readonly graphExecs: number;
}

export interface CpuInfo {
  /** The instruction set in use: `avx512`, `avx2`, `baseline`, `neon`. */
  readonly isa: string;
  readonly threads: number;
  /** The vector mathematics library in use; null: own functions. */
  readonly vectorMath: string | null;
  readonly blas: { readonly path: string; readonly name: string } | null;
}

export interface LibraryInfo {
  readonly path: string;
  readonly version: string;
}

export interface DriverInfo extends LibraryInfo {
  /** Whether its graphs can have loops (CUDA 12.4 and later). */
  readonly conditionalNodes: boolean;
  /** Why no device can be used although the library is there: what it said when it was started. */
  readonly error?: string;
}

export interface NvrtcInfo extends LibraryInfo {
  /** The library NVRTC needs beside it; null: it is not there. */
  readonly builtins: string | null;
  /** Compute capabilities it compiles for: 90 is 9.0. */
  readonly architectures: readonly number[];
}

/** What looking for a library gave: `tried` says what was passed over, and why. */
export interface Lookup<T> {
  readonly library: T | null;
  readonly tried: readonly string[];
}

export interface CudaDeviceInfo {
  /** `cuda:0` … */
  readonly device: string;
  readonly name: string;
  /** Major and minor: [9, 0]. */
  readonly computeCapability: readonly [number, number];
  readonly totalBytes: number;
  readonly multiprocessorCount: number;
  readonly maxThreadsPerMultiprocessor: number;
  readonly sharedMemoryPerBlockOptin: number;
  readonly sharedMemoryPerMultiprocessor: number;
  readonly l2ByteLength: number;
  /** Whether the device has stream-ordered memory pools, which Weft needs. */
  readonly memoryPools: boolean;
  /** What went wrong when the device was asked; then other fields may be missing. */
  readonly error?: string;
}

/**
 * What there is of CUDA. It does not change while the process lives; each library is loaded when it is first
 * read.
 */
export interface CudaInfo {
  readonly driver: DriverInfo | null;
  readonly devices: readonly CudaDeviceInfo[];
  readonly nvrtc: NvrtcInfo | null;
  readonly cublas: LibraryInfo | null;
  /** For each library, what was passed over and why. */
  readonly tried: {
    readonly driver: readonly string[];
    readonly nvrtc: readonly string[];
    readonly cublas: readonly string[];
  };
}

export interface CudaEntryPoints {
  readonly driver: readonly string[];
  readonly nvrtc: readonly string[];
  readonly cublas: readonly string[];
}

export interface CompiledImage {
  /** Machine code (cubin) where the options name a real architecture (`sm_90`), PTX for a virtual one. */
  readonly image: Uint8Array;
  /** Warnings; empty: none. */
  readonly log: string;
}
