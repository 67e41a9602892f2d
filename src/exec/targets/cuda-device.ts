/** The GPUs of this machine, as the driver describes them. Called by `cuda.ts` and what it is made of. */
import { DEFAULT_LIMITS, type DeviceLimits } from '../../codegen/cuda/cuda.js';
import { type DeviceRates, USUAL_RATES } from '../../codegen/cuda/launch-seconds.js';
import { config } from '../../host/config.js';
import { type CudaDeviceInfo, cudaInfo, probeCuda, probeCutensor } from '../native/native.js';
import { stallOf } from '../native/stalls.js';
import type { Device } from './device.js';

/** Loads libraries off this thread, once. */
class Probe {
  readonly #begin: () => Promise<void>;
  #probing: Promise<void> | undefined;
  #isDone = false;

  constructor(begin: () => Promise<void>) {
    this.#begin = begin;
  }

  /** Undefined: they are loaded. */
  waited(): Promise<void> | undefined {
    if (this.#isDone) return undefined;
    this.#probing ??= this.#begin().then(() => {
      this.#isDone = true;
    });
    return this.#probing;
  }
}

const drivers = new Probe(probeCuda);
const products = new Probe(async () => {
  await drivers.waited();
  await probeCutensor();
});

/**
 * Loads CUDA's libraries off this thread, once; cuTENSOR, which is large, where there are products. Undefined: they are there,
 * and nothing is to be waited for.
 */
export const probed = (hasProducts: boolean): Promise<void> | undefined =>
  (hasProducts ? products : drivers).waited();

/** How to have CUDA C checked without a GPU. */
export const SIMULATOR_HINT =
  'WEFT_CHECK runs CUDA C on the simulated GPU, which npm run build:sim builds in a clone of the repository: WEFT_SIMULATOR names its folder build/sim';

/** Why a GPU cannot be used; `undefined`: it can. */
export function gpuProblem({ name, number }: Device): string | undefined {
  const info = cudaInfo();
  const { driver, nvrtc } = config().cuda;
  const asked = (tried: readonly string[], place: string | undefined): string =>
    place === undefined ? '' : `: ${tried.join('; ')}`;
  if (info.driver === null)
    return `no NVIDIA driver was found${asked(info.tried.driver, driver)}${config().checksKernels ? `; ${SIMULATOR_HINT}` : ''}`;
  const device = info.devices[number];
  if (device === undefined) return `the machine has ${info.devices.length} usable GPUs`;
  if (device.error !== undefined) return device.error;
  const stalled = stallOf(name);
  if (stalled !== undefined) return stalled;
  if (info.nvrtc === null && config().kernelFolder === undefined)
    return `NVRTC, the CUDA run-time compiler, was not found${asked(info.tried.nvrtc, nvrtc)}`;
  return undefined;
}

/** Of a device that is here. */
const infoOf = ({ number, architecture }: Device): CudaDeviceInfo | undefined =>
  architecture === undefined ? cudaInfo().devices[number] : undefined;

/** The memory of a GPU; infinitely much of one that is not here. */
export const gpuBytesOf = (device: Device): number => infoOf(device)?.totalBytes ?? Number.POSITIVE_INFINITY;

/** Equal for GPUs whose kernels have the same schedules, and so the same bits. */
export function gpuKindOf(device: Device): string {
  const { computeCapability, sharedMemoryPerBlockOptin } = infoOf(device)!;
  return `${computeCapability.join('.')} ${sharedMemoryPerBlockOptin}`;
}

/**
 * The most shared memory that a block may ask for, in KiB, by compute capability: CUDA C++ Programming Guide, table of
 * technical specifications.
 */
const SHARED_KIB: Readonly<Record<number, number>> = {
  70: 96,
  72: 96,
  75: 64,
  80: 163,
  86: 99,
  87: 163,
  89: 99,
  90: 227,
  100: 227,
  103: 227,
  110: 227,
  120: 99,
  121: 99,
};

const numberOf = (architecture: string): number => Number(architecture.replace('sm_', ''));

const sharedBytesOf = (architecture: string): number | undefined => {
  const kib = SHARED_KIB[numberOf(architecture)];
  return kib && kib * 1024;
};

/** The architectures that kernels can be compiled for ahead, by an NVRTC that compiles for these capabilities. */
export const knownArchitectures = (capabilities: readonly number[]): string[] =>
  capabilities.map((capability) => `sm_${capability}`).filter((name) => sharedBytesOf(name) !== undefined);

/** The limits of a device for the schedules of its kernels; plans for an absent one take the usual ones. */
export function limitsOf(device: Device): DeviceLimits {
  const { architecture } = device;
  const info = infoOf(device);
  const sharedByteLength =
    architecture === undefined ? info?.sharedMemoryPerBlockOptin : sharedBytesOf(architecture);
  if (sharedByteLength === undefined) return DEFAULT_LIMITS;
  const name = architectureOf(device);
  const hasBulkCopies = numberOf(name) >= BULK_COPIES && (info?.tensorMaps ?? true) && compilesBulkCopies();
  const hasWarpgroups = hasBulkCopies && name === WARPGROUPS;
  return { sharedByteLength, hasWarpgroups, hasBulkCopies, hasClusters: hasBulkCopies };
}

/** The architecture that has products by warpgroups, which later ones lack; the simulated GPU, without tensor maps, too. */
const WARPGROUPS = 'sm_90';

/**
 * From this one on there are bulk copies, and clusters of blocks: that they have come with tensor maps tells the simulated GPU
 * apart, too.
 */
const BULK_COPIES = 90;

/** NVRTC compiles bulk copies, and for `sm_90a`, from CUDA 12 on. */
function compilesBulkCopies(): boolean {
  const { nvrtc } = cudaInfo();
  return nvrtc === null || Number.parseInt(nvrtc.version, 10) >= 12;
}

export const multiprocessorsOf = (device: Device): number => ratesOf(device).multiprocessors;

/** Of a device that is not here, or whose driver does not tell its memory's rate: the usual ones. */
export function ratesOf(device: Device): DeviceRates {
  const info = infoOf(device);
  if (info === undefined) return USUAL_RATES;
  const { multiprocessorCount: multiprocessors, memoryBytesPerSecond, l2ByteLength: l2Bytes } = info;
  return { multiprocessors, memoryRate: memoryBytesPerSecond || USUAL_RATES.memoryRate, l2Bytes };
}

/** The most threads that a multiprocessor of a device here holds. */
export const residentThreadsOf = (device: Device): number => infoOf(device)!.maxThreadsPerMultiprocessor;

/** NVRTC's name of a GPU's architecture: `sm_90`. */
export const architectureOf = (device: Device): string =>
  device.architecture ?? `sm_${infoOf(device)!.computeCapability.join('')}`;
