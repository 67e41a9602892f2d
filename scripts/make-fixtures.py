#!/usr/bin/env python3
"""Writes test/fixtures: what NumPy gives for every row of the tables, every dtype and every structural operation.

Needs NumPy 2 on a machine whose long double is wider than float64 (x86-64), and test/fixtures/table.json, which
scripts/dump-ops.mjs writes. Run it after adding a row: `npx tsc; node scripts/dump-ops.mjs; python3 scripts/make-fixtures.py`, with the names
of groups for some of them.
"""
import json
import os
import sys
import warnings

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from fixtures import arrays, binning, composites, fourier, functions, linear, ndimage, ops, sparse, structures  # noqa: E402
from fixtures.numbers import Writer  # noqa: E402

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "test", "fixtures")


def main():
    if np.finfo(np.longdouble).nmant <= 52:
        sys.exit("long double is no wider than float64 here: run this on x86-64")
    np.seterr(all="ignore")
    warnings.simplefilter("ignore", RuntimeWarning)  # means of nothing are meant
    with open(os.path.join(FOLDER, "table.json"), encoding="utf-8") as file:
        table = json.load(file)
    groups = {
        "ops": lambda writer: ops.write_ops(table, writer),
        "casts": ops.write_casts,
        "reductions": lambda writer: structures.write_reductions(table, writer),
        "views": structures.write_views,
        "matmul": structures.write_matmul,
        "composites": composites.write_composites,
        "functions": functions.write_functions,
        "arrays": arrays.write_arrays,
        "binning": binning.write_binning,
        "fourier": fourier.write_fourier,
        "linear": linear.write_linear,
        "ndimage": ndimage.write_ndimage,
        "sparse": sparse.write_sparse,
    }
    asked = sys.argv[1:]
    for name, write in groups.items():
        if asked and name not in asked:
            continue
        writer = Writer(FOLDER, name)
        write(writer)
        writer.close()
    if asked:
        return
    with open(os.path.join(FOLDER, "promotion.json"), "w", encoding="utf-8") as file:
        json.dump(ops.promotion(table), file)
        file.write("\n")


if __name__ == "__main__":
    main()
