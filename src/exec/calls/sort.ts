/**
 * Sorting rows, and the positions that sort them. On a GPU rows that fit a block are sorted in its shared
 * memory, longer ones by a radix sort (`codegen/cuda/routines/sort.ts`); on the CPU by radix sorts
 * (`native/cpu/sort.cpp`). All give the one stable order, so results have the same bits everywhere.
 */
import {
  BLOCK_SORT,
  blockCapacity,
  countName,
  digitsOf,
  passForms,
  printBlockSort,
  printRadixSort,
  SCAN_NAME,
  SORT_THREADS,
  type SortForm,
  scatterName,
  tileLength,
} from '../../codegen/cuda/routines/sort.js';
import { byteLengthOf, dtypeCode } from '../../graph/dtype.js';
import { sizeOfShape } from '../../graph/graph.js';
import type { LaunchArgument } from '../native/program-types.js';
import { aligned } from '../plan/memory.js';
import type { RoutineStep, WorkspaceNeed } from './call.js';
import type { CallKernels, CallLaunch } from './call-row.js';
import { type Routine, routineCall } from './routine.js';

const DIGITS = 256;
/**
 * Of long rows, a unit has an eighth of all elements, within these bounds: its launches should fill a GPU, its
 * workspace should be small beside the array, and budgets need several units.
 */
const MOST_UNIT = 2 ** 22;
const LEAST_UNIT = 2 ** 14;
const MOST_THREADS = 512;

/** The rows of a sort, and how they are worked on. */
interface SortPlan {
  readonly form: SortForm;
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
  const form: SortForm = { dtype, descending: step.parameters[0] === 1, indexBytes };
  const capacity = blockCapacity(form);
  if (length <= capacity) {
    const padded = Math.max(2, 2 ** Math.ceil(Math.log2(length)));
    return { form, rows, length, rowsPerUnit: capacity / padded, padded };
  }
  const elements = Math.min(MOST_UNIT, Math.max(LEAST_UNIT, (rows * length) / 8));
  const rowsPerUnit = Math.max(1, Math.floor(elements / length));
  return { form, rows, length, rowsPerUnit, padded: undefined };
}

const unitsOf = ({ rows, rowsPerUnit }: SortPlan): number => Math.ceil(rows / rowsPerUnit);

/** Parts of a radix sort's workspace, in bytes from its beginning. */
function workspaceOf(plan: SortPlan): { readonly places: readonly number[]; readonly byteLength: number } {
  const { form, rows, length, rowsPerUnit, padded } = plan;
  if (padded !== undefined) return { places: [], byteLength: 0 };
  const unitRows = Math.min(rows, rowsPerUnit);
  const elements = unitRows * length;
  const tiles = Math.ceil(length / tileLength(form));
  const keys = aligned(elements * byteLengthOf(form.dtype));
  const indices = aligned(elements * form.indexBytes);
  const moved = form.indexBytes === 0 ? [keys] : [keys, indices, keys, indices];
  const sizes = [aligned(unitRows * DIGITS * tiles * 4), aligned(unitRows * DIGITS * 8), ...moved];
  let byteLength = 0;
  const places = sizes.map((size) => {
    byteLength += size;
    return byteLength - size;
  });
  return { places, byteLength };
}

const int32 = (value: number): LaunchArgument => ({ bytes: new Uint8Array(Uint32Array.of(value).buffer) });
const int64 = (value: number): LaunchArgument => ({
  bytes: new Uint8Array(BigInt64Array.of(BigInt(value)).buffer),
});

function kernelsOf(step: RoutineStep): CallKernels {
  const plan = planOf(step);
  return plan.padded === undefined ? radixKernels(step, plan) : blockKernels(step, plan, plan.padded);
}

