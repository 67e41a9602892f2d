/**
 * Rows of routines: what calls have in common whose arrays are in C order and whose work falls into
 * independent units, each a stretch of every array, or the whole of one that all read. A routine adds its
 * numbers, its workspace, its cost and, for a GPU, its kernels.
 */

import { encodeTape } from '../../codegen/cpu/tape.js';
import type { DeviceLimits } from '../../codegen/cuda/schedules/schedule-rows.js';
import { elementReads } from '../../codegen/cuts/element-map.js';
import type { TileFold } from '../../codegen/cuts/scan-reader.js';
import type { Shift } from '../../codegen/cuts/shift.js';
import { printKernel } from '../../fusion/kernel/print.js';
import { byteLengthOf } from '../../graph/dtype.js';
import { formatShape } from '../../graph/format.js';
import { sizeOfShape } from '../../graph/graph.js';
import { splitParameters } from '../../graph/row-lines.js';
import { SCAN_OPS } from '../../graph/scan-tiles.js';
import { routineLibrary, routineWorkspace } from '../native/native.js';
import type { RoutineMapSpec, RoutineSpec } from '../native/program-types.js';
import type { TargetKind } from '../targets/device.js';
import type { BytePitches, Cut, Touch } from '../tiles/sweep-cuts.js';
import type { BufferArray, ElementMap, ResultWindows, RoutineStep, StepCost, WorkspaceNeed } from './call.js';
import type { CallForm, CallKernels, CallRow } from './call-row.js';
import { routineSamples } from './call-samples.js';
import { routineWork } from './call-work.js';
import { columnCut, columnsInSlots, columnUnit, inColumns } from './column-cut.js';

/** The elements [first, last) that units [first, last) touch. */
export type StretchOfUnits = (first: number, last: number) => readonly [first: number, last: number];

export interface Routine {
  /**
   * Its independent units: unit k has elements [k · size, (k + 1) · size) of an array, the last one fewer.
   */
  readonly units: (step: RoutineStep) => number;
  /** Elements of one unit in an array; undefined: every unit reads all of it. */
  readonly unitSize: (step: RoutineStep, array: BufferArray) => number | undefined;
  /** Elements of a row of every array, where the columns of rows do not depend on one another (`column-cut.ts`). */
  readonly columns?: (step: RoutineStep) => number;
  /** Elements that a range of units touches besides, before and behind its own; without it, none. */
  readonly margins?: (
    step: RoutineStep,
    array: BufferArray,
  ) => { readonly before: number; readonly after: number } | undefined;
  /** The elements of an array that ranges of units touch, where they depend on data that is known (`row-stretches.ts`). */
  readonly stretch?: (step: RoutineStep, array: BufferArray) => StretchOfUnits | undefined;
  /** How a step runs in windows of its result (`result-windows.ts`), and what such a step is. */
  readonly windows?: {
    readonly blocks: NonNullable<CallRow<RoutineStep>['blocks']>;
    readonly cut: (step: RoutineStep) => Cut;
    readonly inSlots: (step: RoutineStep, inSlot: BytePitches) => RoutineStep;
  };
  /** The arguments of the native routine of the same name: on the CPU, and of a library's on a GPU. */
  readonly numbers: (step: RoutineStep) => readonly number[];
  /** Without any, or for steps of which it gives none, a library computes it on a GPU. */
  readonly kernels?: (step: RoutineStep, limits: DeviceLimits) => CallKernels | undefined;
  readonly cudaWorkspace: (step: RoutineStep) => WorkspaceNeed;
  /** Bytes that it reads, and as many that it writes, where that is not all of its arrays. */
  readonly traffic?: (step: RoutineStep) => number | undefined;
  /** Bytes that it moves on a GPU, and launches. */
  readonly work: (step: RoutineStep) => { readonly bytes: number; readonly launches: number };
  /** As of `CallRow`. */
  readonly operations?: ((step: RoutineStep) => number) | undefined;
  /** Whether ranges of its units may be panels of its result (`tiles/panels.ts`). */
  readonly hasPanels?: boolean;
  /** As of `CallRow`. */
  readonly overwrites?: CallRow<RoutineStep>['overwrites'];
  /** As of `CallRow`. */
  readonly openTails?: CallRow<RoutineStep>['openTails'];
  /** As of `CallRow`. */
  readonly hint?: string | undefined;
  /** Its method, for `explain()`. */
  readonly method: (step: RoutineStep) => string;
}

