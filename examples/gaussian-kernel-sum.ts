/**
 * Σⱼ exp(-|xᵢ - yⱼ|²)·bⱼ for points in space: four million pairs from two
 * thousand points, written with broadcasting. What is printed says which arrays of pairs go through memory.
 *
 * Run it with `node dist/examples/gaussian-kernel-sum.js [--device cpu|cuda]`.
 */
import { lazy } from '../src/index.js';
import { compareWithLoop, uniform } from './support.js';

const n = 2000;
const points = uniform(n * 3, 1);
const centers = uniform(n * 3, 2);
const weights = uniform(n, 3);

const x = lazy(points, { shape: [n, 1, 3] });
const y = lazy(centers, { shape: [1, n, 3] });
const squaredDistance = x.sub(y).square().sum(-1);
const sums = squaredDistance.neg().exp().mul(lazy(weights)).sum(1);

await compareWithLoop(
  'sum over j of exp(-|x_i - y_j|^2) b_j',
  sums,
  () =>
    Float64Array.from({ length: n }, (_, i) => {
      let sum = 0;
      for (let j = 0; j < n; j++) {
        let distance = 0;
        for (let k = 0; k < 3; k++) distance += (points[i * 3 + k]! - centers[j * 3 + k]!) ** 2;
        sum += Math.exp(-distance) * weights[j]!;
      }
      return sum;
    }),
  1e-3, // of sums of several hundred
);
