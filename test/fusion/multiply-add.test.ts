/** Sums with a product are one operation by their expression alone (`multiply-add.ts`). */
import { expect, it } from 'vitest';
import { CUDA_TARGET } from '../../src/exec/targets/cuda.js';
import { canonicalize } from '../../src/fusion/passes/canonicalize.js';
import { runPasses } from '../../src/fusion/passes/pipeline.js';
import { elementwise, type Lazy, placeholder } from '../../src/index.js';

const array = (
  shape: readonly number[] = [40, 30],
  dtype: 'float32' | 'float16' | 'complex64' = 'float32',
): Lazy => placeholder(shape, dtype);
const [x, y, z] = [array(), array(), array()];
const row = array([30]);

/** The ops of the graph that a GPU's kernels are made of, in order of their nodes; views and sources are left out. */
function opsOf(results: readonly Lazy[], exact = false): string[] {
  const { graph } = canonicalize(results.map(({ expr }) => expr));
  const { nodes } = runPasses(graph, {
    passes: CUDA_TARGET.passes,
    last: CUDA_TARGET.wholePasses,
    exact,
    verify: true,
  });
  return nodes.flatMap((node) => (node?.kind === 'map' ? [node.op] : [])).sort();
}

it.each<[string, Lazy, readonly string[]]>([
  ['x * 2 + y', x.mul(2).add(y), ['multiplyAdd']],
  ['y + x * 2', y.add(x.mul(2)), ['multiplyAdd']],
  ['x² - y', x.square().sub(y), ['multiplySubtract']],
  ['y - x * row', y.sub(x.mul(row)), ['subtractProduct']],
  ['(x + 1) y + z', x.add(1).mul(y).add(z), ['add', 'multiplyAdd']],
  ['x y + row', x.mul(2).add(row), ['multiplyAdd']],
  ['2 x + 3 y', x.mul(2).add(y.mul(3)), ['multiply', 'multiplyAdd']],
  ['x y - 3 z', x.mul(y).sub(z.mul(3)), ['multiply', 'subtractProduct']],
  ['x² + y²', x.square().add(y.square()), ['multiplyAdd', 'square']],
])('%s', (_, result, wanted) => {
  expect(opsOf([result])).toEqual(wanted);
  expect(opsOf([result], true)).not.toContain('multiplyAdd');
});

it.each<[string, Lazy]>([
  ['two given arrays', x.mul(y).add(z)],
  ['a product that is a row', row.mul(2).add(x)],
  ['what is computed of the product, and smaller', x.mul(2).sub(x.mul(2).max(0))],
  [
    'the product turned',
    x
      .slice([0, 30])
      .mul(2)
      .sub(x.slice([0, 30]).mul(2).T),
  ],
  ['the floor of the product', x.mul(3).sub(x.mul(3).floor())],
  ['a part of the product', x.mul(3).sub(x.mul(3).maximum(y))],
  ['the largest products so far', x.mul(3).sub(x.mul(3).cumulativeMax(0))],
  ['the products in order', x.mul(3).sub(x.mul(3).sort(0))],
  ['the product rolled', x.mul(2).add(x.mul(2).roll(3, 0))],
  ['a b - b a', x.mul(y).sub(y.mul(x))],
  ['2 x - 2 y', x.mul(2).sub(y.mul(2))],
  ['x² - y²', x.square().sub(y.square())],
  ['3 x + -3 x', x.mul(3).add(x.mul(-3))],
  ['(x + 1) y + -(x + 1) y', x.add(1).mul(y).add(x.add(1).neg().mul(y))],
  ['x² + x (-x)', x.square().add(x.mul(x.neg()))],
  [
    'halves',
    array([40, 30], 'float16')
      .mul(2)
      .add(array([40, 30], 'float16')),
  ],
  [
    'complex numbers',
    array([40, 30], 'complex64')
      .mul(2)
      .add(array([40, 30], 'complex64')),
  ],
])('leaves a sum with %s as it is', (_, result) => {
  const ops = opsOf([result]);
  for (const op of ['multiplyAdd', 'multiplySubtract', 'subtractProduct']) expect(ops).not.toContain(op);
});

it('reads the factors of slices of one array and scalars, but for the first two', () => {
  const line = array([1000]);
  const squares = line.square();
  const window = squares
    .slice([0, 900])
    .add(squares.slice([1, 901]))
    .add(squares.slice([2, 902]));
  expect(opsOf([window])).toEqual(['add', 'multiplyAdd', 'square']);
});

it('is the same beside the product', () => {
  const product = x.add(1).mul(y);
  expect(opsOf([product.add(z), product])).toEqual(['add', 'multiply', 'multiplyAdd']);
});

it('is the same for slices that are computed at once', () => {
  const [rows, line, other] = [array([3, 4000]), array([4000]), array([4000])];
  const slice = (k: number): Lazy => rows.slice([k, k + 1]).reshape([4000]);
  const sums: readonly ((of: Lazy) => Lazy)[] = [
    (of) => of.mul(line).add(other).sum(),
    (of) => of.mul(3).add(line.exp()).min(),
    (of) => of.mul(3).add(other).sum(),
  ];
  for (const sum of sums) {
    const isAdded = opsOf([sum(slice(0))]).includes('multiplyAdd');
    expect(opsOf([0, 1, 2].map((k) => sum(slice(k)))).includes('multiplyAdd')).toBe(isAdded);
  }
});

it('sums products of pairs unrounded, of short ones squares', () => {
  const pairs = (length: number): [Lazy, Lazy] => [array([100, 1, length]), array([1, 100, length])];
  for (const length of [3, 40]) {
    const [a, b] = pairs(length);
    expect(opsOf([a.sub(b).square().sum(2)])).toEqual(['subtract', 'termProduct']);
  }
  expect(opsOf([x.mul(y).sum(1)])).toEqual(['multiply']);
});

/** The ops of the loop that a function of an element and a number of steps is. */
function opsOfLoop(f: (start: number, count: number) => number): string[] {
  const { graph } = canonicalize([(elementwise(f) as (a: Lazy, b: Lazy) => Lazy)(x, y).expr]);
  const { nodes } = runPasses(graph, { passes: CUDA_TARGET.passes, verify: true });
  const loop = nodes.find((node) => node?.kind === 'repeat');
  if (loop?.kind !== 'repeat') return [];
  return loop.loop.values.flatMap((value) => (value.kind === 'map' ? [value.op] : []));
}

it('writes the steps of loops of elements so', () => {
  const ops = opsOfLoop((start, count) => {
    let value = start;
    let k = 0;
    while (k < count) {
      value = value * value + start;
      k = k + 1;
    }
    return value;
  });
  expect(ops).toContain('multiplyAdd');
});

it('leaves a fraction of a product in a step of a loop as it is', () => {
  const ops = opsOfLoop((start, count) => {
    let value = start;
    let k = 0;
    while (k < count) {
      const product = value * 3.7;
      value = product - Math.floor(product);
      k = k + 1;
    }
    return value;
  });
  expect(ops).toContain('subtract');
  expect(ops).not.toContain('multiplySubtract');
});
