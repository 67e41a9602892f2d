/**
 * Solves by factors of a sparse matrix that cuDSS made on a GPU (`native/cuda/sparse-solver.cpp`,
 * `api/sparse-factors.ts`). All right-hand sides are solved together, so that they are one unit.
 */
import { dtypeCode } from '../../graph/dtype.js';
import { bytesOfAll, type Routine, routineCall } from './routine.js';

/** Elements of factors for one of the matrix's rows, for the choice of streams alone. */
const FACTOR_WIDTH = 50;

const SOLVE: Routine = {
  units: () => 1,
  unitSize: () => undefined,
  numbers: ({ operands, parameters }) => {
    const { dtype, shape } = operands[0]!;
    return [dtypeCode(dtype), shape[1]!, shape[0]!, ...parameters];
  },
  // cuDSS has its own from the pool, counted among the memory of the factors.
  cudaWorkspace: () => ({ most: 0, least: 0 }),
  work: ({ operands }) => ({ bytes: FACTOR_WIDTH * bytesOfAll(operands), launches: 10 }),
  method: () => 'by the factors of cuDSS',
};

export const SPARSE_SOLVE = routineCall(SOLVE);
