/** Filters: what their kernels read and write, within budgets and at borders; `test/conformance` has their values. */
import { describe, expect, it } from 'vitest';
import { networkFor } from '../src/graph/selection-networks.js';
import {
  ArgumentError,
  compute,
  DTypeError,
  type Lazy,
  lazy,
  ndimage,
  RangeArgumentError,
  ShapeError,
} from '../src/index.js';
import { toLazy } from './support/api.js';
import { backends } from './support/backends.js';
import { generator, randomValues } from './support/random.js';

const device = backends().find((each) => each.startsWith('cuda')) ?? 'cpu';
const image = toLazy(randomValues('float32', [96, 70], 3, -2, 2));
const BYTES = 96 * 70 * 4;

/** How many kernels, and the bytes that they read and write of whole images. */
function work(x: Lazy): { readonly kernels: number; readonly images: number } {
  const { steps } = x.explain({ device });
  const bytes = steps.reduce((sum, step) => sum + step.bytesRead + step.bytesWritten, 0);
  return { kernels: steps.length, images: bytes / BYTES };
}

describe('kernels of filters', () => {
  it('are one for each axis of a Gaussian, which reads and writes the image once', () => {
    expect(work(ndimage.gaussianFilter(image, 2))).toEqual({ kernels: 2, images: 4 });
    expect(work(ndimage.uniformFilter(image, { size: 5, mode: 'wrap' }))).toEqual({ kernels: 2, images: 4 });
  });

  it('are one for a derivative along both axes and its magnitude', () => {
    const [down, across] = [ndimage.sobel(image, { axis: 0 }), ndimage.sobel(image, { axis: 1 })];
    expect(work(down.hypot(across))).toEqual({ kernels: 1, images: 2 });
  });

  it('are one for a median of 9 and of 25, for weights around elements, and for an erosion', () => {
    for (const x of [
      ndimage.medianFilter(image, { size: 3 }),
      ndimage.medianFilter(image, { size: 5, mode: 'mirror' }),
      ndimage.correlate(image, [
        [1, 2, 1],
        [0, 3, 0],
      ]),
    ])
      expect(work(x)).toEqual({ kernels: 1, images: 2 });
    expect(work(ndimage.binaryErosion(image.greater(0))).kernels).toBe(1);
  });

  it('are one for each axis that is zoomed, and one for a turned image', () => {
    expect(work(ndimage.zoom(image, 2, { order: 1 })).kernels).toBe(2);
    const dense = lazy(new Float32Array(96 * 70)).reshape([96, 70]);
    expect(work(ndimage.rotate(dense, 30, { order: 1, reshape: false }))).toEqual({ kernels: 1, images: 2 });
  });

  it('take what is before and behind a filter along', () => {
    const x = ndimage.gaussianFilter(image, 1, { mode: 'nearest' }).mul(2).add(image);
    expect(work(x)).toEqual({ kernels: 2, images: 5 });
    expect(work(ndimage.correlate1d(image.mul(3), [1, 2, 1])).kernels).toBe(1);
  });
});

describe('filters within budgets', () => {
  const large = toLazy(randomValues('float32', [512, 300], 9, -2, 2));
  it.each([
    ['reflect', (x: Lazy) => ndimage.gaussianFilter(x, 1.5)],
    ['mirror', (x: Lazy) => ndimage.correlate1d(x, [1, 2, 3, 4, 5], { axis: 0, mode: 'mirror' })],
    ['nearest', (x: Lazy) => ndimage.medianFilter(x, { size: 3, mode: 'nearest' })],
    ['constant', (x: Lazy) => ndimage.sobel(x, { axis: 0, mode: 'constant', cval: 2 })],
  ])('give the bits of the whole: %s', async (_, filter) => {
    const result = filter(ndimage.uniformFilter(large));
    const memory = Math.ceil(0.4 * result.plan({ device }).peakBytes);
    expect(result.plan({ device, memory }).sweeps.length).toBeGreaterThan(0);
    const [whole] = await compute([result], { device });
    const [parts] = await compute([result], { device, memory });
    expect(parts!.data).toEqual(whole!.data);
  });
});

describe('borders', () => {
  it('fold what is computed from coordinates, gathered or folded already', async () => {
    const ramp = lazy([0, 1, 2, 3]).add(1);
    const twice = ndimage.correlate1d(ndimage.correlate1d(ramp, [1, 0, 0], { mode: 'wrap' }), [1, 0, 0]);
    expect([...(await twice.compute({ device })).data]).toEqual([4, 4, 1, 2]);
    const taken = ndimage.correlate1d(lazy([5, 6, 7]).take([2, 0, 1]), [1, 0, 0], { mode: 'mirror' });
    expect([...(await taken.compute({ device })).data]).toEqual([5, 7, 5]);
    const transposed = ndimage.correlate1d(
      lazy([
        [1, 2],
        [3, 4],
      ]).T,
      [1, 0, 0],
      { axis: 0 },
    );
    expect([...(await transposed.compute({ device })).data]).toEqual([1, 3, 1, 3]);
  });
});

