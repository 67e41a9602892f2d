/**
 * The expressions of the workloads, as a user writes them. Both lists of workloads use them.
 */
import {
  arange,
  einsum,
  elementwise,
  fft,
  histogram,
  iterate,
  type Lazy,
  lazy,
  nonzero,
  type OutOfRange,
  random,
  reduction,
  searchsorted,
  stack,
  where,
  zeros,
} from '../src/index.js';

export const saxpyTrig = (x: Lazy, y: Lazy): Lazy => x.sin().mul(0.5).add(y.cos()).exp();

export const softplus = (x: Lazy): Lazy => x.maximum(0).add(x.abs().neg().exp().log1p());

/** Constants of the array's dtype: `where(x < 0, -1, 1)` of integers would turn the product into float64. */
export const absSum = (x: Lazy): Lazy =>
  x.mul(where(x.less(0), lazy(-1, { dtype: 'float32' }), lazy(1, { dtype: 'float32' }))).sum();

export const sumAll = (x: Lazy): Lazy => x.sum();
export const sumRows = (x: Lazy): Lazy => x.sum(0);
export const sumColumns = (x: Lazy): Lazy => x.sum(1);

export const standardize = (x: Lazy): Lazy => x.sub(x.mean(0)).div(x.std(0));

/** The columns' means, and their standard deviations. */
export const columnMoments = (x: Lazy): Lazy => stack([x.mean(0), x.std(0)]);

export function softmaxRows(x: Lazy): Lazy {
  const e = x.sub(x.max(1, { keepdims: true })).exp();
  return e.div(e.sum(1, { keepdims: true }));
}

export const layerNorm = (x: Lazy, weight: Lazy, bias: Lazy): Lazy => x.layerNorm(weight, bias);

export const takeElements = (x: Lazy, ids: Lazy): Lazy => x.take(ids);
export const takeRows = (x: Lazy, ids: Lazy): Lazy => x.take(ids, 0);

/** A look-up inside arithmetic: nothing but the result is written. */
export const takeFused = (x: Lazy, ids: Lazy, y: Lazy): Lazy => x.take(ids).neg().exp().mul(y).add(1);

/**
 * The elements that a mask selects, the places where it is true, and distinct values: sizes that depend on
 * data.
 */
export const selectByMask = (x: Lazy): Lazy => x.slice(x.greater(0));
export const placesAbove = (x: Lazy): Lazy => nonzero(x.greater(0.9))[0]!;
export const distinct = (x: Lazy): Lazy => x.uniqueValues();
/** Means of all windows of so many neighbours, from a scan. */
export const movingAverage =
  (width: number) =>
  (x: Lazy): Lazy => {
    const sums = x.cumulativeSum();
    return sums
      .slice([width, null])
      .sub(sums.slice([0, -width]))
      .div(width);
  };
export const percentiles = (x: Lazy): Lazy => x.quantile([0.05, 0.5, 0.95]);
export const placesIn = (x: Lazy, sorted: Lazy): Lazy => searchsorted(sorted, x);
export const membersOf = (x: Lazy, test: Lazy): Lazy => x.isin(test);

/** Steps until a point of the plane escapes, at most so many. */
export const escapeSteps = elementwise((a: number, b: number, most: number): number => {
  let [x, y, n] = [0, 0, 0];
  while (n < most && x * x + y * y <= 4) {
    [x, y] = [x * x - y * y + a, 2 * x * y + b];
    n++;
  }
  return n;
});

export const mandelbrot = (rows: number, columns: number, steps: number) => (): Lazy => {
  const [x, y] = [columns, rows].map((count) => arange(count, undefined, undefined, { dtype: 'float32' }));
  const [a, b] = [x!.mul(3).div(columns).sub(2), y!.mul(3).div(rows).sub(1.5)];
  return escapeSteps(a, b.expandDims(1), steps).astype('int32');
};

/** A function of scalars with a condition: CuPy's `ElementwiseKernel`. */
export const differenceOrRoot = elementwise((x: number, y: number) => {
  const z = (x - y) * (x - y);
  return z > 0.5 ? Math.sqrt(z) : z;
});

const norm = reduction({
  identity: 0,
  map: (x: number) => x * x,
  combine: (a: number, b: number) => a + b,
  finish: (a: number) => Math.sqrt(a),
});
/** A user's reduction of rows: CuPy's `ReductionKernel`. */
export const rowNorms = (x: Lazy): Lazy => norm(x, 1);

/** Signals filtered in the frequency domain. */
export const filtered = (x: Lazy, h: Lazy): Lazy =>
  fft
    .irfft(fft.rfft(x.mul(0.5)).mul(fft.rfft(h)))
    .abs()
    .add(1);

