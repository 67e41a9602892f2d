/**
 * The first elements of rows and their positions: on a GPU by one reading of the row where that is enough
 * (`codegen/cuda/routines/top.ts`), on the CPU by heaps (`native/cpu/select.cpp`).
 */
import { placeBits, STATE_BYTES, selectDigits } from '../../codegen/cuda/routines/select.js';
import {
  FIRST_NAME,
  ORDER_NAME,
  printTop,
  SAMPLE_NAME,
  TOP_THREADS,
  TOP_TILE_BYTES,
  type TopForm,
} from '../../codegen/cuda/routines/top.js';
import { byteLengthOf, dtypeCode } from '../../graph/dtype.js';
import { sizeOfShape } from '../../graph/graph.js';
import type { LaunchArgument } from '../native/program-types.js';
import { aligned } from '../plan/memory.js';
import type { BufferArray, RoutineStep } from './call.js';
import type { CallKernels, CallLaunch } from './call-row.js';
import { int32, int64 } from './launch-arguments.js';
import { type Routine, routineCall } from './routine.js';
import { beginLaunch, countLaunch, countsLength, ROW_BYTES, rowBlocks } from './select.js';

/** Threads that sample a row at most, and elements that each reads at most. */
const MOST_SAMPLING = 2 ** 17;
const MOST_SAMPLED = 16;
/** The shortest row that is sampled: shorter ones are many parts of a row, or soon read. */
const LEAST_LENGTH = 2 ** 16;
/** Groups of a sample for each element that is wanted, at least. */
const GROUPS_PER_FIRST = 4;
/** Elements of a row for each that is sampled, at least. */
const LEAST_PER_SAMPLED = 4;
/** How many are wanted at most where a whole warp is a group, and how many a block sorts. */
const MOST_OF_WARPS = 256;
const MOST_SORTED = 2048;
/** Blocks that go through a row: one for each multiprocessor of the largest GPUs of compute capability 9.0. */
const MOST_BLOCKS = 132;

/** How a row is narrowed down. */
interface Sample {
  readonly groupLanes: 8 | 32;
  readonly blocks: number;
  /** Elements that a thread reads. */
  readonly each: number;
  /** Candidates that there is room for: twice as many as the row has if the sample is like it. */
  readonly room: number;
}

interface TopPlan {
  readonly form: TopForm;
  readonly rows: number;
  readonly length: number;
  readonly count: number;
  readonly blocks: number;
  readonly sample: Sample | undefined;
  /** Rows that the workspace has room for beside their states: rows with launches of their own share that of one. */
  readonly held: number;
}

/** The sample of a row; undefined: too short for one. */
function sampleOf(length: number, count: number): Sample | undefined {
  const groupLanes = count <= MOST_OF_WARPS ? 32 : 8;
  const least = Math.max(2 ** 12, groupLanes * GROUPS_PER_FIRST * 2 ** Math.ceil(Math.log2(count)));
  if (length < Math.max(LEAST_LENGTH, least)) return undefined;
  const threads = Math.max(least, Math.min(MOST_SAMPLING, 2 ** Math.floor(Math.log2(length / 64))));
  const each = Math.max(1, Math.min(MOST_SAMPLED, Math.floor(length / (LEAST_PER_SAMPLED * threads))));
  const expected = count * Math.ceil(length / (threads * each));
  return { groupLanes, blocks: threads / TOP_THREADS, each, room: Math.min(length, 2 * expected + 256) };
}

function planOf(step: RoutineStep): TopPlan {
  const { dtype, shape } = step.operands[0]!;
  const [rows, length] = shape as readonly [number, number];
  const [descending, count, isApart] = step.parameters as readonly [number, number, number?];
  const sample = sampleOf(length, count);
  const form: TopForm = {
    dtype,
    descending: descending === 1,
    indexBytes: 8,
    ranks: 1,
    isLong: length >= 2 ** 32,
    padded: Math.min(MOST_SORTED, 2 ** Math.ceil(Math.log2(2 * count))),
    groupLanes: sample?.groupLanes,
  };
  const held = isApart === 1 ? Math.min(1, rows) : rows;
  return { form, rows, length, count, blocks: rowBlocks(held, length), sample, held };
}

/** Groups of a sample. */
const groupsOf = (sample: Sample | undefined): number =>
  sample === undefined ? 0 : (sample.blocks * TOP_THREADS) / sample.groupLanes;

/** Parts of the workspace behind the states of all rows, in the order in which they lie there. */
const SECTIONS = ['counts', 'rows', 'taken', 'bests', 'keys', 'places'] as const;
type Section = (typeof SECTIONS)[number];

