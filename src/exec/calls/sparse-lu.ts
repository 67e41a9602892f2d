/**
 * Orders and LU factors of sparse matrices, on the CPU alone (`native/cpu/sparse-order.cpp`, `sparse-lu.cpp`), where
 * `api/sparse-direct.ts` computes them. Columns need those before them, so that each is one unit.
 */
import { dtypeCode } from '../../graph/dtype.js';
import type { RoutineStep } from './call.js';
import { bytesOfAll, type Routine, routineCall } from './routine.js';

const sizesOf = ({ operands }: RoutineStep): readonly number[] => [
  operands[0]!.shape[0]! - 1,
  operands[1]!.shape[0]!,
];

const ON_CPU = {
  units: () => 1,
  unitSize: () => undefined,
  cudaWorkspace: () => ({ most: 0, least: 0 }),
  work: ({ operands, results }) => ({
    bytes: bytesOfAll([...operands, ...results]),
    launches: 1,
  }),
} satisfies Partial<Routine>;

const ORDER: Routine = {
  ...ON_CPU,
  numbers: (step) => [dtypeCode(step.operands[0]!.dtype), ...sizesOf(step), ...step.parameters],
  method: () => 'on a quotient graph',
};

const LU: Routine = {
  ...ON_CPU,
  numbers: (step) => {
    const arrays = [step.operands[2]!, step.operands[0]!, step.results[2]!];
    const codes = arrays.map(({ dtype }) => dtypeCode(dtype));
    return [...codes, ...sizesOf(step), ...step.parameters];
  },
  method: ({ parameters }) => (parameters[2] === 1 ? 'column by column' : 'by fronts'),
};

export const SPARSE_ORDER = routineCall(ORDER);
export const SPARSE_LU = routineCall(LU);
