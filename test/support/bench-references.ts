/**
 * The benchmark's workloads by plain loops in float64, and their inputs without Weft: what `bench.test.ts`
 * checks against.
 */
import { type Input, piecesOf, type Workload } from '../../bench/workload.js';
import { toBfloat16, toFloat16 } from '../../src/graph/half.js';
import type { DType } from '../../src/index.js';
import {
  choleskyByLoop,
  eigenvaluesByLoop,
  singularValuesByLoop,
  solveByLoop,
  upperFactorByLoop,
} from './bench-decompositions.js';
import { filteredRows, realParts, realRows, sizesOfSquare } from './bench-fourier.js';
import {
  attentionByLoop,
  covarianceByLoop,
  largestCosines,
  rollingScores,
  stencil27ByLoop,
} from './bench-fused.js';
import { hsvByLoop, lorenzStepByLoop } from './bench-joined.js';
import { normalsOfWords, splitByLoop, uniformOfWord, wordsByLoop } from './bench-random.js';

/** The numbers of `uniform`, rounded to the input's dtype. */
export function uniformByLoop(input: Input): Float64Array {
  const values = unsortedByLoop(input);
  return input.isSorted ? values.sort() : values;
}

const ROUNDINGS: Readonly<Partial<Record<DType, (value: number) => number>>> = {
  uint8: Math.trunc,
  int32: Math.trunc,
  int64: Math.trunc,
  float16: toFloat16,
  bfloat16: toBfloat16,
};

function unsortedByLoop(input: Input): Float64Array {
  const { shape, seed, low = 0, high = 1, dtype, pieces = 1, every } = input;
  if (pieces > 1) return flat(piecesOf(input).map(uniformByLoop));
  const count = shape.reduce((a, b) => a * b, 1);
  if (every !== undefined) return Float64Array.from({ length: count }, (_, k) => k * every);
  const valueAt = (index: number): number => {
    let hash = (index + Math.imul(seed, 0x9e3779b9)) >>> 0;
    hash = Math.imul(hash ^ (hash >>> 16), 0x7feb352d);
    hash = Math.imul(hash ^ (hash >>> 15), 0x846ca68b);
    hash = (hash ^ (hash >>> 16)) >>> 0;
    const unit = (hash >>> 8) * 2 ** -24;
    const value = Math.fround(Math.fround(low) + Math.fround(Math.fround(high - low) * unit));
    return (dtype && ROUNDINGS[dtype]?.(value)) ?? value;
  };
  const values = new Float64Array(count);
  for (let k = 0; k < count; k++) values[k] = valueAt(k);
  return values;
}

/** That of the seed 0. */
const KEY = [0, 0] as const;

type Values = Float64Array;
type Reference = (workload: Workload, ...inputs: Values[]) => ArrayLike<number>;

const map = (x: Values, f: (value: number, i: number) => number): Values => x.map(f);
const sum = (x: Iterable<number>): number => {
  let total = 0;
  for (const value of x) total += value;
  return total;
};

/** Sums of the values with each number. */
function inBins(count: number, ids: Values, weight: (i: number) => number): Values {
  const result = new Float64Array(count);
  ids.forEach((id, i) => {
    result[id]! += weight(i);
  });
  return result;
}

/** A matrix by rows times columns: data, columns, ends of rows and the dense factor. */
function sparseProduct([data, columns, ends, x]: readonly Values[], width: number): Values {
  const result = new Float64Array((ends!.length - 1) * width);
  for (let row = 0; row + 1 < ends!.length; row++)
    for (let k = ends![row]!; k < ends![row + 1]!; k++)
      for (let c = 0; c < width; c++) result[row * width + c]! += data![k]! * x![columns![k]! * width + c]!;
  return result;
}

/** Rows of a matrix with `columns` columns. */
const rowsOf = (x: Values, columns: number): Values[] =>
  Array.from({ length: x.length / columns }, (_, i) => x.subarray(i * columns, (i + 1) * columns));

const turned = (x: Values, columns: number): Values =>
  x.map((_, k) => x[(k % (x.length / columns)) * columns + Math.floor((k * columns) / x.length)]!);
const columnsOf = (x: Values, columns: number): Values[] => rowsOf(turned(x, columns), x.length / columns);

function countBelow(sorted: Values, value: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]! < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The middle axis of (a, m, b) summed. */
function sumMiddle(x: Values, a: number, m: number, b: number): Values {
  const result = new Float64Array(a * b);
  for (let i = 0; i < a; i++)
    for (let j = 0; j < m; j++) for (let k = 0; k < b; k++) result[i * b + k]! += x[(i * m + j) * b + k]!;
  return result;
}

