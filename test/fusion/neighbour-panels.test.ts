/** Stencils of stencils on the CPU move their inputs and their results: values between them stay in the cache. */
import { describe, expect, it } from 'vitest';
import { byteLengthOf } from '../../src/graph/dtype.js';
import { arange, compute, explain, type Lazy, lazy, ndimage, placeholder, plan } from '../../src/index.js';

const device = 'cpu';
const image = placeholder([4000, 4800], 'float32');

const at = (x: Lazy, i: number, j: number): Lazy =>
  x.slice([1 + i, x.shape[0]! - 1 + i], [1 + j, x.shape[1]! - 1 + j]);
const OFFSETS = [-1, 0, 1];
const box = (x: Lazy): Lazy =>
  OFFSETS.flatMap((i) => OFFSETS.map((j) => at(x, i, j))).reduce((sum, each) => sum.add(each));
const sobel = (x: Lazy, axis: number): Lazy => {
  const line = (k: number): Lazy =>
    [1, 2, 1]
      .map((weight, n) => (axis === 0 ? at(x, k, n - 1) : at(x, n - 1, k)).mul(weight))
      .reduce((sum, each) => sum.add(each));
  return line(1).sub(line(-1));
};
const corners = (x: Lazy): Lazy => {
  const [a, b] = [sobel(x, 1), sobel(x, 0)];
  const [aa, bb, ab] = [box(a.square()), box(b.square()), box(a.mul(b))];
  return aa.mul(bb).sub(ab.square()).sub(aa.add(bb).square().mul(0.04));
};
const grey = (x: Lazy): Lazy =>
  [0.299, 0.587, 0.114]
    .map((weight, k) => x.slice('...', k).astype('float32').mul(weight))
    .reduce((sum, each) => sum.add(each));
const edges = (x: Lazy): Lazy[] => {
  const smooth = ndimage.gaussianFilter(x, 1.4);
  const [a, b] = [ndimage.sobel(smooth, { axis: 1 }), ndimage.sobel(smooth, { axis: 0 })];
  return [a.hypot(b), b.atan2(a)];
};
const smooth = (x: Lazy): Lazy => ndimage.gaussianFilter(x, 1);
const cornersOfSmooth = (x: Lazy): Lazy => {
  const [a, b] = [ndimage.sobel(x, { axis: 1 }), ndimage.sobel(x, { axis: 0 })];
  const [aa, bb, ab] = [smooth(a.square()), smooth(b.square()), smooth(a.mul(b))];
  return aa.mul(bb).sub(ab.square()).sub(aa.add(bb).square().mul(0.04));
};
const sharp = (x: Lazy): Lazy => x.add(x.sub(ndimage.gaussianFilter(x, 2)).mul(1.5)).clip(0, 1);
const contrast = (x: Lazy): Lazy => {
  const less = x.sub(ndimage.gaussianFilter(x, 2));
  return less.div(ndimage.gaussianFilter(less.square(), 2).sqrt().add(1e-3));
};
const mean = (x: Lazy, size: number): Lazy => ndimage.uniformFilter(x, { size });

/** On a torus. */
const laplacian = (x: Lazy): Lazy =>
  x.roll(1, 0).add(x.roll(-1, 0)).add(x.roll(1, 1)).add(x.roll(-1, 1)).sub(x.mul(4));
const heat = (x: Lazy): Lazy => {
  const first = laplacian(x);
  const second = laplacian(x.add(first.mul(0.05)));
  const third = laplacian(x.add(second.mul(0.05)));
  const last = laplacian(x.add(third.mul(0.1)));
  return x.add(
    first
      .add(second.mul(2))
      .add(third.mul(2))
      .add(last)
      .mul(0.1 / 6),
  );
};
const phases = (x: Lazy): Lazy => x.add(laplacian(x.pow(3).sub(x).sub(laplacian(x).mul(0.5))).mul(0.01));
const wave = (x: Lazy): Lazy => x.sub(x.mul(x.sub(x.roll(1, 0))).mul(0.1));

type Program = readonly [name: string, input: Lazy, results: Lazy[]];
function programsOf(image: Lazy): Program[] {
  const colours = placeholder([...image.shape, 3], 'uint8');
  const series = placeholder([image.size], 'float32');
  return [
    ['corners of an image', image, [corners(image)]],
    ['edges of a blurred image', image, edges(image)],
    ['a Gaussian blur', image, [ndimage.gaussianFilter(image, 1)]],
    [
      'slopes of the brightness of colours',
      colours,
      [sobel(grey(colours), 0).hypot(sobel(grey(colours), 1))],
    ],
    ['means of 9 by 9', image, [mean(image, 9)]],
    [
      'deviations in windows',
      image,
      [mean(image.square(), 5).sub(mean(image, 5).square()).maximum(0).sqrt()],
    ],
    ['the Laplacian of a Gaussian blur', image, [ndimage.laplace(ndimage.gaussianFilter(image, 1))]],
    ['the sum of a blurred image', image, [ndimage.gaussianFilter(image, 1).sum()]],
    ['corners by Gaussian sums', image, [cornersOfSmooth(image)]],
    ['an unsharp mask, which reads the image again', image, [sharp(image)]],
    ['local contrast', image, [contrast(image)]],
    ['a Runge-Kutta step of the heat equation on a torus', image, [heat(image)]],
    ['a step of Cahn and Hilliard on a torus', image, [phases(image)]],
    ['two steps of a wave on a ring', series, [wave(wave(series))]],
  ];
}

