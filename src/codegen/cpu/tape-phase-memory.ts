/**
 * The memory in which a tape that runs phase by phase keeps its partial results between ranges of the reduced axes, laid
 * out as in `native/cpu/tape-slots.cpp`. Called by `tape-work.ts`.
 */

import { type Reduction, reductionsOf } from '../../fusion/kernel/arithmetic.js';
import { product } from '../../fusion/kernel/kernel.js';
import { byteLengthOf, DTYPE_INFO } from '../../graph/dtype.js';
import { CHUNK, HOST_ALIGNMENT, PARTIAL_RESULTS } from '../../shared/layout.js';
import type { TapePlan } from './tape.js';
import { laneKindOf, paddedWidth } from './tape-blocking.js';

/** Bytes of partial results of the slots that threads compute at once: of more, they would only wait less often. */
const BYTES_AT_ONCE = 2 ** 16;
/** Elements of the least part of a slot. */
const PART_ELEMENTS = 2 ** 13;
/** Reductions whose leaves hold more than their partial results: elements before they are combined, shifts. */
const LARGER_LEAVES: readonly string[] = ['squaredDeviations', 'logsumexp', 'sumexp'];

export interface PhaseMemory {
  readonly byteLength: number;
  /** Of that, the bytes without which it cannot run: those of one slot at a time. */
  readonly least: number;
  /** Blocks of the least range that phases are cut into. */
  readonly unitBlocks: number;
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
  const hasOpenSlots =
    isReduced && leaders.every(({ name }) => !LARGER_LEAVES.includes(name)) && tiles * open <= slotElements;
  const together = Math.floor(BYTES_AT_ONCE / (tiles * Math.max(1, bytesOf(1))));
  const rest = aligned(rowByteLength) + HOST_ALIGNMENT + bytesOf(bitWidth(slots)) + (hasOpenSlots ? open : 0);
  const bytesWith = (atOnce: number): number => HOST_ALIGNMENT + tiles * (rest + atOnce * bytesOf(1));
  let parts = 1;
  while (hasOpenSlots && slotBlocks % (2 * parts) === 0 && slotElements >= 2 * parts * PART_ELEMENTS)
    parts *= 2;
  return {
    // No more than all slots would take.
    byteLength: bytesWith(Math.max(1, Math.min(slots - bitWidth(slots), together))),
    least: bytesWith(1),
    unitBlocks: slotBlocks / parts,
  };
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
