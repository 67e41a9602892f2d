/** Dense decompositions and solutions of the GPU peers' benchmark: see `gpu-workloads.ts`. */
import { eye, type Lazy, linalg } from '../src/index.js';
import { makeWorkload as make, type Size, type Workload } from './workload.js';

export function decompositions(size: Size): Workload[] {
  const [n, side, tall] = [size(4096, 48), size(2048, 48), size(2 ** 18, 2 ** 10)];
  const [solved, decomposed, square] = [size(2 ** 16, 2 ** 6), size(2 ** 14, 2 ** 6), size(1000, 48)];
  const of = (
    name: string,
    shape: readonly number[],
    expression: (x: Lazy) => Lazy,
    dtype: 'float32' | 'float64' = 'float32',
  ): Workload =>
    make(name, shape, [{ shape, seed: 1, low: -1, high: 1, dtype }], expression, {
      dtype,
      budgetSeconds: 0.5,
    });
  return [
    of('cholesky', [n, n], (x) => linalg.cholesky(x.matmul(x.T).add(eye(n).mul(n).astype('float32')))),
    of('solve', [n, n], (x) => linalg.solve(x, x.slice([], [0, 1]))),
    of('qr_tall', [tall, 64], (x) => linalg.qr(x).r.abs()),
    of('svd_1000', [square, square], (x) => linalg.svd(x).s, 'float64'),
    of('svd_2048', [side, side], (x) => linalg.svd(x).s),
    of('eigh_2048', [side, side], (x) => linalg.eigh(x.add(x.T)).eigenvalues),
    of('inv_float64', [n, n], (x) => linalg.inv(x), 'float64'),
    of('solve_batched', [solved, 16, 16], (x) => linalg.solve(x, x.slice([], [], [0, 1]))),
    of('svd_batched', [decomposed, 16, 16], (x) => linalg.svd(x).s),
  ];
}
