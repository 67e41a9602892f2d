/**
 * The products of runs of rows (`codegen/cuda/routines/run-products.ts`, `native/cpu/run-products.cpp`). Which rows
 * a run has depends on the data, so that all of them are one unit. In windows of runs (`result-windows.ts`) a part of the
 * rows makes the products of the runs that begin in it, whole: it reads as many rows behind it as the longest run
 * may have, so that no product waits for another part.
 */
import {
  printRunProducts,
  RUN_PRODUCTS_NAME,
  RUN_THREADS,
  RUN_WARPS,
} from '../../codegen/cuda/routines/run-products.js';
import { byteLengthOf, dtypeCode } from '../../graph/dtype.js';
import { sizeOfShape } from '../../graph/graph.js';
import type { BufferArray, RoutineStep } from './call.js';
import { int64 } from './launch-arguments.js';
import { resultWindows, tilesOf, type WindowedRows } from './result-windows.js';
import { bytesOfAll, type Routine, routineCall } from './routine.js';

/** Blocks of a tile at most. */
const MOST_BLOCKS = 2 ** 12;

/** Rows, elements of a row, and runs. */
function sizesOf({ operands, results }: RoutineStep): readonly [rows: number, width: number, runs: number] {
  const [rows, width] = operands[0]!.shape as readonly [number, number];
  return [rows, width, results[0]!.shape[0]!];
}

function rowsOf(step: RoutineStep): WindowedRows {
  const [rows, width, runs] = sizesOf(step);
  const [values, ends] = step.operands as readonly [BufferArray, BufferArray];
  const touch = ({ buffer, dtype }: BufferArray, first: number, last: number) => ({
    buffer,
    first: first * byteLengthOf(dtype),
    last: last * byteLengthOf(dtype),
  });
  return {
    of: 'runs',
    rows,
    units: 1,
    unitRows: rows,
    count: runs,
    pitch: runs * width,
    further: step.parameters[0]! - 1,
    passing: [values],
    // A run begins where the one before ends.
    touches: (_, [from, to], [low, high]) => ({
      reads: [touch(values, from * width, to * width), touch(ends, Math.max(0, low - 1), high)],
      writes: [touch(step.results[0]!, low * width, high * width)],
    }),
  };
}

/** How many windows runs have, and parts rows. */
const windowNumbers = ({ resultWindows: own }: RoutineStep): number[] =>
  own === undefined ? [] : [own.windows, own.parts];

const RUNS: Routine = {
  units: (step) => tilesOf(step, 1),
  windows: resultWindows(rowsOf),
  unitSize: (_, array) => sizeOfShape(array.shape),
  numbers: (step) => [
    dtypeCode(step.operands[0]!.dtype),
    ...sizesOf(step),
    step.parameters[0]!,
    ...windowNumbers(step),
  ],
  kernels: (step) => {
    const [rows, width, runs] = sizesOf(step);
    const arrays = [...step.operands, ...step.results].map(({ buffer }) => ({ buffer }));
    const own = step.resultWindows;
    const blocks = Math.ceil((Math.ceil(runs / (own?.windows ?? 1)) * width) / RUN_WARPS);
    const tileBlocks = own === undefined ? blocks : Math.min(blocks, MOST_BLOCKS);
    const numbers =
      own === undefined ? [runs, width] : [runs, width, rows, tileBlocks, ...windowNumbers(step)];
    return {
      source: printRunProducts(step.operands[0]!.dtype, own !== undefined),
      launches: [
        {
          function: RUN_PRODUCTS_NAME,
          blocks: tilesOf(step, 1) * tileBlocks,
          threads: RUN_THREADS,
          args: [{ block: 'x' }, ...arrays, ...numbers.map(int64)],
        },
      ],
    };
  },
  cudaWorkspace: () => ({ most: 0, least: 0 }),
  work: ({ operands, results }) => ({
    bytes: bytesOfAll([...operands, ...results]),
    launches: 1,
  }),
  method: () => 'a run by 32 lanes, whose products are halved',
};

export const RUN_PRODUCTS = routineCall(RUNS);
