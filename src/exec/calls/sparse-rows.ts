/** The rows of the stored elements of a sparse matrix (`codegen/cuda/routines/sparse-rows.ts`, `native/cpu/sparse-merge.cpp`). */
import {
  printSparseRows,
  ROWS_NAME,
  ROWS_THREADS,
  ROWS_UNIT,
} from '../../codegen/cuda/routines/sparse-rows.js';
import { byteLengthOf, dtypeCode } from '../../graph/dtype.js';
import type { RoutineStep } from './call.js';
import { int64 } from './launch-arguments.js';
import { passedOperations } from './passed-operations.js';
import { type Routine, routineCall } from './routine.js';

const sizesOf = ({ operands, results }: RoutineStep) => ({
  rows: operands[0]!.shape[0]! - 1,
  bound: results[0]!.shape[0]!,
});

const ROWS: Routine = {
  units: (step) => Math.ceil(sizesOf(step).bound / ROWS_UNIT),
  unitSize: (step, array) => (array === step.results[0] ? ROWS_UNIT : undefined),
  numbers: (step) => {
    const { rows, bound } = sizesOf(step);
    const codes = [step.operands[0]!, step.results[0]!].map(({ dtype }) => dtypeCode(dtype));
    return [...codes, rows, bound, ROWS_UNIT];
  },
  kernels: (step) => {
    const { rows, bound } = sizesOf(step);
    const [starts, result] = [step.operands[0]!, step.results[0]!];
    return {
      source: printSparseRows(starts.dtype, result.dtype),
      launches: [
        {
          function: ROWS_NAME,
          blocks: Math.ceil(bound / ROWS_UNIT),
          threads: ROWS_THREADS,
          args: [
            { block: 'x' },
            { buffer: starts.buffer },
            { buffer: result.buffer },
            ...[rows, bound].map(int64),
          ],
        },
      ],
    };
  },
  cudaWorkspace: () => ({ most: 0, least: 0 }),
  work: (step) => {
    const { rows, bound } = sizesOf(step);
    const [starts, result] = [step.operands[0]!, step.results[0]!];
    return { bytes: rows * byteLengthOf(starts.dtype) + bound * byteLengthOf(result.dtype), launches: 1 };
  },
  operations: passedOperations(),
  method: () => 'a search for every few elements',
};

export const SPARSE_ROWS = routineCall(ROWS);
