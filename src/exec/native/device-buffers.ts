/**
 * Buffers that lie on one device, as results that stayed there and memory of others do. Called by `native-run.ts`, which reads
 * and makes them, and by all that cut, share or give back such memory.
 */

import type { DeviceBuffer } from '../../graph/expr.js';
import { ArgumentError } from '../../host/errors.js';
import { addon, cudaAddon, guarded, settled } from './native-addon.js';

/** A result that stayed on its device; works with `using`. */
export class NativeBuffer implements DeviceBuffer {
  readonly device: string;
  readonly byteLength: number;
  readonly #handle: object;
  #bytes: ArrayBuffer | undefined;
  #disposed = false;
  /** How many buffers that are not disposed of are over this memory. */
  readonly #sharing: { count: number };

  constructor(device: string, byteLength: number, handle: object, sharing = { count: 0 }) {
    this.device = device;
    this.byteLength = byteLength;
    this.#handle = handle;
    this.#sharing = sharing;
    sharing.count++;
  }

  get disposed(): boolean {
    return this.#disposed;
  }

  share(): DeviceBuffer {
    const handle = NativeBuffer.handleOf(this);
    return new NativeBuffer(this.device, this.byteLength, handle, this.#sharing);
  }

  /** Frees the memory, if it is not shared, once no run uses it any more. */
  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    if (--this.#sharing.count > 0) return;
    guarded(() => addon().disposeBuffer(this.#handle));
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  static handleOf(buffer: DeviceBuffer): object {
    if (!(#handle in buffer)) throw new ArgumentError('[run] expected a device buffer of this thread');
    if (buffer.#disposed) throw new ArgumentError('[compute] expected a device buffer that was not disposed');
    return buffer.#handle;
  }

  static bytesOf(buffer: DeviceBuffer): ArrayBuffer {
    if (!(#handle in buffer)) throw new ArgumentError('[hostBytes] expected a buffer of this thread');
    buffer.#bytes ??= guarded(() => addon().hostArray(NativeBuffer.handleOf(buffer)));
    buffer.#disposed = true;
    return buffer.#bytes;
  }
}

/**
 * Host memory of undefined contents for results that several runs write to, on a device and on others of its
 * kind. It is page-locked where it comes again: no more than `lockByteLength` of results in all.
 */
export function allocateHost(
  device: string,
  byteLength: number,
  lockByteLength: number | undefined,
): DeviceBuffer {
  return new NativeBuffer(
    'cpu',
    byteLength,
    guarded(() => addon().allocateHost(device, byteLength, lockByteLength)),
  );
}

/** The handle of a buffer that lies on one device. */
export const bufferHandle = (buffer: DeviceBuffer): object => NativeBuffer.handleOf(buffer);

/** The address of a buffer that lies on one device. */
export const bufferAddress = (buffer: DeviceBuffer): bigint =>
  guarded(() => addon().bufferAddress(NativeBuffer.handleOf(buffer)));

/** A buffer over memory of others. `release` is called once, when no run and no handle has it any more. */
export const wrapMemory = (
  device: string,
  address: bigint,
  byteLength: number,
  release: () => void,
): DeviceBuffer =>
  new NativeBuffer(
    device,
    byteLength,
    guarded(() => addon().wrapMemory(device, address, byteLength, release)),
  );

/** A part of a buffer that lies on one device, whose memory it keeps. */
export const sliceBuffer = (buffer: DeviceBuffer, first: number, byteLength: number): DeviceBuffer =>
  new NativeBuffer(
    buffer.device,
    byteLength,
    guarded(() => addon().sliceMemory(NativeBuffer.handleOf(buffer), first, byteLength)),
  );

/**
 * The first bytes, one at least, of a buffer on a GPU, in memory of their own: a copy, which is queued behind what makes
 * them. Rejects with `MemoryError` where there is none.
 */
export async function cutBuffer(buffer: DeviceBuffer, byteLength: number): Promise<DeviceBuffer> {
  const made = guarded(() => cudaAddon().cutMemory(NativeBuffer.handleOf(buffer), byteLength));
  const handle = made instanceof Promise ? await settled(made) : made;
  return new NativeBuffer(buffer.device, byteLength, handle);
}

/** The bytes of a buffer of the CPU, the same each time. It is no input of runs from then on. */
export const hostBytesOf = (buffer: DeviceBuffer): ArrayBuffer => NativeBuffer.bytesOf(buffer);