const bytesOf = (array: BufferArray): number => sizeOfShape(array.shape) * byteLengthOf(array.dtype);
/** Bytes of arrays together. */
export const bytesOfAll = (arrays: readonly BufferArray[]): number =>
  arrays.reduce((sum, array) => sum + bytesOf(array), 0);

/** Bytes a second of device memory, and seconds of a launch: for the choice of streams and graphs. */
const MEMORY_RATE = 3e12;
const LAUNCH_SECONDS = 2.5e-6;

/** The row of a routine. */
export function routineCall(routine: Routine): CallRow<RoutineStep> {
  const row: CallRow<RoutineStep> = {
    lower: ([node], operands, results, unitElements) => {
      const { routine: call, parameters, id, kernel } = node as Extract<typeof node, { kind: 'call' }>;
      const placed = operands.map(({ dtype, shape, at }) => ({ dtype, shape, buffer: at.buffer }));
      const own = unitElements === undefined ? {} : { unitElements };
      const arrays = { operands: placed, results: [...results] };
      const code = kernel === undefined ? {} : { userKernel: kernel };
      return { kind: 'call', call, parameters, ...arrays, nodes: [id], ...own, ...code };
    },
    buffersOf: (step) => ({
      reads: readsOf(step),
      writes: step.results.map(({ buffer }) => buffer),
    }),
    withBuffers: (step, moved) => {
      const { maps } = step;
      const moveOne = (array: BufferArray, isMoved = true): BufferArray =>
        isMoved ? { ...array, buffer: moved(array.buffer) } : array;
      const moveMap = <M extends ElementMap>(map: M | undefined, isMoved: (k: number) => boolean) =>
        map && { ...map, buffers: map.buffers.map((buffer, k) => (isMoved(k) ? moved(buffer) : buffer)) };
      return {
        ...step,
        operands: step.operands.map((array, k) => moveOne(array, isThere(step, k))),
        results: step.results.map((array) => moveOne(array)),
        maps: maps && {
          prologue: moveMap(maps.prologue, (k) => isRead(maps.prologue!, k)),
          weights: moveMap(maps.weights, (k) => isRead(maps.weights!, k)),
          values: moveMap(maps.values, (k) => isRead(maps.values!, k)),
          epilogue: moveMap(maps.epilogue, (k) => k !== maps.epilogue!.given),
        },
      };
    },
    keyOf: (step) => `${print(step)}${startsText(step)}${mapTexts(step)}`,
    overwrites: routine.overwrites,
    openTails: routine.openTails,
    hint: routine.hint,
    isEmpty: ({ results }) => bytesOfAll(results) === 0,
    workspace: {
      cpu: (step) => routineWorkspace(specOf(routine, { ...step, maps: undefined })),
      cuda: routine.cudaWorkspace,
    },
    costOf: (step): StepCost => {
      const { bytes, launches } = routine.work(step);
      const queueSeconds = launches * LAUNCH_SECONDS;
      return { seconds: queueSeconds + bytes / MEMORY_RATE, share: 1, queueSeconds };
    },
    ...(routine.operations === undefined ? {} : { operations: routine.operations }),
    work: routineWork,
    samples: routineSamples,
    forms: (step) => formsOf(routine, step),
    ...(routine.hasPanels === true
      ? { panels: (step: RoutineStep) => (routine.units(step) > 1 ? [cutOf(routine, step)] : []) }
      : {}),
    ...(routine.windows === undefined ? {} : { blocks: routine.windows.blocks }),
    inSlots: (step, _, inSlot) => {
      if (step.resultWindows !== undefined) return routine.windows!.inSlots(step, inSlot);
      return step.columns === undefined ? step : columnsInSlots(step, inSlot);
    },
    spec: (step) => specOf(routine, step),
    ...(routine.kernels === undefined ? {} : { kernels: routine.kernels }),
    print,
    explain: (step, kind) => ({
      bytesRead: routine.traffic?.(step) ?? bytesRead(step),
      bytesWritten: routine.traffic?.(step) ?? bytesOfAll(step.results),
      text: `${print(step)}, ${routine.method(step)}${LIBRARY[kind](routine, step)}\n${mapTexts(step)}`,
    }),
  };
  return row;
}

