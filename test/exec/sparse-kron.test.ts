/** Kronecker products of sparse matrices: in one pass on the CPU, and by nodes where a plan does not hold that. */
import { expect, it } from 'vitest';
import { sparse } from '../../src/api/sparse.js';
import type { SparseMatrix } from '../../src/api/sparse-matrix.js';
import { compute, explain, type Lazy } from '../../src/index.js';
import { generator } from '../support/random.js';

const cpu = { device: 'cpu' } as const;
type Rows = readonly (readonly (readonly [column: number, value: number])[])[];

/** Rows without elements, of a few, and of more than are written together; columns in no order. */
function randomRows(next: () => number, count: number, columns: number): Rows {
  return Array.from({ length: count }, (_, row) => {
    const length = [0, 1, 5, 8, 9, 20][Math.floor(next() * 6)]!;
    const places = Array.from({ length: row % 3 === 0 ? 2 : length }, () => Math.floor(next() * columns));
    return places.map((place) => [place, Math.floor(next() * 7) - 3] as const);
  });
}

function matrixOf(rows: Rows, columns: number, dtype: 'float32' | 'float64' | 'int32' | 'complex64') {
  const starts = [0];
  for (const row of rows) starts.push(starts.at(-1)! + row.length);
  const indices = Int32Array.from(rows.flat(), ([column]) => column);
  const data = Float64Array.from(rows.flat(), ([, value]) => value);
  const given = sparse.csr({ data, indices, indptr: Int32Array.from(starts) }, [rows.length, columns]);
  return given.astype(dtype);
}

/** The lines of the product, by loops over typed arrays: of 400 rows by 90 a million elements. */
function kronOf(a: Rows, b: Rows, columns: number) {
  const count = a.flat().length * b.flat().length;
  const starts = new Int32Array(a.length * b.length + 1);
  const [places, values] = [new Int32Array(count), new Float64Array(count)];
  let [at, end] = [0, 0];
  for (const row of a)
    for (const other of b) {
      for (const [j, u] of row)
        for (const [k, v] of other) {
          places[end] = j * columns + k;
          values[end++] = u * v + 0;
        }
      starts[++at] = end;
    }
  return { starts, places, values };
}

const linesOf = ({ indptr, indices, data }: SparseMatrix): Lazy[] => [indptr, indices, data];

it.each([
  ['float64', 1, 20, 30],
  ['float32', 2, 400, 90],
  ['int32', 3, 20, 30],
  ['complex64', 4, 20, 30],
] as const)('of %s, seed %d', async (dtype, seed, rowsA, rowsB) => {
  const next = generator(seed);
  const [columnsA, columnsB] = [15, 25];
  const [a, b] = [randomRows(next, rowsA, columnsA), randomRows(next, rowsB, columnsB)];
  const [x, y] = [matrixOf(a, columnsA, dtype), matrixOf(b, columnsB, dtype)];
  // Of an unknown number of elements, which are all there are.
  const [boundedX, boundedY] = [x.columns(0, columnsA), y.columns(0, columnsB)];
  const expected = kronOf(a, b, columnsB);
  for (const matrix of [
    sparse.kron(x, y),
    sparse.kron(await x.persist(cpu), boundedY),
    sparse.kron(boundedX, y),
  ]) {
    const real = matrix.map((data) => (dtype === 'complex64' ? data.real() : data).astype('float64'));
    const [starts, places, values] = await compute(linesOf(real), cpu);
    expect(starts!.data).toEqual(expected.starts);
    expect(places!.data).toEqual(expected.places);
    expect((values!.data as Float64Array).map((value) => value + 0)).toEqual(expected.values);
  }
});

it('is planned by nodes where it does not fit', async () => {
  const next = generator(7);
  const matrices = [
    matrixOf(randomRows(next, 60, 40), 40, 'float64'),
    matrixOf(randomRows(next, 50, 30), 30, 'float64'),
  ];
  const [x, y] = (await Promise.all(matrices.map((each) => each.persist(cpu)))) as [
    SparseMatrix,
    SparseMatrix,
  ];
  const sums = () => linesOf(sparse.kron(x, y)).map((each) => each.sum());
  const within = { ...cpu, memory: 2 ** 18 };
  expect((await explain(sums(), cpu)).toString()).toContain('\n  sparseKron ');
  expect((await explain(sums(), within)).toString()).not.toContain('\n  sparseKron ');
  const [whole, parts] = [await compute(sums(), cpu), await compute(sums(), within)];
  expect(parts.map((each) => each.item())).toEqual(whole.map((each) => each.item()));
});
