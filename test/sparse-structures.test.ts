/**
 * Every function of sparse matrices of structures that users give: what SciPy leaves out or adds up is left out or added
 * up, and an error where SciPy has one. On the CPU alone; what is expected is the same function of the dense matrix.
 */
import { expect, it } from 'vitest';
import {
  compile,
  compute,
  kron,
  type Lazy,
  lazy,
  linalg,
  persist,
  placeholder,
  RangeArgumentError,
  sparse,
} from '../src/index.js';

const cpu = { device: 'cpu' } as const;
type Matrix = ReturnType<typeof sparse.csr>;
type Arrays = Readonly<Record<'data' | 'indices' | 'indptr', readonly number[]>>;

const other = sparse.diags([-1, 2, 5], [-1, 0, 1], [3, 3]);
const denseOther = [
  [2, 5, 0],
  [-1, 2, 5],
  [0, -1, 2],
];
const b = [1, -2, 3];

const dense =
  (of: (a: Matrix) => Matrix) =>
  (a: Matrix): Lazy =>
    of(a).toDense();

/** A function of the sparse matrix, and of the dense one. */
const FUNCTIONS: Readonly<Record<string, readonly [(a: Matrix) => Lazy | Promise<Lazy>, (d: Lazy) => Lazy]>> =
  {
    toDense: [(a) => a.toDense(), (d) => d],
    T: [dense((a) => a.T), (d) => d.T],
    'T, sum(0)': [(a) => a.T.sum(0), (d) => d.sum(1)],
    'sum(0)': [(a) => a.sum(0), (d) => d.sum(0)],
    'sum(1)': [(a) => a.sum(1), (d) => d.sum(1)],
    'sum()': [(a) => a.sum(), (d) => d.sum()],
    mean: [(a) => a.mean(0), (d) => d.mean(0)],
    'max(0)': [(a) => a.max(0), (d) => d.max(0)],
    'min(1)': [(a) => a.min(1), (d) => d.min(1)],
    countStored: [(a) => a.sumDuplicates().countStored(0), (d) => d.notEqual(0).sum(0)],
    'countStored()': [(a) => a.sumDuplicates().nnz, (d) => d.notEqual(0).sum()],
    diagonal: [(a) => a.diagonal(1), (d) => d.diagonal(1)],
    trace: [(a) => a.trace(), (d) => d.diagonal().sum()],
    'matmul, of a vector': [(a) => a.matmul(b), (d) => d.matmul(b)],
    'matmul, of columns': [(a) => a.matmul(denseOther), (d) => d.matmul(denseOther)],
    'matmul, first': [dense((a) => a.matmul(other)), (d) => d.matmul(denseOther)],
    'matmul, second': [dense((a) => other.matmul(a)), (d) => lazy(denseOther).matmul(d)],
    'add, first': [dense((a) => a.add(other)), (d) => d.add(denseOther)],
    'add, second': [dense((a) => other.add(a)), (d) => d.add(denseOther)],
    subtract: [dense((a) => a.subtract(other)), (d) => d.sub(denseOther)],
    'multiply, sparse': [dense((a) => a.multiply(other)), (d) => d.mul(denseOther)],
    'multiply, dense': [dense((a) => a.multiply(lazy(denseOther))), (d) => d.mul(denseOther)],
    'multiply, a row': [dense((a) => a.multiply(lazy([b]))), (d) => d.mul(lazy([b]))],
    maximum: [dense((a) => a.maximum(other)), (d) => d.maximum(denseOther)],
    greater: [(a) => a.sumDuplicates().greater(1).toDense(), (d) => d.greater(1)],
    notEqual: [(a) => a.notEqual(other).toDense(), (d) => d.notEqual(denseOther)],
    eliminateZeros: [dense((a) => a.eliminateZeros()), (d) => d],
    sumDuplicates: [dense((a) => a.sumDuplicates()), (d) => d],
    astype: [(a) => a.astype('float32').toDense(), (d) => d.astype('float32')],
    power: [dense((a) => a.sumDuplicates().power(2)), (d) => d.mul(d)],
    rows: [dense((a) => a.rows(1)), (d) => d.slice([1, 3])],
    columns: [dense((a) => a.columns(1)), (d) => d.slice('...', [1, 3])],
    takeRows: [dense((a) => a.takeRows([2, 0, 2])), (d) => d.take([2, 0, 2], 0)],
    takeColumns: [dense((a) => a.takeColumns([2, 0, 2])), (d) => d.take([2, 0, 2], 1)],
    tril: [dense((a) => a.tril()), (d) => d.tril()],
    triu: [dense((a) => a.triu(1)), (d) => d.triu(1)],
    'vstack, above': [dense((a) => sparse.vstack([a, other])), (d) => joined(d, 0)],
    'vstack, below': [
      dense((a) => sparse.vstack([other, a])),
      (d) => joined(d, 0).take([3, 4, 5, 0, 1, 2], 0),
    ],
    'vstack, sum(0)': [(a) => sparse.vstack([a, a]).sum(0), (d) => d.sum(0).mul(2)],
    hstack: [dense((a) => sparse.hstack([a, other])), (d) => joined(d, 1)],
    'hstack, right': [
      dense((a) => sparse.hstack([other, a])),
      (d) => joined(d, 1).take([3, 4, 5, 0, 1, 2], 1),
    ],
    kron: [
      dense((a) => sparse.kron(a, sparse.eye(2))),
      (d) =>
        kron(d, [
          [1, 0],
          [0, 1],
        ]),
    ],
    solveTriangular: [
      (a) => sparse.solveTriangular(a.sumDuplicates(), b),
      (d) => linalg.solveTriangular(d, lazy([b]).T, { lower: true }).reshape([3]),
    ],
    spsolve: [(a) => sparse.spsolve(a, b, cpu), (d) => linalg.solve(d, b)],
    'spsolve, of T': [(a) => sparse.spsolve(a.T, b, cpu), (d) => linalg.solve(d.T, b)],
    gmres: [(a) => sparse.gmres(a, b, { rtol: 1e-13 }).x, (d) => linalg.solve(d, b)],
    persist: [async (a) => (await a.persist(cpu)).sum(0), (d) => d.sum(0)],
    measure: [async (a) => (await a.measure(cpu)).sum(0), (d) => d.sum(0)],
  };

