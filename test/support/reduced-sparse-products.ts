/** Products of a sparse matrix of which only reductions are wanted, with empty rows, infinities and NaN. */
import type { Lazy } from '../../src/api/lazy.js';
import { sparse } from '../../src/api/sparse.js';
import type { DType } from '../../src/graph/dtype.js';
import { toLazy } from './api.js';
import { generator, randomValues } from './random.js';

const COLUMNS = 200;

export interface ReducedSparseProduct {
  readonly name: string;
  readonly width: number;
  readonly dtype: DType;
  /** The result, of the product and a dense array of its shape. */
  readonly of: (product: Lazy, other: Lazy) => Lazy;
  /** Whether it is computed on a simulated GPU, too. */
  readonly isSimulated?: true;
  readonly hasNonFinite?: true;
}

export const REDUCED_SPARSE_PRODUCTS: readonly ReducedSparseProduct[] = [
  {
    name: 'the squared norm of a residual',
    width: 1,
    dtype: 'float64',
    of: (y, b) => b.sub(y).square().sum(),
    isSimulated: true,
  },
  { name: 'the largest of float32', width: 1, dtype: 'float32', of: (y) => y.abs().max() },
  { name: 'the sums of nine columns', width: 9, dtype: 'float64', of: (y) => y.sum(0), isSimulated: true },
  { name: 'the maxima of rows of 16', width: 16, dtype: 'float32', of: (y) => y.max(1) },
  {
    name: 'logsumexp of rows of 24',
    width: 24,
    dtype: 'float64',
    of: (y, b) => y.add(b).logsumexp(1),
    isSimulated: true,
  },
  { name: 'variances of five columns', width: 5, dtype: 'float64', of: (y) => y.var(0) },
  { name: 'the place of the least of int64', width: 3, dtype: 'int64', of: (y) => y.argmin() },
  { name: 'absolute values of complex numbers', width: 4, dtype: 'complex128', of: (y) => y.abs().sum() },
  {
    name: 'sums of rows with infinities and NaN',
    width: 12,
    dtype: 'float64',
    of: (y) => y.sum(1),
    hasNonFinite: true,
  },
];

/** Of a product of so many elements and a few more. */
export function reducedSparseProduct(
  { width, dtype, of, hasNonFinite }: ReducedSparseProduct,
  elements: number,
): { product: Lazy; reduced: Lazy } {
  const rows = Math.ceil(elements / width);
  const random = generator(11);
  const indptr = new Int32Array(rows + 1);
  const places: number[] = [];
  for (let row = 0; row < rows; row++) {
    const length = row % 5 === 0 ? 0 : Math.floor(random() * 8);
    for (let k = 0; k < length; k++) places.push(Math.floor(random() * COLUMNS));
    indptr[row + 1] = places.length;
  }
  const values = toLazy(randomValues(dtype, [places.length], 12));
  // Divided by zeros, some are infinite or NaN.
  const rare = toLazy(randomValues('float64', [places.length], 15)).greater(1.99);
  const data = hasNonFinite === true ? values.div(rare.astype('float64').mul(-1).add(1)) : values;
  const matrix = sparse.csr({ data, indices: Int32Array.from(places), indptr }, [rows, COLUMNS]);
  const shape = (size: number): number[] => (width === 1 ? [size] : [size, width]);
  const product = matrix.matmul(toLazy(randomValues(dtype, shape(COLUMNS), 13)));
  return { product, reduced: of(product, toLazy(randomValues(dtype, shape(rows), 14))) };
}
