/**
 * The typed mirror of the native addon, and the only place that loads it.
 *
 * A program is created once from plain data and run many times. All waiting, copying and computing happens on native
 * threads; calls that take time return promises. Native failures come out as the classes of `errors.ts`. The plain
 * data that crosses over is described in `native-types.ts`.
 */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { getSystemErrorName } from 'node:util';
import { type Config, config } from '../config.js';
import {
  ArgumentError,
  CompileError,
  DeviceError,
  DeviceLostError,
  FileError,
  InternalError,
  MemoryError,
  NativeError,
} from '../errors.js';
import type { DeviceBuffer } from '../graph/expr.js';
import { type CudaCandidates, cudaCandidates } from './cuda-libraries.js';
import type {
  CompiledImage,
  CpuInfo,
  CudaDeviceInfo,
  CudaEntryPoints,
  CudaInfo,
  DriverInfo,
  FileOutput,
  KeptObjects,
  LibraryInfo,
  Lookup,
  MemoryReport,
  NativeProgram,
  NvrtcInfo,
  OutputPlace,
  ProductSpec,
  ProgramSpec,
  RunInput,
  RunOptions,
  RunResult,
  StagingLimits,
} from './native-types.js';
import { handedOver, Lookout } from './turns.js';
import type { WorkspaceNeed } from './workspace.js';

export type * from './native-types.js';

/** What a run gives: its outputs, then times in nanoseconds. */
type RawResult = readonly (ArrayBuffer | object | readonly number[] | undefined | number)[];

/** What the addon exports (`native/addon.cpp`). */
interface Addon {
  createProgram(spec: ProgramSpec): object;
  /** `inputs` is the caller's no more. Outputs are ArrayBuffers or handles; small runs give them at once. */
  run(
    program: object,
    inputs: readonly (ArrayBufferView | object)[],
    keep: readonly (boolean | readonly FileOutput[] | Uint8Array)[],
    cancel: object | undefined,
    timeline: boolean,
    whenQueued: boolean,
  ): RawResult | Promise<RawResult>;
  settle(looksAgain: boolean): number;
  writeFiles(bytes: ArrayBuffer, files: readonly FileOutput[]): Promise<readonly number[]>;
  allocateHostArray(byteLength: number): ArrayBuffer;
  guardFile(path: string): object;
  releaseFile(handle: object): void;
  reserveFile(fd: number, byteLength: number, path: string): Promise<void>;
  disposeBuffer(handle: object): void;
  createCancel(): object;
  cancel(token: object): void;
  tilesDone(token: object): number;
  configureCpu(settings: Pick<Config, 'threads' | 'isa' | 'blas' | 'poison'>): void;
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
  stagingLimits(): StagingLimits;
  cudaEntryPoints(): CudaEntryPoints;
  compileCuda(source: string, options: readonly string[]): Promise<CompiledImage>;
}

let loaded: Addon | undefined;

/** The addon is built beside the sources, and found from `src/` as well as from `dist/src/`. */
function load(): Addon {
  const start = dirname(fileURLToPath(import.meta.url));
  const places = ['../..', '../../..'].map((up) => join(start, up, 'build', 'Release', 'weft.node'));
  const path = places.find((place) => existsSync(place));
  if (path === undefined) {
    throw new NativeError(
      `the native addon is not built (run "npm run build:native"): looked for ${places.join(', ')}`,
    );
  }
  try {
    return createRequire(import.meta.url)(path) as Addon;
  } catch (cause) {
    throw new NativeError(`the native addon ${path} cannot be loaded: ${String(cause)}`, { cause });
  }
}

