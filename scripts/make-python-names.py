"""Writes scripts/reference/python-names.json: the public functions of NumPy and SciPy, and those that CuPy's wheel
defines, by which the reference names NumPy's and CuPy's counterpart of each function. CuPy is read and not imported,
so no GPU is needed: python scripts/make-python-names.py cupy_cuda12x-*.whl
"""

import ast
import importlib
import json
import pathlib
import sys
import zipfile

MODULES = {
    "numpy": ["numpy", "numpy.fft", "numpy.linalg", "numpy.random", "numpy.lib.stride_tricks"],
    "scipy": [
        "scipy.special",
        "scipy.stats",
        "scipy.signal",
        "scipy.ndimage",
        "scipy.fft",
        "scipy.linalg",
        "scipy.sparse",
        "scipy.sparse.linalg",
    ],
}
# CuPy's module of the functions of each of those.
CUPY = {
    "numpy": "cupy",
    "scipy": "cupyx.scipy",
}


def public(module):
    """The callables of a module that are no classes of exceptions and no modules."""
    found = importlib.import_module(module)
    names = [name for name in dir(found) if not name.startswith("_")]
    return sorted(name for name in names if callable(getattr(found, name)) or module == "scipy.stats")


def bound(tree):
    """The names that a module binds at its top level."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from (alias.asname or alias.name for alias in node.names)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.Assign):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))


def in_wheel(wheel, module):
    path = module.replace(".", "/")
    for file in (f"{path}/__init__.py", f"{path}.py"):
        if file in wheel.namelist():
            return set(bound(ast.parse(wheel.read(file))))
    return set()


def main(path):
    names = {}
    with zipfile.ZipFile(path) as wheel:
        for package, modules in MODULES.items():
            for module in modules:
                own = public(module)
                twin = module.replace(package, CUPY[package], 1)
                there = in_wheel(wheel, twin)
                names[module] = own
                names[twin] = sorted(name for name in own if name in there)
    target = pathlib.Path(__file__).parent / "reference" / "python-names.json"
    versions = {package: importlib.import_module(package).__version__ for package in MODULES}
    versions["cupy"] = pathlib.Path(path).name.split("-")[1]
    lines = [f'  "{key}": {json.dumps(" ".join(value))}' for key, value in sorted(names.items())]
    target.write_text('{\n  "versions": ' + json.dumps(versions) + ",\n" + ",\n".join(lines) + "\n}\n")


main(sys.argv[1])