const joined = (d: Lazy, axis: 0 | 1): Lazy =>
  axis === 0
    ? d
        .pad([
          [0, 3],
          [0, 0],
        ])
        .add(
          lazy(denseOther).pad([
            [3, 0],
            [0, 0],
          ]),
        )
    : d
        .pad([
          [0, 0],
          [0, 3],
        ])
        .add(
          lazy(denseOther).pad([
            [0, 0],
            [3, 0],
          ]),
        );

/** Matrices that SciPy reads, and the dense ones. */
const READ: Readonly<Record<string, readonly [Arrays, readonly (readonly number[])[]]>> = {
  'elements behind the last start': [
    { data: [4, 1, 5, 6, 7, 8], indices: [0, 2, 1, 2, 9, -4], indptr: [0, 2, 3, 4] },
    [
      [4, 0, 1],
      [0, 5, 0],
      [0, 0, 6],
    ],
  ],
  'columns in no order': [
    { data: [1, 4, 5, 2, 6, 3], indices: [2, 0, 1, 0, 2, 1], indptr: [0, 2, 4, 6] },
    [
      [4, 0, 1],
      [2, 5, 0],
      [0, 3, 6],
    ],
  ],
  'columns twice': [
    { data: [1, 4, 1, 5, 6, 2], indices: [2, 0, 2, 1, 2, 2], indptr: [0, 3, 4, 6] },
    [
      [4, 0, 2],
      [0, 5, 0],
      [0, 0, 8],
    ],
  ],
};

