#!/usr/bin/env python3
"""The jobs of out-of-core.ts with CuPy and with PyTorch as their users write them, and what the machine itself moves.

  peers-out-of-core.py --make-file x.npy [--gib 40]            writes the file that the jobs read
  peers-out-of-core.py --peer machine [--file x.npy]           rates of the bus, of host memory and of the disk
  peers-out-of-core.py --peer cupy|torch [--gib 16] [--file x.npy] [--file-gib 8] [--only name,name] [--repeats 2]

Prints a JSON line for each job, or two: without a limit on device memory, and within the budget that out-of-core.ts gives
the job (`name` then ends with it). A job that fails has its error there. Of the file, peers read the first --file-gib GiB.
"""
import argparse
import functools
import gc
import json
import mmap
import os
import sys
import threading
import time

import numpy as np

GIB = 1 << 30
MIB = 1 << 20
PATTERN = ((np.arange(1 << 20, dtype=np.int64) * 7919) % 2003 - 301).astype(np.float32)


def emit(peer, name, **fields):
    print(json.dumps({"peer": peer, "name": name, **fields}), flush=True)


def significant(value):
    return float(f"{value:.4g}")


def in_threads(count, work):
    """Runs work(k) in threads; gives the seconds."""
    threads = [threading.Thread(target=work, args=(k,)) for k in range(count)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - start


class Counter:
    def __init__(self):
        self.value, self.lock = 0, threading.Lock()

    def next(self):
        with self.lock:
            self.value += 1
            return self.value - 1


# The file: a header of 128 bytes, then the pattern over and over. Written past the system's cache.


def make_file(path, gib):
    length = int(gib * GIB) // PATTERN.nbytes * PATTERN.size
    with open(path, "wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": (length,)})
        header = file.tell()
    # Blocks of the file as it is on the disk: the header moves the pattern by its length.
    shifted = np.roll(PATTERN.view(np.uint8), header)
    block = mmap.mmap(-1, PATTERN.nbytes)
    block.write(shifted.tobytes())
    with open(path, "r+b") as file:
        os.posix_fallocate(file.fileno(), 0, header + length * 4)
    fd = os.open(path, os.O_WRONLY | os.O_DIRECT)
    blocks, counter = length // PATTERN.size, Counter()

    def write(_):
        while (i := counter.next()) < blocks:
            if i > 0:
                os.pwritev(fd, [block], i * PATTERN.nbytes)

    seconds = in_threads(8, write)
    os.close(fd)
    with open(path, "r+b") as file:
        # The first block begins after the header, the last has the rest.
        file.seek(header)
        file.write(PATTERN.tobytes()[: PATTERN.nbytes - header])
        file.seek(blocks * PATTERN.nbytes)
        file.write(PATTERN.tobytes()[PATTERN.nbytes - header:])
        file.flush()
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    emit("machine", "write of the file", GBs=significant(length * 4 / seconds / 1e9), bytes=length * 4)


