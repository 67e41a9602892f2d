/**
 * Eigenvalues of general matrices that are hard for the shifted QR method: graded, defective, reducible, clustered, near
 * the bounds of their dtype. By the CPU's own routine, of so many rows that it deflates in windows.
 */
import { expect, it } from 'vitest';
import { compute, type Lazy, LinalgError, lazy, linalg } from '../../src/index.js';
import { generator, randomValues } from '../support/random.js';

const N = 104;
const DTYPES = ['float32', 'float64', 'complex64', 'complex128'] as const;
type LinearDType = (typeof DTYPES)[number];
const isDouble = (dtype: LinearDType): boolean => dtype === 'float64' || dtype === 'complex128';

type Element = (i: number, j: number) => number;
const drawn = (seed: number): Element => {
  const values = randomValues('float64', [N, N], seed, -1, 1).data as Float64Array;
  return (i, j) => values[i * N + j]!;
};
const one = (is: boolean): number => (is ? 1 : 0);
const [x, y] = [drawn(1), drawn(2)];
const next = generator(3);
const order = Array.from({ length: N }, (_, k) => k).sort(() => next() - 0.5);
const places = order.map((_, k) => order.indexOf(k));
const HALF = N / 2;
/** Coefficients of (x - 1)^8, after that of x^8. */
const BINOMIALS = [8, -28, 56, -70, 56, -28, 8, -1];

/** Elements of matrices, of N rows. */
const MATRICES: Readonly<Record<string, Element>> = {
  random: x,
  zero: () => 0,
  ones: () => 1,
  identity: (i, j) => one(i === j),
  'a Jordan block': (i, j) => (i === j ? 0.5 : one(j === i + 1)),
  'a Jordan block from below': (i, j) => (i === j ? 0.5 : one(i === j + 1)),
  'a nilpotent block': (i, j) => one(j === i + 1),
  'Jordan blocks': (i, j) => (i === j ? Math.floor(i / 7) / 4 : one(j === i + 1 && j % 7 !== 0)),
  'a companion of roots of one': (i, j) => one(i === (j + 1) % N),
  'companions of repeated roots': (i, j) =>
    Math.floor(i / 8) !== Math.floor(j / 8) ? 0 : i % 8 === 0 ? BINOMIALS[j % 8]! : one(i === j + 1),
  'a triangle': (i, j) => (j >= i ? x(i, j) : 0),
  'a triangle below': (i, j) => (j <= i ? x(i, j) : 0),
  'a permuted triangle': (i, j) => (places[j]! >= places[i]! ? x(i, j) : 0),
  'a permutation': (i, j) => one(order[i] === j),
  'a strict triangle': (i, j) => (j > i ? x(i, j) : 0),
  'triangles of blocks': (i, j) => (j >= i || i < HALF === j < HALF ? x(i, j) : 0),
  graded: (i, j) => x(i, j) * 2 ** (-(i + j) / 4),
  'graded the other way': (i, j) => x(i, j) * 2 ** ((i + j) / 4 - HALF),
  'graded by rows': (i, j) => x(i, j) * 2 ** (-i / 4),
  'scaled alike': (i, j) => x(i, j) * 2 ** ((i - j) / 4),
  clustered: (i, j) => one(i === j) + 1e-5 * x(i, j),
  'in two clusters': (i, j) => one(i === j) * (i < HALF ? 1 : -1) + 1e-5 * x(i, j),
  symmetric: (i, j) => x(i, j) + x(j, i),
  'skew-symmetric': (i, j) => x(i, j) - x(j, i),
  'of low rank': (i, j) => x(i, 0) * y(0, j) + x(i, 1) * y(1, j),
  Frank: (i, j) => (j >= i - 1 ? N - Math.max(i, j) : 0),
  Grcar: (i, j) => (i === j + 1 ? -1 : one(j >= i && j <= i + 3)),
  'Kahan-like': (i, j) => (i === j ? 0.9 ** i : j > i ? -0.4 * 0.9 ** i : 0),
  'with zero rows': (i, j) => (i % 3 === 0 ? 0 : x(i, j)),
  'with zero columns and rows': (i, j) => (i % 5 === 0 || j % 3 === 0 ? 0 : x(i, j)),
  stochastic: (i, j) => one(j === i + 1 || i === j + 1) / 2,
  rotation: (i, j) => (Math.floor(i / 2) === Math.floor(j / 2) ? (i === j ? 0 : i < j ? -1 : 1) : 0),
  'bidiagonal of integers': (i, j) => (i === j ? i : one(i === j + 1) * 1e3),
  'far from normal': (i, j) => (j > i ? 10 * x(i, j) : 0.01 * x(i, j)),
};

