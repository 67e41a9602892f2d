/** Routines of the CPU that move the elements of sparse matrices, of every dtype and width of indices. */
import { expect, it } from 'vitest';
import { sparse } from '../../src/api/sparse.js';
import type { SparseMatrix } from '../../src/api/sparse-matrix.js';
import { compute, explain, lazy, ones } from '../../src/index.js';
import { toLazy } from '../support/api.js';
import { generator, randomIntegers } from '../support/random.js';

const cpu = { device: 'cpu' } as const;
const DTYPES = [
  'bool',
  'int16',
  'uint64',
  'float16',
  'float32',
  'float64',
  'complex64',
  'complex128',
] as const;

/** Elements in no order, of which some are at one place. */
interface Elements {
  readonly shape: readonly [number, number];
  readonly row: readonly number[];
  readonly col: readonly number[];
}

function randomElements(seed: number, shape: readonly [number, number], count: number): Elements {
  const next = generator(seed);
  const line = (below: number): number[] =>
    Array.from({ length: count }, () => Math.floor(next() ** 2 * below));
  return { shape, row: line(shape[0]), col: line(shape[1]) };
}

/** Numbers of the elements in the order of the matrix, and where rows begin. */
function inOrder({ shape: [rows, columns], row, col }: Elements) {
  const order = row.map((_, k) => k);
  order.sort((a, b) => row[a]! * columns + col[a]! - (row[b]! * columns + col[b]!) || a - b);
  const isFirst = (k: number): boolean => {
    const [own, last] = [order[k]!, order[k - 1]];
    return last === undefined || row[own] !== row[last] || col[own] !== col[last];
  };
  const places = order.filter((_, k) => isFirst(k));
  const starts = new Int32Array(rows + 1);
  for (const k of places) starts[row[k]! + 1]!++;
  for (let k = 0; k < rows; k++) starts[k + 1]! += starts[k]!;
  return { order, isFirst, places, starts };
}

const linesOf = async ({ indptr, indices, data }: SparseMatrix): Promise<unknown[]> =>
  (await compute([indptr, indices, data], cpu)).map(({ data: line }) =>
    Array.from(line as Float64Array, Number),
  );

it.each(DTYPES)('%s: elements, transposes and rows of matrices are those of their lists', async (dtype) => {
  for (const [seed, shape, count] of [
    [1, [7, 5], 30],
    [2, [1, 40], 200],
    [3, [60, 1], 50],
    [4, [300, 90], 40_000],
  ] as const) {
    const isLong = seed % 2 === 0;
    const given = randomElements(seed, shape, count);
    const { order, isFirst, places, starts } = inOrder(given);
    const data = toLazy(randomIntegers(dtype, [count], seed, 0, 3));
    const index = (line: readonly number[]) =>
      isLong ? BigInt64Array.from(line, BigInt) : Int32Array.from(line);
    const a = sparse.coo({ data, row: index(given.row), col: index(given.col) }, shape);
    expect((await a.indptr.compute(cpu)).data, `seed ${seed}`).toEqual(starts);
    expect([...(await a.indices.compute(cpu)).data]).toEqual(places.map((k) => given.col[k]));
    // Sums by a list, in the dtype of the elements.
    const sums = data.take(Int32Array.from(order));
    const ends = order.flatMap((_, k) => (isFirst(k) ? [k] : []));
    const summed = sparse.csr(
      { data: sums, indices: new Int32Array(count), indptr: Int32Array.from([...ends, count]) },
      [ends.length, 1],
    );
    const found = await compute([a.data, summed.matmul(ones([1], { dtype }))], cpu);
    expect(found[0]!.data, `seed ${seed}`).toEqual(found[1]!.data);

    const turned = sparse.coo({ data, row: index(given.col), col: index(given.row) }, [shape[1], shape[0]]);
    expect(await linesOf(a.T), `seed ${seed}`).toEqual(await linesOf(turned));
    const half = shape[0] >> 1;
    const parts = [a.rows(half), a.rows(0, half)];
    expect(await linesOf(sparse.vstack(parts).T)).toEqual(
      await linesOf(a.takeRows(Array.from({ length: shape[0] }, (_, k) => (k + half) % shape[0])).T),
    );
    expect(await linesOf(sparse.hstack(parts.map((part) => part.T)))).toEqual(
      await linesOf(sparse.vstack(parts).T),
    );
  }
});

it.each(['float32', 'float64'] as const)(
  '%s: sums, differences and products are those of complex matrices',
  async (dtype) => {
    // Infinities times the zeros of imaginary parts are no numbers.
    const finite = [1.5, -0, 0, -2, 3, -0, 1e30];
    const matrix = (seed: number, values: readonly number[]): SparseMatrix => {
      const { row, col, shape } = randomElements(seed, [40, 30], 300);
      const data = lazy(row.map((at, k) => values[(at + 3 * k) % values.length]!)).astype(dtype);
      return sparse.coo({ data, row: Int32Array.from(row), col: Int32Array.from(col) }, shape);
    };
    const wide = dtype === 'float32' ? 'complex64' : 'complex128';
    for (const join of ['add', 'subtract', 'multiply'] as const) {
      const values = join === 'multiply' ? finite : [...finite, Number.NaN, Number.POSITIVE_INFINITY];
      const [a, b] = [matrix(5, values), matrix(6, values)];
      const [own, other] = [a[join](b), a.astype(wide)[join](b.astype(wide))];
      expect((await explain([own.data], cpu)).toString()).toContain('\n  sparseCombine ');
      const lines = [own.indptr, own.indices, own.data, other.indptr, other.indices, other.data.real()];
      const found = (await compute(lines, cpu)).map(({ data }) => data);
      expect(found.slice(0, 3)).toEqual(found.slice(3));
    }
  },
);

it('the CPU moves rows and elements itself, and gathers elements one by one where a plan does not hold them', async () => {
  const a = await sparse.diags([1, 2, 3], [-1, 0, 1], [2000, 2000]).persist(cpu);
  const index = a.data.mul(300).astype('int32');
  const doubled = a.map((data) => data.mul(2));
  const few = doubled.takeRows([5, 5, 1]);
  const sums = ({ data, indices, indptr }: SparseMatrix) => [data.sum(), indices.max(), indptr.max()];
  const jobs = [
    [doubled.T, 'sparseTranspose'],
    [few, 'sparseGather'],
    [sparse.hstack([doubled, a]), 'sparseGather'],
    [sparse.coo({ data: doubled.data, row: index, col: index }, a.shape), 'sparseElements'],
  ] as const;
  for (const [job, routine] of jobs)
    expect((await explain(sums(job), cpu)).toString()).toContain(`\n  ${routine} `);
  const within = { ...cpu, memory: 32 * 1024 };
  expect((await explain(sums(few), within)).toString()).not.toContain('sparseGather ');
  const [whole, tiled] = [await compute(sums(few), cpu), await compute(sums(few), within)];
  expect(tiled.map((each) => each.item())).toEqual(whole.map((each) => each.item()));
});
