/**
 * Loads the native addon, the only place that does, and gives its failures the classes of `errors.ts`. What the addon exports is
 * called by `native.ts`, `native-run.ts` and `native-cuda.ts`.
 */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { getSystemErrorName } from 'node:util';
import { type Config, config } from '../../config.js';
import {
  ArgumentError,
  CompileError,
  DeviceError,
  DeviceLostError,
  FileError,
  InternalError,
  MemoryError,
  NativeError,
} from '../../errors.js';
import type { WorkspaceNeed } from '../plan/workspace.js';
import { type CudaCandidates, cudaCandidates } from './cuda-libraries.js';
import type {
  CompiledImage,
  CpuInfo,
  CudaDeviceInfo,
  CudaEntryPoints,
  DriverInfo,
  FileOutput,
  KeptObjects,
  LibraryInfo,
  Lookup,
  MemoryReport,
  NvrtcInfo,
  ProductSpec,
  ProgramSpec,
  RawTimeline,
  StagingLimits,
} from './native-types.js';

/** What a run gives: its outputs, then times in nanoseconds. */
export type RawResult = readonly (ArrayBuffer | object | readonly number[] | undefined | number)[];

/** What the addon exports (`native/addon.cpp`). */
interface Addon {
  createProgram(spec: ProgramSpec): object;
  /** `inputs` is the caller's no more. Outputs are ArrayBuffers or handles; small runs give them at once. */
  run(
    program: object,
    inputs: readonly (ArrayBufferView | object)[],
    keep: readonly (boolean | readonly FileOutput[] | object)[],
    cancel: object | undefined,
    timeline: boolean,
    whenQueued: boolean,
    ahead: boolean,
    claims: object | undefined,
  ): RawResult | Promise<RawResult>;
  settle(looksAgain: boolean, lingers: boolean): number;
  writeFiles(bytes: ArrayBuffer, files: readonly FileOutput[]): Promise<readonly number[]>;
  allocateHost(device: string, byteLength: number, lockByteLength: number | undefined): object;
  guardPath(path: string): object;
  releasePath(handle: object): void;
  exchangePaths(one: string, other: string): Promise<boolean>;
  reserveFile(fd: number, byteLength: number, path: string): Promise<void>;
  hostArray(handle: object): ArrayBuffer;
  disposeBuffer(handle: object): void;
  createCancel(): object;
  cancel(token: object): void;
  tilesDone(token: object): number;
  createClaims(count: number): object;
  configureCpu(settings: Pick<Config, 'threads' | 'isa' | 'blas' | 'poison'>): void;
  beginProfile(): number;
  endProfile(): Promise<RawTimeline>;
  cpuInfo(): CpuInfo;
  productWorkspace(product: ProductSpec): WorkspaceNeed;
  memory(): MemoryReport[];
  collectGarbage(): void;
  trim(device: string): Promise<void>;
  configureCuda(candidates: CudaCandidates): void;
  driverInfo(): Lookup<DriverInfo> & { readonly devices: readonly CudaDeviceInfo[] };
  nvrtcInfo(): Lookup<NvrtcInfo>;
  cublasInfo(): Lookup<LibraryInfo>;
  probeCuda(): Promise<void>;
  openDevice(device: string): Promise<{ readonly freeBytes: number }>;
  allocatePinned(device: string, byteLength: number): Promise<ArrayBuffer>;
  keptObjects(device: string): Promise<KeptObjects>;
  refusesLoops(device: string): boolean;
  stagingLimits(): StagingLimits;
  cudaEntryPoints(): CudaEntryPoints;
  compileCuda(source: string, options: readonly string[]): Promise<CompiledImage>;
}

let loaded: Addon | undefined;

const HERE = dirname(fileURLToPath(import.meta.url));

/** What builds the addon, in a clone or where the package is installed. */
export const BUILD_COMMAND = HERE.includes(`${sep}node_modules${sep}`)
  ? 'npm rebuild weftjs'
  : 'npm run build:native';

/** The addon is built beside the sources, and found from `src/` as well as from `dist/src/`. */
function load(): Addon {
  const places = ['../../..', '../../../..'].map((up) => join(HERE, up, 'build', 'Release', 'weft.node'));
  const path = places.find((place) => existsSync(place));
  if (path === undefined) {
    throw new NativeError(
      `the native addon is not built (run "${BUILD_COMMAND}"): looked for ${places.join(', ')}`,
    );
  }
  try {
    return createRequire(import.meta.url)(path) as Addon;
  } catch (cause) {
    throw new NativeError(`the native addon ${path} cannot be loaded: ${String(cause)}`, { cause });
  }
}

export function addon(): Addon {
  if (loaded === undefined) {
    const fresh = load();
    const { threads, isa, blas, poison } = config();
    guarded(() => fresh.configureCpu({ threads, isa, blas, poison }));
    loaded = fresh;
  }
  return loaded;
}

let configured = false;

/** The addon, with the places of the CUDA libraries told: for every call that may load one. */
export function cudaAddon(): Addon {
  if (!configured) {
    addon().configureCuda(cudaCandidates(config().cuda));
    configured = true;
  }
  return addon();
}

/** The system's name for an error number, `ENOENT`; undefined where there is none. */
const errnoName = (number: string | undefined): string | undefined =>
  number === undefined ? undefined : getSystemErrorName(-Number(number));

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
      return new FileError(message, path, errnoName(status));
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
