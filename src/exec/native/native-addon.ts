/**
 * Loads the native addon, the only place that does, and gives its failures the classes of `errors.ts`. What
 * the addon exports is called by `native.ts`, `native-run.ts`, `device-buffers.ts` and `native-cuda.ts`.
 */
import { createRequire } from 'node:module';
import { getSystemErrorName } from 'node:util';
import type { TapeSpec } from '../../codegen/cpu/tape.js';
import { type Config, config } from '../../host/config.js';
import {
  ArgumentError,
  CompileError,
  DeviceError,
  DeviceLostError,
  FileError,
  InternalError,
  MemoryError,
  NativeError,
} from '../../host/errors.js';
import { PACKAGE_FOLDER } from '../../host/package-folder.js';
import type { Size } from '../../host/parse-size.js';
import type { WorkspaceNeed } from '../calls/call.js';
import type { ProductSpec } from '../calls/products/product-specs.js';
import { findAddon } from './addon-file.js';
import { blasFiles } from './blas-libraries.js';
import { type CudaLibraryTexts, cudaCandidates } from './cuda-libraries.js';
import { type FftFiles, fftFiles, NO_FFT_FILES } from './fft-libraries.js';
import { MOST_EXTERNAL_BYTES } from './host-memory.js';
import type {
  CompiledImage,
  CpuInfo,
  CudaDeviceInfo,
  CudssInfo,
  DlpackDescription,
  DlpackLayout,
  DriverInfo,
  FileOutput,
  FilledBuffer,
  HostMemory,
  KeptObjects,
  KernelResources,
  LibraryInfo,
  Lookup,
  MeasuredAlgorithm,
  MemoryReport,
  NvrtcInfo,
  RawFactors,
  RawTimeline,
  ResourceLaunch,
  SparseProblem,
  StagingLimits,
  TimedLaunch,
} from './native-types.js';
import type { ProgramSpec, RoutineSpec } from './program-types.js';

/** The result of a run: its outputs, then times in nanoseconds. */
export type RawResult = readonly (ArrayBuffer | object | readonly number[] | undefined | number)[];

/** The exports of the addon (`native/addon.cpp`). */
interface Addon {
  /** A program is made of a spec without its buffers and steps, then some of each at a time, then the rest. */
  beginProgram(spec: ProgramSpec): object;
  addBuffers(draft: object, spec: ProgramSpec, count: number): void;
  addTapes(draft: object, spec: ProgramSpec, count: number): void;
  addSteps(draft: object, spec: ProgramSpec, count: number): void;
  endProgram(draft: object, spec: ProgramSpec): object;
  /** `inputs` is the caller's no more. Outputs are ArrayBuffers or handles; small runs give them at once. */
  run(
    program: object,
    inputs: readonly (ArrayBufferView | object)[],
    keep: readonly (boolean | readonly FileOutput[] | object)[],
    cancel: object | undefined,
    timeline: boolean,
    whenQueued: boolean,
    ahead: boolean,
    tileQueue: object | undefined,
    numbers: Uint8Array | undefined,
  ): RawResult | Promise<RawResult>;
  /**
   * Runs a small program of the CPU: the memory of its inputs, of its outputs, then its constants. Bits of `given` say which
   * inputs are there, from bit 16 on which outputs; the others lie where they lay in the last run. Undefined: the outputs
   * are there; else `run` is to be called, false: for each run of this program.
   */
  runSmall(program: object, given: number, ...memory: readonly (object | undefined)[]): boolean | undefined;
  settle(pollsAgain: boolean, spins: boolean): number;
  writeFiles(bytes: ArrayBuffer, files: readonly FileOutput[]): Promise<readonly number[]>;
  allocateHost(device: string, byteLength: number, lockByteLength: number | undefined): object;
  guardPath(path: string): object;
  releasePath(handle: object): void;
  exchangePaths(one: string, other: string): Promise<boolean>;
  reserveFile(fd: number, byteLength: number, path: string): Promise<void>;
  sliceMemory(handle: object, first: number, byteLength: number): object;
  hostArray(handle: object): ArrayBuffer;
  disposeBuffer(handle: object): void;
  releaseCollected(): readonly [freed: number, young: number, aged: number];
  hasCollected(): boolean;
  bufferAddress(handle: object): bigint;
  wrapMemory(device: string, address: bigint, byteLength: number, release: () => void): object;
  makeDlpack(source: object, layout: DlpackLayout): object;
  describeDlpack(tensor: unknown): DlpackDescription | undefined;
  takeDlpack(capsule: object): bigint;
  deleteDlpack(tensor: bigint): void;
  makeStreamWait(device: string, stream: bigint): Promise<void>;
  waitForStream(device: string, stream: bigint): Promise<void>;
  createCancel(): object;
  cancel(token: object): void;
  tilesDone(token: object): number;
  createTileQueue(count: number): object;
  configureCpu(
    settings: Pick<
      Config,
      'threads' | 'isa' | 'compilesLoops' | 'blas' | 'lapack' | 'fft' | 'scratchFolder' | 'poison'
    > & {
      readonly blasFiles: readonly string[];
      readonly fftFiles: FftFiles;
      readonly externalByteLength: number;
    },
  ): void;
  beginProfile(yields: boolean): { readonly begin: number; readonly number: number };
  workTotals(): Float64Array;
  endProfile(number: number): Promise<RawTimeline | null> | null;
  cpuInfo(): CpuInfo;
  timeTape(tape: TapeSpec, milliseconds: number, isAlone?: boolean): Promise<number>;
  productWorkspace(product: ProductSpec): WorkspaceNeed;
  routineWorkspace(routine: RoutineSpec): WorkspaceNeed;
  routineLibrary(routine: RoutineSpec): string;
  hostMemory(): HostMemory;
  limitMemory(device: string | undefined, bytes: number, share: number, isSetting: boolean): void;
  memoryLimit(device: string, total: number): number;
  memory(): MemoryReport[];
  lostDevices(): readonly { readonly device: string; readonly status: string }[];
  collectGarbage(): void;
  trim(device: string): Promise<void>;
  configureCuda(candidates: CudaLibraryTexts): void;
  driverInfo(): Lookup<DriverInfo> & { readonly devices: readonly CudaDeviceInfo[] };
  nvrtcInfo(): Lookup<NvrtcInfo>;
  cublasInfo(): Lookup<LibraryInfo>;
  cublasLtInfo(): Lookup<LibraryInfo>;
  cutensorInfo(): Lookup<LibraryInfo>;
  cufftInfo(): Lookup<LibraryInfo>;
  cusolverInfo(): Lookup<LibraryInfo>;
  cudssInfo(): Lookup<CudssInfo>;
  probeCuda(): Promise<void>;
  probeCutensor(): Promise<void>;
  probeCudss(): Promise<void>;
  openDevice(device: string): Promise<{ readonly freeBytes: number; readonly stream: bigint }>;
  allocatePinned(device: string, byteLength: number): Promise<ArrayBuffer>;
  keptObjects(device: string): Promise<KeptObjects>;
  refusesLoops(device: string): boolean;
  stagingLimits(): StagingLimits;
  cudaEntryPoints(): CudaLibraryTexts;
  tuneProduct(
    device: string,
    product: ProductSpec,
    byteLengths: readonly number[],
    most: number,
  ): Promise<MeasuredAlgorithm[]>;
  cutMemory(handle: object, byteLength: number): object | Promise<object>;
  factorSparse(device: string, problem: SparseProblem, arrays: readonly object[]): Promise<RawFactors>;
  kernelResources(
    device: string,
    image: Uint8Array,
    launches: readonly ResourceLaunch[],
  ): Promise<KernelResources[]>;
  kernelSeconds(
    device: string,
    image: Uint8Array,
    launches: readonly TimedLaunch[],
    buffers: readonly FilledBuffer[],
  ): Promise<number>;
  compileCuda(source: string, options: readonly string[], entry?: string): Promise<CompiledImage>;
}

