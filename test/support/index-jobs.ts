/**
 * Jobs of indexing, scans, sorting and sets over arrays that are larger than a budget: each function of them at least
 * once, in the ways that its cuts differ. Used by `index-budgets.test.ts`.
 */
import {
  concat,
  type DType,
  histogram,
  histogram2d,
  type Lazy,
  lazy,
  lexsort,
  nonzero,
  searchsorted,
  topK,
  uniqueAll,
  uniqueCounts,
  uniqueInverse,
} from '../../src/index.js';

/** Makes the arrays of a job. */
export interface MakeArrays {
  readonly values: (shape: readonly number[], dtype?: DType) => Lazy;
  /** Integers below a number. */
  readonly integers: (shape: readonly number[], below: number, dtype?: DType) => Lazy;
}

type JobOf = (make: MakeArrays, n: number) => Lazy | readonly Lazy[];

const bits = (x: Lazy): Lazy => x.greater(0.5);

const TAKES: Readonly<Record<string, JobOf>> = {
  'rows by indices': ({ values, integers }, n) =>
    values([n, 8])
      .take(integers([n / 2], n, 'int64'), 0)
      .mul(2),
  'elements by indices': ({ values, integers }, n) => values([8 * n]).take(integers([4 * n], 8 * n)),
  'few rows': ({ values, integers }, n) => values([n, 8]).take(integers([16], n), 0),
  'few elements': ({ values, integers }, n) => values([8 * n]).take(integers([16], 8 * n)),
  'columns by indices': ({ values, integers }, n) => values([n, 16]).take(integers([9], 16), 1),
  'few long rows at columns': ({ values, integers }, n) =>
    values([3, 4 * n]).take(integers([2 * n], 4 * n), 1),
  'of a middle axis': ({ values, integers }, n) => values([4, n, 4]).take(integers([n], n), 1),
  'at two indices': ({ values, integers }, n) =>
    values([n / 16, 128]).slice(integers([n], n / 16), integers([n], 128)),
  'at two indices with a range between': ({ values, integers }, n) =>
    values([n / 16, 4, 32]).slice(integers([n], n / 16), ':', integers([n], 32)),
  'a sum of two takes': ({ values, integers }, n) => {
    const x = values([n, 8]);
    return x.take(integers([n], n), 0).add(x.take(integers([n], n), 0));
  },
  'a take of a take': ({ values, integers }, n) =>
    values([4 * n])
      .take(integers([n], 4 * n))
      .take(integers([n], n)),
  'elements, and a value for indices out of range': ({ values, integers }, n) =>
    values([8 * n]).take(integers([4 * n], 16 * n), 0, { mode: 'fill', fillValue: -1 }),
  'a reduced take': ({ values, integers }, n) =>
    values([n, 8])
      .take(integers([n], n), 0)
      .sum(0),
  'along the last axis': ({ values, integers }, n) => values([n, 8]).takeAlongAxis(integers([n, 3], 8), 1),
  'along the last axis of long rows': ({ values, integers }, n) =>
    values([3, 4 * n]).takeAlongAxis(integers([3, n], 4 * n), 1),
  'along the first axis': ({ values, integers }, n) => values([n, 8]).takeAlongAxis(integers([n, 8], n), 0),
  'along a middle axis': ({ values, integers }, n) =>
    values([3, n, 2]).takeAlongAxis(integers([3, n, 2], n), 1),
};

