/**
 * Bins, updates, products and reductions of arrays whose size depends on data, beside the same of arrays of known sizes:
 * elements behind the length count for nothing, whatever they are.
 */
import { describe, expect, it } from 'vitest';
import {
  einsum,
  fullLike,
  histogram,
  histogram2d,
  histogramdd,
  type Lazy,
  lazy,
  RangeArgumentError,
  ShapeError,
  select,
  stats,
} from '../../src/index.js';
import { run, toLazy } from '../support/api.js';
import { backends } from '../support/backends.js';
import type { HostArray } from '../support/host.js';
import { randomIntegers } from '../support/random.js';

/** Arrays of one unknown size: lines, rows and columns of small integers. */
interface Sized {
  readonly x: Lazy;
  readonly y: Lazy;
  /** Integers from -6 to 5. */
  readonly keys: Lazy;
  readonly rows: Lazy;
  readonly columns: Lazy;
}
type Job = (sized: Sized) => Lazy | readonly Lazy[];

const BOUND = 700;
const integers = (shape: readonly number[], seed: number, low: number, high: number): Lazy =>
  toLazy(randomIntegers('int32', shape, seed, low, high));

function sizedBy(mask: Lazy): Sized {
  const floats = (shape: readonly number[], seed: number): Lazy =>
    integers(shape, seed, -9, 9).astype('float64');
  return {
    x: floats([BOUND], 1).slice(mask),
    y: floats([BOUND], 2).slice(mask),
    keys: integers([BOUND], 3, -6, 5).slice(mask),
    rows: floats([BOUND, 3], 4).compress(mask, 0),
    columns: floats([2, BOUND], 5).compress(mask, 1),
  };
}

const known = {
  line: integers([6], 6, -9, 9).astype('float64'),
  matrix: integers([6, 3], 7, -9, 9).astype('float64'),
  pairs: integers([3, 4], 8, -9, 9).astype('float64'),
};

const UPDATES = ['set', 'add', 'subtract', 'multiply', 'min', 'max'] as const;
const SEGMENTS = ['segmentSum', 'segmentProd', 'segmentMean', 'segmentMin', 'segmentMax'] as const;
const GROUPS = ['sum', 'prod', 'mean', 'min', 'max', 'count'] as const;

