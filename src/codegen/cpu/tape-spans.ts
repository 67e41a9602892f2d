/** Along which of a block's dimensions each value of a kernel varies. Called by `tape-schedule.ts`. */

import { affinesIn, sizesOf } from '../../fusion/kernel/algebra.js';
import { isReduction } from '../../fusion/kernel/arithmetic.js';
import { argumentsOf, type Instruction, type Kernel } from '../../fusion/kernel/kernel.js';
import { type Blocking, laneModeOf, rowStrideOf } from './tape-blocking.js';

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
