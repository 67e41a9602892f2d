"""The rows of `own-kernels.ts` in CUDA C by hand, compiled by NVRTC, and in Numba where it is installed: a JSON line for
each, with the milliseconds that events of the device tell. What is written by hand is written for speed: 16 bytes a load,
shuffles in place of shared memory.

    python3 bench/peers-own-kernels.py [--scale small] [--calls 20]
"""

import argparse
import json
import statistics

import cupy
import numpy

parser = argparse.ArgumentParser()
parser.add_argument("--scale", default="full", choices=["full", "small"])
parser.add_argument("--calls", type=int, default=20)
options = parser.parse_args()
SMALL = options.scale == "small"

SOURCE = r"""
template <int WARPS, class T> __device__ T block_sum(T sum) {
  __shared__ T sums[WARPS];
  for (int k = 16; k > 0; k /= 2) sum += __shfl_down_sync(~0u, sum, k);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = threadIdx.x < WARPS ? sums[threadIdx.x] : T(0);
  for (int k = WARPS / 2; k > 0; k /= 2) sum += __shfl_down_sync(~0u, sum, k);
  return sum;
}
extern "C" {
__global__ void mandelbrot(int* o, int w, int h, int steps) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= w * h) return;
  float a = -2.f + 3.f * (i % w) / w, b = -1.5f + 3.f * (i / w) / h, x = 0, y = 0;
  int n = 0;
  while (n < steps && x * x + y * y <= 4.f) { float t = x * x - y * y + a; y = 2 * x * y + b; x = t; ++n; }
  o[i] = n;
}
__device__ __forceinline__ float rooted(float x, float y) {
  float z = (x - y) * (x - y);
  return z > 0.5f ? sqrtf(z) : z;
}
__global__ void difference(const float* __restrict__ x, const float* __restrict__ y, float* __restrict__ z, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = rooted(x[i], y[i]);
}
__global__ void difference4(const float4* __restrict__ x, const float4* __restrict__ y, float4* __restrict__ z, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float4 a = x[i], b = y[i];
  z[i] = make_float4(rooted(a.x, b.x), rooted(a.y, b.y), rooted(a.z, b.z), rooted(a.w, b.w));
}
__global__ void relative4(const float4* __restrict__ x, const float4* __restrict__ y, float4* __restrict__ z, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float4 a = x[i], b = y[i];
  z[i] = make_float4(2 * (a.x - b.x) / (a.x + b.x), 2 * (a.y - b.y) / (a.y + b.y), 2 * (a.z - b.z) / (a.z + b.z),
                     2 * (a.w - b.w) / (a.w + b.w));
}
__global__ void row_norms(const float4* __restrict__ x, float* y, int columns) {
  const float4* row = x + (long long)blockIdx.x * (columns / 4);
  float sum = 0;
  for (int k = threadIdx.x; k < columns / 4; k += 256) {
    float4 v = row[k];
    sum += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
  }
  sum = block_sum<8>(sum);
  if (threadIdx.x == 0) y[blockIdx.x] = sqrtf(sum);
}
__global__ void __launch_bounds__(512) partial(const double2* __restrict__ x, double* sums, long long n) {
  double a = 0, b = 0;
  for (long long k = (long long)blockIdx.x * 512 + threadIdx.x; k < n; k += 512ll * gridDim.x) { a += x[k].x; b += x[k].y; }
  a = block_sum<16>(a + b);
  if (threadIdx.x == 0) sums[blockIdx.x] = a;
}
__global__ void __launch_bounds__(512) total(const double* sums, double* y, int n) {
  double a = 0;
  for (int k = threadIdx.x; k < n; k += 512) a += sums[k];
  a = block_sum<16>(a);
  if (threadIdx.x == 0) *y = a;
}
}
"""
module = cupy.RawModule(code=SOURCE, options=("--std=c++17",))


def milliseconds(call):
    call()
    times = []
    for _ in range(options.calls):
        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        cupy.cuda.Device().synchronize()
        start.record()
        call()
        end.record()
        end.synchronize()
        times.append(cupy.cuda.get_elapsed_time(start, end))
    return times


