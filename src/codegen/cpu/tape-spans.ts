/** Along which of a block's dimensions each value of a kernel varies. Called by `tape-schedule.ts`. */

import { affinesIn, sizesOf, windowIndexOf } from '../../fusion/kernel/algebra.js';
import { isConstant, isReduction, monoidOf } from '../../fusion/kernel/arithmetic.js';
import { argumentsOf, type Instruction, type Kernel } from '../../fusion/kernel/kernel.js';
import type { Levels } from '../../fusion/kernel/levels.js';
import { type Blocking, isSegmented, laneModeOf, rowStrideOf } from './tape-blocking.js';
import { operandsOf, type TapeFusion } from './tape-fuse.js';
import type { Sections } from './tape-sections.js';

/**
 * Which of a block's dimensions a value varies along; along the others it has one row, or one chunk of equal
 * lanes.
 */
export interface Span {
  readonly rows: boolean;
  readonly lanes: boolean;
}
export function spansOf(kernel: Kernel, blocking: Blocking): Span[] {
  const sizes = sizesOf(kernel);
  const first = kernel.parallel.length;
  const resultSpan: Span = {
    rows: blocking.rowAxis >= 0 && blocking.rowAxis < first,
    lanes: blocking.laneAxes.some((axis) => axis < first),
  };
  const spans: Span[] = [];
  const span = (instruction: Instruction): Span => {
    if (isReduction(instruction)) return resultSpan;
    const args = argumentsOf(instruction).map((arg) => spans[arg]!);
    const own = affinesIn(instruction);
    return {
      rows: own.some((a) => rowStrideOf(a, blocking) !== 0) || args.some(({ rows }) => rows),
      lanes:
        own.some((a) => laneModeOf(a, blocking, sizes).type !== 'splat') || args.some(({ lanes }) => lanes),
    };
  };
  for (const instruction of kernel.tape) spans.push(span(instruction));
  return spans;
}

/**
 * Values of which each row of a block has one, that lie side by side as lanes: those of the last row section and the
 * reductions that it takes, where it takes nothing else. Others have a chunk of equal lanes for each row, 64 times the
 * work, since a walk reads them beside its lanes.
 */
export function turnedValues(
  kernel: Kernel,
  levels: Levels,
  blocking: Blocking,
  fusion: TapeFusion,
  { rows, walks }: Sections,
): ReadonlySet<number> {
  const none = new Set<number>();
  const { values, stores } = rows.at(-1)!;
  if (stores.length === 0 || !isSegmented(kernel, blocking) || windowIndexOf(kernel) !== undefined)
    return none;
  const reductions = [...kernel.tape.keys()].filter(
    (i) => isReduction(kernel.tape[i]!) && levels.phase[i] === walks.length - 1,
  );
  if (reductions.some((i) => monoidOf(kernel.tape[i]!) !== undefined)) return none;
  const turned = new Set([...values, ...reductions]);
  const taken = [
    ...values.flatMap((i) => operandsOf(kernel, fusion, i)),
    ...stores.map((s) => kernel.stores[s]!.value),
  ];
  return taken.every((i) => turned.has(i) || isConstant(kernel.tape[i]!)) ? turned : none;
}
