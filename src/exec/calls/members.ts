/**
 * Whether integers are among those of a set in order, on the CPU (`native/cpu/members.cpp`). Elements are cut into
 * stretches, each of which reads the whole set. A GPU searches in the kernel around it (`fusion/passes/both-ways.ts`).
 */
import { dtypeCode } from '../../graph/dtype.js';
import { sizeOfShape } from '../../graph/graph.js';
import { bytesOfAll, routineCall } from './routine.js';

/** Elements of a unit. */
const UNIT = 2 ** 14;

export const MEMBERS = routineCall({
  units: ({ results: [result] }) => Math.ceil(sizeOfShape(result!.shape) / UNIT),
  unitSize: ({ operands: [, set] }, array) => (array === set ? undefined : UNIT),
  numbers: ({ operands: [elements, set], parameters: [isInverse] }) => [
    dtypeCode(elements!.dtype),
    sizeOfShape(elements!.shape),
    set!.shape[0]!,
    UNIT,
    isInverse!,
  ],
  cudaWorkspace: () => ({ most: 0, least: 0 }),
  work: ({ operands, results }) => ({ bytes: bytesOfAll([...operands, ...results]), launches: 1 }),
  method: () => 'by a bit for each value of the range of the set, or by halves where that is wide',
});