/** In float32, since a rounding may change how many steps there are. */
function escapeSteps(rows: number, columns: number, most: number): Values {
  const F = Math.fround;
  return Float64Array.from({ length: rows * columns }, (_, at) => {
    const a = F(F(F(3 * (at % columns)) / columns) - 2);
    const b = F(F(F(3 * Math.floor(at / columns)) / rows) - 1.5);
    let [x, y, n] = [0, 0, 0];
    for (; n < most && F(F(x * x) + F(y * y)) <= 4; n++)
      [x, y] = [F(F(F(x * x) - F(y * y)) + a), F(F(F(2 * x) * y) + b)];
    return n;
  });
}

function product(a: Values, b: Values, m: number, k: number, n: number): Values {
  const c = new Float64Array(m * n);
  for (let i = 0; i < m; i++)
    for (let p = 0; p < k; p++) {
      const left = a[i * k + p]!;
      for (let j = 0; j < n; j++) c[i * n + j]! += left * b[p * n + j]!;
    }
  return c;
}

const last = ({ shape }: Workload): number => shape[shape.length - 1]!;
const variance = (x: Values): number => {
  const mean = sum(x) / x.length;
  return sum(map(x, (value) => (value - mean) ** 2)) / x.length;
};
const flat = (parts: readonly Values[]): Values => {
  const whole = new Float64Array(sum(parts.map((part) => part.length)));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
};

const matmul: Reference = ({ shape }, a, b) => product(a!, b!, shape[0]!, shape[1]!, shape[2]!);
const columnSums: Reference = ({ shape }, a, b) => {
  const [m, k, n] = shape as [number, number, number];
  return sumMiddle(product(a!, b!, m, k, n), 1, m, n);
};

/** The number below which so much of the others lies, between two neighbours in proportion. */
function quantileByLoop(x: Values, share: number): number {
  const sorted = Float64Array.from(x).sort();
  const place = share * (sorted.length - 1);
  const [low, part] = [Math.floor(place), place % 1];
  return sorted[low]! + part * (sorted[Math.min(low + 1, sorted.length - 1)]! - sorted[low]!);
}

/** Sums of every element with the one `step` places before it, and so on. */
function runningSums(x: Values, step: number): Values {
  const sums = Float64Array.from(x);
  for (let k = step; k < sums.length; k++) sums[k]! += sums[k - step]!;
  return sums;
}

const squaredDistances = (x: Values, y: Values, width: number): Values => {
  const others = rowsOf(y, width);
  return flat(
    rowsOf(x, width).map((p) =>
      Float64Array.from(others, (q) => {
        let total = 0;
        for (let k = 0; k < width; k++) total += (p[k]! - q[k]!) ** 2;
        return total;
      }),
    ),
  );
};

const chained = (x: Values, step: (value: number) => number): Values =>
  map(x, (value) => {
    for (let i = 0; i < 50; i++) value = step(value);
    return value;
  });

const diffusion: Reference = ({ shape }, start) => {
  const [n, , steps] = shape as [number, number, number];
  let f = start!;
  for (let step = 0; step < steps; step++) {
    const at = (i: number, j: number): number => (i < 0 || j < 0 || i >= n || j >= n ? 0 : f[i * n + j]!);
    f = map(f, (value, k) => {
      const [i, j] = [Math.floor(k / n), k % n];
      return value - 0.25 * (4 * value - at(i - 1, j) - at(i + 1, j) - at(i, j - 1) - at(i, j + 1));
    });
  }
  return f;
};

/** The means of `k` columns, and their standard deviations. */
function columnMoments(x: Values, k: number): [Values, Values] {
  const m = x.length / k;
  const means = map(sumMiddle(x, 1, m, k), (total) => total / m);
  const squares = map(x, (value, i) => (value - means[i % k]!) ** 2);
  return [means, map(sumMiddle(squares, 1, m, k), (total) => Math.sqrt(total / m))];
}

const softmax: Reference = (workload, x) =>
  flat(
    rowsOf(x!, last(workload)).map((row) => {
      const e = map(row, Math.exp);
      const total = sum(e);
      return map(e, (value) => value / total);
    }),
  );

const smallKernels: Reference = ({ shape }, x) => {
  const n = shape[0]!;
  let y = Float64Array.from(x!);
  for (let step = 0; step < 100; step++) {
    const sums = sumMiddle(y, 1, n, n);
    y = Float64Array.from(
      y,
      (_, i) => y[(i % n) * n + Math.floor(i / n)]! - (0.01 * sums[Math.floor(i / n)]!) / n,
    );
  }
  return y;
};

