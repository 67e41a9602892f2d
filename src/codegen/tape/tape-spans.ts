/** Along which of a block's dimensions each value of a kernel varies. Called by `tape-schedule.ts`. */
import type { Affine, Instruction, Kernel } from '../../fusion/kernel.js';
import { type Layout, laneModeOf, rowStrideOf, sizesOf } from './tape-layout.js';

/** Which of a block's dimensions a value varies along; along the others it has one row, or one chunk of equal lanes. */
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
  const along = (affines: readonly Affine[]): Span => ({
    rows: affines.some((a) => rowStrideOf(a, layout) !== 0),
    lanes: affines.some((a) => laneModeOf(a, layout, sizes).type !== 'splat'),
  });
  const spans: Span[] = [];
  const span = (instruction: Instruction): Span => {
    switch (instruction.kind) {
      case 'load':
        return along([instruction.access, ...instruction.access.bounds]);
      case 'index':
        return along([instruction.affine]);
      case 'inside':
        return along(instruction.bounds);
      case 'const':
        return { rows: false, lanes: false };
      case 'reduce':
        return resultSpan;
      case 'map':
      case 'cast':
        return {
          rows: instruction.args.some((arg) => spans[arg]!.rows),
          lanes: instruction.args.some((arg) => spans[arg]!.lanes),
        };
    }
  };
  for (const instruction of kernel.tape) spans.push(span(instruction));
  return spans;
}
