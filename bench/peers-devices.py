"""What bench/devices.ts does, by hand in PyTorch or CuPy:
`python3 bench/peers-devices.py [--library torch] [--devices 1,2,4] [--scale 1] [--only a,b] [--repeats 3]
[--seconds 60]`.

Prints a JSON line for each workload: for each count of devices the seconds, and the ratios to the first. Arrays are split
by hand along their first axis, partial results meet on the first device or the host. One thread issues the work; from
ordinary memory each device has one, whose copies to and from pinned memory have helpers. PyTorch is eager, CuPy has a
fused kernel for each map and reduction, as one would write it. After `--seconds` no other workload is begun; a workload
is repeated for a second at most.
"""

import importlib
import json
import sys
import time

from by_hand import counts, options

begin = time.perf_counter()
by_library = importlib.import_module(f"by_hand_{options.library}")
workloads, clear = by_library.workloads()
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
        "library": by_library.VERSION,
        "seconds": {str(count): float(f"{each:.4g}") for count, each in zip(counts, seconds)},
        "ratios": {str(count): float(f"{seconds[0] / each:.4g}") for count, each in zip(counts[1:], seconds[1:])},
        "atSecond": round(time.perf_counter() - begin, 1),
    }
    print(json.dumps(line), flush=True)
