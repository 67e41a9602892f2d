/**
 * The order of rows that exchanges one after the other make (`codegen/cuda/routines/pivot-order.ts`,
 * `native/cpu/linear-lu.cpp`): a thread for each matrix.
 */
import {
  PIVOT_ORDER_NAME,
  PIVOT_ORDER_THREADS,
  printPivotOrder,
} from '../../codegen/cuda/routines/pivot-order.js';
import type { RoutineStep } from './call.js';
import { int64 } from './launch-arguments.js';
import { type Routine, routineCall } from './routine.js';

function sizesOf({ operands, results }: RoutineStep): readonly [count: number, pivots: number, n: number] {
  const [count, pivots] = operands[0]!.shape as readonly [number, number];
  return [count, pivots, results[0]!.shape[1]!];
}

const unitsOf = (step: RoutineStep): number => Math.ceil(sizesOf(step)[0] / PIVOT_ORDER_THREADS);

const ORDER: Routine = {
  units: unitsOf,
  unitSize: (_, { shape }) => PIVOT_ORDER_THREADS * shape[1]!,
  numbers: (step) => [...sizesOf(step), PIVOT_ORDER_THREADS],
  kernels: (step) => ({
    source: printPivotOrder(),
    launches: [
      {
        function: PIVOT_ORDER_NAME,
        blocks: unitsOf(step),
        threads: PIVOT_ORDER_THREADS,
        args: [
          { block: 'x' },
          ...[...step.operands, ...step.results].map(({ buffer }) => ({ buffer })),
          ...sizesOf(step).map(int64),
        ],
      },
    ],
  }),
  cudaWorkspace: () => ({ most: 0, least: 0 }),
  work: (step) => {
    const [count, pivots, n] = sizesOf(step);
    return { bytes: 32 * count * (pivots + n), launches: 1 };
  },
  method: () => 'a matrix by a thread',
};

export const PIVOT_ORDER = routineCall(ORDER);
