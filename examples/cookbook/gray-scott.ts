/**
 * Gray–Scott: two substances that react and spread and grow into patterns (Pearson, 1993), as one stencil of two states.
 * Checked by what the reaction alone conserves: without feed and loss the sum of both.
 */
import { arange, compute, iterate, type Lazy, where } from '../../src/index.js';
import { check, type Picture, type Settings } from './recipe.js';

interface State {
  readonly u: Lazy;
  readonly v: Lazy;
}

/** What the eight neighbours have more, in a plane whose edges meet. */
function laplacian(x: Lazy): Lazy {
  const sides = [x.roll(1, 0), x.roll(-1, 0), x.roll(1, 1), x.roll(-1, 1)].reduce((a, b) => a.add(b));
  const rows = [x.roll(1, 0), x.roll(-1, 0)];
  const corners = rows.flatMap((row) => [row.roll(1, 1), row.roll(-1, 1)]).reduce((a, b) => a.add(b));
  return sides.mul(0.2).add(corners.mul(0.05)).sub(x);
}

/** A step of a mixture that is fed with `u` and loses `v`. */
const react =
  (feed: number, loss: number) =>
  ({ u, v }: State): State => {
    const made = u.mul(v).mul(v);
    return {
      u: u.add(laplacian(u)).sub(made).add(u.mul(-1).add(1).mul(feed)),
      v: v
        .add(laplacian(v).mul(0.5))
        .add(made)
        .sub(v.mul(feed + loss)),
    };
  };

export async function grayScott({ size, device }: Settings): Promise<Picture> {
  const [y, x] = [arange(size).expandDims(1), arange(size)];
  // Four drops of v in a plane of u.
  const near = (place: Lazy): Lazy =>
    place
      .remainder(size / 2)
      .sub(size / 4)
      .abs()
      .less(3 + size / 40);
  const drop = near(y.add(x.mul(0.25))).logicalAnd(near(x));
  const start = { u: where(drop, 0.5, 1), v: where(drop, 0.25, 0) };
  const closed = iterate(100, start, react(0, 0));
  const { v } = iterate(20 * size, start, react(0.037, 0.06));
  const found = await compute(
    { before: start.u.add(start.v).mean(), after: closed.u.add(closed.v).mean(), most: v.max(), v },
    { device },
  );
  check('both substances after 100 closed steps', found.after, Number(found.before.item()), 1e-12);
  check('the most of v', found.most, 0.35, 0.1);
  return found.v.toPNG({ range: 'minmax', colors: 'heat' });
}
