/**
 * The memory in which a tape that runs phase by phase keeps its partial results between ranges of the reduced axes, laid
 * out as in `native/cpu/tape-slots.cpp`. Called by `tape-work.ts`.
 */

import { type Reduction, reductionsOf } from '../../fusion/kernel/arithmetic.js';
import { type Kernel, product } from '../../fusion/kernel/kernel.js';
import type { Levels } from '../../fusion/kernel/levels.js';
import { trafficOf } from '../../fusion/kernel/traffic.js';
import { byteLengthOf, DTYPE_INFO } from '../../graph/dtype.js';
import { CHUNK, HOST_ALIGNMENT, LEAF_STEPS, PARTIAL_RESULTS } from '../../shared/layout.js';
import { laneKindOf, narrowed, paddedWidth } from './tape-blocking.js';
import { planBy, type TapePlan } from './tape-plan.js';
import { layoutsAlike } from './tape-sum-order.js';

/** Bytes of partial results of the slots that threads compute at once: of more, they would only wait less often. */
const BYTES_AT_ONCE = 2 ** 16;
/** Of the bytes that a kernel reads, the part that its least tile should hold; and the bytes that are small for any. */
const SMALL_PART = 1 / 64;
const SMALL_BYTES = 2 ** 20;
/** Elements of the least part of a slot. */
const PART_ELEMENTS = 2 ** 10;
/**
 * Reductions whose leaves hold more than their partial results: elements before they are combined, shifts. Ranges end where
 * their leaves are complete.
 */
const LARGER_LEAVES: readonly string[] = ['squaredDeviations', 'logsumexp', 'sumexp'];

export interface PhaseMemory {
  readonly byteLength: number;
  /** Of that, the bytes without which it cannot run: those of one slot at a time. */
  readonly least: number;
  /** Blocks of the least range that phases are cut into. */
  readonly unitBlocks: number;
  /** How many of those there are; the last one ends with the last block. */
  readonly units: number;
}

const aligned = (bytes: number): number => Math.ceil(bytes / HOST_ALIGNMENT) * HOST_ALIGNMENT;

const bitWidth = (n: number): number => Math.floor(Math.log2(n)) + 1;

/**
 * The memory of all tiles: row registers, levels of the tree of complete slots, the state of a slot that a range ends
 * in, and partial results of some slots at a time. Ranges may end in slots where that state is small beside the elements
 * of a slot.
 */
export function phaseMemory({ kernel, blocking, schedule, loops }: TapePlan): PhaseMemory {
  const [tiles, blocks] = [loops.tiles, loops.walks].map((some) =>
    product(some.map(({ count }) => count)),
  ) as [number, number];
  const { slotBlocks, rowByteLength } = schedule;
  const slots = Math.max(1, Math.ceil(blocks / slotBlocks));
  const chunks = paddedWidth(blocking) / CHUNK;
  const isReduced = laneKindOf(kernel, blocking) === 'reduced';
  const leaders = reductionsOf(kernel).filter(({ position, leader }) => position === leader);
  const nodes = leaders.map((reduction) => nodeByteLength(reduction) * CHUNK * (isReduced ? 1 : chunks));
  const bytesOf = (count: number): number => nodes.reduce((sum, node) => sum + aligned(count * node), 0);
  const inSlot = Math.min(blocks, slotBlocks) * blocking.rows;
  const steps = inSlot * (isReduced ? chunks : 1);
  const open = bytesOf(1) + bytesOf(bitWidth(Math.max(steps, slots)) + 1) + leaders.length * HOST_ALIGNMENT;
  const slotElements = inSlot * blocking.width;
  const stepsOfBlock =
    (blocking.rowAxis < kernel.parallel.length ? 1 : blocking.rows) * (isReduced ? chunks : 1);
  // Blocks of several loops may have fewer steps where a loop ends.
  const hasLarger = leaders.some(({ name }) => LARGER_LEAVES.includes(name));
  const endsLeaves = (unit: number): boolean =>
    !hasLarger || (loops.walks.length === 1 && (unit * stepsOfBlock) % LEAF_STEPS === 0);
  const hasOpenSlots = tiles * open <= slotElements;
  const atOnce = Math.min(BYTES_AT_ONCE, SMALL_PART * trafficOf(kernel).bytesRead);
  const together = Math.floor(atOnce / (tiles * Math.max(1, bytesOf(1))));
  const rest = aligned(rowByteLength) + HOST_ALIGNMENT + bytesOf(bitWidth(slots)) + (hasOpenSlots ? open : 0);
  const bytesWith = (some: number): number => HOST_ALIGNMENT + tiles * (rest + some * bytesOf(1));
  let parts = 1;
  while (
    hasOpenSlots &&
    slotBlocks % (2 * parts) === 0 &&
    slotElements >= 2 * parts * PART_ELEMENTS &&
    endsLeaves(slotBlocks / (2 * parts))
  )
    parts *= 2;
  const unitBlocks = slotBlocks / parts;
  // The last block but one may have fewer rows, and then ends within a leaf.
  const isShort = loops.walks.length === 1 && loops.walks[0]!.role === 'shared';
  const endsSlot = (blocks - 1) % slotBlocks === 0;
  return {
    // No more than all slots would take.
    byteLength: bytesWith(Math.max(1, Math.min(slots - bitWidth(slots), together))),
    least: bytesWith(1),
    unitBlocks,
    units: Math.ceil((hasLarger && isShort && !endsSlot ? blocks - 1 : blocks) / unitBlocks),
  };
}

/**
 * A kernel that runs phase by phase, with the bits of the whole: by the quickest blocking whose least tile is small, else
 * by that of the least tile. Of counts below 45 bounds of a row, the quickest keeps the results of 45 tiles, another
 * those of one with the bounds as lanes.
 */
export function planInTiles(kernel: Kernel, levels: Levels): TapePlan {
  const small = Math.min(SMALL_BYTES, SMALL_PART * trafficOf(kernel).bytesRead);
  let least: { readonly plan: TapePlan; readonly bytes: number } | undefined;
  for (const blocking of layoutsAlike(kernel).flatMap((each) => narrowed(kernel, each))) {
    const plan = planBy(kernel, levels, blocking);
    const bytes = leastTileBytes(plan);
    if (bytes <= small) return plan;
    if (least === undefined || bytes < least.bytes) least = { plan, bytes };
  }
  return least!.plan;
}

/** Bytes of the least tile: what it keeps, and its part of what is read. */
function leastTileBytes(plan: TapePlan): number {
  const { byteLength, unitBlocks } = phaseMemory(plan);
  const blocks = product(plan.loops.walks.map(({ count }) => count));
  return byteLength + trafficOf(plan.kernel).bytesRead * Math.min(1, unitBlocks / Math.max(1, blocks));
}

/** Bytes of a partial result, for one lane. */
function nodeByteLength({ name, dtype, taken, monoid }: Reduction): number {
  if (monoid !== undefined) return monoid.of.dtypes.reduce((sum, part) => sum + byteLengthOf(part), 0);
  const values: Readonly<Partial<Record<string, readonly number[]>>> = PARTIAL_RESULTS;
  const [ofArgument, ofComponent, ofResult] = values[name] ?? [0, 0, 1];
  return (
    ofArgument! * byteLengthOf(taken) +
    ofComponent! * byteLengthOf(DTYPE_INFO[taken].component) +
    ofResult! * byteLengthOf(dtype)
  );
}
