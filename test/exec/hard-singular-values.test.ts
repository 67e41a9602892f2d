/** Singular values and vectors of matrices that are hard for the implicit QR method, by the CPU's own routine. */
import { describe, expect, it } from 'vitest';
import { compute, eye, type Lazy, lazy, linalg, random } from '../../src/index.js';

describe('singular values alone', () => {
  it('of rows of growing scales are found in more steps than others', async () => {
    const n = 193;
    const given = random.normal(random.foldIn(random.key(307_200_268), 1), [n, n], { dtype: 'float64' });
    const scales = Array.from({ length: n }, (_, k) => [10 ** ((8 * k) / n)]);
    const a = given.add(given.flip(-1).mul({ re: 0, im: 0.7 })).mul(scales);
    const alone = await linalg.svdvals(a).compute({ device: 'cpu' });
    const { data } = await linalg.svd(a).s.compute({ device: 'cpu' });
    const largest = Number(data[0]);
    for (const [k, value] of alone.data.entries())
      expect(Math.abs(Number(value) - Number(data[k]))).toBeLessThan(64 * 2 ** -52 * largest);
  });
});

const adjoint = (x: Lazy): Lazy => x.matrixTranspose().conj();
const fromIdentity = (x: Lazy): Lazy =>
  x
    .subtract(eye(x.shape.at(-1)!))
    .abs()
    .max();

describe('vectors of matrices of low rank', () => {
  const SCALES = [1e-30, 1, 1e30];
  // Elements beside the first value are rounding errors of rounding errors: subnormal numbers in single precision.
  const given: Readonly<Record<string, () => Lazy>> = {
    'equal rows': () => {
      const row = random.normal(random.key(5), [1, 7], { dtype: 'float64' });
      return row.add(row.flip(-1).mul({ re: 0, im: 0.7 })).add(lazy(Array(130).fill(0)).reshape([130, 1]));
    },
    'zero columns': () => {
      const a = random.normal(random.key(5), [40, 12], { dtype: 'float64' });
      const kept = Array.from({ length: 12 }, (_, k) => (k % 3 === 0 ? 0 : 1));
      return a.add(a.flip(-1).mul({ re: 0, im: 0.7 })).mul(kept);
    },
    // Parts of it are so small that squares of their differences would vanish in single precision.
    'a third of many columns zero': () => {
      const a = random.normal(random.key(1), [193, 193], { dtype: 'float64' });
      const kept = Array.from({ length: 193 }, (_, k) => (k % 3 === 0 ? 0 : 1));
      return a.add(a.flip(-1).mul({ re: 0, im: 0.7 })).mul(kept);
    },
    'a square of equal columns': () => {
      const column = random.normal(random.key(6), [33, 1], { dtype: 'float64' });
      return column.add(column.flip(0).mul({ re: 0, im: 0.7 })).add(Array(33).fill(0));
    },
  };
  const cases = Object.keys(given).flatMap((name) =>
    (['float32', 'float64', 'complex64', 'complex128'] as const).map((dtype) => [name, dtype] as const),
  );

  it.each(cases)('are orthonormal: %s, %s', async (name, dtype) => {
    const isSingle = dtype === 'float32' || dtype === 'complex64';
    const parts = given[name]!();
    const wide = dtype.startsWith('complex') ? parts : parts.real();
    const matrices = await compute(
      SCALES.map((scale) => wide.mul(scale).astype(dtype)),
      { device: 'cpu' },
    );
    const errors = matrices.flatMap((matrix, k) => {
      const a = lazy(matrix);
      const { u, s, vh } = linalg.svd(a, { fullMatrices: false });
      const { q } = linalg.qr(a);
      const unit = lazy(matrix).div(SCALES[k]!).astype(dtype);
      const hermitian = a.shape[0] === a.shape[1] ? unit.add(adjoint(unit)) : adjoint(unit).matmul(unit);
      const { eigenvectors } = linalg.eigh(hermitian);
      const rest = u.mul(s).matmul(vh).subtract(a).abs().max().div(a.abs().max());
      return [
        fromIdentity(adjoint(u).matmul(u)),
        fromIdentity(vh.matmul(adjoint(vh))),
        fromIdentity(adjoint(q).matmul(q)),
        fromIdentity(adjoint(eigenvectors).matmul(eigenvectors)),
        rest,
      ];
    });
    const found = await compute(errors, { device: 'cpu' });
    for (const error of found)
      expect(Number(error.data[0])).toBeLessThan(400 * (isSingle ? 2 ** -23 : 2 ** -52));
  });
});
