/**
 * Selection from rows: the elements at ranks, and the first elements with their positions. On a GPU by radix
 * selection (`codegen/cuda/routines/select.ts`); on the CPU ranks alike, the first elements by heaps
 * (`native/cpu/select.cpp`).
 */
import {
  BEGIN_NAME,
  COLLECT_NAME,
  COUNT_NAME,
  countBytes,
  type Digit,
  ORDER_NAME,
  PICK_NAME,
  printRanks,
  printTop,
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

interface SelectPlan {
  readonly form: SelectForm;
  readonly rows: number;
  readonly length: number;
  /** Elements that are given of each row. */
  readonly count: number;
  /** Of a row. */
  readonly blocks: number;
  readonly digits: readonly Digit[];
}

function planOf(step: RoutineStep): SelectPlan {
  const { dtype, shape } = step.operands[0]!;
  const [rows, length] = shape as readonly [number, number];
  const isTop = step.call === 'top';
  const form: SelectForm = {
    dtype,
    descending: isTop && step.parameters[0] === 1,
    indexBytes: isTop ? 8 : 0,
    ranks: isTop ? 1 : step.parameters.length,
    isLong: length >= 2 ** 32,
  };
  const blocks = Math.min(Math.ceil(length / LEAST_READ), Math.max(1, Math.floor(MOST_BLOCKS / rows)));
  return {
    form,
    rows,
    length,
    count: isTop ? step.parameters[1]! : step.parameters.length,
    blocks,
    digits: selectDigits(form, length),
  };
}

/**
 * Parts of the workspace, in bytes from its beginning: states first, then counts, elements taken and found.
 */
function workspaceOf({ form, rows, count }: SelectPlan): {
  readonly countsAt: number;
  readonly takenAt: number;
  readonly foundAt: number;
  readonly byteLength: number;
} {
  const countsAt = aligned(rows * form.ranks * STATE_BYTES);
  const takenAt = countsAt + aligned(rows * form.ranks * countBytes(form));
  const foundAt = takenAt + aligned(rows * 4);
  const byteLength = form.indexBytes > 0 ? foundAt + aligned(rows * count * 8) : takenAt;
  return { countsAt, takenAt, foundAt, byteLength };
}

function kernelsOf(step: RoutineStep): CallKernels {
  const plan = planOf(step);
  const { form, rows, length, count, blocks, digits } = plan;
  const { countsAt, takenAt, foundAt } = workspaceOf(plan);
  const launch = (name: string, perRow: number, args: readonly LaunchArgument[]): CallLaunch => ({
    function: name,
    blocks: rows * perRow,
    threads: SELECT_THREADS,
    args: [{ block: 'x' }, ...args],
  });
  const input = { buffer: step.operands[0]!.buffer };
  const results = step.results.map(({ buffer }) => ({ buffer }));
  const work = { buffer: step.workspace! };
  const isTop = form.indexBytes > 0;
  const ranks = isTop ? [count - 1] : step.parameters;
  const counts = [work, int64(countsAt)];
  const bitsOf = ({ isPlace }: Digit): number => digits.find((each) => each.isPlace === isPlace)!.high;
  const passes = digits.flatMap((digit) => {
    const [place, low, high] = [int32(digit.isPlace ? 1 : 0), int32(digit.low), int32(digit.high)];
    const isLastOfKey = !digit.isPlace && digit.low === 0 ? 1 : 0;
    return [
      launch(COUNT_NAME, blocks, [
        input,
        ...counts,
        int64(length),
        int64(blocks),
        place,
        low,
        high,
        int32(bitsOf(digit)),
      ]),
      launch(PICK_NAME, 1, [...counts, place, low, int32(isLastOfKey)]),
    ];
  });
  const taken = [work, int64(takenAt), int64(foundAt)];
  const last = isTop
    ? [
        launch(COLLECT_NAME, blocks, [input, ...taken, int64(length), int64(blocks), int64(count)]),
        launch(ORDER_NAME, 1, [input, work, int64(foundAt), ...results, int64(length), int32(count)]),
      ]
    : [launch(VALUES_NAME, 1, [work, ...results])];
  const begin = launch(BEGIN_NAME, 1, [...counts, int64(takenAt), ...ranks.map(int64)]);
  const padded = Math.max(2, 2 ** Math.ceil(Math.log2(count)));
  return { source: isTop ? printTop(form, padded) : printRanks(form), launches: [begin, ...passes, ...last] };
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
    const { digits } = planOf(step);
    const { dtype, shape } = step.operands[0]!;
    const bytes = sizeOfShape(shape) * byteLengthOf(dtype);
    return { bytes: (digits.length + 1) * bytes, launches: 2 * digits.length + 3 };
  },
  method: () => 'by radix selection',
};

export const RANKS = routineCall(SELECTING);
export const TOP = routineCall(SELECTING);
