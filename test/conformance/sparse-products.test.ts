/** Products and sums of two sparse matrices with rows of any length, on every device, against sums over all indices. */
import { describe, expect, it, vi } from 'vitest';
import { compute, lazy, type SparseMatrix, sparse } from '../../src/index.js';
import { backends } from '../support/backends.js';
import { generator } from '../support/random.js';

vi.setConfig({ testTimeout: 120_000 });

type Numbers = readonly number[];

/** A matrix of small whole numbers, whose sums are exact, by rows, some in no order and with columns twice. */
interface Host {
  readonly rows: readonly ReadonlyMap<number, number>[];
  readonly matrix: SparseMatrix;
}

/** Row i has about `lengths[i]` elements. */
function hostMatrix(seed: number, columns: number, lengths: Numbers): Host {
  const next = generator(seed);
  const [data, indices, indptr]: [number[], number[], number[]] = [[], [], [0]];
  const rows = lengths.map((length) => {
    const row = new Map<number, number>();
    for (let k = 0; k < length; k++) {
      const [column, value] = [Math.floor(next() * columns), Math.floor(next() * 9) - 4];
      row.set(column, (row.get(column) ?? 0) + value);
      indices.push(column);
      data.push(value);
    }
    indptr.push(data.length);
    return row;
  });
  const arrays = {
    data: Float64Array.from(data),
    indices: lazy(Int32Array.from(indices)),
    indptr: lazy(Int32Array.from(indptr)),
  };
  return { rows, matrix: sparse.csr(arrays, [lengths.length, columns]) };
}

const entriesOf = (rows: Host['rows']): number[][] =>
  rows.flatMap((row, i) => [...row].sort(([a], [b]) => a - b).map(([column, value]) => [i, column, value]));

/** The stored elements of a matrix, in the order of its lines: rows and columns ascend, and no place is there twice. */
async function storedOf(matrix: SparseMatrix, device: string): Promise<number[][]> {
  const { data, indices, indptr } = matrix;
  const [values, columns, starts] = await compute([data, indices, indptr], { device });
  const rows = Array.from({ length: matrix.shape[0] }, (_, row) => row);
  return rows.flatMap((row) => {
    const [first, last] = [Number(starts!.data[row]), Number(starts!.data[row + 1])];
    return Array.from({ length: last - first }, (_, k) => [
      row,
      Number(columns!.data[first + k]),
      Number(values!.data[first + k]),
    ]);
  });
}

function productOf(a: Host, b: Host): number[][] {
  return entriesOf(
    a.rows.map((row) => {
      const sums = new Map<number, number>();
      for (const [k, x] of row)
        for (const [column, y] of b.rows[k]!) sums.set(column, (sums.get(column) ?? 0) + x * y);
      return sums;
    }),
  );
}

const mergedOf = (a: Host, b: Host, isOfBoth: boolean): number[][] =>
  entriesOf(
    a.rows.map((row, i) => {
      const other = b.rows[i]!;
      const columns = [...new Set([...row.keys(), ...other.keys()])];
      const wanted = isOfBoth ? columns.filter((c) => row.has(c) && other.has(c)) : columns;
      const of = (c: number): number =>
        isOfBoth ? row.get(c)! * other.get(c)! : (row.get(c) ?? 0) - (other.get(c) ?? 0);
      return new Map(wanted.map((c) => [c, of(c)]));
    }),
  );

const onDevices = backends().filter((device) => device !== 'reference' && device !== 'interpreted');

/** Lengths of rows, of which some are 0. */
const lengths = (count: number, of: (row: number) => number): number[] =>
  Array.from({ length: count }, (_, k) => of(k));

describe.each(onDevices)('sparse matrices by rows on %s', (device) => {
  it.each([
    [
      'short rows',
      hostMatrix(
        1,
        30,
        lengths(40, (k) => k % 5),
      ),
      hostMatrix(
        2,
        50,
        lengths(30, (k) => k % 4),
      ),
    ],
    ['rows of one element', hostMatrix(3, 1, [1, 0, 3]), hostMatrix(4, 1, [2])],
    // Of 90 columns and more the order is a sort, of more than 1,536 elements stretches of columns.
    [
      'long rows',
      hostMatrix(5, 40, [30, 0, 2, 9]),
      hostMatrix(
        6,
        9000,
        lengths(40, (k) => (k % 3) * 60 + 5),
      ),
    ],
    ['a full row', hostMatrix(7, 3, [2, 1]), hostMatrix(8, 5000, [4000, 1, 3000])],
  ])('products are exact and in order: %s', async (_, a, b) => {
    expect(await storedOf(a.matrix.matmul(b.matrix), device)).toEqual(productOf(a, b));
  });

  it.each([
    ['short rows', [3, 0, 1, 5], [2, 2, 0, 4], 8],
    ['long rows', [200, 0, 70], [90, 3, 150], 400],
    ['an empty matrix', [2, 1, 0], [0, 0, 0], 5],
  ] as const)('differences and products of elements are merged: %s', async (_, first, second, columns) => {
    const [a, b] = [hostMatrix(11, columns, first), hostMatrix(12, columns, second)];
    expect(await storedOf(a.matrix.subtract(b.matrix), device)).toEqual(mergedOf(a, b, false));
    expect(await storedOf(b.matrix.multiply(a.matrix), device)).toEqual(mergedOf(b, a, true));
  });

  it('transposes keep the order of rows, and rows of transposes are in order', async () => {
    const a = hostMatrix(13, 7, [4, 0, 9, 1]);
    const turned = Array.from(
      { length: 7 },
      (_, column) =>
        new Map(a.rows.flatMap((row, i) => (row.has(column) ? [[i, row.get(column)!] as const] : []))),
    );
    expect(await storedOf(a.matrix.sumDuplicates().T, device)).toEqual(entriesOf(turned));
  });

  it('float32 is summed in float64, in the order of the row', async () => {
    const a = sparse.csr(
      { data: Float32Array.of(2 ** 30, 1, -(2 ** 30)), indices: [0, 1, 2], indptr: [0, 3] },
      [1, 3],
    );
    const ones = sparse.fromDense(lazy(Float32Array.of(1, 1, 1), { shape: [3, 1] }));
    expect(await storedOf(a.matmul(ones), device)).toEqual([[0, 0, 1]]);
  });
});
