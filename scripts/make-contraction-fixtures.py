"""Writes test/fixtures/contractions.json: random einsums of small integers with NumPy's results.

Repeated letters, axes of size 1 that broadcast, ellipses, subscripts without an arrow, axes of size 0, every
dtype that NumPy has. Run: python scripts/make-contraction-fixtures.py
"""

import json
import pathlib
import random

import numpy as np

CASES = 150
DTYPES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128".split()


def listed(array):
    """The elements in C order; a complex number as a pair."""
    if array.dtype.kind == "c":
        return [[int(v.real), int(v.imag)] for v in array.ravel()]
    return [int(v) for v in array.ravel()]


def values(rng, dtype, shape):
    size = int(np.prod(shape))
    low = 0 if dtype == "bool" or dtype.startswith("u") else -1
    data = np.array([rng.randint(low, 1) for _ in range(size)], dtype="int64").reshape(shape)
    if dtype.startswith("complex"):
        data = data + 1j * np.array([rng.randint(-1, 1) for _ in range(size)]).reshape(shape)
    return data.astype(dtype)


def draw(rng):
    letters = "abcdefg"[: rng.randint(1, 7)]
    sizes = {x: rng.choice([1, 2, 3, 2, 3, 4, 5, 0 if rng.random() < 0.2 else 2]) for x in letters}
    terms = ["".join(rng.choice(letters) for _ in range(rng.randint(0, 3))) for _ in range(rng.randint(1, 5))]
    hidden = [[2, 3][rng.randint(0, 1) :] if rng.random() < 0.25 else None for _ in terms]
    texts = [t if h is None else t[:1] + "..." + t[1:] for t, h in zip(terms, hidden)]
    used = sorted(set("".join(terms)))
    text = ",".join(texts)
    if rng.random() < 0.7:
        output = rng.sample(used, rng.randint(0, len(used)))
        text += "->" + ("..." if any(h is not None for h in hidden) else "") + "".join(output)
    own = rng.choice(DTYPES)
    arrays = []
    for term, axes in zip(terms, hidden):
        size = {x: 1 if rng.random() < 0.1 else sizes[x] for x in set(term)}
        shape = [size[x] for x in term]
        if axes is not None:
            shape[len(term[:1]) : len(term[:1])] = [1 if rng.random() < 0.2 else n for n in axes]
        arrays.append(values(rng, own if rng.random() < 0.6 else rng.choice(DTYPES), shape))
    return text, arrays


def main():
    rng = random.Random(20261125)
    rows = []
    while len(rows) < CASES:
        text, arrays = draw(rng)
        result = np.asarray(np.einsum(text, *arrays))
        terms = np.prod([max(1, n) for a in arrays for n in a.shape])
        if result.size > 200 or terms > 3000 or (result.dtype == "float16" and terms > 1500):
            continue
        entry = lambda a: {"dtype": str(a.dtype), "shape": list(a.shape), "data": listed(a)}
        rows.append({"subscripts": text, "operands": [entry(a) for a in arrays], "result": entry(result)})
    path = pathlib.Path(__file__).parent.parent / "test" / "fixtures" / "contractions.json"
    path.write_text("[\n" + ",\n".join(json.dumps(r, separators=(",", ":")) for r in rows) + "\n]\n")
    print(len(rows), path.stat().st_size)


main()
