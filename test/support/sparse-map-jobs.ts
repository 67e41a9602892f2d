/** Products of a sparse matrix with maps before and behind them, for tests of what is joined. */
import type { Lazy } from '../../src/api/lazy.js';
import { sparse } from '../../src/api/sparse.js';
import type { DType } from '../../src/graph/dtype.js';
import { toLazy } from './api.js';
import { generator, randomValues } from './random.js';

const [ROWS, COLUMNS] = [300, 200];

export interface SparseMapJob {
  readonly name: string;
  /** The dense operand, the product with it, and what is made of that. */
  readonly before: () => Lazy;
  readonly product: (x: Lazy) => Lazy;
  readonly behind: (y: Lazy) => Lazy;
}

function matrix(dtype: DType) {
  const random = generator(7);
  const indptr = new Int32Array(ROWS + 1);
  const places: number[] = [];
  for (let row = 0; row < ROWS; row++) {
    const length = row % 5 === 0 ? 0 : Math.floor(random() * 30);
    for (let k = 0; k < length; k++) places.push(Math.floor(random() * COLUMNS));
    indptr[row + 1] = places.length;
  }
  const data = toLazy(randomValues(dtype, [places.length], 8));
  return sparse.csr({ data, indices: Int32Array.from(places), indptr }, [ROWS, COLUMNS]);
}

export const dense = (shape: readonly number[], seed: number, dtype: DType = 'float64'): Lazy =>
  toLazy(randomValues(dtype, shape, seed));

export const SPARSE_MAP_JOBS: readonly SparseMapJob[] = [
  {
    name: 'a vector of float64, scaled, and a sum',
    before: () => dense([COLUMNS], 1).mul(2),
    product: (x) => matrix('float64').matmul(x),
    behind: (y) => y.mul(3).add(dense([ROWS], 2)),
  },
  {
    name: 'exponentials of a vector of float32, compared',
    before: () => dense([COLUMNS], 3, 'float32').exp(),
    product: (x) => matrix('float32').matmul(x),
    behind: (y) => y.greater(0.5),
  },
  {
    name: 'forty columns whose rows have a factor, as float32',
    before: () => dense([COLUMNS, 40], 4).mul(dense([40], 10)),
    product: (x) => matrix('float64').matmul(x),
    behind: (y) => y.sub(dense([ROWS, 40], 5)).astype('float32'),
  },
  {
    name: 'nine columns of int64',
    before: () => dense([COLUMNS, 9], 6, 'int64').add(1),
    product: (x) => matrix('int64').matmul(x),
    behind: (y) => y.mul(y),
  },
  {
    name: 'halves, whose products are rounded once',
    before: () => dense([COLUMNS], 9, 'float16').add(1),
    product: (x) => matrix('float16').matmul(x),
    behind: (y) => y.add(1),
  },
];

export const outputOf = ({ before, product, behind }: SparseMapJob): Lazy => behind(product(before()));
