/** Kernels of the user guides of CuPy and Numba that `kernels.ts` and `cuda-kernels.ts` do not have. */
import { kernel } from '../../src/api/kernels.js';

/** CuPy's guide, `jit.rawkernel`: a loop by strides of the grid. */
export const elementwiseCopy = kernel(
  ({ threadIdx, blockIdx, blockDim, gridDim }, x, size, y) => {
    const first = blockIdx.x * blockDim.x + threadIdx.x;
    const threads = gridDim.x * blockDim.x;
    for (let i = first; i < size; i += threads) y[i] = x.at(i);
  },
  {
    inputs: { x: 'float32', size: { scalar: 'uint32' } },
    outputs: { y: { dtype: 'float32', shape: ({ x }) => x.shape } },
    grid: 4,
    block: 32,
  },
);

/** CuPy's guide, raw modules: two kernels of one source. */
const SUM_AND_PRODUCT = `extern "C" {
__global__ void test_sum(const float* x1, const float* x2, float* y, unsigned int N) {
  unsigned int tid = blockDim.x * blockIdx.x + threadIdx.x;
  if (tid < N) y[tid] = x1[tid] + x2[tid];
}
__global__ void test_multiply(const float* x1, const float* x2, float* y, unsigned int N) {
  unsigned int tid = blockDim.x * blockIdx.x + threadIdx.x;
  if (tid < N) y[tid] = x1[tid] * x2[tid];
}
}
`;
export const ofModule = (name: 'test_sum' | 'test_multiply') =>
  kernel(SUM_AND_PRODUCT, {
    inputs: { x1: 'float32', x2: 'float32', N: { scalar: 'uint32' } },
    outputs: { y: { dtype: 'float32', shape: ({ x1 }) => x1.shape } },
    parameters: ['x1', 'x2', 'y', 'N'],
    name,
    grid: 5,
    block: 5,
  });

/** Numba's guide, matrix multiplication: a thread for each element. */
export const product = kernel(
  ({ threadIdx, blockIdx, blockDim }, a, b, c) => {
    const i = blockIdx.x * blockDim.x + threadIdx.x;
    const j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < c.shape[0]! && j < c.shape[1]!) {
      let sum = 0;
      for (let k = 0; k < a.shape[1]!; k++) sum += a.at(i, k) * b.at(k, j);
      c[c.index(i, j)] = sum;
    }
  },
  {
    inputs: { a: { dtype: 'float64', ndim: 2 }, b: { dtype: 'float64', ndim: 2 } },
    outputs: { c: { dtype: 'float64', shape: ({ a, b }) => [a.shape[0]!, b.shape[1]!] } },
    grid: ({ c }) => [Math.ceil(c.shape[0]! / 4), Math.ceil(c.shape[1]! / 4)],
    block: [4, 4],
  },
);

/** Numba's guide, transposition by tiles in shared memory, with a column more so that no bank is met twice. */
export const transposed = kernel(
  ({ threadIdx, blockIdx, shared, sync }, x, y) => {
    const tile = shared('float32', [8, 9]);
    const [rows, columns] = x.shape;
    const i = blockIdx.y * 8 + threadIdx.y;
    const j = blockIdx.x * 8 + threadIdx.x;
    if (i < rows! && j < columns!) tile[tile.index(threadIdx.y, threadIdx.x)] = x.at(i, j);
    sync();
    const row = blockIdx.x * 8 + threadIdx.y;
    const column = blockIdx.y * 8 + threadIdx.x;
    if (row < columns! && column < rows!) y[y.index(row, column)] = tile.at(threadIdx.x, threadIdx.y);
  },
  {
    inputs: { x: { dtype: 'float32', ndim: 2 } },
    outputs: { y: { dtype: 'float32', shape: ({ x }) => [x.shape[1]!, x.shape[0]!] } },
    grid: ({ x }) => [Math.ceil(x.shape[1]! / 8), Math.ceil(x.shape[0]! / 8)],
    block: [8, 8],
  },
);

/** Numba's guide, Monte Carlo: each thread draws points of its own, by Marsaglia's xorshift of 32 bits. */
export const pointsInside = kernel(
  ({ threadIdx, blockIdx, blockDim }, points, inside) => {
    const i = blockIdx.x * blockDim.x + threadIdx.x;
    let state = (i + 1) * 2654435769;
    const drawn = (): number => {
      state ^= state << 13;
      state ^= state >>> 17;
      state ^= state << 5;
      return (state >>> 8) / 16777216;
    };
    let count = 0;
    for (let k = 0; k < points; k++) {
      const x = drawn();
      const y = drawn();
      if (x * x + y * y <= 1) count++;
    }
    inside[i] = count;
  },
  {
    inputs: { points: { scalar: 'int32' } },
    outputs: { inside: { dtype: 'int32', shape: 128 } },
    grid: 4,
    block: 32,
  },
);

