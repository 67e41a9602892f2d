/**
 * Logistic regression by Newton's method: each step solves a small system, in a loop that stays on the device. Checked by
 * the weights that the labels were drawn by, and by the gradient, which is 0 at the maximum.
 */
import {
  compute,
  concat,
  iterate,
  type Lazy,
  lazy,
  linalg,
  linspace,
  ones,
  random,
  stack,
  where,
} from '../../src/index.js';
import { check, type Picture, type Settings } from './recipe.js';

/** Of 1, x, y, x², y². */
const WEIGHTS = [-1.5, 1, -0.5, 1.2, 0.8];

/** The features of points: (n, 5). */
function features(x: Lazy, y: Lazy): Lazy {
  return stack([ones(x.shape), x, y, x.square(), y.square()], 1);
}

/** A step of Newton's to the maximum of the likelihood. */
function newton(weights: Lazy, x: Lazy, labels: Lazy): Lazy {
  const p = x.matmul(weights).sigmoid();
  const gradient = x.T.matmul(labels.sub(p));
  const curvature = x.T.matmul(x.mul(p.mul(p.mul(-1).add(1)).expandDims(1)));
  return weights.add(linalg.solve(curvature, gradient));
}

export async function logisticRegression({ size, device }: Settings): Promise<Picture> {
  const [places, chance] = random.split(random.key(8), 2);
  const points = random.normal(places!, [size, 2]);
  const x = features(points.slice(null, 0), points.slice(null, 1));
  const labels = random.uniform(chance!, [size]).less(x.matmul(WEIGHTS).sigmoid()).astype('float64');
  const weights = iterate(8, lazy(new Float64Array(WEIGHTS.length)), (now) => newton(now, x, labels));
  const gradient = x.T.matmul(labels.sub(x.matmul(weights).sigmoid())).div(size);

  // The probability over the plane, and beside it the points.
  const side = 200;
  const [row, column] = [linspace(3, -3, side).repeat(side), linspace(-3, 3, side).tile([side])];
  const plane = features(column, row).matmul(weights).sigmoid().reshape([side, side]);
  const scale = (place: Lazy, sign: number): Lazy =>
    place
      .mul(sign)
      .add(3)
      .mul(side / 6)
      .floor()
      .clip(0, side - 1);
  const pixel = scale(points.slice(null, 1), -1)
    .mul(side)
    .add(scale(points.slice(null, 0), 1))
    .astype('int64');
  const dots = lazy(new Float64Array(side * side).fill(0.5))
    .at(pixel)
    .set(labels)
    .reshape([side, side]);
  const picture = concat([plane, where(dots.equal(0.5), 0.5, dots)], 1);
  const found = await compute({ weights, gradient: gradient.abs().max(), picture }, { device });
  check('largest gradient', found.gradient, 0, 1e-12);
  for (const [k, weight] of WEIGHTS.entries())
    check(`weight ${k}`, Number(found.weights.at(k)), weight, 12 / Math.sqrt(size));
  return found.picture.toPNG({ colors: 'diverging' });
}