const MASKS: Readonly<Record<string, JobOf>> = {
  'elements by a mask': ({ values }, n) => {
    const x = values([8 * n]);
    return x.slice(bits(x));
  },
  'elements of a matrix by a mask': ({ values }, n) => {
    const x = values([n, 8]);
    return x.slice(bits(x));
  },
  'rows by a mask': ({ values }, n) => values([n, 8]).slice(bits(values([n]))),
  'columns by a mask': ({ values }, n) => values([n, 16]).compress(bits(values([16])), 1),
  compress: ({ values }, n) => values([n, 8]).compress(bits(values([n])), 0),
  nonzero: ({ values }, n) => nonzero(bits(values([8 * n]))),
  'nonzero of a matrix': ({ values }, n) => nonzero(bits(values([n, 8]))),
  argwhere: ({ values }, n) => bits(values([n, 8])).argwhere(),
  countNonzero: ({ values }, n) => bits(values([n, 8])).countNonzero(0),
  'a sum of elements by a mask': ({ values }, n) => {
    const x = values([8 * n]);
    return x.slice(bits(x)).sum();
  },
  'set by a mask': ({ values }, n) => {
    const x = values([n, 8]);
    return x.at(bits(x)).set(0);
  },
  extract: ({ values }, n) => {
    const x = values([8 * n]);
    return x.extract(bits(x));
  },
  'elements by two masks': ({ values }, n) => {
    const x = values([8 * n]);
    const chosen = x.slice(bits(x));
    return chosen.slice(chosen.less(0.75));
  },
  'a range of elements by a mask': ({ values }, n) => {
    const x = values([8 * n]);
    return x.slice(bits(x)).slice('-9:2:-3');
  },
  'differences of elements by a mask': ({ values }, n) => {
    const x = values([8 * n]);
    return x.slice(bits(x)).diff();
  },
  'rows by a mask, turned and shifted': ({ values }, n) =>
    values([n, 8])
      .slice(bits(values([n])))
      .flip(0)
      .roll(100, 0),
  'elements by a mask at indices': ({ values, integers }, n) => {
    const x = values([8 * n]);
    return x.slice(bits(x)).take(integers([n], 8 * n), 0, { mode: 'wrap' });
  },
  'elements by a mask in their order': ({ values }, n) => {
    const x = values([2 * n]);
    const chosen = x.slice(bits(x));
    return chosen.takeAlongAxis(chosen.argsort());
  },
  // Counts have to be known: they are in no file.
  'repeated by counts': ({ values }, n) =>
    values([n])
      .repeat(lazy(Int32Array.from({ length: n }, (_, k) => (k * 7919) % 4)))
      .sum(),
};

const update =
  (kind: 'set' | 'add' | 'subtract' | 'multiply' | 'min' | 'max', dtype: DType = 'float32'): JobOf =>
  ({ values, integers }, n) =>
    values([n, 8], dtype)
      .at(integers([n / 2], n))
      [kind](values([n / 2, 8], dtype));

const elements =
  (kind: 'set' | 'add' | 'multiply' | 'max', dtype: DType = 'float32'): JobOf =>
  ({ values, integers }, n) =>
    values([4 * n], dtype)
      .at(integers([2 * n], 4 * n))
      [kind](values([2 * n], dtype));

const WRITES: Readonly<Record<string, JobOf>> = {
  'rows set': update('set'),
  'rows added': update('add'),
  'rows added of float64': update('add', 'float64'),
  'rows added of int32': update('add', 'int32'),
  'rows subtracted': update('subtract'),
  'rows multiplied': update('multiply'),
  'least of rows': update('min'),
  'largest of rows': update('max', 'int16'),
  'elements set': elements('set'),
  'elements added': elements('add'),
  'elements multiplied': elements('multiply'),
  'largest of elements': elements('max'),
  'few rows set': ({ values, integers }, n) =>
    values([n, 8])
      .at(integers([16], n))
      .set(0),
  'few rows added': ({ values, integers }, n) =>
    values([n, 8])
      .at(integers([16], n))
      .add(1),
  'a slice set': ({ values }, n) =>
    values([n, 8])
      .at('::2', [1, 5])
      .set(values([n / 2, 4])),
  'a slice added': ({ values }, n) =>
    values([n, 8])
      .at([n / 4, n / 2])
      .add(1),
  'columns by indices set': ({ values, integers }, n) =>
    values([n, 8])
      .at(':', integers([5], 8))
      .set(values([n, 5])),
  'at two indices set': ({ values, integers }, n) =>
    values([n, 8])
      .at(integers([n], n), integers([n], 8))
      .set(values([n])),
  'at two indices added': ({ values, integers }, n) =>
    values([n, 8])
      .at(integers([n], n), integers([n], 8))
      .add(1),
  'listed rows set': ({ values }, n) =>
    values([n, 8])
      .at([[3, n - 1, 3]])
      .set(values([3, 8])),
  put: ({ values, integers }, n) => values([n, 8]).put(integers([n], 8 * n), values([n])),
  'put of few values': ({ values, integers }, n) => values([n, 8]).put(integers([n], 8 * n), values([5])),
  putAlongAxis: ({ values, integers }, n) =>
    values([n, 8]).putAlongAxis(integers([n, 3], 8), values([n, 3]), 1),
  'putAlongAxis of the first axis': ({ values, integers }, n) =>
    values([n, 8]).putAlongAxis(integers([n / 4, 8], n), 0, 0),
};

