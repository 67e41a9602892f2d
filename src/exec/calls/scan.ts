/**
 * Scans along the middle axis of three, in tiles (`codegen/cuda/routines/scan.ts`, `native/cpu/scan.cpp`).
 * The value before each tile is an operand, so that tiles are units that do not depend on one another. A step
 * without it, whose axis is longer than a tile, goes over memory once and finds it on the way: on a GPU by looking
 * back, on the CPU by taking tiles in their order; `exec/plan/one-pass-scans.ts` makes such steps.
 */

import { CLEAR_KERNEL } from '../../codegen/cuda/routines/look-back.js';
import {
  lineTile,
  printColumnTiles,
  printLineTiles,
  printShortRows,
  SCAN_COLUMNS,
  SCAN_NAME,
  SCAN_THREADS,
  SCAN_WARPS,
  type ScanForm,
  type ScanSource,
  WARP_ROW,
} from '../../codegen/cuda/routines/scan.js';
import { COUNT_BYTES, levelsOf } from '../../codegen/cuda/routines/scan-look-back.js';
import { toldWords } from '../../codegen/cuda/routines/scan-numbers.js';
import {
  canRing,
  printRingScan,
  RING_SCHEDULE,
  RING_SHARED_BYTES,
} from '../../codegen/cuda/routines/scan-ring.js';
import { STRIPE_COLUMNS, STRIPE_SHARED_BYTES } from '../../codegen/cuda/routines/scan-ring-columns.js';
import { RING_BLOCKS, RING_THREADS } from '../../codegen/cuda/routines/scan-ring-warps.js';
import {
  canCopyRows,
  printCopiedRows,
  ROW_SCHEDULE,
  rowThreads,
} from '../../codegen/cuda/routines/scan-rows.js';
import type { DeviceLimits } from '../../codegen/cuda/schedules/schedule-rows.js';
import type { Neighbours } from '../../codegen/cuts/scan-neighbours.js';
import { byteLengthOf, dtypeCode } from '../../graph/dtype.js';
import { sizeOfShape } from '../../graph/graph.js';
import { SCAN_OPS, scanTile } from '../../graph/scan-tiles.js';
import type { LaunchArgument } from '../native/program-types.js';
import { aligned } from '../plan/memory.js';
import type { BufferArray, RoutineStep, WorkspaceNeed } from './call.js';
import type { CallKernels } from './call-row.js';
import { clearLaunch } from './clear.js';
import { columnUnit } from './column-cut.js';
import { int32, int64 } from './launch-arguments.js';
import { asKernels, foldsRows, mapFunctions, mapsText } from './map-functions.js';
import { type Routine, routineCall } from './routine.js';
import { columnRingKernels, haveStripes } from './scan-column-rings.js';

/** Elements that a unit has at least, of a GPU and of the CPU, where a tile of 64-bit numbers by itself is enough for a thread. */
const LEAST_UNIT = 2 ** 13;
const LEAST_CPU_UNIT = 2 ** 12;

/** How the axis is cut into tiles, and tiles into units. */
interface ScanPlan {
  readonly form: ScanForm;
  readonly source: ScanSource;
  readonly outer: number;
  readonly length: number;
  readonly inner: number;
  readonly tile: number;
  /** Along the axis. */
  readonly tiles: number;
  /** Where the axis ends within a tile, those of all the axis. */
  readonly tilesPerUnit: number;
  /** Of a step in columns, those of a unit, which has all tiles. */
  readonly columns: number | undefined;
  readonly units: number;
  /** Elements of a unit. */
  readonly unitLength: number;
}

