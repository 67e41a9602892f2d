/**
 * Random programs of dense linear algebra with maps, reductions and products, over a stack of square matrices. Every
 * step keeps matrices well conditioned and elements near 1, so that results differ by rounding alone; what is
 * not unique, as the signs of vectors, cancels out. Beside each step stands what a textbook makes of one real matrix.
 */
import { eye, type Lazy, linalg } from '../../src/index.js';
import { toLazy } from './api.js';
import {
  cholesky,
  eliminated,
  identity,
  mapped,
  orthonormalized,
  product,
  type Rows,
  singularValues,
  symmetricEigen,
  transposed,
} from './plain-matrices.js';
import { generator, randomValues } from './random.js';

export type LinearDType = 'float32' | 'float64' | 'complex128';

export interface LinearProgram {
  /** A stack of matrices, the sum of each, and the singular values of all. */
  readonly outputs: readonly [matrices: Lazy, sums: Lazy, values: Lazy];
  readonly dtype: LinearDType;
  /** The names of its steps. */
  readonly steps: readonly string[];
  /** Matrices by the textbook; of real ones alone. */
  readonly plain: () => readonly Rows[];
}

interface Step {
  /** `y`: other matrices. */
  readonly lazy: (x: Lazy, y: Lazy) => Lazy;
  readonly plain: (x: Rows, y: Rows) => Rows;
}

const adjoint = (x: Lazy): Lazy => x.matrixTranspose().conj();
const normal = (x: Lazy): Lazy => x.div(x.abs().max([-1, -2], { keepdims: true }).add(1));
const normalRows = (x: Rows): Rows => {
  const most = Math.max(...x.flat().map(Math.abs)) + 1;
  return mapped(x, (each) => each / most);
};
/** Elements below 1 beside a diagonal of more than their sum. */
const dominant = (x: Lazy): Lazy =>
  normal(x).add(eye(x.shape.at(-1)!).mul(x.shape.at(-1)!).astype('float32'));
const dominantRows = (x: Rows): Rows =>
  mapped(normalRows(x), (each, i, j) => each + (i === j ? x.length : 0));
const symmetric = (x: Lazy): Lazy => normal(x.add(adjoint(x)));
const symmetricRows = (x: Rows): Rows => normalRows(mapped(x, (each, i, j) => each + x[j]![i]!));
const positive = (x: Lazy): Lazy => {
  const given = normal(x);
  return given.matmul(adjoint(given)).add(eye(x.shape.at(-1)!).astype('float32'));
};
const positiveRows = (x: Rows): Rows => {
  const given = normalRows(x);
  return mapped(product(given, transposed(given)), (each, i, j) => each + (i === j ? 1 : 0));
};
const diagonalSigns = (r: Lazy): Lazy =>
  r
    .mul(eye(r.shape.at(-1)!).astype('float32'))
    .sum(-1)
    .sign()
    .expandDims(-2);

