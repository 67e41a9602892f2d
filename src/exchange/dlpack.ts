/**
 * Tensors of DLPack in and out, without copies: `toDLPack`, `fromDLPack`, and `takeDLPack` for libraries that take an
 * address. Node.js has no convention for DLPack; this is Weft's, which docs/guide/exchange.md describes for others.
 */
import { zeros } from '../api/creation.js';
import { Lazy } from '../api/lazy.js';
import { NDArray } from '../api/ndarray.js';
import {
  type DlpackTensor,
  deleteDlpack,
  describeDlpack,
  makeDlpack,
  makeStreamWait,
  takeDlpack,
  waitForStream,
  wrapMemory,
} from '../exec/native/native.js';
import { synchronize } from '../exec/run/synchronize.js';
import { CPU, type Device, deviceNamed } from '../exec/targets/device.js';
import { checkOptions, refuseMore } from '../graph/arguments.js';
import { byteLengthOf, DTYPE_INFO, type DType } from '../graph/dtype.js';
import type { DeviceBuffer, Shape, Site, TypedArray } from '../graph/expr.js';
import { formatValue } from '../graph/format.js';
import { denseStrides } from '../graph/graph.js';
import { deviceArray } from '../graph/infer.js';
import { allocate, isTypedArray, memoryOf, nativeDType } from '../host/elements.js';
import { ArgumentError, DeviceError, DTypeError, expected } from '../host/errors.js';
import { called, calledAsync, calledAt } from '../host/site.js';
import { codeOf, deviceOfType, deviceTypeOf, dtypeOfCode } from './dlpack-types.js';
import { isDense, reachOf, stridedView } from './strided-line.js';

/**
 * A tensor of DLPack for one reader: an External of Node-API with a type tag. A tensor that nobody took is deleted with
 * its capsule.
 */
export interface DLPackCapsule {
  readonly [capsule]: never;
}
declare const capsule: unique symbol;

/** Options of `toDLPack` and `fromDLPack`. */
export interface DLPackOptions {
  /**
   * Of an array on a GPU, the other library's stream: its `cudaStream_t` as a number or bigint, 1 or nothing for
   * CUDA's legacy default stream, -1 for none, where the caller takes care of the order. As in Python's protocol.
   */
  readonly stream?: number | bigint | null | undefined;
}

/**
 * An array as a tensor of DLPack 1.0, without a copy: one that `persist()` keeps on the CPU or a GPU, a result in host
 * memory (NDArray), or a typed array. Elements are in C order; those of persisted arrays are read-only, since later
 * computes read them. The memory stays until the reader deletes the tensor, whether or not the array is disposed of.
 *
 * Of an array on a GPU, what the reader queues in `stream` after this resolves runs behind Weft's work, and when the
 * tensor is deleted, its memory is used again behind what `stream` has then: the stream has to exist so long.
 *
 * Rejects with an ArgumentError for an array that is still to be computed, with a DeviceError for one whose parts lie
 * on several devices.
 *
 * @example
 * using x = await lazy([[1, 2], [3, 4]]).mul(10).persist({ device: 'cpu' })
 * const y = await fromDLPack(await toDLPack(x))
 * await y.sum(0).compute()
 * //=> [40. 60.]
 */
export function toDLPack(x: Lazy | NDArray | TypedArray, options?: DLPackOptions): Promise<DLPackCapsule>;
export async function toDLPack(
  x: Lazy | NDArray | TypedArray,
  options?: DLPackOptions,
  ...more: readonly unknown[]
): Promise<DLPackCapsule> {
  return (await calledAsync(toDLPack, async () => {
    refuseMore('toDLPack', 2, [x, options, ...more]);
    const stream = streamOf('toDLPack', options);
    const { memory, dtype, shape, device, isReadOnly } = tensorMemory(x);
    if (device.isHost && options?.stream !== undefined && options.stream !== null)
      throw new ArgumentError(expected('toDLPack', 'no stream for an array of the CPU', `${options.stream}`));
    const isOrdered = !device.isHost && stream !== NO_STREAM;
    if (isOrdered) await makeStreamWait(device.name, stream);
    return makeDlpack(memory, {
      shape,
      ...codeOf(dtype),
      ...deviceTypeOf(device),
      isReadOnly,
      stream: isOrdered ? stream : NO_STREAM,
    });
  })) as DLPackCapsule;
}

