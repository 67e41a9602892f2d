/** NDArray: elements, nested lists, refusals, and printing against NumPy (scripts/make-print-fixtures.py). */
import { readFileSync } from 'node:fs';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { DType } from '../src/graph/dtype.js';
import type { TypedArray } from '../src/graph/expr.js';
import { sizeOfShape } from '../src/graph/graph.js';
import { ArgumentError, Lazy, lazy, NDArray, ShapeError } from '../src/index.js';
import { allocate } from './support/host.js';

interface PrintCase {
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly data: string;
  readonly text: string;
}

const cases = JSON.parse(
  readFileSync(new URL('./fixtures/printing.json', import.meta.url), 'utf8'),
) as PrintCase[];

function arrayOf({ dtype, shape, data }: Omit<PrintCase, 'text'>): NDArray {
  const memory = allocate(dtype, sizeOfShape(shape));
  new Uint8Array(memory.buffer).set(Buffer.from(data, 'base64'));
  return new NDArray(memory, shape, dtype);
}

describe('printing', () => {
  it.each([...new Set(cases.map((c) => c.dtype))])('of %s is what NumPy prints', (dtype) => {
    const wrong = cases
      .filter((c) => c.dtype === dtype)
      .map((c) => ({ expected: c.text, actual: arrayOf(c).toString() }))
      .filter(({ expected, actual }) => expected !== actual);
    expect(wrong).toEqual([]);
  });

  it('of bfloat16 shows the fewest digits that name a value', () => {
    const array = new NDArray(new Uint16Array([0x3dcd, 0x3f80, 0xc049, 0x7fc0]), [4], 'bfloat16');
    expect(array.toString()).toBe('[ 0.1   1.   -3.14   nan]');
  });

  it('reads only what it shows', () => {
    const size = 50_000_000;
    const started = process.cpuUsage().user;
    const text = new NDArray(new Uint8Array(size), [5000, 10_000], 'uint8').toString();
    expect(text.split('\n')).toHaveLength(7);
    expect(process.cpuUsage().user - started).toBeLessThan(200_000);
  });

  it('is what console.log shows', () => {
    expect(inspect(new NDArray(new Float32Array([1, 2.5]), [2], 'float32'))).toBe('[1.  2.5]');
  });
});

