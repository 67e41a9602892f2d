/**
 * The distinct integers of a line in order, how often each occurs where that is asked for (`uniqueCounts`), and their
 * number, on a GPU: by a bit, or a count, for each value of their range, or by a sort where that is wide, as the device finds (`codegen/cuda/routines/unique.ts`). The whole line is one unit: in plans in
 * which it does not fit, on several devices, and on the CPU they are those of a sorted line (`fusion/passes/both-ways.ts`).
 */
import { BOUNDARY, COMPACT_NAME, COMPACT_THREADS, compactTile } from '../../codegen/cuda/routines/compact.js';
import { CLEAR_THREADS, CLEARED, countBytes } from '../../codegen/cuda/routines/look-back.js';
import {
  LISTED,
  printUnique,
  SORT_ENDS,
  UNIQUE_FILLED,
  UNIQUE_HEAD,
  UNIQUE_NAMES,
  UNIQUE_THREADS,
} from '../../codegen/cuda/routines/unique.js';
import {
  LENGTHS_NAME,
  LIST_COUNTS_NAME,
  LISTED_COUNTS,
  printUniqueCounts,
  TALLY_NAME,
} from '../../codegen/cuda/routines/unique-counts.js';
import { byteLengthOf, dtypeCode } from '../../graph/dtype.js';
import { sizeOfShape } from '../../graph/graph.js';
import type { LaunchArgument } from '../native/program-types.js';
import { aligned } from '../plan/memory.js';
import type { RoutineStep } from './call.js';
import type { CallKernels, CallLaunch } from './call-row.js';
import { int64 } from './launch-arguments.js';
import { openTails } from './open-tails.js';
import { type Routine, routineCall } from './routine.js';
import { linePlan, passLaunches, radixSpace } from './sort.js';

/**
 * The most values of a table, 16 MiB of bits, which stay in the second-level cache of a large GPU, and how many there may be
 * for each element: the table is cleared and read, which takes less than a reading of the line.
 */
const MOST_RANGE = 2 ** 27;
const RANGE_BY_ELEMENT = 4;
/** The same of counts of 32 bits, a quarter of which stays in the cache. */
const MOST_COUNTED = 2 ** 23;
const COUNTED_BY_ELEMENT = 1 / 2;
/** Blocks that read the line, of as many elements at least. */
const MOST_BLOCKS = 1056;
const LEAST_READ = 2 ** 13;

/** Whether nothing reads what is behind the length. */
const OPEN = 0;
const isOpen = ({ parameters }: RoutineStep): boolean => parameters[OPEN] === 1;

const sizeOf = ({ operands }: RoutineStep): number => sizeOfShape(operands[0]!.shape);

/** Both ways in one workspace: behind its head lie the words of a sort, or a table, ahead of which is what its tiles tell. */
function planOf(step: RoutineStep) {
  const [size, { dtype }] = [sizeOf(step), step.operands[0]!];
  const form = { dtype, countBytes: countBytes(size) } as const;
  const sort = linePlan({ ...form, descending: false, indexBytes: 0, skip: SORT_ENDS }, size);
  const space = radixSpace(sort);
  const isCounted = step.call === 'uniqueCounts';
  const [mostOfAll, byElement] = isCounted
    ? [MOST_COUNTED, COUNTED_BY_ELEMENT]
    : [MOST_RANGE, RANGE_BY_ELEMENT];
  const most = Math.min(mostOfAll, Math.floor(byElement * size), 2 ** (8 * byteLengthOf(dtype)));
  const listed = Math.ceil(most / (isCounted ? LISTED_COUNTS : LISTED));
  const bitsAt = UNIQUE_HEAD + aligned(listed * form.countBytes);
  const compacted = compactTile({ ...form, kept: 'distinct' });
  return {
    form,
    isCounted,
    size,
    sort,
    space,
    most,
    listed,
    bitsAt,
    tiles: Math.ceil(size / compacted),
    byteLength: Math.max(space.byteLength, bitsAt + aligned(isCounted ? 4 * most : Math.ceil(most / 32) * 4)),
  };
}

