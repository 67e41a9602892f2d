/**
 * Sparse matrices on the CPU beside SciPy, in milliseconds of processor time:
 * `node dist/bench/sparse-cpu.js [--only name,name] [--sizes 141,447] [--seconds 2]` prints a JSON line for each function
 * and size, the least of several runs; `sparse_cpu.py` beside it does the same with SciPy. A size is the side of a square
 * grid, whose five-point Laplacian is the matrix. `--table file …` makes a table in Markdown of such lines.
 */
import { parseArgs } from 'node:util';
import { compute, type Lazy, lazy, ones, persist, random, type SparseMatrix, sparse } from '../src/index.js';
import { measure, table } from './processor-time.js';

const cpu = { device: 'cpu' } as const;

/** The matrix, and others made of it, on the device. */
interface Given {
  readonly side: number;
  readonly a: SparseMatrix;
  readonly other: SparseMatrix;
  /** The number of every second row. */
  readonly even: Int32Array;
  /** The elements in no order. */
  readonly shuffled: Readonly<Record<'data' | 'row' | 'col', Lazy>>;
  /** Random, 2,000 columns, of which each row has a twentieth; and the same as an array. */
  readonly random: SparseMatrix;
  readonly dense: Lazy;
  /** Random, 100,000 rows and 1,000 columns, an element in a thousand. */
  readonly tall: SparseMatrix;
  /** A matrix of 3 rows, for Kronecker products. */
  readonly small: SparseMatrix;
  /** A vector and a matrix of 16 columns, with as many rows as the matrix has columns. */
  readonly ones: Lazy;
  readonly ones16: Lazy;
}

const lines = ({ data, indices, indptr }: SparseMatrix): Lazy[] => [data, indices, indptr];

const FUNCTIONS: Readonly<Record<string, (given: Given) => readonly Lazy[] | Promise<unknown>>> = {
  transpose: ({ a }) => lines(a.T),
  add: ({ a, other }) => lines(a.add(other)),
  multiply: ({ a, other }) => lines(a.multiply(other)),
  product: ({ a }) => lines(a.matmul(a)),
  rows: ({ a }) => lines(a.rows(a.shape[0] >> 2, (3 * a.shape[0]) >> 2)),
  takeRows: ({ a, even }) => lines(a.takeRows(even)),
  columns: ({ a }) => lines(a.columns(a.shape[1] >> 2, (3 * a.shape[1]) >> 2)),
  tril: ({ a }) => lines(a.tril()),
  greater: ({ a }) => lines(a.greater(0)),
  notEqual: ({ a, other }) => lines(a.notEqual(other)),
  vstack: ({ a, other }) => lines(sparse.vstack([a, other])),
  hstack: ({ a, other }) => lines(sparse.hstack([a, other])),
  coo: ({ shuffled, a }) => lines(sparse.coo(shuffled, a.shape)),
  toDense: ({ random: x }) => [x.toDense()],
  fromDense: ({ dense }) => lines(sparse.fromDense(dense)),
  rowSums: ({ a }) => [a.sum(1)],
  columnSums: ({ a }) => [a.sum(0)],
  matvec: ({ a, ones }) => [a.matmul(ones)],
  matmul16: ({ a, ones16 }) => [a.matmul(ones16)],
  cg100: ({ a, ones }) => [sparse.cg(a, ones, { rtol: 0, maxiter: 100 }).x],
  svds: ({ a }) => [sparse.svds(a, { k: 6, tol: 1e-3 }).s],
  svdsTall: ({ tall }) => Object.values(sparse.svds(tall, { k: 6 })),
  eigsh: ({ a }) => [sparse.eigsh(a, { k: 6, tol: 1e-6 }).eigenvalues],
  kron: ({ a, small }) => lines(sparse.kron(small, a)),
  splu: async ({ a }) => await sparse.splu(a),
  spsolve: async ({ a, ones }) => await compute([await sparse.spsolve(a, ones)], cpu),
};

async function givenOf(side: number): Promise<Given> {
  const line = sparse.diags([-1, 2, -1], [-1, 0, 1], [side, side]);
  const identity = sparse.eye(side);
  const a = await sparse.kron(line, identity).add(sparse.kron(identity, line)).persist(cpu);
  const other = await a.map((data) => data.mul(0.5)).persist(cpu);
  const { data, indices, indptr } = await a.compute(cpu);
  const order = await random.uniform(random.key(7), [data.size]).argsort().compute(cpu);
  const row = new Int32Array(data.size);
  const starts = indptr.data as Int32Array;
  for (let k = 0; k < side * side; k++) row.fill(k, starts[k]!, starts[k + 1]!);
  const inOrder = [data.data, row, indices.data].map((each) => lazy(each as Float64Array).take(lazy(order)));
  const [values, rows, columns] = (await persist(inOrder, cpu)) as [Lazy, Lazy, Lazy];
  const shape = [Math.ceil((side * side) / 20), 2000] as const;
  const some = await sparse.random(random.key(1), shape, { density: 0.05 }).persist(cpu);
  const dense = await some.toDense().persist(cpu);
  const even = new Int32Array(a.shape[0] >> 1).map((_, k) => 2 * k);
  const tall = await sparse.random(random.key(3), [100_000, 1000], { density: 1e-3 }).persist(cpu);
  const small = await sparse
    .diags(
      [
        [1, 2],
        [1, 2, 3],
      ],
      [1, 0],
    )
    .persist(cpu);
  const shuffled = { data: values, row: rows, col: columns };
  const vector = await ones([side * side]).persist(cpu);
  const vectors = await ones([side * side, 16]).persist(cpu);
  return { side, a, other, even, shuffled, random: some, dense, tall, small, ones: vector, ones16: vectors };
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    options: {
      only: { type: 'string' },
      sizes: { type: 'string', default: '141,447,1414' },
      seconds: { type: 'string', default: '2' },
      table: { type: 'boolean', default: false },
    },
    allowPositionals: true,
  });
  if (values.table) return console.log(table(positionals));
  for (const size of values.sizes.split(',')) {
    const given = await givenOf(Number(size));
    for (const name of values.only?.split(',') ?? Object.keys(FUNCTIONS)) {
      const run = async (): Promise<unknown> => {
        const results = await FUNCTIONS[name]!(given);
        return Array.isArray(results) ? compute([...results] as [Lazy], cpu) : results;
      };
      const times = await measure(run, Number(values.seconds));
      console.log(JSON.stringify({ function: name, size, dtype: 'float64', peer: 'Weft', ...times }));
    }
  }
}

await main();