const BINS: Readonly<Record<string, JobOf>> = {
  'few bins': ({ integers }, n) => integers([8 * n], 256).bincount(256),
  'many bins': ({ integers }, n) => integers([4 * n], 4 * n).bincount(4 * n),
  'more bins than keys': ({ integers }, n) => integers([n / 8], 4 * n).bincount(4 * n),
  'weights in few bins': ({ values, integers }, n) => integers([4 * n], 256).bincount(256, values([4 * n])),
  'weights in many bins': ({ values, integers }, n) => integers([4 * n], n).bincount(n, values([4 * n])),
  'sums of few segments': ({ values, integers }, n) => values([n, 8]).segmentSum(integers([n], 100), 100),
  'sums of many segments': ({ values, integers }, n) =>
    values([n, 8]).segmentSum(integers([n], n / 2), n / 2),
  'sums of segments of float64': ({ values, integers }, n) =>
    values([n, 4], 'float64').segmentSum(integers([n], n / 2), n / 2),
  'products of segments': ({ values, integers }, n) =>
    values([n, 2]).segmentProd(integers([n], n / 2), n / 2),
  'products of few segments': ({ values, integers }, n) =>
    values([4 * n]).segmentProd(integers([4 * n], 9), 9),
  'products of wide segments': ({ values, integers }, n) =>
    values([n / 16, 128]).segmentProd(integers([n / 16], 64), 64),
  'means of segments': ({ values, integers }, n) => values([n, 8]).segmentMean(integers([n], n / 2), n / 2),
  'least of segments': ({ values, integers }, n) => values([n, 8]).segmentMin(integers([n], n / 2), n / 2),
  'largest of segments': ({ values, integers }, n) => values([n, 8]).segmentMax(integers([n], 64), 64),
  'sums of groups': ({ values, integers }, n) =>
    values([n, 8])
      .groupBy(integers([n], 1000), 1000)
      .sum(),
  histogram: ({ values }, n) => histogram(values([8 * n]), 100)[0],
  'histogram of edges': ({ values }, n) => histogram(values([8 * n]), [0, 0.2, 0.3, 1])[0],
  'weighted histogram': ({ values }, n) =>
    histogram(values([4 * n]), 64, { range: [0, 1], weights: values([4 * n]) })[0],
  histogram2d: ({ values }, n) =>
    histogram2d(values([4 * n]), values([4 * n]), 16, {
      range: [
        [0, 1],
        [0, 1],
      ],
    })[0],
  digitize: ({ values }, n) => values([8 * n]).digitize(values([64]).sort()),
};

