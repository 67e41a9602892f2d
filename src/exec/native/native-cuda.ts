/**
 * The CUDA installation: its libraries, its devices, pinned memory, NVRTC and cuDSS. Its calls that take time return
 * promises.
 */
import type { DeviceBuffer } from '../../graph/expr.js';
import { CompileError, DeviceError } from '../../host/errors.js';
import { once } from '../../host/once.js';
import type { ProductSpec } from '../calls/products/product-specs.js';
import { headerFolder } from './cuda-headers.js';
import type { CudaLibraryTexts } from './cuda-libraries.js';
import { bufferHandle, NativeBuffer } from './device-buffers.js';
import { addon, cudaAddon, guarded, settled } from './native-addon.js';
import type {
  CompiledImage,
  CudaInfo,
  FilledBuffer,
  KeptObjects,
  KernelResources,
  MeasuredAlgorithm,
  ResourceLaunch,
  SparseFactorsInfo,
  SparseProblem,
  TimedLaunch,
} from './native-types.js';
import { isAtLeast } from './version.js';

const found = <T>(find: () => T): (() => T) => once(() => guarded(find));

const driver = found(() => cudaAddon().driverInfo());
const nvrtc = found(() => cudaAddon().nvrtcInfo());
const cublas = found(() => cudaAddon().cublasInfo());
const cublasLt = found(() => cudaAddon().cublasLtInfo());
const cutensor = found(() => cudaAddon().cutensorInfo());
const cufft = found(() => cudaAddon().cufftInfo());
const cusolver = found(() => cudaAddon().cusolverInfo());
const cudss = found(() => cudaAddon().cudssInfo());

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
  get cublasLt() {
    return cublasLt().library;
  },
  get cutensor() {
    return cutensor().library;
  },
  get cufft() {
    return cufft().library;
  },
  get cusolver() {
    return cusolver().library;
  },
  get cudss() {
    return cudss().library;
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
    get cublasLt() {
      return cublasLt().tried;
    },
    get cutensor() {
      return cutensor().tried;
    },
    get cufft() {
      return cufft().tried;
    },
    get cusolver() {
      return cusolver().tried;
    },
    get cudss() {
      return cudss().tried;
    },
  },
};

/**
 * The CUDA installation; a missing library is no error. Loading a library takes a moment: see `probeCuda`.
 */
export const cudaInfo = (): CudaInfo => info;

/** Loads cuTENSOR off this thread, where there is a driver. */
export const probeCutensor = (): Promise<void> => settled(guarded(() => cudaAddon().probeCutensor()));
/** Loads cuDSS off this thread, where there is a driver. */
export const probeCudss = (): Promise<void> => settled(guarded(() => cudaAddon().probeCudss()));
/** Loads the driver and NVRTC on a native thread, so that reading `cudaInfo()` after it does not block. */
export const probeCuda = (): Promise<void> => settled(guarded(() => cudaAddon().probeCuda()));

/**
 * Pinned host memory of undefined contents, which GPUs copy from and to directly; counted among a device's
 * staging memory until it is collected. Rejects with `MemoryError` where the system has no more.
 */
export const allocatePinned = (device: string, byteLength: number): Promise<ArrayBuffer> =>
  settled(guarded(() => cudaAddon().allocatePinned(device, byteLength)));

/**
 * Opens a CUDA device (`cuda:N`), and gives the stream that its work is queued in. Rejects with `DeviceError` where it
 * cannot be used.
 */
export const openDevice = (
  device: string,
): Promise<{ readonly freeBytes: number; readonly stream: bigint }> =>
  settled(guarded(() => cudaAddon().openDevice(device)));
/**
 * Objects that a CUDA device (`cuda:N`) keeps while no run is under way: any others were leaked. For
 * finding leaks.
 */
export const keptObjects = (device: string): Promise<KeptObjects> =>
  settled(guarded(() => cudaAddon().keptObjects(device)));
