/**
 * Ordinary jobs, as users of NumPy and CuPy write them over arrays that are larger than memory: which of them
 * are planned at a half, a quarter, an eighth and a sixteenth of what they hold without a budget, and why the
 * others are refused. Plans alone: nothing is computed. Used by `budget-coverage.ts` and tests.
 */
import {
  type ComputeOptions,
  concat,
  type DType,
  iterate,
  type Lazy,
  MemoryError,
  npy,
  plan,
  stack,
  where,
  whileLoop,
} from '../../src/index.js';

/** Makes an array of a job: a placeholder where it is planned alone, else one of data. */
export type MakeArray = (shape: readonly number[], dtype: DType) => Lazy;

/** The arrays that jobs are over. Rows and sides are given, so that tests can compute small ones. */
interface Arrays {
  /** (n, 16) */
  readonly tall: () => Lazy;
  /** (n,) */
  readonly line: () => Lazy;
  /** (side, side) */
  readonly square: () => Lazy;
  /** (rows, columns), neither of them few; twice as many rows. */
  readonly table: () => Lazy;
  /** (16, side, side / 4) */
  readonly stacked: () => Lazy;
  /** (points, 3) */
  readonly points: () => Lazy;
  readonly of: (shape: readonly number[], dtype?: DType) => Lazy;
  readonly n: number;
  readonly side: number;
}

function arraysOf(make: MakeArray, scale: number): Arrays {
  const n = Math.round(2 ** 20 * scale);
  const side = Math.round(4096 * Math.sqrt(scale));
  const of = (shape: readonly number[], dtype: DType = 'float32'): Lazy => make(shape, dtype);
  return {
    n,
    side,
    of,
    tall: () => of([n, 16]),
    line: () => of([16 * n]),
    square: () => of([side, side]),
    table: () => of([2 * Math.round(1.22 * side), Math.round(1.22 * side)]),
    stacked: () => of([16, side, side >> 2]),
    points: () => of([Math.round(40_000 * Math.sqrt(scale)), 3]),
  };
}

type JobOf = (arrays: Arrays) => Lazy | readonly Lazy[];

const row = (x: Lazy): Lazy => x.expandDims(0);
const column = (x: Lazy): Lazy => x.expandDims(1);
const distances = (x: Lazy, y: Lazy): Lazy => column(x).sub(row(y)).square().sum(-1);

const MAPS: Readonly<Record<string, JobOf>> = {
  'a chain of maps': ({ tall }) => tall().sin().mul(0.5).add(0.1).exp(),
  'two arrays': ({ tall }) => tall().mul(2).add(tall().sqrt()),
  'several results': ({ tall }) => {
    const x = tall();
    return [x.exp(), x.abs().sqrt(), x.astype('float16')];
  },
  'a cast to float64': ({ line }) => line().astype('float64').mul(3),
  'clip and scale': ({ of, n }) =>
    of([4 * n, 3], 'uint8')
      .astype('float32')
      .div(255)
      .clip(0.1, 0.9),
  'a row added': ({ tall, of }) => tall().add(of([16])),
  'a column multiplied': ({ tall, of, n }) => tall().mul(of([n, 1])),
  'an outer sum': ({ of, side }) => column(of([side])).add(row(of([side]))),
  'an outer product': ({ of, side }) =>
    of([side])
      .outer(of([side]))
      .tanh(),
  'where a condition holds': ({ tall }) => {
    const [x, y] = [tall(), tall()];
    return where(x.greater(y), x.log(), y.exp());
  },
};

