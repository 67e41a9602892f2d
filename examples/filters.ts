/**
 * An image cleaned and its parts counted: a median against dots of noise, a Gaussian, the magnitude of Sobel's
 * derivatives, and the connected parts above a threshold with their centres, in one compute. Compared with plain loops.
 *
 * Run it with `node dist/examples/filters.js [--device cpu|cuda] [--size 240] [--out filters.png]`.
 */
import { parseArgs } from 'node:util';
import { arange, compute, type Lazy, ndimage, random, where } from '../src/index.js';
import { writePng } from './png.js';
import { heading, maxDifference, milliseconds, printKernels, timed } from './support.js';

const { values } = parseArgs({
  options: {
    device: { type: 'string' },
    size: { type: 'string', default: '240' },
    out: { type: 'string' },
  },
});
const n = Number(values.size);
const options = { device: values.device };

/** Round spots and a bar on a slope of grey, with a twentieth of all pixels black or white. */
const place = arange(n).div(n).astype('float32');
const [y, x] = [place.expandDims(1), place];
const spot = (down: number, across: number, radius: number): Lazy =>
  y.sub(down).hypot(x.sub(across)).less(radius);
const shapes = spot(0.25, 0.25, 0.12)
  .logicalOr(spot(0.3, 0.7, 0.17))
  .logicalOr(spot(0.72, 0.3, 0.2))
  .logicalOr(y.sub(0.75).abs().less(0.06).logicalAnd(x.sub(0.76).abs().less(0.16)));
const clean = where(shapes, 0.8, 0.15).add(x.mul(0.1));
const [dots, white] = random.split(random.key(7), 2);
const isDot = random.uniform(dots!, [n, n]).less(0.05);
const image = where(isDot, random.uniform(white!, [n, n]).round(), clean).astype('float32');

const median = ndimage.medianFilter(image, { size: 3 });
const smooth = ndimage.gaussianFilter(median, 1.5);
const edges = ndimage.sobel(smooth, { axis: 0 }).hypot(ndimage.sobel(smooth, { axis: 1 }));
const { labels, count } = ndimage.label(smooth.greater(0.55));
const centres = ndimage.centerOfMass(smooth, labels, [1, 2, 3, 4]);

heading(`filters of ${n} by ${n}`);
printKernels(edges.explain(options));
const { value, ms } = await timed(() =>
  compute({ image, median, smooth, edges, labels, count, centres }, options),
);
console.log(`  computed in ${milliseconds(ms)}: ${value.count} parts, with their centres at`);
console.log(`  ${value.centres}`.replaceAll('\n', '\n  '));

if (values.out !== undefined) {
  const [noisy, cleaned] = [value.image.data, value.smooth.data] as Float32Array[];
  const [slopes, parts] = [value.edges.data, value.labels.data] as [Float32Array, Int32Array];
  const most = slopes.reduce((a, b) => Math.max(a, b), 0);
  const grey = (level: number): [number, number, number] => {
    const byte = Math.round(255 * Math.min(1, Math.max(0, level)));
    return [byte, byte, byte];
  };
  const COLOURS = [
    [24, 24, 32],
    [230, 120, 60],
    [70, 160, 230],
    [110, 190, 90],
    [220, 200, 80],
  ] as const;
  // Four pictures: the image, cleaned, its edges, its parts.
  writePng(values.out, 2 * n, 2 * n, (row, column) => {
    const at = (row % n) * n + (column % n);
    if (row < n) return grey((column < n ? noisy : cleaned)![at]!);
    return column < n ? grey(slopes[at]! / most) : [...COLOURS[parts[at]! % COLOURS.length]!];
  });
}

/** The element at most one pixel outside that is mirrored at the edge. */
const inside = (k: number): number => (k < 0 ? -1 - k : k >= n ? 2 * n - 1 - k : k);
const pixels = value.image.data as Float32Array;
const medians = Float32Array.from(pixels, (_, at) => {
  const [row, column] = [Math.floor(at / n), at % n];
  const around = [-1, 0, 1].flatMap((down) =>
    [-1, 0, 1].map((across) => pixels[inside(row + down) * n + inside(column + across)]!),
  );
  return around.sort((a, b) => a - b)[4]!;
});
console.log(
  `  largest difference from a loop's medians: ${maxDifference(value.median.data as Float32Array, medians)}`,
);