/** The library that has a routine on the CPU, for `explain()`: its order of sums is its own. */
const LIBRARY: Readonly<Record<TargetKind, (routine: Routine, step: RoutineStep) => string>> = {
  cpu: (routine, step) => {
    const library = routineLibrary(specOf(routine, step));
    return library === '' ? '' : `, by ${library}; the order of sums is the library's`;
  },
  cuda: () => '',
};

const print = (step: RoutineStep): string => {
  const { call, operands, columns, resultWindows, maps, places, userKernel } = step;
  const [own, blocks] = splitParameters(step);
  return [
    userKernel?.key ?? call,
    ...operands.map(({ dtype, shape }) => `${dtype} ${formatShape(shape)}`),
    `(${own.join(' ')})`,
    ...(blocks === undefined ? [] : [`in ${blocks.count} blocks of rows`]),
    ...(places === undefined ? [] : [placesText(places)]),
    ...(columns === undefined ? [] : [`in columns, rows ${columns.join(' ')} apart`]),
    ...(resultWindows === undefined ? [] : [windowsText(resultWindows)]),
    ...(maps?.prologue === undefined ? [] : [`of ${maps.prologue.kernel.name}`]),
    ...(maps?.weights === undefined ? [] : [`weighted by ${maps.weights.kernel.name}`]),
    ...(maps?.values === undefined ? [] : [`with ${maps.values.kernel.name}`]),
    ...(maps?.epilogue === undefined ? [] : [`then ${maps.epilogue.kernel.name}`]),
  ].join(' ');
};

const placesText = ({ heads, of }: NonNullable<RoutineStep['places']>): string =>
  `in ${heads} heads from ${of.map(({ offset, strides }) => `${offset} by ${strides.join(' ')}`).join(', ')}`;

const windowsText = ({ of, windows, parts }: ResultWindows): string =>
  `in ${windows} windows of ${of}, rows in ${parts} parts for each`;

/** The starts of blocks of rows. */
function startsText(step: RoutineStep): string {
  const [own] = splitParameters(step);
  return own === step.parameters ? '' : ` ${step.parameters.slice(own.length).join(' ')}`;
}

/** The kernels of a step's maps, as text. */
const mapTexts = ({ maps }: RoutineStep): string =>
  [maps?.prologue, maps?.weights, maps?.values, maps?.epilogue]
    .map((map) => (map === undefined ? '' : ` ${printKernel(map.kernel)}`))
    .join('');

type RoutineMap = ElementMap & { readonly given?: number; readonly folds?: readonly TileFold[] };

/** Whether a map reads its buffer number k from memory. */
const isRead = (map: RoutineMap, k: number): boolean =>
  map.kernel.buffers[k]!.role === 'input' && k !== map.given;

/** Whether an operand is in memory. */
const isThere = ({ maps }: RoutineStep, k: number): boolean =>
  (k > 0 || maps?.prologue === undefined) && maps?.weights?.operand !== k;

/** The operands that are in memory. */
export const operandsOf = (step: RoutineStep): readonly BufferArray[] =>
  step.operands.filter((_, k) => isThere(step, k));

