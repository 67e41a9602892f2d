/** Stencils of stencils on the CPU move their inputs and their results: values between them stay in the cache. */
import { describe, expect, it } from 'vitest';
import { byteLengthOf } from '../../src/graph/dtype.js';
import { compute, explain, type Lazy, lazy, ndimage, placeholder, plan } from '../../src/index.js';

const device = 'cpu';
const image = placeholder([4000, 4800], 'float32');
const colours = placeholder([4000, 4800, 3], 'uint8');

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
const mean = (x: Lazy, size: number): Lazy => ndimage.uniformFilter(x, { size });

const PROGRAMS: Readonly<Record<string, readonly [Lazy, Lazy[]]>> = {
  'corners of an image': [image, [corners(image)]],
  'edges of a blurred image': [image, edges(image)],
  'a Gaussian blur': [image, [ndimage.gaussianFilter(image, 1)]],
  'slopes of the brightness of colours': [colours, [sobel(grey(colours), 0).hypot(sobel(grey(colours), 1))]],
  'means of 9 by 9': [image, [mean(image, 9)]],
  'deviations in windows': [image, [mean(image.square(), 5).sub(mean(image, 5).square()).maximum(0).sqrt()]],
  'the Laplacian of a Gaussian blur': [image, [ndimage.laplace(ndimage.gaussianFilter(image, 1))]],
  'the sum of a blurred image': [image, [ndimage.gaussianFilter(image, 1).sum()]],
};

const bytesOf = (arrays: readonly Lazy[]): number =>
  arrays.reduce((sum, { size, dtype }) => sum + size * byteLengthOf(dtype), 0);

describe('stencils of stencils', () => {
  it.each(Object.entries(PROGRAMS))(
    'read their input once and write their results: %s',
    (_, [x, results]) => {
      const { bytesRead, bytesWritten, steps, edges: stored } = explain(results, { device });
      expect(steps.length).toBeGreaterThan(1);
      expect(bytesRead + bytesWritten).toBeLessThan(1.05 * bytesOf([x, ...results]));
      expect(stored).toEqual([]);
      // Panels of all values, some of whose elements go from one to the next.
      expect(plan(results, { device }).peakBytes).toBeLessThan(20 * 2 ** 20);
    },
  );

  it('say how large panels are, and why', () => {
    const text = String(explain([corners(image)], { device }));
    expect(text).toMatch(
      /in panels of [\d.]+ MiB, not stored \([\d.]+ MiB\): about \d+ µs, as a whole \d+ µs/,
    );
  });

  it('have values as a whole that are results, stay in the cache, or are read from the other end', () => {
    const smooth = ndimage.gaussianFilter(image, 1);
    const small = ndimage.gaussianFilter(placeholder([1000, 1200], 'float32'), 1);
    const onTorus = (x: Lazy): Lazy => ndimage.laplace(x, { mode: 'wrap' });
    const results = [[ndimage.laplace(smooth), smooth], [small], [onTorus(onTorus(image))]];
    for (const some of results.slice(1)) expect(plan(some, { device }).sweeps).toEqual([]);
    const { edges: stored } = explain(results[0]!, { device });
    expect(stored.map(({ bytes }) => bytes > 0)).toContain(true);
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
