/**
 * Creation: what the user's data becomes, without copies, and what is refused. Values come from the
 * reference.
 */
import { describe, expect, it } from 'vitest';
import { sizeOfShape } from '../src/graph/graph.js';
import { readElement } from '../src/host/elements.js';
import * as weft from '../src/index.js';
import {
  ArgumentError,
  type ArrayLike,
  arange,
  DTypeError,
  eye,
  full,
  identity,
  type Lazy,
  lazy,
  linspace,
  logspace,
  meshgrid,
  ones,
  RangeArgumentError,
  ShapeError,
  zeros,
  zerosLike,
} from '../src/index.js';
import { referenceOf } from './support/api.js';

function valuesOf(x: Lazy): unknown[] {
  const { data, shape, dtype } = referenceOf([x])[0]!;
  return Array.from({ length: sizeOfShape(shape) }, (_, k) => readElement(data, dtype, k));
}

const sourceOf = (x: Lazy) => {
  if (x.expr.kind !== 'source' || x.expr.source.type !== 'host') throw new TypeError(`${x} is no host array`);
  return x.expr.source;
};
const kinds = (x: Lazy): unknown[] => [x.dtype, x.shape, valuesOf(x)];

describe('lazy', () => {
  it('reads typed arrays where they are', () => {
    const data = new Float32Array([1, 2, 3, 4, 5, 6]);
    expect(sourceOf(lazy(data)).data).toBe(data);
    expect(kinds(lazy(data, { shape: [2, 3] }))).toEqual(['float32', [2, 3], [1, 2, 3, 4, 5, 6]]);
    const strided = lazy({ data, shape: [3, 2], strides: [1, 3] });
    expect(sourceOf(strided).data).toBe(data);
    expect(valuesOf(strided)).toEqual([1, 4, 2, 5, 3, 6]);
    expect(valuesOf(lazy({ data, shape: [2], stride: [-2], offset: 4 }))).toEqual([5, 3]);
    expect(valuesOf(lazy({ data, shape: [2, 2], strides: [0, 1] }))).toEqual([1, 2, 1, 2]);
  });

  it.each<[string, ArrayLike, string]>([
    ['Int8Array', new Int8Array(1), 'int8'],
    ['Uint8ClampedArray', new Uint8ClampedArray(1), 'uint8'],
    ['Buffer', Buffer.from([1]), 'uint8'],
    ['Uint16Array', new Uint16Array(1), 'uint16'],
    ['Float64Array', new Float64Array(1), 'float64'],
    ['BigInt64Array', new BigInt64Array(1), 'int64'],
    ['BigUint64Array', new BigUint64Array(1), 'uint64'],
    ['a number', 2, 'float64'],
    ['a bigint', 2n, 'int64'],
    ['a large bigint', 2n ** 63n, 'uint64'],
    ['a boolean', true, 'bool'],
    ['a complex value', { re: 1, im: 2 }, 'complex128'],
    ['numbers', [1, 2], 'float64'],
    ['bigints', [1n], 'int64'],
    ['booleans', [[true]], 'bool'],
    ['numbers and booleans', [true, 0.5], 'float64'],
    ['numbers and bigints', [1n, 0.5], 'float64'],
    ['numbers and complex values', [1, { re: 0, im: 1 }], 'complex128'],
    ['typed rows', [new Float32Array(2), new Float32Array(2)], 'float32'],
    ['typed rows of two types', [new Int8Array(2), new Float32Array(2)], 'float32'],
    ['nothing', [], 'float64'],
  ])('of %s has dtype %s', (_, data, dtype) => {
    expect(lazy(data).dtype).toBe(dtype);
  });

  it('nests to any depth', () => {
    expect(
      kinds(
        lazy([
          [1, 2],
          [3, 4],
          [5, 6],
        ]),
      ),
    ).toEqual(['float64', [3, 2], [1, 2, 3, 4, 5, 6]]);
    expect(lazy([[], []]).shape).toEqual([2, 0]);
    expect(lazy([[[1]], [[2]]]).shape).toEqual([2, 1, 1]);
    expect(kinds(lazy([new Int8Array([1, 2]), new Int8Array([3, 4])]))).toEqual([
      'int8',
      [2, 2],
      [1, 2, 3, 4],
    ]);
  });

  it('takes a dtype', () => {
    expect(kinds(lazy([1.7, -1.7], { dtype: 'int32' }))).toEqual(['int32', [2], [1, -1]]);
    expect(kinds(lazy([1, 0], { dtype: 'bool' }))).toEqual(['bool', [2], [true, false]]);
    expect(kinds(lazy(2, { dtype: 'int64' }))).toEqual(['int64', [], [2n]]);
    expect(kinds(lazy(new Float64Array([1.5, -2]), { dtype: 'int8' }))).toEqual(['int8', [2], [1, -2]]);
    expect(kinds(lazy(new Uint8Array([0, 1, 7]), { dtype: 'bool' }))).toEqual([
      'bool',
      [3],
      [false, true, true],
    ]);
    expect(kinds(lazy(lazy([1, 2]), { dtype: 'float32' }))).toEqual(['float32', [2], [1, 2]]);
  });

  it('reads halves and complex numbers from the arrays that hold them', () => {
    const halves = new Uint16Array([0x3c00, 0xc000]);
    expect(kinds(lazy(halves, { dtype: 'float16' }))).toEqual(['float16', [2], [1, -2]]);
    expect(sourceOf(lazy(halves, { dtype: 'bfloat16' })).data).toBe(halves);
    const pairs = new Float32Array([1, 2, 3, 4]);
    expect(kinds(lazy(pairs, { dtype: 'complex64' }))).toEqual([
      'complex64',
      [2],
      [
        { re: 1, im: 2 },
        { re: 3, im: 4 },
      ],
    ]);
    expect(lazy({ data: pairs, shape: [2], dtype: 'complex64' }).dtype).toBe('complex64');
    expect(kinds(lazy(pairs, { dtype: 'complex128' }))[1]).toEqual([4]);
  });

  it("reads other libraries' arrays", () => {
    expect(lazy({ data: new Uint8Array(4), shape: [2, 2], dtype: 'uint8_clamped' }).dtype).toBe('uint8');
    expect(lazy({ data: [1, 2], shape: [2], stride: [1], offset: 0, dtype: 'array' }).dtype).toBe('float64');
    const stored = new weft.NDArray(new Uint8Array([1, 0]), [2], 'bool');
    expect(kinds(lazy(stored))).toEqual(['bool', [2], [true, false]]);
  });

  it('gives a Lazy back', () => {
    const x = lazy([1]);
    expect(lazy(x)).toBe(x);
  });

  const shared = new Float32Array(6);
  it.each<[string, () => unknown, unknown]>([
    ['ragged lists', () => lazy([[1, 2], [3]]), ShapeError],
    ['a value among lists', () => lazy([[1], 2] as ArrayLike), ShapeError],
    ['a list among values', () => lazy([1, [2]] as ArrayLike), ShapeError],
    ['data shorter than its shape', () => lazy({ data: shared, shape: [7] }), ShapeError],
    ['data shorter than the shape option', () => lazy(shared, { shape: [2, 4] }), ShapeError],
    ['data longer than the shape option', () => lazy(shared, { shape: [2] }), ShapeError],
    ['strides out of the data', () => lazy({ data: shared, shape: [2, 3], strides: [4, 1] }), ShapeError],
    ['strides before the data', () => lazy({ data: shared, shape: [2], strides: [-1] }), ShapeError],
    ['too few strides', () => lazy({ data: shared, shape: [2, 3], strides: [1] }), ShapeError],
    ['a fraction for a stride', () => lazy({ data: shared, shape: [2], strides: [0.5] }), ShapeError],
    ['a fraction for an offset', () => lazy({ data: shared, shape: [2], offset: NaN }), ShapeError],
    [
      'an odd number of values for complex',
      () => lazy(new Float32Array(3), { dtype: 'complex64' }),
      ShapeError,
    ],
    ['NaN for a shape', () => lazy(shared, { shape: [NaN] }), ShapeError],
    ['an unknown dtype', () => lazy(shared, { dtype: 'float' as 'float32' }), DTypeError],
    ['an unknown foreign dtype', () => lazy({ data: shared, shape: [6], dtype: 'f4' }), DTypeError],
    ['complex values for a real dtype', () => lazy([{ re: 1, im: 0 }], { dtype: 'float64' }), DTypeError],
    ['a value out of range', () => lazy([300], { dtype: 'int8' }), RangeArgumentError],
    ['NaN as an integer', () => lazy([NaN], { dtype: 'int32' }), RangeArgumentError],
    ['bigints of no one dtype', () => lazy([-1n, 2n ** 63n]), RangeArgumentError],
    ['text', () => lazy('abc' as unknown as number), ArgumentError],
    ['text in lists', () => lazy(['a'] as unknown as number[]), ArgumentError],
    ['null', () => lazy(null as unknown as number), ArgumentError],
    ['undefined', () => lazy(undefined as unknown as number), ArgumentError],
    ['a DataView', () => lazy(new DataView(new ArrayBuffer(8)) as unknown as Float32Array), ArgumentError],
    ['an unknown option', () => lazy([1], { dType: 'int8' } as object), ArgumentError],
    ['a shape for a Lazy', () => lazy(lazy([1]), { shape: [1] }), ArgumentError],
  ])('refuses %s', (_, act, error) => {
    expect(act).toThrow(error as new () => Error);
    expect(act).toThrow(/^\[lazy\] expected /);
  });

  it('refuses arrays that have lost their memory', () => {
    const detached = new Float32Array(4);
    structuredClone(detached.buffer, { transfer: [detached.buffer] });
    expect(() => lazy(detached)).toThrow(ArgumentError);
    expect(() => lazy({ data: detached, shape: [0] })).toThrow(ArgumentError);
    const buffer = Reflect.construct(ArrayBuffer, [16, { maxByteLength: 32 }]) as ArrayBuffer;
    const outside = new Float32Array(buffer, 8, 2);
    (buffer as ArrayBuffer & { resize(byteLength: number): void }).resize(8);
    expect(() => lazy(outside)).toThrow(ArgumentError);
    expect(lazy(new Float32Array(0)).shape).toEqual([0]);
  });
});

