/** Scans with maps before and behind them, for tests of what is joined: lines, short rows and columns. */
import { type Lazy, random } from '../../src/index.js';
import { toLazy } from './api.js';
import { randomIntegers, randomValues } from './random.js';

export const rows = (
  shape: readonly number[],
  seed: number,
  dtype: 'float32' | 'float64' = 'float32',
): Lazy => toLazy(randomValues(dtype, shape, seed));

export interface ScanMapJob {
  readonly name: string;
  /** The scanned array, and the maps that give it. */
  readonly before: () => Lazy;
  readonly scan: (x: Lazy) => Lazy;
  readonly behind: (x: Lazy) => Lazy;
}

export const SCAN_MAP_JOBS: readonly ScanMapJob[] = [
  {
    name: 'a long line',
    before: () => rows([30_001], 1).mul(rows([30_001], 2)),
    scan: (x) => x.cumulativeSum(),
    behind: (x) => x.exp().add(1),
  },
  {
    name: 'a long line of float64, from its end',
    before: () => rows([20_000], 3, 'float64').mul(3),
    scan: (x) => x.cumulativeSum(0, { reverse: true }),
    behind: (x) => x.mul(2),
  },
  {
    name: 'rows of float64',
    before: () => rows([70, 300], 4, 'float64').mul(rows([300], 5, 'float64')),
    scan: (x) => x.cumulativeSum(1),
    behind: (x) => x.sub(1),
  },
  {
    name: 'rows in fours of random numbers',
    before: () => random.normal(random.key(3), [90, 252], { dtype: 'float32' }).mul(0.1),
    scan: (x) => x.cumulativeSum(1),
    behind: (x) => x.exp(),
  },
  {
    name: 'rows of other lengths',
    before: () => random.uniform(random.key(4), [33, 127], { dtype: 'float32' }),
    scan: (x) => x.cumulativeSum(1, { reverse: true }),
    behind: (x) => x.neg(),
  },
  {
    name: 'a long line of random numbers',
    before: () => random.normal(random.key(5), [40_000], { dtype: 'float32' }),
    scan: (x) => x.cumulativeSum(),
    behind: (x) => x.abs(),
  },
  {
    name: 'columns',
    before: () => rows([700, 300], 6).sub(rows([300], 7)),
    scan: (x) => x.cumulativeMax(0),
    behind: (x) => x.mul(rows([700, 1], 8)),
  },
  {
    name: 'products of float64',
    before: () => rows([50, 90], 9, 'float64').add(1),
    scan: (x) => x.cumulativeProd(1),
    behind: (x) => x.sub(rows([50, 90], 10, 'float64')),
  },
  {
    name: 'lines of several tiles',
    before: () => rows([3, 16_384], 13).mul(2),
    scan: (x) => x.cumulativeSum(1),
    behind: (x) => x.mul(rows([3, 1], 14)),
  },
  {
    name: 'counts of a mask, as bytes',
    before: () => rows([20_000], 11).greater(0),
    scan: (x) => x.cumulativeSum(),
    behind: (x) => x.remainder(200).astype('uint8'),
  },
  {
    name: 'booleans',
    before: () => toLazy(randomIntegers('int32', [40, 50], 12, 0, 9)).greater(7),
    scan: (x) => x.cumulativeMax(1),
    behind: (x) => x.logicalNot(),
  },
];

export const outputOf = ({ before, scan, behind }: ScanMapJob): Lazy => behind(scan(before()));
