"""Several devices by hand in CuPy, with a fused kernel for each map and reduction. Called by `peers-devices.py`."""

import concurrent.futures
import functools
import math
import os

import cupy
import cupyx
import numpy

from by_hand import CHUNK, by_device, counts, in_turns, least, options, sized, split

VERSION = f"cupy {cupy.__version__}"


def workloads():
    float32 = numpy.float32

    def synchronize(count):
        for d in range(count):
            with cupy.cuda.Device(d):
                cupy.cuda.get_current_stream().synchronize()

    fill = cupy.ElementwiseKernel(
        "int64 first", "float32 y", "y = (float)((first + i) % 1009) * (1.0f / 1009) - 0.5f", "weft_fill"
    )
    total = cupy.ReductionKernel("float32 x", "float32 y", "fabsf(x * 2 + 1)", "a + b", "y = a", "0", "weft_sum")
    largest = cupy.ReductionKernel(
        "float32 x", "float32 y", "fabsf(x * 2 + 1)", "max(a, b)", "y = a", "0", "weft_largest"
    )
    double = cupy.ElementwiseKernel("float32 x", "float32 y", "y = x * 2 + 1", "weft_double")
    root = cupy.ElementwiseKernel("float32 x", "float32 y", "y = sqrtf(x * x + 1)", "weft_root")
    kernel_sums = cupy.RawKernel(
        """extern "C" __global__ void weft_pairs(const float* x, float* y, long long first, int rows, int n) {
  __shared__ float p[256][3];
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  const float* own = x + 3 * (first + min(row, rows - 1));
  const float a = own[0], b = own[1], c = own[2];
  float sum = 0;
  for (int at = 0; at < n; at += 256) {
    __syncthreads();
    if (at + (int)threadIdx.x < n)
      for (int k = 0; k < 3; k++) p[threadIdx.x][k] = x[3 * (long long)(at + threadIdx.x) + k];
    __syncthreads();
    const int m = min(256, n - at);
    for (int j = 0; j < m; j++) {
      const float u = a - p[j][0], v = b - p[j][1], w = c - p[j][2];
      sum += expf(-0.5f * (u * u + v * v + w * w));
    }
  }
  if (row < rows) y[row] = sum;
}""",
        "weft_pairs",
    )

    def shards(n, count):
        arrays = []
        for d, (a, b) in enumerate(split(n, count)):
            with cupy.cuda.Device(d):
                x = cupy.empty(b - a, float32)
                fill(a, x)
                arrays.append(x)
        return arrays

    def each(arrays, run):
        results = []
        for d, x in enumerate(arrays):
            with cupy.cuda.Device(d):
                results.append(run(x))
        return results

    def resident(count):
        parts = shards(sized(28e9), count)

        def run():
            found = each(parts, lambda x: (total(x), largest(x)))
            return sum(float(s) for s, _ in found), max(float(m) for _, m in found)

        return least(count, synchronize, run)

    def resident_map(count):
        parts = shards(sized(14e9), count)
        return least(count, synchronize, lambda: each(parts, double))

    @functools.cache
    def ordinary():
        n = sized(2**17, 64) * 8192
        x, out = numpy.zeros(n, float32), numpy.zeros(n, float32)
        x[::64] = numpy.arange(len(x[::64])) % 1000
        out[::1024] = 1  # its pages are there
        return x, out

    @functools.cache
    def slots(d):
        with cupy.cuda.Device(d):
            streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(2)]
        return [(stream, *(cupyx.empty_pinned(CHUNK, float32) for _ in range(2))) for stream in streams]

    copiers = concurrent.futures.ThreadPoolExecutor(max(1, os.cpu_count() * 3 // 4))

    def copy(to, given):
        """By several threads."""
        part = 1 << 20
        parts = [slice(at, at + part) for at in range(0, len(given), part)]
        list(copiers.map(lambda each: numpy.copyto(to[each], given[each]), parts))

    def from_ordinary(count, compute, width):
        """A function of rows of 8192 elements, whose results have `width` elements a row."""
        x, out = ordinary()

        def share(d):
            a, b = split(len(x) // 8192, count)[d]

            def send(slot, at, m):
                stream, up, down = slots(d)[slot]
                copy(up[: m * 8192], x[at * 8192 : (at + m) * 8192])
                with cupy.cuda.Device(d), stream:
                    y = cupy.empty((m, 8192), float32)
                    y.set(up[: m * 8192].reshape(m, 8192), stream=stream)
                    compute(y).get(out=down[: m * width], stream=stream, blocking=False)

            def land(slot, at, m):
                stream, _, down = slots(d)[slot]
                with cupy.cuda.Device(d):
                    stream.synchronize()
                copy(out[at * width : (at + m) * width], down[: m * width])

            in_turns(a, b, CHUNK // 8192, send, land)

        return least(count, synchronize, lambda: by_device(count, share))

    def out_of_core(count):
        return from_ordinary(count, lambda y: root(y).reshape(-1), 8192)

    def out_of_core_sums(count):
        return from_ordinary(count, lambda y: root_sums(y, axis=1), 1)

    @functools.cache
    def pinned_rows():
        x = cupyx.zeros_pinned((sized(2**17, 64), 8192), float32)
        x.reshape(-1)[::64] = numpy.arange(x.size // 64) % 1000
        return x

    root_sums = cupy.ReductionKernel(
        "float32 x", "float32 y", "sqrtf(x * x + 1)", "a + b", "y = a", "0", "weft_root_sums"
    )

    def out_of_core_pinned(count):
        x = pinned_rows()
        out = cupyx.empty_pinned(len(x), float32)
        rows = 4096
        streams = []
        for d in range(count):
            with cupy.cuda.Device(d):
                streams.append([cupy.cuda.Stream(non_blocking=True) for _ in range(2)])

        def run():
            # Two streams a device: one copies while the other computes.
            for k, at in enumerate(range(0, len(x), rows)):
                d = k % count
                stream = streams[d][k // count % 2]
                with cupy.cuda.Device(d), stream:
                    y = cupy.empty((min(rows, len(x) - at), 8192), float32)
                    y.set(x[at : at + rows], stream=stream)
                    root_sums(y, axis=1).get(out=out[at : at + rows], stream=stream, blocking=False)
            for both in streams:
                for stream in both:
                    stream.synchronize()

        return least(count, synchronize, run)

    def matmul(count):
        n = sized(24576, 256)
        a = [x.reshape(-1, n) for x in shards(n * n, count)]
        b = [x.reshape(-1, n) for x in shards(n * n, count)]

        def gathered(d):
            whole = cupy.empty((n, n), float32)
            at = 0
            for x in b:
                to = whole[at : at + len(x)].data
                to.copy_from_device_async(x.data, x.nbytes, streams[d])
                at += len(x)
            return whole

        streams = []
        for d in range(count):
            with cupy.cuda.Device(d):
                streams.append(cupy.cuda.Stream(non_blocking=True))

        def run():
            wholes, results = [], []
            for d in range(count):
                with cupy.cuda.Device(d), streams[d]:
                    wholes.append(gathered(d) if count > 1 else b[0])
            for d in range(count):
                with cupy.cuda.Device(d), streams[d]:
                    results.append(a[d] @ wholes[d])
            for stream in streams:
                stream.synchronize()
            return results

        return least(count, synchronize, run)

    def pairs(count):
        n = sized(400_000)
        copies = []
        for d in range(count):
            with cupy.cuda.Device(d):
                x = cupy.empty(n * 3, float32)
                fill(0, x)
                copies.append(x)

        def run():
            for d, (a, b) in enumerate(split(n, count)):
                with cupy.cuda.Device(d):
                    y = cupy.empty(b - a, float32)
                    arguments = (copies[d], y, numpy.int64(a), numpy.int32(b - a), numpy.int32(n))
                    kernel_sums(((b - a + 255) // 256,), (256,), arguments)

        return least(count, synchronize, run)

    def batch_pinned(count):
        side = max(256, round(4096 * math.sqrt(options.scale)))
        arrays = [cupyx.zeros_pinned((side, side), float32) for _ in range(8)]
        results = [cupyx.empty_pinned(side, float32) for _ in range(256)]

        def run(jobs=256):
            for k in range(jobs):
                with cupy.cuda.Device(k % count):
                    stream = cupy.cuda.get_current_stream()
                    x = cupy.empty((side, side), float32)
                    x.set(arrays[k % 8], stream=stream)
                    x += k
                    y = cupy.tanh((x - x.mean(0)) / (x.std(0) + 1)).sum(1)
                    y.get(out=results[k], stream=stream, blocking=False)

        return least(count, synchronize, run, lambda: run(16))

    def clear():
        for d in range(max(counts)):
            with cupy.cuda.Device(d):
                cupy.get_default_memory_pool().free_all_blocks()

    jobs = [resident, resident_map, matmul, pairs, batch_pinned, out_of_core_pinned, out_of_core_sums, out_of_core]
    return {job.__name__.replace("_", "-"): job for job in jobs}, clear