/**
 * A tensor of DLPack 1.x as an array, without a copy: a capsule, or the address of a `DLManagedTensorVersioned` as a
 * bigint. The tensor is the function's from then on. It may be read-only, lie on the CPU or a GPU, and have any
 * strides: those in C order are read as they lie, with others a kernel computes where elements are. It is deleted when
 * nothing reads it any more: the array was disposed of or collected, and computes that read it have ended.
 *
 * Of a tensor on a GPU, computes that are asked for after this resolves read it behind what `stream` has now.
 *
 * Rejects with an ArgumentError for what is no tensor of DLPack 1, or was taken, with a DTypeError for a dtype that
 * Weft does not have (float8, several lanes) and for elements that are not aligned, with a DeviceError for another
 * kind of device. A wrong address is not found: reading it may end the process.
 *
 * @example
 * const tensor = takeDLPack(await toDLPack(new Float32Array([1, 2, 3])))
 * const y = await fromDLPack(tensor)
 * await y.mul(2).compute()
 * //=> [2. 4. 6.]
 */
export function fromDLPack(tensor: DLPackCapsule | bigint, options?: DLPackOptions): Promise<Lazy>;
export async function fromDLPack(
  tensor: DLPackCapsule | bigint,
  options?: DLPackOptions,
  ...more: readonly unknown[]
): Promise<Lazy> {
  return await calledAsync(fromDLPack, async (site) => {
    refuseMore('fromDLPack', 2, [tensor, options, ...more]);
    const stream = streamOf('fromDLPack', options);
    if (typeof tensor === 'bigint') checkAddress(tensor);
    const described = describeDlpack(tensor);
    if (described === undefined) throw noTensor('fromDLPack', tensor);
    const address = typeof tensor === 'bigint' ? tensor : takeDlpack(tensor);
    let isWrapped = false;
    try {
      if (described.major !== 1)
        throw new ArgumentError(
          expected('fromDLPack', 'a tensor of DLPack 1', `of version ${described.major}`),
        );
      const layout = layoutOf(described as DlpackTensor);
      if (layout.shape.includes(0)) return calledAt(site, () => zeros(layout.shape, layout.dtype));
      if (!layout.device.isHost && stream !== NO_STREAM) await waitForStream(layout.device.name, stream);
      const array = wrapped(layout, site, () => deleteDlpack(address));
      isWrapped = true;
      return array;
    } finally {
      if (!isWrapped) deleteDlpack(address);
    }
  });
}

/**
 * Takes the tensor out of a capsule: the address of its `DLManagedTensorVersioned`, for libraries that know no capsules
 * of Node.js, such as Python in the process. Its holder calls its deleter once, or gives the address to `fromDLPack`.
 *
 * Throws an ArgumentError for another value, and for a capsule whose tensor was taken.
 *
 * @example
 * const capsule = await toDLPack(new Float32Array([1, 2, 3]))
 * const address = takeDLPack(capsule)
 * console.log(address > 0n)
 * //=> true
 * using x = await fromDLPack(address)
 */
export function takeDLPack(capsule: DLPackCapsule): bigint;
export function takeDLPack(capsule: DLPackCapsule, ...more: readonly unknown[]): bigint {
  return called(takeDLPack, () => {
    refuseMore('takeDLPack', 1, [capsule, ...more]);
    if (typeof capsule === 'bigint' || describeDlpack(capsule) === undefined)
      throw noTensor('takeDLPack', capsule);
    return takeDlpack(capsule);
  });
}

/** Refuses numbers that are no address of a structure: in the first page, odd, or of more than 64 bits. */
function checkAddress(address: bigint): void {
  if (address >= 4096n && address < 1n << 64n && address % 8n === 0n) return;
  throw new ArgumentError(expected('fromDLPack', 'the address of a tensor', formatValue(address)));
}

const noTensor = (op: string, value: unknown): ArgumentError =>
  new ArgumentError(
    expected(
      op,
      'a capsule of DLPack whose tensor was not taken',
      formatValue(value),
      'toDLPack() gives one',
    ),
  );

const NO_STREAM = 0n;
const LEGACY_STREAM = 1n;

