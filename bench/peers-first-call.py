"""What the first call of exp(0.5 sin x + cos y) takes with CuPy or JAX, as bench/first-call.ts measures it for Weft.

python3 bench/peers-first-call.py --library cupy|jax [--repeats 5]. Every call is a process of its own, every pair of them has a
home folder of its own: the first finds no cache, the second what the first left. Prints a JSON line.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

ELEMENTS = 2**26


def cupy_call():
    import cupy as cp

    x = cp.zeros(ELEMENTS, dtype=cp.float32)
    x += cp.float32(0.25)
    y = x.copy()

    @cp.fuse()
    def expression(a, b):
        return cp.exp(0.5 * cp.sin(a) + cp.cos(b))

    cp.cuda.Device().synchronize()
    start = time.perf_counter()
    expression(x, y)
    cp.cuda.Device().synchronize()
    return time.perf_counter() - start


def jax_call():
    import jax
    import jax.numpy as jnp

    x = jax.device_put(jnp.full(ELEMENTS, 0.25, dtype=jnp.float32)).block_until_ready()
    y = (x + 0).block_until_ready()
    expression = jax.jit(lambda a, b: jnp.exp(0.5 * jnp.sin(a) + jnp.cos(b)))
    start = time.perf_counter()
    expression(x, y).block_until_ready()
    return time.perf_counter() - start


def elsewhere(library, home):
    environment = dict(os.environ, HOME=home, XDG_CACHE_HOME=home + "/.cache", CUPY_CACHE_DIR=home + "/cupy")
    environment.update(JAX_COMPILATION_CACHE_DIR=home + "/jax", JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS="0")
    child = [sys.executable, os.path.abspath(__file__), "--library", library, "--child"]
    return round(float(subprocess.check_output(child, env=environment, text=True)), 1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", choices=["cupy", "jax"], required=True)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--child", action="store_true")
    given = parser.parse_args()
    if given.child:
        print(1e3 * {"cupy": cupy_call, "jax": jax_call}[given.library]())
        return
    cold, cached = [], []
    for _ in range(given.repeats):
        with tempfile.TemporaryDirectory() as home:
            cold.append(elsewhere(given.library, home))
            cached.append(elsewhere(given.library, home))
    row = dict(workload="first_call", peer=given.library, cold_ms=statistics.median(cold))
    print(json.dumps(dict(row, cached_ms=statistics.median(cached), cold=cold, cached=cached)))


if __name__ == "__main__":
    main()
