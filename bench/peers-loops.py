#!/usr/bin/env python3
"""The loops of loops.ts with PyTorch (eager, and its step compiled) and JAX (fori_loop and while_loop), as their users write them.

  peers-loops.py --peer torch|torch-compile|jax [--only name,name] [--repeats 7]

Prints a JSON line for each: microseconds a step, the median and the least of some runs after two to warm up.
"""
import argparse
import json
import time

import numpy as np


def numbers(count, factor=7919):
    k = np.arange(count, dtype=np.int64)
    return ((k * factor) % 1009 / 1009).astype(np.float32)


def square(n):
    return numbers(n * n).reshape(n, n)


STEPS = {"diffusion_source": 1000, "power_iteration": 500, "k_means": 100, "jacobi_residual": 500, "scalar_while": 1000}


def inputs():
    a = square(1024)
    return {
        "diffusion_source": (square(2000),),
        "power_iteration": (a + a.T, numbers(1024, 31).reshape(1024, 1)),
        "k_means": (numbers(200_000 * 8).reshape(-1, 8), numbers(16 * 8, 31).reshape(16, 8)),
        "jacobi_residual": (square(1024),),
        "scalar_while": (np.ones(1, np.float32),),
    }


def torch_loops(compiled):
    import torch
    from torch.nn.functional import one_hot, pad

    torch.backends.cuda.matmul.allow_tf32 = False

    def spread(f):
        p = pad(f, (1, 1, 1, 1))
        return f + (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - 4 * f) * 0.1

    def diffusion(f, i):
        return spread(f) + i * 1e-6

    def power(a, x):
        y = a @ x
        return y / y.square().sum().sqrt()

    def k_means(x, c):
        near = (x[:, None] - c[None]).square().sum(2).argmin(1)
        isin = one_hot(near, c.shape[0]).float()
        return isin.T @ x / isin.sum(0).clamp(min=1)[:, None]

    def jacobi(f):
        following = spread(f)
        return following, (following - f).abs().max()

    def scalar(y):
        return y * 0.999 + 0.001

    if compiled:
        diffusion, power, k_means, jacobi, scalar = map(torch.compile, (diffusion, power, k_means, jacobi, scalar))

    def diffusion_source(f):
        number = torch.zeros((), device="cuda")
        for _ in range(STEPS["diffusion_source"]):
            f = diffusion(f, number)
            number = number + 1
        return f

    def power_iteration(a, x):
        for _ in range(STEPS["power_iteration"]):
            x = power(a, x)
        return x

    def k_means_steps(x, c):
        for _ in range(STEPS["k_means"]):
            c = k_means(x, c)
        return c

    def jacobi_residual(f):
        for _ in range(STEPS["jacobi_residual"]):
            f, residual = jacobi(f)
            if not residual.item() >= 0:
                break
        return f

    def scalar_while(y):
        for _ in range(STEPS["scalar_while"]):
            if not y.max().item() > 0:
                break
            y = scalar(y)
        return y

    loops = {
        "diffusion_source": diffusion_source,
        "power_iteration": power_iteration,
        "k_means": k_means_steps,
        "jacobi_residual": jacobi_residual,
        "scalar_while": scalar_while,
    }
    return loops, lambda x: torch.from_numpy(x).cuda(), lambda _: torch.cuda.synchronize()


def jax_loops():
    import jax
    import jax.numpy as jnp
    from jax import lax

    jax.config.update("jax_default_matmul_precision", "highest")

    def spread(f):
        p = jnp.pad(f, 1)
        return f + (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - 4 * f) * 0.1

    def power_step(a, x):
        y = a @ x
        return y / jnp.sqrt((y * y).sum())

    def k_means_step(x, c):
        near = ((x[:, None] - c[None]) ** 2).sum(2).argmin(1)
        isin = jax.nn.one_hot(near, c.shape[0], dtype=jnp.float32)
        return isin.T @ x / jnp.maximum(isin.sum(0), 1)[:, None]

    def jacobi(f):
        def step(state):
            x, _, i = state
            following = spread(x)
            return following, jnp.abs(following - x).max(), i + 1

        goes_on = lambda s: (s[1] >= 0) & (s[2] < STEPS["jacobi_residual"])
        return lax.while_loop(goes_on, step, (f, jnp.float32(1), 0))[0]

    def scalar(y):
        goes_on = lambda s: (s[0].max() > 0) & (s[1] < STEPS["scalar_while"])
        return lax.while_loop(goes_on, lambda s: (s[0] * 0.999 + 0.001, s[1] + 1), (y, 0))[0]

    steps = STEPS
    loops = {
        "diffusion_source": lambda f: lax.fori_loop(
            0, steps["diffusion_source"], lambda i, x: spread(x) + i.astype(jnp.float32) * 1e-6, f
        ),
        "power_iteration": lambda a, x: lax.fori_loop(0, steps["power_iteration"], lambda _, v: power_step(a, v), x),
        "k_means": lambda x, c: lax.fori_loop(0, steps["k_means"], lambda _, v: k_means_step(x, v), c),
        "jacobi_residual": jacobi,
        "scalar_while": scalar,
    }
    return {name: jax.jit(loop) for name, loop in loops.items()}, jax.device_put, lambda y: y.block_until_ready()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--peer", required=True, choices=("torch", "torch-compile", "jax"))
    parser.add_argument("--only")
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    loops, put, wait = jax_loops() if options.peer == "jax" else torch_loops(options.peer == "torch-compile")
    for name, arrays in inputs().items():
        if options.only is not None and name not in options.only.split(","):
            continue
        line = {"peer": options.peer, "name": name, "steps": STEPS[name]}
        try:
            own = [put(x) for x in arrays]
            times = []
            for _ in range(options.repeats + 2):
                start = time.perf_counter()
                wait(loops[name](*own))
                times.append((time.perf_counter() - start) * 1e6 / STEPS[name])
            line["usPerStep"] = float(f"{np.median(times[2:]):.4g}")
            line["least"] = float(f"{min(times[2:]):.4g}")
        except Exception as error:  # A peer that cannot do it says so in its line.
            line["error"] = str(error)[:200]
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
