/**
 * Eigenvectors and singular vectors by Weft's own routines on the CPU, of matrices that are hard to divide in halves:
 * equal values, clusters, matrices that fall apart, zeros, numbers near the ends of a dtype.
 */
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { cpuInfo } from '../../src/exec/native/native.js';
import { compute, eye, type Lazy, lazy, linalg } from '../../src/index.js';
import { toLazy } from '../support/api.js';
import { randomValues } from '../support/random.js';

const addon = createRequire(import.meta.url)(
  resolve(import.meta.dirname, '../../build/Release/weft.node'),
) as { configureCpu(settings: { poison: boolean; lapack: string }): void };
cpuInfo();
addon.configureCpu({ poison: false, lapack: 'none' });

const listed = (count: number, of: (k: number) => number): number[] =>
  Array.from({ length: count }, (_, k) => of(k));

/** The matrix of a diagonal, and of the elements beside it. */
function tridiagonal(n: number, diagonal: (k: number) => number, beside: (k: number) => number): Lazy {
  const elements = new Float64Array(n * n);
  for (let k = 0; k < n; k++) {
    elements[k * n + k] = diagonal(k);
    if (k < n - 1) elements[k * n + k + 1] = elements[(k + 1) * n + k] = beside(k);
  }
  return lazy(elements, { shape: [n, n] });
}

/** Wilkinson's matrices of 21 rows, which have pairs of nearly equal eigenvalues, joined by small elements. */
const glued = (glue: number): Lazy =>
  tridiagonal(
    105,
    (k) => Math.abs((k % 21) - 10),
    (k) => (k % 21 === 20 ? glue : 1),
  );

const vector = toLazy(randomValues('float64', [90, 3], 1, -1, 1));
const full = toLazy(randomValues('float64', [80, 80], 2, -1, 1));
const reflected = ((): Lazy => {
  const { q } = linalg.qr(full);
  return q.mul(lazy(listed(80, (k) => (k % 3 === 0 ? 2 : -1)))).matmul(q.T);
})();

const HERMITIAN: Readonly<Record<string, Lazy>> = {
  zeros: full.mul(0),
  'the identity': eye(70),
  'a diagonal': tridiagonal(
    70,
    (k) => (k * 37) % 70,
    () => 0,
  ),
  'equal elements': full.mul(0).add(1),
  differences: tridiagonal(
    100,
    () => 2,
    () => -1,
  ),
  'a zero diagonal': tridiagonal(
    99,
    () => 0,
    (k) => Math.sqrt((k + 1) * (98 - k)),
  ),
  Wilkinson: tridiagonal(
    101,
    (k) => Math.abs(k - 50),
    () => 1,
  ),
  'glued by 1e-8': glued(1e-8),
  'glued by 1e-14': glued(1e-14),
  'rank 3': vector.matmul(vector.T),
  'two eigenvalues': reflected,
  graded: tridiagonal(
    70,
    (k) => 10 ** (-k / 4),
    (k) => 10 ** (-k / 4 - 0.2),
  ),
  huge: full.mul(2 ** 1000),
  tiny: full.mul(2 ** -1000),
};

it.each(Object.entries(HERMITIAN))(
  'of %s are orthonormal, and their values are those of eigvalsh',
  async (_, x) => {
    const n = x.shape[0]!;
    const a = x.add(x.T).div(2);
    const { eigenvalues: w, eigenvectors: v } = linalg.eigh(a);
    const size = a
      .abs()
      .max()
      .maximum(2 ** -1021);
    const differences = [
      a.matmul(v).sub(v.mul(w)).div(size),
      v.T.matmul(v).sub(eye(n)),
      linalg.eigvalsh(a).sub(w).div(size),
    ].map((each) => each.abs().max());
    for (const { data } of await compute(differences, { device: 'cpu' }))
      expect(data[0]).toBeLessThan(n * n * 2 ** -49);
  },
);

/** The matrix of a diagonal, and of the elements above it. */
const bidiagonal = (n: number, diagonal: (k: number) => number, above: (k: number) => number): Lazy =>
  tridiagonal(n, diagonal, above).triu();

const GENERAL: Readonly<Record<string, Lazy>> = {
  ...HERMITIAN,
  'a Jordan block': bidiagonal(
    90,
    () => 0,
    () => 1,
  ),
  'ones in two diagonals': bidiagonal(
    100,
    () => 1,
    () => 1,
  ),
  'zeros in the diagonal': bidiagonal(
    100,
    (k) => (k % 7 === 0 ? 0 : 1),
    () => 1,
  ),
  'a last zero': bidiagonal(
    70,
    (k) => (k === 69 ? 0 : 1),
    () => 1,
  ),
  parts: bidiagonal(
    100,
    (k) => k + 1,
    (k) => (k % 10 === 3 ? 0 : 1),
  ),
  'a tiny half': bidiagonal(
    100,
    (k) => (k < 50 ? 1 : 1e-18),
    () => 0.1,
  ),
  'falling elements': bidiagonal(
    80,
    (k) => 0.5 ** k,
    (k) => -0.7 * 0.5 ** k,
  ),
  'an orthogonal matrix': linalg.qr(full).q,
  'negative elements': eye(80).mul(-1),
};

it.each(Object.entries(GENERAL))('singular vectors of %s are orthonormal, in both dtypes', async (_, x) => {
  const n = x.shape[0]!;
  const size = x
    .abs()
    .max()
    .maximum(2 ** -1021);
  const differences = [x, x.mul({ re: 0.6, im: 0.8 })].flatMap((a) => {
    const { u, s, vh } = linalg.svd(a);
    const adjoint = (each: Lazy): Lazy => each.matrixTranspose().conj();
    return [
      u.mul(s).matmul(vh).sub(a).div(size),
      adjoint(u).matmul(u).sub(eye(n)),
      vh.matmul(adjoint(vh)).sub(eye(n)),
      linalg.svdvals(a).sub(s).div(size),
    ].map((each) => each.abs().max());
  });
  for (const { data } of await compute(differences, { device: 'cpu' }))
    expect(data[0]).toBeLessThan(n * n * 2 ** -49);
});

it('singular values of zeros are 0', async () => {
  const { data } = await linalg.svd(full.mul(0)).s.compute({ device: 'cpu' });
  expect([...data].every((value) => value === 0)).toBe(true);
});