/** Matrices that SciPy refuses, when they are made or checked. */
const REFUSED: Readonly<Record<string, Arrays>> = {
  'starts that descend': { data: [1, 2, 3], indices: [0, 1, 2], indptr: [0, 3, 1, 3] },
  'a last start of 0 behind others': { data: [1, 2, 3], indices: [0, 1, 2], indptr: [0, 3, 3, 0] },
  'a first start above 0': { data: [1, 2, 3, 4], indices: [0, 0, 1, 2], indptr: [1, 2, 3, 4] },
  'a last start beyond the elements': { data: [1, 2, 3], indices: [0, 1, 2], indptr: [0, 1, 2, 9] },
  'a start below 0': { data: [1, 2, 3], indices: [0, 1, 2], indptr: [0, -1, 2, 3] },
  'a column beyond': { data: [1, 2, 3], indices: [0, 1, 3], indptr: [0, 1, 2, 3] },
  'a column below 0': { data: [1, 2, 3], indices: [0, -1, 2], indptr: [0, 1, 2, 3] },
};

const inHost = (arrays: Arrays): Matrix => sparse.csr(arrays, [3, 3]);
const computed = ({ data, indices, indptr }: Arrays): Matrix => {
  const [places, starts] = [indices, indptr].map((line) => lazy(line, { dtype: 'int32' }).add(0));
  return sparse.csr({ data, indices: places!, indptr: starts! }, [3, 3]);
};

it.each(Object.keys(READ))('%s: functions give what those of the dense matrix give', async (name) => {
  const [arrays, rows] = READ[name]!;
  const off: string[] = [];
  for (const make of [inHost, computed]) {
    for (const [call, [ofSparse, ofDense]] of Object.entries(FUNCTIONS)) {
      const [found, wanted] = await compute([await ofSparse(make(arrays)), ofDense(lazy(rows))], cpu);
      const far = Array.from(found.data, Number).some(
        (value, k) => !(Math.abs(value - Number(wanted.data[k])) < 1e-9),
      );
      if (far || found.shape.join() !== wanted.shape.join()) off.push(`${make.name} ${call}`);
    }
  }
  expect(off).toEqual([]);
});

it.each(Object.keys(REFUSED))('%s: an error of every function', async (name) => {
  const off: string[] = [];
  for (const [call, [ofSparse]] of Object.entries(FUNCTIONS)) {
    const error = await (async () => compute([await ofSparse(computed(REFUSED[name]!))], cpu))().catch(
      (thrown: unknown) => thrown,
    );
    if (!(error instanceof RangeArgumentError)) off.push(`${call}: ${error}`);
  }
  expect(off).toEqual([]);
});

it('starts in host memory that do not fit the elements are refused where the matrix is made', () => {
  const [first, last] = [REFUSED['a first start above 0']!, REFUSED['a last start beyond the elements']!];
  expect(() => inHost(first)).toThrow('[sparse.csr] expected indptr to begin with 0: 1');
  expect(() => inHost(last)).toThrow(
    '[sparse.csr] expected indptr to end with at most 3, the number of elements: 9',
  );
  for (const name of ['starts that descend', 'a last start of 0 behind others', 'a start below 0'])
    expect(() => inHost(REFUSED[name]!)).toThrow('[sparse.csr] expected indptr that does not descend');
  const indptr = Int32Array.of(0, 6, 0, 6, 0);
  const six = { data: new Float64Array(6), indices: new Int32Array(6) };
  expect(() => sparse.csr({ ...six, indptr }, [4, 6])).toThrow('descend: 0 behind 6 at 2');
  expect(() => sparse.csc({ data: [], indices: [], indptr }, [0, 4])).toThrow('descend: 0 behind 6 at 2');
  expect(() => sparse.csr({ data: [1], indices: [0], indptr: [0, 1, 1] }, [2, 0])).toThrow(
    '[sparse.csr] expected indptr to end with 0 in a matrix of (2, 0): 1',
  );
  expect(sparse.csr({ data: [1], indices: [0], indptr: [0, 0, 0] }, [2, 0]).data.shape).toEqual([0]);
  expect(() => sparse.csr({ data: [1], indices: [0, 1], indptr: [0, 1] }, [1, 2])).toThrow(
    'indices for each of 1',
  );
  expect(() => sparse.csr({ data: [1], indices: [0], indptr: [0, 1] }, [2, 2])).toThrow(
    'indptr of 3 elements: 2',
  );
});

