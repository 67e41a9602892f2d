/** Tensors of `@tensorflow/tfjs` and `onnxruntime-node` in and out: `fromTensor`, `toTensor`. */

import { compute } from '../api/compute.js';
import { lazy } from '../api/creation.js';
import type { ArrayLike } from '../api/fluent-types.js';
import { exprOf, Lazy } from '../api/lazy.js';
import { refuseMore } from '../graph/arguments.js';
import type { DType } from '../graph/dtype.js';
import type { TypedArray } from '../graph/expr.js';
import { formatValue } from '../graph/format.js';
import { map } from '../graph/infer.js';
import { isTypedArray } from '../host/elements.js';
import { ArgumentError, DTypeError, expected } from '../host/errors.js';
import { calledAsync, calledAt, outsideCall } from '../host/site.js';
import { hasMembers, resultOf, typeOf } from './results.js';

/** A tensor of onnxruntime, as far as it is needed. */
export interface OrtTensor {
  readonly type: string;
  readonly dims: readonly number[];
  getData(): Promise<unknown>;
}

/** A tensor of TensorFlow.js, as far as it is needed. */
export interface TfTensor {
  readonly dtype: string;
  readonly shape: readonly number[];
  data(): Promise<unknown>;
}

/** The module `onnxruntime-node`, as far as it is needed. */
export interface OrtModule<Tensor = unknown> {
  readonly Tensor: new (type: never, data: never, dims: readonly number[]) => Tensor;
}

/** The module `@tensorflow/tfjs`, as far as it is needed. */
export interface TfModule<Tensor = unknown> {
  tensor(values: never, shape?: never, dtype?: never): Tensor;
  complex(real: never, imag: never): Tensor;
}

/** Dtypes by the names of onnxruntime, which are ours. */
const ORT = {
  bool: 'bool',
  int8: 'int8',
  int16: 'int16',
  int32: 'int32',
  int64: 'int64',
  uint8: 'uint8',
  uint16: 'uint16',
  uint32: 'uint32',
  uint64: 'uint64',
  float16: 'float16',
  float32: 'float32',
  float64: 'float64',
} as const satisfies Partial<Record<DType, string>>;
const TF = { bool: 'bool', int32: 'int32', float32: 'float32', complex64: 'complex64' } as const;

const isOrt = (value: unknown): value is OrtTensor => hasMembers(value, 'type', 'dims', 'getData');
const isTf = (value: unknown): value is TfTensor => hasMembers(value, 'dtype', 'shape', 'data', 'dataSync');

/**
 * A tensor of onnxruntime or TensorFlow.js as an array. Tensors in memory of JavaScript (all of onnxruntime's on
 * the CPU, those of TensorFlow.js's backend `cpu`) are not copied; from other backends the library downloads them.
 *
 * Rejects with a DTypeError for a dtype that has no counterpart (text, `int4`), with an ArgumentError for what is no
 * tensor.
 *
 * @example
 * const tensor = { type: 'float32', dims: [2, 2], getData: async () => new Float32Array([1, 2, 3, 4]) }
 * await (await fromTensor(tensor)).sum(0).compute()
 * //=> [4. 6.]
 */
export function fromTensor(tensor: OrtTensor | TfTensor): Promise<Lazy>;
export async function fromTensor(tensor: OrtTensor | TfTensor, ...more: readonly unknown[]): Promise<Lazy> {
  return await calledAsync(fromTensor, async (site) => {
    refuseMore('fromTensor', 1, [tensor, ...more]);
    const [name, shape, types, read] = partsOf(tensor);
    if (!Object.hasOwn(types, name))
      throw new DTypeError(expected('fromTensor', `a tensor of ${Object.keys(types).join(', ')}`, name));
    const data = await outsideCall(read);
    if (!isTypedArray(data))
      throw new ArgumentError(expected('fromTensor', 'elements in a typed array', formatValue(data)));
    return calledAt(site, () => lazy(data, { shape: [...shape], dtype: name as DType }));
  });
}

type Parts = readonly [string, readonly number[], Readonly<Record<string, string>>, () => Promise<unknown>];

function partsOf(tensor: unknown): Parts {
  if (isOrt(tensor)) return [tensor.type, tensor.dims, ORT, () => tensor.getData()];
  if (isTf(tensor)) return [tensor.dtype, tensor.shape, TF, () => tensor.data()];
  const wanted = 'a tensor of onnxruntime or TensorFlow.js';
  throw new ArgumentError(expected('fromTensor', wanted, formatValue(tensor)));
}

/**
 * An array as a tensor of onnxruntime or TensorFlow.js, made by the module that is given. Results go out without a copy,
 * unless a backend of TensorFlow.js has memory of its own; other arrays are computed first. float16 is onnxruntime's
 * `float16`; complex64 goes to TensorFlow.js as two tensors.
 *
 * Rejects with a DTypeError for a dtype that the library does not have: TensorFlow.js has bool, int32, float32 and
 * complex64, onnxruntime all but bfloat16 and complex numbers.
 *
 * @example
 * class Tensor { constructor(public type: string, public data: unknown, public dims: readonly number[]) {} }
 * const { type, dims } = await toTensor(lazy([[1, 2]], { dtype: 'float16' }), { Tensor })
 * console.log(type, dims)
 * //=> float16 [ 1, 2 ]
 */
export function toTensor<Tensor>(x: ArrayLike, library: TfModule<Tensor>): Promise<Tensor>;
/** A tensor of onnxruntime. */
export function toTensor<Tensor>(x: ArrayLike, library: OrtModule<Tensor>): Promise<Tensor>;
export async function toTensor(
  x: ArrayLike,
  library: TfModule | OrtModule,
  ...more: readonly unknown[]
): Promise<unknown> {
  return await calledAsync(toTensor, async () => {
    refuseMore('toTensor', 2, [x, library, ...more]);
    const { dtype, shape } = exprOf('toTensor', x);
    if (hasMembers(library, 'tensor', 'complex')) {
      const tf = library as TfModule;
      const type = typeOf('toTensor', 'TensorFlow.js', TF, dtype);
      if (type === 'complex64') return await complexTensor(x, tf);
      const { data } = await resultOf('toTensor', x);
      return tf.tensor(data as never, [...shape] as never, type as never);
    }
    if (!hasMembers(library, 'Tensor'))
      throw new ArgumentError(expected('toTensor', 'onnxruntime or TensorFlow.js', formatValue(library)));
    const type = typeOf('toTensor', 'onnxruntime', ORT, dtype);
    const { data } = await resultOf('toTensor', x);
    return new (library as OrtModule).Tensor(type as never, float16Of(data, type) as never, [...shape]);
  });
}

/** Half-precision elements as onnxruntime wants them, where the engine has an array for them. */
function float16Of(data: TypedArray, type: string): unknown {
  const own = Reflect.get(globalThis, 'Float16Array') as (new (...of: unknown[]) => unknown) | undefined;
  return type !== 'float16' || own === undefined ? data : new own(data.buffer, data.byteOffset, data.length);
}

async function complexTensor(x: ArrayLike, tf: TfModule): Promise<unknown> {
  const expr = exprOf('toTensor', x);
  const parts = await compute([new Lazy(map('real', [expr])), new Lazy(map('imag', [expr]))]);
  const [real, imag] = parts.map(({ data }) =>
    tf.tensor(data as never, [...expr.shape] as never, 'float32' as never),
  );
  return tf.complex(real as never, imag as never);
}
