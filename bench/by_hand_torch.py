"""Several devices by hand in PyTorch, eager. Called by `peers-devices.py`."""

import functools
import math
import os

import torch

from by_hand import CHUNK, by_device, in_turns, least, options, sized, split

torch.backends.cuda.matmul.allow_tf32 = False
VERSION = f"torch {torch.__version__}"


def workloads():
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
