/** Addresses of arrays for other libraries of the process, and arrays over the memory of such libraries. */
import { bufferAddress, openDevice, wrapMemory } from '../exec/native/native.js';
import { synchronize } from '../exec/run/synchronize.js';
import { CPU, deviceFrom } from '../exec/targets/device.js';
import { checkOptions, refuseMore } from '../graph/arguments.js';
import { byteLengthOf, DTYPE_INFO, type DType, isDType } from '../graph/dtype.js';
import { formatValue } from '../graph/format.js';
import { sizeOfShape } from '../graph/graph.js';
import { deviceArray } from '../graph/infer.js';
import { ArgumentError, DeviceError, DTypeError, expected, ShapeError } from '../host/errors.js';
import { called, calledAsync, outsideCall } from '../host/site.js';
import { Lazy } from './lazy.js';
import { isRecord } from './structure.js';

/** Where the elements of an array lie, one after the other in C order. */
export interface DevicePointer<D extends DType = DType> {
  /** `cpu`, `cuda:0` … */
  readonly device: string;
  /** The address of the first element: of host memory, or in the primary context of the GPU. */
  readonly address: bigint;
  readonly byteLength: number;
  readonly dtype: D;
  readonly shape: readonly number[];
  /** The `CUstream` that Weft's work on the GPU is queued in; 0 on the CPU. */
  readonly stream: bigint;
}

/** Elements in the memory of others, as `fromDevicePointer` takes them. */
export type ForeignPointer<D extends DType = DType> = Pick<
  DevicePointer<D>,
  'device' | 'address' | 'dtype' | 'shape'
>;

/** Options of `fromDevicePointer`. */
export interface ForeignOptions {
  /**
   * Called once, when nothing uses the memory any more: the array was disposed of or collected, and what read it on
   * the device has ended.
   */
  readonly release?: (() => void) | undefined;
}

/**
 * The address of an array that `persist()` made, for an addon of your own or another library of the process. Its
 * elements are there when the promise resolves.
 *
 * The address holds until the array is disposed of or collected: keep it as long as you use the address. The elements
 * are not to be changed, since later computes read them. Work that you queue in `stream` runs behind Weft's that was
 * asked for before; work in other streams has to wait for `synchronize()`.
 *
 * Rejects with an ArgumentError for an array that is still to be computed or has no elements, with a DeviceError for
 * one whose parts lie on several devices.
 *
 * @example
 * using x = await lazy([1, 2, 3]).persist({ device: 'cpu' })
 * const { dtype, shape, byteLength } = await devicePointer(x)
 * console.log(dtype, shape, byteLength)
 * //=> float64 [ 3 ] 24
 */
export function devicePointer<D extends DType>(x: Lazy<D>): Promise<DevicePointer<D>>;
export async function devicePointer(x: Lazy, ...more: readonly unknown[]): Promise<DevicePointer> {
  return await calledAsync(devicePointer, async () => {
    refuseMore('devicePointer', 1, [x, ...more]);
    if (!(x instanceof Lazy)) throw new ArgumentError(expected('devicePointer', 'an array', formatValue(x)));
    const { expr } = x;
    if (expr.kind !== 'source' || expr.source.type !== 'device') {
      const hint = 'await x.persist() gives one';
      throw new ArgumentError(expected('devicePointer', 'an array that is on a device', `${x}`, hint));
    }
    const { buffer } = expr.source;
    if (buffer.shards !== undefined)
      throw new DeviceError(expected('devicePointer', 'an array on one device', buffer.device));
    const { dtype, shape } = expr;
    const { device, byteLength } = buffer;
    const address = bufferAddress(buffer);
    const stream = isHost(device) ? 0n : (await openDevice(device)).stream;
    await synchronize(device);
    return { device, address, dtype, shape: [...shape], byteLength, stream };
  });
}