/** Of integers, whose sums are exact in any order. */
const EXACT: Readonly<Record<string, Job>> = {
  bincount: ({ keys }) => [
    keys.abs().bincount(7),
    keys.bincount(4, null, { mode: 'drop' }),
    keys.bincount(4, null, { mode: 'wrap' }),
    keys.astype('uint64').bincount(4, null, { mode: 'clip' }),
    keys.bincount(0, null, { mode: 'drop' }),
  ],
  'bincount with weights': ({ keys, x }) => keys.abs().bincount(7, x),
  'segments of a line': ({ keys, x }) => SEGMENTS.map((name) => x[name](keys, 6)),
  'segments of rows': ({ keys, rows }) => SEGMENTS.map((name) => rows[name](keys, 6)),
  'segments of integers': ({ keys, x }) => SEGMENTS.map((name) => x.astype('int16')[name](keys, 6)),
  'segments of known rows': ({ columns }) => SEGMENTS.map((name) => columns[name](Int32Array.of(2, 0), 3)),
  groups: ({ keys, x }) =>
    (['raise', 'drop', 'wrap', 'clip'] as const).flatMap((mode) =>
      GROUPS.map((name) => x.groupBy(keys, 6, { mode })[name]()),
    ),
  histogram: ({ x, y, rows, columns }) => [
    ...histogram(x, 5),
    ...histogram(rows.astype('int64'), 4, { range: [-3, 8] }),
    ...histogram(columns.astype('float32'), [-9, -2, 0, 0.5, 9]),
    ...histogram(x, 3, { weights: y, density: false }),
  ],
  'histogram of several dimensions': ({ x, y, rows }) => [
    histogram2d(x, y, [3, 4])[0],
    histogram2d(x, y, 3, { range: [[-3, 3], null], weights: x })[0],
    histogramdd(rows, [2, 3, 2])[0],
  ],
  'updates of elements': ({ keys, x }) => UPDATES.map((name) => known.line.at(keys)[name](x)),
  'updates of rows': ({ keys, rows }) => [
    ...UPDATES.map((name) => known.matrix.at(keys)[name](rows)),
    known.matrix.at(keys).add(Float64Array.of(1, 2, 3)),
    known.matrix.at(keys, { mode: 'wrap' }).set(3),
  ],
  'updates at several indices': ({ keys, x }) => [
    known.matrix.at(keys, keys.abs().remainder(3)).add(x),
    known.matrix.at(null, keys.abs().remainder(3)).add(x),
    known.matrix.at(keys, 1).set(x),
  ],
  'updates of columns of an array of that size': ({ columns }) => [
    columns.at(Int32Array.of(1, -1)).add(2),
    columns.at(1).set(0),
    columns.at(columns.greater(2)).multiply(0),
    columns.at(lazy([true, false])).min(columns.neg()),
  ],
  'updates of an array of that size': ({ x, rows, columns }) => [
    x.at(0).set(1),
    x.at(-1).add(2),
    x.at('1::2').multiply(2),
    x.at(Int32Array.of(0, -1, 0)).add(lazy(Int32Array.of(1, 2, 3))),
    rows.at('::-2', 1).set(0),
    rows.at(Int32Array.of(-1, 1), 2).max(3),
    columns.at(null, -1).set(Float64Array.of(8, 9)),
  ],
  'values of a mask of an array of that size': ({ x, rows, columns }) => {
    const [ofLine, ofRows, ofColumns] = [x.greater(1), rows.greater(1), columns.sum(0).greater(1)];
    return [
      x.at(ofLine).set(x.slice(ofLine).mul(10)),
      rows.at(ofRows).add(rows.slice(ofRows)),
      columns.at(null, ofColumns).max(columns.slice(null, ofColumns).mul(3)),
      rows.at(ofRows).set(rows),
    ];
  },
  put: ({ keys, x }) => [
    known.matrix.put(keys, x),
    known.matrix.put(keys, Float64Array.of(1, 2, 3)),
    known.matrix.put(keys, 4),
  ],
  putAlongAxis: ({ columns }) =>
    known.pairs.slice([0, 2]).putAlongAxis(columns.remainder(4).astype('int32'), columns, 1),
  products: ({ x, y, rows, columns }) => [
    x.dot(y),
    x.vecdot(y.astype('float32')),
    x.matmul(rows),
    columns.matmul(rows),
    columns.matmul(columns.T),
    columns.vecdot(columns, 0),
    rows.matmul(known.pairs),
    known.pairs.T.matmul(rows.T),
    einsum('ij,jk,j->ik', columns, rows, x),
    columns.tensordot(rows, 1),
    x.outer(known.line),
    x.astype('int32').dot(y.astype('int32')),
  ],
  'products with what is neither': ({ x, y }) => x.div(y).matmul(y.mul(0)),
  'without NaN': ({ x, columns }) => {
    const some = columns.astype('float32').div(columns.greater(0));
    return [
      ...[some.nanMin(1), some.nanMax(0), some.nanArgmin(1), some.nanArgmax(), some.nanSum(1)],
      ...[x.nanMin(), x.nanArgmax(), x.astype('int32').nanMax()],
    ];
  },
  'equal arrays': ({ x, y, columns, rows }) => [
    x.arrayEqual(x),
    x.arrayEqual(y),
    x.arrayEqual(x.mul(1).div(x.notEqual(0)), { equalNan: true }),
    columns.arrayEqual(rows),
    columns.arrayEqual(columns.T.T),
    x.allclose(x.add(1e-9)),
  ],
  elementwise: ({ x, y, columns }) => [
    x.clip(y, 2),
    x.fmax(y),
    x.interp(Int32Array.of(-4, 0, 4), Int32Array.of(1, 5, -3)),
    columns.interp(Int32Array.of(-4, 0, 4), Int32Array.of(1, 5, -3)),
    fullLike(x, 3),
    select([x.greater(1), y.greater(1)], [x, y], 0),
  ],
};

const ROUNDED: Readonly<Record<string, Job>> = {
  'spreads without NaN': ({ x, rows }) => {
    const some = rows.div(rows.greater(0));
    return [some.nanStd(0), some.nanVar(), x.nanVar({ correction: 1 }), x.div(x.greater(0)).nanMean()];
  },
  averages: ({ x, y, rows, columns }) => [
    x.average(y.square().add(1)),
    columns.average(x.square().add(1), 1),
    rows.average(rows.square().add(1)),
    columns.average(Float64Array.of(3, 1), 0),
  ],
  covariances: ({ x, y, rows, columns }) => [
    x.cov(),
    x.cov(y),
    columns.cov(null, { correction: 0, aweights: x.square().add(1) }),
    columns.cov(null, { fweights: y.abs().add(1).astype('int32') }),
    rows.cov(null, { rowvar: false }),
    columns.corrcoef(),
  ],
  moments: ({ x, columns }) => [
    x.moment(3),
    x.skew(),
    columns.kurtosis(1),
    columns.skew({ axis: 1, bias: false }),
    columns.zscore(1),
  ],
  others: ({ x, columns }) => [x.logsumexp(), x.norm(3), columns.norm(2, 1), stats.norm.cdf(x)],
};