function kernelsOf(step: RoutineStep): CallKernels {
  const { form, isCounted, size, sort, space, most, listed, bitsAt, tiles } = planOf(step);
  const work = { buffer: step.workspace! };
  const source = { buffer: step.operands[0]!.buffer };
  const results = step.results.map(({ buffer }) => ({ buffer }));
  const [values] = results;
  const launch = (
    name: string,
    blocks: number,
    args: readonly LaunchArgument[],
    threads = UNIQUE_THREADS,
  ): CallLaunch => ({ function: name, blocks, threads, args: [{ block: 'x' }, ...args] });
  const { begin, range, clear, mark, list, clearAgain, fill } = UNIQUE_NAMES;
  const blocks = Math.min(MOST_BLOCKS, Math.ceil(size / LEAST_READ));
  const toldWords = (bitsAt - UNIQUE_HEAD) / 4;
  const sortWords = space.clearedWords - UNIQUE_HEAD / 4;
  const mostCleared = Math.max(toldWords + (isCounted ? most : Math.ceil(most / 32)), sortWords);
  const compactedWords = (tiles * form.countBytes) / 4;
  const [keys] = space.moved;
  const { table, sort: sorting, compaction } = isCounted ? printUniqueCounts(form) : printUnique(form);
  const from = (source: string, list: readonly CallLaunch[]): CallLaunch[] =>
    list.map((each) => ({ ...each, source }));
  /** Behind what tiles of the compaction tell, where those of the sort did. */
  const boundaries = isCounted ? [space.told + aligned(4 * compactedWords)] : [];
  const launches = [
    launch(begin, 1, [work, int64(most)]),
    launch(range, blocks, [source, work, int64(size), int64(blocks)]),
    launch(
      clear,
      Math.ceil(mostCleared / CLEARED),
      [work, ...[toldWords, sortWords].map(int64)],
      CLEAR_THREADS,
    ),
    launch(isCounted ? TALLY_NAME : mark, blocks, [source, work, ...[bitsAt, size, blocks].map(int64)]),
    launch(isCounted ? LIST_COUNTS_NAME : list, listed, [...results, work, int64(bitsAt)]),
    ...from(
      sorting,
      passLaunches(sort, 1, {
        source: [source, int64(0)],
        result: [work, int64(keys!)],
        work,
        keys: [values!, int64(0)],
      }),
    ),
    ...from(compaction, [
      launch(
        clearAgain,
        Math.ceil(compactedWords / CLEARED),
        [work, ...[space.told, compactedWords].map(int64)],
        CLEAR_THREADS,
      ),
      launch(
        COMPACT_NAME,
        tiles,
        [int64(keys!), ...results, work, ...[space.told, ...boundaries, tiles, size].map(int64)],
        COMPACT_THREADS,
      ),
      ...boundaries.map((at) =>
        launch(LENGTHS_NAME, Math.ceil(size / BOUNDARY), [
          ...results.slice(1),
          work,
          ...[at, size].map(int64),
        ]),
      ),
    ]),
  ];
  const filled = launch(fill, Math.ceil(size / UNIQUE_FILLED), [...results, work, int64(size)]);
  return {
    source: table,
    launches: isOpen(step) ? launches : [...launches, filled],
  };
}

const FINDING: Routine = {
  openTails: openTails(OPEN, 0, -1),
  units: () => 1,
  unitSize: sizeOf,
  numbers: (step) => [dtypeCode(step.operands[0]!.dtype), sizeOf(step)],
  kernels: kernelsOf,
  cudaWorkspace: (step) => {
    const { byteLength } = planOf(step);
    return { most: byteLength, least: byteLength };
  },
  // As for a sort: the range is not known.
  work: (step) => {
    const digits = byteLengthOf(step.operands[0]!.dtype);
    return { bytes: (3 + 3 * digits) * sizeOf(step) * digits, launches: 10 + digits };
  },
  method: () => 'by a table of the range, or by a radix sort where that is wide',
};

export const UNIQUE = routineCall(FINDING);
export const UNIQUE_COUNTS = routineCall(FINDING);
