/**
 * Pinned arrays: `await pinned([n], 'float32')`. A GPU copies from their memory directly, at the full speed
 * of the bus, while ordinary arrays are copied through pinned memory of the runtime's first.
 */

import { checkHostArray, MOST_EXTERNAL_BYTES, typedArrayOver } from '../exec/native/host-memory.js';
import { allocatePinned } from '../exec/native/native.js';
import { deviceFrom } from '../exec/targets/device.js';
import { chooseDevice, probeFor } from '../exec/targets/devices.js';
import { checkOptions, refuseMore } from '../graph/arguments.js';
import { byteLengthOf, type DType } from '../graph/dtype.js';
import { sizeOfShape } from '../graph/graph.js';
import { checkShape, type ShapeArgument } from '../graph/shape.js';
import { ArgumentError, expected, MemoryError } from '../host/errors.js';
import { calledAsync } from '../host/site.js';
import { dtypeOf } from './creation.js';
import { NDArray } from './ndarray.js';

/** Options of `pinned`. */
export interface PinnedOptions {
  /**
   * A GPU: `'cuda'` or `'cuda:N'`; without it the one that a compute would run on. The memory serves all GPUs
   * alike.
   */
  readonly device?: string | undefined;
}

/** An array whose elements can be written to: `data` is the typed array of its dtype. */
export interface PinnedArray<D extends DType = DType> extends NDArray<D> {
  /**
   * Whether its memory is pinned; it is ordinary memory where there is no GPU that could make use of that.
   */
  readonly isPinned: boolean;
}

/**
 * An array in pinned host memory, to fill and then compute with: `lazy(array)` reads it without a copy. Its
 * elements are undefined until they are written. `dtype` is float32 if it is not given. The memory is freed
 * when the array is collected.
 *
 * Pinned memory is taken from what the system can use for anything else, and takes its time to get: keep such
 * arrays. Where no device is named and computes run on the CPU, for want of a GPU or by `WEFT_DEVICE`, the
 * array is in ordinary memory, filled with zeros, and `isPinned` is false.
 *
 * Rejects with a DeviceError for a GPU that is named and cannot be used, with a MemoryError where the system
 * has no more memory, and on Node.js 20 for more than 4 GiB of pinned memory.
 *
 * @example
 * const array = await pinned([3], 'float32')
 * array.data.fill(2)
 * await lazy(array).sum().compute()
 * //=> 6.0
 */
export function pinned<D extends DType = 'float32'>(
  shape: ShapeArgument,
  dtype?: D | { readonly dtype?: D | undefined },
  options?: PinnedOptions,
): Promise<PinnedArray<D>>;
export async function pinned<D extends DType = 'float32'>(
  shape: ShapeArgument,
  dtype?: D | { readonly dtype?: D | undefined },
  options: PinnedOptions = {},
  ...more: readonly unknown[]
): Promise<PinnedArray<D>> {
  return await calledAsync(pinned, async () => {
    refuseMore('pinned', 3, [shape, dtype, options, ...more]);
    checkOptions('pinned', options, ['device']);
    const { device } = options;
    const sizes = checkShape('pinned', shape);
    const held = dtypeOf('pinned', dtype) ?? 'float32';
    if (device !== undefined && deviceFrom('compute', device).isHost) {
      const hint = 'without a device, it is ordinary memory where there is no GPU';
      throw new ArgumentError(expected('pinned', 'a GPU', "device 'cpu'", hint));
    }
    await probeFor(device); // libraries are loaded off this thread
    const chosen = chooseDevice(device, new Set()).device;
    const byteLength = sizeOfShape(sizes) * byteLengthOf(held);
    checkHostArray('pinned', held, sizes, 'several smaller arrays');
    const arrayOver = (memory: ArrayBuffer, isPinned: boolean): PinnedArray<D> =>
      Object.assign(new NDArray(typedArrayOver(memory, held), sizes, held) as PinnedArray<D>, { isPinned });
    if (chosen.isHost) return arrayOver(ordinaryMemory(byteLength), false);
    if (byteLength > MOST_EXTERNAL_BYTES) {
      const most = `at most ${MOST_EXTERNAL_BYTES} bytes, as many as this Node.js takes from outside its engine`;
      throw new MemoryError(expected('pinned', most, `${byteLength}`, 'Node.js 22 takes more'));
    }
    return arrayOver(await allocatePinned(chosen.name, byteLength), true);
  });
}

function ordinaryMemory(byteLength: number): ArrayBuffer {
  try {
    return new ArrayBuffer(byteLength);
  } catch {
    const wanted = `${byteLength} bytes of host memory`;
    throw new MemoryError(expected('pinned', wanted, 'the engine has no more'));
  }
}
