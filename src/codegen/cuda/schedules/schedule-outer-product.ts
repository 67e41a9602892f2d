/**
 * The schedule of a reduction for every pair of an axis i and an axis j, where each load depends on at most
 * one of them (`((x[:, None] - y[None]) ** 2).sum(-1)`): tiled like a matrix product, for any arithmetic and
 * any reduction. Where there are few tiles, the reduced axes are cut into slots.
 */

import { loadsOf } from '../../../fusion/kernel/algebra.js';
import { hasMonoid, opOf, reductionsOf } from '../../../fusion/kernel/arithmetic.js';
import { type Kernel, product } from '../../../fusion/kernel/kernel.js';
import {
  dependenciesOf,
  elementLoadsOf,
  levelsOf,
  storesElements,
  takenByWalks,
} from '../../../fusion/kernel/levels.js';
import { mirrorOf } from '../../../fusion/kernel/symmetry.js';
import { byteLengthOf } from '../../../graph/dtype.js';
import { accumulatorOf, reductionRow } from '../../../graph/reductions.js';
import type { Stretch } from '../tile-reduced.js';
import { isShort } from './in-turn.js';
import { extentOf, groupsOf, type PairSizes, type TileSizes, tilePairs } from './outer-product-tiles.js';

export interface OuterProductSchedule extends TileSizes {
  readonly kind: 'outer-product';
  /** Domain axes of the tile; `axisJ` is the last parallel one, along which results are stored. */
  readonly axisI: number;
  readonly axisJ: number;
  /** Tiles in which reduced elements come, where each side has its neighbours along another reduced axis. */
  readonly tile: readonly Stretch[];
  /**
   * Whether the result is one tile in slots that is its own transpose: then a side is staged once, and only the threads
   * on and above the diagonal compute.
   */
  readonly isSymmetric?: true;
  /**
   * Whether the result of several tiles is its own transpose: a launch of all of them then computes those on and above
   * the diagonal, and stores each of these twice. One of some tiles, of a part of the job, computes all of those.
   */
  readonly isHalved?: true;
}

export type Side = 'i' | 'j' | 'common' | 'both';

/** Which of the two axes each value depends on. */
export function sidesOf(kernel: Kernel, axisI: number, axisJ: number): Side[] {
  return dependenciesOf(kernel).map((on, position) =>
    // A sum takes up the factors of such a product, pair by pair.
    opOf(kernel.tape[position]!) === 'termProduct' || (on[axisI] && on[axisJ])
      ? 'both'
      : on[axisI]
        ? 'i'
        : on[axisJ]
          ? 'j'
          : 'common',
  );
}

/** The values of the other axis that are those of one with the axes exchanged, by position. */
export const mirrorOfTile = (
  kernel: Kernel,
  { axisI, axisJ, isSymmetric }: OuterProductSchedule,
): readonly number[] | undefined => (isSymmetric === true ? mirrorOf(kernel, axisI, axisJ) : undefined);

/**
 * Values that staging hands to the arithmetic on pairs: arguments of a value of both axes, or of a reduction.
 */
export function frontierOf(kernel: Kernel, sides: readonly Side[]): number[] {
  const taken = takenByWalks(kernel, (position) => sides[position] === 'both');
  return [...taken].filter((arg) => sides[arg] !== 'both').sort((a, b) => a - b);
}

/** Reduced elements from which on half of the tiles are worth the code that stores them twice. */
const LEAST_HALVED = 16;

export function chooseOuterProduct(kernel: Kernel): OuterProductSchedule | undefined {
  const p = kernel.parallel.length;
  const axisJ = p - 1;
  if (p < 2 || storesElements(kernel) || hasMonoid(kernel)) return undefined;
  // A gather is a value of its own for each pair.
  if (loadsOf(kernel).some(({ access }) => access.index !== undefined)) return undefined;
  const loads = elementLoadsOf(kernel).map(({ position }) => position);
  for (let axisI = p - 2; axisI >= 0; axisI--) {
    const sides = sidesOf(kernel, axisI, axisJ);
    const has = (side: Side): boolean => loads.some((position) => sides[position] === side);
    if (!has('i') || !has('j') || has('both')) continue;
    return sizePairs(kernel, axisI, axisJ, sides);
  }
  return undefined;
}

