/** Random programs of sparse matrices with maps, reductions and products, of whole numbers, so that sums are exact. */
import type { Lazy } from '../../src/api/lazy.js';
import { sparse } from '../../src/api/sparse.js';
import type { SparseMatrix } from '../../src/api/sparse-matrix.js';
import { toLazy } from './api.js';
import { generator, randomIntegers } from './random.js';

/** The results of program number `seed`: columns, their sum, and the sums of a matrix's columns. */
export function randomSparseProgram(seed: number, size = 60): readonly Lazy[] {
  const next = generator(seed);
  const pick = (count: number): number => Math.floor(next() * count);
  const matrix = (): SparseMatrix => {
    const indptr = new Int32Array(size + 1);
    const indices: number[] = [];
    for (let row = 0; row < size; row++) {
      for (let column = pick(9); column < size; column += 1 + pick(20)) indices.push(column);
      if (next() < 0.2) indices.length = indptr[row]!;
      indptr[row + 1] = indices.length;
    }
    const data = toLazy(randomIntegers('float64', [indices.length], seed + pick(1000), -3, 3));
    return sparse.csr({ data, indices: Int32Array.from(indices), indptr }, [size, size]);
  };
  const square = (b: SparseMatrix): SparseMatrix => b.matmul(b).multiply(matrix());
  /** Rows that follow one another, as many as a matrix has. */
  const part = (b: SparseMatrix): SparseMatrix => {
    const first = pick(b.shape[0] - size);
    return b.rows(first, first + size);
  };
  const elements = (): SparseMatrix => {
    const [row, col] = [0, 1].map(() => Int32Array.from({ length: 3 * size }, () => pick(size)));
    const data = toLazy(randomIntegers('float64', [3 * size], seed + pick(1000), -3, 3));
    return sparse.coo({ data, row: row!, col: col! }, [size, size]);
  };
  const shape = next() < 0.5 ? [size] : [size, 1 + pick(5)];
  const dense = (): Lazy => toLazy(randomIntegers('float64', shape, seed + pick(1000), -9, 9));
  let [a, x] = [matrix(), dense()];
  const changes: readonly (() => void)[] = [
    () => (x = a.matmul(x)),
    () => (x = a.T.matmul(x.mul(2))),
    () => (x = a.matmul(x.abs()).sub(dense())),
    () => (x = x.mul(3).add(dense()).remainder(17)),
    () => (x = x.sub(x.max(0, { keepdims: true }))),
    () => (x = a.matmul(x).maximum(x)),
    () => (a = a.add(matrix())),
    () => (a = a.multiply(matrix())),
    () => (a = a.T),
    () => (a = square(a)),
    () => (a = a.tril(pick(size))),
    () => (a = a.multiply(a.notEqual(matrix()).astype('float64')).eliminateZeros()),
    () => (a = part(sparse.vstack([a, matrix(), a.T]))),
    () => (a = part(sparse.hstack([matrix(), a]).T).T),
    () => (a = a.takeRows(Int32Array.from({ length: size }, () => pick(size)))),
    () => (x = a.toDense().matmul(x).remainder(17)),
    () => (a = elements()),
  ];
  for (let k = 2 + pick(5); k > 0; k--) changes[pick(changes.length)]!();
  return [a.matmul(x).add(x), x.sum(), a.sum(0)];
}