/** To nine digits. */
const rounded = (value: number): number => Number(value.toPrecision(9)) + 0;

const valuesOf = ({ data }: { data: ArrayLike<number | bigint> }): number[] => Array.from(data, Number);

const LENGTHS: readonly (readonly [string, Lazy])[] = [
  ['about half', integers([BOUND], 9, 0, 1).astype('bool')],
  ['few', integers([BOUND], 10, 0, 90).equal(0)],
  ['all', lazy(new Uint8Array(BOUND).fill(1)).astype('bool')],
];

/** Results of arrays of known sizes, by the names of the job and of the length: those for each backend. */
const ofKnown = new Map<string, Promise<HostArray[]>>();

async function computeOfKnown(name: string, mask: Lazy): Promise<HostArray[]> {
  const arrays = Object.entries(sizedBy(mask)).map(async ([key, array]) => [
    key,
    await (array as Lazy).persist({ device: 'cpu' }),
  ]);
  const persisted = Object.fromEntries(await Promise.all(arrays)) as unknown as Sized;
  const job = (EXACT[name] ?? ROUNDED[name])!;
  return run('cpu', [job(persisted)].flat() as Lazy[]);
}

function ofKnownSizes(name: string, length: string, mask: Lazy): Promise<HostArray[]> {
  const key = `${name}, ${length}`;
  const known = ofKnown.get(key) ?? computeOfKnown(name, mask);
  ofKnown.set(key, known);
  return known;
}

describe.each(backends())('on %s, arrays whose size depends on data', (device) => {
  it.each([...Object.keys(EXACT), ...Object.keys(ROUNDED)])(
    'have the results of known ones: %s',
    async (name) => {
      for (const [length, mask] of LENGTHS) {
        const job = (EXACT[name] ?? ROUNDED[name])!;
        const own = await run(device, [job(sizedBy(mask))].flat() as Lazy[]);
        const wanted = await ofKnownSizes(name, length, mask);
        for (const [k, result] of own.entries()) {
          const which = `${name}, ${length}, result ${k}`;
          expect([result.dtype, result.shape], which).toEqual([wanted[k]!.dtype, wanted[k]!.shape]);
          const [found, expected] = [result, wanted[k]!].map((each) => valuesOf(each as never));
          if (name in EXACT) expect(found, which).toEqual(expected);
          else expect(found!.map(rounded), which).toEqual(expected!.map(rounded));
        }
      }
    },
  );

  it('have results of none where their size is 0', async () => {
    const { x, y, keys, rows, columns } = sizedBy(lazy(new Uint8Array(BOUND)).astype('bool'));
    const [counts, edges] = histogram(x, 2);
    const results = await run(device, [
      keys.bincount(3),
      ...[counts, edges],
      ...SEGMENTS.map((name) => x[name](keys, 2)),
      known.line.at(keys).set(x),
      known.line.at(keys).add(1),
      x.dot(y),
      columns.matmul(rows),
      x.nanMax(),
      x.arrayEqual(x),
      x.average(y),
    ]);
    const line = valuesOf(await known.line.compute());
    expect(results.map(valuesOf as never)).toEqual([
      [0, 0, 0],
      ...[
        [0, 0],
        [0, 0.5, 1],
      ],
      ...[
        [0, 0],
        [1, 1],
        [NaN, NaN],
        [Infinity, Infinity],
        [-Infinity, -Infinity],
      ],
      line,
      line,
      [0],
      [0, 0, 0, 0, 0, 0],
      [NaN],
      [1],
      [NaN],
    ]);
  });
});