describe('NDArray', () => {
  const complex = new NDArray(new Float32Array([1, 2, 3, 4]), [2], 'complex64');

  it('gives elements as JavaScript data', () => {
    const matrix = new NDArray(new Int32Array([1, 2, 3, 4, 5, 6]), [2, 3], 'int32');
    expect([matrix.at(0, 0), matrix.at(1, 2), matrix.at(-1, -3)]).toEqual([1, 6, 4]);
    expect(matrix.toArray()).toEqual([
      [1, 2, 3],
      [4, 5, 6],
    ]);
    expect([matrix.size, matrix.ndim, matrix.strides, matrix.byteLength]).toEqual([6, 2, [3, 1], 24]);
    expect(complex.at(1)).toEqual({ re: 3, im: 4 });
    expect(new NDArray(new Uint8Array([1]), [1, 1], 'bool').item()).toBe(true);
    expect(new NDArray(new Uint16Array([0x3c00]), [1], 'float16').toArray()).toEqual([1]);
  });

  it('gives single 64-bit integers as numbers where those are exact, and lists of them as bigints', () => {
    const largest = 2n ** 53n - 1n;
    const integers = new NDArray(new BigInt64Array([-7n, largest, largest + 1n, -(2n ** 63n)]), [4], 'int64');
    expect(integers.toArray()).toEqual([-7n, largest, largest + 1n, -(2n ** 63n)]);
    expect([0, 1, 2, 3].map((k) => integers.at(k))).toEqual([
      -7,
      Number(largest),
      largest + 1n,
      -(2n ** 63n),
    ]);
    expect(new NDArray(new BigUint64Array([7n]), [1, 1], 'uint64').item()).toBe(7);
    expect(new NDArray(new BigUint64Array([2n ** 64n - 1n]), [], 'uint64').item()).toBe(2n ** 64n - 1n);
  });

  it.each<[string, () => unknown, unknown]>([
    ['item of several elements', () => complex.item(), ShapeError],
    ['an index out of range', () => complex.at(2), ShapeError],
    ['a fraction for an index', () => complex.at(0.5), ShapeError],
    ['too few indices', () => complex.at(), ShapeError],
    ['to be made JSON', () => JSON.stringify({ complex }), ArgumentError],
    ['data of another length', () => new NDArray(new Float32Array(3), [2], 'float32'), ShapeError],
    ['memory of another dtype', () => new NDArray(new Float32Array(2), [2], 'int32'), ArgumentError],
  ])('refuses %s', (_, act, error) => {
    expect(act).toThrow(error as new () => Error);
  });

  describe('goes through its first axis', () => {
    it('by elements', () => {
      expect([...new NDArray(new Float32Array([1, 2, 3]), [3], 'float32')]).toEqual([1, 2, 3]);
      expect([...complex]).toEqual([
        { re: 1, im: 2 },
        { re: 3, im: 4 },
      ]);
      expect([...new NDArray(new Uint8Array([1, 0]), [2], 'bool')]).toEqual([true, false]);
      const [small, large] = new NDArray(new BigInt64Array([1n, 2n ** 60n]), [2], 'int64');
      expect([small, large]).toEqual([1, 2n ** 60n]);
    });

    it('by arrays over the same memory', async () => {
      const data = Float64Array.from({ length: 12 }, (_, k) => k);
      const array = new NDArray(data, [2, 3, 2], 'float64');
      const parts = Array.from(array as Iterable<NDArray>);
      expect(parts.map((part) => part.shape)).toEqual([
        [3, 2],
        [3, 2],
      ]);
      expect(parts.map((part) => part.toArray())).toEqual(array.toArray());
      expect(parts[1]!.data.buffer).toBe(data.buffer);
      expect((await lazy(parts[1]!).sum().compute({ device: 'cpu' })).item()).toBe(51);
      const pairs = new NDArray(new Float32Array([1, 2, 3, 4]), [2, 1], 'complex64');
      expect(Array.from(pairs as Iterable<NDArray>, (part) => part.item())).toEqual([...complex]);
      expect([...new NDArray(new Float32Array(0), [0, 3], 'float32')]).toEqual([]);
      expect([...new NDArray(new Float32Array(0), [2, 0], 'float32')]).toHaveLength(2);
    });

    it('which its length counts, and which an array without axes does not have', () => {
      expect([complex.length, new NDArray(new Float32Array(0), [0, 3], 'float32').length]).toEqual([2, 0]);
      const scalar = new NDArray(new Float32Array(1), [], 'float32');
      expect(() => scalar.length).toThrow(
        '[length] expected an array with axes: an array of float32 () (use r.item())',
      );
      expect(() => [...scalar]).toThrow(TypeError);
    });
  });

  describe('says what it lacks', () => {
    const r = new NDArray(new Float32Array(6), [2, 3], 'float32') as unknown as Record<string, () => unknown>;

    it('for elements by index', () => {
      expect(() => r[0]).toThrow(
        '[NDArray] expected a method to read elements: [0] of an array of float32 (2, 3)',
      );
      expect(() => r[-1]).toThrow(ArgumentError);
      expect(() => (complex as unknown as unknown[])[1]).toThrow('(use r.at(1))');
    });

    it('for every method of a Lazy', () => {
      const names = Object.getOwnPropertyNames(Lazy.prototype).filter((name) => !(name in NDArray.prototype));
      expect(names).toEqual(['shape', 'sizes', 'dtype', 'device']);
      for (const name of ['add', 'sum', 'reshape', 'compute', 'persist', 'dispose', 'var'])
        expect(() => r[name]!()).toThrow(
          `[${name}] expected a Lazy: an array of float32 (2, 3) (r is a result: lazy(r).${name}(…))`,
        );
      expect(() => r.T).toThrow('lazy(r).T)');
    });

    it('without harm to what looks at arrays of any kind', async () => {
      const array = new NDArray(new Float32Array([1, Number.NaN]), [2], 'float32');
      expect(await array).toBe(array);
      expect([Object.keys(array), array instanceof Object, Reflect.get(array, 'then'), 0 in array]).toEqual([
        ['data', 'shape', 'dtype', 'strides', 'offset'],
        true,
        undefined,
        false,
      ]);
      expect(structuredClone(array)).toEqual({ ...array });
      expect(inspect(array)).toBe('[ 1. nan]');
      expect(inspect(array, { customInspect: false })).toMatch(/^NDArray \{\n {2}data: Float32Array\(2\)/);
      expect(array).toEqual(new NDArray(new Float32Array([1, Number.NaN]), [2], 'float32'));
      expect(array).not.toEqual(new NDArray(new Float32Array([1, 2]), [2], 'float32'));
      expect(array).not.toEqual(new NDArray(new Float64Array([1, Number.NaN]), [2], 'float64'));
      const scalar = (value: number): NDArray => new NDArray(new Float32Array([value]), [], 'float32');
      expect(scalar(1)).toStrictEqual(scalar(1));
      expect(scalar(1)).not.toEqual(scalar(2));
      expect(Object.prototype.toString.call(array)).toBe('[object Object]');
    });
  });

  it('is read by lazy() without a copy', () => {
    const data: TypedArray = new Float64Array([1, 2, 3]);
    const { expr } = lazy(new NDArray(data, [3], 'float64'));
    expect(expr.kind === 'source' && expr.source.type === 'host' && expr.source.data).toBe(data);
  });
});