/** The gradient of a table of `n` numbers of which some were taken. */
export const scatterAdd =
  (n: number) =>
  (values: Lazy, ids: Lazy): Lazy =>
    zeros([n], { dtype: 'float32' }).at(ids).add(values);

export const segmentMean =
  (n: number) =>
  (values: Lazy, ids: Lazy): Lazy =>
    values.segmentMean(ids, n);

export const histogram256 = (x: Lazy): Lazy => histogram(x, 256, { range: [0, 1] })[0];

/** Numbers out of range are errors, for which all are read once more, or are left out. */
export const bincountOf =
  (length: number, mode: OutOfRange = 'raise') =>
  (ids: Lazy): Lazy =>
    ids.bincount(length, null, { mode });

export const weightedBincountOf =
  (length: number) =>
  (ids: Lazy, weights: Lazy): Lazy =>
    ids.bincount(length, weights);

export const transposeAdd = (x: Lazy, y: Lazy): Lazy => x.add(y.T);

/** Squared distances of all pairs of rows. */
export const squaredDistances = (x: Lazy, y: Lazy): Lazy =>
  x.expandDims(1).sub(y.expandDims(0)).square().sum(-1);

export const gaussKernelSum = (x: Lazy, y: Lazy, b: Lazy): Lazy =>
  squaredDistances(x, y).neg().exp().mul(b).sum(1);

export const matmul = (a: Lazy, b: Lazy): Lazy => a.matmul(b);
export const matmulSum = (a: Lazy, b: Lazy): Lazy => a.matmul(b).sum(0);
export const matmulBiasRelu = (a: Lazy, b: Lazy, bias: Lazy): Lazy => a.matmul(b).add(bias).maximum(0);
export const matmulBiasGelu = (a: Lazy, b: Lazy, bias: Lazy): Lazy =>
  a.matmul(b).add(bias).gelu({ approximate: 'tanh' });
/** BLAS's gemm: alpha A B + beta C, of square matrices. */
export const gemm = (a: Lazy, b: Lazy): Lazy => a.matmul(b).mul(1.5).add(a.mul(0.5));
export const einsumColumnSum = (a: Lazy, b: Lazy): Lazy => einsum('ij,jk->k', a, b);
export const tensordot = (a: Lazy, b: Lazy): Lazy => einsum('abcd,dbea->ec', a, b);

export const dotProduct = (a: Lazy, b: Lazy): Lazy => a.mul(b).sum();

const KEY = random.key(0);
export const uniformNumbers = (n: number) => (): Lazy => random.uniform(KEY, [n], { dtype: 'float32' });
export const normalNumbers = (n: number) => (): Lazy => random.normal(KEY, [n], { dtype: 'float32' });

/** Four times the share of random points that lie in the circle. */
export const pi = (points: number) => (): Lazy => {
  const [x, y] = random.split(KEY).map((key) => random.uniform(key, [points], { dtype: 'float32' }));
  return x!
    .square()
    .add(y!.square())
    .lessEqual(1)
    .sum()
    .mul(4 / points);
};

/** The price of an option on the mean of a path of so many days. */
export const asianOption = (paths: number, days: number) => (): Lazy => {
  const z = random.normal(KEY, [paths, days], { dtype: 'float32' });
  const steps = z.mul(0.2 / Math.sqrt(days)).add((0.05 - 0.02) / days);
  return steps.cumulativeSum(1).exp().mean(1).mul(100).sub(100).maximum(0).mean();
};

/** Heat in a plate that is cold around, after so many steps. */
export const diffusion =
  (steps: number) =>
  (field: Lazy): Lazy =>
    iterate(steps, field, (f) => {
      const p = f.pad(1);
      const [above, below] = [p.slice([null, -2], [1, -1]), p.slice([2, null], [1, -1])];
      const [left, right] = [p.slice([1, -1], [null, -2]), p.slice([1, -1], [2, null])];
      return f.sub(f.mul(4).sub(above).sub(below).sub(left).sub(right).mul(0.25));
    });

/** 100 times a hundredth of the columns' means is taken off: as many small kernels. */
export function smallKernels(x: Lazy): Lazy {
  let y = x;
  for (let i = 0; i < 100; i++) y = y.sub(y.mean(0).mul(0.01)).T;
  return y;
}

/** 250 cheap operations, each on the last one's result. */
export function longChain(x: Lazy): Lazy {
  let y = x;
  for (let i = 0; i < 50; i++) y = y.mul(1.0001).add(0.5).sub(1).abs().add(0.25).sqrt();
  return y;
}

/** 200 cheap operations: the chain of the CPU benchmark. */
export function shortRoundChain(x: Lazy): Lazy {
  let y = x;
  for (let i = 0; i < 50; i++) y = y.mul(1.0001).add(0.5).abs().sqrt();
  return y;
}
