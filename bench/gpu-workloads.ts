/**
 * The workloads of the GPU peers' benchmark: the same names, inputs' sizes and ranges at full scale, and the
 * same counts of bytes and operations. At small scale every workload is small, so that a test can run them
 * all.
 */
import { type DType, fft, type Lazy, sparse, topK } from '../src/index.js';
import { decompositions } from './decompositions.js';
import * as expressions from './expressions.js';
import { fusedPrograms } from './fused-programs.js';
import {
  elementCount,
  type Input,
  makeWorkload as make,
  type Scale,
  type Size,
  type Workload,
} from './workload.js';

type Shape = readonly number[];

export function gpuWorkloads(scale: Scale): Workload[] {
  const size: Size = (full, small) => (scale === 'full' ? full : small);
  return [
    ...elementwise(size(2 ** 28, 2 ** 20), size(2 ** 26, 2 ** 18)),
    ...reductions(size),
    ...rows(size),
    ...pairs(size(8192, 512), size(50_000, 1000)),
    ...products(size),
    ...lookUps(size),
    ...selections(size),
    ...counts(size),
    ...sparseProducts(size),
    ...randomNumbers(size),
    ...scans(size),
    ...orders(size),
    ...transforms(size),
    ...decompositions(size),
    ...ownKernels(size),
    ...fusedPrograms(size),
    diffusion(size(2000, 256), size(10_000, 50)),
    ...latencies(),
  ];
}

const diffusion = (n: number, steps: number): Workload =>
  make('diffusion', [n, n, steps], [{ shape: [n, n], seed: 1 }], expressions.diffusion(steps), {
    budgetSeconds: 0.5,
  });

function elementwise(n: number, chained: number): Workload[] {
  const x: Input = { shape: [n], seed: 1 };
  const y: Input = { shape: [n], seed: 2 };
  const chain: Input = { shape: [chained], seed: 1 };
  return [
    make('saxpy_trig', [n], [x, y], expressions.saxpyTrig, { bytes: 12 * n }),
    make('softplus', [n], [{ ...x, low: -5, high: 5 }], expressions.softplus, { bytes: 8 * n }),
    make('long_chain', [chained], [chain], expressions.longChain, { bytes: 8 * chained }),
    make('abs_sum', [n], [{ ...x, low: -10, high: 10 }], expressions.absSum, { bytes: 4 * n }),
  ];
}

function reductions(size: Size): Workload[] {
  const reduction = (name: string, shape: Shape, expression: (x: Lazy) => Lazy): Workload =>
    make(name, shape, [{ shape, seed: 1 }], expression, { bytes: 4 * elementCount(shape) });
  const flat = [size(2 ** 28, 2 ** 20)];
  const wide = size([65536, 4096], [1024, 512]);
  const tall = [size(2 ** 25, 2 ** 16), 8];
  return [
    reduction('sum_all_64MB', size([256, 256, 256], [64, 64, 64]), expressions.sumAll),
    reduction('sum_all', flat, expressions.sumAll),
    reduction('sum_axis0', wide, expressions.sumRows),
    reduction('sum_axis1', wide, expressions.sumColumns),
    reduction('sum_axis1_mid', size([256, 4096, 256], [16, 128, 64]), expressions.sumColumns),
    reduction('sum_axis0_tall', tall, expressions.sumRows),
    reduction('sum_axis1_narrow', tall, expressions.sumColumns),
    reduction('var_axis1', wide, (x) => x.var(1)),
    reduction('argmax', flat, (x) => x.argmax()),
  ];
}

function rows(size: Size): Workload[] {
  const softmax = (name: string, shape: Shape): Workload =>
    make(name, shape, [{ shape, seed: 1, low: -5, high: 5 }], expressions.softmaxRows, {
      bytes: 8 * elementCount(shape),
    });
  const columns = [size(2 ** 23, 2 ** 15), 32];
  const normed = [size(2 ** 18, 2 ** 10), 1024];
  const square = size([16384, 16384], [1024, 1024]);
  const vector = (seed: number): Input => ({ shape: [1024], seed });
  return [
    make('standardize', columns, [{ shape: columns, seed: 1 }], expressions.standardize, {
      bytes: 12 * elementCount(columns),
    }),
    softmax('softmax_rows', normed),
    softmax('softmax_wide', [size(2 ** 12, 2 ** 4), 65536]),
    make(
      'layernorm_rows',
      normed,
      [{ shape: normed, seed: 1 }, vector(2), vector(3)],
      expressions.layerNorm,
      { bytes: 8 * elementCount(normed) },
    ),
    make(
      'transpose_add',
      square,
      [
        { shape: square, seed: 1 },
        { shape: square, seed: 2 },
      ],
      expressions.transposeAdd,
      { bytes: 12 * elementCount(square) },
    ),
  ];
}

