"""Writes test/fixtures/paths.json: networks of the kinds that opt_einsum publishes, with its operation counts.

For each: its einsum subscripts, the sizes of its labels, the operations of opt_einsum's `optimal` (of small
networks; else null) and of its `auto`. Run with opt_einsum 3.4: python scripts/make-path-fixtures.py
"""

import json
import pathlib
import random

import opt_einsum as oe

OPTIMAL_OPERANDS = 8


def subscripts(terms, output):
    symbols = {label: oe.get_symbol(k) for k, label in enumerate(sorted({x for t in terms for x in t}, key=str))}
    text = lambda labels: "".join(symbols[x] for x in labels)
    return symbols, ",".join(map(text, terms)) + "->" + text(output)


def chain(n):
    return [(k, k + 1) for k in range(n)], (0, n)


def ring(n):
    return [(k, (k + 1) % n) for k in range(n)], ()


def lattice(*shape):
    """A node at every point of a grid, an index between neighbours."""
    points = [[]]
    for length in shape:
        points = [p + [k] for p in points for k in range(length)]
    terms = {tuple(p): [] for p in points}
    for p in terms:
        for axis in range(len(shape)):
            q = tuple(x + (d == axis) for d, x in enumerate(p))
            if q in terms:
                terms[p].append((p, q))
                terms[q].append((p, q))
    return list(terms.values()), ()


def tree(n, rng):
    terms = [[] for _ in range(n)]
    for k in range(1, n):
        parent = rng.randrange(k)
        terms[k].append(k)
        terms[parent].append(k)
    return terms, ()


def star(n):
    """Operands that all share one index, a hyperedge."""
    return [(-1, k) for k in range(n)], tuple(range(n))


def mps(n):
    """Two matrix product states and their overlap."""
    bra = [(f"a{k}", f"p{k}", f"a{k + 1}") for k in range(n)]
    ket = [(f"b{k}", f"p{k}", f"b{k + 1}") for k in range(n)]
    return bra + ket, ("a0", "b0", f"a{n}", f"b{n}")


def regular_graph(n, degree, outputs, rng):
    """A random spanning tree's edges, then random pairs until each operand has `degree` labels on average."""
    terms, output = tree(n, rng)
    for label in range(n, n * degree // 2 + 1):
        for k in rng.sample(range(n), 2):
            terms[k].append(label)
    for label in range(outputs):
        rng.choice(terms).append(f"o{label}")
    return terms, tuple(f"o{label}" for label in range(outputs))


def main():
    rng = random.Random(20261125)
    networks = []

    def add(kind, terms, output, sizes):
        symbols, text = subscripts([tuple(t) for t in terms], output)
        networks.append((f"{kind} of {len(terms)}", text, {symbols[x]: sizes(x) for x in symbols}))

    draw = lambda low, high: lambda _: rng.randint(low, high)
    for n in (5, 8, 12, 20, 40):
        add("chain", *chain(n), draw(2, 30))
        add("ring", *ring(n), draw(2, 12))
        add("tree", *tree(n, rng), draw(2, 9))
    for n in (5, 8, 12, 18):
        add("star", *star(n), draw(2, 4))
    for n in (3, 4, 7, 15):
        add("matrix product states", *mps(n), draw(2, 6))
    for shape in ((2, 3), (2, 4), (3, 4), (4, 4), (5, 5), (6, 6), (3, 3, 3), (2, 2, 2)):
        add(f"lattice {'x'.join(map(str, shape))}", *lattice(*shape), draw(2, 3))
    for n in (5, 6, 8, 10, 14, 20, 30, 40):
        for regular in (3, 4):
            for outputs in (0, 2):
                terms, output = regular_graph(n, regular, outputs, rng)
                add(f"random {regular}-regular", terms, output, draw(2, 4))
    # Hyperedges: labels of three operands and more, outputs among them.
    for n in (5, 6, 8, 12, 20, 30):
        terms = [rng.sample(range(n), rng.randint(2, 3)) for _ in range(n)]
        used = sorted({x for t in terms for x in t})
        add("hyperedges", terms, tuple(rng.sample(used, 2)), draw(2, 5))
    # Larger ones, which `auto` orders greedily.
    for n in (60, 120, 250):
        add("chain", *chain(n), draw(2, 30))
        add("tree", *tree(n, rng), draw(2, 5))
        terms, output = regular_graph(n, 3, 2, rng)
        add("random 3-regular", terms, output, draw(2, 3))
    for n in (40, 100):
        add("matrix product states", *mps(n), draw(2, 6))
    for shape in ((10, 10), (12, 12), (4, 4, 4)):
        add(f"lattice {'x'.join(map(str, shape))}", *lattice(*shape), draw(2, 2))
    for n in (60, 120):
        terms = [rng.sample(range(n), rng.randint(2, 3)) for _ in range(n)]
        used = sorted({x for t in terms for x in t})
        add("hyperedges", terms, tuple(rng.sample(used, 2)), draw(2, 3))

    rows = []
    for name, text, sizes in networks:
        terms = text.split("->")[0].split(",")
        shapes = [tuple(sizes[x] for x in t) for t in terms]
        cost = lambda how: float(oe.contract_path(text, *shapes, shapes=True, optimize=how)[1].opt_cost)
        optimal = cost("optimal") if len(terms) <= OPTIMAL_OPERANDS else None
        rows.append({"name": name, "subscripts": text, "sizes": sizes, "optimal": optimal, "auto": cost("auto")})
        print(name, optimal, rows[-1]["auto"])
    path = pathlib.Path(__file__).parent.parent / "test" / "fixtures" / "paths.json"
    path.write_text("[\n" + ",\n".join(json.dumps(r, ensure_ascii=True) for r in rows) + "\n]\n")


main()