const bytesOf = (arrays: readonly Lazy[]): number =>
  arrays.reduce((sum, { size, dtype }) => sum + size * byteLengthOf(dtype), 0);

describe('stencils of stencils', () => {
  it.each([
    ...programsOf(image),
    ...programsOf(placeholder([1000, 1200], 'float32')),
    ...programsOf(placeholder([1000, 1200], 'float64')),
  ])('read their input once and write their results: %s of $1.shape $1.dtype', (_, x, results) => {
    const { bytesRead, bytesWritten, steps, edges: stored, readings } = explain(results, { device });
    expect(steps.length).toBeGreaterThan(1);
    expect(bytesRead + bytesWritten).toBeLessThan(1.05 * bytesOf([x, ...results]));
    expect(bytesRead + bytesWritten).toBeGreaterThanOrEqual(bytesOf([x, ...results]));
    expect([...stored, ...readings]).toEqual([]);
    // Panels of all values, some of whose elements go from one to the next.
    expect(plan(results, { device }).peakBytes).toBeLessThan(20 * 2 ** 20);
  });

  it('are no other than distances of all pairs that several reductions read', () => {
    const points = placeholder([2000, 8], 'float32');
    const distances = points.expandDims(1).sub(points.expandDims(0)).square().sum(-1);
    const kernels = distances.mul(-0.5).exp();
    const results = [kernels.sum(1), kernels.max(1)];
    const { bytesRead, bytesWritten, edges: stored, readings } = explain(results, { device });
    expect(bytesRead + bytesWritten).toBeLessThan(1.05 * bytesOf([points, ...results]));
    expect([...stored, ...readings]).toEqual([]);
  });

  it('say how large panels are, and why', () => {
    const text = String(explain([corners(image)], { device }));
    expect(text).toMatch(
      /in panels of [\d.]+ MiB, not stored \([\d.]+ MiB\): about \d+ µs, as a whole \d+ µs/,
    );
  });

  it('have values as a whole that are results, stay in the cache, or have rows that depend on their place', () => {
    const blurred = smooth(image);
    const small = placeholder([512, 512], 'float32');
    const byPlace = laplacian(laplacian(image.mul(arange(4000).expandDims(1))));
    for (const one of [smooth(small), heat(small), byPlace])
      expect(plan([one], { device }).sweeps).toEqual([]);
    const { edges: stored } = explain([ndimage.laplace(blurred), blurred], { device });
    expect(stored.map(({ bytes }) => bytes > 0)).toContain(true);
  });

  it('of 4 MiB pass as a whole where there are many steps, for each of which planning would look through all', () => {
    const blurs = (count: number, ...shape: number[]): Lazy[] =>
      Array.from({ length: count }, () => smooth(placeholder(shape, 'float32')));
    expect(plan(blurs(32, 1000, 1200), { device }).sweeps).toHaveLength(32);
    expect(plan(blurs(33, 1000, 1200), { device }).sweeps).toEqual([]);
    expect(plan(blurs(33, 4000, 1200), { device }).sweeps).toHaveLength(33);
  });

  it('say of small values that they stay in the cache, and how large those are that pass in panels', () => {
    const { edges: stored } = explain([smooth(placeholder([512, 512], 'float32'))], { device });
    expect(stored.map(({ reason, bytes }) => [reason, bytes])).toEqual([['in-cache', 2 * 4 * 512 * 512]]);
    expect(stored[0]!.advice).toMatch(/It has 1\.00 MiB, and panels are for 4\.00 MiB and more\.$/);
    const large = explain([laplacian(laplacian(image.mul(arange(4000).expandDims(1))))], { device });
    expect(large.edges.map(({ reason }) => reason)).toEqual(['read-around']);
  });
});

it('has the bits of a blur whose first half is stored', async () => {
  const values = Float32Array.from({ length: 2200 * 2100 }, (_, k) => Math.sin(k));
  const own = lazy(values, { shape: [2200, 2100] });
  const half = ndimage.uniformFilter(own, { size: [5, 1] });
  const whole = ndimage.uniformFilter(half, { size: [1, 5] });
  expect(plan([whole], { device }).sweeps).toHaveLength(1);
  const [alone] = await compute([whole], { device });
  const [stored] = await compute([half], { device });
  const [after] = await compute([ndimage.uniformFilter(lazy(stored!), { size: [1, 5] })], { device });
  expect(alone!.data).toEqual(after!.data);
});