const REFERENCES: Readonly<Record<string, Reference>> = {
  diffusion,
  saxpy_trig: (_, x, y) => map(x!, (value, i) => Math.exp(0.5 * Math.sin(value) + Math.cos(y![i]!))),
  runge_kutta: (_, x) => lorenzStepByLoop(x!),
  rgb_to_hsv: (_, x) => hsvByLoop(x!),
  rgb_to_hsv_uint8: (_, x) => hsvByLoop(map(x!, (value) => value / 255)),
  attention: ({ shape }, ...operands) => attentionByLoop(shape, operands, false),
  attention_causal: ({ shape }, ...operands) => attentionByLoop(shape, operands, true),
  cosine_row_max: ({ shape }, x) => largestCosines(shape, x!),
  covariance: ({ shape }, x) => covarianceByLoop(shape, x!),
  stencil27: ({ shape }, x) => stencil27ByLoop(shape, x!),
  rolling_z_score: (workload, x) => rollingScores(last(workload), x!),
  bands_16: (_, x) =>
    inBins(
      16,
      map(x!, (value) => Math.floor(value * 16)),
      () => 1,
    ),
  softplus: (_, x) => map(x!, (value) => Math.max(0, value) + Math.log1p(Math.exp(-Math.abs(value)))),
  long_chain: ({ flops }, x) =>
    flops === undefined
      ? chained(x!, (value) => Math.sqrt(Math.abs(value * 1.0001 + 0.5 - 1) + 0.25))
      : chained(x!, (value) => Math.sqrt(Math.abs(value * 1.0001 + 0.5))),
  abs_sum: (_, x) => [sum(map(x!, Math.abs))],
  sum_all_64MB: (_, x) => [sum(x!)],
  sum_all: (_, x) => [sum(x!)],
  sum_axis0: ({ shape }, x) => sumMiddle(x!, 1, shape[0]!, shape[1]!),
  sum_axis1: ({ shape }, x) => sumMiddle(x!, shape[0]!, shape[1]!, 1),
  sum_axis1_mid: ({ shape }, x) => sumMiddle(x!, shape[0]!, shape[1]!, shape[2]!),
  sum_axis0_tall: ({ shape }, x) => sumMiddle(x!, 1, shape[0]!, shape[1]!),
  sum_axis1_narrow: ({ shape }, x) => sumMiddle(x!, shape[0]!, shape[1]!, 1),
  var_axis1: (workload, x) => Float64Array.from(rowsOf(x!, last(workload)), variance),
  argmax: (_, x) => [x!.indexOf(x!.reduce((a, b) => Math.max(a, b)))],
  standardize: ({ shape: [, k] }, x) => {
    const [means, deviations] = columnMoments(x!, k!);
    return map(x!, (value, i) => (value - means[i % k!]!) / deviations[i % k!]!);
  },
  pipeline_file: ({ shape: [, k] }, x) => flat(columnMoments(x!, k!)),
  softmax_rows: softmax,
  softmax_wide: softmax,
  layernorm_rows: (workload, x, weight, bias) =>
    flat(
      rowsOf(x!, last(workload)).map((row) => {
        const mean = sum(row) / row.length;
        const spread = Math.sqrt(variance(row) + 1e-5);
        return map(row, (value, i) => ((value - mean) / spread) * weight![i]! + bias![i]!);
      }),
    ),
  transpose_add: ({ shape }, x, y) =>
    map(x!, (value, i) => value + y![(i % shape[0]!) * shape[0]! + Math.floor(i / shape[0]!)]!),
  pairwise_sqdist: (workload, x, y) => squaredDistances(x!, y!, last(workload)),
  squared_diff_bcast: (workload, x, y) => squaredDistances(x!, y!, last(workload)),
  gauss_kernel_sum: (_, x, y, b) =>
    Float64Array.from(rowsOf(squaredDistances(x!, y!, 3), b!.length), (row) =>
      sum(map(row, (distance, j) => Math.exp(-distance) * b![j]!)),
    ),
  cumsum: (_, x) => runningSums(x!, 1),
  cumsum_rows: (workload, x) => flat(rowsOf(x!, last(workload)).map((row) => runningSums(row, 1))),
  cumsum_columns: (workload, x) => runningSums(x!, last(workload)),
  moving_average: (_, x) => {
    const sums = runningSums(x!, 1);
    return sums.subarray(64).map((value, k) => (value - sums[k]!) / 64);
  },
  cummax: (_, x) => {
    let most = Number.NEGATIVE_INFINITY;
    return map(x!, (value) => {
      most = Math.max(most, value);
      return most;
    });
  },
  sort: (_, x) => Float64Array.from(x!).sort(),
  argsort: (_, x) => Float64Array.from(x!.keys()).sort((a, b) => x![a]! - x![b]! || a - b),
  sort_rows: (workload, x) => flat(rowsOf(x!, last(workload)).map((row) => Float64Array.from(row).sort())),
  sort_int32: (_, x) => Float64Array.from(x!).sort(),
  sort_int64: (_, x) => Float64Array.from(x!).sort(),
  sort_columns: ({ shape }, x) =>
    turned(flat(columnsOf(x!, shape[1]!).map((column) => column.sort())), shape[0]!),
  argsort_rows: ({ shape }, x) =>
    flat(
      rowsOf(x!, shape[1]!).map((row) =>
        Float64Array.from(row.keys()).sort((a, b) => row[a]! - row[b]! || a - b),
      ),
    ),
  searchsorted: (_, x, sorted) => map(x!, (value) => countBelow(sorted!, value)),
  isin_int32: (_, x, test) => map(x!, (value) => (test!.includes(value) ? 1 : 0)),
  top_100: (_, x) => Float64Array.from(x!).sort().reverse().subarray(0, 100),
  median: (_, x) => [quantileByLoop(x!, 0.5)],
  percentiles: (_, x) => [0.05, 0.5, 0.95].map((q) => quantileByLoop(x!, q)),
  median_columns: (workload, x) => columnsOf(x!, last(workload)).map((column) => quantileByLoop(column, 0.5)),
  take_random: (_, x, ids) => map(ids!, (id) => x![id]!),
  take_rows: (workload, x, ids) => {
    const rows = rowsOf(x!, workload.shape[1]!);
    return flat(Array.from(ids!, (id) => rows[id]!));
  },
  take_along_axis: (workload, x, ids) => {
    const width = last(workload);
    return map(ids!, (id, place) => x![place - (place % width) + id]!);
  },
  select_by_mask: (_, x) => x!.filter((value) => value > 0),
  nonzero: (_, x) => Float64Array.from([...x!.keys()].filter((k) => x![k]! > 0.9)),
  unique_int32: (_, x) => Float64Array.from(new Set(x!)).sort(),
  take_fused: (_, x, ids, y) => map(ids!, (id, i) => Math.exp(-x![id]!) * y![i]! + 1),
  spmv: (_, ...matrix) => sparseProduct(matrix, 1),
  spmm: ({ shape }, ...matrix) => sparseProduct(matrix, shape[3]!),
  scatter_add: ({ shape }, values, ids) => inBins(shape[0]!, ids!, (i) => values![i]!),
  segment_mean_sorted: ({ shape }, values, ids) => {
    const counts = inBins(shape[0]!, ids!, () => 1);
    return map(
      inBins(shape[0]!, ids!, (i) => values![i]!),
      (sum, k) => sum / counts[k]!,
    );
  },
  histogram_256: (_, x) =>
    inBins(
      256,
      map(x!, (value) => Math.floor(value * 256)),
      () => 1,
    ),
  bincount: ({ shape }, ids) => inBins(shape[1]!, ids!, () => 1),
  bincount_drop: ({ shape }, ids) => inBins(shape[1]!, ids!, () => 1),
  bincount_weights: ({ shape }, ids, weights) => inBins(shape[1]!, ids!, (i) => weights![i]!),
  elementwise_kernel: (_, x, y) =>
    map(x!, (value, i) => {
      const z = (value - y![i]!) ** 2;
      return z > 0.5 ? Math.sqrt(z) : z;
    }),
  mandelbrot_escape: ({ shape: [rows, columns, most] }) => escapeSteps(rows!, columns!, most!),
  reduction_kernel: (workload, x) =>
    Float64Array.from(rowsOf(x!, last(workload)), (row) => Math.sqrt(sum(row.map((value) => value * value)))),
  random_uniform: ({ shape }) => wordsByLoop(shape[0]!, KEY).map(uniformOfWord),
  random_normal: ({ shape }) => normalsOfWords(wordsByLoop(shape[0]!, KEY)),
  pi_mc: ({ shape }) => {
    const [x, y] = splitByLoop(KEY, 2).map((key) => wordsByLoop(shape[0]!, key).map(uniformOfWord));
    return [(sum(map(x!, (value, i) => (value * value + y![i]! * y![i]! <= 1 ? 1 : 0))) * 4) / shape[0]!];
  },
  monte_carlo_asian: ({ shape }) => {
    const [paths, days] = shape as [number, number];
    const [drift, spread] = [(0.05 - 0.02) / days, 0.2 / Math.sqrt(days)];
    const gains = rowsOf(normalsOfWords(wordsByLoop(paths * days, KEY)), days).map((z) => {
      let path = 0;
      const prices = map(z, (value) => {
        path += drift + spread * value;
        return Math.exp(path);
      });
      return Math.max(0, (sum(prices) / days) * 100 - 100);
    });
    return [sum(gains) / paths];
  },
  matmul_sum: columnSums,
  einsum_colsum: columnSums,
  matmul,
  matmul_1000: matmul,
  matmul_bias_relu: (workload, a, b, bias) =>
    Float64Array.from(matmul(workload, a!, b!), (value, i) => Math.max(0, value + bias![i % bias!.length]!)),
  matmul_bias_gelu: (workload, a, b, bias) =>
    Float64Array.from(matmul(workload, a!, b!), (value, i) => {
      const x = value + bias![i % bias!.length]!;
      return 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)));
    }),
  gemm: (workload, a, b) =>
    Float64Array.from(matmul(workload, a!, b!), (value, i) => 1.5 * value + 0.5 * a![i]!),
  tensordot_ttgt: ({ shape }, x, y) => {
    const [a, b, c, d, e] = shape as [number, number, number, number, number];
    const result = new Float64Array(e * c);
    for (let i = 0; i < a * b * c * d; i++) {
      const [id, ic] = [i % d, Math.floor(i / d) % c];
      const [ib, ia] = [Math.floor(i / (d * c)) % b, Math.floor(i / (d * c * b))];
      for (let ie = 0; ie < e; ie++) result[ie * c + ic]! += x![i]! * y![((id * b + ib) * e + ie) * a + ia]!;
    }
    return result;
  },
  batched_matmul: ({ shape }, a, b) => {
    const [, n] = shape as [number, number];
    const matrices = rowsOf(b!, n * n);
    return flat(rowsOf(a!, n * n).map((matrix, i) => product(matrix, matrices[i]!, n, n, n)));
  },
  cholesky: ({ shape: [n] }, x) => {
    const positive = product(x!, turned(x!, n!), n!, n!, n!);
    for (let k = 0; k < n!; k++) positive[k * (n! + 1)]! += n!;
    return choleskyByLoop(positive, n!);
  },
  solve: ({ shape: [n] }, x) => solveByLoop(x!, columnsOf(x!, n!)[0]!, n!, 1),
  qr_tall: ({ shape: [, columns] }, x) => upperFactorByLoop(x!, columns!).map(Math.abs),
  svd_1000: ({ shape: [n] }, x) => singularValuesByLoop(x!, n!),
  svd_2048: ({ shape: [n] }, x) => singularValuesByLoop(x!, n!),
  eigh_2048: ({ shape: [n] }, x) =>
    eigenvaluesByLoop(
      map(turned(x!, n!), (value, place) => value + x![place]!),
      n!,
    ),
  inv: ({ shape: [n] }, x) =>
    solveByLoop(
      x!,
      map(x!, (_, place) => (place % (n! + 1) === 0 ? 1 : 0)),
      n!,
      n!,
    ),
  solve_batched: ({ shape: [, n] }, x) =>
    flat(rowsOf(x!, n! * n!).map((a) => solveByLoop(a, columnsOf(a, n!)[0]!, n!, 1))),
  svd_batched: ({ shape: [, n] }, x) => flat(rowsOf(x!, n! * n!).map((a) => singularValuesByLoop(a, n!))),
  fft_batch: ({ shape }, x) => realRows(x!, shape[1]!),
  fft_long: (_, x) => realParts(x!),
  fft_convolve: (_, x, filter) => filteredRows(x!, filter!),
  fft2_4096: ({ shape }, x) => sizesOfSquare(x!, shape[0]!),
  latency: (_, a, b) => [sum(map(a!, (value, i) => value * b![i]!))],
  latency_host: (_, a, b) => [sum(map(a!, (value, i) => value * b![i]!))],
  small_kernels: smallKernels,
  latency_device: (_, a, b) => [sum(map(a!, (value, i) => value * b![i]!))],
};

/** A workload's result in float64. Names may end in their dtype. */
export function resultByLoop(workload: Workload): ArrayLike<number> {
  const name = workload.name.replace(/_(float32|float64|bfloat16)$/, '');
  const reference = REFERENCES[name];
  if (reference === undefined) throw new Error(`no reference for ${workload.name}`);
  return reference(workload, ...workload.inputs.map(uniformByLoop));
}
