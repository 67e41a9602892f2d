/**
 * The elements of a sparse matrix that a mask keeps, or those of a stretch of columns, on the CPU
 * (`native/cpu/sparse-kept.cpp`). A GPU, and blocks of rows, have `sparse-select.ts` instead (`graph/sparse-ways.ts`).
 */
import { byteLengthOf, dtypeCode } from '../../graph/dtype.js';
import { openTails } from './open-tails.js';
import { passedOperations } from './passed-operations.js';
import { bytesOfAll, routineCall } from './routine.js';

export const SPARSE_KEPT = routineCall({
  units: () => 1,
  unitSize: () => undefined,
  openTails: openTails(3, 1),
  numbers: ({ operands: [starts, places, values], parameters: [hasMask, first, count, isOpen] }) => [
    dtypeCode(places!.dtype),
    starts!.shape[0]! - 1,
    places!.shape[0]!,
    byteLengthOf(values!.dtype),
    first!,
    count!,
    hasMask!,
    isOpen!,
  ],
  cudaWorkspace: () => ({ most: 0, least: 0 }),
  work: ({ operands, results }) => ({ bytes: bytesOfAll([...operands, ...results]), launches: 1 }),
  operations: passedOperations(),
  method: ({ parameters: [hasMask] }) => `by ${hasMask === 1 ? 'a mask' : 'their columns'}, in one pass`,
});
