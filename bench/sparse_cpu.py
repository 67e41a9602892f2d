#!/usr/bin/env python3
"""Sparse matrices of SciPy, in milliseconds of processor time: the peer of `sparse-cpu.ts`, whose options it has, and the
matrices of the same sizes. Prints a JSON line for each function and size."""
import argparse
import json

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as sl
from processor_time import measure

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--only", default="")
parser.add_argument("--sizes", default="141,447,1414")
parser.add_argument("--seconds", type=float, default=2.0)
options = parser.parse_args()

FUNCTIONS = {
    "transpose": lambda g: g.a.T.tocsr(),
    "add": lambda g: g.a + g.other,
    "multiply": lambda g: g.a.multiply(g.other),
    "product": lambda g: g.a @ g.a,
    "rows": lambda g: g.a[g.n >> 2:3 * g.n >> 2],
    "takeRows": lambda g: g.a[g.even],
    "columns": lambda g: g.a[:, g.n >> 2:3 * g.n >> 2],
    "tril": lambda g: sp.tril(g.a, format="csr"),
    "greater": lambda g: g.a > 0,
    "notEqual": lambda g: g.a != g.other,
    "vstack": lambda g: sp.vstack([g.a, g.other], format="csr"),
    "hstack": lambda g: sp.hstack([g.a, g.other], format="csr"),
    "coo": lambda g: sp.coo_array((g.data, (g.row, g.col)), shape=g.a.shape).tocsr(),
    "toDense": lambda g: g.random.toarray(),
    "fromDense": lambda g: sp.csr_array(g.dense),
    "rowSums": lambda g: g.a.sum(1),
    "columnSums": lambda g: g.a.sum(0),
    "matvec": lambda g: g.a @ g.ones,
    "matmul16": lambda g: g.a @ g.ones16,
    "cg100": lambda g: sl.cg(g.a, g.ones, rtol=0, maxiter=100),
    "svds": lambda g: sl.svds(g.a, k=6, tol=1e-3, return_singular_vectors=False),
    "svdsTall": lambda g: sl.svds(g.tall, k=6),
    "eigsh": lambda g: sl.eigsh(g.a, k=6, tol=1e-6, return_eigenvectors=False),
    "kron": lambda g: sp.kron(g.small, g.a, format="csr"),
    "splu": lambda g: sl.splu(g.csc),
    "spsolve": lambda g: sl.spsolve(g.csc, g.ones),
}


class Given:
    def __init__(self, side):
        line = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(side, side))
        eye = sp.eye_array(side)
        self.a = sp.csr_array(sp.kron(line, eye) + sp.kron(eye, line))
        self.n = side * side
        self.other = self.a * 0.5
        self.even = np.arange(self.n >> 1, dtype=np.int32) * 2
        self.csc = self.a.tocsc()
        rng = np.random.default_rng(7)
        coo = self.a.tocoo()
        order = rng.permutation(coo.nnz)
        self.data, self.row, self.col = coo.data[order], coo.row[order], coo.col[order]
        rows = -(-self.n // 20)
        self.random = sp.csr_array(sp.random_array((rows, 2000), density=0.05, rng=rng))
        self.random.sort_indices()
        self.dense = self.random.toarray()
        self.tall = sp.csr_array(sp.random_array((100_000, 1000), density=1e-3, rng=rng))
        self.small = sp.csr_array(sp.diags_array([[1.0, 2.0], [1.0, 2.0, 3.0]], offsets=[1, 0]))
        self.ones = np.ones(self.n)
        self.ones16 = np.ones((self.n, 16))


for size in options.sizes.split(","):
    given = Given(int(size))
    for name in options.only.split(",") if options.only else FUNCTIONS:
        processor, elapsed = measure(lambda: FUNCTIONS[name](given), options.seconds)
        print(json.dumps({"function": name, "size": size, "dtype": "float64", "peer": "SciPy",
                          "cpu_ms": float(f"{processor * 1e3:.4g}"), "ms": float(f"{elapsed * 1e3:.4g}")}), flush=True)