/** Numba's guide, Laplace's equation: a step of Jacobi's, the mean of four neighbours; the border stays. */
export const relaxed = kernel(
  ({ threadIdx, blockIdx, blockDim }, a, b) => {
    const [rows, columns] = a.shape;
    const i = blockIdx.y * blockDim.y + threadIdx.y;
    const j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= 1 && i < rows! - 1 && j >= 1 && j < columns! - 1)
      b[b.index(i, j)] = 0.25 * (a.at(i, j + 1) + a.at(i, j - 1) + a.at(i - 1, j) + a.at(i + 1, j));
  },
  {
    inputs: { a: { dtype: 'float64', ndim: 2 } },
    outputs: { b: { initial: 'a' } },
    grid: ({ a }) => [Math.ceil(a.shape[1]! / 8), Math.ceil(a.shape[0]! / 8)],
    block: [8, 8],
  },
);

/** Numba's guide, `guvectorize('(n),()->(n)')`: rows with a number for each. */
export const rowsPlus = kernel(
  ({ threadIdx, blockIdx, blockDim }, x, y, out) => {
    const row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < x.shape[0]!)
      for (let k = 0; k < x.shape[1]!; k++) out[out.index(row, k)] = x.at(row, k) + y.at(row);
  },
  {
    inputs: { x: { dtype: 'int64', ndim: 2 }, y: { dtype: 'int64', ndim: 1 } },
    outputs: { out: { dtype: 'int64', shape: ({ x }) => x.shape } },
    grid: ({ x }) => Math.ceil(x.shape[0]! / 32),
    block: 32,
  },
);

/** A launch of a thread for each element, of numbers of float64. */
const ofEach = <const Names extends string>(...names: readonly Names[]) => ({
  inputs: Object.fromEntries(names.map((name) => [name, 'float64'])) as Record<Names, 'float64'>,
  grid: 3,
  block: 32,
});

/** Numba's guide, vector addition. */
export const vectorSum = kernel(
  ({ threadIdx, blockIdx, blockDim }, a, b, c) => {
    const i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < c.length) c[i] = a.at(i) + b.at(i);
  },
  { ...ofEach('a', 'b'), outputs: { c: { dtype: 'float64', shape: ({ a }) => a.shape } } },
);

/** Numba's guide, a function for the CPU and the GPU. */
export const businessLogic = (x: number, y: number, z: number): number =>
  4 * z * (2 * x - ((4 * y) / 2) * Math.PI);
export const applied = kernel(
  ({ threadIdx, blockIdx, blockDim }, a, b, c, r) => {
    const i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < r.length) r[i] = logic(a.at(i), b.at(i), Math.max(c.at(i), Math.sin(c.at(i))));
  },
  {
    ...ofEach('a', 'b', 'c'),
    outputs: { r: { dtype: 'float64', shape: ({ a }) => a.shape } },
    captures: { logic: businessLogic },
  },
);
declare const logic: typeof businessLogic;

/** Numba's guide, one-dimensional heat equation: a step, whose ends stay cold. */
export const cooled = kernel(
  ({ threadIdx, blockIdx, blockDim }, u, next) => {
    const i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= u.length) return;
    const isEnd = i === 0 || i === u.length - 1;
    next[i] = isEnd ? u.at(i) : u.at(i) + 0.25 * (u.at(i - 1) - 2 * u.at(i) + u.at(i + 1));
  },
  { ...ofEach('u'), outputs: { next: { dtype: 'float64', shape: ({ u }) => u.shape } } },
);

/** Numba's guide, sessions: clicks of one user, none of them long after the one before, by the place of the first. */
export const sessions = kernel(
  ({ threadIdx, blockIdx, blockDim }, user, time, longest, first) => {
    const n = user.length;
    const begins = (k: number): boolean =>
      k === 0 || user.at(k) !== user.at(k - 1) || time.at(k) - time.at(k - 1) > longest;
    const i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || !begins(i)) return;
    first[i] = i;
    for (let k = i + 1; k < n; k++) {
      if (begins(k)) break;
      first[k] = i;
    }
  },
  {
    inputs: { user: 'int64', time: 'int64', longest: { scalar: 'int64' } },
    outputs: { first: { dtype: 'int64', shape: ({ user }) => user.shape } },
    grid: ({ user }) => Math.ceil(user.size / 32),
    block: 32,
  },
);
