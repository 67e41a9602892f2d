/** Sparse matrices of elements in any order on simulated GPUs, which sort keys where the CPU counts rows. */
import { expect, it } from 'vitest';
import { compute } from '../../src/api/compute.js';
import { lazy } from '../../src/api/creation.js';
import type { Lazy } from '../../src/api/lazy.js';
import { sparse } from '../../src/api/sparse.js';
import type { SparseMatrix } from '../../src/api/sparse-matrix.js';
import { MemoryError } from '../../src/host/errors.js';
import { generator } from '../support/random.js';

const NUMBERS = [Number.NaN, -0, 0, Number.POSITIVE_INFINITY, 0.1, 0.2, -0.3, 3];
const WAYS = [
  { device: 'cuda:0' },
  { device: 'cuda:0', memory: 100_000 },
  { device: 'cuda:0', memory: 20_000 },
  { devices: 2 },
  { devices: 2, memory: 40_000 },
];

interface Elements {
  readonly shape: readonly [number, number];
  readonly row: readonly number[];
  readonly col: readonly number[];
  readonly data: readonly number[];
}

/** Elements of which many are at one place; one row, the last one and others have none. */
function randomElements(seed: number, shape: readonly [number, number], count: number): Elements {
  const next = generator(seed);
  const line = (of: () => number): number[] => Array.from({ length: count }, of);
  const [rows, columns] = shape;
  const places = line(() => Math.floor(next() * columns)).slice(0, Math.ceil(count / 9));
  return {
    shape,
    row: line(() => Math.max(0, Math.floor(next() ** 2 * (rows - 1)))),
    col: line(() => places[Math.floor(next() * places.length)]!),
    data: line(() => NUMBERS[Math.floor(next() * NUMBERS.length)]!),
  };
}

/** Where rows begin, columns and sums in float64, rounded once, of elements in the order in which they are given. */
function expected(
  { shape, row, col, data }: Elements,
  dtype: 'float32' | 'float64',
): readonly (readonly number[])[] {
  const sums = Array.from({ length: shape[0] }, () => new Map<number, number>());
  for (const [k, value] of data.entries()) {
    const given = dtype === 'float32' ? Math.fround(value) : value;
    const own = sums[row[k]!]!;
    own.set(col[k]!, (own.get(col[k]!) ?? 0) + given);
  }
  const rows = sums.map((own) => [...own].sort(([a], [b]) => a - b));
  const starts = [0];
  for (const own of rows) starts.push(starts.at(-1)! + own.length);
  const all = rows.flat();
  return [
    starts,
    all.map(([column]) => column),
    all.map(([, sum]) => (dtype === 'float32' ? Math.fround(sum) : sum)),
  ];
}

const linesOf = ({ indptr, indices, data }: SparseMatrix): Lazy[] => [indptr, indices, data];

async function areLines(matrix: SparseMatrix, wanted: readonly (readonly number[])[]): Promise<number> {
  let found = 0;
  for (const options of WAYS) {
    const lines = await compute(linesOf(matrix), options).catch((error: unknown) => {
      expect(error).toBeInstanceOf(MemoryError);
    });
    found += lines === undefined ? 0 : 1;
    for (const [k, { data }] of (lines ?? []).entries())
      expect(Array.from(data as ArrayLike<number | bigint>, Number), JSON.stringify(options)).toEqual(
        wanted[k],
      );
  }
  return found;
}

it.each(['float32', 'float64'] as const)(
  '%s elements in any order are added up in the order in which they are given, within budgets and on two GPUs',
  async (dtype) => {
    let found = 0;
    for (const [seed, shape, count] of [
      [1, [1, 1], 3],
      [2, [300, 70], 2000],
      [3, [40, 2 ** 36], 500],
    ] as const) {
      const given = randomElements(seed, shape, count);
      const index = (line: readonly number[]) =>
        shape[1] > 2 ** 31 ? BigInt64Array.from(line, BigInt) : Int32Array.from(line);
      const [data, row, col] = [lazy(given.data).astype(dtype), index(given.row), index(given.col)];
      found += await areLines(sparse.coo({ data, row, col }, shape), expected(given, dtype));
    }
    expect(found).toBeGreaterThan(9);
  },
);

it('a matrix of many columns is put in order without what is behind its true number, on GPUs as anywhere', async () => {
  const { shape, row, col, data } = randomElements(5, [60, 2 ** 36], 400);
  const order = row.map((_, k) => k).sort((i, j) => row[i]! - row[j]! || i - j);
  const pick = <T>(line: readonly T[]): T[] => order.map((k) => line[k]!);
  const indptr = Int32Array.from({ length: 61 }, (_, k) => row.filter((own) => own < k).length);
  const given = { shape, row: pick(row), col: pick(col), data: pick(data) };
  const indices = BigInt64Array.from(given.col, BigInt);
  const whole = sparse.csr({ data: Float64Array.from(given.data), indices, indptr }, shape);
  // Starts that are not known before anything runs, and elements that no row has.
  const computed = sparse.csr(
    {
      data: Float64Array.from([...given.data, 7, Number.NaN]),
      indices: BigInt64Array.from([...given.col, -1, 5], BigInt),
      indptr: lazy(indptr).add(0),
    },
    shape,
  );
  const wanted = expected(given, 'float64');
  for (const matrix of [whole, computed])
    expect(await areLines(matrix.sumDuplicates(), wanted)).toBeGreaterThan(2);
});
