/**
 * Game of Life: the rule as a stencil over bytes, in a loop that stays on the device. Gosper's gun has 36 cells and sends
 * out a glider of five every 30 generations, against which the population is checked.
 */
import { compute, iterate, type Lazy, lazy, where } from '../../src/index.js';
import { check, type Picture, type Settings } from './recipe.js';

const GUN = `
........................#
......................#.#
............##......##............##
...........#...#....##............##
##........#.....#...##
##........#...#.##....#.#
..........#.....#.......#
...........#...#
............##`;

/** The gun in the corner of an empty board. */
function board(size: number): Lazy<'uint8'> {
  const cells = new Uint8Array(size * size);
  for (const [y, line] of GUN.trim().split('\n').entries())
    for (const [x, cell] of [...line].entries()) cells[(y + 3) * size + x + 3] = cell === '#' ? 1 : 0;
  return lazy(cells).reshape([size, size]);
}

/** A cell lives with three neighbours, or with two if it did; around the board nothing lives. */
function generation(cells: Lazy): Lazy {
  const around = cells.pad(1);
  const part = (k: number): [number | null, number | null] => [k, k === 2 ? null : k - 2];
  const sums = [0, 1, 2].flatMap((y) => [0, 1, 2].map((x) => around.slice(part(y), part(x))));
  const count = sums.reduce((a, b) => a.add(b)).sub(cells);
  return where(count.equal(3).logicalOr(count.equal(2).logicalAnd(cells.equal(1))), 1, 0).astype('uint8');
}

export async function gameOfLife({ size, device }: Settings): Promise<Picture> {
  // Gliders move a cell in four generations, so that none of them meets the border.
  const periods = Math.floor((4 * (size - 50)) / 30);
  const states = iterate(30 * periods, board(size), generation, { every: 30 });
  const last = states.slice(-1);
  const { population, picture } = await compute(
    { population: states.sum([1, 2]), picture: last.repeat(3, 0).repeat(3, 1).equal(0) },
    { device },
  );
  for (const k of [0, periods - 1])
    check(`population after ${30 * (k + 1)}`, Number(population.at(k)), 36 + 5 * (k + 1), 0);
  return picture.toPNG();
}