type Structure = readonly (number | Structure)[];

const flat = (structure: Structure): number[] =>
  structure.flatMap((each) => (typeof each === 'number' ? [each] : flat(each)));

/** Labels in the order of first elements, by flooding from each element that has none. */
function flooded(mask: Uint8Array, shape: readonly number[], structure: Structure): number[] {
  const isMove = flat(structure);
  const moves = product(shape.map(() => [-1, 0, 1])).filter((_, k) => isMove[k] === 1);
  const places = product(shape.map((n) => [...Array(n).keys()]));
  const labels = Array.from(mask, () => 0);
  let count = 0;
  for (const start of mask.keys()) {
    if (mask[start] === 0 || labels[start] !== 0) continue;
    labels[start] = ++count;
    for (const open = [start]; open.length > 0; ) {
      const at = places[open.pop()!]!;
      for (const by of moves) {
        const there = at.map((k, axis) => k + by[axis]!);
        if (there.some((k, axis) => k < 0 || k >= shape[axis]!)) continue;
        const place = there.reduce((sum, k, axis) => sum * shape[axis]! + k, 0);
        if (mask[place] === 0 || labels[place] !== 0) continue;
        labels[place] = count;
        open.push(place);
      }
    }
  }
  return labels;
}

const product = (lists: readonly (readonly number[])[]): number[][] =>
  lists.reduce<number[][]>((all, list) => all.flatMap((one) => list.map((k) => [...one, k])), [[]]);

/** Three elements along each axis, those that differ from the middle in so many coordinates at most. */
const structureOf = (rank: number, connectivity: number): Structure =>
  [1, 0, 1].map((by) => (rank === 1 ? Number(by <= connectivity) : structureOf(rank - 1, connectivity - by)));

function maskOf(size: number, share: number): Uint8Array {
  const next = generator(8);
  return Uint8Array.from({ length: size }, () => Number(next() < share));
}

