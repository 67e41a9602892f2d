/**
 * Image pipeline: noise taken out by a median, smoothing, edges, and the parts above a threshold counted with their
 * centres, in one compute. Checked by the shapes that were drawn: how many, and where.
 */
import { arange, compute, concat, type Lazy, lazy, ndimage, random, where } from '../../src/index.js';
import { check, type Picture, type Settings } from './recipe.js';

const SPOTS = [
  { down: 0.25, across: 0.25, radius: 0.12 },
  { down: 0.3, across: 0.7, radius: 0.17 },
  { down: 0.72, across: 0.3, radius: 0.2 },
] as const;
const COLORS = [
  [24, 24, 32],
  [230, 120, 60],
  [70, 160, 230],
  [110, 190, 90],
  [220, 200, 80],
];

export async function imagePipeline({ size, device }: Settings): Promise<Picture> {
  const [y, x] = [arange(size).div(size).expandDims(1), arange(size).div(size)];
  const spots = SPOTS.map(({ down, across, radius }) => y.sub(down).hypot(x.sub(across)).less(radius));
  const bar = y.sub(0.75).abs().less(0.06).logicalAnd(x.sub(0.76).abs().less(0.16));
  const shapes = spots.reduce((a, b) => a.logicalOr(b), bar);
  const clean = where(shapes, 0.8, 0.15).add(x.mul(0.1));
  // A twentieth of all pixels is black or white.
  const [dots, white] = random.split(random.key(7), 2);
  const isDot = random.uniform(dots!, [size, size]).less(0.05);
  const image = where(isDot, random.uniform(white!, [size, size]).round(), clean);

  const median = ndimage.medianFilter(image, { size: 3 });
  const smooth = ndimage.gaussianFilter(median, size / 160);
  const edges = ndimage.sobel(smooth, { axis: 0 }).hypot(ndimage.sobel(smooth, { axis: 1 }));
  const { labels, count } = ndimage.label(smooth.greater(0.55));
  const centres = ndimage.centerOfMass(labels.greater(0).astype('float64'), labels, [1, 2, 3, 4]);

  const grey = (each: Lazy): Lazy => each.clip(0, 1).mul(255).expandDims(2).broadcastTo([size, size, 3]);
  const parts = lazy(COLORS).take(labels.remainder(COLORS.length), 0);
  const above = concat([grey(image), grey(smooth)], 1);
  const below = concat([grey(edges.div(edges.max())), parts], 1);
  const picture = concat([above, below], 0).astype('uint8');
  const error = median.sub(clean).abs().mean().div(image.sub(clean).abs().mean());
  const found = await compute({ count, centres, error, picture }, { device });
  check('parts', found.count, SPOTS.length + 1, 0);
  for (const { down, across } of SPOTS) {
    const distances = (found.centres.toArray() as number[][]).map((at) => {
      const [row, column] = at as [number, number];
      return Math.hypot(row / size - down, column / size - across);
    });
    check('distance of a spot from where it was drawn', Math.min(...distances), 0, 1 / size);
  }
  check('noise after the median over noise before', found.error, 0, 0.25);
  return found.picture.toPNG();
}