const SCANS: Readonly<Record<string, JobOf>> = {
  cumulativeSum: ({ values }, n) => values([8 * n]).cumulativeSum(),
  'cumulativeSum of rows': ({ values }, n) => values([n / 64, 512]).cumulativeSum(1),
  'cumulativeSum of columns': ({ values }, n) => values([n, 8]).cumulativeSum(0),
  'cumulativeSum down a few long rows': ({ values }, n) => values([8, n]).cumulativeSum(0),
  'computed, then summed down stacks of long rows': ({ values }, n) =>
    values([3, 2, n]).mul(2).cumulativeSum(1, { reverse: true }).add(1),
  'cumulativeProd down long rows in tiles': ({ values }, n) =>
    values([300, n / 4], 'float64')
      .add(0.5)
      .cumulativeProd(0),
  'cumulativeLogsumexp down a few long rows': ({ values }, n) => values([5, n]).cumulativeLogsumexp(0),
  'cumulativeMax down a few long rows': ({ integers }, n) => integers([9, n], 1000, 'int16').cumulativeMax(0),
  'rows of running sums': ({ values, integers }, n) =>
    values([n, 8])
      .mul(1)
      .cumulativeSum(0)
      .take(integers([n], n), 0)
      .sum(),
  'exclusive and reversed': ({ values }, n) =>
    values([8 * n]).cumulativeSum(0, { reverse: true, exclusive: true }),
  cumulativeProd: ({ values }, n) => values([8 * n]).cumulativeProd(),
  cumulativeMax: ({ values }, n) => values([n, 8]).cumulativeMax(0),
  cumulativeMin: ({ integers }, n) => integers([8 * n], 1000, 'int16').cumulativeMin(),
  cumulativeLogsumexp: ({ values }, n) => values([4 * n]).cumulativeLogsumexp(),
  diff: ({ values }, n) => values([8 * n]).diff(),
  trapezoid: ({ values }, n) => values([n, 8]).trapezoid(),
};

const ORDERS: Readonly<Record<string, JobOf>> = {
  sort: ({ values }, n) => values([4 * n]).sort(),
  'sort descending': ({ integers }, n) => integers([4 * n], 1000).sort(0, { descending: true }),
  'sort of rows': ({ values }, n) => values([n / 64, 256]).sort(1),
  'sort of columns': ({ values }, n) => values([n, 4]).sort(0),
  'sort of few rows': ({ values }, n) => values([2, 2 * n]).sort(1),
  'sort of float64': ({ values }, n) => values([2 * n], 'float64').sort(),
  argsort: ({ values }, n) => values([2 * n]).argsort(),
  'argsort of integers': ({ integers }, n) => integers([2 * n], 1000).argsort(),
  ranks: ({ values }, n) =>
    values([2 * n])
      .argsort()
      .argsort(),
  'argsort of columns': ({ values }, n) => values([n, 2]).argsort(0),
  lexsort: ({ integers }, n) => lexsort([integers([n], 30), integers([n], 30)]),
  partition: ({ values }, n) => values([4 * n]).partition(100),
  argpartition: ({ values }, n) => values([2 * n]).argpartition(100),
  topK: ({ values }, n) => Object.values(topK(values([4 * n]), 20)),
  'topK of many': ({ values }, n) => Object.values(topK(values([2 * n]), n / 8)),
  median: ({ values }, n) => values([4 * n]).median(),
  'median of rows': ({ values }, n) => values([n / 64, 256]).median(1),
  'median of columns': ({ values }, n) => values([n, 4]).median(0),
  quantile: ({ values }, n) => values([4 * n]).quantile([0.1, 0.5, 0.9]),
  nanQuantile: ({ values }, n) => values([2 * n]).nanQuantile(0.3),
  nanMedian: ({ values }, n) => values([2 * n]).nanMedian(),
  'elements in their order': ({ values }, n) => {
    const x = values([n]);
    return x.take(x.argsort());
  },
  'others in an order': ({ values }, n) => values([n]).take(values([n]).argsort()),
  'rows in an order': ({ values }, n) => values([n, 4]).take(values([n]).argsort(), 0),
};

