/**
 * The order in which a tape combines the elements of a reduction: which of them meet in one lane, and where
 * slots begin.
 *
 * It is chosen by the arrays that one reduction reads, as if it were alone and nothing were computed of them,
 * so that other results beside it, or arithmetic that is stored in between, change nothing. Widths of blocks
 * and numbers of rows do not show in it: steps and slots are powers of two along the linear reduced index.
 * Called by `tape.ts`.
 */

import { affinesIn, type Load, liveValues, loadsOf, mapLoads, sizesOf } from '../../fusion/kernel/algebra.js';
import {
  batchOf,
  hasMonoid,
  isOrdered,
  isReduction,
  monoidOf,
  reductionOf,
  reductionsOf,
} from '../../fusion/kernel/arithmetic.js';
import { dropUnitAxes, firstOfBatch, mergeAxes } from '../../fusion/kernel/axes.js';
import { create } from '../../fusion/kernel/instruction.js';
import {
  type Access,
  type Instruction,
  type Kernel,
  oncePerKernel,
  product,
  sameNumbers,
} from '../../fusion/kernel/kernel.js';
import { type Levels, levelsOf } from '../../fusion/kernel/levels.js';
import { byteLengthOf, dtypeCode } from '../../graph/dtype.js';
import { SHORT_REDUCTION } from '../../graph/reductions.js';
import { InternalError } from '../../host/errors.js';
import { CHUNK } from '../../shared/layout.js';
import { type Blocking, laneKindOf, loopsOf, startOf } from './tape-blocking.js';
import { candidates, resizedBlocks } from './tape-candidates.js';
import { byTime, isSharedAlike, quickest, SINGLE } from './tape-cost.js';
import { slotElements } from './tape-slots.js';

/** Blocks of a slot. */
export function slotBlocksOf(kernel: Kernel, blocking: Blocking): number {
  const kind = laneKindOf(kernel, blocking);
  const lanes = kind === 'parallel' ? 1 : kind === 'both' ? blocking.take : blocking.width;
  const rows = blocking.rowAxis >= kernel.parallel.length ? blocking.rows : 1;
  // A power of two, so that narrower blocks and fewer rows make the same slots.
  return Math.max(1, Math.floor(2 ** Math.floor(Math.log2(slotElements(kernel, kind) / lanes)) / rows));
}

/**
 * Weight of the reads of a reduction against its own work: rows as they lie in memory are cheaper beside
 * other work, too.
 */
const READS = 2;

/**
 * The kernel that a reduction's order is chosen by: its axes as its own loads and index arithmetic walk them,
 * and the loads that move along most of those. How many arrays are read alike makes no difference.
 */
function bareReduction(kernel: Kernel, levels: Levels, position: number): Kernel {
  // Below another reduction, values are of its order alone.
  const isReduced = (at: number): boolean => at !== position && isReduction(kernel.tape[at]!);
  const placed = liveValues(kernel.tape, [position], isReduced)
    .filter((at) => levels.element[at])
    .map((at) => kernel.tape[at]!)
    .filter((i) => affinesIn(i).length > 0);
  const batch = batchOf(kernel.tape[position]!);
  const walked = firstOfBatch(
    mergeAxes(mapLoads({ ...kernel, tape: placed, stores: [] }, withoutIndex)),
    batch,
  );
  const moving = ({ access }: Load): number => access.strides.filter((stride) => stride !== 0).length;
  const loads = loadsOf(walked);
  const most = Math.max(...loads.map(moving));
  const sorted = loads.filter((load) => moving(load) === most).sort(compareLoads(kernel));
  const main = sorted.filter(
    ({ access }, k) => k === 0 || !sameNumbers(access.strides, sorted[k - 1]!.access.strides),
  );
  const dtype = main[0]?.dtype ?? 'float32';
  const reads = main.flatMap(({ access }) =>
    Array.from({ length: Math.ceil(READS / main.length) }, () =>
      create.load(dtype, { ...access, bounds: [] }),
    ),
  );
  const tape = reads.length > 0 ? reads : [create.constant(dtype, 0)];
  // A monoid has other layouts than sums; which one it is makes no difference.
  const monoid = monoidOf(kernel.tape[position]!);
  const name = isProduct(kernel.tape[position]!) ? 'prod' : 'sum';
  const reduce = monoid === undefined ? create.reduce(dtype, name, [0]) : create.combine(dtype, monoid, [0]);
  return { ...walked, tape: [...tape, reduce] };
}