/**
 * An array over memory of others on a device, which is not copied: elements in C order from an address on, as
 * `devicePointer` describes them. Weft reads it and never writes to it.
 *
 * Writes to the memory have to be complete when a compute that reads it is asked for, or queued before in the stream that
 * `devicePointer` tells; the memory has to stay as it is until `release` is called. Of a GPU it has to be of the primary
 * context, which CUDA's runtime uses.
 *
 * Throws an ArgumentError for what is no pointer, a DTypeError for an address that is no multiple of the elements' size,
 * on a GPU of 256 bytes (as CUDA allocates; a part that begins elsewhere is a slice of the whole),
 * a ShapeError for a shape without elements, a DeviceError for a device that is not there. A wrong address is not found:
 * reading it may end the process.
 *
 * @example
 * using x = await lazy([1, 2, 3]).persist({ device: 'cpu' })
 * const y = fromDevicePointer(await devicePointer(x), { release: () => {} })
 * await y.mul(2).compute({ device: 'cpu' })
 * //=> [2. 4. 6.]
 */
export function fromDevicePointer<D extends DType>(
  pointer: ForeignPointer<D>,
  options?: ForeignOptions,
): Lazy<D>;
export function fromDevicePointer(
  pointer: ForeignPointer,
  options: ForeignOptions = {},
  ...more: readonly unknown[]
): Lazy {
  return called(fromDevicePointer, () => {
    refuseMore('fromDevicePointer', 2, [pointer, options, ...more]);
    checkOptions('fromDevicePointer', options, ['release']);
    const { device, address, dtype, shape } = checkPointer(pointer);
    const { release } = options;
    if (release !== undefined && typeof release !== 'function')
      throw new ArgumentError(expected('fromDevicePointer', 'a function to release', formatValue(release)));
    const { name } = deviceFrom('fromDevicePointer', device);
    const byteLength = sizeOfShape(shape) * byteLengthOf(dtype);
    // Reads may be queued still when the last handle is gone.
    const ended = (): void => {
      const done = (): void => {
        if (release !== undefined) outsideCall(release);
      };
      if (isHost(name)) done();
      else synchronize(name).then(done, done);
    };
    return new Lazy(deviceArray(wrapMemory(name, address, byteLength, ended), dtype, [...shape]));
  });
}

const isHost = (device: string): boolean => deviceFrom('fromDevicePointer', device) === CPU;

/** Bytes: kernels and libraries read several elements at a time, from where CUDA's own allocations begin. */
const GPU_ALIGNMENT = 256;

function checkPointer(pointer: unknown): ForeignPointer {
  const op = 'fromDevicePointer';
  if (!isRecord(pointer))
    throw new ArgumentError(expected(op, '{ device, address, dtype, shape }', formatValue(pointer)));
  const { device, address, dtype, shape } = pointer as Partial<ForeignPointer>;
  if (typeof device !== 'string')
    throw new ArgumentError(expected(op, "a device: 'cuda:0'", formatValue(device)));
  if (typeof address !== 'bigint' || address <= 0n || address >= 1n << 64n)
    throw new ArgumentError(expected(op, 'an address as a bigint of 64 bits', formatValue(address)));
  if (!isDType(dtype)) throw new DTypeError(expected(op, 'a dtype', formatValue(dtype)));
  const isSize = (size: unknown): boolean => Number.isInteger(size) && (size as number) > 0;
  if (!Array.isArray(shape) || !shape.every(isSize) || sizeOfShape(shape) > Number.MAX_SAFE_INTEGER / 16)
    throw new ShapeError(expected(op, 'a shape with elements', formatValue(shape)));
  const unit = isHost(device) ? DTYPE_INFO[DTYPE_INFO[dtype].component].byteLength : GPU_ALIGNMENT;
  if (address % BigInt(unit) !== 0n)
    throw new DTypeError(
      expected(op, `an address that is a multiple of ${unit} bytes for ${dtype}`, `${address}`),
    );
  return { device, address, dtype, shape };
}
