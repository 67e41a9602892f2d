/**
 * A sparse matrix of elements in any order on the CPU (`native/cpu/sparse-elements.cpp`). Any of them may be of any row, so
 * that all is one unit. A GPU sorts numbers that stand for their places (`graph/sparse-ways.ts`).
 */
import { dtypeCode } from '../../graph/dtype.js';
import { openTails } from './open-tails.js';
import { bytesOfAll, routineCall } from './routine.js';

export const SPARSE_ELEMENTS = routineCall({
  units: () => 1,
  unitSize: () => undefined,
  openTails: openTails(2, 1),
  numbers: ({ operands: [row, , values], parameters: [rows, columns, isOpen] }) => [
    dtypeCode(values!.dtype),
    dtypeCode(row!.dtype),
    rows!,
    columns!,
    row!.shape[0]!,
    isOpen!,
  ],
  cudaWorkspace: () => ({ most: 0, least: 0 }),
  work: ({ operands, results }) => ({ bytes: bytesOfAll([...operands, ...results]), launches: 1 }),
  method: () => 'by a stable counting sort of the rows, each of which is sorted by its columns',
});
