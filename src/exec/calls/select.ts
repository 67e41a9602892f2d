/**
 * The elements at ranks of rows: by radix selection, on a GPU `codegen/cuda/routines/select.ts`, of long rows of what
 * `bracket.ts` narrows them down to, on the CPU `native/cpu/select.cpp`. Launches that the first elements of rows (`top.ts`) need as well are made here.
 */
import {
  BRACKET_BYTES,
  BRACKET_NAME,
  BRACKET_THREADS,
  type Brackets,
  bracketRoom,
  bracketsOf,
  LEAST_DIGITS,
  LEAST_NARROWED,
  LEAST_NARROWED_BYTES,
  NARROW_NAME,
  printBrackets,
} from '../../codegen/cuda/routines/bracket.js';
import {
  BEGIN_NAME,
  COUNT_NAME,
  countBytes,
  printRanks,
  SELECT_THREADS,
  type SelectForm,
  STATE_BYTES,
  selectDigits,
  VALUES_NAME,
} from '../../codegen/cuda/routines/select.js';
import { byteLengthOf, dtypeCode } from '../../graph/dtype.js';
import { sizeOfShape } from '../../graph/graph.js';
import type { LaunchArgument } from '../native/program-types.js';
import { aligned } from '../plan/memory.js';
import type { BufferArray, RoutineStep } from './call.js';
import type { CallKernels, CallLaunch } from './call-row.js';
import { int32, int64 } from './launch-arguments.js';
import { type Routine, routineCall } from './routine.js';

/** Elements that a block reads at least, and blocks that fill a GPU. */
const LEAST_READ = 2 ** 14;
const MOST_BLOCKS = 1056;
/** Bytes of a row's counters. */
export const ROW_BYTES = 32;

/** Blocks that read a row. */
export const rowBlocks = (rows: number, length: number): number =>
  Math.min(Math.ceil(length / LEAST_READ), Math.max(1, Math.floor(MOST_BLOCKS / rows)));

/** Bytes of the counts of a row. */
export const countsLength = (form: SelectForm): number => form.ranks * countBytes(form);

/** Sets the states of rows to ranks, and their counts to 0. */
export const beginLaunch = (
  rows: number,
  work: LaunchArgument,
  countsAt: number,
  rowsAt: number,
  ranks: readonly number[],
): CallLaunch => ({
  function: BEGIN_NAME,
  blocks: rows,
  threads: SELECT_THREADS,
  args: [{ block: 'x' }, work, int64(countsAt), int64(rowsAt), ...ranks.map(int64)],
});

/** Finds the digits of the keys at ranks, one after the other; `further`: the parameters of `COUNT_NAME` beside those of all. */
export const countLaunch = (of: {
  readonly rows: number;
  readonly length: number;
  readonly blocks: number;
  readonly input: LaunchArgument;
  readonly work: LaunchArgument;
  readonly countsAt: number;
  readonly rowsAt: number;
  readonly further?: readonly LaunchArgument[];
}): CallLaunch => ({
  function: COUNT_NAME,
  blocks: of.rows * of.blocks,
  threads: SELECT_THREADS,
  args: [
    { block: 'x' },
    of.input,
    of.work,
    ...[of.countsAt, of.rowsAt, of.length, of.blocks].map(int64),
    ...(of.further ?? []),
  ],
});

interface SelectPlan {
  readonly form: SelectForm;
  readonly rows: number;
  readonly length: number;
  /** Of rows that are narrowed down. */
  readonly narrowing: (Brackets & { readonly room: number }) | undefined;
}

function planOf(step: RoutineStep): SelectPlan {
  const { dtype, shape } = step.operands[0]!;
  const [rows, length] = shape as readonly [number, number];
  const ranks = step.parameters.length;
  const form = { dtype, descending: false, indexBytes: 0, ranks, isLong: length >= 2 ** 32 } as const;
  const isShort = length < LEAST_NARROWED || rows * length * byteLengthOf(dtype) < LEAST_NARROWED_BYTES;
  if (isShort || selectDigits(form, length) < LEAST_DIGITS)
    return { form, rows, length, narrowing: undefined };
  const own = bracketsOf(dtype, length, step.parameters);
  const room = bracketRoom(dtype, length, own.brackets);
  // Candidates are counted in 32 bits.
  const narrowing = room < 2 ** 31 ? { ...own, room } : undefined;
  return { form: { ...form, isNarrowed: narrowing !== undefined }, rows, length, narrowing };
}

