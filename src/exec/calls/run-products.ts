/**
 * The products of runs of rows (`codegen/cuda/routines/run-products.ts`, `native/cpu/run-products.cpp`). Which rows
 * a run has depends on the data, so that all of them are one unit.
 */
import {
  printRunProducts,
  RUN_PRODUCTS_NAME,
  RUN_THREADS,
  RUN_WARPS,
} from '../../codegen/cuda/routines/run-products.js';
import { dtypeCode } from '../../graph/dtype.js';
import { sizeOfShape } from '../../graph/graph.js';
import type { RoutineStep } from './call.js';
import { int64 } from './launch-arguments.js';
import { bytesOfAll, type Routine, routineCall } from './routine.js';

/** Rows, elements of a row, and runs. */
function sizesOf({ operands, results }: RoutineStep): readonly [rows: number, width: number, runs: number] {
  const [rows, width] = operands[0]!.shape as readonly [number, number];
  return [rows, width, results[0]!.shape[0]!];
}

const RUNS: Routine = {
  units: () => 1,
  unitSize: (_, array) => sizeOfShape(array.shape),
  numbers: (step) => [dtypeCode(step.operands[0]!.dtype), ...sizesOf(step)],
  kernels: (step) => {
    const [, width, runs] = sizesOf(step);
    const arrays = [...step.operands, ...step.results].map(({ buffer }) => ({ buffer }));
    return {
      source: printRunProducts(step.operands[0]!.dtype),
      launches: [
        {
          function: RUN_PRODUCTS_NAME,
          blocks: Math.ceil((runs * width) / RUN_WARPS),
          threads: RUN_THREADS,
          args: [{ block: 'x' }, ...arrays, int64(runs), int64(width)],
        },
      ],
    };
  },
  cudaWorkspace: () => ({ most: 0, least: 0 }),
  work: ({ operands, results }) => ({
    bytes: bytesOfAll([...operands, ...results]),
    launches: 1,
  }),
  method: () => 'a run by 32 lanes, whose products are halved',
};

export const RUN_PRODUCTS = routineCall(RUNS);
