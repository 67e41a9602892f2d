"""Options of `peers-devices.py`, and what its workloads share: splitting, timing, a thread for each device."""

import argparse
import concurrent.futures
import math
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
LONGEST = 1.0
# Elements of an array in ordinary memory that a device gets at a time.
CHUNK = 1 << 25


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
