/** Elements of sparse matrices that the CPU keeps by a mask or by their columns, in rows of all lengths. */
import { expect, it } from 'vitest';
import { sparse } from '../../src/api/sparse.js';
import type { SparseMatrix } from '../../src/api/sparse-matrix.js';
import { createProgram, type RoutineSpec, run } from '../../src/exec/native/native.js';
import { dtypeCode } from '../../src/graph/dtype.js';
import { compute } from '../../src/index.js';
import { generator } from '../support/random.js';

const cpu = { device: 'cpu' } as const;
type Element = readonly [column: number, value: number];

/** Rows of up to so many elements, many of them empty, a few of which are longer than a block of 2,048. */
function randomRows(seed: number, count: number, most: number, columns: number): Element[][] {
  const next = generator(seed);
  return Array.from({ length: count }, (_, row) => {
    const length = next() < 0.3 ? 0 : row % 97 === 5 ? 5 * most : Math.ceil(next() * most);
    const kind = next();
    const drawn = (): number =>
      kind < 0.2 ? 0 : kind < 0.4 ? 3 : next() < 0.05 ? Number.NaN : Math.floor(next() * 5) - 2;
    const rest = new Set(Array.from({ length }, () => Math.floor(next() * columns)));
    return [...rest].sort((a, b) => a - b).map((column): Element => [column, drawn()]);
  });
}

async function matrixOf(rows: readonly (readonly Element[])[], columns: number, isLong: boolean) {
  const starts = [0];
  for (const row of rows) starts.push(starts.at(-1)! + row.length);
  const index = (line: readonly number[]) =>
    isLong ? BigInt64Array.from(line, BigInt) : Int32Array.from(line);
  const data = Float64Array.from(rows.flat(), ([, value]) => value);
  const indices = index(rows.flat().map(([column]) => column));
  return sparse.csr({ data, indices, indptr: index(starts) }, [rows.length, columns]).persist(cpu);
}

async function rowsOf({ indptr, indices, data }: SparseMatrix): Promise<Element[][]> {
  const [starts, places, values] = (await compute([indptr, indices, data], cpu)).map((each) =>
    Array.from(each.data as Float64Array, Number),
  ) as [number[], number[], number[]];
  expect(places.length).toBe(starts.at(-1));
  return starts.slice(1).map((end, row) => {
    const first = starts[row]!;
    return places.slice(first, end).map((column, k): Element => [column, values[first + k]!]);
  });
}

it.each([
  ['on the thread that asks', 1, 60, 20, 400, false],
  ['in blocks', 2, 500, 60, 3000, true],
  ['by several threads', 3, 9000, 40, 2000, false],
  ['of rows longer than a block', 4, 30, 3000, 20_000, false],
] as const)('what is kept of rows is theirs: %s', async (_, seed, count, most, columns, isLong) => {
  const host = randomRows(seed, count, most, columns);
  const a = await matrixOf(host, columns, isLong);
  const filtered = (isKept: (element: Element, row: number) => boolean, change = (each: Element) => each) =>
    host.map((row, k) => row.filter((each) => isKept(each, k)).map(change));
  const isTrue = ([column]: Element): Element => [column, 1];
  const [first, end] = [Math.floor(columns / 4), Math.floor(columns / 2)];
  const cases: readonly (readonly [string, SparseMatrix, Element[][]])[] = [
    ['eliminateZeros', a.eliminateZeros(), filtered(([, value]) => value !== 0)],
    ['greater', a.greater(0), filtered(([, value]) => value > 0, isTrue)],
    ['notEqual', a.notEqual(0), filtered(([, value]) => value !== 0, isTrue)],
    ['all', a.notEqual(0).eliminateZeros(), filtered(([, value]) => value !== 0, isTrue)],
    ['none', a.greater(9), filtered(() => false)],
    ['tril', a.tril(), filtered(([column], row) => column <= row)],
    [
      'columns',
      a.columns(first, end),
      filtered(
        ([column]) => column >= first && column < end,
        ([column, value]) => [column - first, value],
      ),
    ],
  ];
  for (const [name, matrix, expected] of cases)
    expect(await rowsOf(matrix), `${name}, seed ${seed}`).toEqual(expected);
});

it.each(['bool', 'float16', 'float32', 'complex64', 'complex128'] as const)(
  'elements of %s are moved with their columns',
  async (dtype) => {
    const host = randomRows(5, 400, 30, 500);
    const a = (await matrixOf(host, 500, false)).map((data) => data.equal(0).astype(dtype));
    const zeros = (await matrixOf(host, 500, false)).columns(100, 300);
    const kept = a
      .columns(100, 300)
      .map((data) => (dtype.startsWith('complex') ? data.real() : data).astype('float64'));
    const isZero = (await rowsOf(zeros)).map((row) =>
      row.map(([column, value]) => [column, Number(value === 0)]),
    );
    expect(await rowsOf(kept)).toEqual(isZero);
  },
);

it('rows that overlap, which no checked matrix has, are kept within the results', async () => {
  const [rows, stored] = [9, 6];
  const starts = Int32Array.from({ length: rows + 1 }, (_, k) => (k % 2 === 0 ? 2 * stored : -1));
  const operands = [starts, new Int32Array(stored), new Float64Array(stored), new Uint8Array(stored).fill(1)];
  const step: RoutineSpec = {
    kind: 'routine',
    name: 'sparseKept',
    numbers: [dtypeCode('int32'), rows, stored, 8, 0, 1, 1, 0],
    operands: [0, 1, 2, 3],
    results: [4, 5, 6],
    workspace: 7,
  };
  const program = createProgram({
    device: 'cpu',
    arenaByteLength: 64,
    images: [],
    buffers: [
      ...operands.map(({ byteLength }) => ({ role: 'input', byteLength, offset: -1 }) as const),
      ...[starts.byteLength, 4 * stored, 8 * stored].map(
        (byteLength) => ({ role: 'output', byteLength, offset: -1 }) as const,
      ),
      { role: 'temporary', byteLength: 64, offset: 0 },
    ],
    steps: [step],
  });
  const { outputs } = await run(program, operands, { outputs: ['host', 'host', 'host'] });
  const ends = Array.from(new Int32Array(outputs[0] as ArrayBuffer));
  expect(ends.every((end) => end >= 0 && end <= stored)).toBe(true);
});