/** A stream as the native side takes it. Python's protocol leaves out 0, and 2 is another stream on each thread. */
function streamOf(op: string, options: DLPackOptions | undefined): bigint {
  checkOptions(op, options, ['stream']);
  const stream = options?.stream ?? LEGACY_STREAM;
  const isInteger = typeof stream === 'bigint' || Number.isSafeInteger(stream);
  if (isInteger && BigInt(stream) === -1n) return NO_STREAM;
  if (isInteger && (BigInt(stream) === LEGACY_STREAM || BigInt(stream) > 2n)) return BigInt(stream);
  const wanted = "a stream's address, 1 for the legacy default stream, or -1 for none";
  throw new ArgumentError(expected(op, wanted, formatValue(stream)));
}

/** Memory in C order with its layout. */
interface TensorMemory {
  readonly memory: DeviceBuffer | TypedArray;
  readonly dtype: DType;
  readonly shape: Shape;
  readonly device: Device;
  readonly isReadOnly: boolean;
}

function tensorMemory(x: unknown): TensorMemory {
  const host = { device: CPU, isReadOnly: false };
  if (x instanceof NDArray) return { memory: x.data, dtype: x.dtype, shape: x.shape, ...host };
  if (isTypedArray(x)) {
    const dtype = nativeDType(x);
    if (dtype !== undefined) return { memory: memoryOf(x), dtype, shape: [x.length], ...host };
  }
  if (!(x instanceof Lazy))
    throw new ArgumentError(expected('toDLPack', 'an array, a result or a typed array', formatValue(x)));
  const { expr } = x;
  if (expr.shape.includes(0))
    return { memory: allocate(expr.dtype, 0), dtype: expr.dtype, shape: expr.shape, ...host };
  if (expr.kind !== 'source' || expr.source.type !== 'device') {
    const hint = 'await x.persist() or x.compute() gives one';
    throw new ArgumentError(expected('toDLPack', 'an array that has its elements', `${x}`, hint));
  }
  const { buffer } = expr.source;
  if (buffer.shards !== undefined)
    throw new DeviceError(expected('toDLPack', 'an array on one device', buffer.device));
  const { dtype, shape } = expr;
  return { memory: buffer, dtype, shape, device: deviceNamed(buffer.device), isReadOnly: true };
}

/** A tensor, checked. */
interface Checked {
  readonly device: Device;
  readonly address: bigint;
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly strides: readonly number[];
}

function layoutOf(tensor: DlpackTensor): Checked {
  const op = 'fromDLPack';
  const { address, code, bits, lanes, deviceType, deviceId, shape } = tensor;
  const dtype = dtypeOfCode(op, code, bits, lanes);
  const device = deviceOfType(op, deviceType, deviceId);
  // A GPU reads whole complex numbers.
  const unit = BigInt(byteLengthOf(device.isHost ? DTYPE_INFO[dtype].component : dtype));
  if (address % unit !== 0n && !shape.includes(0))
    throw new DTypeError(expected(op, `elements of ${dtype} at multiples of ${unit} bytes`, `${address}`));
  return { device, address, dtype, shape, strides: tensor.strides ?? denseStrides(shape) };
}

/** Bytes: kernels read several elements at a time, from where CUDA's allocations begin. */
const GPU_ALIGNMENT = 256n;

/** An array over the memory of a tensor with elements. `release` is called when nothing reads it any more. */
function wrapped(layout: Checked, site: Site, release: () => void): Lazy {
  const { device, address, dtype, shape, strides } = layout;
  const [before, length] = reachOf(shape, strides);
  const byteLength = byteLengthOf(dtype);
  const first = address - BigInt(before * byteLength);
  // Of the same allocation of CUDA, which begins at such a place.
  const begin = device.isHost ? first : first - (first % GPU_ALIGNMENT);
  const ahead = Number(first - begin) / byteLength;
  const ended = (): void => {
    if (device.isHost) release();
    // Reads may be queued still when the last handle is gone.
    else synchronize(device.name).then(release, release);
  };
  const buffer = wrapMemory(device.name, begin, (ahead + length) * byteLength, ended);
  const isWhole = ahead === 0 && isDense(shape, strides);
  return calledAt(site, () => {
    if (isWhole) return new Lazy(deviceArray(buffer, dtype, [...shape]));
    const line = deviceArray(buffer, dtype, [ahead + length]);
    return new Lazy(stridedView(line, ahead, shape, strides));
  });
}