it('starts that are too many to be looked at where they are given are refused when they are read', async () => {
  const rows = 2 ** 16;
  const arrays = { data: new Float64Array(6), indices: new Int32Array(6) };
  const indptr = new Int32Array(rows + 1);
  expect(
    (
      await sparse
        .csr({ ...arrays, indptr }, [rows, 6])
        .sum()
        .compute(cpu)
    ).item(),
  ).toBe(0);
  for (const at of [5, rows - 1]) {
    const descending = indptr.slice().fill(6, at, at + 1);
    const matrix = sparse.csr({ ...arrays, indptr: descending }, [rows, 6]);
    for (const values of [
      matrix.sum(),
      matrix.sum(1),
      matrix.toDense(),
      matrix.matmul(lazy(new Float64Array(6))),
    ])
      await expect(values.compute(cpu)).rejects.toThrow(RangeArgumentError);
  }
});

it('starts elsewhere are refused of a matrix without elements, too, where they are not 0', async () => {
  const without = (indptr: readonly number[]): Matrix => computed({ data: [], indices: [], indptr });
  const zeros = [
    [0, 0, 0],
    [0, 0, 0],
    [0, 0, 0],
  ];
  const isNoSolve = (call: string): boolean => !/solve|gmres/.test(call);
  const off: string[] = [];
  for (const [call, [ofSparse, ofDense]] of Object.entries(FUNCTIONS).filter(([each]) => isNoSolve(each))) {
    const [found, wanted] = await compute([await ofSparse(without([0, 0, 0, 0])), ofDense(lazy(zeros))], cpu);
    if (`${found.toArray()}` !== `${wanted.toArray()}`) off.push(call);
    for (const indptr of [
      [0, 0, 0, 5],
      [0, 1, 0, 0],
      [1, 1, 0, 0],
    ]) {
      const error = await (async () => compute([await ofSparse(without(indptr))], cpu))().catch(
        (thrown: unknown) => thrown,
      );
      if (!(error instanceof RangeArgumentError)) off.push(`${call} of ${indptr}: ${error}`);
    }
  }
  expect(off).toEqual([]);
  expect((await without([0, 0, 0, 0]).data.compute(cpu)).shape).toEqual([0]);
});

it('rows and columns below 0, beyond the last and of a matrix without any are refused', async () => {
  for (const [row, col] of [
    [-1, 0],
    [0, -3],
    [2, 0],
    [0, 3],
  ] as const)
    await expect(
      sparse
        .coo({ data: [1], row: [row], col: [col] }, [2, 3])
        .sum()
        .compute(cpu),
    ).rejects.toThrow(RangeArgumentError);
  for (const shape of [[0, 3] as const, [2, 0] as const])
    expect(() => sparse.coo({ data: [1], row: [0], col: [0] }, shape)).toThrow('expected no elements');
  expect(sparse.coo({ data: [], row: [], col: [] }, [0, 3]).shape).toEqual([0, 3]);
});

it('starts are an argument of a compiled function, and a placeholder', async () => {
  const [arrays, rows] = READ['elements behind the last start']!;
  const sums = compile((indptr: Lazy) => sparse.csr({ ...arrays, indptr }, [3, 3]).T.sum(1), cpu);
  const { data } = await sums(lazy(Int32Array.from(arrays.indptr)));
  expect(Array.from(data, Number)).toEqual([0, 1, 2].map((k) => rows[0]![k]! + rows[1]![k]! + rows[2]![k]!));
  await expect(sums(lazy(Int32Array.of(0, 3, 1, 3)))).rejects.toThrow('differences of indptr');
  const planned = sparse.csr({ ...arrays, indptr: placeholder([4], 'int32') }, [3, 3]);
  expect(planned.matmul(b).plan(cpu).peakBytes).toBeGreaterThan(0);
});

it('elements behind the last start are no part of the lines', async () => {
  const [arrays] = READ['elements behind the last start']!;
  expect(inHost(arrays).data.shape).toEqual([4]);
  const { data, indices } = await computed(arrays).compute(cpu);
  expect([data, indices].map((line) => Array.from(line.data, Number))).toEqual([
    [4, 1, 5, 6],
    [0, 2, 1, 2],
  ]);
  const [stored] = await persist([computed(arrays).nnz], cpu);
  expect(stored.shape).toEqual([]);
});
