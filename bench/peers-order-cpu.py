"""Indexing, scans, sorting, searches, sets and bins on the CPU by NumPy, JAX and Numba: the rows of `orders`, `sorts`,
`searches` and `counts` in `cpu-workloads.ts`, one JSON line each, in the fields of `run.ts`.

    taskset -c 0,1 python3 bench/peers-order-cpu.py --peer numpy --seconds 0.5
    taskset -c 0,1 node dist/bench/run.js --device cpu --quiet 0 --budget 0.5 --only cumsum,sort

Each peer has the functions that its users would call: NumPy's own, `jax.numpy` compiled, loops for Numba, in parallel
where the loop is. What a peer has no function for is left out.
"""

import argparse
import json
import os
import statistics
import time

import numpy as np

parser = argparse.ArgumentParser()
parser.add_argument("--peer", choices=["numpy", "jax", "numba"], required=True)
parser.add_argument("--only", default="")
parser.add_argument("--seconds", type=float, default=1.0, help="seconds of repeats per workload")
options = parser.parse_args()
wanted = set(filter(None, options.only.split(",")))

N, K, BINS, SEGMENTS = 1 << 24, 1 << 22, 4096, 1 << 18
random = np.random.default_rng(1)


def uniform(n, low=0.0, high=1.0):
    return random.uniform(low, high, n).astype(np.float32)