const NAMES = Object.keys(MATRICES);
/** Those whose vectors grow or vanish where elements are huge or tiny. */
const NEAR_BOUNDS = [
  'random',
  'ones',
  'a nilpotent block',
  'Jordan blocks',
  'a strict triangle',
  'with zero rows',
  'graded',
];

/** A stack of the matrices, of complex ones with imaginary parts. */
function stackOf(dtype: LinearDType, matrices: readonly Element[]): Lazy {
  const isComplex = dtype.startsWith('complex');
  const count = matrices.length * N * N * (isComplex ? 2 : 1);
  const data = isDouble(dtype) ? new Float64Array(count) : new Float32Array(count);
  let k = 0;
  for (const at of matrices)
    for (let i = 0; i < N; i++)
      for (let j = 0; j < N; j++) {
        data[k++] = at(i, j);
        if (isComplex) data[k++] = at === x ? y(i, j) : 0.75 * at(i, j);
      }
  return lazy({ data, shape: [matrices.length, N, N], dtype });
}

/**
 * For each matrix in multiples of its epsilon: A v - lambda v beside the norm of A, the lengths of v beside 1, and the sum of
 * the eigenvalues, without vectors, beside the trace.
 */
async function backwardErrors(dtype: LinearDType, names: readonly string[], scale: number) {
  const matrices = stackOf(
    dtype,
    names.map((name) => MATRICES[name]!),
  );
  const given = matrices.mul(scale);
  const { eigenvalues, eigenvectors } = linalg.eig(given);
  const a = matrices.astype('complex128');
  const [w, alone] = [eigenvalues, linalg.eigvals(given)].map((each) => each.astype('complex128').div(scale));
  const v = eigenvectors.astype('complex128');
  const lengths = (columns: Lazy): Lazy => columns.abs().square().sum(-2).sqrt();
  const size = a.abs().square().sum([-1, -2]).sqrt();
  const norm = size.maximum(size.equal(0).astype('float64'));
  const results = await compute(
    [
      lengths(a.matmul(v).sub(v.mul(w!.expandDims(-2))))
        .max(-1)
        .div(norm),
      lengths(v).sub(1).abs().max(-1),
      alone!.sum(-1).sub(a.trace()).abs().div(norm),
    ],
    { device: 'cpu' },
  );
  const epsilon = isDouble(dtype) ? 2 ** -52 : 2 ** -23;
  return results.map(({ data }) => Array.from(data as Float64Array, (error) => error / epsilon));
}

/** LAPACK's for Frank's matrix of 112 rows is 57; those of the others are up to 10. */
const mostOf = (name: string): number => (name === 'Frank' ? 200 : 30);

it.each([
  ['float32', 1, NAMES.filter((_, k) => k % 2 === 0)],
  ['float64', 1, NAMES],
  ['complex64', 1, NAMES.filter((_, k) => k % 2 === 1)],
  ['complex128', 1, NAMES.filter((_, k) => k % 2 === 0)],
  ['float32', 1e-30, NEAR_BOUNDS],
  ['float64', 1e-300, NEAR_BOUNDS],
  ['float64', 1e40, NEAR_BOUNDS],
  ['float64', 1e300, NEAR_BOUNDS],
  ['complex128', 1e40, NEAR_BOUNDS],
] as const)('eig is backward stable: %s times %d', async (dtype, scale, names) => {
  const [residuals, lengths, traces] = await backwardErrors(dtype, names, scale);
  const failures = names.flatMap((name, k) => {
    const [residual, length, trace] = [residuals![k]!, lengths![k]!, traces![k]!];
    const isRight = residual < mostOf(name) && length < 30 && trace < 100;
    return isRight ? [] : [`${name}: residual ${residual}, length ${length}, trace ${trace}`];
  });
  expect(failures).toEqual([]);
});

it.each(DTYPES)('eig of elements that are not finite is an error: %s', async (dtype) => {
  for (const bad of [Number.NaN, Number.POSITIVE_INFINITY]) {
    const given = stackOf(dtype, [y, (i, j) => (i === 99 && j === 3 ? bad : x(i, j))]);
    await expect(compute([linalg.eigvals(given)], { device: 'cpu' })).rejects.toThrow(LinalgError);
    await expect(compute([linalg.eig(given).eigenvectors], { device: 'cpu' })).rejects.toThrow(LinalgError);
  }
});