function blockKernels(step: RoutineStep, plan: SortPlan, padded: number): CallKernels {
  const { form, rows, length, rowsPerUnit } = plan;
  const threads = Math.min(MOST_THREADS, (padded * rowsPerUnit) / 2);
  const [input, output] = [step.operands[0]!, step.results[0]!];
  return {
    source: printBlockSort(form, padded, rowsPerUnit, threads),
    launches: [
      {
        function: BLOCK_SORT,
        blocks: unitsOf(plan),
        threads,
        args: [
          { block: 'x' },
          { buffer: input.buffer },
          { buffer: output.buffer },
          int64(rows),
          int32(length),
        ],
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

/** The parameters of an array that begins some bytes into a buffer. */
const at = (buffer: number, byteOffset: number): LaunchArgument[] => [{ buffer }, int64(byteOffset)];

/**
 * The launches of a unit. Keys go to and fro between the workspace and, where elements are wanted, the result,
 * so that the last pass ends there; positions between two parts of the workspace.
 */
function radixLaunches(step: RoutineStep, plan: SortPlan, unit: number): CallLaunch[] {
  const { form, rows, length, rowsPerUnit } = plan;
  const first = unit * rowsPerUnit;
  const unitRows = Math.min(rowsPerUnit, rows - first);
  const tiles = Math.ceil(length / tileLength(form));
  const [input, output] = [step.operands[0]!, step.results[0]!];
  const places = workspaceOf(plan).places.map((place) => at(step.workspace!, place));
  const [counts, totals, keysA, indicesA, keysB, indicesB] = places;
  const source = at(input.buffer, first * length * byteLengthOf(input.dtype));
  const result = at(output.buffer, first * length * byteLengthOf(output.dtype));
  const hasIndex = form.indexBytes > 0;
  const digits = digitsOf(form.dtype);
  const numbers = [int64(length), int32(tiles)];
  const common = { threads: SORT_THREADS, unit };
  return passForms(digits).flatMap((pass, number): CallLaunch[] => {
    // The last of the targets, counted from the end, is the result; the one before it the other.
    const targets = hasIndex ? [keysA!, keysB!] : [result, keysA!];
    const target = targets[(digits - 1 - number) % 2]!;
    const from = pass.isFirst ? source : targets[(digits - number) % 2]!;
    const indices = [indicesA!, indicesB!];
    const indexFrom = hasIndex && !pass.isFirst ? indices[(digits - number) % 2]! : [];
    const keysTo = hasIndex && pass.isLast ? [] : target;
    const indexTo = !hasIndex ? [] : pass.isLast ? result : indices[(digits - 1 - number) % 2]!;
    const block = { block: 'x' } as const;
    const count = [block, ...from, ...counts!, ...numbers, int32(number)];
    const scatter = [block, ...from, ...indexFrom, ...keysTo, ...indexTo, ...counts!, ...totals!];
    return [
      { ...common, function: countName(pass), blocks: unitRows * tiles, args: count },
      {
        ...common,
        function: SCAN_NAME,
        blocks: unitRows * DIGITS,
        args: [block, ...counts!, ...totals!, int32(tiles)],
      },
      {
        ...common,
        function: scatterName(pass),
        blocks: unitRows * tiles,
        args: [...scatter, ...numbers, int32(number)],
      },
    ];
  });
}

const SORTING: Routine = {
  units: (step) => unitsOf(planOf(step)),
  unitSize: (step) => {
    const { rowsPerUnit, length } = planOf(step);
    return rowsPerUnit * length;
  },
  numbers: (step) => {
    const { form, rows, length, rowsPerUnit } = planOf(step);
    return [dtypeCode(form.dtype), rows, length, rowsPerUnit, form.descending ? 1 : 0];
  },
  kernels: kernelsOf,
  cudaWorkspace: (step): WorkspaceNeed => {
    const { byteLength } = workspaceOf(planOf(step));
    return { most: byteLength, least: byteLength };
  },
  work: (step) => {
    const plan = planOf(step);
    const { form, rows, length, padded } = plan;
    const bytes = rows * length * byteLengthOf(form.dtype);
    if (padded !== undefined) return { bytes: 8 * bytes, launches: 1 };
    const passes = digitsOf(form.dtype);
    return { bytes: 3 * passes * bytes, launches: 3 * passes * unitsOf(plan) };
  },
  method: (step) => (planOf(step).padded === undefined ? 'by stable radix sorts' : 'several rows at once'),
};

export const SORT = routineCall(SORTING);
export const ARGSORT = routineCall(SORTING);