/** Parts of the workspace, in bytes from its beginning: states first, then counts, rows, brackets, and what lies in those. */
function workspaceOf({
  form,
  rows,
  narrowing,
}: SelectPlan): Readonly<Record<'countsAt' | 'rowsAt' | 'bracketsAt' | 'keysAt' | 'byteLength', number>> {
  const countsAt = aligned(rows * form.ranks * STATE_BYTES);
  const rowsAt = countsAt + aligned(rows * countsLength(form));
  const bracketsAt = rowsAt + aligned(rows * ROW_BYTES);
  const keysAt = bracketsAt + aligned(rows * (narrowing?.brackets.length ?? 0) * BRACKET_BYTES);
  const byteLength = keysAt + aligned(rows * (narrowing?.room ?? 0) * byteLengthOf(form.dtype));
  return { countsAt, rowsAt, bracketsAt, keysAt, byteLength };
}

function kernelsOf(step: RoutineStep): CallKernels {
  const plan = planOf(step);
  const { form, rows, length, narrowing } = plan;
  const { countsAt, rowsAt, bracketsAt, keysAt } = workspaceOf(plan);
  const input = { buffer: step.operands[0]!.buffer };
  const work = { buffer: step.workspace! };
  const values: CallLaunch = {
    function: VALUES_NAME,
    blocks: rows,
    threads: SELECT_THREADS,
    args: [{ block: 'x' }, work, { buffer: step.results[0]!.buffer }],
  };
  const blocks = rowBlocks(rows, length);
  const passes = { rows, length, blocks, input, work, countsAt, rowsAt };
  const begin = beginLaunch(rows, work, countsAt, rowsAt, step.parameters);
  if (narrowing === undefined)
    return { source: printRanks(form), launches: [begin, countLaunch(passes), values] };
  const { brackets, ofRanks, room } = narrowing;
  const bracket: CallLaunch = {
    function: BRACKET_NAME,
    blocks: rows,
    threads: BRACKET_THREADS,
    args: [
      { block: 'x' },
      input,
      work,
      int64(bracketsAt),
      int64(length),
      ...brackets.flatMap(({ low, high }) => [int32(low), int32(high)]),
    ],
  };
  const narrow: CallLaunch = {
    function: NARROW_NAME,
    blocks: rows * blocks,
    threads: SELECT_THREADS,
    args: [{ block: 'x' }, input, work, ...[rowsAt, bracketsAt, keysAt, length, blocks, room].map(int64)],
  };
  const counts = countLaunch({ ...passes, further: [int64(keysAt), int64(room)] });
  return {
    source: `${printRanks(form)}${printBrackets(form, ofRanks)}`,
    launches: [begin, bracket, narrow, counts, values],
  };
}

const SELECTING: Routine = {
  units: (step) => planOf(step).rows,
  unitSize: (_, array: BufferArray) => array.shape[1]!,
  numbers: (step) => {
    const { form, rows, length } = planOf(step);
    return [dtypeCode(form.dtype), rows, length, ...step.parameters];
  },
  kernels: kernelsOf,
  cudaWorkspace: (step) => {
    const { byteLength } = workspaceOf(planOf(step));
    return { most: byteLength, least: byteLength };
  },
  work: (step) => {
    const { form, length, narrowing } = planOf(step);
    const { dtype, shape } = step.operands[0]!;
    const bytes = sizeOfShape(shape) * byteLengthOf(dtype);
    if (narrowing !== undefined) return { bytes, launches: 5 };
    return { bytes: selectDigits(form, length) * bytes, launches: 3 };
  },
  method: (step) =>
    planOf(step).narrowing === undefined ? 'by radix selection' : 'by radix selection between brackets',
};

export const RANKS = routineCall(SELECTING);
