#!/usr/bin/env python3
"""Writes test/fixtures/files.json: small files as NumPy and safetensors write them, with the elements they hold.

Needs NumPy 2 and the safetensors package. Elements stand beside each file in C order, little-endian.
"""
import base64
import io
import json
import os

import numpy as np
from safetensors.numpy import save as save_safetensors

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "test", "fixtures", "files.json")
DTYPES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128".split()
SHAPES = [(2, 3), (), (5,), (0, 4), (2, 1, 3)]


def elements(dtype, shape, seed):
    count = int(np.prod(shape, dtype=int))
    raw = np.random.default_rng(seed).integers(-100, 100, (2, count))
    if dtype == "bool":
        values = raw[0] % 2
    elif dtype.startswith("complex"):
        values = raw[0] / 4 + 1j * raw[1] / 8
    elif dtype.startswith("float"):
        values = raw[0] / 8
    else:
        values = raw[0] * 131  # wraps around in the narrow ones
    return values.astype(dtype).reshape(shape)


def text(data):
    return base64.b64encode(data).decode("ascii")


def described(array):
    return {
        "dtype": array.dtype.name,
        "shape": list(array.shape),
        "values": text(np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tobytes()),
    }


def npy(array, version):
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, version=version)
    return buffer.getvalue()


def npy_cases():
    for index, dtype in enumerate(DTYPES):
        for shape in SHAPES if dtype == "float32" else SHAPES[:1]:
            for order in "CF":
                for byte_order in "<>":
                    values = elements(dtype, shape, index)
                    array = np.asarray(values, order=order).astype(values.dtype.newbyteorder(byte_order), order="K")
                    fortran = array.flags.f_contiguous and not array.flags.c_contiguous
                    for version in [(1, 0), (2, 0), (3, 0)] if dtype in ("float32", "int16") else [(1, 0)]:
                        yield {
                            "name": f"{dtype} {shape} {order} {byte_order} version {version[0]}",
                            "order": "F" if fortran else "C",
                            "byteOrder": "big" if byte_order == ">" else "little",
                            "version": version[0],
                            "file": text(npy(array, version)),
                            **described(values),
                        }


def refused_cases():
    arrays = {
        "objects": np.array([{"a": 1}], dtype=object),
        "structures": np.zeros(2, dtype=[("x", "<f4"), ("y", "<i2")]),
        "text": np.array(["a", "bc"]),
        "bytes": np.array([b"a"]),
        "dates": np.array(["2026-11-21"], dtype="datetime64[D]"),
        "time spans": np.zeros(2, dtype="timedelta64[s]"),
        "raw bytes": np.zeros(2, dtype="V3"),
        "long doubles": np.zeros(2, dtype=np.longdouble),
    }
    for name, array in arrays.items():
        buffer = io.BytesIO()
        np.save(buffer, array, allow_pickle=True)
        yield {"name": name, "file": text(buffer.getvalue())}


def archive_cases():
    arrays = {
        "a": elements("float64", (3, 4), 1),
        "big": elements("int16", (6,), 2).astype(">i2"),
        "fortran": np.asfortranarray(elements("complex64", (2, 3), 3)),
        "empty": np.zeros((0, 3), np.float32),
        "scalar": np.array(2.5),
        "größe/π": elements("uint8", (4,), 4),
    }
    for name, save in [("stored", np.savez), ("deflated", np.savez_compressed)]:
        buffer = io.BytesIO()
        save(buffer, **arrays)
        contents = {key: described(value.astype(value.dtype.newbyteorder("<"))) for key, value in arrays.items()}
        yield {"name": name, "file": text(buffer.getvalue()), "arrays": contents}


def safetensors_cases():
    names = [dtype for dtype in DTYPES if dtype != "complex128"]
    arrays = {f"{dtype}.weight": elements(dtype, (2, 3), k) for k, dtype in enumerate(names)}
    arrays["a scalar"] = np.array(3, np.int32)
    arrays["nothing"] = np.zeros((0, 2), np.float32)
    contents = {key: described(value) for key, value in arrays.items()}
    metadata = {"format": "np"}
    yield {
        "name": "every dtype that NumPy has",
        "file": text(save_safetensors(arrays, metadata)),
        "metadata": metadata,
        "arrays": contents,
    }


def main():
    fixtures = {
        "npy": list(npy_cases()),
        "refused": list(refused_cases()),
        "npz": list(archive_cases()),
        "safetensors": list(safetensors_cases()),
    }
    with open(PATH, "w", encoding="utf-8") as file:
        json.dump(fixtures, file, indent=0, ensure_ascii=False)
        file.write("\n")


if __name__ == "__main__":
    main()