const REDUCTIONS: Readonly<Record<string, JobOf>> = {
  'a sum of all': ({ line }) => line().square().sum(),
  'sums of columns': ({ tall }) => tall().sum(0),
  'sums of columns of a table': ({ table }) => table().sum(0),
  'sums of rows': ({ table }) => table().abs().sum(1),
  'mean and deviation of columns': ({ tall }) => {
    const x = tall();
    return [x.mean(0), x.std(0)];
  },
  'extremes of rows': ({ table }) => {
    const x = table();
    return [x.min(1), x.max(1), x.argmax(1)];
  },
  'reductions of several axes': ({ table }) => {
    const x = table();
    return [x.sum(0), x.sum(1), x.sum()];
  },
  'a middle axis': ({ stacked }) => stacked().mean(1),
  'the first of three axes': ({ stacked }) => stacked().std(0),
  'first and last axis': ({ stacked }) => stacked().square().sum([0, 2]),
  logsumexp: ({ table }) => table().logsumexp(1),
  'a norm of all': ({ line }) => line().norm(),
  'how many are true': ({ table }) => table().greater(0.5).sum(0),
  'reductions of what is computed and kept': ({ tall }) => {
    const y = tall().exp();
    return [y, y.sum(0)];
  },
  'columns beside a broadcast row': ({ table, of, side }) =>
    table()
      .sub(of([1, Math.round(1.22 * side)]))
      .square()
      .sum(0),
  'a weighted sum over the first axis': ({ tall, of, n }) =>
    tall()
      .mul(of([n, 1]))
      .sum(0),
  'a sum over the first axis of a grid': ({ of, side, n }) =>
    column(of([n >> 4]))
      .sub(row(of([4 * side])))
      .square()
      .sum(0),
  'a mean of columns and one of rows': ({ table }) => {
    const x = table();
    return [x.mean(0), x.mean(1)];
  },
  'two reductions of two arrays': ({ table }) => [table().sum(0), table().transpose().sum(0)],
  'column statistics one after the other': ({ table }) => {
    const x = table();
    return [x.sub(x.mean(0)).abs().max(0), x.argmin(0)];
  },
};

const NORMALISATIONS: Readonly<Record<string, JobOf>> = {
  'standardized columns': ({ tall }) => {
    const x = tall();
    return x.sub(x.mean(0)).div(x.std(0));
  },
  'standardized columns of a table': ({ table }) => table().standardize(0),
  'standardized rows': ({ table }) => table().standardize(1),
  'softmax of rows': ({ table }) => table().softmax(1),
  'softmax of columns': ({ table }) => table().softmax(0),
  'softmax of tall columns': ({ tall }) => tall().softmax(0),
  'layer norm': ({ table }) => table().layerNorm(),
  'scaled between extremes': ({ tall }) => {
    const x = tall();
    return x.sub(x.min(0)).div(x.max(0).sub(x.min(0)));
  },
  'divided by the largest': ({ line }) => {
    const x = line();
    return x.div(x.abs().max());
  },
  'log softmax and its mean': ({ table }) => table().logSoftmax(1).mean(0),
  'centered twice': ({ table }) => {
    const x = table();
    const y = x.sub(x.mean(0));
    return y.sub(y.mean(1, { keepdims: true }));
  },
  'softmax of all': ({ line }) => line().softmax(),
};

const VIEWS: Readonly<Record<string, JobOf>> = {
  'a transpose': ({ square }) => square().transpose().add(1),
  'a transpose of a table': ({ table }) => table().transpose().mul(2),
  'a transpose of a tall table': ({ tall }) => tall().transpose().mul(2),
  'a transpose of a wide table': ({ of, n }) => of([16, n]).transpose().mul(2),
  'an array and its transpose': ({ square }) => {
    const x = square();
    return x.add(x.transpose()).mul(0.5);
  },
  'axes reversed': ({ stacked }) => stacked().permuteDims([2, 1, 0]).exp(),
  'matrices transposed': ({ stacked }) => stacked().matrixTranspose().neg(),
  'a transpose that is reshaped': ({ square }) => square().transpose().reshape([-1]).mul(2),
  'every second': ({ tall }) => tall().slice([null, null, 2]).exp(),
  'rows backwards': ({ tall }) => tall().flip(0).add(1),
  'rolled rows': ({ tall }) => {
    const x = tall();
    return x.roll(1000, 0).sub(x);
  },
  'rows one after the other': ({ tall }) => concat([tall(), tall().neg()]),
  'columns side by side': ({ table }) => concat([table(), table().exp()], 1),
  'stacked on a new axis': ({ line }) => stack([line(), line().neg()], -1),
  'a border': ({ square }) => square().pad(3).mul(2),
  tiled: ({ tall }) => tall().tile([2, 2]).add(1),
  'the diagonal of a flat matrix': ({ square, side }) =>
    square()
      .exp()
      .reshape([-1])
      .slice([null, null, side + 1]),
  'neighbours of a flat matrix': ({ square }) => {
    const x = square().reshape([-1]);
    return x.slice('1:').sub(x.slice(':-1'));
  },
  'neighbours of what is computed': ({ square }) => {
    const x = square().exp().reshape([-1]);
    return x.slice('1:').sub(x.slice(':-1'));
  },
  'a trace': ({ square }) => square().exp().trace(),
};

