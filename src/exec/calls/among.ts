/**
 * Whether integers are among those of a long set in order, on a GPU (`codegen/cuda/routines/among.ts`). All elements are one
 * unit: in plans in which they do not fit, and on several devices, elements are searched for in the kernel around it
 * (`fusion/passes/both-ways.ts`). The CPU has `members`.
 */
import { AMONG_NAMES, AMONG_THREADS, printAmong } from '../../codegen/cuda/routines/among.js';
import { CLEAR_THREADS, CLEARED } from '../../codegen/cuda/routines/look-back.js';
import { byteLengthOf, dtypeCode } from '../../graph/dtype.js';
import { sizeOfShape } from '../../graph/graph.js';
import type { LaunchArgument } from '../native/program-types.js';
import { aligned } from '../plan/memory.js';
import type { RoutineStep } from './call.js';
import type { CallKernels, CallLaunch } from './call-row.js';
import { int32, int64 } from './launch-arguments.js';
import { bytesOfAll, type Routine, routineCall } from './routine.js';

/**
 * The most values of a table, 16 MiB of bits, which stay in the second-level cache of a large GPU, and how many there may be
 * for each element: the table is cleared, which takes less than a reading of the elements.
 */
const MOST_RANGE = 2 ** 27;
const RANGE_BY_ELEMENT = 4;
/** Blocks that read elements, of as many each at least. */
const MOST_BLOCKS = 1056;
const LEAST_READ = 2 ** 12;

const sizeOf = ({ operands }: RoutineStep): number => sizeOfShape(operands[0]!.shape);

const rangeOf = (step: RoutineStep): number =>
  Math.min(MOST_RANGE, RANGE_BY_ELEMENT * sizeOf(step), 2 ** (8 * byteLengthOf(step.operands[0]!.dtype)));

/** Slots of a hash table, at most half of which are taken: a power of two. */
const slotsOf = ({ operands: [, set] }: RoutineStep): number => 2 ** Math.ceil(Math.log2(2 * set!.shape[0]!));

/** Words of the bits, or of slots where there may be too many bits. */
function wordsOf(step: RoutineStep): number {
  const bytes = byteLengthOf(step.operands[0]!.dtype);
  return Math.max(Math.ceil(rangeOf(step) / 32), bytes >= 4 ? (slotsOf(step) * bytes) / 4 : 0);
}

function kernelsOf(step: RoutineStep): CallKernels {
  const [elements, set] = step.operands.map(({ buffer }) => ({ buffer }));
  const [size, count, most] = [sizeOf(step), step.operands[1]!.shape[0]!, rangeOf(step)];
  const table = [set!, { buffer: step.workspace! }, int64(count), int64(most), int64(slotsOf(step))];
  const { clear, mark, look } = AMONG_NAMES;
  const launch = (
    name: string,
    blocks: number,
    args: readonly LaunchArgument[],
    threads = AMONG_THREADS,
  ): CallLaunch => ({ function: name, blocks, threads, args: [{ block: 'x' }, ...args] });
  const blocks = Math.min(MOST_BLOCKS, Math.ceil(size / LEAST_READ));
  const result = { buffer: step.results[0]!.buffer };
  return {
    source: printAmong(step.operands[0]!.dtype),
    launches: [
      launch(clear, Math.ceil(wordsOf(step) / CLEARED), table, CLEAR_THREADS),
      launch(mark, Math.ceil(count / AMONG_THREADS), table),
      launch(look, blocks, [
        elements!,
        ...table,
        result,
        int64(size),
        int64(blocks),
        int32(step.parameters[0]!),
      ]),
    ],
  };
}

const LOOKING: Routine = {
  units: () => 1,
  unitSize: (_, array) => sizeOfShape(array.shape),
  numbers: (step) => [dtypeCode(step.operands[0]!.dtype), sizeOf(step), ...step.parameters],
  kernels: kernelsOf,
  cudaWorkspace: (step) => {
    const byteLength = aligned(4 * wordsOf(step));
    return { most: byteLength, least: byteLength };
  },
  // An element's bit is a sector of the cache.
  work: ({ operands, results }) => ({ bytes: 2 * bytesOfAll([...operands, ...results]), launches: 3 }),
  method: () => 'by a bit for each value of the range of the set, or by a hash table where that is wide',
};

export const AMONG = routineCall(LOOKING);