X, Y, SIGNED = uniform(N), uniform(N), uniform(N, -1, 1)
IDS = random.integers(0, N, N)
COLUMNS = uniform(1 << 24).reshape(1 << 14, 1024)
SHORT, INTEGERS = uniform(K), random.integers(0, K // 4, K).astype(np.int32)
DOUBLES, LONGS = random.random(K), random.integers(0, 1 << 40, K)
TABLE, SORTED = SHORT.reshape(1 << 12, 1 << 10), np.sort(uniform(1 << 20))
ITEMS, TEST = (random.integers(0, 1 << 20, n).astype(np.int32) for n in (K, 1 << 16))
FEW, MANY = random.integers(0, BINS, N), random.integers(0, SEGMENTS, N)
INPUTS = {
    "take_random": (X, IDS),
    "take_fused": (X, IDS, Y),
    "cumsum": (X,),
    "cumsum_columns": (COLUMNS,),
    "sort": (SHORT,),
    "argsort": (SHORT,),
    "top_100": (X,),
    "median": (X,),
    "select_by_mask": (SIGNED,),
    "nonzero": (SIGNED,),
    "unique_int32": (INTEGERS,),
    "sort_float64": (DOUBLES,),
    "sort_int64": (LONGS,),
    "argsort_float64": (DOUBLES,),
    "sort_rows": (TABLE,),
    "sort_columns": (TABLE,),
    "argsort_rows": (TABLE,),
    "searchsorted": (SHORT, SORTED),
    "isin_int32": (ITEMS, TEST),
    "scatter_add": (X, MANY),
    "histogram_256": (X,),
    "bincount": (FEW,),
    "bincount_weights": (FEW, X),
}


def numpy_calls():
    def scatter_add(x, ids):
        out = np.zeros(SEGMENTS, np.float32)
        np.add.at(out, ids, x)
        return out

    return {
        "take_random": lambda x, ids: x[ids],
        "take_fused": lambda x, ids, y: np.exp(-x[ids]) * y + 1,
        "cumsum": np.cumsum,
        "cumsum_columns": lambda x: np.cumsum(x, axis=0),
        "sort": np.sort,
        "argsort": lambda x: np.argsort(x, kind="stable"),
        "top_100": lambda x: -np.sort(np.partition(-x, 99)[:100]),
        "median": np.median,
        "select_by_mask": lambda x: x[x > 0],
        "nonzero": lambda x: np.nonzero(x > 0.9)[0],
        "unique_int32": np.unique,
        "sort_float64": np.sort,
        "sort_int64": np.sort,
        "argsort_float64": lambda x: np.argsort(x, kind="stable"),
        "sort_rows": lambda x: np.sort(x, axis=1),
        "sort_columns": lambda x: np.sort(x, axis=0),
        "argsort_rows": lambda x: np.argsort(x, axis=1, kind="stable"),
        "searchsorted": lambda x, table: np.searchsorted(table, x),
        "isin_int32": np.isin,
        "scatter_add": scatter_add,
        "histogram_256": lambda x: np.histogram(x, 256, (0, 1))[0],
        "bincount": lambda ids: np.bincount(ids, minlength=BINS),
        "bincount_weights": lambda ids, x: np.bincount(ids, x, BINS),
    }


def jax_calls():
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    compiled = {
        "take_random": lambda x, ids: x[ids],
        "take_fused": lambda x, ids, y: jnp.exp(-x[ids]) * y + 1,
        "cumsum": jnp.cumsum,
        "cumsum_columns": lambda x: jnp.cumsum(x, axis=0),
        "sort": jnp.sort,
        "argsort": jnp.argsort,
        "top_100": lambda x: jax.lax.top_k(x, 100)[0],
        "median": jnp.median,
        "sort_float64": jnp.sort,
        "sort_int64": jnp.sort,
        "argsort_float64": jnp.argsort,
        "sort_rows": lambda x: jnp.sort(x, axis=1),
        "sort_columns": lambda x: jnp.sort(x, axis=0),
        "argsort_rows": lambda x: jnp.argsort(x, axis=1),
        "searchsorted": lambda x, table: jnp.searchsorted(table, x),
        "isin_int32": jnp.isin,
        "scatter_add": lambda x, ids: jnp.zeros(SEGMENTS, jnp.float32).at[ids].add(x),
        "histogram_256": lambda x: jnp.histogram(x, 256, (0, 1))[0],
        "bincount": lambda ids: jnp.bincount(ids, length=BINS),
        "bincount_weights": lambda ids, x: jnp.bincount(ids, x, length=BINS),
    }
    eager = {
        "select_by_mask": lambda x: x[x > 0],
        "nonzero": lambda x: jnp.nonzero(x > 0.9)[0],
        "unique_int32": jnp.unique,
    }
    for name, arrays in INPUTS.items():
        INPUTS[name] = tuple(jnp.asarray(array) for array in arrays)
    calls = {**{name: jax.jit(call) for name, call in compiled.items()}, **eager}
    return {
        name: lambda *given, call=call: jax.block_until_ready(call(*given))
        for name, call in calls.items()
    }


def numba_calls():
    from numba import njit, prange

    @njit(parallel=True, fastmath=False)
    def take_random(x, ids):
        out = np.empty(ids.size, np.float32)
        for i in prange(ids.size):
            out[i] = x[ids[i]]
        return out

    @njit(parallel=True)
    def take_fused(x, ids, y):
        out = np.empty(ids.size, np.float32)
        for i in prange(ids.size):
            out[i] = np.exp(-x[ids[i]]) * y[i] + np.float32(1)
        return out

    @njit
    def cumsum(x):
        out = np.empty_like(x)
        total = 0.0
        for i in range(x.size):
            total += x[i]
            out[i] = total
        return out

    @njit(parallel=True)
    def cumsum_columns(x):
        out = np.empty_like(x)
        for part in prange(16):
            first, last = part * x.shape[1] // 16, (part + 1) * x.shape[1] // 16
            totals = np.zeros(last - first)
            for i in range(x.shape[0]):
                for j in range(first, last):
                    totals[j - first] += x[i, j]
                    out[i, j] = totals[j - first]
        return out

    @njit
    def select_by_mask(x):
        return x[x > 0]

    @njit
    def nonzero(x):
        return np.nonzero(x > 0.9)[0]

    @njit
    def scatter_add(x, ids):
        out = np.zeros(SEGMENTS, np.float32)
        for i in range(ids.size):
            out[ids[i]] += x[i]
        return out

    @njit
    def histogram_256(x):
        out = np.zeros(256, np.int64)
        for i in range(x.size):
            if 0 <= x[i] <= 1:
                out[min(int(x[i] * 256), 255)] += 1
        return out

    @njit
    def bincount(ids):
        out = np.zeros(BINS, np.int64)
        for i in range(ids.size):
            out[ids[i]] += 1
        return out

    @njit
    def bincount_weights(ids, x):
        out = np.zeros(BINS)
        for i in range(ids.size):
            out[ids[i]] += x[i]
        return out

    # Numba sorts arrays of one axis alone: a loop over rows, in parallel.
    @njit(parallel=True)
    def sort_rows(x):
        out = np.empty_like(x)
        for i in prange(x.shape[0]):
            out[i] = np.sort(x[i])
        return out

    @njit(parallel=True)
    def sort_columns(x):
        out = np.empty_like(x)
        for j in prange(x.shape[1]):
            out[:, j] = np.sort(x[:, j])
        return out

    @njit(parallel=True)
    def argsort_rows(x):
        out = np.empty(x.shape, np.int64)
        for i in prange(x.shape[0]):
            out[i] = np.argsort(x[i], kind="mergesort")
        return out

    @njit(parallel=True)
    def searchsorted(x, table):
        out = np.empty(x.size, np.int64)
        for i in prange(x.size):
            out[i] = np.searchsorted(table, x[i])
        return out

    isin_int32 = njit(lambda x, test: np.isin(x, test))
    sort_float64 = sort_int64 = sort = njit(lambda x: np.sort(x))
    argsort_float64 = njit(lambda x: np.argsort(x, kind="mergesort"))
    argsort = njit(lambda x: np.argsort(x, kind="mergesort"))
    median = njit(lambda x: np.median(x))
    unique_int32 = njit(lambda x: np.unique(x))
    return {name: call for name, call in locals().items() if name in INPUTS}


calls = {"numpy": numpy_calls, "jax": jax_calls, "numba": numba_calls}[options.peer]()
for name, call in calls.items():
    if wanted and name not in wanted:
        continue
    start = time.perf_counter()
    call(*INPUTS[name])
    first = time.perf_counter() - start
    times = []
    while not times or (sum(times) < options.seconds and len(times) < 30):
        start = time.perf_counter()
        call(*INPUTS[name])
        times.append(time.perf_counter() - start)
    line = {
        "workload": name,
        "peer": options.peer,
        "seconds_median": statistics.median(times),
        "seconds_min": min(times),
        "seconds_first": first,
        "repeats": len(times),
    }
    print(json.dumps(line), flush=True)
