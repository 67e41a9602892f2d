/**
 * Waves through two slits: the wave equation by a stencil of the last two states, with a wall. Checked by the energy of a
 * closed box, which the scheme conserves exactly, and by the frequency of its slowest wave.
 */
import { arange, compute, iterate, type Lazy, where } from '../../src/index.js';
import { check, type Picture, type Settings } from './recipe.js';

/** The square of the speed, in cells a step: at most 0.5. */
const SPEED = 0.25;

interface State {
  readonly now: Lazy;
  readonly before: Lazy;
}

/** What the four neighbours have more; the border is held at 0. */
function laplacian(x: Lazy): Lazy {
  const p = x.pad(1);
  const vertical = p.slice([null, -2], [1, -1]).add(p.slice([2, null], [1, -1]));
  const horizontal = p.slice([1, -1], [null, -2]).add(p.slice([1, -1], [2, null]));
  return vertical.add(horizontal).sub(x.mul(4));
}

const next = ({ now, before }: State): State => ({
  now: now.mul(2).sub(before).add(laplacian(now).mul(SPEED)),
  before: now,
});

export async function wave({ size, device }: Settings): Promise<Picture> {
  const [y, x] = [arange(size).expandDims(1), arange(size)];
  const isWall = x
    .sub(Math.floor(size * 0.35))
    .abs()
    .less(2);
  const isSlit = y
    .sub(size / 2)
    .abs()
    .sub(size * 0.08)
    .abs()
    .less(size * 0.02);
  const open = isWall.logicalAnd(isSlit.logicalNot()).logicalNot();
  const source = x.equal(3).logicalAnd(
    y
      .sub(size / 2)
      .abs()
      .less(size * 0.45),
  );
  const silent = y.mul(0).add(x.mul(0));
  const { now } = iterate(Math.floor(1.7 * size), { now: silent, before: silent }, (state, step) => {
    const driven = where(source, step.astype('float64').mul(0.25).sin(), next(state).now);
    return { now: where(open, driven, 0), before: state.now };
  });
  // The slowest wave of a closed box swings by cos(ω t), where sin²(ω/2) = 2 c² sin²(π / 2 (n + 1)).
  const sines = arange(1, size + 1)
    .mul(Math.PI / (size + 1))
    .sin();
  const slowest = sines.mul(sines.expandDims(1));
  const omega = 2 * Math.asin(Math.sqrt(2 * SPEED) * Math.sin(Math.PI / (2 * (size + 1))));
  const swung = iterate(200, { now: slowest, before: slowest.mul(Math.cos(omega)) }, next);
  const energy = ({ now: a, before: b }: State): Lazy =>
    a.sub(b).square().sum().sub(laplacian(a).mul(b).sum().mul(SPEED));
  const drift = energy(swung)
    .div(energy({ now: slowest, before: slowest.mul(Math.cos(omega)) }))
    .sub(1);
  const found = await compute({ swing: swung.now.div(slowest).mean(), drift, now }, { device });
  check('swing of the slowest wave', found.swing, Math.cos(200 * omega), 1e-9);
  check('change of its energy', found.drift, 0, 1e-9);
  return found.now.toPNG({ range: [-1, 1], colors: 'diverging' });
}
