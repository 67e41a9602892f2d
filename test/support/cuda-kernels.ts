/** Kernels in CUDA C that tests and GPUs run: those of users' guides of CuPy and Numba, and common ones. */
import { kernel } from '../../src/api/kernels.js';

/** CuPy's user guide, raw kernels. */
export const myAdd = kernel(
  `extern "C" __global__
void my_add(const float* x1, const float* x2, float* y) {
  int tid = blockDim.x * blockIdx.x + threadIdx.x;
  y[tid] = x1[tid] + x2[tid];
}
`,
  {
    inputs: { x1: 'float32', x2: 'float32' },
    outputs: { y: { dtype: 'float32', shape: ({ x1 }) => x1.shape } },
    grid: ({ x1 }) => Math.ceil(x1.size / 5),
    block: 5,
  },
);

/** CuPy's user guide, complex numbers: with a struct in the place of CuPy's own header. */
export const complexAdd = kernel(
  `template <typename T> struct complex { T re, im; };
extern "C" __global__
void my_func(const complex<float>* x1, const complex<float>* x2, complex<float>* y, float a) {
  int tid = blockDim.x * blockIdx.x + threadIdx.x;
  y[tid].re = x1[tid].re + a * x2[tid].re;
  y[tid].im = x1[tid].im + a * x2[tid].im;
}
`,
  {
    inputs: { x1: 'complex64', x2: 'complex64', a: { scalar: 'float32' } },
    outputs: { y: { dtype: 'complex64', shape: ({ x1 }) => x1.shape } },
    parameters: ['x1', 'x2', 'y', 'a'],
    grid: 5,
    block: ({ x1 }) => x1.size / 5,
  },
);

/** CuPy's user guide, raw modules: templates with named instantiations. */
const TEMPLATES = `template<typename T>
__global__ void fx3(T* arr, int N) {
  unsigned int tid = blockIdx.x * blockDim.x + threadIdx.x;
  if (tid < N) {
    arr[tid] = arr[tid] * 3;
  }
}

template<typename T, int K>
__global__ void __launch_bounds__(256)
scaled(const T* x, T* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * T(K);
}
`;

export const fx3 = kernel(TEMPLATES, {
  inputs: { x: { dtype: ['float32', 'float64', 'int32'] }, N: { scalar: 'int32' } },
  outputs: { arr: { initial: 'x' } },
  name: ({ x }) => ({ float32: 'fx3<float>', float64: 'fx3<double>' })[x.dtype as string] ?? 'fx3<int>',
  parameters: ['arr', 'N'],
  grid: ({ x }) => Math.ceil(x.size / 32),
  block: 32,
});

export const scaled = kernel(TEMPLATES, {
  inputs: { x: 'float64', n: { scalar: 'int32' } },
  outputs: { y: { dtype: 'float64', shape: ({ x }) => x.shape } },
  name: 'scaled<double, 7>',
  parameters: ['x', 'y', 'n'],
  grid: ({ n }) => Math.ceil(n / 256),
  block: 256,
});

/** A matrix product by tiles in shared memory; Numba's guide has it in Python. */
export const tiledProduct = kernel(
  `#define TILE 16
extern "C" __global__ void product(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float as[TILE][TILE];
  __shared__ float bs[TILE][TILE];
  const int row = blockIdx.y * TILE + threadIdx.y;
  const int column = blockIdx.x * TILE + threadIdx.x;
  float sum = 0.0f;
  for (int at = 0; at < k; at += TILE) {
    as[threadIdx.y][threadIdx.x] = row < m && at + threadIdx.x < k ? a[row * k + at + threadIdx.x] : 0.0f;
    bs[threadIdx.y][threadIdx.x] = at + threadIdx.y < k && column < n ? b[(at + threadIdx.y) * n + column] : 0.0f;
    __syncthreads();
    for (int i = 0; i < TILE; i++) sum += as[threadIdx.y][i] * bs[i][threadIdx.x];
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = sum;
}
`,
  {
    inputs: {
      a: { dtype: 'float32', ndim: 2 },
      b: { dtype: 'float32', ndim: 2 },
      m: { scalar: 'int32' },
      n: { scalar: 'int32' },
      k: { scalar: 'int32' },
    },
    outputs: { c: { dtype: 'float32', shape: ({ m, n }) => [m, n] } },
    parameters: ['a', 'b', 'c', 'm', 'n', 'k'],
    grid: ({ m, n }) => [Math.ceil(n / 16), Math.ceil(m / 16)],
    block: [16, 16],
  },
);

