/**
 * The workloads of the CPU peers' benchmark: the same names, inputs and sizes at both scales, and the same
 * counts of bytes and operations.
 */
import { type DType, topK } from '../src/index.js';
import * as expressions from './expressions.js';
import { type Input, makeWorkload as make, type Scale, type Workload } from './workload.js';

type Expression = Workload['expression'];
type Size = <T>(full: T, small: T) => T;

export function cpuWorkloads(scale: Scale): Workload[] {
  const size: Size = (full, small) => (scale === 'full' ? full : small);
  return [
    ...elementwise(size),
    ...reductions(size),
    ...rows(size),
    ...pairs(size),
    ...products(size),
    ...pipelines(size),
    ...counts(size),
    ...orders(size),
    ...sorts(size),
    ...searches(size),
  ];
}

const vector = (n: number, seed: number, low = 0, high = 1): Input => ({ shape: [n], seed, low, high });

function elementwise(size: Size): Workload[] {
  const n = size(2 ** 25, 2 ** 20);
  const chained = size(2 ** 22, 2 ** 16);
  const x = vector(n, 1, -10, 10);
  return [
    make('saxpy_trig', [n], [x, vector(n, 2, -10, 10)], expressions.saxpyTrig, { bytes: 12 * n }),
    make('softplus', [n], [x], expressions.softplus, { bytes: 8 * n }),
    make('long_chain', [chained], [vector(chained, 1)], expressions.shortRoundChain, {
      flops: 200 * chained,
    }),
    make('latency', [1000], [vector(1000, 1), vector(1000, 2)], expressions.dotProduct, {}),
  ];
}

function reductions(size: Size): Workload[] {
  const n = size(2 ** 26, 2 ** 20);
  const cube = size([256, 256, 256], [64, 64, 64]);
  const [m, k] = size([8192, 4096], [1024, 1024]) as [number, number];
  return [
    make('abs_sum', [n], [vector(n, 1, -1, 1)], expressions.absSum, { bytes: 4 * n }),
    make('sum_all', cube, [{ shape: cube, seed: 1 }], expressions.sumAll, { bytes: 4 * cube[0]! ** 3 }),
    make('sum_axis0', [m, k], [{ shape: [m, k], seed: 1 }], expressions.sumRows, {
      bytes: 4 * m * k + 4 * k,
    }),
    make('sum_axis1', [m, k], [{ shape: [m, k], seed: 1 }], expressions.sumColumns, {
      bytes: 4 * m * k + 4 * m,
    }),
  ];
}

function rows(size: Size): Workload[] {
  const columns = [size(2 ** 20, 2 ** 14), 32] as const;
  const softmax = size([16384, 1024], [512, 256]) as [number, number];
  const count = columns[0] * columns[1];
  return [
    // Once x is larger than the cache it has to be read twice.
    make('standardize', columns, [{ shape: columns, seed: 1 }], expressions.standardize, {
      bytes: 4 * count * size(2, 1) + 4 * count,
    }),
    make(
      'softmax_rows',
      softmax,
      [{ shape: softmax, seed: 1, low: -10, high: 10 }],
      expressions.softmaxRows,
      { bytes: 8 * softmax[0] * softmax[1] },
    ),
  ];
}

function pairs(size: Size): Workload[] {
  const [n, d] = [size(1024, 128), 64];
  const points = size(4096, 256);
  return [
    make(
      'squared_diff_bcast',
      [n, n, d],
      [
        { shape: [n, d], seed: 1 },
        { shape: [n, d], seed: 2 },
      ],
      expressions.squaredDistances,
      { flops: 3 * n * n * d },
    ),
    make(
      'gauss_kernel_sum',
      [points, points, 3],
      [{ shape: [points, 3], seed: 1 }, { shape: [points, 3], seed: 2 }, vector(points, 3)],
      expressions.gaussKernelSum,
      { flops: 11 * points * points },
    ),
  ];
}

function products(size: Size): Workload[] {
  const product = (
    name: string,
    sizes: readonly number[],
    dtype: DType,
    expression: Expression,
  ): Workload => {
    const [i, j, k] = sizes as [number, number, number];
    const inputs: Input[] = [
      { shape: [i, j], seed: 1, low: -1, high: 1, dtype },
      { shape: [j, k], seed: 2, low: -1, high: 1, dtype },
    ];
    return make(name, sizes, inputs, expression, { dtype, flops: 2 * i * j * k });
  };
  const summed = size([2000, 1000, 1400], [200, 100, 140]);
  const cube = size([1000, 1000, 1000], [100, 100, 100]);
  return (['float32', 'float64'] as const).flatMap((dtype) => [
    product('matmul_sum', summed, dtype, expressions.matmulSum),
    product('einsum_colsum', summed, dtype, expressions.einsumColumnSum),
    product('matmul', cube, dtype, expressions.matmul),
  ]);
}

