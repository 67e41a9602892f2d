/**
 * Sums, differences, products and comparisons of two sparse matrices, element by element, on the CPU
 * (`native/cpu/sparse-combine.cpp`). A GPU, and blocks of rows, have `sparse-merge.ts` and a map instead, and for comparisons
 * `sparse-select.ts` (`graph/sparse-ways.ts`).
 */
import { dtypeCode } from '../../graph/dtype.js';
import { COMBINED_OPS } from '../../graph/sparse-routines.js';
import { openTails } from './open-tails.js';
import { passedOperations } from './passed-operations.js';
import { bytesOfAll, routineCall } from './routine.js';

export const SPARSE_COMBINE = routineCall({
  units: () => 1,
  unitSize: () => undefined,
  openTails: openTails(4, 1),
  numbers: ({ operands, results: [starts], parameters: [isOfBoth, , bound, op, isOpen] }) => {
    const sizeAt = (k: number): number => operands[k]!.shape[0]!;
    const codes = [operands[2]!, operands[0]!, starts!].map(({ dtype }) => dtypeCode(dtype));
    return [...codes, sizeAt(0) - 1, sizeAt(1), sizeAt(4), bound!, op!, isOfBoth!, isOpen!];
  },
  cudaWorkspace: () => ({ most: 0, least: 0 }),
  work: ({ operands, results }) => ({ bytes: bytesOfAll([...operands, ...results]), launches: 1 }),
  operations: passedOperations(),
  method: ({ parameters }) =>
    `rows merged by one thread each, their elements: ${COMBINED_OPS[parameters[3]!]}`,
});