/** One diagonal, corners without the sides between them, and both neighbours of a row with corners. */
const UNUSUAL: readonly Structure[] = [
  [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  [
    [1, 0, 1],
    [0, 1, 0],
    [1, 0, 1],
  ],
  [
    [1, 0, 1],
    [1, 1, 1],
    [1, 0, 1],
  ],
];

describe('labels', () => {
  it.each([
    [[0]],
    [[1]],
    [[130]],
    [[1, 70]],
    [[70, 1]],
    [[0, 5]],
    [[7, 64]],
    [[9, 63]],
    [[6, 129]],
    [[3, 1, 40]],
    [[4, 5, 7]],
    [[3, 4, 65]],
    [[2, 3, 2, 9]],
  ])('are those of a plain flood: %j', async (shape) => {
    const size = shape.reduce((n, each) => n * each, 1);
    const masks = [0, 0.1, 0.5, 0.6, 0.9, 1].map((share) => maskOf(size, share));
    const alternating = Uint8Array.from({ length: size }, (_, k) => (k + 1) % 2);
    const full = structureOf(shape.length, shape.length);
    const structures = [structureOf(shape.length, 1), full, ...(shape.length === 2 ? UNUSUAL : [])];
    const cases = [...masks, alternating].flatMap((mask) =>
      structures.map((structure) => ({ mask, structure })),
    );
    const found = await compute(
      cases.map(({ mask, structure }) => ndimage.label(lazy(mask).reshape(shape), { structure }).labels),
      { device },
    );
    const expected = cases.map(({ mask, structure }) => flooded(mask, shape, structure));
    expect(found.map(({ data }) => Array.from(data, Number))).toEqual(expected);
  });

  it('are one step on the CPU, which numbers them', () => {
    const { steps } = ndimage.label(image.greater(0)).labels.explain({ device: 'cpu' });
    expect(steps.map(({ text }) => text.split(/[ ,]/)[0])).toEqual([expect.any(String), 'labels']);
  });

  it.each([
    [[1100, 640], 1, 0.45],
    [[90, 72, 110], 3, 1.65],
  ])(
    'are the same components in parts that threads find and join, numbered as a scan meets them: %j',
    async (...each) => {
      const [shape, connectivity, above] = each;
      const mask = toLazy(randomValues('float32', shape, 5)).greater(above);
      const options = { structure: structureOf(shape.length, connectivity) };
      const [here, there] = [ndimage.label(mask, options), ndimage.label(mask.T, options)];
      const found = await compute(
        { labels: here.labels, count: here.count, turned: there.labels.T, other: there.count },
        { device },
      );
      expect(found.count.item()).toBe(found.other.item());
      const numbers = new Map<unknown, unknown>();
      let last = 0;
      let wrong = 0;
      for (const [k, label] of found.labels.data.entries()) {
        const same = numbers.get(label) ?? found.turned.data[k];
        if (same !== found.turned.data[k] || Number(label) > last + 1) wrong++;
        numbers.set(label, same);
        last = Math.max(last, Number(label));
      }
      expect({ wrong, last, partners: new Set(numbers.values()).size }).toEqual({
        wrong: 0,
        last: found.count.item(),
        partners: numbers.size,
      });
    },
  );
});

/** All inputs of 0 and 1 at once, 32 of them in the bits of each word. */
function findsMedian(n: number): boolean {
  const network = networkFor(n, (n - 1) / 2);
  const low = [0xaaaaaaaa, 0xcccccccc, 0xf0f0f0f0, 0xff00ff00, 0xffff0000];
  const wires = new Int32Array(n);
  for (let high = 0; high < 2 ** (n - 5); high++) {
    let ones = 0;
    for (let k = 5; k < n; k++) {
      wires[k] = -((high >> (k - 5)) & 1);
      ones += (high >> (k - 5)) & 1;
    }
    // Where many more are of one kind than of the other, no exchange can go wrong that does not near the middle.
    if (Math.abs(2 * ones - n) > 12) continue;
    for (let k = 0; k < 5; k++) wires[k] = low[k]!;
    for (const [a, b] of network) {
      const [x, y] = [wires[a]!, wires[b]!];
      wires[a] = x & y;
      wires[b] = x | y;
    }
    let wanted = 0;
    for (let bit = 0; bit < 32; bit++) {
      const count = ones + low.reduce((sum, word) => sum + ((word >>> bit) & 1), 0);
      if (2 * count > n) wanted |= 1 << bit;
    }
    if (wires[(n - 1) / 2] !== wanted) return false;
  }
  return true;
}

describe('networks', () => {
  it('find medians of 9 and of 15 values: of 0 and 1, and so of all', () => {
    expect([9, 15].map(findsMedian)).toEqual([true, true]);
  });
});

describe('arguments of filters', () => {
  const x = lazy([
    [1, 2],
    [3, 4],
  ]);
  it.each([
    [
      'a mode',
      () => ndimage.sobel(x, { mode: 'edge' as never }),
      ArgumentError,
      /\[ndimage.sobel\].*'reflect'/,
    ],
    ['an axis', () => ndimage.sobel(x, { axis: 2 }), ShapeError, /an axis from -2 to 1/],
    ['weights', () => ndimage.correlate1d(x, [[1, 2]]), ArgumentError, /list of weights/],
    ['axes of weights', () => ndimage.correlate(x, [1, 2]), ShapeError, /weights of 2 axes/],
    ['an origin', () => ndimage.correlate1d(x, [1, 2, 1], { origin: 2 }), RangeArgumentError, /from -1 to 1/],
    ['a size', () => ndimage.medianFilter(x, {}), ArgumentError, /a size or a footprint/],
    ['sizes', () => ndimage.medianFilter(x, { size: [3, 3, 3] }), ShapeError, /2 axes/],
    ['a rank', () => ndimage.rankFilter(x, 9, { size: 3 }), RangeArgumentError, /from -9 to 8/],
    ['sigma', () => ndimage.gaussianFilter(x, -1), RangeArgumentError, /at least 0/],
    ['complex ranks', () => ndimage.medianFilter(lazy([{ re: 1, im: 0 }]), { size: 3 }), DTypeError, /real/],
    ['an order', () => ndimage.zoom(x, 2, { order: 6 as never }), RangeArgumentError, /an order from 0 to 5/],
    ['a matrix', () => ndimage.affineTransform(x, [[1, 2, 3, 4]]), ShapeError, /a matrix of 2 or 3 columns/],
    ['coordinates', () => ndimage.mapCoordinates(x, [[1, 2]]), ShapeError, /coordinates of 2 rows/],
    [
      'a structure',
      () => ndimage.label(x, { structure: [1, 1, 1] }),
      ShapeError,
      /3 elements along each axis/,
    ],
    [
      'half a structure',
      () => ndimage.label(lazy([1, 0]), { structure: [1, 1, 0] }),
      ArgumentError,
      /a symmetric structure/,
    ],
    ['labels', () => ndimage.sumLabels(x, [1, 2]), ShapeError, /labels of shape/],
    ['an unknown option', () => ndimage.sobel(x, { sigma: 2 } as object), ArgumentError, /option sigma/],
  ])('are refused where they are written: %s', (_, call, type, message) => {
    expect(call).toThrow(type);
    expect(call).toThrow(message);
  });
});
