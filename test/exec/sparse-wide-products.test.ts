/** Products of sparse matrices on the CPU whose rows are gathered in dense lines, or where columns are many in hash tables. */
import { expect, it } from 'vitest';
import { sparse } from '../../src/api/sparse.js';
import { compute } from '../../src/index.js';
import { generator } from '../support/random.js';

const cpu = { device: 'cpu' } as const;
type Rows = ReadonlyMap<number, number>[];

function randomRows(next: () => number, lengths: readonly number[], columns: number): Rows {
  return lengths.map((length) => {
    const places = new Set(Array.from({ length }, () => Math.floor(next() * columns)));
    return new Map([...places].sort((a, b) => a - b).map((place) => [place, Math.floor(next() * 9) - 4]));
  });
}

function matrixOf(rows: Rows, columns: number) {
  const starts = [0];
  for (const row of rows) starts.push(starts.at(-1)! + row.size);
  const indices = Int32Array.from(rows.flatMap((row) => [...row.keys()]));
  const data = Float64Array.from(rows.flatMap((row) => [...row.values()]));
  return sparse.csr({ data, indices, indptr: Int32Array.from(starts) }, [rows.length, columns]).persist(cpu);
}

it.each([
  [1, 63],
  [2, 64],
  [3, 2 ** 18],
  [4, 2 ** 18 + 1],
  [5, 3_000_000],
])('seed %d: rows of %d columns are sums in the order of columns', async (seed, columns) => {
  const next = generator(seed);
  const inner = 60;
  // Rows without elements, of one, of few products, and of more than a hash table takes.
  const lengths = Array.from({ length: 80 }, (_, k) => [0, 1, 3, 50][k % 4]!);
  const a = randomRows(next, lengths, inner);
  const b = randomRows(
    next,
    Array.from({ length: inner }, (_, k) => (k % 5 === 0 ? 0 : k % 7 === 0 ? 900 : 90)),
    columns,
  );
  const product = (await matrixOf(a, inner)).matmul(await matrixOf(b, columns));
  const lines = await compute([product.indptr, product.indices, product.data], cpu);
  const [starts, places, values] = lines.map(({ data }) => Array.from(data as Float64Array, Number));
  const expected = a.map((row) => {
    const sums = new Map<number, number>();
    for (const [k, factor] of row)
      for (const [column, value] of b[k]!) sums.set(column, (sums.get(column) ?? 0) + factor * value);
    return [...sums].sort(([x], [y]) => x - y);
  });
  const ends = [0];
  for (const row of expected) ends.push(ends.at(-1)! + row.length);
  expect(starts).toEqual(ends);
  expect(places!.map((column, k) => [column, values![k]! + 0])).toEqual(
    expected.flat().map(([column, value]) => [column, value + 0]),
  );
});

it('rows of few products need no dense line where there is no room for one', async () => {
  const columns = 2 ** 18;
  const rows = [0, 5, columns - 1, 7].map((column, k) => new Map([[column, k + 1]]));
  const b = await matrixOf(rows, columns);
  const a = await matrixOf(
    rows.map(
      () =>
        new Map([
          [0, 1],
          [2, 3],
        ]),
    ),
    4,
  );
  const { data, indices } = a.matmul(b);
  const [values, places] = await compute([data, indices], { ...cpu, memory: 2 ** 18 });
  expect(places!.toArray()).toEqual([0, columns - 1, 0, columns - 1, 0, columns - 1, 0, columns - 1]);
  expect(values!.toArray()).toEqual([1, 9, 1, 9, 1, 9, 1, 9]);
});
