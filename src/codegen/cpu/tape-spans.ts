/** Along which of a block's dimensions each value of a kernel varies. Called by `tape-schedule.ts`. */

import { affinesIn, sizesOf } from '../../fusion/kernel/algebra.js';
import { isReduction } from '../../fusion/kernel/arithmetic.js';
import { argumentsOf, type Instruction, type Kernel } from '../../fusion/kernel/kernel.js';
import { type Layout, laneModeOf, rowStrideOf } from './tape-layout.js';

/**
 * Which of a block's dimensions a value varies along; along the others it has one row, or one chunk of equal
 * lanes.
 */
export interface Span {
  readonly rows: boolean;
  readonly lanes: boolean;
}
export function spansOf(kernel: Kernel, layout: Layout): Span[] {
  const sizes = sizesOf(kernel);
  const first = kernel.parallel.length;
  const resultSpan: Span = {
    rows: layout.rowAxis >= 0 && layout.rowAxis < first,
    lanes: layout.laneAxes.some((axis) => axis < first),
  };
  const spans: Span[] = [];
  const span = (instruction: Instruction): Span => {
    if (isReduction(instruction)) return resultSpan;
    const args = argumentsOf(instruction).map((arg) => spans[arg]!);
    const own = affinesIn(instruction);
    return {
      rows: own.some((a) => rowStrideOf(a, layout) !== 0) || args.some(({ rows }) => rows),
      lanes:
        own.some((a) => laneModeOf(a, layout, sizes).type !== 'splat') || args.some(({ lanes }) => lanes),
    };
  };
  for (const instruction of kernel.tape) spans.push(span(instruction));
  return spans;
}
