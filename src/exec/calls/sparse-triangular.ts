/**
 * The solve with a triangle of a sparse matrix (`codegen/cuda/routines/sparse-triangular.ts`,
 * `native/cpu/sparse-triangular.cpp`). Rows depend on one another, so that it is one unit.
 */
import {
  printSparseTriangular,
  SOLVED_AT,
  SPARSE_TRIANGULAR_NAME,
  TRIANGULAR_THREADS,
  triangularRows,
} from '../../codegen/cuda/routines/sparse-triangular.js';
import { dtypeCode } from '../../graph/dtype.js';
import type { RoutineStep } from './call.js';
import { clearLaunch } from './clear.js';
import { int64 } from './launch-arguments.js';
import { bytesOfAll, type Routine, routineCall } from './routine.js';

const sizesOf = ({ operands }: RoutineStep) => {
  const [, rows, width] = operands[0]!.shape as readonly [number, number, number];
  return { rows, width, stored: operands[2]!.shape[0]! };
};

const workspaceOf = (step: RoutineStep): number => SOLVED_AT + 4 * sizesOf(step).rows;

const SOLVE: Routine = {
  units: () => 1,
  unitSize: () => undefined,
  numbers: (step) => {
    const { rows, stored, width } = sizesOf(step);
    const codes = [step.results[0]!, step.operands[1]!].map(({ dtype }) => dtypeCode(dtype));
    return [...codes, rows, stored, width, ...step.parameters];
  },
  kernels: (step) => {
    const { rows, stored, width } = sizesOf(step);
    const [lanes, isUpper] = step.parameters as readonly [number, number];
    const work = { buffer: step.workspace! };
    const arrays = [...step.operands, ...step.results].map(({ buffer }) => ({ buffer }));
    return {
      source: printSparseTriangular({
        dtype: step.results[0]!.dtype,
        indexDType: step.operands[1]!.dtype,
        lanes,
        isUpper: isUpper === 1,
      }),
      launches: [
        clearLaunch(work, workspaceOf(step) / 4),
        {
          function: SPARSE_TRIANGULAR_NAME,
          blocks: Math.ceil(rows / triangularRows(lanes)),
          threads: TRIANGULAR_THREADS,
          args: [{ block: 'x' }, ...arrays, work, ...[rows, stored, width].map(int64)],
        },
      ],
    };
  },
  cudaWorkspace: (step) => ({ most: workspaceOf(step), least: workspaceOf(step) }),
  work: ({ operands, results }) => ({
    bytes: bytesOfAll([...operands, ...results]),
    launches: 2,
  }),
  method: () => 'rows as soon as those that they need are solved',
};

export const SPARSE_TRIANGULAR_SOLVE = routineCall(SOLVE);
