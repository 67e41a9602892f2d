/**
 * The product of two sparse matrices, in two steps: elements of rows are counted, then computed
 * (`codegen/cuda/routines/sparse-matmul.ts`, `native/cpu/sparse-matmul.cpp`). Where a row's elements go depends on all
 * before it, and which rows it needs on the data, so that a step is one unit.
 */
import {
  LISTED_AT,
  MATMUL_LONG_NAME,
  MATMUL_NAME,
  MATMUL_TAIL,
  MATMUL_TAIL_NAME,
  MATMUL_TAIL_THREADS,
  type MatmulForm,
  matmulTable,
  matmulThreads,
  printSparseMatmul,
} from '../../codegen/cuda/routines/sparse-matmul.js';
import { type DType, dtypeCode } from '../../graph/dtype.js';
import { placeDType } from '../../graph/routines.js';
import type { RoutineStep } from './call.js';
import type { CallKernels } from './call-row.js';
import { clearLaunch } from './clear.js';
import { int64 } from './launch-arguments.js';
import { bytesOfAll, type Routine, routineCall } from './routine.js';
import { ROWS_BY_ROWS } from './sparse-hint.js';

/** Blocks that go through the list of long rows. */
const LONG_BLOCKS = 4096;

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
}

function sizesOf({ call, operands, parameters }: RoutineStep): Sizes {
  const isCount = call === 'sparseMatmulCounts';
  const [columns, products, rowLength, bound] = parameters as readonly [number, number, number, number];
  const sizeAt = (k: number): number => operands[k]!.shape[0]!;
  return {
    isCount,
    indexDType: operands[0]!.dtype,
    rows: sizeAt(0) - 1,
    storedA: sizeAt(1),
    inner: sizeAt(isCount ? 2 : 3) - 1,
    storedB: sizeAt(isCount ? 3 : 4),
    columns,
    products,
    rowLength,
    bound: isCount ? 0 : bound,
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

/** The number of listed rows, and the rows. */
const workspaceOf = (step: RoutineStep): number =>
  matmulForm(step).hasLong ? LISTED_AT + 8 * sizesOf(step).rows : 0;

function kernelsOf(step: RoutineStep): CallKernels {
  const form = matmulForm(step);
  const { isCount, rows, storedA, inner, storedB, columns, bound } = sizesOf(step);
  const block = { block: 'x' } as const;
  const arrays = [...step.operands, ...step.results].map(({ buffer }) => ({ buffer }));
  const work = form.hasLong ? [{ buffer: step.workspace! }] : [];
  const launch = (name: string, blocks: number, threads: number) => ({
    function: name,
    blocks,
    threads,
    args: [block, ...arrays, ...work, ...[rows, storedA, inner, storedB, columns, bound, blocks].map(int64)],
  });
  const threads = matmulThreads(form);
  const short = launch(MATMUL_NAME, Math.ceil((rows * form.lanes) / threads), threads);
  const long = form.hasLong
    ? [clearLaunch(work[0]!, LISTED_AT / 4), short, launch(MATMUL_LONG_NAME, Math.min(rows, LONG_BLOCKS), 32)]
    : [short];
  const tail = {
    function: MATMUL_TAIL_NAME,
    blocks: Math.ceil(bound / MATMUL_TAIL),
    threads: MATMUL_TAIL_THREADS,
    args: [block, ...arrays.slice(6), ...[rows, bound].map(int64)],
  };
  // Of a tail that nobody reads nothing is written (`exec/plan/open-tails.ts`).
  const isOpen = isCount || step.parameters[4] === 1;
  return { source: printSparseMatmul(form), launches: isOpen ? long : [...long, tail] };
}

const MATMUL: Routine = {
  units: () => 1,
  unitSize: () => undefined,
  hint: ROWS_BY_ROWS,
  numbers: (step) => {
    const { isCount, indexDType, rows, storedA, inner, storedB, columns, products, bound } = sizesOf(step);
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

export const SPARSE_MATMUL = routineCall(MATMUL);
export const SPARSE_MATMUL_COUNTS = routineCall(MATMUL);
