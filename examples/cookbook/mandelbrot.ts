/**
 * Mandelbrot set: a loop that ends for each point by itself, written as a function of scalars. Checked against the area
 * of the set, 1.5066.
 */
import { compute, elementwise, linspace } from '../../src/index.js';
import { check, numberOf, type Picture, type Settings } from './recipe.js';

const STEPS = 400;

/** How many steps a point takes to leave the circle of radius 2. */
const stepsToEscape = elementwise(
  (a: number, b: number): number => {
    let [x, y, n] = [0, 0, 0];
    while (n < STEPS && x * x + y * y <= 4) {
      [x, y] = [x * x - y * y + a, 2 * x * y + b];
      n++;
    }
    return n;
  },
  { captures: { STEPS } },
);

export async function mandelbrot({ size, device }: Settings): Promise<Picture> {
  const steps = stepsToEscape(linspace(-2, 0.5, size), linspace(-1.25, 1.25, size).expandDims(1));
  const share = steps.equal(STEPS).mean();
  // The logarithm spreads colours; points of the set are 0, which is black.
  const picture = steps.remainder(STEPS).add(1).log();
  const computed = await compute({ share, picture }, { device });
  check('area', numberOf(computed.share) * 2.5 * 2.5, 1.5066, 1 / Math.sqrt(size));
  return computed.picture.toPNG({ range: 'minmax', colors: 'heat' });
}
