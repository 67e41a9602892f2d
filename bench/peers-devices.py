"""What bench/devices.ts does, by hand in PyTorch or CuPy:
`python3 bench/peers-devices.py [--library torch] [--devices 1,2,4] [--scale 1] [--only a,b] [--repeats 3]
[--seconds 60]`.

Prints a JSON line for each workload: for each count of devices the seconds, and the ratios to the first. Arrays are split
by hand along their first axis, partial results meet on the first device or the host. One thread issues the work; from
ordinary memory each device has one, whose copies to and from pinned memory have helpers. PyTorch is eager, CuPy has a
fused kernel for each map and reduction, as one would write it. After `--seconds` no other workload is begun; a workload
is repeated for a second at most.
"""

import argparse
import concurrent.futures
import functools
import json
import math
import os
import sys
import time

parser = argparse.ArgumentParser()
parser.add_argument("--library", choices=["torch", "cupy"], default="torch")
parser.add_argument("--devices", default="1,2")
parser.add_argument("--scale", type=float, default=1)
parser.add_argument("--only", default="")
parser.add_argument("--repeats", type=int, default=3)
parser.add_argument("--seconds", type=float, default=60)
options = parser.parse_args()
counts = [int(count) for count in options.devices.split(",")]
begin = time.perf_counter()
LONGEST = 1.0
# Elements of an array in ordinary memory that a device gets at a time.
CHUNK = 1 << 25
if options.library == "torch":
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    VERSION = f"torch {torch.__version__}"
else:
    import cupy
    import cupyx
    import numpy

    VERSION = f"cupy {cupy.__version__}"


def sized(n, unit=1024):
    return max(1, round(n * options.scale / unit)) * unit