function planOf(step: RoutineStep): ScanPlan {
  const { dtype, shape } = step.operands[0]!;
  const [op, reverse] = step.parameters as readonly [number, number];
  const form: ScanForm = { dtype, op: SCAN_OPS[op]!, reverse: reverse === 1 };
  const [outer, length, inner] = shape as readonly [number, number, number];
  const most = scanTile(dtype, inner);
  const source = sourceOf(step, length > most);
  const tile = Math.min(most, length);
  const tiles = Math.ceil(length / tile);
  const columns = step.columns === undefined ? undefined : columnUnit(inner);
  const all = { form, source, outer, length, inner, tile, tiles, columns };
  if (source === 'lookBack')
    return { ...all, tilesPerUnit: outer * tiles, units: 1, unitLength: sizeOfShape(shape) };
  if (outer > 1 && length % tile !== 0)
    return { ...all, tilesPerUnit: tiles, units: outer, unitLength: length * inner };
  const together = isShort(length, inner) ? SCAN_WARPS : 1;
  const least = step.unitElements === undefined ? LEAST_UNIT : LEAST_CPU_UNIT;
  const tilesPerUnit = together * Math.ceil(least / (together * tile * inner));
  const units = Math.ceil((outer * tiles) / tilesPerUnit);
  return { ...all, tilesPerUnit, units, unitLength: tilesPerUnit * tile * inner };
}

/** Elements from row to row of the operand, of the values before tiles, and of the result. */
function pitchesOf({ operands, columns }: RoutineStep): readonly [number, number, number] {
  const inner = operands[0]!.shape[2]!;
  return [
    columns?.[0] ?? inner,
    operands.length > 1 ? (columns?.[1] ?? inner) : inner,
    columns?.at(-1) ?? inner,
  ];
}

/** Whether columns may be units: maps go through elements in their order, and tiles that look back are one unit. */
const areColumns = (step: RoutineStep): boolean =>
  step.maps === undefined && planOf(step).source !== 'lookBack';

function sourceOf({ call, operands }: RoutineStep, isLong: boolean): ScanSource {
  if (call === 'scanTotals') return 'totals';
  if (operands.length > 1) return 'operand';
  return isLong ? 'lookBack' : 'none';
}

/** Results that have a value of each tile. */
function partialsOf({ results, maps }: RoutineStep): readonly BufferArray[] {
  const { kernel, folds = [] } = maps?.epilogue ?? {};
  const outputs = kernel?.buffers.flatMap(({ role }, k) => (role === 'output' ? [k] : [])) ?? [];
  return results.filter((_, k) => folds.some(({ buffer }) => buffer === outputs[k]));
}

/** The first result that is of elements. */
const outputOf = (step: RoutineStep): BufferArray =>
  step.results.find((array) => !partialsOf(step).includes(array)) ?? step.results[0]!;

/** Whether warps take the rows. */
const isShort = (length: number, inner: number): boolean => inner === 1 && length <= WARP_ROW;

