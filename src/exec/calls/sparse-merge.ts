/**
 * Rows of two sparse matrices merged, in two steps: elements of rows are counted, then their columns and the elements of
 * both matrices there are written (`codegen/cuda/routines/sparse-merge.ts`, `native/cpu/sparse-merge.cpp`). Units are
 * blocks of rows of both, where their starts are known (`sparse-units.ts`).
 */
import {
  MERGE_NAME,
  MERGE_THREADS,
  type MergeForm,
  printSparseMerge,
} from '../../codegen/cuda/routines/sparse-merge.js';
import { byteLengthOf, dtypeCode } from '../../graph/dtype.js';
import type { RoutineStep } from './call.js';
import type { CallKernels } from './call-row.js';
import { bytesOfAll, type Routine, routineCall } from './routine.js';
import { rowLaunch, type SparseUnits, sparseStretch, sparseUnits, tailLaunch } from './sparse-units.js';

interface Sizes {
  readonly isCount: boolean;
  readonly rows: number;
  readonly storedA: number;
  readonly storedB: number;
  readonly bound: number;
  readonly elementBytes: number;
  readonly units: SparseUnits;
}

function sizesOf(step: RoutineStep): Sizes {
  const { call, operands, results } = step;
  const isCount = call === 'sparseMergeCounts';
  const sizeAt = (k: number): number => operands[k]!.shape[0]!;
  const [rows, bound] = [sizeAt(0) - 1, isCount ? 0 : results[0]!.shape[0]!];
  return {
    isCount,
    rows,
    storedA: sizeAt(1),
    storedB: sizeAt(isCount ? 3 : 4),
    bound,
    elementBytes: isCount ? 1 : byteLengthOf(results[1]!.dtype),
    units: sparseUnits(step, rows, bound, 2),
  };
}

/** About two elements of each matrix a lane. */
function mergeForm(step: RoutineStep): MergeForm {
  const { isCount, rows, storedA, storedB, elementBytes } = sizesOf(step);
  const length = (storedA + storedB) / rows / 4;
  return {
    isCount,
    isOfBoth: step.parameters[0] === 1,
    indexDType: step.operands[0]!.dtype,
    placeDType: step.results[0]!.dtype,
    elementBytes,
    lanes: Math.min(32, 2 ** Math.max(0, Math.ceil(Math.log2(Math.max(length, 1))))),
  };
}

function kernelsOf(step: RoutineStep): CallKernels {
  const form = mergeForm(step);
  const { isCount, rows, storedA, storedB, bound, units } = sizesOf(step);
  const sizes = [rows, storedA, storedB];
  const own = { function: MERGE_NAME, threads: MERGE_THREADS, lanes: form.lanes, sizes, units };
  const launches = [rowLaunch(step, own), ...(isCount ? [] : [tailLaunch(step, units, rows, bound)])];
  return { source: printSparseMerge(form), launches };
}

const MERGE: Routine = {
  units: (step) => sizesOf(step).units.units,
  unitSize: () => undefined,
  stretch: (step, array) => {
    const { operands, results } = step;
    const { isCount, rows, bound, units } = sizesOf(step);
    const second = isCount ? 2 : 3;
    const lines = [
      { line: 0, starts: operands[0], elements: operands.slice(1, second) },
      { line: 1, starts: operands[second], elements: operands.slice(second + 1, 2 * second) },
      ...(isCount ? [] : [{ line: 2, starts: operands[6], elements: results, bound }]),
    ];
    return sparseStretch(step, array, { rows, lines, units });
  },
  numbers: (step) => {
    const { rows, storedA, storedB, bound, elementBytes, units } = sizesOf(step);
    const codes = [step.operands[0]!, step.results[0]!].map(({ dtype }) => dtypeCode(dtype));
    const sizes = [rows, storedA, storedB, bound, step.parameters[0]!, elementBytes];
    return [...codes, ...sizes, units.units, units.unitRows, units.unitTail];
  },
  kernels: kernelsOf,
  cudaWorkspace: () => ({ most: 0, least: 0 }),
  work: (step) => {
    const bytes = bytesOfAll([...step.operands, ...step.results]);
    return { bytes, launches: sizesOf(step).isCount ? 1 : 2 };
  },
  method: (step) => `a row by ${mergeForm(step).lanes} lanes`,
};

export const SPARSE_MERGE = routineCall(MERGE);
export const SPARSE_MERGE_COUNTS = routineCall(MERGE);
