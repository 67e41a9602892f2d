/**
 * The typed mirror of the native addon: here host memory, files, cancelling, the CPU and memory reports;
 * programs in `native-run.ts`, buffers in `device-buffers.ts`, CUDA in `native-cuda.ts`, tensors of DLPack in
 * `native-dlpack.ts`. Calls that take time return promises. Native failures come out as the classes of
 * `errors.ts`. The plain data that crosses over is described in `native-types.ts` and `program-types.ts`.
 */
import { setImmediate } from 'node:timers/promises';
import type { TapeSpec } from '../../codegen/cpu/tape.js';
import type { WorkspaceNeed } from '../calls/call.js';
import type { ProductSpec } from '../calls/products/product-specs.js';
import { addon, guarded, settled } from './native-addon.js';
import type {
  CpuInfo,
  FileOutput,
  HostMemory,
  MemoryReport,
  RawTimeline,
  StagingLimits,
} from './native-types.js';
import type { RoutineSpec } from './program-types.js';

export {
  allocateHost,
  bufferAddress,
  bufferHandle,
  cutBuffer,
  hostBytesOf,
  sliceBuffer,
  wrapMemory,
} from './device-buffers.js';
export { limitDeviceMemory } from './native-addon.js';
export * from './native-cuda.js';
export * from './native-dlpack.js';
export * from './native-run.js';
export type * from './native-types.js';
export type * from './program-types.js';

/** Writes all of an array to each of the files; gives the checksums, as a run does. */
export const writeFiles = (bytes: ArrayBuffer, files: readonly FileOutput[]): Promise<readonly number[]> =>
  settled(guarded(() => addon().writeFiles(bytes, files)));

/** Has a temporary file or folder removed when this thread or the process ends, by whatever way, before `releasePath`. */
export const guardPath = (path: string): object => guarded(() => addon().guardPath(path));
/** Leaves a guarded file or folder where it is. */
export const releasePath = (guard: object): void => guarded(() => addon().releasePath(guard));
/** Gives each of two files or folders the other's name, at once. Gives false where the file system cannot. */
export const exchangePaths = (one: string, other: string): Promise<boolean> =>
  settled(guarded(() => addon().exchangePaths(one, other)));

/**
 * Takes the disk's room for an open file, where the file system can. Rejects with a FileError for a full
 * disk.
 */
export const reserveFile = (fd: number, byteLength: number, path: string): Promise<void> =>
  settled(guarded(() => addon().reserveFile(fd, byteLength, path)));

/** Makes a token that stops the runs it is given to. */
export const createCancel = (): object => guarded(() => addon().createCancel());
/** Stops the runs that have the token, and those that will get it. */
export const cancel = (token: object): void => guarded(() => addon().cancel(token));
/** The tiles of sweeps that the runs with the token have finished. */
export const tilesDone = (token: object): number => addon().tilesDone(token);

/**
 * Makes what runs that share `count` parts of a sweep's tiles are given, so that each part is done by one of
 * them.
 */
export const createTileQueue = (count: number): object => guarded(() => addon().createTileQueue(count));

/** The instruction set, threads and libraries of the CPU backend. */
export const cpuInfo = (): CpuInfo => guarded(() => addon().cpuInfo());

/**
 * The least seconds of a kernel on memory of its own, in some milliseconds of runs: of its processor with one thread
 * (`isAlone`: although there are more), else of the clock.
 */
export const timeTape = (tape: TapeSpec, milliseconds: number, isAlone = false): Promise<number> =>
  settled(guarded(() => addon().timeTape(tape, milliseconds, isAlone)));

/** The workspace of a matrix product on the CPU. */
export const productWorkspace = (product: ProductSpec): WorkspaceNeed =>
  guarded(() => addon().productWorkspace(product));

/** The workspace of a routine on the CPU. */
export const routineWorkspace = (routine: RoutineSpec): WorkspaceNeed =>
  guarded(() => addon().routineWorkspace(routine));

/** The library that runs a routine on the CPU, with its function; empty: Weft's own. */
export const routineLibrary = (routine: RoutineSpec): string =>
  guarded(() => addon().routineLibrary(routine));

/**
 * The most memory of a device, which has `total` bytes, that the process may hold; Infinity: there is no
 * limit.
 */
export const memoryLimit = (device: string, total: number): number =>
  guarded(() => addon().memoryLimit(device, Number.isFinite(total) ? total : 0));

/** Host memory that this process may use, and that the system could give now. */
export const hostMemory = (): HostMemory => guarded(() => addon().hostMemory());

/** The devices that were lost in this process, on any thread, and the driver's status. */
export const lostDevices = (): readonly { readonly device: string; readonly status: string }[] =>
  guarded(() => addon().lostDevices());

/** The memory every opened device has out and holds. */
export const memory = (): readonly MemoryReport[] => guarded(() => addon().memory());
/**
 * Has the engine collect garbage, and lets go of the device memory that it held. Gives whether that was any.
 */
export async function collectGarbage(): Promise<boolean> {
  const inUse = (): number => memory().reduce((sum, report) => sum + report.inUse, 0);
  const before = inUse();
  guarded(() => addon().collectGarbage());
  // The engine finalizes what it collected in turns of the event loop.
  for (let turn = 0; turn < 3; turn++) await setImmediate();
  return inUse() < before;
}

/**
 * Gives memory that no result and no run uses back to the system, of one opened device or of all; peaks are
 * of what follows.
 */
export async function trim(only?: string): Promise<void> {
  const opened = memory().filter(({ device }) => only === undefined || device === only);
  await Promise.all(opened.map(({ device }) => settled(guarded(() => addon().trim(device)))));
}

/**
 * Begins to record what runs in this process; gives the begin in nanoseconds of `process.hrtime`, and the
 * recording's number. One that `yields` is dropped where another begins.
 */
export const beginProfile = (yields: boolean): { readonly begin: number; readonly number: number } =>
  guarded(() => addon().beginProfile(yields));

/** Ends the recording of a number; null: it was dropped for another. */
export const endProfile = async (number: number): Promise<RawTimeline | null> =>
  settled(Promise.resolve(guarded(() => addon().endProfile(number))));

/**
 * For each of `NATIVE_SPAN_KINDS`: how often there was such work since the process began, and its bytes, on all
 * threads.
 */
export const workTotals = (): Float64Array => guarded(() => addon().workTotals());

/** The most pinned memory that copies to and from a GPU go through. */
export const stagingLimits = (): StagingLimits => guarded(() => addon().stagingLimits());