/** The plan's buffers that a step reads. */
function readsOf(step: RoutineStep): number[] {
  const { prologue, weights, values, epilogue } = step.maps ?? {};
  const ofMap = (map: ElementMap | undefined): number[] =>
    map?.buffers.filter((_, k) => isRead(map, k)) ?? [];
  const own = operandsOf(step).map(({ buffer }) => buffer);
  return [...ofMap(prologue), ...ofMap(weights), ...own, ...ofMap(values), ...ofMap(epilogue)];
}

/** The reads of units [first, last) by maps: of elements of the first operand, and of the result. */
function mapTouches(routine: Routine, step: RoutineStep, first: number, last: number): Touch[] {
  const readsOf = (map: RoutineMap | undefined, array: BufferArray): Touch[] => {
    if (map === undefined) return [];
    const count = sizeOfShape(array.shape);
    const size = routine.unitSize(step, array);
    const [from, to] =
      size === undefined ? [0, count] : [Math.min(count, first * size), Math.min(count, last * size)];
    return readsOfMap(map, from, to);
  };
  // Results of an epilogue have as many elements as the operand, but those of tiles and rows.
  const { prologue, weights, epilogue } = step.maps ?? {};
  const operand = step.operands[0]!;
  const taken = epilogue?.folds === undefined ? step.results[0]! : operand;
  const ofWeights = weights === undefined ? [] : readsOf(weights, step.operands[weights.operand]!);
  return [...readsOf(prologue, operand), ...ofWeights, ...readsOf(epilogue, taken)];
}

/** The reads of elements [first, last) by a map. */
export const readsOfMap = ({ kernel, buffers, given }: RoutineMap, from: number, to: number): Touch[] =>
  elementReads(kernel, from, to, given).map((region) => {
    const bytes = byteLengthOf(kernel.buffers[region.buffer]!.dtype);
    return { buffer: buffers[region.buffer]!, first: region.first * bytes, last: region.last * bytes };
  });

/** Bytes that a step reads: of an array that several of its parts read at one place, once. */
function bytesRead(step: RoutineStep): number {
  const bytes = new Map<number, number>();
  const enter = (buffer: number, read: number): void => {
    bytes.set(buffer, Math.max(read, bytes.get(buffer) ?? 0));
  };
  for (const array of operandsOf(step)) enter(array.buffer, bytesOf(array));
  const { prologue, weights, values, epilogue } = step.maps ?? {};
  for (const map of [prologue, weights, values, epilogue])
    map?.kernel.buffers.forEach(({ dtype, elementCount }, k) => {
      if (isRead(map, k)) enter(map.buffers[k]!, elementCount * byteLengthOf(dtype));
    });
  return [...bytes.values()].reduce((sum, read) => sum + read, 0);
}

function specOf(routine: Routine, step: RoutineStep): RoutineSpec {
  const { call, results, workspace, maps } = step;
  return {
    kind: 'routine',
    name: call,
    numbers: [...routine.numbers(step)],
    operands: operandsOf(step).map(({ buffer }) => buffer),
    results: results.map(({ buffer }) => buffer),
    workspace,
    ...(maps?.prologue === undefined ? {} : { prologue: mapSpec(maps.prologue) }),
    ...(maps?.weights === undefined ? {} : { weights: mapSpec(maps.weights) }),
    ...(maps?.values === undefined ? {} : { values: mapSpec(maps.values) }),
    ...(maps?.epilogue === undefined ? {} : { epilogue: mapSpec(maps.epilogue) }),
  };
}

/** A map for the CPU. The buffer of what the routine has in no memory is -1. */
const mapSpec = (map: RoutineMap): RoutineMapSpec => ({
  tape: encodeTape(map.kernel),
  buffers: map.buffers.map((buffer, k) => (isRead(map, k) ? buffer : -1)),
  given: map.given ?? -1,
  ...(map.folds === undefined || map.folds.length === 0 ? {} : { folds: foldsOf(map, map.folds) }),
});

