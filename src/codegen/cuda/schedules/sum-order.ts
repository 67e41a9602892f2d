/**
 * The order in which a reduction combines its elements on a GPU, and the schedules that keep it.
 *
 * The order follows from the reduction alone: its extents, and how the arrays that it reads lie in memory. It
 * is chosen by a kernel that has nothing else (`aloneOf`); a kernel of several results takes the schedule that
 * each of its reductions has alone, and where they have different ones is split (`split-phases.ts`):
 *
 *     sum(x), x + 1           one kernel, with the threads and chunks of sum(x)
 *     sum(x), sum(x * x)      one kernel: both read x alike
 *     sum(half), sum(float)   chunks of 8 and of 4 elements: two kernels
 *
 * Reductions whose results do not depend on an order (`isExactReduction`) go along with any.
 */
import { affinesIn, loadOf } from '../../../fusion/kernel/algebra.js';
import {
  batchOf,
  isConstant,
  isOrdered,
  isReduction,
  reducesOnlyBy,
  reductionOf,
  reductionsOf,
} from '../../../fusion/kernel/arithmetic.js';
import { firstOfBatch, mergeAxes } from '../../../fusion/kernel/axes.js';
import { create, mapInstruction } from '../../../fusion/kernel/instruction.js';
import {
  argumentsOf,
  type Instruction,
  type Kernel,
  oncePerKernel,
  product,
  sameNumbers,
} from '../../../fusion/kernel/kernel.js';
import { dependenciesOf, type Levels, levelsOf, storesElements } from '../../../fusion/kernel/levels.js';
import { denseStrides } from '../../../graph/graph.js';
import { normalize } from '../../cuts/domain.js';
import { COMBINE_THREADS, combineBlock } from './combine-slots.js';
import { isInTurn } from './in-turn.js';
import { WARP } from './limits.js';
import { groupsOf } from './outer-product-tiles.js';
import { chooseOuterProduct, type OuterProductSchedule } from './schedule-outer-product.js';
import {
  chooseReduce,
  columnWidth,
  hasFastPaths,
  isStaged,
  type ReduceSchedule,
  stagedItems,
} from './schedule-reduce.js';

/** A reduction as it is alone. */
export interface Alone {
  readonly schedule: ReduceSchedule | OuterProductSchedule;
  /** The order of its elements, as text: two of one order may share a kernel. */
  readonly order: string;
  /** Whether the kernel that it stands in meets its elements in the order in which it would alone. */
  readonly isInOrder: boolean;
  /** Of accumulators of several values in columns: elements that they take up at once, part of the order. */
  readonly together: number | undefined;
  /** Whether it has exponentials that only kernels of sums spell as it does. */
  readonly isFast: boolean;
}

/**
 * One reduction of a kernel without all else. Values of the row come from memory, as if computed before:
 * `onRow` says by which axes. So do indices that are looked up themselves: where a mask selects, they are places in memory
 * or, in parts of a mask, searches for those (`graph/packed-places.ts`).
 */
function ownPart(kernel: Kernel, levels: Levels, position: number, onRow: (at: number) => number[]): Kernel {
  const lookedUp = lookedUpIndices(kernel);
  const isGiven = (at: number): boolean =>
    at !== position && (lookedUp.has(at) || !levels.element[at]) && !isConstant(kernel.tape[at]!);
  const part = new Set([position]);
  for (const at of part) if (!isGiven(at)) for (const arg of argumentsOf(kernel.tape[at]!)) part.add(arg);
  const moved = new Map<number, number>();
  const tape: Instruction[] = [];
  for (const at of [...part].sort((a, b) => a - b)) {
    const i = kernel.tape[at]!;
    moved.set(at, tape.length);
    const strides = (): number[] => (levels.element[at] ? denseOn(kernel, at) : onRow(at));
    if (isGiven(at)) tape.push(create.load(i.dtype, { ...ROW, strides: strides() }));
    else {
      const args = argumentsOf(i).map((arg) => moved.get(arg)!);
      tape.push(mapInstruction(i, args));
    }
  }
  return { ...kernel, tape, stores: [] };
}

