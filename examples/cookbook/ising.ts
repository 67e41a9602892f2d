/**
 * Ising model: spins of a magnet below, at and above the temperature where order ends, three planes in one loop. A step
 * turns the black, then the white fields of a chessboard (Metropolis). Checked by Onsager's magnetisation.
 */
import { arange, compute, iterate, type Lazy, lazy, type RandomKey, random, where } from '../../src/index.js';
import { check, type Picture, type Settings } from './recipe.js';

const TEMPERATURES = [1.8, 2.27, 3];

export async function ising({ size, device }: Settings): Promise<Picture> {
  const shape = [TEMPERATURES.length, size, size];
  const heat = lazy(TEMPERATURES).reshape([-1, 1, 1]);
  const isBlack = arange(size).expandDims(1).add(arange(size)).remainder(2).equal(0);

  /** Turns spins that would have less energy, others by chance. */
  const turned = (spins: Lazy, chosen: Lazy, key: RandomKey): Lazy => {
    const around = [1, 2].flatMap((axis) => [spins.roll(1, axis), spins.roll(-1, axis)]);
    const cost = around
      .reduce((a, b) => a.add(b))
      .mul(spins)
      .mul(2);
    const isTurned = random.uniform(key, shape).less(cost.div(heat).neg().exp()).logicalAnd(chosen);
    return where(isTurned, spins.neg(), spins);
  };

  const key = random.key(11);
  const spins = iterate(
    200 + 2 * size,
    lazy(new Float64Array(3 * size * size).fill(1)).reshape(shape),
    (now, step) => {
      const [black, white] = [random.foldIn(key, step.mul(2)), random.foldIn(key, step.mul(2).add(1))];
      return turned(turned(now, isBlack, black), isBlack.logicalNot(), white);
    },
  );
  const magnetisation = spins.mean([1, 2]);
  const picture = spins
    .greater(0)
    .permuteDims([1, 0, 2])
    .reshape([size, 3 * size]);
  const found = await compute({ magnetisation, picture }, { device });
  const [cold] = TEMPERATURES as [number];
  const onsager = (1 - Math.sinh(2 / cold) ** -4) ** (1 / 8);
  check(`magnetisation at ${cold}`, Number(found.magnetisation.at(0)), onsager, 1 / size);
  check('magnetisation at 3', Number(found.magnetisation.at(2)), 0, 8 / size);
  return found.picture.toPNG();
}
