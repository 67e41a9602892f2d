/** Functions of sparse matrices as functions of arrays: for cases whose results are dense. */
import { type Lazy, type SparseMatrix, sparse } from '../../src/index.js';

/** A matrix by rows: its data, indices, indptr and shape. */
type Given = readonly [data: Lazy, indices: Lazy, indptr: Lazy, shape: readonly [number, number]];

const matrixOf = ([data, indices, indptr, shape]: Given): SparseMatrix =>
  sparse.csr({ data, indices, indptr }, shape);

const pair =
  (join: (a: SparseMatrix, b: SparseMatrix) => SparseMatrix) =>
  (a: Given, b: Given): Lazy =>
    join(matrixOf(a), matrixOf(b)).toDense();

const FUNCTIONS = {
  matmul: (a: Given, x: Lazy) => matrixOf(a).matmul(x),
  toDense: (a: Given) => matrixOf(a).toDense(),
  T: (a: Given) => matrixOf(a).T.toDense(),
  add: pair((a, b) => a.add(b)),
  subtract: pair((a, b) => a.subtract(b)),
  product: pair((a, b) => a.matmul(b)),
  multiplyBoth: pair((a, b) => a.multiply(b)),
  maximum: pair((a, b) => a.maximum(b)),
  less: pair((a, b) => a.less(b)),
  greater: (a: Given, x: number) => matrixOf(a).sumDuplicates().greater(x).toDense(),
  power: (a: Given) => matrixOf(a).sumDuplicates().power(2).toDense(),
  solveTriangular: (a: Given, b: Lazy, lower: boolean) => {
    const matrix = matrixOf(a);
    const { shape, dtype } = matrix;
    const whole = matrix.add(sparse.eye(shape[0], shape[1], 0, { dtype }).multiply(16));
    return sparse.solveTriangular(whole, b, { lower });
  },
  mean: (a: Given, axis: number) => matrixOf(a).mean(axis),
  max: (a: Given, axis: number | null) => matrixOf(a).max(axis),
  min: (a: Given, axis: number | null) => matrixOf(a).min(axis),
  trace: (a: Given) => matrixOf(a).trace(),
  columns: (a: Given, start: number) => matrixOf(a).columns(start).toDense(),
  takeRows: (a: Given, numbers: number[]) => matrixOf(a).takeRows(numbers).toDense(),
  tril: (a: Given, k: number) => matrixOf(a).tril(k).toDense(),
  triu: (a: Given, k: number) => matrixOf(a).triu(k).toDense(),
  sum: (a: Given, axis?: number) => matrixOf(a).sum(axis),
  diagonal: (a: Given) => matrixOf(a).diagonal(),
  rows: (a: Given, start: number) => matrixOf(a).rows(start).toDense(),
  vstack: pair((a, b) => sparse.vstack([a, b])),
  hstack: pair((a, b) => sparse.hstack([a, b])),
  kron: pair(sparse.kron),
  csc: ([data, indices, indptr, [rows, columns]]: Given) =>
    sparse.csc({ data, indices, indptr }, [columns, rows]).toDense(),
  coo: (a: Given) => {
    const given = matrixOf(a);
    const [data, indices, indptr] = a;
    const row = indptr
      .astype('int64')
      .searchsorted(indices.multiply(0).add(1).cumulativeSum().sub(1), null, { side: 'right' })
      .sub(1);
    return sparse.coo({ data, row, col: indices }, given.shape).toDense();
  },
  fromDense: (a: Given) => sparse.fromDense(matrixOf(a).toDense()).toDense(),
  multiply: (a: Given, x: Lazy) => matrixOf(a).multiply(x).toDense(),
  eye: (n: number, m: number, k: number) => sparse.eye(n, m, k).toDense(),
  diags: (diagonals: readonly Lazy[], offsets: readonly number[]) =>
    sparse.diags(diagonals, offsets).toDense(),
} as const;

export const sparseFunction = (name: string): ((...args: readonly unknown[]) => Lazy) =>
  FUNCTIONS[name as keyof typeof FUNCTIONS] as unknown as (...args: readonly unknown[]) => Lazy;