/** Positions of the indices of gathers that are computed with gathers; found once for each kernel. */
const lookedUpIndices: (kernel: Kernel) => ReadonlySet<number> = oncePerKernel(({ tape }) => {
  const indexOf = (i: Instruction): number | undefined => loadOf(i)?.index?.value;
  const isOfGathers = dependsOnAny(tape, (i) => indexOf(i) !== undefined);
  const indices = tape.flatMap((i) => indexOf(i) ?? []);
  return new Set(indices.filter((index) => isOfGathers[index]));
});

/** By position: whether a value is of some instructions, or depends on one of them. */
function dependsOnAny(tape: readonly Instruction[], isOne: (i: Instruction) => boolean): boolean[] {
  const depends: boolean[] = [];
  for (const i of tape) depends.push(isOne(i) || argumentsOf(i).some((arg) => depends[arg]));
  return depends;
}

/** The strides of an array in C order with the axes that a value depends on. */
function denseOn(kernel: Kernel, at: number): number[] {
  const sizes = [...kernel.parallel, ...kernel.reduced];
  const on = dependenciesOf(kernel)[at]!;
  const strides = denseStrides(sizes.map((size, axis) => (on[axis] ? size : 1)));
  return strides.map((stride, axis) => (on[axis] ? stride : 0));
}

/** The access of a value from memory, but for its strides. */
const ROW = { buffer: 0, offset: 0, bounds: [] } as const;

/** By position: whether a value depends on a reduction, or is one; found once for each kernel. */
const reducedValues: (kernel: Kernel) => readonly boolean[] = oncePerKernel(({ tape }) =>
  dependsOnAny(tape, isReduction),
);

/** By position: strides that tell on which parallel axes a value of the row depends. */
function rowStrides(kernel: Kernel): (at: number) => number[] {
  const depends = dependenciesOf(kernel);
  const p = kernel.parallel.length;
  return (at) => {
    // Results of a reduction are stored for each row.
    const isReduced = reducedValues(kernel)[at]!;
    return depends[at]!.map((on, axis) => (axis < p && (isReduced || on) ? 1 : 0));
  };
}

/** A reduction of a kernel in the normal form, as it is alone: of a batch, as each of its reductions is. */
export function aloneOf(kernel: Kernel, position: number): Alone {
  const levels = levelsOf(kernel);
  const batch = batchOf(kernel.tape[position]!);
  const pairs = chooseOuterProduct(
    firstOfBatch(ownPart(kernel, levels, position, rowStrides(kernel)), batch),
  );
  const noAxes = [...kernel.parallel, ...kernel.reduced].map(() => 0);
  const part = ownPart(kernel, levels, position, () => noAxes);
  const own = normalize(part);
  const schedule = pairs ?? chooseReduce(firstOfBatch(own, batch));
  const name = reductionOf(kernel.tape[position]!);
  const isFast = name === 'sum' && hasFastPaths(own);
  const isTuple = name === 'squaredDeviations';
  const isColumns = schedule.kind === 'reduce' && schedule.mapping === 'columns';
  return {
    schedule,
    order: isInTurn(kernel, name!)
      ? IN_TURN
      : `${name === 'monoid' ? 'in order, ' : ''}${printOrder(schedule, isFast)}${printCombined(own, schedule)}`,
    together: isTuple && isColumns ? schedule.unrollR : undefined,
    isFast,
    isInOrder: walksAlike(mergeAxes(part), own),
  };
}

/** The order of short reductions, whatever their schedule (`in-turn.ts`). */
export const IN_TURN = 'in turn';

/** Whether two kernels of one tape walk the same reduced axes in one order. */
const walksAlike = (a: Kernel, b: Kernel): boolean =>
  sameNumbers(a.reduced, b.reduced) &&
  a.tape.every((i, position) =>
    affinesIn(i).every((affine, k) => {
      const other = affinesIn(b.tape[position]!)[k]!;
      return sameNumbers(affine.strides.slice(a.parallel.length), other.strides.slice(b.parallel.length));
    }),
  );

/** The threads that combine slots; a batch has those of one of its reductions. */
const printCombined = (kernel: Kernel, { slots }: Pick<ReduceSchedule, 'slots'>): string =>
  slots === 1 ? '' : ` by ${COMBINE_THREADS / combineBlock(kernel, slots)}`;

