/** Programs for `programs.ts`: normalisations, and sums over pairs. */
import { eye, type Lazy, maximum } from '../../src/index.js';
import { between, F32, integers, type Program, values } from './program.js';

/** Softmax from its definition, along one axis. */
function softmax(x: Lazy, axis: number): Lazy {
  const e = x.subtract(x.max(axis, { keepdims: true })).exp();
  return e.divide(e.sum(axis, { keepdims: true }));
}

function layerNorm(x: Lazy, gain: Lazy, shift: Lazy): Lazy {
  const centred = x.subtract(x.mean(-1, { keepdims: true }));
  const variance = centred.square().mean(-1, { keepdims: true });
  return centred.multiply(variance.add(1e-5).rsqrt()).multiply(gain).add(shift);
}
export const NORMALISATION_PROGRAMS: readonly Program[] = [
  ...[0, 1, 2].map((axis) => ({
    name: `softmax along axis ${axis} of 3`,
    tolerance: F32,
    build: () => [softmax(values('float32', 5, 17, 9), axis)],
  })),
  { name: 'softmax of float16 rows', tolerance: 4e-3, build: () => [softmax(values('float16', 6, 33), 1)] },
  { name: 'softmax of a long row', tolerance: F32, build: () => [softmax(values('float32', 3, 5003), 1)] },
  {
    name: 'layer norm with gain and shift',
    tolerance: 1e-5,
    build: () => [layerNorm(values('float32', 7, 64), values('float32', 64), values('float32', 64))],
  },
  {
    name: 'standardized columns and rows',
    tolerance: 1e-5,
    build: () => {
      const x = values('float32', 40, 11);
      return [0, 1].map((axis) =>
        x.subtract(x.mean(axis, { keepdims: true })).divide(x.std(axis, { keepdims: true })),
      );
    },
  },
  {
    name: 'matrices over their largest elements twice, as they are and turned',
    tolerance: 1e-12,
    build: () => {
      const largest = (x: Lazy): Lazy => x.abs().max([-1, -2], { keepdims: true }).add(1);
      const x = values('float64', 3, 17, 17);
      const once = x.multiply(0.5).subtract(x.divide(largest(x)));
      return [once.divide(largest(once)).divide(17).matrixTranspose(), once];
    },
  },
  {
    name: 'mean, variance and deviation of one array, with corrections',
    tolerance: 1e-5,
    build: () => {
      const x = values('float32', 31, 13);
      return [
        x.mean(),
        x.mean(0),
        x.var(1),
        x.var(0, { correction: 1 }),
        x.std(),
        x.std([0, 1], { correction: 1.5 }),
      ];
    },
  },
  {
    name: 'variance around a large mean',
    tolerance: 1e-3,
    build: () => [values('float32', 4, 900).add(10_000).var(1)],
  },
  {
    name: 'log-sum-exp, as a reduction and from its definition',
    tolerance: F32,
    build: () => {
      const x = between('float32', 80, 100, 9, 50);
      const top = x.max(1, { keepdims: true });
      return [
        x.logsumexp(1),
        x.logsumexp(0),
        x.subtract(top).exp().sum(1, { keepdims: true }).log().add(top),
      ];
    },
  },
  {
    name: 'row and column sums of one exponential',
    tolerance: F32,
    build: () => {
      const e = values('float32', 23, 29).exp();
      return [e.sum(0), e.sum(1), e.sum(), e];
    },
  },
  {
    name: 'a correlation matrix through a matrix product',
    tolerance: 1e-12,
    build: () => {
      const x = values('float64', 200, 5);
      const z = x.subtract(x.mean(0)).divide(x.std(0));
      return [z.transpose().matmul(z).divide(200)];
    },
  },
];

export const PAIR_PROGRAMS: readonly Program[] = [
  {
    name: 'a Gaussian kernel sum over pairs of points',
    tolerance: F32,
    build: () => {
      const [x, y] = [values('float32', 37, 1, 3), values('float32', 1, 41, 3)];
      return [x.subtract(y).square().sum(-1).negative().exp().sum(1)];
    },
  },
  {
    name: 'squared distances, their minimum and where it is',
    build: () => {
      const [x, y] = [integers('float32', 13, 1, 2), integers('float32', 17, 2)];
      const distance = x.subtract(y).square().sum(-1);
      return [distance, distance.min(1), distance.argmin(1), distance.max()];
    },
  },
  {
    name: 'an outer product, its trace by a mask, and its transpose',
    build: () => {
      const outer = integers('float64', 9).expandDims(1).multiply(integers('float64', 9));
      return [outer.multiply(eye(9)).sum(), outer.transpose(), outer.sum(0)];
    },
  },
  {
    name: 'a column sum of a matrix product',
    tolerance: F32,
    build: () => [
      values('float32', 21, 34)
        .matmul(values('float32', 34, 8))
        .sum(0),
    ],
  },
  {
    name: 'a product of broadcast views that is summed: a contraction in disguise',
    tolerance: F32,
    build: () => [
      values('float32', 12, 1, 30)
        .multiply(values('float32', 7, 30))
        .sum(-1),
    ],
  },
  {
    name: 'batched products with a bias and an activation',
    tolerance: F32,
    build: () => [
      maximum(
        values('float32', 3, 4, 16)
          .matmul(values('float32', 16, 5))
          .add(values('float32', 5)),
        0,
      ),
    ],
  },
  {
    name: 'a chain of three products',
    tolerance: F32,
    build: () => [
      values('float32', 6, 20)
        .matmul(values('float32', 20, 20))
        .matmul(values('float32', 20, 2)),
    ],
  },
];
