/**
 * Sorting rows, and the positions that sort them. On a GPU rows that fit a block are sorted in its registers
 * (`codegen/cuda/routines/row-sort.ts`), longer ones by a radix sort (`radix-sort.ts` there); on the CPU numbers of
 * 32 and 64 bits in vector registers (`native/cpu/vector-sort.h`), others by radix sorts (`sort.cpp`). All give the
 * one stable order, so results have the same bits everywhere.
 */
import { countBytes } from '../../codegen/cuda/routines/look-back.js';
import {
  DIGITS,
  LOOPED_BLOCKS,
  PASS_NAME,
  PASS_THREADS,
  type RadixForm,
  tileLength,
} from '../../codegen/cuda/routines/radix-pass.js';
import {
  BEGIN_NAME,
  COUNT_NAME,
  COUNT_THREADS,
  COUNTED_LENGTH,
  printRadixSort,
} from '../../codegen/cuda/routines/radix-sort.js';
import {
  printRowSort,
  ROW_SORT_NAME,
  ROW_SORT_THREADS,
  rowCapacity,
  rowsPerBlock,
} from '../../codegen/cuda/routines/row-sort.js';
import { digitsOf } from '../../codegen/cuda/routines/sort-keys.js';
import { byteLengthOf, dtypeCode } from '../../graph/dtype.js';
import { sizeOfShape } from '../../graph/graph.js';
import type { LaunchArgument } from '../native/program-types.js';
import { aligned } from '../plan/memory.js';
import type { RoutineStep, WorkspaceNeed } from './call.js';
import type { CallKernels, CallLaunch } from './call-row.js';
import { clearLaunch } from './clear.js';
import { int32, int64 } from './launch-arguments.js';
import { type Routine, routineCall } from './routine.js';

/**
 * Of long rows, a unit has an eighth of all elements, within these bounds: its launches should fill a GPU, its
 * workspace should be small beside the array, and budgets need several units. On the CPU units are as small as
 * rows allow (`unitElements`): a thread has a row anyway.
 */
const MOST_UNIT = 2 ** 22;
const LEAST_UNIT = 2 ** 14;

/** The rows of a sort, and how they are worked on. */
export interface SortPlan {
  readonly form: RadixForm;
  readonly rows: number;
  readonly length: number;
  readonly rowsPerUnit: number;
  /** Of rows that fit a block: their length, up to a power of two. */
  readonly padded: number | undefined;
}

function planOf(step: RoutineStep): SortPlan {
  const { dtype, shape } = step.operands[0]!;
  const length = shape.at(-1)!;
  const rows = sizeOfShape(shape.slice(0, -1));
  const isArgument = step.call === 'argsort';
  const indexBytes = !isArgument ? 0 : length > 2 ** 32 ? 8 : 4;
  const descending = step.parameters[0] === 1;
  const form: RadixForm = { dtype, descending, indexBytes, countBytes: countBytes(length) };
  if (length <= rowCapacity(form)) {
    const padded = Math.max(2, 2 ** Math.ceil(Math.log2(length)));
    return { form, rows, length, rowsPerUnit: rowsPerBlock(form, padded), padded };
  }
  const filling = Math.min(MOST_UNIT, Math.max(LEAST_UNIT, (rows * length) / 8));
  const elements = Math.min(step.unitElements ?? MOST_UNIT, filling);
  const rowsPerUnit = Math.max(1, Math.min(step.parameters[1] || rows, Math.floor(elements / length)));
  return { form, rows, length, rowsPerUnit, padded: undefined };
}

/** Of a line of integers, which is longer than a block's rows. */
export const linePlan = (form: RadixForm, length: number): SortPlan => ({
  form,
  rows: 1,
  length,
  rowsPerUnit: 1,
  padded: undefined,
});

const unitsOf = ({ rows, rowsPerUnit }: SortPlan): number => Math.ceil(rows / rowsPerUnit);

/** Parts of a radix sort's workspace, in bytes from its beginning. */
export interface SortSpace {
  /** Words to clear: begun tiles of each pass, totals of digits, and what tiles tell in the first pass. */
  readonly clearedWords: number;
  readonly totals: number;
  readonly passes: number;
  readonly told: number;
  /** Bytes of what tiles tell in a pass, of which there are two. */
  readonly toldSize: number;
  /** Keys; with positions two of each. */
  readonly moved: readonly number[];
  readonly byteLength: number;
}

export function radixSpace(plan: SortPlan): SortSpace {
  const { form, rows, length, rowsPerUnit } = plan;
  const unitRows = Math.min(rows, rowsPerUnit);
  const elements = unitRows * length;
  const digits = digitsOf(form.dtype);
  let byteLength = 0;
  const take = (bytes: number): number => {
    byteLength += aligned(bytes);
    return byteLength - aligned(bytes);
  };
  take(4 * digits);
  const totals = take(unitRows * digits * DIGITS * form.countBytes);
  const toldSize = aligned(unitRows * Math.ceil(length / tileLength(form)) * DIGITS * form.countBytes);
  const told = take(toldSize);
  const clearedWords = byteLength / 4;
  take(toldSize);
  const passes = take(4 * unitRows);
  const keys = elements * byteLengthOf(form.dtype);
  const indices = elements * form.indexBytes;
  const moved = (form.indexBytes === 0 ? [keys] : [keys, keys, indices, indices]).map(take);
  return { clearedWords, totals, passes, told, toldSize, moved, byteLength };
}