/** Without inputs: the numbers are made where they are used. */
function randomNumbers(size: Size): Workload[] {
  const [n, points] = [size(2 ** 28, 2 ** 14), size(10 ** 9, 10 ** 6)];
  const [paths, days] = [size(10 ** 6, 100), 252];
  return [
    make('random_uniform', [n], [], expressions.uniformNumbers(n), { bytes: 4 * n }),
    make('random_normal', [n], [], expressions.normalNumbers(n), { bytes: 4 * n }),
    make('pi_mc', [points], [], expressions.pi(points), { budgetSeconds: 1 }),
    make('monte_carlo_asian', [paths, days], [], expressions.asianOption(paths, days), {}),
  ];
}

/** Arrays that are taken apart and joined again. */
/** Functions of the user's own. */
function ownKernels(size: Size): Workload[] {
  const [n, side, steps] = [size(2 ** 28, 2 ** 18), size(4096, 64), size(1000, 100)];
  const rows = size([65536, 4096], [256, 4096]);
  const inputs: Input[] = [1, 2].map((seed) => ({ shape: [n], seed }));
  return [
    make('mandelbrot_escape', [side, side, steps], [], expressions.mandelbrot(side, side, steps), {
      dtype: 'int32',
    }),
    make('elementwise_kernel', [n], inputs, expressions.differenceOrRoot, { bytes: 12 * n }),
    make('reduction_kernel', rows, [{ shape: rows, seed: 1 }], expressions.rowNorms, {
      bytes: 4 * elementCount(rows),
    }),
  ];
}

/** Results whose sizes depend on data; `shape` is that of the input. */
function selections(size: Size): Workload[] {
  const [n, m] = [size(2 ** 28, 2 ** 18), size(2 ** 26, 2 ** 18)];
  const signed: Input = { shape: [n], seed: 1, low: -1, high: 1 };
  const integers: Input = { shape: [m], seed: 1, high: m / 4, dtype: 'int32' };
  return [
    make('select_by_mask', [n], [signed], expressions.selectByMask, {}),
    make('nonzero', [n], [signed], expressions.placesAbove, {}),
    make('unique_int32', [m], [integers], expressions.distinct, {}),
  ];
}

function scans(size: Size): Workload[] {
  const [n, half, rows] = [
    size(2 ** 28, 2 ** 20),
    size(2 ** 27, 2 ** 18),
    size([2 ** 17, 2048], [1024, 2048]),
  ];
  const of = (shape: Shape): Input[] => [{ shape, seed: 1 }];
  const scanned = { bytes: 8 * elementCount(rows) };
  return [
    make('cumsum', [n], of([n]), (x) => x.cumulativeSum(), { bytes: 8 * n }),
    make('cumsum_rows', rows, of(rows), (x) => x.cumulativeSum(1), scanned),
    make('cumsum_columns', rows, of(rows), (x) => x.cumulativeSum(0), scanned),
    make('moving_average', [half], of([half]), expressions.movingAverage(64), { bytes: 8 * half }),
    make('cummax', [n], of([n]), (x) => x.cumulativeMax(), { bytes: 8 * n }),
  ];
}

/** Sorting, selection and searching. */
function orders(size: Size): Workload[] {
  const [sorted, chosen, entries] = [size(2 ** 26, 2 ** 18), size(2 ** 27, 2 ** 18), size(2 ** 16, 2 ** 10)];
  const [shortRows, columns] = [size([2 ** 16, 1024], [64, 1024]), size([2 ** 16, 256], [1024, 256])];
  const of = (shape: Shape): Input[] => [{ shape, seed: 1 }];
  const integers: Input = { shape: [chosen], seed: 1, high: 2 ** 31 - 1, dtype: 'int32' };
  return [
    make('sort', [sorted], of([sorted]), (x) => x.sort(), {}),
    make('sort_int32', [chosen], [integers], (x) => x.sort(), { dtype: 'int32' }),
    make('argsort', [sorted], of([sorted]), (x) => x.argsort(), {}),
    make('sort_rows', shortRows, of(shortRows), (x) => x.sort(1), {}),
    make('top_100', [chosen, 100], of([chosen]), (x) => topK(x, 100).values, { bytes: 4 * chosen }),
    make('median', [sorted], of([sorted]), (x) => x.median(), { bytes: 4 * sorted }),
    make('percentiles', [sorted], of([sorted]), expressions.percentiles, { bytes: 4 * sorted }),
    make('median_columns', columns, of(columns), (x) => x.median(0), { bytes: 4 * elementCount(columns) }),
    make(
      'searchsorted',
      [entries, sorted],
      [
        { shape: [sorted], seed: 2 },
        { shape: [entries], seed: 1, isSorted: true },
      ],
      expressions.placesIn,
      {},
    ),
  ];
}