describe('an array whose size depends on data', () => {
  const mask = integers([BOUND], 9, 0, 1).astype('bool');
  const { x, keys, rows, columns } = sizedBy(mask);
  const others = sizedBy(mask.logicalNot());
  const line = lazy(new Float64Array(BOUND));

  it('may have elements behind its length that are no bin', async () => {
    const numbers = lazy(Int32Array.of(1, 0, 99, 99));
    const few = numbers.slice(numbers.less(50));
    expect((await few.bincount(2).compute()).toArray()).toEqual([1n, 1n]);
    expect((await lazy([0, 0]).at(few).add(5).compute()).toArray()).toEqual([5, 5]);
  });

  it('has keys that are looked at up to its length', async () => {
    const refused = [keys.bincount(6), x.segmentSum(keys, 3), known.line.at(keys.add(3)).set(x)];
    const names = ['bincount', 'segmentSum', 'at.set'];
    for (const [k, job] of refused.entries())
      await expect(job.compute({ device: 'cpu' })).rejects.toThrow(
        new RegExp(`^\\[${names[k]}\\] expected indices from .*sized-gathering`, 's'),
      );
    for (const name of GROUPS)
      await expect(x.groupBy(keys, 3)[name]().compute({ device: 'cpu' })).rejects.toThrow(
        /expected indices from .*sized-gathering/s,
      );
    await expect(keys.astype('uint64').bincount(6).compute()).rejects.toThrow(RangeArgumentError);
  });

  it('is as long as another, or not', async () => {
    const lengths = await Promise.all([x, others.x].map(async (each) => (await each.compute()).shape[0]!));
    expect(lengths[0]).not.toBe(lengths[1]);
    const zeros = (each: Lazy): Lazy => each.mul(0).add(0);
    const results = await run('cpu', [
      zeros(x).arrayEqual(zeros(others.x)),
      zeros(x).arrayEqual(lazy(new Float64Array(lengths[0]!))),
      lazy(new Float64Array(lengths[0]!)).arrayEqual(zeros(x)),
      zeros(x).arrayEqual(lazy(new Float64Array(lengths[1]!))),
      zeros(x).arrayEqual(line),
      x.arrayEqual(x.sort().add(100)),
      x.arrayEqual(columns),
      zeros(columns).arrayEqual(lazy(new Float64Array(2 * lengths[0]!)).reshape([2, lengths[0]!])),
      zeros(rows).arrayEqual(lazy(new Float64Array(3 * lengths[0]!)).reshape([3, lengths[0]!])),
    ]);
    expect(results.map((each) => Boolean(each.data[0]))).toEqual([0, 1, 1, 0, 0, 0, 0, 1, 0].map(Boolean));
  });

  it('gives values for the true places of its mask', async () => {
    const base = lazy(new Float64Array(BOUND));
    const [set, added] = await run('cpu', [base.at(mask).set(x), base.at(nonzeroOf(mask)).add(x)]);
    expect(valuesOf(set as never)).toEqual(valuesOf(added as never));
    expect((await base.at(mask).set(x).sum().compute()).item()).toBe((await x.sum().compute()).item());
  });

  it.each<readonly [string, () => unknown]>([
    ['bincount', () => keys.bincount(3, line)],
    ['bincount', () => keys.bincount(3, others.x)],
    ['segmentSum', () => x.segmentSum(others.keys, 3)],
    ['segmentSum', () => line.segmentSum(keys, 3)],
    ['segmentSum', () => x.segmentSum(new Int32Array(BOUND), 3)],
    ['histogram', () => histogram(x, 3, { weights: line })],
    ['histogram', () => histogram(line, x)],
    ['histogram2d', () => histogram2d(x, others.y)],
    ['at.add', () => line.at(keys).add(line)],
    ['at.add', () => line.at(keys).add(others.x)],
    ['at.set', () => line.at(new Int32Array(BOUND)).set(x)],
    ['at.set', () => line.at(mask).set(others.x)],
    ['at.set', () => columns.at(keys).set(0)],
    ['put', () => line.put(keys, others.x)],
    ['put', () => line.put([1, 2], x)],
    ['put', () => x.put([1], 2)],
    ['matmul', () => x.matmul(line)],
    ['matmul', () => x.matmul(others.x)],
    ['matmul', () => columns.T.matmul(columns)],
    ['matmul', () => rows.matmul(rows.T)],
    ['outer', () => x.outer(x)],
    ['average', () => x.average(line)],
    ['average', () => x.average(others.x)],
    ['cov', () => columns.cov(null, { aweights: others.x.abs() })],
    ['cov', () => rows.cov()],
    ['corrcoef', () => x.corrcoef(others.x)],
    ['interp', () => line.interp(x, x)],
  ])('is refused by %s where sizes have to be equal and nothing says so', (name, act) => {
    expect(act).toThrow(ShapeError);
    expect(act).toThrow(new RegExp(`^\\[${name}\\] .*persist\\(\\) first`));
  });
});

const nonzeroOf = (mask: Lazy): Lazy => mask.argwhere().squeeze(1);
