/**
 * (A @ B).sum(0): the column sums of a product. Weft sums the columns of A first and multiplies one row by B,
 * which is a thousandth of the work; the loop does the same, in float64.
 *
 * Run it with `node dist/examples/column-sum-of-product.js [--device cpu|cuda]`.
 */
import { lazy } from '../src/index.js';
import { compareWithLoop, uniform } from './support.js';

const [rows, inner, columns] = [2000, 1000, 1400];
const a = uniform(rows * inner, 1, -1, 1);
const b = uniform(inner * columns, 2, -1, 1);

const sums = lazy(a, { shape: [rows, inner] })
  .matmul(lazy(b, { shape: [inner, columns] }))
  .sum(0);

await compareWithLoop(
  '(A @ B).sum(0)',
  sums,
  () => {
    const columnSums = new Float64Array(inner);
    for (let i = 0; i < rows; i++) for (let j = 0; j < inner; j++) columnSums[j]! += a[i * inner + j]!;
    const result = new Float64Array(columns);
    for (let j = 0; j < inner; j++)
      for (let k = 0; k < columns; k++) result[k]! += columnSums[j]! * b[j * columns + k]!;
    return result;
  },
  0.01, // of sums of about 500
);