function kernelsOf(step: RoutineStep, limits: DeviceLimits): CallKernels {
  const plan = planOf(step);
  const { source, outer, length, inner, tiles, tilesPerUnit, units, columns } = plan;
  const { args: ofMaps, ...functions } = mapFunctions(step);
  const neighbours = step.maps?.epilogue?.neighbours;
  const further = [...ofMaps, ...(neighbours === undefined ? [] : neighbourArguments(step, neighbours))];
  const form: ScanForm = { ...plan.form, ...functions, neighbours: neighbours?.offsets.length };
  // Neighbours that are expensive may have most of their arithmetic in common.
  const inFours = form.prologue?.isExpensive === true && !form.reverse;
  const [input, before] = step.operands;
  const output = step.results[0]!;
  // Of reductions of tiles, the functions know where they go.
  const stored = form.epilogue?.type === 'void' ? [] : [outputOf(step)];
  const read = [input!, before].filter(
    (array, k) => array !== undefined && (k > 0 || form.prologue === undefined),
  );
  const arrays = [...(read as BufferArray[]), ...stored];
  const args = [{ block: 'x' } as const, ...arrays.map(({ buffer }) => ({ buffer }))];
  const scan = { function: SCAN_NAME, threads: SCAN_THREADS };
  if (isShort(length, inner)) {
    const blocks = units * Math.ceil(tilesPerUnit / SCAN_WARPS);
    return {
      source: printShortRows(form, inFours && length % 4 === 0),
      launches: [{ ...scan, blocks, args: [...args, int64(outer), int32(length), ...further] }],
    };
  }
  if (ringsFit(plan, form, limits)) return ringKernels(step, plan);
  if (columnRingsFit(plan, form, limits))
    return columnRingKernels(plan, input!.buffer, output.buffer, {
      buffer: step.workspace!,
      ...stateOf(plan),
    });
  if (copiesRows(plan, form, limits)) {
    const rows = { ...scan, threads: rowThreads(form, length), blocks: units * tilesPerUnit };
    return {
      source: printCopiedRows(form, length),
      launches: [{ ...rows, args: [...args, int64(outer), int32(length)] }],
      schedule: ROW_SCHEDULE,
    };
  }
  const groups = inner === 1 ? 1 : Math.ceil(inner / SCAN_COLUMNS);
  const numbers = [
    ...[outer, tiles, length],
    ...(inner === 1 ? [] : [inner, groups]),
    ...(columns === undefined ? [] : pitchesOf(step)),
  ].map(int64);
  const text =
    inner === 1
      ? printLineTiles(
          form,
          source,
          lineTile(form.dtype, length),
          inFours && (outer === 1 || length % 4 === 0),
        )
      : printColumnTiles(form, source, columns !== undefined);
  if (source !== 'lookBack') {
    const blocks =
      columns === undefined
        ? units * tilesPerUnit * groups
        : Math.ceil(inner / columns) * (columns / SCAN_COLUMNS) * outer * tiles;
    return { source: text, launches: [{ ...scan, blocks, args: [...args, ...numbers, ...further] }] };
  }
  const { states, byteLength } = stateOf(plan);
  const state = { buffer: step.workspace! };
  const clear = clearLaunch(state, byteLength / 4);
  const whole = [...args, state, int64(states), ...numbers, ...further];
  return {
    source: text + CLEAR_KERNEL,
    launches: [clear, { ...scan, blocks: outer * tiles * groups, args: whole }],
  };
}

/** The ends of tiles, how many results there are, and where their neighbours are. */
const neighbourArguments = (
  { results: [own, ends] }: RoutineStep,
  { offsets }: Neighbours,
): LaunchArgument[] => [{ buffer: ends!.buffer }, int64(own!.shape[0]!), ...offsets.map(int32)];

/**
 * The fewest bytes that are copied past registers: rings take 1.25 times as long as blocks for half as many, 0.9 times for
 * twice as many. Columns take 0.93 to 1 times as long for as many, 0.77 to 0.9 times for 1 GiB; rows were measured for that alone.
 */
const LEAST_COPIED_BYTES = 2 ** 25;

/** Whether copies past registers are faster, of lines or rows of columns that begin at 16 bytes. */
function copiesTiles(plan: ScanPlan, form: ScanForm, limits: DeviceLimits): boolean {
  const { outer, length, inner } = plan;
  const size = byteLengthOf(form.dtype);
  return (
    limits.hasBulkCopies === true &&
    outer * length * inner * size >= LEAST_COPIED_BYTES &&
    (inner === 1 ? outer === 1 || (length * size) % 16 === 0 : (inner * size) % 16 === 0)
  );
}

const copiesRows = (plan: ScanPlan, form: ScanForm, limits: DeviceLimits): boolean =>
  plan.source === 'none' &&
  plan.inner === 1 &&
  copiesTiles(plan, form, limits) &&
  canCopyRows(form, plan.length);

const columnRingsFit = (plan: ScanPlan, form: ScanForm, limits: DeviceLimits): boolean =>
  plan.source === 'lookBack' &&
  plan.inner > SCAN_COLUMNS &&
  copiesTiles(plan, form, limits) &&
  limits.sharedByteLength >= STRIPE_SHARED_BYTES &&
  canRing(form) &&
  haveStripes(plan);

