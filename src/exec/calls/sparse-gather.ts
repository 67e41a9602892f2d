/**
 * Rows of sparse matrices in another one, on the CPU (`native/cpu/sparse-gather.cpp`). Which elements a row has depends on
 * data, so that all is one unit. A GPU gathers each element from its place (`graph/sparse-ways.ts`).
 */
import { byteLengthOf, type DType, dtypeCode } from '../../graph/dtype.js';
import { firstGathered, GATHER_WAYS, type GatherWay } from '../../graph/sparse-routines.js';
import { openTails } from './open-tails.js';
import { passedOperations } from './passed-operations.js';
import { bytesOfAll, routineCall } from './routine.js';

/** As `GatherWay` there. A stretch of rows is copied as a matrix above none. */
function nativeWay(way: GatherWay, first: DType): number {
  if (way === 'stretch') return GATHER_WAYS.indexOf('above');
  return GATHER_WAYS.indexOf(way) + (way === 'given' && first === 'int32' ? 1 : 0);
}

export const SPARSE_GATHER = routineCall({
  units: () => 1,
  unitSize: () => undefined,
  openTails: openTails(2, 1),
  numbers: ({ operands, results, parameters: [way, bound, isOpen, , ...offsets] }) => {
    const sizeAt = (k: number): number => operands[k]!.shape[0]!;
    const [starts, , values] = results;
    const index = dtypeCode(starts!.dtype);
    const own = nativeWay(GATHER_WAYS[way!]!, operands[0]!.dtype);
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