/** Of each result of a map its operation, or -1. */
const foldsOf = ({ kernel }: RoutineMap, folds: readonly TileFold[]): number[] =>
  kernel.buffers.flatMap(({ role }, k) => {
    if (role !== 'output') return [];
    const fold = folds.find(({ buffer }) => buffer === k);
    return [fold === undefined ? -1 : SCAN_OPS.indexOf(fold.name)];
  });

/** The ways to cut a step; one that is in columns is cut into those. */
function formsOf(routine: Routine, step: RoutineStep): CallForm[] {
  if (step.resultWindows !== undefined) return [{ cut: routine.windows!.cut(step), repeats: false }];
  const columns = routine.columns?.(step) ?? 1;
  const inRows =
    step.columns === undefined && routine.units(step) > 1
      ? [{ cut: cutOf(routine, step), repeats: true }]
      : [];
  if (columns <= columnUnit(columns)) return inRows;
  const own = step.columns === undefined ? inColumns(step, columns) : step;
  return [...inRows, { cut: columnCut(own, columns), step: own, repeats: true, isSeldomFollowed: true }];
}

function cutOf(routine: Routine, step: RoutineStep): Cut {
  const units = routine.units(step);
  const operands = operandsOf(step).map((array) => touchesOf(routine, step, array));
  const results = step.results.map((array) => touchesOf(routine, step, array));
  return {
    units,
    // Units are looked for by what they write: that asks for no reads.
    touches: (first, last) => ({
      get reads() {
        return [...operands.map((touch) => touch(first, last)), ...mapTouches(routine, step, first, last)];
      },
      writes: results.map((touch) => touch(first, last)),
    }),
    ranges: (first, last) => [[first, last, 0, 0, 0, 0]],
    pitches: () => [],
    shift: shiftOf(routine, step),
  };
}

/** The footprints of units in an array. */
function touchesOf(
  routine: Routine,
  step: RoutineStep,
  array: BufferArray,
): (first: number, last: number) => Touch {
  const { buffer, dtype } = array;
  const elements = routine.unitSize(step, array);
  const bytes = bytesOf(array);
  const stretch = routine.stretch?.(step, array);
  if (stretch !== undefined)
    return (first, last) => {
      const [from, to] = stretch(first, last);
      return { buffer, first: from * byteLengthOf(dtype), last: to * byteLengthOf(dtype) };
    };
  if (elements === undefined) return () => ({ buffer, first: 0, last: bytes });
  const { before = 0, after = 0 } = routine.margins?.(step, array) ?? {};
  const within = (at: number): number => Math.max(0, Math.min(bytes, at * byteLengthOf(dtype)));
  return (first, last) => ({
    buffer,
    first: within(first * elements - before),
    last: within(last * elements + after),
  });
}

/** All units but the last one are as large, and margins that reach over an end of an array are cut off there. */
function shiftOf(routine: Routine, step: RoutineStep): Shift | undefined {
  const arrays = [...operandsOf(step), ...step.results];
  const isStretched = arrays.some((array) => routine.stretch?.(step, array) !== undefined);
  if (step.maps !== undefined || isStretched) return undefined;
  const by = new Map<number, number>();
  let [from, to] = [0, routine.units(step) - 1];
  for (const array of arrays) {
    const size = routine.unitSize(step, array) ?? 0;
    const moved = size * byteLengthOf(array.dtype);
    if ((by.get(array.buffer) ?? moved) !== moved) return undefined;
    by.set(array.buffer, moved);
    if (size === 0) continue;
    const { before = 0, after = 0 } = routine.margins?.(step, array) ?? {};
    from = Math.max(from, Math.ceil(before / size));
    to = Math.min(to, routine.units(step) - 1 - Math.ceil(after / size));
  }
  return { period: 1, from, to, by };
}