def disk_rates(path):
    """The disk's own rate, read directly by several threads; each way on a part of the file of its own."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
    size = os.fstat(fd).st_size
    at = 0
    for threads, block in [(8, 4 * MIB), (8, MIB), (16, MIB), (4, 4 * MIB)] * 2:
        buffers = [mmap.mmap(-1, block) for _ in range(threads)]
        span, counter, done = min(4 * GIB, size // 8), Counter(), [0] * threads
        end, begin = time.perf_counter() + 2, at // block * block

        def read(k):
            while (i := counter.next()) < span // block and time.perf_counter() < end:
                done[k] += os.preadv(fd, [buffers[k]], begin + i * block)

        seconds = in_threads(threads, read)
        emit("machine", f"disk, read directly, {threads} x {block // MIB} MiB", GBs=significant(sum(done) / seconds / 1e9))
        at += span
    os.close(fd)


def bus_rates():
    import cupy as cp

    size = GIB
    device = [cp.empty(size, cp.uint8) for _ in range(2)]
    pinned = [cp.cuda.alloc_pinned_memory(size) for _ in range(2)]
    streams = [cp.cuda.Stream(non_blocking=True) for _ in range(2)]
    to, back = cp.cuda.runtime.memcpyHostToDevice, cp.cuda.runtime.memcpyDeviceToHost

    def copy(ways):
        best = float("inf")
        for _ in range(4):
            start = time.perf_counter()
            for _ in range(4):
                if "up" in ways:
                    cp.cuda.runtime.memcpyAsync(device[0].data.ptr, pinned[0].ptr, size, to, streams[0].ptr)
                if "down" in ways:
                    cp.cuda.runtime.memcpyAsync(pinned[1].ptr, device[1].data.ptr, size, back, streams[1].ptr)
            for stream in streams:
                stream.synchronize()
            best = min(best, time.perf_counter() - start)
        return 4 * size * len(ways) / best / 1e9

    emit("machine", "pinned, to the device", GBs=significant(copy(["up"])))
    emit("machine", "pinned, from the device", GBs=significant(copy(["down"])))
    emit("machine", "pinned, both ways", GBs=significant(copy(["up", "down"])))
    ordinary = np.ones(size, np.uint8)
    times = []
    for _ in range(3):
        start = time.perf_counter()
        cp.cuda.runtime.memcpy(device[0].data.ptr, ordinary.ctypes.data, size, to)
        times.append(time.perf_counter() - start)
    emit("machine", "ordinary memory, by the driver", GBs=significant(size / min(times) / 1e9))


def memory_rates():
    """Host memory copied by 8 and 16 threads, through memcpy."""
    source, target = np.ones(2 * GIB, np.uint8), np.ones(2 * GIB, np.uint8)
    for threads in (8, 16):
        part = source.size // threads

        def copy(k):
            target[k * part:(k + 1) * part] = source[k * part:(k + 1) * part]

        seconds = min(in_threads(threads, copy) for _ in range(3))
        emit("machine", f"memcpy, {threads} threads", GBs=significant(source.size / seconds / 1e9))


# The peers. Each has: from_host, to_host, resident, xp-like functions, a limit on device memory.


class CuPy:
    def __init__(self):
        import cupy
        import cupyx

        self.cp, self.cupyx = cupy, cupyx
        self.pool = cupy.get_default_memory_pool()

    def limit(self, byte_length):
        self.free()
        self.pool.set_limit(size=byte_length or 0)

    def pinned(self, length):
        return self.cupyx.empty_pinned((length,), np.float32)

    def up(self, x):
        return self.cp.asarray(x)

    def down(self, x):
        return self.cp.asnumpy(x)

    def moments(self, x):
        y = self.cp.sqrt(self.cp.abs(x))
        return float(y.mean()), float(y.std())

    def nearest(self, x, y):
        return ((x[:, None] - y[None]) ** 2).sum(2).min(1)

    def standardize(self, x):
        return (x - x.mean(0)) / x.std(0)

    def total(self, x):
        return float(x.sum())

    def sync(self):
        self.cp.cuda.Device().synchronize()

    def free(self):
        gc.collect()
        self.pool.free_all_blocks()


class Torch:
    def __init__(self):
        import torch

        torch.backends.cuda.matmul.allow_tf32 = False
        self.torch = torch
        self.whole = torch.cuda.get_device_properties(0).total_memory

    def limit(self, byte_length):
        self.free()
        self.torch.cuda.set_per_process_memory_fraction(min(1.0, (byte_length or self.whole) / self.whole))

    def pinned(self, length):
        return self.torch.empty(length, dtype=self.torch.float32, pin_memory=True).numpy()

    def up(self, x):
        return self.torch.from_numpy(x).cuda()

    def down(self, x):
        return x.cpu().numpy()

    def moments(self, x):
        y = self.torch.sqrt(self.torch.abs(x))
        return float(y.mean()), float(y.std(correction=0))

    def nearest(self, x, y):
        return ((x[:, None] - y[None]) ** 2).sum(2).amin(1)

    def standardize(self, x):
        return (x - x.mean(0)) / x.std(0, correction=0)

    def total(self, x):
        return float(x.sum())

    def sync(self):
        self.torch.cuda.synchronize()

    def free(self):
        gc.collect()
        self.torch.cuda.empty_cache()


def patterns(length):
    x = np.empty(length, np.float32)
    whole = length // PATTERN.size * PATTERN.size
    x[:whole].reshape(-1, PATTERN.size)[:] = PATTERN
    x[whole:] = PATTERN[: length - whole]
    return x


def jobs(peer, gib, file, file_gib):
    """name → (function that makes the job, bytes, budget, operations). A job is a call and a check of what it gave."""
    length = max(1, int(gib * GIB) // PATTERN.nbytes) * PATTERN.size
    root = np.sqrt(np.abs(PATTERN.astype(np.float64)))
    close = lambda value, wanted: abs(value - wanted) <= 1e-3 * abs(wanted)
    whole = functools.cache(lambda: patterns(length))
    # Every job has a part of one array, which takes longer to make than most of them take.
    ordinary = lambda count: whole()[:count]

    def moments(x):
        return lambda: peer.moments(peer.up(x)), lambda r: close(r[0], root.mean()) and close(r[1], root.std())

    def pinned():
        x = peer.pinned(length)
        x.reshape(-1, PATTERN.size)[:] = PATTERN
        return moments(x)

    def there_and_back():
        x = ordinary(min(length, GIB))
        return (lambda: peer.down(peer.up(x) * 2 + 1),
                lambda y: bool((y.reshape(-1, PATTERN.size)[::37] == PATTERN * 2 + 1).all()))

    def standardize():
        x = ordinary(min(length, GIB // 2)).reshape(-1, 32)
        wanted = (x[:1000] - x.mean(0, dtype=np.float64)) / x.std(0, dtype=np.float64)
        return lambda: peer.down(peer.standardize(peer.up(x))), lambda y: bool(np.allclose(y[:1000], wanted, atol=1e-2))

    billion = min(10**9, length)

    def total(x, count):
        return (lambda: peer.total(peer.up(x)),
                lambda r: close(r, count / PATTERN.size * PATTERN.mean(dtype=np.float64) * PATTERN.size))

    def of_file():
        count = min(int(file_gib * GIB) // 4, np.load(file, mmap_mode="r").size)
        with open(file, "rb") as opened:
            os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        load = lambda: np.ascontiguousarray(np.load(file, mmap_mode="r")[:count])
        return (lambda: peer.total(peer.up(load())),
                lambda r: close(r, count * PATTERN.mean(dtype=np.float64)))

    def nearest():
        i = np.arange(100_000 * 16, dtype=np.float64)
        x, y = (f(i).astype(np.float32).reshape(-1, 16) for f in (np.sin, np.cos))
        wanted = ((x[0].astype(np.float64) - y) ** 2).sum(1).min()
        return (lambda: peer.down(peer.nearest(peer.up(x), peer.up(y))),
                lambda r: abs(float(r[0]) - wanted) < 1e-3)

    n = 16384

    @functools.cache
    def matrices():
        period = np.arange(17)
        rows = [((period * step) % 17 / 17).astype(np.float32) for step in (7, 5)]
        return [np.tile(row, n * n // 17 + 1)[: n * n].reshape(n, n) for row in rows]

    def product(resident):
        a, b = matrices()
        wanted = float(a[1].astype(np.float64) @ b[:, 2].astype(np.float64))
        right = lambda c: close(float(c[1, 2]), wanted)
        if not resident:
            return lambda: peer.down(peer.up(a) @ peer.up(b)), right
        x, y = peer.up(a), peer.up(b)
        return lambda: x @ y, right

    made = {
        "moments of ordinary arrays": (lambda: moments(ordinary(length)), length * 4, 2 * GIB, None),
        "moments of pinned arrays": (pinned, length * 4, 2 * GIB, None),
        "map there and back": (there_and_back, 2 * min(length, GIB) * 4, GIB, None),
        "standardize columns": (standardize, 2 * min(length, GIB // 2) * 4, GIB // 2, None),
        "sum of 1e9 in 256 MiB": (lambda: total(ordinary(billion), billion), billion * 4, 256 * MIB, None),
        "nearest of pairs in 256 MiB": (nearest, 2 * 100_000 * 64 + 400_000, 256 * MIB, None),
        "product, resident": (lambda: product(True), 3 * n * n * 4, None, 2 * n**3),
        "product, from the host": (lambda: product(False), 3 * n * n * 4, n * n * 4, 2 * n**3),
    }
    if file:
        count = min(int(file_gib * GIB) // 4, np.load(file, mmap_mode="r").size)
        made["sum of a file"] = (of_file, count * 4, GIB, None)
    return made


def measure(peer, label, name, make, byte_length, flops, repeats):
    try:
        call, right = make()
        times = []
        for _ in range(repeats + 1):
            peer.sync()
            start = time.perf_counter()
            result = call()
            peer.sync()
            times.append(time.perf_counter() - start)
        least = min(times[1:] or times)
        extra = {} if flops is None else {"TFLOPs": significant(flops / least / 1e12)}
        if not right(result):
            extra["error"] = f"wrong results: {str(result)[:80]}"
        emit(label, name, first=significant(times[0] * 1e3), least=significant(least * 1e3),
             GBs=significant(byte_length / least / 1e9), **extra)
    except Exception as error:  # the outcome is what is reported
        emit(label, name, error=f"{type(error).__name__}: {str(error).splitlines()[0][:200]}")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--make-file")
    ap.add_argument("--peer", choices=["machine", "cupy", "torch"])
    ap.add_argument("--gib", type=float, default=None)
    ap.add_argument("--file")
    ap.add_argument("--file-gib", type=float, default=8)
    ap.add_argument("--only", default="")
    ap.add_argument("--repeats", type=int, default=2)
    args = ap.parse_args()
    if args.make_file:
        return make_file(args.make_file, args.gib or 40)
    only = [part for part in args.only.split(",") if part]
    if args.peer == "machine":
        wanted = lambda part: not only or part in only
        if wanted("bus"):
            bus_rates()
        if wanted("memory"):
            memory_rates()
        if args.file and wanted("disk"):
            disk_rates(args.file)
        return None
    peer = CuPy() if args.peer == "cupy" else Torch()
    for name, (make, byte_length, budget, flops) in jobs(peer, args.gib or 16, args.file, args.file_gib).items():
        if only and not any(part in name for part in only):
            continue
        # A file is read from the disk once.
        repeats = 0 if "file" in name else args.repeats
        peer.limit(None)
        measure(peer, args.peer, name, make, byte_length, flops, repeats)
        if budget is not None:
            peer.limit(budget)
            measure(peer, args.peer, f"{name}, within {budget // MIB} MiB", make, byte_length, flops, 0)
        peer.limit(None)
    return None


if __name__ == "__main__":
    sys.exit(main())
