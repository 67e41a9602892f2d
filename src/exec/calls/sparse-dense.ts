/**
 * The dense array of a sparse matrix (`codegen/cuda/routines/sparse-dense.ts`, `native/cpu/sparse-dense.cpp`). Units are
 * stretches of rows. Which stored elements they need depends on data, so that every unit may read all of them unless the
 * starts of rows are known (`graph/row-stretches.ts`).
 */
import {
  DENSE_BLOCK,
  DENSE_NAME,
  DENSE_THREADS,
  printSparseDense,
} from '../../codegen/cuda/routines/sparse-dense.js';
import { byteLengthOf, dtypeCode } from '../../graph/dtype.js';
import type { RoutineStep } from './call.js';
import { int64 } from './launch-arguments.js';
import { passedOperations } from './passed-operations.js';
import { bytesOfAll, type Routine, routineCall } from './routine.js';
import { stretchOfRows } from './sparse-units.js';

function sizesOf({ operands, results }: RoutineStep) {
  const [rows, columns] = results[0]!.shape as readonly [number, number];
  return {
    rows,
    columns,
    stored: operands[1]!.shape[0]!,
    elementBytes: byteLengthOf(results[0]!.dtype),
    /** Rows of a unit: as many as fill a block. */
    unitRows: Math.max(1, Math.floor(DENSE_BLOCK / columns)),
  };
}

const DENSE: Routine = {
  units: (step) => {
    const { rows, unitRows } = sizesOf(step);
    return Math.ceil(rows / unitRows);
  },
  unitSize: (step, array) => {
    const { unitRows, columns } = sizesOf(step);
    if (array === step.operands[0]) return unitRows;
    return array === step.results[0] ? unitRows * columns : undefined;
  },
  /** The end of a unit's last row is the start of the next one. */
  margins: (step, array) => (array === step.operands[0] ? { before: 0, after: 1 } : undefined),
  stretch: (step, array) =>
    step.operands.indexOf(array) > 0 ? stretchOfRows(step, sizesOf(step)) : undefined,
  hasPanels: true,
  numbers: (step) => {
    const { rows, columns, stored, elementBytes, unitRows } = sizesOf(step);
    return [dtypeCode(step.operands[0]!.dtype), rows, columns, stored, elementBytes, unitRows];
  },
  kernels: (step) => {
    const { rows, columns, stored, elementBytes, unitRows } = sizesOf(step);
    const isStretch = columns > DENSE_BLOCK;
    const unitBlocks = isStretch ? Math.ceil(columns / DENSE_BLOCK) : 1;
    const arrays = [...step.operands, ...step.results].map(({ buffer }) => ({ buffer }));
    return {
      source: printSparseDense({ indexDType: step.operands[0]!.dtype, elementBytes, isStretch }),
      launches: [
        {
          function: DENSE_NAME,
          blocks: Math.ceil(rows / unitRows) * unitBlocks,
          threads: DENSE_THREADS,
          args: [{ block: 'x' }, ...arrays, ...[rows, stored, columns, unitRows, unitBlocks].map(int64)],
        },
      ],
    };
  },
  cudaWorkspace: () => ({ most: 0, least: 0 }),
  work: ({ operands, results }) => ({ bytes: bytesOfAll([...operands, ...results]), launches: 1 }),
  operations: passedOperations(),
  method: () => 'rows cleared, and their elements written',
};

export const SPARSE_DENSE = routineCall(DENSE);