/**
 * By strides, the shortest along the last axis first, then the widest dtype and the largest buffer: the tape's own order
 * of loads changes with what is computed beside the reduction.
 */
function compareLoads({ buffers }: Kernel): (one: Load, other: Load) => number {
  const keysOf = ({ access, dtype }: Load): readonly number[] => [
    ...access.strides.map(Math.abs).reverse(),
    ...access.strides,
    -byteLengthOf(dtype),
    dtypeCode(dtype),
    -buffers[access.buffer]!.elementCount,
  ];
  return (one, other) => {
    const keys = keysOf(other);
    return keysOf(one).reduce((order, key, k) => order || key - keys[k]!, 0);
  };
}

const isProduct = (i: Instruction): boolean => reductionOf(i) === 'prod';

/** The access of a gather without the index. */
function withoutIndex(access: Access): Access {
  if (access.index === undefined) return access;
  const { index: _, ...place } = access;
  return place;
}

/**
 * The order in which a blocking combines the elements of a reduction, as text; `undefined` where it follows
 * from the size of blocks.
 */
function orderOfSums(kernel: Kernel, blocking: Blocking): string | undefined {
  const sizes = sizesOf(kernel);
  if (isShort(kernel) && isInTurn(kernel, blocking)) return IN_TURN;
  if (hasMonoid(kernel) && !keepsElements(kernel, blocking)) return undefined;
  const first = kernel.parallel.length;
  const { laneAxes, take, rowAxis, rows, width } = blocking;
  const kind = laneKindOf(kernel, blocking);
  // Lanes would have elements far from one another, whose products overflow where those of neighbours do not.
  if (kind === 'both' && kernel.tape.some(isProduct)) return undefined;
  const after = (axis: number): number => product(sizes.slice(axis + 1));
  const isWhole = laneAxes.length === 0 || take === sizes[laneAxes[0]!];
  if (rowAxis >= first && rows > 1 && rowAxis !== laneAxes[0]) {
    // Rows have to follow one another along the linear index.
    const inner = kind === 'parallel' ? 1 : isWhole ? width : 0;
    if (after(rowAxis) !== inner) return undefined;
  }
  let lanes = '';
  if (kind === 'reduced') {
    if (!isWhole && width % CHUNK !== 0) return undefined;
    lanes = `${product(laneAxes.map((axis) => sizes[axis]!))}`;
  } else if (kind === 'both') {
    lanes = `${take} of ${sizes[laneAxes[0]!]}`;
  }
  return `${kind} ${lanes} [${slotStarts(kernel, blocking).join(' ')}]`;
}

/** The order of a short reduction, whatever it reads: that of one which is written out as ops. */
const IN_TURN = 'in turn';
const isShort = ({ reduced }: Kernel): boolean => product(reduced) <= SHORT_REDUCTION;

/** Whether each lane takes up the elements of its result one after the other. */
function isInTurn(kernel: Kernel, blocking: Blocking): boolean {
  const { laneAxes, rowAxis, rows } = blocking;
  const isAcross = rows > 1 && rowAxis >= kernel.parallel.length && rowAxis < sizesOf(kernel).length - 1;
  return !isAcross && (laneAxes.length === 0 || laneKindOf(kernel, blocking) === 'parallel');
}

