/**
 * Pinned arrays: `await pinned([n], 'float32')`. A GPU copies from their memory directly, at the full speed of the bus, while
 * ordinary arrays are copied through pinned memory of the runtime's first.
 */
import { type DTypeArgument, dtypeOf } from './creation.js';
import { ArgumentError, expected } from './errors.js';
import { chooseDevice, deviceName } from './exec/native/devices.js';
import { typedArrayOver } from './exec/native/host-memory.js';
import { allocatePinned } from './exec/native/native.js';
import { byteLengthOf } from './graph/dtype.js';
import { sizeOfShape } from './graph/graph.js';
import { checkShape, type ShapeArgument } from './graph/shape.js';
import { NDArray } from './ndarray.js';

/** Options of `pinned`. */
export interface PinnedOptions {
  /** A GPU: `'cuda'` or `'cuda:N'`; without it the one that a compute would run on. The memory serves all GPUs alike. */
  readonly device?: string | undefined;
}

/**
 * An array in pinned host memory, to fill and then compute with: `lazy(array)` reads it without a copy. Its elements are
 * undefined until they are written. `dtype` is float32 if it is not given. The memory is freed when the array is collected.
 *
 * Pinned memory is taken from what the system can use for anything else, and takes its time to get: keep such arrays.
 * Rejects with a DeviceError where there is no GPU, with a MemoryError where the system has no more memory.
 */
export async function pinned(
  shape: ShapeArgument,
  dtype?: DTypeArgument,
  { device }: PinnedOptions = {},
): Promise<NDArray> {
  const sizes = checkShape('pinned', shape);
  const held = dtypeOf('pinned', dtype) ?? 'float32';
  const name = device === undefined ? chooseDevice(undefined, new Set()).name : deviceName(device);
  if (name === 'cpu') throw new ArgumentError(expected('pinned', 'a GPU', "device 'cpu'"));
  const chosen = chooseDevice(name, new Set()).name;
  const memory = await allocatePinned(chosen, sizeOfShape(sizes) * byteLengthOf(held));
  return new NDArray(typedArrayOver(memory, held), sizes, held);
}
