/**
 * The product of two sparse matrices, in two steps: elements of rows are counted, then computed
 * (`codegen/cuda/routines/sparse-matmul.ts`, `native/cpu/sparse-matmul.cpp`). Units are blocks of rows of the first one,
 * where their starts are known (`sparse-units.ts`). Which rows of the second one a unit needs depends on the data: they are
 * those from the least to the largest column of its rows, where these are known, and else all of them.
 */
import {
  LISTED_AT,
  MATMUL_CLEAR_NAME,
  MATMUL_LONG_NAME,
  MATMUL_NAME,
  type MatmulForm,
  matmulTable,
  matmulThreads,
  printSparseMatmul,
} from '../../codegen/cuda/routines/sparse-matmul.js';
import { type DType, dtypeCode } from '../../graph/dtype.js';
import { placeDType } from '../../graph/routine-row.js';
import type { RoutineStep } from './call.js';
import type { CallKernels, CallLaunch } from './call-row.js';
import { int64 } from './launch-arguments.js';
import { openTails } from './open-tails.js';
import { bytesOfAll, type Routine, routineCall } from './routine.js';
import { WHOLE_SECOND } from './sparse-hint.js';
import { type SparseUnits, sparseStretch, sparseUnits, tailLaunch } from './sparse-units.js';

/** The place of the parameter that leaves the tail undefined, of the product and not of its counts. */
const OPEN = 4;
/** Blocks that go through the lists of long rows, and of one list at least. */
const LONG_BLOCKS = 4096;
const LIST_BLOCKS = 16;

interface Sizes {
  readonly isCount: boolean;
  readonly indexDType: DType;
  readonly rows: number;
  readonly storedA: number;
  readonly inner: number;
  readonly storedB: number;
  readonly columns: number;
  /** Products of a row, and elements of a row of B, at most. */
  readonly products: number;
  readonly rowLength: number;
  readonly bound: number;
  readonly units: SparseUnits;
}

function sizesOf(step: RoutineStep): Sizes {
  const { call, operands, parameters } = step;
  const isCount = call === 'sparseMatmulCounts';
  const [columns, products, rowLength, bound] = parameters as readonly [number, number, number, number];
  const sizeAt = (k: number): number => operands[k]!.shape[0]!;
  const rows = sizeAt(0) - 1;
  return {
    isCount,
    indexDType: operands[0]!.dtype,
    rows,
    storedA: sizeAt(1),
    inner: sizeAt(isCount ? 2 : 3) - 1,
    storedB: sizeAt(isCount ? 3 : 4),
    columns,
    products,
    rowLength,
    bound: isCount ? 0 : bound,
    units: sparseUnits(step, rows, isCount ? 0 : bound, 1),
  };
}

function matmulForm(step: RoutineStep): MatmulForm {
  const { isCount, indexDType, columns, products, rowLength } = sizesOf(step);
  const types = {
    dtype: isCount ? undefined : step.results[1]!.dtype,
    placeDType: isCount ? placeDType(columns) : step.results[0]!.dtype,
  };
  return { ...matmulTable(Math.min(columns, products), rowLength, types), ...types, indexDType };
}

/** For each unit the number of listed rows, and the rows. */
function workspaceOf(step: RoutineStep): number {
  const { units, unitRows } = sizesOf(step).units;
  return matmulForm(step).hasLong ? units * (LISTED_AT + 8 * unitRows) : 0;
}

function kernelsOf(step: RoutineStep): CallKernels {
  const form = matmulForm(step);
  const { isCount, rows, storedA, inner, storedB, columns, bound, units } = sizesOf(step);
  const block = { block: 'x' } as const;
  const arrays = [...step.operands, ...step.results].map(({ buffer }) => ({ buffer }));
  const work = form.hasLong ? [{ buffer: step.workspace! }] : [];
  const launch = (name: string, unitBlocks: number, threads: number): CallLaunch => {
    const sizes = [rows, storedA, inner, storedB, columns, bound, units.unitRows, unitBlocks];
    const args = [block, ...arrays, ...work, ...sizes.map(int64)];
    return { function: name, blocks: units.units * unitBlocks, threads, args };
  };
  const threads = matmulThreads(form);
  const launches = [launch(MATMUL_NAME, Math.ceil((units.unitRows * form.lanes) / threads), threads)];
  if (form.hasLong) {
    const perList = Math.max(LIST_BLOCKS, Math.ceil(LONG_BLOCKS / units.units));
    const args = [block, work[0]!, int64(units.unitRows)];
    launches.unshift({ function: MATMUL_CLEAR_NAME, blocks: units.units, threads: 1, args });
    launches.push(launch(MATMUL_LONG_NAME, Math.min(units.unitRows, perList), 32));
  }
  // Of a tail that nobody reads nothing is written (`exec/plan/open-tails.ts`).
  if (!isCount && step.parameters[OPEN] !== 1) launches.push(tailLaunch(step, units, rows, bound));
  return { source: printSparseMatmul(form), launches };
}

const MATMUL: Routine = {
  units: (step) => sizesOf(step).units.units,
  unitSize: () => undefined,
  stretch: (step, array) => {
    const { operands, results } = step;
    const { isCount, rows, bound, units } = sizesOf(step);
    const perMatrix = isCount ? 2 : 3;
    const [starts, ...elements] = operands.slice(perMatrix, 2 * perMatrix);
    const lines = [
      { line: 0, starts: operands[0], elements: operands.slice(1, perMatrix) },
      ...(isCount ? [] : [{ line: 1, starts: operands[6], elements: results, bound }]),
    ];
    return sparseStretch(step, array, { rows, lines, units, second: { starts, elements } });
  },
  hint: WHOLE_SECOND,
  numbers: (step) => {
    const { isCount, indexDType, rows, storedA, inner, storedB, columns, products, bound, units } =
      sizesOf(step);
    const dtypes = [
      indexDType,
      isCount ? 'float64' : step.results[1]!.dtype,
      isCount ? 'int64' : step.results[0]!.dtype,
    ];
    return [
      ...dtypes.map((dtype) => dtypeCode(dtype as DType)),
      rows,
      storedA,
      inner,
      storedB,
      columns,
      products,
      bound,
      units.units,
      units.unitRows,
      units.unitTail,
    ];
  },
  kernels: kernelsOf,
  cudaWorkspace: (step) => ({ most: workspaceOf(step), least: workspaceOf(step) }),
  work: (step) => {
    const bytes = bytesOfAll([...step.operands, ...step.results]);
    return { bytes: 2 * bytes, launches: matmulForm(step).hasLong ? 4 : 2 };
  },
  method: (step) => {
    const { lanes, slots, hasLong } = matmulForm(step);
    return `a row by ${lanes} lanes in ${slots} slots${hasLong ? ', long ones by a warp' : ''}`;
  },
};

export const SPARSE_MATMUL = routineCall({ ...MATMUL, openTails: openTails(OPEN, 0) });
export const SPARSE_MATMUL_COUNTS = routineCall(MATMUL);
