#!/usr/bin/env python3
"""The products and contractions of contractions.json with CuPy, PyTorch, torch.compile and JAX, as their users write them:
`einsum`, which each of them gives to its library. `peak_bytes` is the most device memory that the peer's allocator holds
at once during a call, inputs included.

  peers-contractions.py --peer cupy|torch|torch-compile|jax [--only name,name] [--dtypes float32,float64] [--seconds 0.1] [--out file]

CuPy uses cuTENSOR where CUPY_ACCELERATORS=cutensor says so. Short ones are started 32 at a time, as contractions.ts does.
"""
import argparse
import json
import os
import pathlib
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

SHORT_OPERATIONS, CALLS_AT_ONCE = 2e9, 32
WARM_CALLS, LEAST_REPEATS, MOST_REPEATS = 3, 5, 200


def cupy_peer():
    import cupy as xp

    def make(shape, dtype, seed):
        xp.random.seed(seed)
        return (xp.random.random(shape, dtype="float64" if dtype == "float64" else "float32") * 2 - 1).astype(dtype)

    pool = xp.get_default_memory_pool()

    def peak(call):
        pool.free_all_blocks()
        call()
        return pool.total_bytes()  # the pool gives nothing back by itself

    return make, lambda equation: lambda a, b: xp.einsum(equation, a, b), lambda _: xp.cuda.Device().synchronize(), peak


def torch_peer(compiles=False):
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False

    def make(shape, dtype, seed):
        generator = torch.Generator(device="cuda").manual_seed(seed)
        wide = torch.float64 if dtype == "float64" else torch.float32
        return (torch.rand(shape, generator=generator, device="cuda", dtype=wide) * 2 - 1).to(getattr(torch, dtype))

    def peak(call):
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        call()
        torch.cuda.synchronize()
        return torch.cuda.max_memory_allocated()

    def compiled(equation):
        call = lambda a, b: torch.einsum(equation, a, b)
        if not compiles:
            return call
        torch.compiler.reset()
        return torch.compile(call, dynamic=False)

    return make, compiled, lambda _: torch.cuda.synchronize(), peak


def jax_peer():
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_default_matmul_precision", "highest")

    def make(shape, dtype, seed):
        wide = jnp.float64 if dtype == "float64" else jnp.float32
        return jax.random.uniform(jax.random.key(seed), shape, wide, -1, 1).astype(dtype)

    def peak(call):  # of the process so far: it cannot be set back
        jax.block_until_ready(call())
        return None

    return make, lambda equation: jax.jit(lambda a, b: jnp.einsum(equation, a, b)), jax.block_until_ready, peak


def operations(row):
    sizes = {}
    for labels, shape in zip(row["equation"].split("->")[0].split(","), row["shapes"]):
        sizes.update(zip(labels, shape))
    product = 2
    for size in sizes.values():
        product *= size
    return product


def measure(row, dtype, peer, seconds):
    make, compiled, wait, peak = peer
    inputs = [make(shape, dtype, k + 1) for k, shape in enumerate(row["shapes"])]
    call = compiled(row["equation"])
    inner = CALLS_AT_ONCE if operations(row) <= SHORT_OPERATIONS else 1

    def timed():
        start = time.perf_counter()
        for _ in range(inner):
            result = call(*inputs)
        wait(result)
        return (time.perf_counter() - start) * 1e3 / inner

    first = timed()
    held = peak(lambda: call(*inputs))
    for _ in range(WARM_CALLS):
        timed()
    times, end = [], time.perf_counter() + seconds
    while len(times) < LEAST_REPEATS or (time.perf_counter() < end and len(times) < MOST_REPEATS):
        times.append(timed())
    times.sort()
    median = times[len(times) // 2]
    return {
        "ms_median": round(median, 5),
        "ms_min": round(times[0], 5),
        "first_ms": round(first, 1),
        "tflops": round(operations(row) / median / 1e9, 2),
        **({} if held is None else {"peak_bytes": held}),
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--peer", required=True, choices=("cupy", "torch", "torch-compile", "jax"))
    parser.add_argument("--only")
    parser.add_argument("--dtypes")
    parser.add_argument("--seconds", type=float, default=0.1)
    parser.add_argument("--out")
    options = parser.parse_args()
    peers = {"cupy": cupy_peer, "torch": torch_peer, "torch-compile": lambda: torch_peer(True), "jax": jax_peer}
    peer = peers[options.peer]()
    for row in json.loads((pathlib.Path(__file__).parent / "contractions.json").read_text()):
        if options.only is not None and row["name"] not in options.only.split(","):
            continue
        for dtype in row["dtypes"]:
            if options.dtypes is not None and dtype not in options.dtypes.split(","):
                continue
            shape = [size for shape in row["shapes"] for size in shape]
            line = {"workload": row["name"], "peer": options.peer, "dtype": dtype, "shape": shape}
            try:
                line.update(measure(row, dtype, peer, options.seconds))
            except Exception as error:  # A peer that lacks a dtype says so in its line.
                line["error"] = str(error)[:200]
            text = json.dumps(line)
            print(text, flush=True)
            if options.out is not None:
                with open(options.out, "a") as file:
                    file.write(text + "\n")


if __name__ == "__main__":
    main()