/**
 * Whether the driver refused a graph with a loop on a device (`cuda:N`) that was used, although it has them.
 */
export const refusesLoops = (device: string): boolean => guarded(() => cudaAddon().refusesLoops(device));
/**
 * Measures at most `most` algorithms that cuBLASLt's heuristic gives for a product with an epilogue, on memory of its
 * own, in their order; those that fail are left out. `byteLengths`: of the product's buffers. Rejects with
 * `MemoryError` where there is no room.
 */
export const tuneProduct = (
  device: string,
  product: ProductSpec,
  byteLengths: readonly number[],
  most: number,
): Promise<MeasuredAlgorithm[]> =>
  settled(guarded(() => cudaAddon().tuneProduct(device, product, byteLengths, most)));

/** The resources that launches of functions of an image take of a device, in their order. */
export const kernelResources = (
  device: string,
  image: Uint8Array,
  launches: readonly ResourceLaunch[],
): Promise<KernelResources[]> => settled(guarded(() => cudaAddon().kernelResources(device, image, launches)));

/**
 * Seconds of launches of functions of an image, one after the other, on memory of their own: the least of a few
 * repetitions, without what it takes to queue them. Rejects with `MemoryError` where there is no room.
 */
export const kernelSeconds = (
  device: string,
  image: Uint8Array,
  launches: readonly TimedLaunch[],
  buffers: readonly FilledBuffer[],
): Promise<number> => settled(guarded(() => cudaAddon().kernelSeconds(device, image, launches, buffers)));

/** The symbols that the addon looks up in each CUDA library. */
export const cudaEntryPoints = (): CudaLibraryTexts => guarded(() => addon().cudaEntryPoints());
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

/** Without what kernels never use (textures, the runtime's functions and types) compilation begins sooner. */
const MINIMAL = '--minimal';
/** The first NVRTC that knows it. */
const MINIMAL_SINCE = [12, 4] as const;

const minimalOption = (): readonly string[] => (isAtLeast(nvrtcVersion(), MINIMAL_SINCE) ? [MINIMAL] : []);

/** CUDA's headers, for sources of users' own. */
const headerOption = once((): readonly string[] => {
  const folder = info.nvrtc === null ? undefined : headerFolder(info.nvrtc.path);
  return folder === undefined ? [] : [`-I${folder}`];
});

/**
 * Compiles CUDA C with NVRTC, several sources at a time on native threads. Rejects with `CompileError`, which
 * holds the compiler's log and the numbered source. `entry`: a function whose name in the image is wanted.
 */
export async function compileCuda(
  source: string,
  options: readonly string[],
  entry?: string,
): Promise<CompiledImage> {
  // Texts of users' own stand behind a `#line`.
  const hasUserText = entry !== undefined || source.includes('\n#line ');
  const all = [...options, ...(hasUserText ? headerOption() : minimalOption())];
  try {
    return await settled(guarded(() => cudaAddon().compileCuda(source, all, entry)));
  } catch (error) {
    if (!(error instanceof CompileError)) throw error;
    const log = error.message.slice(error.message.indexOf('\n') + 1);
    throw new CompileError(`${error.message}\noptions: ${all.join(' ')}\n${numbered(source)}`, {
      cause: error,
      log,
    });
  }
}

/**
 * Has cuDSS factor a sparse matrix whose starts, columns and values lie on a GPU. The factors are there as long as the
 * buffer is. Rejects with `MemoryError` where they take more than they may.
 */
export async function factorSparse(
  device: string,
  problem: SparseProblem,
  arrays: readonly DeviceBuffer[],
): Promise<SparseFactorsInfo & { readonly buffer: DeviceBuffer }> {
  const handles = arrays.map(bufferHandle);
  const { handle, byteLength, ...info } = await settled(
    guarded(() => addon().factorSparse(device, problem, handles)),
  );
  return { ...info, buffer: new NativeBuffer(device, byteLength, handle) };
}
