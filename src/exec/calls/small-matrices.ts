/**
 * LU factors of small matrices, and what they solve, as kernels of Weft's own on a GPU
 * (`codegen/cuda/routines/small-matrices.ts`): a block of one warp for each matrix, where a library would have a call
 * for each.
 */
import {
  printSmallLu,
  printSmallSolve,
  SMALL_LU_NAME,
  SMALL_SOLVE_NAME,
  type SmallForm,
  WARP,
} from '../../codegen/cuda/routines/small-matrices.js';
import type { RoutineStep } from './call.js';
import type { CallKernels } from './call-row.js';
import { int64 } from './launch-arguments.js';

/** The kernels of `lu`; undefined: a library factors matrices of these sizes. */
export function smallLu(step: RoutineStep): CallKernels | undefined {
  const [count, columns, rows] = step.operands[0]!.shape as readonly [number, number, number];
  if (columns !== rows || rows > WARP) return undefined;
  return launched(step, count, SMALL_LU_NAME, printSmallLu(step.operands[0]!.dtype, rows), []);
}

/** The kernels of `luSolve`. */
export function smallSolve(step: RoutineStep): CallKernels | undefined {
  const [count, sides, n] = step.operands[0]!.shape as readonly [number, number, number];
  if (n > WARP) return undefined;
  const source = printSmallSolve(step.operands[0]!.dtype, n, step.parameters[0] as SmallForm);
  return launched(step, count, SMALL_SOLVE_NAME, source, [sides]);
}

const launched = (
  { operands, results }: RoutineStep,
  count: number,
  name: string,
  source: string,
  sizes: readonly number[],
): CallKernels => ({
  source,
  launches: [
    {
      function: name,
      blocks: count,
      threads: WARP,
      args: [
        { block: 'x' },
        ...[...operands, ...results].map(({ buffer }) => ({ buffer })),
        ...sizes.map(int64),
      ],
    },
  ],
});