const STENCILS: Readonly<Record<string, JobOf>> = {
  'a line of three points': ({ line }) => {
    const x = line();
    return x.slice('2:').add(x.slice('1:-1').mul(2)).add(x.slice(':-2')).div(4);
  },
  'five points': ({ square }) => {
    const x = square();
    const inner = (down: string, along: string): Lazy => x.slice(down, along);
    return inner('2:', '1:-1')
      .add(inner(':-2', '1:-1'))
      .add(inner('1:-1', '2:'))
      .add(inner('1:-1', ':-2'))
      .sub(inner('1:-1', '1:-1').mul(4));
  },
  'differences along columns': ({ table }) => table().diff({ axis: 0 }),
  'a gradient': ({ square }) => {
    const x = square();
    return x
      .gradient(1, { axis: 0 })
      .square()
      .add(x.gradient(1, { axis: 1 }).square())
      .sqrt();
  },
  'a moving average': ({ line }) => {
    const s = line().cumulativeSum();
    return s
      .slice([16, null])
      .sub(s.slice([0, -16]))
      .div(16);
  },
};

const PAIRS: Readonly<Record<string, JobOf>> = {
  'nearest of all pairs': ({ points }) => distances(points(), points()).min(1),
  'which is nearest': ({ points }) => distances(points(), points()).argmin(1),
  'sums over all pairs': ({ points }) => distances(points(), points()).mul(-0.5).exp().sum(1),
  'a sum over all pairs': ({ points }) => distances(points(), points()).sqrt().sum(),
  'nearest of both sides': ({ points }) => {
    const d = distances(points(), points());
    return [d.min(0), d.min(1)];
  },
  'a kernel sum': ({ points, of, side }) => {
    const [x, y] = [points(), points()];
    return distances(x, y)
      .neg()
      .exp()
      .mul(of([1, y.shape[0]!]))
      .sum(1)
      .div(side);
  },
  'absolute distances in many dimensions': ({ of, side }) =>
    column(of([2 * side, 64]))
      .sub(row(of([2 * side, 64])))
      .abs()
      .sum(-1)
      .min(1),
  'a distance matrix': ({ of, side }) => distances(of([side, 3]), of([side, 3])).sqrt(),
};