function kernelsOf(step: RoutineStep): CallKernels {
  const plan = planOf(step);
  return plan.padded === undefined ? radixKernels(step, plan) : rowKernels(step, plan, plan.padded);
}

function rowKernels(step: RoutineStep, plan: SortPlan, padded: number): CallKernels {
  const { form, rows, length } = plan;
  const arrays = [step.operands[0]!, step.results[0]!].map(({ buffer }) => ({ buffer }));
  return {
    source: printRowSort(form, padded),
    launches: [
      {
        function: ROW_SORT_NAME,
        blocks: unitsOf(plan),
        threads: ROW_SORT_THREADS,
        args: [{ block: 'x' }, ...arrays, int64(rows), int32(length)],
      },
    ],
  };
}

function radixKernels(step: RoutineStep, plan: SortPlan): CallKernels {
  return {
    source: printRadixSort(plan.form),
    launches: Array.from({ length: unitsOf(plan) }, (_, unit) => radixLaunches(step, plan, unit)).flat(),
  };
}

/** The launches of a unit. */
function radixLaunches(step: RoutineStep, plan: SortPlan, unit: number): CallLaunch[] {
  const { form, rows, length, rowsPerUnit } = plan;
  const first = unit * rowsPerUnit;
  const unitRows = Math.min(rowsPerUnit, rows - first);
  const { clearedWords, moved } = radixSpace(plan);
  const [input, output] = [step.operands[0]!, step.results[0]!];
  const source = [{ buffer: input.buffer }, int64(first * length * byteLengthOf(input.dtype))];
  const result = [{ buffer: output.buffer }, int64(first * length * byteLengthOf(output.dtype))];
  const work: LaunchArgument = { buffer: step.workspace! };
  const keys = [...(form.indexBytes === 0 ? [work] : []), ...moved.map(int64)];
  return [
    clearLaunch(work, clearedWords),
    ...passLaunches(plan, unitRows, { source, result, work, keys }),
  ].map((launch) => ({ ...launch, unit }));
}

/** The launches of so many rows, in a workspace that is cleared. Of arrays a buffer and the offset of the first row. */
export function passLaunches(
  plan: SortPlan,
  unitRows: number,
  of: {
    readonly source: readonly LaunchArgument[];
    readonly result: readonly LaunchArgument[];
    readonly work: LaunchArgument;
    /** Where keys and positions are moved to in between; of keys alone, an array. */
    readonly keys: readonly LaunchArgument[];
  },
): CallLaunch[] {
  const { form, length } = plan;
  const { source, result, work, keys } = of;
  const tiles = Math.ceil(length / tileLength(form));
  const blocks = form.skip === undefined ? unitRows * tiles : Math.min(LOOPED_BLOCKS, tiles);
  const { totals, passes, told, toldSize } = radixSpace(plan);
  const block: LaunchArgument = { block: 'x' };
  const counting = Math.ceil(length / COUNTED_LENGTH);
  const launch = (
    name: string,
    blocks: number,
    threads: number,
    args: readonly LaunchArgument[],
  ): CallLaunch => ({
    function: name,
    blocks,
    threads,
    args: [block, ...args],
  });
  const places = [...[totals, passes, told, toldSize].map(int64), ...keys, int64(length)];
  return [
    launch(COUNT_NAME, unitRows * counting, COUNT_THREADS, [
      ...source,
      work,
      int64(totals),
      int64(length),
      int32(counting),
    ]),
    launch(BEGIN_NAME, unitRows, DIGITS, [work, ...[totals, passes, length].map(int64)]),
    ...Array.from({ length: digitsOf(form.dtype) }, (_, pass) =>
      launch(PASS_NAME, blocks, PASS_THREADS, [
        ...source,
        ...result,
        work,
        ...places,
        int32(tiles),
        int32(pass),
      ]),
    ),
  ];
}

const SORTING: Routine = {
  units: (step) => unitsOf(planOf(step)),
  unitSize: (step) => {
    const { rowsPerUnit, length } = planOf(step);
    return rowsPerUnit * length;
  },
  numbers: (step) => {
    const { form, rows, length, rowsPerUnit } = planOf(step);
    const below = step.parameters[2] ?? 0;
    return [dtypeCode(form.dtype), rows, length, rowsPerUnit, form.descending ? 1 : 0, below];
  },
  kernels: kernelsOf,
  cudaWorkspace: (step): WorkspaceNeed => {
    const plan = planOf(step);
    const bytes = plan.padded === undefined ? radixSpace(plan).byteLength : 0;
    return { most: bytes, least: bytes };
  },
  work: (step) => {
    const plan = planOf(step);
    const { form, rows, length, padded } = plan;
    const bytes = rows * length * byteLengthOf(form.dtype);
    if (padded !== undefined) return { bytes: 4 * bytes, launches: 1 };
    const passes = digitsOf(form.dtype);
    return { bytes: (1 + 3 * passes) * bytes, launches: (3 + passes) * unitsOf(plan) };
  },
  method: (step) => (planOf(step).padded === undefined ? 'by stable radix sorts' : 'several rows at once'),
};

export const SORT = routineCall(SORTING);
export const ARGSORT = routineCall(SORTING);