/** Fourier transforms, with what is fused around them. */
function transforms(size: Size): Workload[] {
  const rows = [size(2 ** 14, 2 ** 8), 4096];
  const [n, side] = [size(2 ** 26, 2 ** 16), size(4096, 256)];
  const signals = [size(2 ** 13, 2 ** 8), 8192];
  const of = (shape: Shape): Input[] => [{ shape, seed: 1 }];
  return [
    make('fft_batch', rows, of(rows), (x) => fft.rfft(x), { bytes: 8 * elementCount(rows) }),
    make('fft_long', [n], of([n]), (x) => fft.fft(x), {}),
    make(
      'fft_convolve',
      signals,
      [
        { shape: signals, seed: 1 },
        { shape: [8192], seed: 2 },
      ],
      expressions.filtered,
      {},
    ),
    make('fft2_4096', [side, side], of([side, side]), (x) => fft.fft2(x).abs(), {}),
  ];
}

function lookUps(size: Size): Workload[] {
  const [n, k] = [size(2 ** 28, 2 ** 18), size(2 ** 26, 2 ** 16)];
  const [rows, width] = [size(2 ** 20, 2 ** 12), 256];
  const [entries, found] = [size(2 ** 16, 2 ** 12), size(2 ** 28, 2 ** 18)];
  const table = size([2 ** 17, 1024], [2 ** 10, 1024]);
  const ids = (count: number, high: number, dtype: DType = 'int64'): Input => ({
    shape: [count],
    seed: 2,
    high,
    dtype,
  });
  return [
    make('take_random', [n, k], [{ shape: [n], seed: 1 }, ids(k, n)], expressions.takeElements, {}),
    make(
      'take_rows',
      [rows, width, rows],
      [{ shape: [rows, width], seed: 1 }, ids(rows, rows)],
      expressions.takeRows,
      {
        bytes: 8 * rows * width,
      },
    ),
    make(
      'take_fused',
      [entries, found],
      [{ shape: [entries], seed: 1 }, ids(found, entries, 'int32'), { shape: [found], seed: 3 }],
      expressions.takeFused,
      { bytes: 12 * found },
    ),
    make(
      'take_along_axis',
      table,
      [
        { shape: table, seed: 1 },
        { shape: table, seed: 2, high: table[1]!, dtype: 'int64' },
      ],
      (x, ids) => x.takeAlongAxis(ids, 1),
      {},
    ),
  ];
}

/** Sparse matrices of 32 elements a row. */
function sparseProducts(size: Size): Workload[] {
  const [n, each, width] = [size(2 ** 20, 2 ** 12), 32, 64];
  const matrix: readonly Input[] = [
    { shape: [n * each], seed: 1 },
    { shape: [n * each], seed: 2, high: n, dtype: 'int32' },
    { shape: [n + 1], seed: 0, every: each, dtype: 'int32' },
  ];
  const times = (data: Lazy, indices: Lazy, indptr: Lazy, x: Lazy): Lazy =>
    sparse.csr({ data, indices, indptr }, [n, n]).matmul(x);
  const bytes = 8 * n * each;
  return [
    make('spmv', [n, n, n * each], [...matrix, { shape: [n], seed: 3 }], times, { bytes }),
    make('spmm', [n, n, n * each, width], [...matrix, { shape: [n, width], seed: 3 }], times, {}),
  ];
}

function counts(size: Size): Workload[] {
  const [n, k] = [size(2 ** 20, 2 ** 12), size(2 ** 26, 2 ** 16)];
  const [all, bins] = [size(2 ** 28, 2 ** 18), 4096];
  const ids = (count: number, high: number, dtype: DType): Input => ({
    shape: [count],
    seed: 1,
    high,
    dtype,
  });
  const counted = [ids(all, bins, 'int32')];
  const bytes = 4 * all;
  return [
    make(
      'scatter_add',
      [n, k],
      [
        { shape: [k], seed: 1 },
        { ...ids(k, n, 'int64'), seed: 2 },
      ],
      expressions.scatterAdd(n),
      {},
    ),
    make(
      'segment_mean_sorted',
      [n, k],
      [
        { shape: [k], seed: 1 },
        { ...ids(k, n, 'int64'), seed: 2, isSorted: true },
      ],
      expressions.segmentMean(n),
      {},
    ),
    make('histogram_256', [all], [{ shape: [all], seed: 1 }], expressions.histogram256, { bytes }),
    make('bincount', [all, bins], counted, expressions.bincountOf(bins), { dtype: 'int32', bytes }),
    make('bincount_drop', [all, bins], counted, expressions.bincountOf(bins, 'drop'), {
      dtype: 'int32',
      bytes,
    }),
  ];
}

