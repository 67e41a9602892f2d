/**
 * Sums of floats by bin on the CPU (`native/cpu/bin-sums.cpp`), in one pass over the values where their exponents allow
 * it. All rows are one unit: in plans in which they do not fit, and on a GPU, sums are those by units
 * (`fusion/passes/both-ways.ts`), which have the same bits.
 */
import { dtypeCode } from '../../graph/dtype.js';
import { sizeOfShape } from '../../graph/graph.js';
import { bytesOfAll, type Routine, routineCall } from './routine.js';

const SUMMING: Routine = {
  units: () => 1,
  unitSize: (_, array) => sizeOfShape(array.shape),
  numbers: ({ operands: [keys, values], parameters }) => [
    dtypeCode(keys!.dtype),
    dtypeCode(values!.dtype),
    keys!.shape[0]!,
    ...parameters,
  ],
  cudaWorkspace: () => ({ most: 0, least: 0 }),
  work: ({ operands, results }) => ({ bytes: bytesOfAll([...operands, ...results]), launches: 1 }),
  method: () => 'in one pass, as multiples of a power of two',
};

export const BIN_SUMS = routineCall(SUMMING);
