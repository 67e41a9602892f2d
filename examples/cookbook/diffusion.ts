/**
 * Diffusion by a stencil: thousands of steps of a plate with cold edges, in a loop that stays on the device, of which a
 * few states are kept. Checked by the slowest wave, whose decay in a step is known.
 */
import { arange, compute, iterate, type Lazy, where } from '../../src/index.js';
import { check, type Picture, type Settings } from './recipe.js';

const RATE = 0.2;

/** A step: a part of what the four neighbours have more, cold around. */
function spread(f: Lazy): Lazy {
  const p = f.pad(1);
  const vertical = p.slice([null, -2], [1, -1]).add(p.slice([2, null], [1, -1]));
  const horizontal = p.slice([1, -1], [null, -2]).add(p.slice([1, -1], [2, null]));
  return f.add(vertical.add(horizontal).sub(f.mul(4)).mul(RATE));
}

/** Rings and a bar at 1, the rest at 0. */
function plate(size: number): Lazy {
  const [y, x] = [arange(size).div(size).expandDims(1), arange(size).div(size)];
  const ring = (cy: number, cx: number, radius: number): Lazy =>
    y.sub(cy).hypot(x.sub(cx)).sub(radius).abs().less(0.025);
  const bar = y.sub(0.82).abs().less(0.03).logicalAnd(x.sub(0.5).abs().less(0.32));
  return where(
    ring(0.4, 0.34, 0.2)
      .logicalOr(ring(0.36, 0.68, 0.14))
      .logicalOr(bar),
    1,
    0,
  ).astype('float64');
}

export async function diffusion({ size, device }: Settings): Promise<Picture> {
  const every = Math.floor(size ** 2 / 1000);
  const states = iterate(4 * every, plate(size), spread, { every });
  const angles = arange(1, size + 1)
    .mul(Math.PI / (size + 1))
    .sin();
  const wave = angles.mul(angles.expandDims(1));
  const decayed = iterate(100, wave, spread).div(wave).mean();
  // Four times beside each other.
  const picture = states
    .reshape([2, 2, size, size])
    .permuteDims([0, 2, 1, 3])
    .reshape([2 * size, 2 * size]);
  const found = await compute({ decayed, picture }, { device });
  const expected = (1 - 8 * RATE * Math.sin(Math.PI / (2 * (size + 1))) ** 2) ** 100;
  check('decay of the slowest wave in 100 steps', found.decayed, expected, 1e-12);
  return found.picture.toPNG({ range: 'minmax', colors: 'heat' });
}