describe('filled arrays', () => {
  it('hold no data', () => {
    const x = zeros([2 ** 20, 2 ** 20]);
    expect([x.dtype, x.size, x.expr.kind]).toEqual(['float64', 2 ** 40, 'view']);
    expect(kinds(ones(2, 'int8'))).toEqual(['int8', [2], [1, 1]]);
    expect(kinds(full([2], 7n))).toEqual(['int64', [2], [7n, 7n]]);
    expect(kinds(full([1], 1.9, { dtype: 'int32' }))).toEqual(['int32', [1], [1]]);
    expect(kinds(zerosLike(new Int8Array(2)))).toEqual(['int8', [2], [0, 0]]);
    expect(kinds(weft.onesLike([[1, 2]], 'bool'))).toEqual(['bool', [1, 2], [true, true]]);
    expect(kinds(weft.fullLike([1, 2], -3, 'int16'))).toEqual(['int16', [2], [-3, -3]]);
  });

  it('have ones on a diagonal', () => {
    expect(valuesOf(eye(2, 3, { k: 1 }))).toEqual([0, 1, 0, 0, 0, 1]);
    expect(valuesOf(eye(3, 2, { k: -1, dtype: 'int8' }))).toEqual([0, 0, 1, 0, 0, 1]);
    const below = (k: number): unknown => valuesOf(ones([2, 2]).tril(k));
    expect([below(2 ** 60), below(-Infinity)]).toEqual([
      [1, 1, 1, 1],
      [0, 0, 0, 0],
    ]);
    for (const k of [2 ** 60, -(2 ** 60), Infinity, 3, -2])
      expect(valuesOf(eye(2, 3, { k }))).toEqual([0, 0, 0, 0, 0, 0]);
    expect(kinds(identity(2, 'float32'))).toEqual(['float32', [2, 2], [1, 0, 0, 1]]);
  });

  it.each<[string, () => unknown, unknown]>([
    ['a negative size', () => zeros([2, -1]), ShapeError],
    ['a fraction', () => ones(1.5), ShapeError],
    ['a value out of range', () => full(2, 300, 'uint8'), RangeArgumentError],
    ['text for a value', () => full(2, 'a' as unknown as number), ArgumentError],
    ['an unknown dtype', () => zeros(2, 'double' as 'float64'), DTypeError],
    ['a fraction for a diagonal', () => eye(2, 2, { k: 0.5 }), ShapeError],
  ])('refuse %s', (_, act, error) => {
    expect(act).toThrow(error as new () => Error);
  });
});