/** The blockings of a kernel. Short reductions of all elements have one lane. */
const blockingsOf = (kernel: Kernel, levels: Levels): readonly Blocking[] =>
  isShort(kernel) && kernel.parallel.length === 0 && kernel.reduced.length > 0
    ? [...candidates(kernel, levels), SINGLE]
    : candidates(kernel, levels);

/** Whether elements keep their order: lanes are neighbours of the reduced axes, or columns. */
function keepsElements(kernel: Kernel, blocking: Blocking): boolean {
  const { length } = sizesOf(kernel);
  const { laneAxes } = blocking;
  const kind = laneKindOf(kernel, blocking);
  return (
    kind === 'parallel' ||
    (kind === 'reduced' && laneAxes.every((axis, k) => axis === length - laneAxes.length + k))
  );
}

/** Linear reduced indices at which slots begin. */
function slotStarts(kernel: Kernel, blocking: Blocking): number[] {
  const sizes = sizesOf(kernel);
  const { walks } = loopsOf(kernel, blocking);
  const blocks = product(walks.map(({ count }) => count));
  const slotBlocks = slotBlocksOf(kernel, blocking);
  const starts: number[] = [];
  for (let block = 0; block < blocks; block += slotBlocks) {
    let left = block;
    let start = 0;
    for (let k = walks.length - 1; k >= 0; k--) {
      const loop = walks[k]!;
      const step = left % loop.count;
      left = Math.floor(left / loop.count);
      start += startOf(loop, step, sizes[loop.axis]!, blocking) * product(sizes.slice(loop.axis + 1));
    }
    starts.push(start);
  }
  return starts;
}

interface OrderAlone {
  readonly order: string;
  /** Elements that its lanes go through in one run. */
  readonly run: number;
}

/** Times as many lanes of a block as are best, where a kernel with many values has no block of an order with fewer. */
const SHARES = [1, 4, 16, 64];
/** The same for an order that is wanted, which may be that of any power of two. */
const ALL_SHARES = [1, 2, 4, 8, 16, 32, 64];

/** The blockings whose order does not follow from the size of blocks, in as few lanes as there are such. */
function orderedOf(bare: Kernel, levels: Levels): readonly Blocking[] {
  for (const share of SHARES) {
    const found = candidates(bare, levels, CHUNK, share);
    const ordered = found.filter((each) => orderOfSums(bare, each) !== undefined);
    if (ordered.length > 0) return ordered;
  }
  return [];
}

/** The order that a reduction has by its own loads. */
function orderAlone(bare: Kernel): OrderAlone {
  if (isShort(bare)) return { order: IN_TURN, run: 1 };
  const levels = levelsOf(bare);
  const blocking = byTime(bare, levels, orderedOf(bare, levels))[0] ?? SINGLE;
  const sizes = sizesOf(bare);
  const order = orderOfSums(bare, blocking);
  if (order === undefined) throw new InternalError(`[tape] a sum of ${bare.name} without an order`);
  return {
    order,
    run: product(blocking.laneAxes.map((axis) => sizes[axis]!)),
  };
}

/** The orders that the reductions of a kernel have alone; once for those that read alike, as sums of many columns do. */
function ordersAlone(kernel: Kernel, levels: Levels): readonly OrderAlone[] {
  const known = new Map<string, OrderAlone>();
  for (const { position } of reductionsOf(kernel)) {
    if (!isOrdered(kernel, position)) continue;
    const bare = bareReduction(kernel, levels, position);
    const read = loadsOf(bare).map(({ access, dtype }) => [dtype, access]);
    const text = JSON.stringify([
      bare.parallel,
      bare.reduced,
      read,
      reductionOf(bare.tape.at(-1)!),
      hasMonoid(bare),
    ]);
    if (!known.has(text)) known.set(text, orderAlone(bare));
  }
  return [...known.values()];
}

