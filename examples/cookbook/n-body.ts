/**
 * N bodies: two discs of stars that meet, every star pulled by every other, by leapfrog steps in a loop on the device. The
 * n² forces of a step exist in no memory. Checked by momentum and energy.
 */
import { compute, histogram2d, iterate, type Lazy, random, stack } from '../../src/index.js';
import { check, type Picture, type Settings } from './recipe.js';

const [STEP, SOFT] = [0.01, 0.05];

interface Stars {
  readonly x: Lazy;
  readonly v: Lazy;
}

/** The ways from each star to each other, across and up, and one over the distances, softened: each (n, n). */
function between(x: Lazy): { across: Lazy; up: Lazy; near: Lazy } {
  const [across, up] = [0, 1].map((k) => {
    const places = x.slice(null, k);
    return places.sub(places.expandDims(1));
  }) as [Lazy, Lazy];
  return {
    across,
    up,
    near: across
      .square()
      .add(up.square())
      .add(SOFT ** 2)
      .rsqrt(),
  };
}

/** Of stars of mass 1 / n. */
function pull(x: Lazy): Lazy {
  const { across, up, near } = between(x);
  const cube = near.mul(near).mul(near);
  return stack([across.mul(cube).mean(1), up.mul(cube).mean(1)], 1);
}

/** Half a drift, a kick, half a drift. */
function leap({ x, v }: Stars): Stars {
  const middle = x.add(v.mul(STEP / 2));
  const kicked = v.add(pull(middle).mul(STEP));
  return { x: middle.add(kicked.mul(STEP / 2)), v: kicked };
}

/** Stars on circles around the mass of those within: half of all stars, so v² r = r / 2 for a disc of radius 1. */
function disc(
  key: ReturnType<typeof random.key>,
  n: number,
  at: readonly number[],
  speed: readonly number[],
): Stars {
  const [radii, angles] = random.split(key, 2).map((each) => random.uniform(each, [n])) as [Lazy, Lazy];
  const [r, a] = [radii.mul(0.95).add(0.05), angles.mul(2 * Math.PI)];
  const turn = stack([a.cos(), a.sin()], 1);
  const along = stack([a.sin().neg(), a.cos()], 1).mul(Math.sqrt(0.5));
  return {
    x: turn.mul(r.expandDims(1)).add([...at]),
    v: along.mul(r.pow(0.25).expandDims(1)).add([...speed]),
  };
}

export async function nBody({ size, device }: Settings): Promise<Picture> {
  const [first, second] = random.split(random.key(5), 2);
  const one = disc(first!, size / 2, [-1.3, -0.4], [0.35, 0]);
  const other = disc(second!, size / 2, [1.3, 0.4], [-0.35, 0]);
  const join = (name: 'x' | 'v'): Lazy => stack([one[name], other[name]]).reshape([size, 2]);
  const start = { x: join('x'), v: join('v') };
  const path = iterate(240, start, leap, { every: 60 });
  const last = { x: path.x.slice(-1), v: path.v.slice(-1) };
  const energy = ({ x, v }: Stars): Lazy =>
    v.square().sum(1).mean().div(2).sub(between(x).near.mean().div(2));
  // Four times beside each other, as densities.
  const seen = [0, 1, 2, 3].map((k) => {
    const x = path.x.slice(k);
    const sides = {
      range: [
        [-2.4, 2.4],
        [-2.4, 2.4],
      ] as [number, number][],
    };
    return histogram2d(x.slice(null, 1), x.slice(null, 0), [120, 120], sides)[0].astype('float64').sqrt();
  });
  const picture = stack(seen).reshape([2, 2, 120, 120]).permuteDims([0, 2, 1, 3]).reshape([240, 240]);
  const momentum = last.v.mean(0).sub(start.v.mean(0)).abs().max();
  const drift = energy(last).div(energy(start)).sub(1);
  const found = await compute({ momentum, drift, picture }, { device });
  check('change of momentum', found.momentum, 0, 1e-12);
  check('relative change of energy', found.drift, 0, 0.02);
  return found.picture.toPNG({ range: [0, 3], colors: 'heat' });
}
