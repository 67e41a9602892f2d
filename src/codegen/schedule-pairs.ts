/**
 * The schedule of a reduction for every pair of an axis i and an axis j, where each load depends on at most one of
 * them (`((x[:, None] - y[None]) ** 2).sum(-1)`): tiled like a matrix product, for any arithmetic and any reduction.
 */
import { argumentsOf, type Kernel, levelsOf, product } from '../fusion/kernel.js';
import { byteLengthOf } from '../graph/dtype.js';
import { accumulatorOf, reductionRow } from '../graph/reductions.js';
import { dependenciesOf } from './body.js';

export interface PairSchedule {
  readonly kind: 'pairs';
  /** Domain axes of the tile; `axisJ` is the last parallel one, along which results are stored. */
  readonly axisI: number;
  readonly axisJ: number;
  /** A thread holds items × items accumulators; a block has 16 × 16 threads. */
  readonly items: number;
  /** Reduced elements in shared memory at a time. */
  readonly depth: number;
  /** Elements after which accumulators are folded into a second set; 0: never. */
  readonly fold: number;
}

/** Threads along each side of a tile. */
export const PAIR_SIDE = 16;
const SHARED_BYTES = 40 * 1024;
/** Fewer tiles would leave a device idle: other schedules cut the reduced axis. */
const FEWEST_TILES = 64;
const LONGEST_CHAIN = 1024;

export type Side = 'i' | 'j' | 'common' | 'both';

/** Which of the two axes each value depends on. */
export function sidesOf(kernel: Kernel, axisI: number, axisJ: number): Side[] {
  return dependenciesOf(kernel).map((on) =>
    on[axisI] ? (on[axisJ] ? 'both' : 'i') : on[axisJ] ? 'j' : 'common',
  );
}

/** Values that staging hands to the arithmetic on pairs: arguments of a value of both axes, or of a reduction. */
export function frontierOf(kernel: Kernel, sides: readonly Side[]): number[] {
  const frontier = new Set<number>();
  const { element } = levelsOf(kernel);
  kernel.tape.forEach((i, position) => {
    if (i.kind !== 'reduce' && !(sides[position] === 'both' && element[position])) return;
    for (const arg of argumentsOf(i)) {
      if (kernel.tape[arg]!.kind !== 'const' && sides[arg] !== 'both') frontier.add(arg);
    }
  });
  return [...frontier].sort((a, b) => a - b);
}

export function choosePairs(kernel: Kernel): PairSchedule | undefined {
  const p = kernel.parallel.length;
  const axisJ = p - 1;
  const { element } = levelsOf(kernel);
  if (p < 2 || kernel.stores.some(({ value }) => element[value])) return undefined;
  const loads = kernel.tape.flatMap((i, position) =>
    i.kind === 'load' && element[position] ? [position] : [],
  );
  for (let axisI = p - 2; axisI >= 0; axisI--) {
    const sides = sidesOf(kernel, axisI, axisJ);
    const has = (side: Side): boolean => loads.some((position) => sides[position] === side);
    if (!has('i') || !has('j') || has('both')) continue;
    return sizePairs(kernel, axisI, axisJ, sides);
  }
  return undefined;
}

function sizePairs(
  kernel: Kernel,
  axisI: number,
  axisJ: number,
  sides: readonly Side[],
): PairSchedule | undefined {
  const reduces = kernel.tape.flatMap((i) => (i.kind === 'reduce' ? [i] : []));
  // Row values of a pair would have to be held for every accumulator.
  const { element } = levelsOf(kernel);
  const elementBoth = kernel.tape.flatMap((i, position) =>
    i.kind === 'reduce' || (element[position] && sides[position] === 'both') ? argumentsOf(i) : [],
  );
  if (elementBoth.some((arg) => !element[arg] && kernel.tape[arg]!.kind !== 'const' && sides[arg] === 'both'))
    return undefined;
  const words = reduces.reduce(
    (sum, i) =>
      sum +
      (reductionRow(i.reduction).width * byteLengthOf(accumulatorOf(kernel.tape[i.args[0]!]!.dtype))) / 4,
    0,
  );
  if (words > 4) return undefined;
  const length = product(kernel.reduced);
  const fold = length > LONGEST_CHAIN ? LONGEST_CHAIN : 0;
  const tiles = (items: number): number => {
    const side = PAIR_SIDE * items;
    const [i, j] = [axisI, axisJ].map((axis) => Math.ceil(kernel.parallel[axis]! / side));
    return (product(kernel.parallel) / kernel.parallel[axisI]! / kernel.parallel[axisJ]!) * i! * j!;
  };
  const items = words > 1 || fold > 0 || tiles(8) < 2 * FEWEST_TILES ? 4 : 8;
  if (tiles(items) < FEWEST_TILES) return undefined;
  const bytes = frontierOf(kernel, sides).reduce(
    (sum, position) => sum + byteLengthOf(kernel.tape[position]!.dtype),
    0,
  );
  let depth = 32;
  while (depth > 4 && depth * (PAIR_SIDE * items + 4) * bytes > SHARED_BYTES) depth /= 2;
  if (depth * (PAIR_SIDE * items + 4) * bytes > SHARED_BYTES) return undefined;
  return { kind: 'pairs', axisI, axisJ, items, depth, fold };
}
