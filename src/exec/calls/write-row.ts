/**
 * An array with one of its rows set (`codegen/cuda/routines/write-row.ts`, `native/cpu/write-row.cpp`). Loops write rows
 * of their states in place (`exec/plan/row-states.ts`): then nothing else is touched.
 */
import {
  printWriteRow,
  type WordBytes,
  WRITE_ROW_NAME,
  WRITE_ROW_THREADS,
} from '../../codegen/cuda/routines/write-row.js';
import { byteLengthOf } from '../../graph/dtype.js';
import { sizeOfShape } from '../../graph/graph.js';
import type { RoutineStep } from './call.js';
import { int64 } from './launch-arguments.js';
import { bytesOfAll, type Routine, routineCall } from './routine.js';

/** Blocks that fill a GPU. */
const MOST_BLOCKS = 2 ** 11;

/** Arrays, rows of one, and bytes of a row. */
function sizesOf({ operands: [x] }: RoutineStep): readonly [outer: number, count: number, rowBytes: number] {
  const [outer, count, width] = x!.shape as readonly [number, number, number];
  return [outer, count, width * byteLengthOf(x!.dtype)];
}

const WRITE: Routine = {
  units: () => 1,
  unitSize: (_, { shape }) => sizeOfShape(shape),
  numbers: sizesOf,
  kernels: (step) => {
    const [outer, count, rowBytes] = sizesOf(step);
    const word = Math.min(8, byteLengthOf(step.operands[0]!.dtype)) as WordBytes;
    const width = rowBytes / word;
    const written = outer * width * (step.isInPlace === true ? 1 : count);
    const blocks = Math.min(MOST_BLOCKS, Math.ceil(written / WRITE_ROW_THREADS));
    const arrays = [...step.operands, ...step.results].map(({ buffer }) => ({ buffer }));
    const numbers = [outer, count, width, blocks * WRITE_ROW_THREADS];
    return {
      source: printWriteRow(word),
      launches: [
        {
          function: WRITE_ROW_NAME,
          blocks,
          threads: WRITE_ROW_THREADS,
          args: [{ block: 'x' }, ...arrays, ...numbers.map(int64)],
        },
      ],
    };
  },
  traffic: ({ operands, isInPlace }) => (isInPlace === true ? bytesOfAll(operands.slice(1)) : undefined),
  cudaWorkspace: () => ({ most: 0, least: 0 }),
  work: ({ operands, results, isInPlace }) => ({
    bytes: isInPlace === true ? 2 * bytesOfAll(operands.slice(1)) : bytesOfAll([...operands, ...results]),
    launches: 1,
  }),
  method: ({ isInPlace }) =>
    isInPlace === true ? 'in place: a row a step, no copy' : 'other rows are copied',
};

export const WRITE_ROW = routineCall(WRITE);