/** The order of a reduction, as text; `undefined`: it follows from blocks, or the kernel has no blocking of that order. */
export function orderOfSum(source: Kernel, position: number): string | undefined {
  const kernel = mergeAxes(dropUnitAxes(source, { keepsReduced: false }));
  const levels = levelsOf(kernel);
  const { order } = orderAlone(bareReduction(kernel, levels, position));
  const exists = blockingsOf(kernel, levels).some((blocking) => orderOfSums(kernel, blocking) === order);
  return exists ? order : undefined;
}

/** The blockings in which every reduction has its own order, so that their results have the same bits; undefined: none. */
function blockingsInOrder(kernel: Kernel, levels: Levels): readonly Blocking[] | undefined {
  const alone = ordersAlone(kernel, levels);
  const orders = new Set<string | undefined>(alone.map(({ order }) => order));
  const has = (blocking: Blocking): boolean =>
    orders.size === 0 || (orders.size === 1 && orders.has(orderOfSums(kernel, blocking)));
  const inOrder = blockingsOf(kernel, levels).filter(has);
  if (inOrder.length > 0 || orders.size === 0) return inOrder;
  for (const share of orders.size === 1 ? ALL_SHARES : []) {
    const inRuns = candidates(kernel, levels, alone[0]?.run, share).filter(has);
    if (inRuns.length > 0) return inRuns;
  }
  return undefined;
}

/** The blockings of a kernel that has none in the order of its reductions: elements of a user's monoid keep theirs. */
const otherBlockings = (kernel: Kernel, levels: Levels): readonly Blocking[] =>
  blockingsOf(kernel, levels).filter(
    (blocking) => !hasMonoid(kernel) || orderOfSums(kernel, blocking) !== undefined,
  );

/** The blockings that a kernel may have, by time. */
interface Layouts {
  readonly all: readonly Blocking[];
  readonly isInOrder: boolean;
}

/** Asked for again for numbers of threads. */
const layoutsOf = oncePerKernel((kernel): Layouts => {
  const levels = levelsOf(kernel);
  const inOrder = blockingsInOrder(kernel, levels);
  const all = byTime(kernel, levels, inOrder ?? otherBlockings(kernel, levels));
  return { all: all.length > 0 ? all : [SINGLE], isInOrder: inOrder !== undefined };
});

/** The blockings of a kernel, in which every reduction has its own order where there are such, the cheapest first. */
export const layoutsInOrder = (kernel: Kernel): readonly Blocking[] => layoutsOf(kernel).all;

/** The cheapest of them. */
export const layoutInOrder = (kernel: Kernel): Blocking => layoutsInOrder(kernel)[0]!;

/** Whether every reduction of a kernel has its own order in these. Plans compute those apart that have none in common. */
export const isInOrder = (kernel: Kernel): boolean => layoutsOf(kernel).isInOrder;

/** The quickest by so many threads, with the bits of the cheapest; undefined: that one is. */
export function layoutFor(kernel: Kernel, levels: Levels, threads: number): Blocking | undefined {
  if (isSharedAlike(kernel, threads)) return undefined;
  const alike = layoutsAlike(kernel);
  const found = quickest(kernel, levels, alike, threads);
  return found === alike[0] ? undefined : found;
}

/** The blockings with the bits of the cheapest, from that one on. */
export function layoutsAlike(kernel: Kernel): readonly Blocking[] {
  const [first, ...others] = layoutsInOrder(kernel);
  return [first!, ...others.filter(isAlike(kernel, first!))];
}

/** The same blockings in blocks of half and of twice the size, with the same bits. */
export const resized = (kernel: Kernel, blocking: Blocking): readonly Blocking[] =>
  resizedBlocks(kernel, blocking).filter(isAlike(kernel, blocking));

/** Whether a blocking has the bits of another. */
function isAlike(kernel: Kernel, other: Blocking): (blocking: Blocking) => boolean {
  const isFree = !reductionsOf(kernel).some(({ position }) => isOrdered(kernel, position));
  const order = orderOfSums(kernel, other);
  return (each) => isFree || (order !== undefined && orderOfSums(kernel, each) === order);
}