const SETS: Readonly<Record<string, JobOf>> = {
  uniqueValues: ({ integers }, n) => integers([4 * n], 500).uniqueValues(),
  'uniqueValues of many': ({ values }, n) => values([2 * n]).uniqueValues(),
  uniqueCounts: ({ integers }, n) => Object.values(uniqueCounts(integers([n], 500))),
  uniqueInverse: ({ integers }, n) => Object.values(uniqueInverse(integers([n], 500))),
  uniqueAll: ({ integers }, n) => Object.values(uniqueAll(integers([n], 500))),
  union: ({ integers }, n) => integers([n], 500).union(integers([n], 900)),
  intersect: ({ integers }, n) => integers([n], 500).intersect(integers([n], 900)),
  setdiff: ({ integers }, n) => integers([n], 500).setdiff(integers([n], 300)),
  'isin of few': ({ integers }, n) => integers([8 * n], 9000).isin(integers([300], 9000)),
  'isin of many': ({ integers }, n) => integers([2 * n], 9 * n).isin(integers([2 * n], 9 * n)),
  'searchsorted in few': ({ values }, n) => searchsorted(values([100]).sort(), values([4 * n])),
  'searchsorted in many': ({ values }, n) => searchsorted(values([4 * n]).cumulativeMax(), values([100])),
  'searchsorted of many in many': ({ values }, n) =>
    searchsorted(values([2 * n]).cumulativeMax(), values([2 * n])),
  interp: ({ values }, n) => values([4 * n]).interp(values([50]).sort(), values([50])),
};

/** Elements that a mask chooses. */
const some = (x: Lazy): Lazy => x.slice(x.remainder(3).greater(0));

/** Order statistics, sets and searches of axes whose size depends on data. */
const SIZED_ORDERS: Readonly<Record<string, JobOf>> = {
  median: ({ values }, n) => some(values([4 * n]).mul(9)).median(),
  'quantiles of columns': ({ values }, n) =>
    values([n, 8])
      .compress(bits(values([n])), 0)
      .quantile([0.1, 0.5], 0),
  'quantiles of a matrix': ({ values }, n) =>
    values([8, n])
      .compress(bits(values([n])), 1)
      .nanQuantile([0.1, 0.5]),
  uniqueValues: ({ integers }, n) => some(integers([4 * n], 900)).uniqueValues(),
  'uniqueValues of many': ({ values }, n) => some(values([2 * n]).mul(9)).uniqueValues(),
  uniqueAll: ({ integers }, n) => Object.values(uniqueAll(some(integers([n], 500)))),
  'uniqueInverse of a matrix': ({ integers }, n) =>
    uniqueInverse(integers([8, n], 90).compress(bits(integers([n], 2)), 1)).inverseIndices,
  setdiff: ({ integers }, n) => integers([n], 500).setdiff(some(integers([n], 300))),
  isin: ({ integers }, n) => integers([8 * n], 9000).isin(some(integers([300], 9000))),
  searchsorted: ({ values }, n) =>
    some(values([4 * n]).mul(9))
      .sort()
      .searchsorted(values([100])),
  lexsort: ({ integers }, n) => {
    const x = some(integers([n], 60));
    return lexsort([x.remainder(7), x.remainder(4)]);
  },
  'a matrix as a line': ({ values }, n) =>
    values([8, n])
      .compress(bits(values([n])), 1)
      .ravel()
      .cumulativeMax(),
};

const OTHERS: Readonly<Record<string, JobOf>> = {
  repeat: ({ values }, n) => values([n, 2]).repeat(3, 0),
  roll: ({ values }, n) => values([n, 8]).roll([100, 3], [0, 1]),
  flip: ({ values }, n) => values([n, 8]).flip([0, 1]),
  diagonal: ({ values }, n) => values([n / 16, n / 16]).diagonal(),
  nanSum: ({ values }, n) => values([n, 8]).nanSum(0),
  nanStd: ({ values }, n) => values([n, 8]).nanStd(0),
  average: ({ values }, n) => values([n, 8]).average(values([n]), 0),
  cov: ({ values }, n) => values([4, n]).cov(),
  allclose: ({ values }, n) => values([n, 8]).allclose(values([n, 8])),
  arrayEqual: ({ values }, n) => values([n, 8]).arrayEqual(values([n, 8])),
  bitCount: ({ integers }, n) => integers([8 * n], 1e6).bitCount(),
  gradient: ({ values }, n) => values([8 * n]).gradient(),
  convolve: ({ values }, n) => values([8 * n]).convolve(values([9])),
  'joined and taken': ({ values, integers }, n) =>
    concat([values([2 * n]), values([2 * n])]).take(integers([n], 4 * n)),
};

