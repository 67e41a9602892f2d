/**
 * Rows of sparse matrices in another one, on the CPU (`native/cpu/sparse-gather.cpp`). Which elements a row has depends on
 * data, so that all is one unit. A GPU gathers each element from its place (`graph/sparse-ways.ts`).
 */
import { byteLengthOf, dtypeCode } from '../../graph/dtype.js';
import { firstGathered, GATHER_WAYS } from '../../graph/sparse-routines.js';
import { openTails } from './open-tails.js';
import { passedOperations } from './passed-operations.js';
import { bytesOfAll, routineCall } from './routine.js';

export const SPARSE_GATHER = routineCall({
  units: () => 1,
  unitSize: () => undefined,
  openTails: openTails(2, 1),
  numbers: ({ operands, results, parameters: [way, bound, isOpen, , ...offsets] }) => {
    const sizeAt = (k: number): number => operands[k]!.shape[0]!;
    const [starts, , values] = results;
    const index = dtypeCode(starts!.dtype);
    // A stretch of rows is copied as a matrix above none.
    const own = GATHER_WAYS[way!] === 'stretch' ? GATHER_WAYS.indexOf('above') : way!;
    const sizes = [index, starts!.shape[0]! - 1, bound!, byteLengthOf(values!.dtype), own, isOpen!];
    const first = firstGathered(way!);
    const each = offsets.flatMap((offset, k) => {
      const at = first + 3 * k;
      return [sizeAt(at) - 1, sizeAt(at + 1), offset];
    });
    return [...sizes, ...each];
  },
  cudaWorkspace: () => ({ most: 0, least: 0 }),
  work: ({ operands, results }) => ({ bytes: bytesOfAll([...operands, ...results]), launches: 1 }),
  operations: passedOperations(),
  method: ({ parameters: [way] }) =>
    `rows ${GATHER_WAYS[way!] === 'stretch' ? 'of a stretch' : GATHER_WAYS[way!]}, copied`,
});