function pipelines(size: Size): Workload[] {
  const [n, steps] = size([1000, 500], [200, 50]) as [number, number];
  const table = [size(2 ** 24, 2 ** 19), 8] as const;
  return [
    make('diffusion', [n, n, steps], [{ shape: [n, n], seed: 1 }], expressions.diffusion(steps), {
      bytes: 8 * n * n * steps,
    }),
    make(
      'pipeline_file',
      table,
      [{ shape: table, seed: 1, pieces: table[0] / 2 ** 18 }],
      expressions.columnMoments,
      { bytes: 4 * table[0] * table[1], fromFile: true },
    ),
  ];
}

/** Beside NumPy's `add.at`, `histogram`, and `bincount` with weights and without. */
function counts(size: Size): Workload[] {
  const [n, k] = [size(2 ** 18, 2 ** 10), size(2 ** 24, 2 ** 16)];
  const bins = 4096;
  const ids = (high: number): Input => ({ ...vector(k, 2, 0, high), dtype: 'int64' });
  return [
    make('scatter_add', [n, k], [vector(k, 1), ids(n)], expressions.scatterAdd(n), { bytes: 12 * k }),
    make('histogram_256', [k], [vector(k, 1)], expressions.histogram256, { bytes: 4 * k }),
    make('bincount', [k, bins], [ids(bins)], expressions.bincountOf(bins), { dtype: 'int64', bytes: 8 * k }),
    make('bincount_weights', [k, bins], [ids(bins), vector(k, 1)], expressions.weightedBincountOf(bins), {
      bytes: 12 * k,
    }),
  ];
}

/** Indexing, scans, sorting and sets, beside `peers-order-cpu.py`. */
function orders(size: Size): Workload[] {
  const [n, k] = [size(2 ** 24, 2 ** 16), size(2 ** 22, 2 ** 14)];
  const columns = [size(2 ** 14, 2 ** 8), 1024] as const;
  const x = vector(n, 1);
  const ids: Input = { ...vector(n, 2, 0, n), dtype: 'int64' };
  const bytes = 8 * n;
  return [
    make('take_random', [n], [x, ids], (table, at) => table.take(at), { bytes: 16 * n }),
    make('take_fused', [n], [x, ids, vector(n, 3)], expressions.takeFused, { bytes: 20 * n }),
    make('cumsum', [n], [x], (all) => all.cumulativeSum(), { bytes }),
    make('cumsum_columns', columns, [{ shape: columns, seed: 1 }], (all) => all.cumulativeSum(0), { bytes }),
    make('sort', [k], [vector(k, 1)], (all) => all.sort(), {}),
    make('argsort', [k], [vector(k, 1)], (all) => all.argsort(), {}),
    make('top_100', [n, 100], [x], (all) => topK(all, 100).values, { bytes: 4 * n }),
    make('median', [n], [x], (all) => all.median(), { bytes: 4 * n }),
    make('select_by_mask', [n], [vector(n, 1, -1, 1)], expressions.selectByMask, {}),
    make('nonzero', [n], [vector(n, 1, -1, 1)], expressions.placesAbove, {}),
    make('unique_int32', [k], [{ ...vector(k, 1, 0, k / 4), dtype: 'int32' }], expressions.distinct, {}),
  ];
}

/** Sorts of wider numbers, and along both axes. */
function sorts(size: Size): Workload[] {
  const k = size(2 ** 22, 2 ** 14);
  const shape = [size(2 ** 12, 2 ** 7), size(2 ** 10, 2 ** 7)] as const;
  const numbers = (dtype: DType): Input => ({ ...vector(k, 1, 0, dtype === 'int64' ? 2 ** 40 : 1), dtype });
  const table: Input = { shape, seed: 1 };
  return [
    make('sort_float64', [k], [numbers('float64')], (all) => all.sort(), { dtype: 'float64' }),
    make('sort_int64', [k], [numbers('int64')], (all) => all.sort(), { dtype: 'int64' }),
    make('argsort_float64', [k], [numbers('float64')], (all) => all.argsort(), { dtype: 'float64' }),
    make('sort_rows', shape, [table], (all) => all.sort(1), {}),
    make('sort_columns', shape, [table], (all) => all.sort(0), {}),
    make('argsort_rows', shape, [table], (all) => all.argsort(1), {}),
  ];
}

/** Places in a sorted array, and membership in a set of integers. */
function searches(size: Size): Workload[] {
  const [k, n] = [size(2 ** 22, 2 ** 14), size(2 ** 20, 2 ** 12)];
  const few = size(2 ** 16, 2 ** 8);
  const integers = (count: number, seed: number): Input => ({ ...vector(count, seed, 0, n), dtype: 'int32' });
  return [
    make(
      'searchsorted',
      [k, n],
      [vector(k, 1), { ...vector(n, 2), isSorted: true }],
      expressions.placesIn,
      {},
    ),
    make('isin_int32', [k, few], [integers(k, 1), integers(few, 2)], expressions.membersOf, {}),
  ];
}