function addon(): Addon {
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
function cudaAddon(): Addon {
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
function typed(error: unknown): unknown {
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

function guarded<T>(call: () => T): T {
  try {
    return call();
  } catch (error) {
    throw typed(error);
  }
}

const settled = <T>(promise: Promise<T>): Promise<T> => promise.catch(rethrow);

/** A result that stayed on its device; works with `using`. */
class NativeBuffer implements DeviceBuffer {
  readonly device: string;
  readonly byteLength: number;
  readonly #handle: object;
  #disposed = false;

  constructor(device: string, byteLength: number, handle: object) {
    this.device = device;
    this.byteLength = byteLength;
    this.#handle = handle;
  }

  get disposed(): boolean {
    return this.#disposed;
  }

  /** Frees the memory once no run uses it any more. */
  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    addon().disposeBuffer(this.#handle);
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  static handleOf(buffer: DeviceBuffer): object {
    if (!(#handle in buffer)) throw new ArgumentError('[run] expected a device buffer of this thread');
    if (buffer.#disposed) throw new ArgumentError('[run] expected a device buffer that was not disposed');
    return buffer.#handle;
  }
}

/** What the addon reads for an input. */
function rawInput(input: RunInput): object {
  if (ArrayBuffer.isView(input)) return stableView(input);
  if ('path' in input || 'read' in input) return input;
  if ('pieces' in input) {
    return {
      pieces: input.pieces.map(({ buffer, first }) => ({ buffer: NativeBuffer.handleOf(buffer), first })),
    };
  }
  return 'chunks' in input ? { chunks: input.chunks.map(stableView) } : NativeBuffer.handleOf(input);
}

/** A resizable buffer is copied: shrinking it would take pages away under a native thread. */
function stableView<View extends ArrayBufferView>(input: View): View | Uint8Array {
  const { buffer, byteOffset, byteLength } = input;
  const resizable = 'resizable' in buffer && buffer.resizable === true;
  return resizable ? new Uint8Array(buffer, byteOffset, byteLength).slice() : input;
}

const NOTHING = new ArrayBuffer(0);
const lookout = new Lookout((looksAgain) => addon().settle(looksAgain));

/** A program, and what its results are. */
class LoadedProgram implements NativeProgram {
  declare readonly __program: never;
  readonly #handle: object;
  readonly #device: string;
  /** Of each output. */
  readonly #byteLengths: readonly number[];

  constructor(spec: ProgramSpec, handle: object) {
    this.#handle = handle;
    this.#device = spec.device;
    this.#byteLengths = spec.buffers.flatMap(({ role, byteLength, part }) =>
      role !== 'output' ? [] : [part === undefined ? byteLength : part[1] - part[0]],
    );
  }

  get isOnHost(): boolean {
    return this.#device === 'cpu';
  }

  static handleOf(program: NativeProgram): object {
    if (!(#handle in program)) throw new ArgumentError('[run] expected a program of this thread');
    return program.#handle;
  }

  /** What a run of the program gave, as the addon tells it. */
  resultOf(values: RawResult): RunResult {
    const outputs = this.#byteLengths.map((byteLength, k) => {
      const value = values[k];
      if (value instanceof ArrayBuffer) return value;
      if (value === undefined || Array.isArray(value)) return NOTHING;
      return new NativeBuffer(this.#device, byteLength, value as object);
    });
    const [nanoseconds, ...times] = values.slice(outputs.length) as number[];
    const [taken, issued, ended, told] = times;
    const went = values.slice(0, outputs.length);
    const checksums = went.some(Array.isArray) ? went.map((sums) => (Array.isArray(sums) ? sums : [])) : [];
    const result = { outputs, checksums, nanoseconds: nanoseconds! };
    return told === undefined
      ? result
      : { ...result, timeline: { taken: taken!, issued: issued!, ended: ended!, told } };
  }
}

/** Checks a program and makes it ready to run. Throws `ArgumentError` for a spec that is malformed. */
export function createProgram(spec: ProgramSpec): NativeProgram {
  const home = spec.device === 'cpu' ? addon() : cudaAddon();
  return new LoadedProgram(
    spec,
    guarded(() => home.createProgram(spec)),
  );
}

/**
 * Runs a program. `inputs` has one entry for each buffer of role `input`, in order: an array of exactly its bytes, which
 * must not be written to until the promise settles, several of them one after the other, a region of a file, a reader, or a
 * buffer on the program's device.
 *
 * Rejects with `ArgumentError` (inputs that do not fit), `FileError`, `MemoryError`, `DeviceError`, `DeviceLostError`, or an
 * `AbortError` after `cancel(options.cancel)`.
 */
export function run(
  program: NativeProgram,
  inputs: readonly RunInput[],
  options: RunOptions,
): Promise<RunResult> {
  // Few promises and closures: a repeated small compute waits for little else.
  try {
    const handle = LoadedProgram.handleOf(program);
    const keep = options.outputs.map(isKept);
    const { cancel, timeline = false, whenQueued = false } = options;
    const given = addon().run(handle, inputs.map(rawInput), keep, cancel, timeline, whenQueued);
    if (!(given instanceof Promise)) return handedOver((program as LoadedProgram).resultOf(given));
    if (!(program as LoadedProgram).isOnHost) lookout.watch();
    return given.then((values) => (program as LoadedProgram).resultOf(values), rethrow);
  } catch (error) {
    return Promise.reject(typed(error));
  }
}

const isKept = (place: OutputPlace): boolean | readonly FileOutput[] | Uint8Array =>
  typeof place === 'string' ? place === 'device' : place;
const rethrow = (error: unknown): never => {
  throw typed(error);
};

/** Host memory of undefined contents for results that several runs write to. */
export const allocateHostArray = (byteLength: number): ArrayBuffer =>
  guarded(() => addon().allocateHostArray(byteLength));

/** Writes all of an array to each of the files; gives the checksums, as a run does. */
export const writeFiles = (bytes: ArrayBuffer, files: readonly FileOutput[]): Promise<readonly number[]> =>
  settled(guarded(() => addon().writeFiles(bytes, files)));

/** Has a temporary file removed when this thread ends, by whatever way, before `releaseFile`. */
export const guardFile = (path: string): object => guarded(() => addon().guardFile(path));
/** Leaves a guarded file where it is. */
export const releaseFile = (guard: object): void => guarded(() => addon().releaseFile(guard));

/** Takes the disk's room for an open file, where the file system can. Rejects with a FileError for a full disk. */
export const reserveFile = (fd: number, byteLength: number, path: string): Promise<void> =>
  settled(guarded(() => addon().reserveFile(fd, byteLength, path)));

/** Makes a token that stops the runs it is given to. */
export const createCancel = (): object => addon().createCancel();
/** Stops the runs that have the token, and those that will get it. */
export const cancel = (token: object): void => guarded(() => addon().cancel(token));
/** The tiles of sweeps that the runs with the token have finished. */
export const tilesDone = (token: object): number => addon().tilesDone(token);

/** What the CPU backend found and uses. */
export const cpuInfo = (): CpuInfo => guarded(() => addon().cpuInfo());

/** What a matrix product on the CPU uses besides its operands and its result. */
export const productWorkspace = (product: ProductSpec): WorkspaceNeed =>
  guarded(() => addon().productWorkspace(product));

/** The memory every opened device has out and holds. */
export const memory = (): readonly MemoryReport[] => guarded(() => addon().memory());
/** Has the engine collect garbage, and lets go of the device memory that it held. Gives whether that was any. */
export async function collectGarbage(): Promise<boolean> {
  const inUse = (): number => memory().reduce((sum, report) => sum + report.inUse, 0);
  const before = inUse();
  guarded(() => addon().collectGarbage());
  // The engine finalizes what it collected in turns of the event loop.
  for (let turn = 0; turn < 3; turn++) await setImmediate();
  return inUse() < before;
}

/** Gives memory that no result and no run uses back to the system; peaks are of what follows. */
export async function trim(): Promise<void> {
  await Promise.all(memory().map(({ device }) => settled(guarded(() => addon().trim(device)))));
}

/** The most pinned memory that copies to and from a GPU go through. */
export const stagingLimits = (): StagingLimits => guarded(() => addon().stagingLimits());

const once = <T>(make: () => T): (() => T) => {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: guarded(make) };
    return made.value;
  };
};

const driver = once(() => cudaAddon().driverInfo());
const nvrtc = once(() => cudaAddon().nvrtcInfo());
const cublas = once(() => cudaAddon().cublasInfo());

const info: CudaInfo = {
  get driver() {
    return driver().library;
  },
  get devices() {
    return driver().devices;
  },
  get nvrtc() {
    return nvrtc().library;
  },
  get cublas() {
    return cublas().library;
  },
  tried: {
    get driver() {
      return driver().tried;
    },
    get nvrtc() {
      return nvrtc().tried;
    },
    get cublas() {
      return cublas().tried;
    },
  },
};

/** What there is of CUDA; never throws for what is missing. Loading a library takes a moment: see `probeCuda`. */
export const cudaInfo = (): CudaInfo => info;

/** Loads the driver and NVRTC on a native thread, so that reading `cudaInfo()` after it does not block. */
export const probeCuda = (): Promise<void> => settled(guarded(() => cudaAddon().probeCuda()));

/**
 * Pinned host memory of undefined contents, which GPUs copy from and to directly; counted among a device's staging memory
 * until it is collected. Rejects with `MemoryError` where the system has no more.
 */
export const allocatePinned = (device: string, byteLength: number): Promise<ArrayBuffer> =>
  settled(guarded(() => cudaAddon().allocatePinned(device, byteLength)));

/** Opens a CUDA device (`cuda:N`); rejects with `DeviceError` where it cannot be used. */
export const openDevice = (device: string): Promise<{ readonly freeBytes: number }> =>
  settled(guarded(() => cudaAddon().openDevice(device)));
/** What a CUDA device (`cuda:N`) keeps while no run is under way: what else exists was left behind. For finding leaks. */
export const keptObjects = (device: string): Promise<KeptObjects> =>
  settled(guarded(() => cudaAddon().keptObjects(device)));
/** The symbols that the addon looks up in each CUDA library. */
export const cudaEntryPoints = (): CudaEntryPoints => guarded(() => addon().cudaEntryPoints());
/** NVRTC's version, `13.0`. Throws `DeviceError`, with what was tried, where there is none. */
export function nvrtcVersion(): string {
  if (info.nvrtc === null)
    throw new DeviceError(`[cuda] expected NVRTC (libnvrtc): ${info.tried.nvrtc.join('; ')}`);
  return info.nvrtc.version;
}

const numbered = (source: string): string =>
  source
    .split('\n')
    .map((line, i) => `${String(i + 1).padStart(5)} | ${line}`)
    .join('\n');

/**
 * Compiles CUDA C with NVRTC, several sources at a time on native threads. Rejects with `CompileError`, which holds the
 * compiler's log and the numbered source.
 */
export async function compileCuda(source: string, options: readonly string[]): Promise<CompiledImage> {
  try {
    return await settled(guarded(() => cudaAddon().compileCuda(source, options)));
  } catch (error) {
    if (!(error instanceof CompileError)) throw error;
    throw new CompileError(`${error.message}\noptions: ${options.join(' ')}\n${numbered(source)}`, {
      cause: error,
    });
  }
}