describe('ranges', () => {
  it('step from start to before stop', () => {
    expect(kinds(arange(4))).toEqual(['float64', [4], [0, 1, 2, 3]]);
    expect(kinds(arange(1, 8, 3))).toEqual(['float64', [3], [1, 4, 7]]);
    expect(kinds(arange(5, 0, -2, 'int32'))).toEqual(['int32', [3], [5, 3, 1]]);
    expect(kinds(arange(3n))).toEqual(['int64', [3], [0n, 1n, 2n]]);
    expect(kinds(arange(2, { dtype: 'float32' }))).toEqual(['float32', [2], [0, 1]]);
    expect(arange(3, 1).shape).toEqual([0]);
    expect(valuesOf(arange(2n ** 62n, 2n ** 62n + 2n))).toEqual([2n ** 62n, 2n ** 62n + 1n]);
  });

  it("have NumPy's values", () => {
    // np.arange(0.1, 1, 0.3), np.arange(0.1, 0.5, 0.1, dtype=np.float32), np.linspace(0, 1, 7)[3],
    // np.linspace(2, 3, 4)
    expect(valuesOf(arange(0.1, 1, 0.3))).toEqual([0.1, 0.4, 0.7000000000000001]);
    expect(valuesOf(arange(0.1, 0.5, 0.1, 'float32'))).toEqual([0.1, 0.2, 0.3, 0.4].map(Math.fround));
    expect(valuesOf(linspace(2, 3, 4))).toEqual([2, 2.3333333333333335, 2.6666666666666665, 3]);
    expect(valuesOf(linspace(0, 1, 4, { endpoint: false }))).toEqual([0, 0.25, 0.5, 0.75]);
    expect(kinds(linspace(0, 10, 5, { dtype: 'int32' }))).toEqual(['int32', [5], [0, 2, 5, 7, 10]]);
    expect([valuesOf(linspace(3, 9, 1)), linspace(0, 1, 0).shape, linspace(0, 1).shape]).toEqual([
      [3],
      [0],
      [50],
    ]);
    expect(valuesOf(linspace(2, 2, 3))).toEqual([2, 2, 2]);
  });

  it('rounds products before it adds them, where a GPU would contract the two', () => {
    const opsOf = (x: Lazy): string => x.explain({ device: 'cpu' }).graph;
    for (const x of [linspace(2, 3, 4), logspace(1, 3, 4), arange(0.5, 2, 0.1)])
      expect(opsOf(x)).toContain('nextafter');
    for (const x of [linspace(0, 3, 4), arange(0, 2, 0.1)]) expect(opsOf(x)).not.toContain('nextafter');
    expect(valuesOf(linspace(-1, -0, 3))).toEqual([-1, -0.5, -0]);
    expect(valuesOf(linspace(-1e-320, 3e-320, 5))).toEqual([-1e-320, 0, 1e-320, 2e-320, 3e-320]);
    expect(valuesOf(linspace(0, Number.POSITIVE_INFINITY, 3)).at(-1)).toBe(Number.POSITIVE_INFINITY);
  });

  it.each<[string, () => unknown, unknown]>([
    ['a step of 0', () => arange(0, 3, 0), RangeArgumentError],
    ['NaN', () => arange(NaN), RangeArgumentError],
    ['infinity', () => arange(0, Infinity), RangeArgumentError],
    ['fractions for integers', () => arange(0, 3, 0.5, 'int32'), RangeArgumentError],
    ['ends that the dtype has not', () => arange(0, 300, 1, 'int8'), RangeArgumentError],
    ['text', () => arange('3' as unknown as number), ArgumentError],
    ['booleans', () => arange(3, 'bool'), ArgumentError],
    ['a fractional count', () => linspace(0, 1, 2.5), ShapeError],
    ['a negative count', () => linspace(0, 1, -1), ShapeError],
  ])('refuse %s', (_, act, error) => {
    expect(act).toThrow(error as new () => Error);
  });
});

describe('meshgrid', () => {
  it('spreads lines over a grid in both orders', () => {
    const [x, y] = meshgrid([
      [1, 2, 3],
      [10, 20],
    ]);
    expect(x!.shape).toEqual([2, 3]);
    expect([valuesOf(x!), valuesOf(y!)]).toEqual([
      [1, 2, 3, 1, 2, 3],
      [10, 10, 10, 20, 20, 20],
    ]);
    const [i] = meshgrid(
      [
        [1, 2, 3],
        [10, 20],
      ],
      { indexing: 'ij' },
    );
    expect([i!.shape, valuesOf(i!)]).toEqual([
      [3, 2],
      [1, 1, 2, 2, 3, 3],
    ]);
    expect(meshgrid([[1, 2], [1, 2, 3], [1]]).map((each) => each.shape)).toEqual(Array(3).fill([3, 2, 1]));
  });
  it('refuses matrices and other orders', () => {
    expect(() => meshgrid([[[1]]])).toThrow(ShapeError);
    expect(() => meshgrid([[1]], { indexing: 'yx' as 'xy' })).toThrow(ArgumentError);
    expect(() => meshgrid(3 as unknown as [])).toThrow(ArgumentError);
  });
});