/** The inputs of the choice of tiles for the pairs of two axes. */
export function pairSizesOf(
  kernel: Kernel,
  axisI: number,
  axisJ: number,
  sides: readonly Side[] = sidesOf(kernel, axisI, axisJ),
): PairSizes {
  const words = reductionsOf(kernel).reduce(
    (sum, { name, taken }) => sum + (reductionRow(name).width * byteLengthOf(accumulatorOf(taken))) / 4,
    0,
  );
  const bytesOf = (side: Side): number =>
    frontierOf(kernel, sides).reduce(
      (sum, position) => sum + (sides[position] === side ? byteLengthOf(kernel.tape[position]!.dtype) : 0),
      0,
    );
  const bytes = { i: bytesOf('i'), j: bytesOf('j'), common: bytesOf('common') };
  return { kernel, rows: kernel.parallel[axisI]!, columns: kernel.parallel[axisJ]!, words, bytes };
}

function sizePairs(
  kernel: Kernel,
  axisI: number,
  axisJ: number,
  sides: readonly Side[],
): OuterProductSchedule | undefined {
  // Row values of a pair would have to be held for every accumulator.
  const { element } = levelsOf(kernel);
  const isOfPair = (arg: number): boolean => !element[arg] && sides[arg] === 'both';
  if ([...takenByWalks(kernel)].some(isOfPair)) return undefined;
  const size = pairSizesOf(kernel, axisI, axisJ, sides);
  if (size.words > 4) return undefined;
  const chosen = tilePairs(size);
  if (chosen === undefined) return undefined;
  const isOneTile = chosen.slots > 1 && Math.max(size.rows, size.columns) <= extentOf(chosen, 'i');
  const tile = tileOf(kernel, axisI, axisJ, sides, chosen.depth);
  const schedule = { kind: 'outer-product', axisI, axisJ, ...chosen, tile } as const;
  const isSquare = extentOf(chosen, 'i') === extentOf(chosen, 'j') && groupsOf(chosen) === 1;
  const isLong = product(kernel.reduced) >= LEAST_HALVED;
  if (!(isOneTile || (isSquare && isLong)) || mirrorOf(kernel, axisI, axisJ) === undefined) return schedule;
  return isOneTile ? { ...schedule, isSymmetric: true } : { ...schedule, isHalved: true };
}

/** The reduced axis along which the loads of a side lie side by side, unless its rows do. */
function runOf(kernel: Kernel, axis: number, isOwn: (position: number) => boolean): number | undefined {
  const accesses = loadsOf(kernel).flatMap(({ position, access }) =>
    isOwn(position) ? [access.strides] : [],
  );
  if (accesses.some((strides) => strides[axis] === 1)) return undefined;
  const p = kernel.parallel.length;
  const runs = accesses.map((strides) => strides.findIndex((stride, k) => k >= p && stride === 1));
  return runs.every((run) => run >= 0 && run === runs[0]) ? runs[0] : undefined;
}

/** Tiles of reduced elements, where some side's loads do not lie side by side along the last axis. */
function tileOf(
  kernel: Kernel,
  axisI: number,
  axisJ: number,
  sides: readonly Side[],
  depth: number,
): readonly Stretch[] {
  const last = kernel.parallel.length + kernel.reduced.length - 1;
  const { element } = levelsOf(kernel);
  const runs = (['i', 'j'] as const).flatMap(
    (side) =>
      runOf(
        kernel,
        side === 'i' ? axisI : axisJ,
        (position) => sides[position] === side && element[position]!,
      ) ?? [],
  );
  // The last axis stays the last: its next tile is then the next one in memory.
  const axes = [...new Set(runs)].sort((a, b) => Number(a === last) - Number(b === last));
  if (axes.length === 0 || axes[0] === last || depth < 16 || isShort(kernel)) return [];
  const sizes = [...kernel.parallel, ...kernel.reduced];
  const tile = axes.map((axis, k) => ({ axis, length: k === 0 ? Math.min(8, depth / 4) : 4 }));
  return tile.every(({ axis, length }) => sizes[axis]! % length === 0) ? tile : [];
}