def split(n, count):
    return [(n * d // count, n * (d + 1) // count) for d in range(count)]


def least(count, synchronize, run, warm=None):
    """The least seconds of some runs, after one that does not count, or `warm`."""
    (warm or run)()
    synchronize(count)
    best, spent = math.inf, 0.0
    for k in range(options.repeats):
        if k > 0 and spent > LONGEST:
            break
        start = time.perf_counter()
        run()
        synchronize(count)
        seconds = time.perf_counter() - start
        best, spent = min(best, seconds), spent + seconds
    return best


def by_device(count, share):
    """Calls `share` for every device, each in a thread of its own."""
    with concurrent.futures.ThreadPoolExecutor(count) as threads:
        for each in [threads.submit(share, d) for d in range(count)]:
            each.result()


def in_turns(first, last, chunk, send, land):
    """Sends chunks of a range through two slots; a slot is landed before it is used again, and at the end."""
    flying = [None, None]
    for k, at in enumerate(range(first, last, chunk)):
        if flying[k % 2] is not None:
            land(k % 2, *flying[k % 2])
        flying[k % 2] = (at, min(chunk, last - at))
        send(k % 2, *flying[k % 2])
    for slot in sorted((0, 1), key=lambda slot: flying[slot] or (0, 0)):
        if flying[slot] is not None:
            land(slot, *flying[slot])


def torch_workloads():
    def synchronize(count):
        for d in range(count):
            torch.cuda.synchronize(d)

    def values(first, n, device):
        """Like values32 of bench/devices.ts, made in parts so that no temporary is larger than a part."""
        x = torch.empty(n, device=device)
        part = 1 << 27
        for at in range(0, n, part):
            m = min(part, n - at)
            x[at : at + m] = (torch.arange(first + at, first + at + m, device=device) % 1009) / 1009 - 0.5
        return x

    def shards(n, count):
        return [values(a, b - a, f"cuda:{d}") for d, (a, b) in enumerate(split(n, count))]

    def in_parts(x, part=1 << 28):
        return [x[k : k + part] for k in range(0, len(x), part)]

    def resident(count):
        pieces = [in_parts(p) for p in shards(sized(28e9), count)]

        def run():
            # Parts at a time: the intermediate arrays of an eager map do not fit beside the array.
            sums, most = [], []
            for k in range(max(len(p) for p in pieces)):
                for p in pieces:
                    if k < len(p):
                        y = p[k].mul(2).add_(1).abs_()
                        sums.append(y.sum())
                        most.append(y.max())
            return sum(s.to("cuda:0") for s in sums), max(m.to("cuda:0") for m in most)

        return least(count, synchronize, run)

    def resident_map(count):
        parts = shards(sized(14e9), count)
        return least(count, synchronize, lambda: [p.mul(2).add_(1) for p in parts])

    @functools.cache
    def ordinary():
        n = sized(2**17, 64) * 8192
        x = torch.zeros(n)
        x[::64] = torch.arange(len(x[::64])) % 1000
        return x, torch.zeros(n)

    @functools.cache
    def slots(d):
        return [(torch.cuda.Stream(d), *(torch.empty(CHUNK, pin_memory=True) for _ in range(2))) for _ in range(2)]

    def from_ordinary(count, compute, width):
        """A function of rows of 8192 elements, whose results have `width` elements a row."""
        x, out = ordinary()

        def share(d):
            torch.set_num_threads(max(1, os.cpu_count() // count))
            a, b = split(len(x) // 8192, count)[d]

            def send(slot, at, m):
                stream, up, down = slots(d)[slot]
                up[: m * 8192].copy_(x[at * 8192 : (at + m) * 8192])
                with torch.cuda.stream(stream):
                    y = up[: m * 8192].to(f"cuda:{d}", non_blocking=True)
                    down[: m * width].copy_(compute(y), non_blocking=True)

            def land(slot, at, m):
                stream, _, down = slots(d)[slot]
                stream.synchronize()
                out[at * width : (at + m) * width].copy_(down[: m * width])

            in_turns(a, b, CHUNK // 8192, send, land)

        return least(count, synchronize, lambda: by_device(count, share))

    def out_of_core(count):
        return from_ordinary(count, lambda y: y.mul(y).add_(1).sqrt_(), 8192)

    def out_of_core_sums(count):
        return from_ordinary(count, lambda y: y.mul(y).add_(1).sqrt_().view(-1, 8192).sum(1), 1)

    @functools.cache
    def pinned_rows():
        x = torch.zeros(sized(2**17, 64), 8192, pin_memory=True)
        x.view(-1)[::64] = torch.arange(x.numel() // 64) % 1000
        return x

    def out_of_core_pinned(count):
        x = pinned_rows()
        out = torch.empty(len(x), pin_memory=True)
        rows = 4096
        streams = [[torch.cuda.Stream(d) for _ in range(2)] for d in range(count)]

        def run():
            # Two streams a device: one copies while the other computes.
            for k, at in enumerate(range(0, len(x), rows)):
                d = k % count
                with torch.cuda.stream(streams[d][k // count % 2]):
                    y = x[at : at + rows].to(f"cuda:{d}", non_blocking=True)
                    out[at : at + rows].copy_(y.mul_(y).add_(1).sqrt_().sum(1), non_blocking=True)

        return least(count, synchronize, run)

    def matmul(count):
        n = sized(24576, 256)
        a = [x.reshape(-1, n) for x in shards(n * n, count)]
        b = [x.reshape(-1, n) for x in shards(n * n, count)]

        def run():
            # All copies first: a copy comes after the product in the stream of the device that it is from.
            if count == 1:
                return [a[0] @ b[0]]
            wholes = [torch.cat([x.to(f"cuda:{d}", non_blocking=True) for x in b]) for d in range(count)]
            return [x @ whole for x, whole in zip(a, wholes)]

        return least(count, synchronize, run)

    def pairs(count):
        n = sized(400_000)
        x = values(0, n * 3, "cuda:0").reshape(n, 3)
        # With two more columns a product of both is -|x - y|² / 2.
        half, one = x.square().sum(1, keepdim=True).mul(-0.5), torch.ones(n, 1, device="cuda:0")
        left, right = torch.cat([x, one, half], 1), torch.cat([x, half, one], 1)
        lefts = [left.to(f"cuda:{d}") for d in range(count)]
        rights = [right.to(f"cuda:{d}").T.contiguous() for d in range(count)]
        rows = 4096

        def run(most=math.inf):
            for k in range(0, min(most, math.ceil(n / count)), rows):
                for d, (a, b) in enumerate(split(n, count)):
                    at = a + k
                    if at < b:
                        torch.mm(lefts[d][at : min(at + rows, b)], rights[d]).exp_().sum(1)

        return least(count, synchronize, run, lambda: run(rows))

    def batch_pinned(count):
        side = max(256, round(4096 * math.sqrt(options.scale)))
        arrays = [torch.zeros(side, side).pin_memory() for _ in range(8)]

        def run(jobs=256):
            for k in range(jobs):
                x = arrays[k % 8].to(f"cuda:{k % count}", non_blocking=True) + k
                y = ((x - x.mean(0)) / (x.std(0, correction=0) + 1)).tanh().sum(1)
                y.to("cpu", non_blocking=True)

        return least(count, synchronize, run, lambda: run(16))

    def clear():
        torch.cuda.empty_cache()

    jobs = [resident, resident_map, matmul, pairs, batch_pinned, out_of_core_pinned, out_of_core_sums, out_of_core]
    return {job.__name__.replace("_", "-"): job for job in jobs}, clear


def cupy_workloads():
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


workloads, clear = torch_workloads() if options.library == "torch" else cupy_workloads()
for name in options.only.split(",") if options.only else list(workloads):
    if time.perf_counter() - begin > options.seconds:
        print(f"{name}: not begun after {options.seconds} seconds", file=sys.stderr, flush=True)
        continue
    seconds = []
    for count in counts:
        clear()
        seconds.append(workloads[name](count))
    line = {
        "workload": name,
        "library": VERSION,
        "seconds": {str(count): float(f"{each:.4g}") for count, each in zip(counts, seconds)},
        "ratios": {str(count): float(f"{seconds[0] / each:.4g}") for count, each in zip(counts[1:], seconds[1:])},
        "atSecond": round(time.perf_counter() - begin, 1),
    }
    print(json.dumps(line), flush=True)