/** Counts of bytes: each block counts in dynamic shared memory, then adds its counts by atomic operations. */
export const histogram = kernel(
  `extern "C" __global__ void histogram(const unsigned char* x, unsigned int* counts, int n) {
  extern __shared__ unsigned int own[];
  for (int k = threadIdx.x; k < 256; k += blockDim.x) own[k] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&own[x[i]], 1u);
  __syncthreads();
  for (int k = threadIdx.x; k < 256; k += blockDim.x) atomicAdd(&counts[k], own[k]);
}
`,
  {
    inputs: { x: 'uint8', n: { scalar: 'int32' } },
    outputs: { counts: { dtype: 'uint32', shape: 256, initial: 0 } },
    parameters: ['x', 'counts', 'n'],
    grid: ({ n }) => Math.min(1056, Math.ceil(n / 256)),
    block: 256,
    shared: 256 * 4,
  },
);

/** Two outputs, one of which begins as an input. */
export const accumulate = kernel(
  `extern "C" __global__ void accumulate(const int* x, int* total, int* doubled, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { doubled[i] = 2 * x[i]; atomicAdd(total, x[i]); }
}
`,
  {
    inputs: { x: 'int32', start: 'int32', n: { scalar: 'int32' } },
    outputs: { total: { initial: 'start' }, doubled: { dtype: 'int32', shape: ({ n }) => n } },
    parameters: ['x', 'total', 'doubled', 'n'],
    grid: ({ n }) => Math.ceil(n / 64),
    block: 64,
  },
);

/** A mean of three neighbours, in parts: a block writes 256 elements, and reads one more on each side. */
export const smooth = kernel(
  `extern "C" __global__ void smooth(const float* x, float* y, int n, unsigned int firstBlock) {
  int i = (firstBlock + blockIdx.x) * 256 + threadIdx.x;
  if (i >= n) return;
  float left = x[i == 0 ? 0 : i - 1], right = x[i == n - 1 ? i : i + 1];
  y[i] = (left + x[i] + right) / 3.0f;
}
`,
  {
    inputs: { x: 'float32', n: { scalar: 'int32' } },
    outputs: { y: { dtype: 'float32', shape: ({ x }) => x.shape } },
    parameters: ['x', 'y', 'n', 'firstBlock'],
    grid: ({ x }) => Math.ceil(x.size / 256),
    block: 256,
    cuts: { parts: { x: { size: 256, before: 1, after: 1 }, y: 256 } },
  },
);

/** Life on a torus, in parts of rows along y: a block writes eight rows. */
export const life = kernel(
  `extern "C" __global__ void life(const unsigned char* x, unsigned char* y, int rows, int columns, unsigned int firstBlock) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  int r = (firstBlock + blockIdx.y) * 8 + threadIdx.y;
  if (c >= columns || r >= rows) return;
  int neighbours = 0;
  for (int i = -1; i <= 1; i++)
    for (int k = -1; k <= 1; k++)
      if (i != 0 || k != 0) neighbours += x[(r + i + rows) % rows * columns + (c + k + columns) % columns];
  unsigned char alive = x[r * columns + c];
  y[r * columns + c] = neighbours == 3 || (alive && neighbours == 2);
}
`,
  {
    inputs: { x: { dtype: 'uint8', ndim: 2 }, rows: { scalar: 'int32' }, columns: { scalar: 'int32' } },
    outputs: { y: { dtype: 'uint8', shape: ({ x }) => x.shape } },
    parameters: ['x', 'y', 'rows', 'columns'],
    grid: ({ rows, columns }) => [Math.ceil(columns / 32), Math.ceil(rows / 8)],
    block: [32, 8],
    cuts: ({ columns }) => ({ axis: 'y', parts: { y: 8 * columns } }),
  },
);
