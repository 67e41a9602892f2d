/**
 * The plain data that goes to the native addon with a run and comes back: inputs, results, timelines,
 * descriptions. Programs are in `program-types.ts`; `native.ts` has the functions.
 */

import type { DeviceBuffer, FileStamp, RegionChecksum } from '../../graph/expr.js';
import type { CudaLibraryTexts } from './cuda-libraries.js';

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

/** The data for a buffer of role `input`. */
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
export type OutputDestination = 'host' | 'device' | readonly FileOutput[] | DeviceBuffer;

export interface RunOptions {
  /** For each output buffer. */
  readonly outputs: readonly OutputDestination[];
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
   * Made by `createTileQueue`, the same for all runs that share the tiles of a sweep; undefined for a program
   * without such a one.
   */
  readonly tileQueue?: object | undefined;
  /** The constants that come with the run, `CONSTANT_BYTES` each; undefined for a program without such ones. */
  readonly numbers?: Uint8Array | undefined;
}

/** When things happened to a run, in nanoseconds after it was asked for. */
export interface RunTimeline {
  /** The device's executor took it: before that, it waited for runs before it. */
  readonly taken: number;
  /** All its work was queued. */
  readonly issued: number;
  /** Its end was seen on a native thread. */
  readonly ended: number;
  /** Its result was handed to JavaScript. */
  readonly reported: number;
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

/** The recording from `beginProfile` to `endProfile`. Times are nanoseconds after the begin. */
export interface RawTimeline {
  /** Streams of devices, and threads of the `host`. */
  readonly tracks: readonly { readonly device: string; readonly name: string }[];
  readonly names: readonly string[];
  /** Of each, the numbers of `SPAN`; the tile is -1 where there is none. */
  readonly spans: Float64Array;
  /** Of each, the numbers of `SAMPLE`: name of the device, time, bytes that it has out from then on. */
  readonly samples: Float64Array;
  readonly nanoseconds: number;
  /** Spans and samples that were not kept: there were too many, or a device did not tell their times. */
  readonly dropped: number;
}

/**
 * How many objects of the driver and of libraries a CUDA device keeps for its next run; none where it was never
 * used.
 */
export interface KeptObjects {
  readonly streams: number;
  readonly events: number;
  readonly modules: number;
  readonly pools: number;
  readonly cublasHandles: number;
  readonly cublasLtHandles: number;
  readonly cutensorHandles: number;
  readonly cutensorPlans: number;
  readonly cufftPlans: number;
  readonly cusolverHandles: number;
  readonly cudssHandles: number;
  readonly cudssFactors: number;
  /** CUDA graphs, and those among them that can be launched. */
  readonly graphs: number;
  readonly graphExecs: number;
}

/** A BLAS or LAPACK library. */
export interface MathLibrary {
  readonly name: string;
  readonly path: string;
}

export interface CpuInfo {
  /** The instruction set in use: `avx512`, `avx2`, `baseline`, `neon`. */
  readonly isa: string;
  /** Whether loops of elements are compiled to machine code; else they are interpreted. */
  readonly compilesLoops: boolean;
  /** Blocks of elements that loops have run in this process: interpreted, or by code for numbers of a kind. */
  readonly loopBlocks: Readonly<Record<'interpreted' | 'general' | 'bounded' | 'narrow', number>>;
  /** How often chains of a tape were set up to run as machine code of their own in this process. */
  readonly chainCodes: number;
  readonly threads: number;
  /** The vector mathematics library in use; null: own functions. */
  readonly vectorMath: string | null;
  readonly blas: MathLibrary | null;
  /** With the functions that it lacks, by LAPACK's names. */
  readonly lapack: (MathLibrary & { readonly missing: readonly string[] }) | null;
  /** By the precision of Fourier transforms. */
  readonly fft: { readonly float32: MathLibrary | null; readonly float64: MathLibrary | null };
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

export interface CudssInfo extends LibraryInfo {
  /** The library beside it by which several threads of the host order unknowns; null: one thread does. */
  readonly threads: string | null;
  /** Those that do not load, with reasons. */
  readonly triedThreads: readonly string[];
}

/** The outcome of a search for a library: `tried` lists rejected paths with reasons. */
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
  /** The rate of its memory by its clock and bus; 0: the driver does not tell. */
  readonly memoryBytesPerSecond: number;
  /** Whether it copies tiles of tensors by itself, as devices of compute capability 9.0 and later do. */
  readonly tensorMaps: boolean;
  /** Whether the device has stream-ordered memory pools, which Weft needs. */
  readonly memoryPools: boolean;
  /** The error of querying the device; then other fields may be missing. */
  readonly error?: string;
}

/**
 * The CUDA installation. It does not change while the process lives; each library is loaded when it is first
 * read.
 */
export interface CudaInfo {
  readonly driver: DriverInfo | null;
  readonly devices: readonly CudaDeviceInfo[];
  readonly nvrtc: NvrtcInfo | null;
  readonly cublas: LibraryInfo | null;
  readonly cublasLt: LibraryInfo | null;
  readonly cutensor: LibraryInfo | null;
  readonly cufft: LibraryInfo | null;
  readonly cusolver: LibraryInfo | null;
  readonly cudss: CudssInfo | null;
  /** For each library, what was passed over and why. */
  readonly tried: CudaLibraryTexts;
}

/** How a tensor of DLPack lies that is made of an array: in C order. Types and codes are DLPack's. */
export interface DlpackLayout {
  readonly shape: readonly number[];
  readonly code: number;
  readonly bits: number;
  readonly deviceType: number;
  readonly deviceId: number;
  readonly isReadOnly: boolean;
  /** The stream of the reader; 0: none. */
  readonly stream: bigint;
}

/** A tensor of DLPack. Of another version than 1.x only that is known. */
export type DlpackDescription = { readonly major: number } & Partial<DlpackTensor>;

export interface DlpackTensor
  extends Pick<DlpackLayout, 'shape' | 'code' | 'bits' | 'deviceType' | 'deviceId'> {
  /** Of the element at the indices 0. */
  readonly address: bigint;
  readonly lanes: number;
  /** In elements; absent: C order. */
  readonly strides?: readonly number[];
}

/** An algorithm of cuBLASLt, in words of 32 bits, and how long a call of it takes. */
export interface MeasuredAlgorithm {
  readonly algorithm: readonly number[];
  readonly seconds: number;
}

/** A launch, as far as its resources go. */
export interface ResourceLaunch {
  readonly function: string;
  /** Of a block. */
  readonly threads: number;
  /** Dynamic, of a block. */
  readonly sharedByteLength: number;
}

/** A launch to be timed, on buffers by their positions. */
export interface TimedLaunch {
  readonly function: string;
  readonly grid: readonly number[];
  readonly block: readonly number[];
  readonly sharedByteLength: number;
  readonly args: readonly ({ readonly buffer: number } | { readonly bytes: Uint8Array })[];
}

/** A buffer of launches that are timed, and the bytes that it consists of before them, again and again. */
export interface FilledBuffer {
  readonly byteLength: number;
  readonly pattern: Uint8Array;
}

/** The resources of a multiprocessor that a kernel takes, for a block of some threads. */
export interface KernelResources {
  /** Of a thread; 0 on the simulated GPU, which has none. */
  readonly registers: number;
  /** Memory of a thread: registers that were spilled, and arrays with indices that are not known. */
  readonly localBytes: number;
  /** Of a block, static and dynamic. */
  readonly sharedBytes: number;
  /** Blocks that a multiprocessor runs at a time. */
  readonly blocks: number;
}

export interface CompiledImage {
  /** Machine code (cubin) where the options name a real architecture (`sm_90`), PTX for a virtual one. */
  readonly image: Uint8Array;
  /** Warnings; empty: none. */
  readonly log: string;
  /** The name of the function that was asked for, as it is in the image. */
  readonly entry?: string | undefined;
}

/** A square sparse matrix by rows on a GPU, for cuDSS. */
export interface SparseProblem {
  /** The code of its dtype. */
  readonly dtype: number;
  /** Whether starts of rows, and columns, are int64, else int32. */
  readonly hasWideStarts: boolean;
  readonly hasWideColumns: boolean;
  readonly n: number;
  readonly stored: number;
  /** Whether it is the lower triangle of a Hermitian matrix that is positive definite. */
  readonly isPositive: boolean;
  /** The most bytes of the device that its factors may take. */
  readonly most: number;
}

/** Factors on a GPU, which are there as long as memory is that stands for them. */
export interface SparseFactorsInfo {
  /** Which ones they are, for solves. */
  readonly number: number;
  /** Elements of the factors. */
  readonly stored: number;
  /** Pivots that were too small, and so made larger. */
  readonly replacedPivots: number;
  readonly hasFailed: boolean;
}

export interface RawFactors extends SparseFactorsInfo {
  readonly handle: object;
  readonly byteLength: number;
}
