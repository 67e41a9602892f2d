/**
 * The transpose of a sparse matrix on the CPU (`native/cpu/sparse-transpose.cpp`). An element of any row may be one of any
 * column, so that all is one unit. A GPU sorts the columns (`graph/sparse-ways.ts`).
 */
import { byteLengthOf, dtypeCode } from '../../graph/dtype.js';
import { openTails } from './open-tails.js';
import { passedOperations } from './passed-operations.js';
import { bytesOfAll, routineCall } from './routine.js';

export const SPARSE_TRANSPOSE = routineCall({
  units: () => 1,
  unitSize: () => undefined,
  openTails: openTails(1, 1),
  numbers: ({ operands: [starts, places, values], parameters: [columns, isOpen] }) => [
    dtypeCode(starts!.dtype),
    starts!.shape[0]! - 1,
    columns!,
    places!.shape[0]!,
    byteLengthOf(values!.dtype),
    isOpen!,
  ],
  cudaWorkspace: () => ({ most: 0, least: 0 }),
  work: ({ operands, results }) => ({ bytes: bytesOfAll([...operands, ...results]), launches: 1 }),
  operations: passedOperations(3),
  method: () => 'by a stable counting sort of the columns',
});
