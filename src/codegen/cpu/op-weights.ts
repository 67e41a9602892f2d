/**
 * Weights of ops and reductions in light instructions, by which the work of tapes is counted: whether the thread that asks for a
 * small one does it, and no other (`SHORT_WORK`), and how many threads share a larger one
 * (`workOfTile` in `native/cpu/tape-run.cpp`). Called by `tape-encoder.ts`, for each op that a tape names, by `program-cpu.ts` and
 * `tape-tally.ts`.
 */
import { costOf, opOf, reductionOf } from '../../fusion/kernel/arithmetic.js';
import type { Instruction } from '../../fusion/kernel/kernel.js';
import { OPS, type OpName, opRow } from '../../graph/ops.js';
import { REDUCTIONS, type ReductionName } from '../../graph/reductions.js';
import { classOf, type ReductionClass } from './tape-rates.js';

/** Additions of an op's cost that one instruction stands for, of vectors: those of the fewest take as long as to move elements. */
const OF_VECTORS = 6;
/** Of elements that are computed one after the other: the slowest take 0.6 to 3.5 ns for an addition of the op's cost. */
const ITERATED = 2;
const REDUCTION_WEIGHT: Readonly<Record<ReductionClass, number>> = { simple: 1, wide: 2, exponential: 2 };

/**
 * The weight of what a tape names: an op, a reduction, or several that one instruction does, as `sum.multiply`. All else that is
 * named moves elements between steps of one instruction, or is in loops of elements, which are never short.
 */
export function weightOf(name: string): number {
  let sum = 0;
  for (const part of name.split('.')) sum += weightOfOne(part);
  return sum;
}

/** The weight of an instruction of a kernel; of a loop of elements, of one of its steps. */
export function weightOfInstruction(instruction: Instruction): number {
  const name = opOf(instruction) ?? reductionOf(instruction);
  return Math.max(1, name === undefined ? costOf(instruction) / OF_VECTORS : weightOf(name));
}

function weightOfOne(name: string): number {
  if (Object.hasOwn(REDUCTIONS, name)) return REDUCTION_WEIGHT[classOf(name as ReductionName)];
  if (!Object.hasOwn(OPS, name)) return 0;
  const { cost, isIterated } = opRow(name as OpName);
  return isIterated ? ITERATED * cost : Math.max(1, cost / OF_VECTORS);
}
