/**
 * Labels of the connected components of a mask on the CPU (`native/cpu/labels.cpp`). A component may reach from any
 * element to any other, so that the whole mask is one unit. A GPU has `components.ts` and a scan instead
 * (`fusion/passes/both-ways.ts`).
 */
import { sizeOfShape } from '../../graph/graph.js';
import { bytesOfAll, routineCall } from './routine.js';

export const LABELS = routineCall({
  units: () => 1,
  unitSize: (_, array) => sizeOfShape(array.shape),
  numbers: ({ operands, parameters }) => [operands[0]!.shape.length, ...operands[0]!.shape, ...parameters],
  cudaWorkspace: () => ({ most: 0, least: 0 }),
  work: ({ operands, results }) => ({ bytes: bytesOfAll([...operands, ...results]), launches: 1 }),
  method: () => 'union-find over runs of rows',
});