const PRODUCTS: Readonly<Record<string, JobOf>> = {
  'a product': ({ square }) => square().matmul(square()),
  'a layer': ({ tall, of }) =>
    tall()
      .matmul(of([16, 32]))
      .add(of([32]))
      .relu(),
  'two layers': ({ tall, of }) =>
    tall()
      .matmul(of([16, 64]))
      .tanh()
      .matmul(of([64, 8]))
      .softmax(1),
  'products of columns': ({ tall }) => {
    const x = tall();
    return x.transpose().matmul(x);
  },
  covariances: ({ tall }) => {
    const x = tall();
    const y = x.sub(x.mean(0));
    return y.transpose().matmul(y).div(1000);
  },
  'correlations of rows': ({ of, n }) => of([16, n]).corrcoef(),
  'a chain of products': ({ square }) => square().matmul(square()).matmul(square()),
  'a matrix and a vector': ({ table, of, side }) => table().matmul(of([Math.round(1.22 * side)])),
  'a matrix and a vector, transposed': ({ table, of, side }) =>
    table()
      .transpose()
      .matmul(of([2 * Math.round(1.22 * side)])),
  'a stack of products': ({ of, side }) =>
    of([16, side >> 2, side >> 2]).matmul(of([16, side >> 2, side >> 2])),
  attention: ({ of, side }) => {
    const [q, k, v] = [of([2 * side, 64]), of([2 * side, 64]), of([2 * side, 64])];
    return q.matmul(k.transpose()).div(8).softmax(1).matmul(v);
  },
  'a gradient of least squares': ({ tall, of, n }) => {
    const x = tall();
    return x.transpose().matmul(x.matmul(of([16])).sub(of([n])));
  },
  'a sum of a product': ({ square }) => square().matmul(square()).sum(0),
};

const LOOKUPS: Readonly<Record<string, JobOf>> = {
  'rows by indices': ({ tall, of, n }) =>
    tall()
      .take(of([n], 'int32'), 0, { mode: 'clip' })
      .tanh(),
  'values of a table': ({ of, n }) =>
    of([1000])
      .take(of([16 * n], 'uint8'), 0, { mode: 'clip' })
      .mul(2),
  'in which bin': ({ line, of }) => line().digitize(of([256])),
  'which are among some': ({ of, n }) => of([16 * n], 'int32').isin(of([500], 'int32')),
  interpolated: ({ line, of }) => line().interp(of([1024]), of([1024])),
  'a step of k-means': ({ of, n }) => {
    const [x, centers] = [of([n, 8]), of([16, 8])];
    const labels = Array.from({ length: 16 }, (_, k) => k);
    const isIn = column(distances(x, centers).argmin(1)).equal(labels).astype('float32');
    return isIn
      .transpose()
      .matmul(x)
      .div(column(isIn.sum(0)));
  },
};

const MASKS: Readonly<Record<string, JobOf>> = {
  'sums and number of what is positive': ({ tall }) => {
    const x = tall();
    const mask = x.greater(0);
    return [where(mask, x, 0).sum(0), mask.sum(0)];
  },
  'a mean under a mask': ({ table }) => {
    const x = table();
    const mask = x.isfinite().logicalAnd(x.abs().less(3));
    return where(mask, x, 0).sum(0).div(mask.sum(0));
  },
  'outliers replaced': ({ tall }) => {
    const x = tall();
    const mask = x.sub(x.mean(0)).abs().greater(x.std(0).mul(3));
    return where(mask, x.mean(0), x);
  },
  'standardized under a mask': ({ tall }) => {
    const x = tall();
    const mask = x.greater(0).logicalAnd(x.exp().less(10));
    const count = mask.sum(0);
    const mean = where(mask, x, 0).sum(0).div(count);
    return where(mask, x.sub(mean), 0);
  },
  'a mean without NaN': ({ table }) => table().nanMean(0),
};

const ORDERS: Readonly<Record<string, JobOf>> = {
  'sums up to each place': ({ line }) => line().cumulativeSum(),
  'sums up to each place of rows': ({ table }) => table().cumulativeSum(1),
  'sums up to each place of columns': ({ table }) => table().cumulativeSum(0),
  'sums up to each place of what is computed': ({ line }) => line().exp().cumulativeSum(),
  'the largest so far': ({ line }) => line().cumulativeMax(),
  'the last of all sums': ({ line }) => line().exp().cumulativeSum().slice('-1:'),
  'shares of all sums': ({ line }) => {
    const sums = line().exp().cumulativeSum();
    return sums.div(sums.slice('-1:'));
  },
  'sums and those backwards': ({ line }) => {
    const sums = line().cumulativeSum();
    return sums.add(sums.flip());
  },
  'sorted rows': ({ table }) => table().sort(1),
  'sorted columns': ({ table }) => table().sort(0),
  'medians of rows': ({ table }) => table().median(1),
  'medians of columns': ({ table }) => table().median(0),
};

