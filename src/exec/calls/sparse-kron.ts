/**
 * Kronecker products of two sparse matrices on the CPU (`native/cpu/sparse-kron.cpp`). A GPU finds the elements of both at each
 * place (`graph/sparse-ways.ts`).
 */
import { dtypeCode } from '../../graph/dtype.js';
import { openTails } from './open-tails.js';
import { passedOperations } from './passed-operations.js';
import { bytesOfAll, routineCall } from './routine.js';

export const SPARSE_KRON = routineCall({
  units: () => 1,
  unitSize: () => undefined,
  openTails: openTails(1, 1),
  numbers: ({ operands, parameters: [columns, isOpen] }) => {
    const [startsA, placesA, values, startsB, placesB] = operands;
    const sizes = [startsA!, placesA!, startsB!, placesB!].map(({ shape }) => shape[0]!);
    const [rowsA, storedA, rowsB, storedB] = sizes as [number, number, number, number];
    const dtypes = [values!, startsA!].map(({ dtype }) => dtypeCode(dtype));
    return [...dtypes, rowsA - 1, storedA, rowsB - 1, storedB, columns!, isOpen!];
  },
  cudaWorkspace: () => ({ most: 0, least: 0 }),
  work: ({ operands, results }) => ({ bytes: bytesOfAll([...operands, ...results]), launches: 1 }),
  operations: passedOperations(),
  method: () => 'rows of the second matrix, times each element of the first',
});