let loaded: Addon | undefined;

function load(): Addon {
  const { path, remedy } = findAddon(PACKAGE_FOLDER, process.cwd());
  try {
    return createRequire(import.meta.url)(path) as Addon;
  } catch (cause) {
    throw new NativeError(`the native addon ${path} cannot be loaded: ${String(cause)}`, remedy, { cause });
  }
}

export function addon(): Addon {
  if (loaded === undefined) {
    // The engine would look up each function in the addon's own object by name.
    const fresh = { ...load() };
    const { threads, isa, compilesLoops, blas, lapack, fft, scratchFolder, poison, processMemory, cuda } =
      config();
    const isSearched = (library: string | undefined): boolean => library === undefined || library === 'auto';
    const files = {
      blasFiles: isSearched(blas) ? blasFiles(cuda) : [],
      fftFiles: isSearched(fft) ? fftFiles(cuda) : NO_FFT_FILES,
    };
    const settings = { threads, isa, compilesLoops, blas, lapack, fft, scratchFolder, poison, ...files };
    guarded(() => fresh.configureCpu({ ...settings, externalByteLength: MOST_EXTERNAL_BYTES }));
    loaded = fresh;
    if (processMemory !== undefined) limitDeviceMemory(undefined, processMemory, true);
  }
  return loaded;
}

/** Sets the most memory that is held of a device, or of all. A setting gives way to a call. */
export function limitDeviceMemory(device: string | undefined, size: Size, isSetting = false): void {
  const [bytes, share] = typeof size === 'number' ? [size, 1] : [Number.POSITIVE_INFINITY, size.share];
  guarded(() => addon().limitMemory(device, bytes, share, isSetting));
}

let configured = false;

/** The addon, with the paths of the CUDA libraries set: for every call that may load one. */
export function cudaAddon(): Addon {
  if (!configured) {
    addon().configureCuda(cudaCandidates(config().cuda));
    configured = true;
  }
  return addon();
}

/**
 * The code of a file's failure: the system's name for an error number, `ENOENT`, or one of Weft's own as it
 * is.
 */
const fileCode = (status: string | undefined): string | undefined =>
  status !== undefined && /^\d+$/.test(status) ? getSystemErrorName(-Number(status)) : status;

/** The error class for what the native side threw: see `native/runtime/failure.h`. */
export function typed(error: unknown): unknown {
  if (!(error instanceof Error) || !('code' in error)) return error;
  const status = 'status' in error && typeof error.status === 'string' ? error.status : undefined;
  const call = 'call' in error && typeof error.call === 'string' ? error.call : undefined;
  const path = 'path' in error && typeof error.path === 'string' ? error.path : '';
  const message = call === undefined ? error.message : `${error.message} (${call}: ${status ?? 'no status'})`;
  switch (error.code) {
    case 'argument':
      return new ArgumentError(message);
    case 'memory':
      return new MemoryError(message, status);
    case 'device':
      return new DeviceError(message, status);
    case 'lost':
      return new DeviceLostError(message, status);
    case 'file':
      return new FileError(message, path, fileCode(status));
    case 'compile':
      return new CompileError(message);
    case 'aborted':
      return new DOMException(message, 'AbortError');
    case 'internal':
      return new InternalError(message);
    default:
      return error;
  }
}

export function guarded<T>(call: () => T): T {
  try {
    return call();
  } catch (error) {
    throw typed(error);
  }
}

export const settled = <T>(promise: Promise<T>): Promise<T> => promise.catch(rethrow);

export const rethrow = (error: unknown): never => {
  throw typed(error);
};
