/**
 * Rows of two sparse matrices merged, in two steps: elements of rows are counted, then their columns and places are
 * written (`codegen/cuda/routines/sparse-merge.ts`, `native/cpu/sparse-merge.cpp`). Where a row's elements go depends on
 * all before it, so that a step is one unit.
 */
import {
  MERGE_NAME,
  MERGE_TAIL,
  MERGE_TAIL_NAME,
  MERGE_THREADS,
  type MergeForm,
  printSparseMerge,
} from '../../codegen/cuda/routines/sparse-merge.js';
import { dtypeCode } from '../../graph/dtype.js';
import type { RoutineStep } from './call.js';
import type { CallKernels } from './call-row.js';
import { int64 } from './launch-arguments.js';
import { bytesOfAll, type Routine, routineCall } from './routine.js';
import { ROWS_BY_ROWS } from './sparse-hint.js';

interface Sizes {
  readonly isCount: boolean;
  readonly rows: number;
  readonly storedA: number;
  readonly storedB: number;
  readonly bound: number;
}

function sizesOf({ call, operands, results }: RoutineStep): Sizes {
  const isCount = call === 'sparseMergeCounts';
  const sizeAt = (k: number): number => operands[k]!.shape[0]!;
  const bound = isCount ? 0 : results[0]!.shape[0]!;
  return { isCount, rows: sizeAt(0) - 1, storedA: sizeAt(1), storedB: sizeAt(3), bound };
}

/** About two elements of each matrix a lane. */
function mergeForm(step: RoutineStep): MergeForm {
  const { isCount, rows, storedA, storedB } = sizesOf(step);
  const length = (storedA + storedB) / rows / 4;
  return {
    isCount,
    isOfBoth: step.parameters[0] === 1,
    indexDType: step.operands[0]!.dtype,
    placeDType: step.results[0]!.dtype,
    lanes: Math.min(32, 2 ** Math.max(0, Math.ceil(Math.log2(Math.max(length, 1))))),
  };
}

function kernelsOf(step: RoutineStep): CallKernels {
  const form = mergeForm(step);
  const { isCount, rows, storedA, storedB, bound } = sizesOf(step);
  const arrays = [...step.operands, ...step.results].map(({ buffer }) => ({ buffer }));
  const merge = {
    function: MERGE_NAME,
    blocks: Math.ceil((rows * form.lanes) / MERGE_THREADS),
    threads: MERGE_THREADS,
    args: [{ block: 'x' } as const, ...arrays, ...[rows, storedA, storedB].map(int64)],
  };
  const tail = {
    function: MERGE_TAIL_NAME,
    blocks: Math.ceil(bound / MERGE_TAIL),
    threads: MERGE_THREADS,
    args: [{ block: 'x' } as const, ...arrays.slice(4), ...[rows, bound].map(int64)],
  };
  return { source: printSparseMerge(form), launches: isCount ? [merge] : [merge, tail] };
}

const MERGE: Routine = {
  units: () => 1,
  unitSize: () => undefined,
  hint: ROWS_BY_ROWS,
  numbers: (step) => {
    const { rows, storedA, storedB, bound } = sizesOf(step);
    const codes = [step.operands[0]!, step.results[0]!].map(({ dtype }) => dtypeCode(dtype));
    return [...codes, rows, storedA, storedB, bound, step.parameters[0]!];
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
