/** Cholesky factors of sparse matrices on the CPU: solutions, the triangle that is read, matrices that have none, arguments. */
import { expect, it } from 'vitest';
import { compute } from '../src/api/compute.js';
import { arange } from '../src/api/ranges.js';
import { sparse } from '../src/api/sparse.js';
import { LinalgError } from '../src/host/errors.js';

const cpu = { device: 'cpu' } as const;

it.each(['float32', 'float64', 'complex64', 'complex128'] as const)(
  'of %s solve with the lower triangle of a matrix',
  async (dtype) => {
    const isComplex = dtype.startsWith('complex');
    const below = sparse.eye(40, 40, -3, { dtype }).multiply(isComplex ? { re: 1, im: 0.5 } : 1);
    const a = below
      .add(isComplex ? below.T.conj() : below.T)
      .add(sparse.diags([-1, 3, -1], [-1, 0, 1], [40, 40], { dtype }).multiply(2));
    const factor = await sparse.cholesky(a.tril().add(sparse.eye(40, 40, 5, { dtype })), cpu);
    const b = arange(80).sin().astype(dtype).reshape([40, 2]);
    const [off, one] = await compute(
      [a.matmul(factor.solve(b)).subtract(b).abs().max(), factor.solve(b.slice([], 0))],
      cpu,
    );
    expect(Number(off!.item())).toBeLessThan(dtype === 'float64' || dtype === 'complex128' ? 1e-14 : 1e-5);
    expect([one!.dtype, one!.shape]).toEqual([dtype, [40]]);
  },
);

it('are there of positive definite matrices alone, also of none and of one unknown', async () => {
  const none = await sparse.cholesky(sparse.eye(0), cpu);
  expect((await none.solve(new Float64Array(0)).compute(cpu)).shape).toEqual([0]);
  const one = await sparse.cholesky(sparse.fromDense([[4]]), cpu);
  expect((await one.solve([8]).compute(cpu)).toArray()).toEqual([2]);
  for (const dense of [
    [
      [1, 2],
      [2, 1],
    ],
    [
      [0, 1],
      [1, 0],
    ],
    [
      [1, 0],
      [0, 0],
    ],
    [
      [1, 0],
      [0, -1],
    ],
    [[Number.NaN]],
    [[0]],
  ]) {
    const failed = sparse.cholesky(sparse.fromDense(dense), cpu);
    await expect(failed).rejects.toThrow('[sparse.cholesky] expected a matrix that is positive definite');
    await expect(failed).rejects.toThrow(LinalgError);
  }
});

it('refuse arguments that do not fit', async () => {
  await expect(sparse.cholesky(sparse.eye(2, 3))).rejects.toThrow(
    '[sparse.cholesky] expected a square matrix: (2, 3)',
  );
  await expect(sparse.cholesky(sparse.eye(2), { order: 'amd' } as never)).rejects.toThrow('expected options');
  const factor = await sparse.cholesky(sparse.eye(2), cpu);
  expect(() => factor.solve([1, 2, 3])).toThrow(
    '[sparse.cholesky.solve] expected right-hand sides of shape (2) or (2, k): (3,)',
  );
});
