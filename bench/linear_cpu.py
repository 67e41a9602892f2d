#!/usr/bin/env python3
"""Dense linear algebra of NumPy and SciPy, in milliseconds of processor time: the peers of `linear-cpu.ts`, whose options
it has, and the matrices of the same sizes. `--peer numpy|scipy`; prints a JSON line for each function and size."""
import argparse
import json
import time

import numpy as np
import scipy.linalg

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--peer", choices=["numpy", "scipy"], default="numpy")
parser.add_argument("--only", default="")
parser.add_argument("--sizes", default="100,500,1000,1024x16")
parser.add_argument("--dtype", default="float64")
parser.add_argument("--seconds", type=float, default=2.0)
options = parser.parse_args()

NUMPY = {
    "solve": lambda a: np.linalg.solve(a, a[..., :1]),
    "inv": np.linalg.inv,
    "det": np.linalg.slogdet,
    "cholesky": np.linalg.cholesky,
    "qr": np.linalg.qr,
    "svd": lambda a: np.linalg.svd(a, full_matrices=False),
    "svdvals": np.linalg.svdvals,
    "eigh": np.linalg.eigh,
    "eigvalsh": np.linalg.eigvalsh,
    "eig": np.linalg.eig,
    "lstsq": lambda a: np.linalg.lstsq(a, a[..., :1], rcond=None),
}
SCIPY = {
    "solve": lambda a: scipy.linalg.solve(a, a[..., :1]),
    "inv": scipy.linalg.inv,
    "det": scipy.linalg.det,
    "cholesky": lambda a: scipy.linalg.cholesky(a, lower=True),
    "qr": lambda a: scipy.linalg.qr(a, mode="economic"),
    "svd": lambda a: scipy.linalg.svd(a, full_matrices=False),
    "svdvals": scipy.linalg.svdvals,
    "eigh": scipy.linalg.eigh,
    "eigvalsh": scipy.linalg.eigvalsh,
    "eig": scipy.linalg.eig,
    "lstsq": lambda a: scipy.linalg.lstsq(a, a[..., :1]),
}


def matrix(name, size):
    numbers = [int(each) for each in size.split("x")]
    shape = (*numbers, numbers[-1])
    a = np.random.default_rng(1).standard_normal(shape)
    if name == "cholesky":
        a = a @ np.swapaxes(a, -1, -2) + np.eye(shape[-1]) * shape[-1]
    return a.astype(options.dtype)


def measure(run):
    run()
    processor = elapsed = float("inf")
    begin, k = time.perf_counter(), 0
    while k < 3 or time.perf_counter() - begin < options.seconds:
        before, at = time.process_time(), time.perf_counter()
        run()
        processor = min(processor, time.process_time() - before)
        elapsed = min(elapsed, time.perf_counter() - at)
        k += 1
    return processor, elapsed


functions = NUMPY if options.peer == "numpy" else SCIPY
for name in options.only.split(",") if options.only else functions:
    for size in options.sizes.split(","):
        if name == "lstsq" and "x" in size:
            continue  # One matrix at a time.
        a = matrix(name, size)
        processor, elapsed = measure(lambda: functions[name](a))
        print(json.dumps({"function": name, "size": size, "dtype": options.dtype,
                          "peer": {"numpy": "NumPy", "scipy": "SciPy"}[options.peer],
                          "cpu_ms": float(f"{processor * 1e3:.4g}"), "ms": float(f"{elapsed * 1e3:.4g}")}), flush=True)
