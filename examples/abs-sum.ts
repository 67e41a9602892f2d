/**
 * Σ|x|: the absolute values are computed inside the reduction, and no array of them exists.
 *
 * Run it with `node dist/examples/abs-sum.js [--device cpu|cuda]`.
 */
import { lazy } from '../src/index.js';
import { compareWithLoop, uniform } from './support.js';

const data = uniform(2 ** 22, 1, -1, 1);

const total = lazy(data).abs().sum();

await compareWithLoop(
  'sum |x|',
  total,
  () => {
    let sum = 0;
    for (const value of data) sum += Math.abs(value);
    return [sum];
  },
  2, // of a sum of two million, in float32
);