def line(workload, peer, call, result, bytes=None):
    times = milliseconds(call)
    ms = statistics.median(times)
    row = {"workload": workload, "peer": peer, "ms_median": round(ms, 5), "ms_min": round(min(times), 5)}
    if bytes is not None:
        row["gbps"] = round(bytes / ms / 1e6, 1)
    row["checksum"] = float(cupy.sum(result(), dtype="float64"))
    print(json.dumps(row), flush=True)


def launched(name, blocks, threads, arguments):
    function = module.get_function(name)
    return lambda: function((blocks,), (threads,), arguments)


def by_hand(side, steps, x, y, rows, halves):
    int32, int64 = cupy.int32, cupy.int64
    n, z, sums, one = x.size, cupy.empty_like(x), cupy.empty(4096), cupy.empty(1)
    counts, norms = cupy.empty((side, side), "int32"), cupy.empty(rows.shape[0], "float32")
    arguments = (counts, int32(side), int32(side), int32(steps))
    line("mandelbrot_escape", "by hand", launched("mandelbrot", side * side // 256, 256, arguments), lambda: counts)
    one_each = launched("difference", n // 256, 256, (x, y, z, int32(n)))
    line("elementwise_kernel", "by hand", one_each, lambda: z, 12 * n)
    four_each = launched("difference4", n // 1024, 256, (x, y, z, int32(n // 4)))
    line("elementwise_kernel", "by hand, float4", four_each, lambda: z, 12 * n)
    row_each = launched("row_norms", rows.shape[0], 256, (rows, norms, int32(rows.shape[1])))
    line("reduction_kernel", "by hand, float4", row_each, lambda: norms, 4 * rows.size)
    relative = launched("relative4", n // 1024, 256, (x, y, z, int32(n // 4)))
    line("numba_vectorize", "by hand, float4", relative, lambda: z, 12 * n)
    blocks = 4 * cupy.cuda.Device().attributes["MultiProcessorCount"]
    first = launched("partial", blocks, 512, (halves, sums, int64(halves.size // 2)))
    last = launched("total", 1, 512, (sums, one, int32(blocks)))
    line("numba_reduce", "by hand, double2", lambda: (first(), last()), lambda: one, 8 * halves.size)


def by_numba(side, steps, x, y, rows, halves):
    # Numba asks for a name that NumPy 2.5 has no more.
    if not hasattr(numpy, "row_stack"):
        numpy.row_stack = numpy.vstack
    from numba import cuda, float32, vectorize

    device = cuda.as_cuda_array
    n, z, counts = x.size, cupy.empty_like(x), cupy.empty((side, side), "int32")

    @cuda.jit(fastmath=False)
    def mandelbrot(out, steps):
        row, column = cuda.grid(2)
        if row >= out.shape[0] or column >= out.shape[1]:
            return
        a = float32(-2) + float32(3) * float32(column) / float32(out.shape[1])
        b = float32(-1.5) + float32(3) * float32(row) / float32(out.shape[0])
        u = v = float32(0)
        k = 0
        while k < steps and u * u + v * v <= float32(4):
            u, v = u * u - v * v + a, float32(2) * u * v + b
            k += 1
        out[row, column] = k

    @vectorize(["float32(float32, float32)"], target="cuda")
    def relative(a, b):
        return float32(2) * (a - b) / (a + b)

    add = cuda.reduce(lambda a, b: a + b)
    out = device(counts)
    line("mandelbrot_escape", "numba", lambda: mandelbrot[(side // 8, side // 32), (8, 32)](out, steps), lambda: counts)
    a, b, to = device(x), device(y), device(z)
    line("numba_vectorize", "numba", lambda: relative(a, b, out=to), lambda: z, 12 * n)
    held, one = device(halves), cupy.empty(1)
    result = device(one)
    line("numba_reduce", "numba", lambda: add(held, res=result), lambda: one, 8 * halves.size)


def main():
    side, steps = (64, 100) if SMALL else (4096, 1000)
    n = 2**18 if SMALL else 2**28
    shape = (256, 4096) if SMALL else (65536, 4096)
    cupy.random.seed(1)
    x, y = (1 + cupy.random.random(n, dtype="float32") for _ in range(2))
    arrays = (side, steps, x, y, cupy.random.random(shape, dtype="float32"), cupy.random.random(n // 2))
    by_hand(*arrays)
    try:
        by_numba(*arrays)
    except ImportError as error:
        print(json.dumps({"peer": "numba", "error": str(error)}))


main()