const around = (x: Lazy): Lazy =>
  x
    .pad([
      [1, 1],
      [0, 0],
    ])
    .slice([null, -2])
    .add(
      x
        .pad([
          [1, 1],
          [0, 0],
        ])
        .slice([2, null]),
    )
    .mul(0.5);

const LOOPS: Readonly<Record<string, JobOf>> = {
  'a map, many times': ({ tall }) => iterate(100, tall(), (y) => y.mul(0.75).add(0.1)),
  'a stencil, many times': ({ square }) => iterate(20, square(), around),
  'a stencil that is kept': ({ square }) => iterate(8, square(), around, { every: 4 }),
  'columns centered in every step': ({ tall }) =>
    iterate(4, tall(), (y) => y.sub(y.mean(0)).mul(0.9).add(0.05)),
  'descent along a gradient': ({ tall, of, n }) => {
    const [x, y] = [tall(), of([n])];
    return iterate(10, of([16]), (w) => w.sub(x.transpose().matmul(x.matmul(w).sub(y)).mul(1e-3)));
  },
  'powers of a matrix on a vector': ({ square, of, side }) => {
    const a = square();
    return iterate(10, of([side]), (v) => {
      const w = a.matmul(v);
      return w.div(w.norm());
    });
  },
  'until it is small': ({ square }) =>
    whileLoop(
      (y) => y.abs().max().greater(0.2),
      (y) => around(y).mul(0.7),
      square(),
      { max: 20 },
    ),
  'two fields': ({ square }) =>
    iterate(10, [square(), square()], ([u, v]) => [around(u!).add(v!.mul(0.1)), v!.sub(u!.mul(0.1))]),
};

export const KINDS: Readonly<Record<string, Readonly<Record<string, JobOf>>>> = {
  maps: MAPS,
  reductions: REDUCTIONS,
  normalisations: NORMALISATIONS,
  views: VIEWS,
  stencils: STENCILS,
  pairs: PAIRS,
  products: PRODUCTS,
  lookups: LOOKUPS,
  masks: MASKS,
  orders: ORDERS,
  loops: LOOPS,
};

export interface OrdinaryJob {
  readonly kind: string;
  readonly name: string;
  readonly results: readonly Lazy[];
}

/** All jobs. `scale`: of the arrays' sizes. */
export const ordinaryJobs = (make: MakeArray, scale = 1): OrdinaryJob[] =>
  Object.entries(KINDS).flatMap(([kind, jobs]) =>
    Object.entries(jobs).map(([name, job]) => ({
      kind,
      name,
      results: [job(arraysOf(make, scale))].flat() as readonly Lazy[],
    })),
  );

/** Parts of what a job holds without a budget. */
export const PARTS = [2, 4, 8, 16] as const;

/** Jobs that hold less than this need no budget. */
const LEAST_BYTES = 2 ** 20;

export interface Coverage {
  readonly job: OrdinaryJob;
  readonly whole: number;
  /** For each part: nothing, or why it is refused. Absent: it holds next to nothing without a budget. */
  readonly refusals: readonly (string | undefined)[];
}

/** Plans a job within each part of what it holds as a whole. */
export function coverageOf(
  job: OrdinaryJob,
  device: string,
  toFiles: boolean,
  parts: readonly number[] = PARTS,
): Coverage {
  const to = job.results.map((_, k) => npy(`result-${k}.npy`));
  const options = (toFiles ? { device, to } : { device }) as ComputeOptions;
  const whole = plan(job.results, options).peakBytes;
  if (whole < LEAST_BYTES) return { job, whole, refusals: [] };
  const refusals = parts.map((part) => {
    try {
      plan(job.results, { ...options, memory: Math.floor(whole / part) });
      return undefined;
    } catch (error) {
      if (error instanceof MemoryError) return error.message.split('\n')[0]!;
      throw error;
    }
  });
  return { job, whole, refusals };
}