const STEPS: Readonly<Record<string, Step>> = {
  solve: {
    lazy: (x, y) => linalg.solve(dominant(x), y).mul(x.shape.at(-1)!),
    plain: (x, y) => mapped(eliminated(dominantRows(x), y).x, (each) => each * x.length),
  },
  inv: {
    lazy: (x) => linalg.inv(dominant(x)).mul(x.shape.at(-1)!),
    plain: (x) => mapped(eliminated(dominantRows(x), identity(x.length)).x, (each) => each * x.length),
  },
  cholesky: { lazy: (x) => linalg.cholesky(positive(x)), plain: (x) => cholesky(positiveRows(x)) },
  qr: {
    lazy: (x, y) => {
      const { q, r } = linalg.qr(dominant(x));
      const signs = diagonalSigns(r);
      return q
        .mul(signs)
        .matmul(y)
        .add(r.mul(signs.matrixTranspose()).div(x.shape.at(-1)!));
    },
    plain: (x, y) => {
      const { q, r } = orthonormalized(dominantRows(x));
      return mapped(product(q, y), (each, i, j) => each + r[i]![j]! / x.length);
    },
  },
  svdvals: {
    lazy: (x) => x.add(linalg.svdvals(normal(x)).expandDims(-1)),
    plain: (x) => {
      const values = singularValues(normalRows(x));
      return mapped(x, (each, i) => each + values[i]!);
    },
  },
  eigh: {
    // A function of the matrix, which has no signs of vectors.
    lazy: (x) => {
      const { eigenvalues, eigenvectors } = linalg.eigh(symmetric(x));
      return eigenvectors.mul(eigenvalues.tanh().expandDims(-2)).matmul(adjoint(eigenvectors));
    },
    plain: (x) => {
      const { values, vectors } = symmetricEigen(symmetricRows(x));
      return product(
        mapped(vectors, (each, _, j) => each * Math.tanh(values[j]!)),
        transposed(vectors),
      );
    },
  },
  det: {
    lazy: (x) => x.mul(linalg.det(dominant(x).div(x.shape.at(-1)!)).reshape([-1, 1, 1])),
    plain: (x) => {
      const { determinant } = eliminated(
        mapped(dominantRows(x), (each) => each / x.length),
        identity(x.length),
      );
      return mapped(x, (each) => each * determinant);
    },
  },
  slogdet: {
    lazy: (x) => {
      const { logabsdet } = linalg.slogdet(dominant(x).div(x.shape.at(-1)!));
      return x.add(logabsdet.reshape([-1, 1, 1]));
    },
    plain: (x) => {
      const { determinant } = eliminated(
        mapped(dominantRows(x), (each) => each / x.length),
        identity(x.length),
      );
      return mapped(x, (each) => each + Math.log(Math.abs(determinant)));
    },
  },
  matmul: { lazy: (x, y) => normal(x).matmul(y), plain: (x, y) => product(normalRows(x), y) },
  map: {
    lazy: (x, y) => x.mul(0.5).add(y.mul(y)).sub(normal(x).abs()),
    plain: (x, y) => {
      const small = normalRows(x);
      return mapped(x, (each, i, j) => each * 0.5 + y[i]![j]! ** 2 - Math.abs(small[i]![j]!));
    },
  },
  rows: {
    lazy: (x) => x.sub(x.mean(-1, { keepdims: true })).add(x.abs().max(-2, { keepdims: true })),
    plain: (x) => {
      const means = x.map((row) => row.reduce((sum, each) => sum + each, 0) / row.length);
      const most = transposed(x).map((column) => Math.max(...column.map(Math.abs)));
      return mapped(x, (each, i, j) => each - means[i]! + most[j]!);
    },
  },
  turned: {
    lazy: (x) => x.flip(-1).matrixTranspose(),
    plain: (x) => transposed(x.map((row) => [...row].reverse())),
  },
};

export interface LinearSizes {
  /** At most so many steps and matrices, of so many rows. */
  readonly steps?: number;
  readonly count?: number;
  readonly rows?: readonly number[];
}

/** Program number `seed`. */
export function randomLinearProgram(
  seed: number,
  { steps = 6, count = 12, rows = [1, 2, 5, 8, 17, 34] }: LinearSizes = {},
): LinearProgram {
  const next = generator(seed);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)]!;
  const dtype: LinearDType = pick(['float32', 'float64', 'float64', 'complex128']);
  const [n, matrices] = [pick(rows), 1 + Math.floor(next() * count)];
  const drawn = (number: number) => randomValues(dtype, [matrices, n, n], 100 * seed + number, -1, 1);
  const names = Array.from({ length: 2 + Math.floor(next() * (steps - 1)) }, () => pick(Object.keys(STEPS)));
  let x = toLazy(drawn(0));
  for (const [k, name] of names.entries()) x = STEPS[name]!.lazy(x, toLazy(drawn(k + 1)));
  const stackOf = (number: number): Rows[] => {
    const data = drawn(number).data as Float64Array;
    const row = (m: number, i: number): number[] =>
      Array.from(data.slice((m * n + i) * n, (m * n + i + 1) * n));
    return Array.from({ length: matrices }, (_, m) => Array.from({ length: n }, (_, i) => row(m, i)));
  };
  return {
    outputs: [x, x.sum([-1, -2]), linalg.svdvals(normal(x))],
    dtype,
    steps: names,
    plain: () => {
      const sides = names.map((_, k) => stackOf(k + 1));
      return stackOf(0).map((given, m) =>
        names.reduce((a, name, k) => STEPS[name]!.plain(a, sides[k]![m]!), given as Rows),
      );
    },
  };
}

/** Programs that a test runs: the first `WEFT_LINEAR_PROGRAMS`, or those that it names. */
export const programSeeds = (usual: readonly number[]): readonly number[] => {
  const { WEFT_LINEAR_PROGRAMS: count } = process.env;
  return count === undefined ? usual : Array.from({ length: Number(count) }, (_, k) => k + 1);
};
