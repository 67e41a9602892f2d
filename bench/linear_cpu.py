#!/usr/bin/env python3
"""Dense linear algebra of NumPy, SciPy and JAX, in milliseconds of processor time: the peers of `linear-cpu.ts`, whose options
it has, and the matrices of the same sizes. `--peer numpy|scipy|jax`; prints a JSON line for each function and size."""
import argparse
import json

import numpy as np
import scipy.linalg
from processor_time import measure

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--peer", choices=["numpy", "scipy", "jax"], default="numpy")
parser.add_argument("--only", default="")
parser.add_argument("--sizes", default="16,100,500,1000,1024x16")
parser.add_argument("--dtype", default="float64")
parser.add_argument("--seconds", type=float, default=2.0)
options = parser.parse_args()

NUMPY = {
    "solve": lambda a: np.linalg.solve(a, a[..., :1]),
    "inv": np.linalg.inv,
    "det": np.linalg.det,
    "slogdet": np.linalg.slogdet,
    "cholesky": np.linalg.cholesky,
    "qr": np.linalg.qr,
    "svd": lambda a: np.linalg.svd(a, full_matrices=False),
    "svdvals": np.linalg.svdvals,
    "eigh": np.linalg.eigh,
    "eigvalsh": np.linalg.eigvalsh,
    "eig": np.linalg.eig,
    "lstsq": lambda a: np.linalg.lstsq(a, a[..., :1], rcond=None),
    "pinv": np.linalg.pinv,
    "matrixRank": np.linalg.matrix_rank,
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
    "lu": scipy.linalg.lu,
    "pinv": scipy.linalg.pinv,
    "expm": scipy.linalg.expm,
}
# Functions of one matrix at a time.
SINGLE = {"numpy": ["lstsq"], "scipy": ["lstsq", "pinv"], "jax": ["lstsq", "lu"]}


def with_jax():
    """The same of JAX, compiled, and waited for."""
    import jax
    import jax.numpy as jnp
    import jax.scipy.linalg as js

    jax.config.update("jax_enable_x64", True)
    functions = {
        "solve": lambda a: jnp.linalg.solve(a, a[..., :1]),
        "inv": jnp.linalg.inv,
        "det": jnp.linalg.det,
        "slogdet": jnp.linalg.slogdet,
        "lu": js.lu,
        "cholesky": jnp.linalg.cholesky,
        "qr": jnp.linalg.qr,
        "svd": lambda a: jnp.linalg.svd(a, full_matrices=False),
        "svdvals": lambda a: jnp.linalg.svd(a, compute_uv=False),
        "eigh": jnp.linalg.eigh,
        "eigvalsh": jnp.linalg.eigvalsh,
        "eig": jnp.linalg.eig,
        "lstsq": lambda a: jnp.linalg.lstsq(a, a[..., :1]),
        "pinv": jnp.linalg.pinv,
        "matrixRank": jnp.linalg.matrix_rank,
        "expm": js.expm,
    }

    def waiting(function):
        compiled = jax.jit(function)
        return lambda a: jax.block_until_ready(compiled(a))

    return {name: waiting(function) for name, function in functions.items()}, jnp.asarray


def matrix(name, size):
    numbers = [int(each) for each in size.split("x")]
    shape = (*numbers, numbers[-1])
    a = np.random.default_rng(1).standard_normal(shape)
    if options.dtype.startswith("complex"):
        a = a + 1j * a[..., ::-1]
    if name == "cholesky":
        a = a @ np.swapaxes(a, -1, -2).conj() + np.eye(shape[-1]) * shape[-1]
    if name == "expm":
        a = a / np.sqrt(shape[-1])
    return a.astype(options.dtype)


functions, placed = {"numpy": lambda: (NUMPY, np.asarray), "scipy": lambda: (SCIPY, np.asarray), "jax": with_jax}[options.peer]()
for name in options.only.split(",") if options.only else functions:
    for size in options.sizes.split(","):
        if name not in functions or (name in SINGLE[options.peer] and "x" in size):
            continue
        a = placed(matrix(name, size))
        processor, elapsed = measure(lambda: functions[name](a), options.seconds)
        print(json.dumps({"function": name, "size": size, "dtype": options.dtype,
                          "peer": {"numpy": "NumPy", "scipy": "SciPy", "jax": "JAX"}[options.peer],
                          "cpu_ms": float(f"{processor * 1e3:.4g}"), "ms": float(f"{elapsed * 1e3:.4g}")}), flush=True)
