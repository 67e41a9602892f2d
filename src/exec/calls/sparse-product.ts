/**
 * The product of a sparse matrix, given by rows (CSR), and dense columns (`codegen/cuda/routines/sparse-product.ts`,
 * `native/cpu/sparse-product.cpp`). Units are stretches of rows of the result; which stored elements and dense rows
 * they need depends on the data, so that every unit may read all of them.
 */
import {
  printSparseProduct,
  SPARSE_PRODUCT_NAME,
  SPARSE_THREADS,
} from '../../codegen/cuda/routines/sparse-product.js';
import { dtypeCode } from '../../graph/dtype.js';
import type { RoutineStep } from './call.js';
import { int64 } from './launch-arguments.js';
import { bytesOfAll, type Routine, routineCall } from './routine.js';

interface Sizes {
  readonly rows: number;
  readonly stored: number;
  readonly inner: number;
  readonly width: number;
  readonly lanes: number;
  /** Rows of a unit: as many as fill a block. */
  readonly unitRows: number;
}

function sizesOf({ operands, results, parameters }: RoutineStep): Sizes {
  const [rows, width] = results[0]!.shape as readonly [number, number];
  const lanes = parameters[0]!;
  return {
    rows,
    stored: operands[1]!.shape[0]!,
    inner: operands[3]!.shape[0]!,
    width,
    lanes,
    unitRows: Math.max(1, Math.floor(SPARSE_THREADS / (width * lanes))),
  };
}

const PRODUCT: Routine = {
  units: (step) => {
    const { rows, unitRows } = sizesOf(step);
    return Math.ceil(rows / unitRows);
  },
  unitSize: (step, array) => {
    const { unitRows, width } = sizesOf(step);
    return array === step.results[0] ? unitRows * width : undefined;
  },
  numbers: (step) => {
    const { rows, stored, inner, width, lanes, unitRows } = sizesOf(step);
    const codes = [step.results[0]!, step.operands[0]!].map(({ dtype }) => dtypeCode(dtype));
    return [...codes, rows, stored, inner, width, lanes, unitRows];
  },
  kernels: (step) => {
    const { rows, stored, inner, width, lanes, unitRows } = sizesOf(step);
    const unitBlocks = Math.ceil((unitRows * width * lanes) / SPARSE_THREADS);
    const arrays = [...step.operands, ...step.results].map(({ buffer }) => ({ buffer }));
    return {
      source: printSparseProduct({
        dtype: step.results[0]!.dtype,
        indexDType: step.operands[0]!.dtype,
        lanes,
        isVector: width === 1,
        isLong: width >= 2 ** 31,
      }),
      launches: [
        {
          function: SPARSE_PRODUCT_NAME,
          blocks: Math.ceil(rows / unitRows) * unitBlocks,
          threads: SPARSE_THREADS,
          args: [{ block: 'x' }, ...arrays, ...[rows, stored, inner, width, unitRows, unitBlocks].map(int64)],
        },
      ],
    };
  },
  cudaWorkspace: () => ({ most: 0, least: 0 }),
  work: ({ operands, results }) => ({
    bytes: bytesOfAll([...operands, ...results]),
    launches: 1,
  }),
  method: (step) => `a row by ${sizesOf(step).lanes} lanes`,
};

export const SPARSE_PRODUCT = routineCall(PRODUCT);