/** Arrays of one unknown size, and what gathers them in bins, writes by them and multiplies them. */
const SIZED: Readonly<Record<string, JobOf>> = {
  'elements by a mask in bins': ({ values, integers }, n) => {
    const mask = bits(values([4 * n]));
    return integers([4 * n], 256)
      .slice(mask)
      .bincount(256, values([4 * n]).slice(mask));
  },
  'elements by a mask in many bins': ({ values, integers }, n) =>
    integers([4 * n], n)
      .slice(bits(values([4 * n])))
      .bincount(n),
  'rows by a mask in segments': ({ values, integers }, n) => {
    const mask = bits(values([n]));
    return values([n, 8])
      .compress(mask, 0)
      .segmentSum(integers([n], 100).slice(mask), 100);
  },
  'products of segments of rows by a mask': ({ values, integers }, n) => {
    const mask = bits(values([n]));
    return values([n, 2])
      .compress(mask, 0)
      .segmentProd(integers([n], n / 2).slice(mask), n / 2);
  },
  'histogram of elements by a mask': ({ values }, n) => {
    const x = values([8 * n]);
    return histogram(x.slice(bits(x)), 64)[0];
  },
  'elements by a mask set': ({ values, integers }, n) => {
    const mask = bits(values([2 * n]));
    return values([4 * n])
      .at(integers([2 * n], 4 * n).slice(mask))
      .set(values([2 * n]).slice(mask));
  },
  'rows by a mask added': ({ values, integers }, n) => {
    const mask = bits(values([n]));
    return values([n, 8])
      .at(integers([n], n).slice(mask))
      .add(values([n, 8]).compress(mask, 0));
  },
  'a sum of products of elements by a mask': ({ values }, n) => {
    const mask = bits(values([4 * n]));
    return values([4 * n])
      .slice(mask)
      .vecdot(values([4 * n]).slice(mask));
  },
  'a product along what a mask selects': ({ values }, n) => {
    const rows = values([n, 8]).compress(bits(values([n])), 0);
    return rows.T.matmul(rows);
  },
  'a product of rows by a mask': ({ values }, n) =>
    values([n, 16])
      .compress(bits(values([n])), 0)
      .matmul(values([16, 4])),
  'covariances of rows by a mask': ({ values }, n) =>
    values([n, 4])
      .compress(bits(values([n])), 0)
      .cov(null, { rowvar: false }),
  'spread of elements by a mask': ({ values }, n) => {
    const x = values([8 * n]);
    return x.slice(bits(x)).nanStd();
  },
};

const KINDS = {
  takes: TAKES,
  masks: MASKS,
  writes: WRITES,
  bins: BINS,
  scans: SCANS,
  orders: ORDERS,
  sets: SETS,
  'sized orders': SIZED_ORDERS,
  others: OTHERS,
  sized: SIZED,
} as const;

export interface IndexJob {
  readonly name: string;
  readonly results: (make: MakeArrays, n: number) => readonly Lazy[];
}

/** All jobs: `n` is a power of two, of arrays of up to 8 n elements. */
export const INDEX_JOBS: readonly IndexJob[] = Object.entries(KINDS).flatMap(([kind, jobs]) =>
  Object.entries(jobs).map(([name, job]) => ({
    name: `${kind}: ${name}`,
    results: (make, n) => [job(make, n)].flat() as readonly Lazy[],
  })),
);