function pairs(n: number, points: number): Workload[] {
  const d = 64;
  const rowsOf = (seed: number, count: number, width: number): Input => ({ shape: [count, width], seed });
  return [
    make('pairwise_sqdist', [n, n, d], [rowsOf(1, n, d), rowsOf(2, n, d)], expressions.squaredDistances, {
      flops: 3 * n * n * d,
      budgetSeconds: 1,
    }),
    make(
      'gauss_kernel_sum',
      [points, points, 3],
      [rowsOf(1, points, 3), rowsOf(2, points, 3), { shape: [points], seed: 3 }],
      expressions.gaussKernelSum,
      { flops: 11 * points * points, budgetSeconds: 1 },
    ),
  ];
}

function products(size: Size): Workload[] {
  const product = (
    name: string,
    [m, k, n]: readonly [number, number, number],
    dtype: DType,
    expression: (a: Lazy, b: Lazy, bias: Lazy) => Lazy,
    bias = false,
  ): Workload => {
    const matrices: Input[] = [
      { shape: [m, k], seed: 1, dtype },
      { shape: [k, n], seed: 2, dtype },
    ];
    const inputs: Input[] = bias ? [...matrices, { shape: [n], seed: 3, dtype }] : matrices;
    return make(name, [m, k, n], inputs, expression, {
      dtype,
      flops: 2 * m * k * n,
    });
  };
  const summed = size([10_000, 5000, 7000], [512, 256, 384]) as [number, number, number];
  const side = size(8192, 256);
  const cube: [number, number, number] = [side, side, side];
  const half = size(1000, 250); // the peers' stays at 1000
  return [
    ...(['float32', 'float64'] as const).flatMap((dtype) => [
      product(`matmul_sum_${dtype}`, summed, dtype, expressions.matmulSum),
      product(`einsum_colsum_${dtype}`, summed, dtype, expressions.einsumColumnSum),
      product(`matmul_${dtype}`, cube, dtype, expressions.matmul),
    ]),
    ...(['float32', 'bfloat16'] as const).flatMap((dtype) => [
      product(`matmul_bias_relu_${dtype}`, cube, dtype, expressions.matmulBiasRelu, true),
      product(`matmul_bias_gelu_${dtype}`, cube, dtype, expressions.matmulBiasGelu, true),
      product(`gemm_${dtype}`, cube, dtype, expressions.gemm),
    ]),
    product('matmul_bfloat16', cube, 'bfloat16', expressions.matmul),
    product('matmul_1000_float64', [half, half, half], 'float64', expressions.matmul),
    contraction(size([96, 64, 96, 64, 96], [8, 8, 8, 8, 8])),
    batched(...size<[number, number]>([1024, 512], [16, 64])),
  ];
}

/** A contraction whose layouts need transposes: abcd,dbea->ec. */
function contraction(shape: readonly number[]): Workload {
  const [a, b, c, d, e] = shape as [number, number, number, number, number];
  return make(
    'tensordot_ttgt',
    shape,
    [
      { shape: [a, b, c, d], seed: 1 },
      { shape: [d, b, e, a], seed: 2 },
    ],
    expressions.tensordot,
    { flops: 2 * elementCount(shape) },
  );
}

const batched = (count: number, n: number): Workload =>
  make(
    'batched_matmul',
    [count, n, n, n],
    [1, 2].map((seed) => ({ shape: [count, n, n], seed })),
    expressions.matmul,
    { flops: 2 * count * n ** 3 },
  );

function latencies(): Workload[] {
  const inputs = [1, 2].map((seed) => ({ shape: [1000], seed }));
  const expression = expressions.dotProduct;
  return [
    make('latency_host', [1000], inputs, expression, { fromHost: true, budgetSeconds: 1 }),
    make('latency_device', [1000], inputs, expression, { inner: 100, budgetSeconds: 1 }),
    make('small_kernels', [256, 256], [{ shape: [256, 256], seed: 1 }], expressions.smallKernels, {
      budgetSeconds: 1,
    }),
  ];
}
