/**
 * The product of a sparse matrix, given by rows (CSR), and dense columns (`codegen/cuda/routines/sparse-product.ts`,
 * `native/cpu/sparse-product.cpp`). Units are stretches of rows of the result. Which stored elements they need depends on
 * data, so that every unit may read all of them unless the starts of rows are known (`graph/row-stretches.ts`); every
 * unit may read all dense rows.
 */
import {
  printSparseProduct,
  SPARSE_PRODUCT_NAME,
  SPARSE_THREADS,
} from '../../codegen/cuda/routines/sparse-product.js';
import { dtypeCode } from '../../graph/dtype.js';
import type { RoutineStep } from './call.js';
import { int64 } from './launch-arguments.js';
import { asKernels, mapFunctions, mapsText } from './map-functions.js';
import { passedOperations } from './passed-operations.js';
import { bytesOfAll, operandsOf, type Routine, routineCall } from './routine.js';
import { stretchOfRows } from './sparse-units.js';

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
    stored: operands[2]!.shape[0]!,
    inner: operands[0]!.shape[0]!,
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
    if (array === step.operands[1]) return unitRows;
    return array === step.results[0] ? unitRows * width : undefined;
  },
  /** The end of a unit's last row is the start of the next one. */
  margins: (step, array) => (array === step.operands[1] ? { before: 0, after: 1 } : undefined),
  stretch: (step, array) => {
    const isOfRows = array === step.operands[2] || array === step.operands[3];
    return isOfRows ? stretchOfRows(step, sizesOf(step)) : undefined;
  },
  hasPanels: true,
  numbers: (step) => {
    const { rows, stored, inner, width, lanes, unitRows } = sizesOf(step);
    const codes = [step.operands[3]!, step.operands[1]!].map(({ dtype }) => dtypeCode(dtype));
    return [...codes, rows, stored, inner, width, lanes, unitRows];
  },
  kernels: (step) => {
    const { rows, stored, inner, width, lanes, unitRows } = sizesOf(step);
    const unitBlocks = Math.ceil((unitRows * width * lanes) / SPARSE_THREADS);
    const { args: further, ...functions } = mapFunctions(step);
    const arrays = [...operandsOf(step), ...step.results].map(({ buffer }) => ({ buffer }));
    return asKernels({
      source: printSparseProduct({
        ...functions,
        dtype: step.operands[3]!.dtype,
        indexDType: step.operands[1]!.dtype,
        lanes,
        isVector: width === 1,
        isOneRow: inner === 1,
        isLong: width >= 2 ** 31,
      }),
      launches: [
        {
          function: SPARSE_PRODUCT_NAME,
          blocks: Math.ceil(rows / unitRows) * unitBlocks,
          threads: SPARSE_THREADS,
          args: [
            { block: 'x' },
            ...arrays,
            ...[rows, stored, inner, width, unitRows, unitBlocks].map(int64),
            ...further,
          ],
        },
      ],
    });
  },
  cudaWorkspace: () => ({ most: 0, least: 0 }),
  work: ({ operands, results }) => ({
    bytes: bytesOfAll([...operands, ...results]),
    launches: 1,
  }),
  // A map's functions may take any time.
  operations: (step) => {
    const { stored, width } = sizesOf(step);
    return step.maps === undefined ? passedOperations()(step) + 2 * stored * width : Number.POSITIVE_INFINITY;
  },
  method: (step) => `a row by ${sizesOf(step).lanes} lanes${mapsText(step)}`,
};

export const SPARSE_PRODUCT = routineCall(PRODUCT);
