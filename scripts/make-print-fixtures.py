"""Writes test/fixtures/printing.json: arrays and what NumPy's str() makes of them. Run: python3 scripts/make-print-fixtures.py"""

import base64
import json
import pathlib

import numpy as np

rng = np.random.default_rng(20261121)
inf, nan = np.inf, np.nan
cases = []


def add(values, dtype):
    with np.errstate(over="ignore", invalid="ignore"):
        array = np.asarray(values).astype(dtype)
    cases.append({"dtype": dtype, "shape": list(array.shape), "data": base64.b64encode(np.ascontiguousarray(array).tobytes()).decode(),
                  "text": str(array)})


FLOATS = ["float64", "float32", "float16"]
SERIES = [
    [], [0], [-0.0], [1, 2, 3], [1.5, -2.25, 3], [0.1, 0.2, 0.3], [1e-4, 1], [1e-5, 1], [0.001, 1], [0.00099, 1], [1e8, 1], [1e7, 1],
    [99999999, 1.5], [12345.678, 1], [nan], [inf], [-inf], [nan, 1], [inf, 1.25], [-inf, 100.5], [nan, -inf, 0], [nan, 1e10],
    [-1e-10, 1e10], [1e100, 1], [1e-100, 1], [5e-324, 1], [1.7976931348623157e308], [1 / 3, 2 / 3], [np.pi, np.e, -np.pi],
    [0.001953125, 1], [0.005859375, 1], [2**-9 + 2**-10, -(2**-9)], [1.9999999999, 1], [9.9999999999, 1e9], [0.99999999999, 2],
    [123456789.123, 0.1], [1000, 1], [1001, 1], [999.5, 0.5], [65504, 1], [6e-8, 1], [2**53, 1], [-1, 10, -100], [1e16, 1e15],
    [0.1 + 0.2, 0.3], [1e22, 1e21], [16777216, 16777217], [1.00000001, 2], [1.000000005, 1], [1.5e-7, -2.5e-7], [100000, 0.1],
    [0, 0, 0.5], [-0.0, 0.0, 1e-3], [2.5e-5, 2.5e-3], [1048576, 2, 0.5], [0.1, 100.25, -3],
]
for dtype in FLOATS:
    for series in SERIES:
        add(np.array(series, dtype=np.float64), dtype)
    for scale in [1, 1e-3, 1e3, 1e6, 1e-6]:
        add(rng.standard_normal((3, 4)) * scale, dtype)
        add(rng.standard_normal(40) * scale, dtype)
    add(rng.standard_normal((2, 3, 4)), dtype)
    add(rng.standard_normal((2, 2, 2, 2)), dtype)
    add(rng.standard_normal((3, 30)), dtype)
    add(rng.integers(0, 100, (5, 5)), dtype)
    add(10.0 ** rng.uniform(-3, 3, 60), dtype)
    for scalar in [0, 1, -0.0, 1.5, 0.1, 1e-4, 1e-5, 1e5, 1e6, 1e7, 1e15, 1e16, 1e17, 1 / 3, nan, inf, -inf, 1234.5, 999.5, 1e3, 1e4, 1e300]:
        add(scalar, dtype)
for dtype in ["float64", "float32"]:
    add(rng.standard_normal(1001), dtype)
    add(rng.standard_normal(1000), dtype)
    add(rng.standard_normal((7, 200)), dtype)
    add(rng.standard_normal((200, 6)), dtype)
    add(rng.standard_normal((6, 7, 30)), dtype)
    add(rng.standard_normal((10, 10, 11)), dtype)
    add(rng.standard_normal((1, 1, 1200)), dtype)
for dtype in ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]:
    info = np.iinfo(dtype)
    add(np.array([info.min, 0, info.max], dtype=dtype), dtype)
    add(rng.integers(0, 100, (3, 30)), dtype)
    add(np.arange(60).reshape(3, 4, 5), dtype)
    add(np.array(info.max, dtype=dtype), dtype)
    add(np.zeros((0, 3)), dtype)
    add(np.zeros((3, 0)), dtype)
    add(np.arange(1500).reshape(30, 50), dtype)
add([True, False], "bool")
add([True, True], "bool")
add(True, "bool")
add(rng.integers(0, 2, (4, 40)), "bool")
add(np.arange(2000) % 2, "bool")
add(np.zeros(0), "bool")
for dtype in ["complex64", "complex128"]:
    for series in [[1 + 2j, -3.5], [1j], [0], [1e10 + 1j, 2], [complex(nan, 1), 2], [complex(1, nan), 2j], [complex(-inf, inf), 1.5],
                   [0.1 + 0.25j, -100 - 1e-3j], [complex(-0.0, -0.0), 1], [1 / 3 + 1j / 7, 2], []]:
        add(np.array(series, dtype=np.complex128), dtype)
    for scalar in [0, 1, 1j, 1 + 2j, 1.5 - 0.25j, complex(nan, -inf), complex(0, -1), complex(-0.0, 1), 1e20 + 1e-5j, 1e7 + 2j]:
        add(scalar, dtype)
    add(rng.standard_normal((5, 5)) + 1j * rng.standard_normal((5, 5)), dtype)
    add(np.arange(1200) * (1 + 0.5j), dtype)

path = pathlib.Path(__file__).resolve().parent.parent / "test" / "fixtures" / "printing.json"
path.write_text("[\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]\n")
print(f"{len(cases)} cases, {path.stat().st_size} bytes, NumPy {np.__version__}")
