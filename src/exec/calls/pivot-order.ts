/** The order of rows that exchanges one after the other make (`codegen/cuda/routines/pivot-order.ts`). */
import {
  PIVOT_ORDER_NAME,
  PIVOT_ORDER_THREADS,
  printPivotOrder,
} from '../../codegen/cuda/routines/pivot-order.js';
import type { RoutineStep } from './call.js';
import { int64 } from './launch-arguments.js';
import { type Routine, routineCall } from './routine.js';

interface Sizes {
  readonly count: number;
  readonly exchanges: number;
  readonly n: number;
}

function sizesOf({ operands, results }: RoutineStep): Sizes {
  const [count, exchanges] = operands[0]!.shape as readonly [number, number];
  return { count, exchanges, n: results[0]!.shape[1]! };
}

/** Matrices whose rows a block has. */
const matricesTogether = (n: number): number => Math.max(1, Math.floor(PIVOT_ORDER_THREADS / n));

const unitsOf = (step: RoutineStep): number => {
  const { count, n } = sizesOf(step);
  return Math.ceil(count / matricesTogether(n));
};

const ORDER: Routine = {
  units: unitsOf,
  unitSize: (step, { shape }) => matricesTogether(sizesOf(step).n) * shape[1]!,
  numbers: ({ parameters }) => parameters,
  kernels: (step) => {
    const { count, exchanges, n } = sizesOf(step);
    return {
      source: printPivotOrder(),
      launches: [
        {
          function: PIVOT_ORDER_NAME,
          blocks: unitsOf(step) * Math.ceil(n / PIVOT_ORDER_THREADS),
          threads: PIVOT_ORDER_THREADS,
          args: [
            { block: 'x' },
            ...[...step.operands, ...step.results].map(({ buffer }) => ({ buffer })),
            ...[count, matricesTogether(n), exchanges, n, step.parameters[1]!].map(int64),
          ],
        },
      ],
    };
  },
  cudaWorkspace: () => ({ most: 0, least: 0 }),
  work: (step) => {
    const { count, exchanges, n } = sizesOf(step);
    return { bytes: 8 * count * (exchanges + n), launches: 1 };
  },
  method: () => 'a row by a thread',
};

export const PIVOT_ORDER = routineCall(ORDER);
