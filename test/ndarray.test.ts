/** NDArray: elements, nested lists, refusals, and printing against NumPy (scripts/make-print-fixtures.py). */
import { readFileSync } from 'node:fs';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { DType } from '../src/graph/dtype.js';
import type { TypedArray } from '../src/graph/expr.js';
import { sizeOfShape } from '../src/graph/graph.js';
import { ArgumentError, lazy, NDArray, ShapeError } from '../src/index.js';
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
    expect(new NDArray(new BigInt64Array([7n]), [], 'int64').item()).toBe(7n);
    expect(new NDArray(new Uint8Array([1]), [1, 1], 'bool').item()).toBe(true);
    expect(new NDArray(new Uint16Array([0x3c00]), [1], 'float16').toArray()).toEqual([1]);
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

  it('is read by lazy() without a copy', () => {
    const data: TypedArray = new Float64Array([1, 2, 3]);
    const { expr } = lazy(new NDArray(data, [3], 'float64'));
    expect(expr.kind === 'source' && expr.source.type === 'host' && expr.source.data).toBe(data);
  });
});