function printOrder(schedule: ReduceSchedule | OuterProductSchedule, isFast: boolean): string {
  const { kind, slots, slotLength } = schedule;
  const slotted = slots === 1 ? '' : ` slots ${slotLength}`;
  if (kind === 'outer-product') {
    const tile = schedule.tile.map(({ axis, length }) => `${axis}:${length}`).join();
    const groups = groupsOf(schedule);
    return `outer-product fold ${schedule.fold} tile ${tile}${groups > 1 ? ` groups ${groups}` : ''}${slotted}`;
  }
  const { mapping, staged, threadsP, threadsR, width } = schedule;
  if (staged) return `staged${isFast ? ' near' : ''}${slotted}`;
  if (mapping === 'rows') return `rows ${threadsR} of ${width}${slotted}`;
  // Warps that reach beyond their columns combine along them as well.
  return `columns ${threadsR} in ${Math.min(WARP, threadsP)}${slotted}`;
}

/** A reduction whose order all of a kernel's have when alone; `undefined`: there are several. */
export function commonOrder(kernel: Kernel): Alone | undefined {
  const reductions = reductionsOf(kernel).map(({ position }) => position);
  const ordered = reductions.filter((position) => isOrdered(kernel, position));
  const alone = (ordered.length > 0 ? ordered : reductions.slice(0, 1)).map((at) => aloneOf(kernel, at));
  // Any schedule of short ones goes.
  const first =
    alone.find(({ together }) => together !== undefined) ??
    alone.find(({ order }) => order !== IN_TURN) ??
    alone[0]!;
  const isAlike = ({ order, together, isInOrder }: Alone): boolean =>
    isInOrder &&
    (order === first.order || order === IN_TURN) &&
    (together === undefined || together === first.together);
  return alone.every(isAlike) ? first : undefined;
}

/** The schedule of a kernel of one phase in which its reductions combine as alone; `undefined`: none. */
export function chooseInOrder(kernel: Kernel): ReduceSchedule | OuterProductSchedule | undefined {
  const reductions = reductionsOf(kernel).map(({ position }) => position);
  const isLone = reductions.length === 1 && !storesElements(kernel);
  const isFree = !reductions.some((position) => isOrdered(kernel, position));
  const chosen = isFree ? undefined : chooseAsAlone(kernel);
  return chosen ?? (isFree || isLone ? (chooseOuterProduct(kernel) ?? chooseReduce(kernel)) : undefined);
}

function chooseAsAlone(kernel: Kernel): ReduceSchedule | OuterProductSchedule | undefined {
  const alone = commonOrder(kernel);
  if (alone === undefined) return undefined;
  const { schedule, isFast, order } = alone;
  if (order === IN_TURN) return chooseOuterProduct(kernel) ?? chooseReduce(kernel);
  if (schedule.kind === 'outer-product') {
    const pairs = chooseOuterProduct(kernel);
    const isSame =
      pairs !== undefined && `${printOrder(pairs, false)}${printCombined(kernel, pairs)}` === order;
    return isSame ? pairs : undefined;
  }
  if (schedule.staged) {
    if (!isStaged(kernel) || (isFast && !reducesOnlyBy('sum', kernel))) return undefined;
    return { ...schedule, itemsP: stagedItems(kernel, schedule.threadsP, schedule.itemsP) };
  }
  if (schedule.mapping === 'rows') return fitsChunks(kernel, schedule) ? schedule : undefined;
  return { ...schedule, width: columnWidth(kernel, schedule) };
}

/** The order of a reduction, as text; `undefined`: a kernel of that alone would have another one. */
export function orderOfSum(kernel: Kernel, position: number): string | undefined {
  const whole = normalize(kernel);
  const levels = levelsOf(whole);
  const noAxes = [...whole.parallel, ...whole.reduced].map(() => 0);
  const part = normalize(ownPart(whole, levels, position, () => noAxes));
  return chooseAsAlone(part) === undefined ? undefined : aloneOf(whole, position).order;
}

/** Whether the chunks of a reduction alone cross no end of a kernel's last axis. */
export function fitsChunks({ parallel, reduced }: Kernel, { width }: Pick<ReduceSchedule, 'width'>): boolean {
  const isFlat = product(parallel) === 1 && reduced.length === 1;
  return isFlat || reduced[reduced.length - 1]! % width === 0;
}