/** Bytes of a row in each section: its counts, counters, positions that were collected, the bests of groups, and candidates. */
function rowBytes({ form, count, sample }: TopPlan): Readonly<Record<Section, number>> {
  const [size, room] = [byteLengthOf(form.dtype), sample?.room ?? 0];
  return {
    counts: countsLength(form),
    rows: ROW_BYTES,
    taken: count * 8,
    bests: groupsOf(sample) * size,
    keys: room * size,
    places: room * 8,
  };
}

/** Where each section begins, and the bytes of all. */
function workspaceOf(plan: TopPlan): {
  readonly at: Readonly<Record<Section, number>>;
  readonly byteLength: number;
} {
  const bytes = rowBytes(plan);
  let byteLength = aligned(plan.rows * STATE_BYTES);
  const at = SECTIONS.map((section) => {
    byteLength += aligned(plan.held * bytes[section]);
    return [section, byteLength - aligned(plan.held * bytes[section])] as const;
  });
  return { at: Object.fromEntries(at) as Record<Section, number>, byteLength };
}

function kernelsOf(step: RoutineStep): CallKernels {
  const plan = planOf(step);
  const launches =
    plan.held === plan.rows
      ? launchesOf(step, plan, 0)
      : Array.from({ length: plan.rows }, (_, row) =>
          launchesOf(step, plan, row).map((launch) => ofRow(launch, row)),
        ).flat();
  return { source: printTop(plan.form), launches };
}

/** The launch of a row by itself. */
const ofRow = (launch: CallLaunch, row: number): CallLaunch => ({
  ...launch,
  unit: row,
  args: [int32(row * (launch.blocks as number)), ...launch.args.slice(1)],
});

/** The launches of rows whose workspace begins where it would be if those before `first` had theirs ahead of it. */
function launchesOf(step: RoutineStep, plan: TopPlan, first: number): CallLaunch[] {
  const { form, held, length, count, blocks, sample } = plan;
  const { at } = workspaceOf(plan);
  const bytes = rowBytes(plan);
  const [countsAt, rowsAt, takenAt, bestsAt, keysAt, placesAt] = SECTIONS.map(
    (section) => at[section] - first * bytes[section],
  ) as [number, number, number, number, number, number];
  const input = { buffer: step.operands[0]!.buffer };
  const results = step.results.map(({ buffer }) => ({ buffer }));
  const work = { buffer: step.workspace! };
  const launch = (name: string, perRow: number, args: readonly LaunchArgument[]): CallLaunch => ({
    function: name,
    blocks: held * perRow,
    threads: TOP_THREADS,
    args: [{ block: 'x' }, input, work, ...args],
  });
  const room = int64(sample?.room ?? 0);
  const further = [int64(takenAt), room, int64(count), int32(placeBits(length))];
  const selecting = [
    countLaunch({ rows: held, length, blocks, input, work, countsAt, rowsAt, further }),
    launch(ORDER_NAME, 1, [...[rowsAt, takenAt].map(int64), ...results, int64(length), room, int32(count)]),
  ];
  if (sample === undefined) return [beginLaunch(held, work, countsAt, rowsAt, [count - 1]), ...selecting];
  const { blocks: sampling, each } = sample;
  const tiles = Math.ceil((length * byteLengthOf(form.dtype)) / TOP_TILE_BYTES);
  const filtering = Math.min(tiles, Math.max(1, Math.floor(MOST_BLOCKS / held)));
  return [
    launch(SAMPLE_NAME, sampling, [
      ...[countsAt, rowsAt, bestsAt, length, sampling].map(int64),
      int32(each),
      int64(count - 1),
    ]),
    launch(FIRST_NAME, filtering, [
      ...[rowsAt, bestsAt, keysAt, placesAt].map(int64),
      ...results,
      ...[length, filtering].map(int64),
      int32(groupsOf(sample)),
      room,
      int32(count),
    ]),
    ...selecting,
  ];
}

const FIRST: Routine = {
  units: (step) => planOf(step).rows,
  unitSize: (_, array: BufferArray) => array.shape[1]!,
  numbers: (step) => {
    const { form, rows, length } = planOf(step);
    return [dtypeCode(form.dtype), rows, length, ...step.parameters.slice(0, 2)];
  },
  kernels: kernelsOf,
  cudaWorkspace: (step) => {
    const { byteLength } = workspaceOf(planOf(step));
    return { most: byteLength, least: byteLength };
  },
  work: (step) => {
    const { form, length, sample } = planOf(step);
    const { dtype, shape } = step.operands[0]!;
    const bytes = sizeOfShape(shape) * byteLengthOf(dtype);
    return sample === undefined
      ? { bytes: (selectDigits(form, length) + 1) * bytes, launches: 3 }
      : { bytes, launches: 4 };
  },
  method: (step) =>
    planOf(step).sample === undefined ? 'by radix selection' : 'by radix selection of candidates',
};

export const TOP = routineCall(FIRST);
