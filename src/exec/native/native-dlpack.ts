/** Tensors of DLPack: their capsules, and the order of work in streams of other libraries. */
import type { DeviceBuffer, TypedArray } from '../../graph/expr.js';
import { bufferHandle } from './device-buffers.js';
import { addon, cudaAddon, guarded, settled } from './native-addon.js';
import type { DlpackDescription, DlpackLayout } from './native-types.js';

/** A capsule of a tensor over the memory of a buffer on one device, or of an array of the host. */
export const makeDlpack = (source: DeviceBuffer | TypedArray, layout: DlpackLayout): object =>
  guarded(() => addon().makeDlpack(ArrayBuffer.isView(source) ? source : bufferHandle(source), layout));

/** The tensor of a capsule or at an address; undefined for other values, and where it was taken. */
export const describeDlpack = (tensor: unknown): DlpackDescription | undefined =>
  guarded(() => addon().describeDlpack(tensor));

/** The address of a capsule's tensor, which is the caller's from then on. */
export const takeDlpack = (capsule: object): bigint => guarded(() => addon().takeDlpack(capsule));
export const deleteDlpack = (tensor: bigint): void => guarded(() => addon().deleteDlpack(tensor));

/** Has work that a stream of another library's is given from now on wait for all that was asked of the device. */
export const makeStreamWait = (device: string, stream: bigint): Promise<void> =>
  settled(guarded(() => cudaAddon().makeStreamWait(device, stream)));
/** Has all that is asked of the device from now on wait for such a stream's work. */
export const waitForStream = (device: string, stream: bigint): Promise<void> =>
  settled(guarded(() => cudaAddon().waitForStream(device, stream)));