const ringsFit = (plan: ScanPlan, form: ScanForm, limits: DeviceLimits): boolean =>
  plan.source === 'lookBack' &&
  plan.inner === 1 &&
  copiesTiles(plan, form, limits) &&
  limits.sharedByteLength >= RING_SHARED_BYTES &&
  canRing(form);

function ringKernels(step: RoutineStep, plan: ScanPlan): CallKernels {
  const { form, outer, length, tiles } = plan;
  const { states, byteLength } = stateOf(plan);
  const state = { buffer: step.workspace! };
  const arrays = [step.operands[0]!, step.results[0]!].map(({ buffer }) => ({ buffer }));
  const launch = {
    function: SCAN_NAME,
    blocks: Math.min(outer * tiles, RING_BLOCKS),
    threads: RING_THREADS,
    sharedByteLength: RING_SHARED_BYTES,
    args: [{ block: 'x' } as const, ...arrays, state, ...[states, outer, tiles, length].map(int64)],
  };
  return {
    source: printRingScan(form) + CLEAR_KERNEL,
    launches: [clearLaunch(state, byteLength / 4), launch],
    schedule: RING_SCHEDULE,
  };
}

/**
 * The workspace of tiles that look back: the count of those that have begun, and the words that they tell; behind those of
 * rings of columns, the counts of stripes.
 */
function stateOf({ form, outer, inner, tiles }: ScanPlan): {
  readonly states: number;
  readonly byteLength: number;
} {
  const states = levelsOf(tiles).reduce((sum, size) => sum + size, 0);
  const width = inner === 1 ? 1 : inner > SCAN_COLUMNS ? STRIPE_COLUMNS : SCAN_COLUMNS;
  const groups = outer * Math.ceil(inner / width);
  const counts = inner > SCAN_COLUMNS ? 4 * groups : 0;
  return {
    states,
    byteLength: aligned(COUNT_BYTES + groups * states * width * toldWords(form) * 8 + counts),
  };
}

const SCANNING: Routine = {
  units: (step) => planOf(step).units,
  unitSize: (step, array) => {
    const { unitLength, tilesPerUnit, inner } = planOf(step);
    const isOfTiles =
      array === step.operands[1] ||
      (step.call === 'scanTotals' && array === step.results[0]) ||
      partialsOf(step).includes(array);
    return isOfTiles ? tilesPerUnit * inner : unitLength;
  },
  columns: (step) => (areColumns(step) ? step.operands[0]!.shape[2]! : 1),
  numbers: (step) => {
    const { outer, length, inner, tile, tilesPerUnit, form, columns } = planOf(step);
    const code = dtypeCode(form.dtype);
    const { operands, parameters } = step;
    const lines = [outer, length, inner, tile, tilesPerUnit, operands.length];
    return [code, ...parameters, ...lines, columns ?? 0, ...pitchesOf(step)];
  },
  kernels: (step, limits) => asKernels(kernelsOf(step, limits)),
  cudaWorkspace: (step): WorkspaceNeed => {
    const plan = planOf(step);
    const bytes = plan.source === 'lookBack' ? stateOf(plan).byteLength : 0;
    return { most: bytes, least: bytes };
  },
  work: (step) => {
    const { dtype, shape } = step.operands[0]!;
    const { epilogue } = step.maps ?? {};
    const passes = step.call === 'scanTotals' || (epilogue !== undefined && foldsRows(epilogue)) ? 1 : 2;
    const launches = planOf(step).source === 'lookBack' ? 2 : 1;
    return { bytes: passes * sizeOfShape(shape) * byteLengthOf(dtype), launches };
  },
  method: (step) => {
    const { form, tile, source } = planOf(step);
    const whole = source === 'lookBack' ? ', in one pass over memory' : '';
    return `${form.op} in tiles of ${tile}${whole}${mapsText(step)}`;
  },
};

export const SCAN = routineCall(SCANNING);
export const SCAN_TOTALS = routineCall(SCANNING);
