/**
 * The stored elements of a sparse matrix that a mask selects, in two steps: elements of rows are counted, then written
 * (`codegen/cuda/routines/sparse-select.ts`, `native/cpu/sparse-select.cpp`). Units are blocks of rows, where their starts
 * are known (`sparse-units.ts`).
 */
import {
  printSparseSelect,
  SELECT_NAME,
  SELECT_THREADS,
  type SelectForm,
} from '../../codegen/cuda/routines/sparse-select.js';
import { byteLengthOf, dtypeCode } from '../../graph/dtype.js';
import type { RoutineStep } from './call.js';
import type { CallKernels } from './call-row.js';
import { bytesOfAll, type Routine, routineCall } from './routine.js';
import { rowLaunch, type SparseUnits, sparseStretch, sparseUnits, tailLaunch } from './sparse-units.js';

interface Sizes {
  readonly isCount: boolean;
  readonly rows: number;
  readonly stored: number;
  readonly bound: number;
  readonly elementBytes: number;
  readonly units: SparseUnits;
}

function sizesOf(step: RoutineStep): Sizes {
  const { call, operands, results } = step;
  const isCount = call === 'sparseSelectCounts';
  const [rows, bound] = [operands[0]!.shape[0]! - 1, isCount ? 0 : results[0]!.shape[0]!];
  return {
    isCount,
    rows,
    stored: operands[1]!.shape[0]!,
    bound,
    elementBytes: isCount ? 1 : byteLengthOf(results[1]!.dtype),
    units: sparseUnits(step, rows, bound, 1),
  };
}

/** About four elements a lane. */
function selectForm(step: RoutineStep): SelectForm {
  const { isCount, rows, stored, elementBytes } = sizesOf(step);
  const lanes = Math.min(32, 2 ** Math.max(0, Math.ceil(Math.log2(Math.max(stored / rows / 4, 1)))));
  return { isCount, indexDType: step.operands[0]!.dtype, elementBytes, lanes };
}

function kernelsOf(step: RoutineStep): CallKernels {
  const form = selectForm(step);
  const { isCount, rows, stored, bound, units } = sizesOf(step);
  const sizes = [rows, stored, bound];
  const own = { function: SELECT_NAME, threads: SELECT_THREADS, lanes: form.lanes, sizes, units };
  const launches = [rowLaunch(step, own), ...(isCount ? [] : [tailLaunch(step, units, rows, bound)])];
  return { source: printSparseSelect(form), launches };
}

const SELECT: Routine = {
  units: (step) => sizesOf(step).units.units,
  unitSize: () => undefined,
  stretch: (step, array) => {
    const { operands, results } = step;
    const { isCount, rows, bound, units } = sizesOf(step);
    const lines = [
      { line: 0, starts: operands[0], elements: operands.slice(1, isCount ? 2 : 4) },
      ...(isCount ? [] : [{ line: 1, starts: operands[4], elements: results, bound }]),
    ];
    return sparseStretch(step, array, { rows, lines, units });
  },
  numbers: (step) => {
    const { rows, stored, bound, elementBytes, units } = sizesOf(step);
    const sizes = [rows, stored, bound, elementBytes, units.units, units.unitRows, units.unitTail];
    return [dtypeCode(step.operands[0]!.dtype), ...sizes];
  },
  kernels: kernelsOf,
  cudaWorkspace: () => ({ most: 0, least: 0 }),
  work: (step) => ({
    bytes: bytesOfAll([...step.operands, ...step.results]),
    launches: sizesOf(step).isCount ? 1 : 2,
  }),
  method: (step) => `a row by ${selectForm(step).lanes} lanes`,
};

export const SPARSE_SELECT = routineCall(SELECT);
export const SPARSE_SELECT_COUNTS = routineCall(SELECT);
