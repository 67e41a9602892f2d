"""What bench/devices.ts does, by hand in PyTorch: `python3 bench/peers-devices.py [--devices 2] [--scale 1] [--only a,b]`.

Prints a JSON line for each workload: seconds on one device and on several, and the ratio. Arrays are split by hand along
their first axis, one thread issues the work, partial results are added on the first device.
"""

import argparse
import json
import math
import time

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--devices", type=int, default=2)
parser.add_argument("--scale", type=float, default=1)
parser.add_argument("--only", default="")
parser.add_argument("--repeats", type=int, default=5)
options = parser.parse_args()
torch.backends.cuda.matmul.allow_tf32 = False


def sized(n, unit=1024):
    return max(1, round(n * options.scale / unit)) * unit


def synchronize(count):
    for d in range(count):
        torch.cuda.synchronize(d)


def least(count, run):
    best = math.inf
    for k in range(options.repeats + 1):
        synchronize(count)
        start = time.perf_counter()
        run()
        synchronize(count)
        if k > 0:
            best = min(best, time.perf_counter() - start)
    return best


def values(first, n, device):
    """Like values32 of bench/devices.ts, made in parts so that no temporary is larger than a part."""
    x = torch.empty(n, device=device)
    part = 1 << 27
    for at in range(0, n, part):
        m = min(part, n - at)
        x[at : at + m] = (torch.arange(first + at, first + at + m, device=device) % 1009) / 1009 - 0.5
    return x


def split(n, count):
    return [(n * d // count, n * (d + 1) // count) for d in range(count)]


def shards(n, count):
    return [values(a, b - a, f"cuda:{d}") for d, (a, b) in enumerate(split(n, count))]


def in_parts(x, part=1 << 28):
    return [x[k : k + part] for k in range(0, len(x), part)]


def resident(count):
    parts = shards(sized(28e9), count)

    def run():
        # Parts at a time: the intermediate arrays of an eager map do not fit beside the array.
        sums, most = [], []
        for k in range(max(len(in_parts(p)) for p in parts)):
            for p in parts:
                pieces = in_parts(p)
                if k < len(pieces):
                    y = pieces[k].mul(2).add_(1).abs_()
                    sums.append(y.sum())
                    most.append(y.max())
        return sum(s.to("cuda:0") for s in sums), max(m.to("cuda:0") for m in most)

    return least(count, run)


def resident_map(count):
    parts = shards(sized(14e9), count)
    return least(count, lambda: [p.mul(2).add_(1) for p in parts])


def out_of_core(count):
    n = sized(2**31 / 2)
    x = torch.zeros(n)
    x[::512] = torch.arange(len(x[::512])) % 1000
    out = torch.empty(n)
    chunk = 1 << 26
    staging = [[torch.empty(chunk, pin_memory=True) for _ in range(2)] for _ in range(count)]

    def run():
        # Ordinary memory through a pinned buffer, double-buffered, one stream a device.
        pending = [None] * count
        for k, at in enumerate(range(0, n, chunk)):
            d = k % count
            m = min(chunk, n - at)
            up, down = staging[d]
            if pending[d] is not None:
                torch.cuda.synchronize(d)
                a, b = pending[d]
                out[a:b] = down[: b - a]
            up[:m] = x[at : at + m]
            y = up[:m].to(f"cuda:{d}", non_blocking=True)
            down[:m].copy_(y.mul(y).add_(1).sqrt_(), non_blocking=True)
            pending[d] = (at, at + m)
        for d in range(count):
            if pending[d] is not None:
                torch.cuda.synchronize(d)
                a, b = pending[d]
                out[a:b] = staging[d][1][: b - a]

    return least(count, run)


def matmul(count):
    n = sized(24576, 256)
    a = [x.reshape(-1, n) for x in shards(n * n, count)]
    b = [x.reshape(-1, n) for x in shards(n * n, count)]

    def run():
        for d in range(count):
            whole = torch.cat([x.to(f"cuda:{d}", non_blocking=True) for x in b]) if count > 1 else b[0]
            a[d] @ whole

    return least(count, run)


def pairs(count):
    n = sized(400_000)
    x = values(0, n * 3, "cuda:0").reshape(n, 3)
    copies = [x.to(f"cuda:{d}") for d in range(count)]
    rows = 4096

    def run():
        for k in range(0, math.ceil(n / count), rows):
            for d, (a, b) in enumerate(split(n, count)):
                at = a + k
                if at < b:
                    part = copies[d][at : min(at + rows, b)]
                    distance = torch.cdist(part, copies[d], compute_mode="donot_use_mm_for_euclid_dist")
                    distance.square_().mul_(-0.5).exp_().sum(1)

    return least(count, run)


def batch(count):
    side = max(256, round(4096 * math.sqrt(options.scale)))
    arrays = [torch.zeros(side, side) for _ in range(8)]

    def run():
        for k in range(256):
            x = arrays[k % 8].to(f"cuda:{k % count}", non_blocking=True) + k
            y = ((x - x.mean(0)) / (x.std(0, correction=0) + 1)).tanh().sum(1)
            y.to("cpu", non_blocking=True)

    return least(count, run)


WORKLOADS = {
    "resident": resident,
    "resident-map": resident_map,
    "out-of-core": out_of_core,
    "matmul": matmul,
    "pairs": pairs,
    "batch": batch,
}
only = options.only.split(",") if options.only else list(WORKLOADS)
for name in only:
    seconds = []
    for count in (1, options.devices):
        torch.cuda.empty_cache()
        seconds.append(WORKLOADS[name](count))
    one, several = seconds
    line = {
        "workload": name,
        "library": f"torch {torch.__version__}",
        "devices": options.devices,
        "oneSeconds": float(f"{one:.4g}"),
        "severalSeconds": float(f"{several:.4g}"),
        "ratio": float(f"{one / several:.4g}"),
    }
    print(json.dumps(line), flush=True)
