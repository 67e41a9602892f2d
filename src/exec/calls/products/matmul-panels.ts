/**
 * A matrix product of which neither the rows nor the columns alone can be cut far enough: panels of one
 * operand stay on the device while tiles of the other pass, and blocks of the result leave one by one. Where
 * panels are too long for that, both are cut along the contracted axis, too, and a block leaves when all
 * parts have been added to it.
 */

import { joinRows } from '../../../codegen/cuts/pitch.js';
import { byteLengthOf } from '../../../graph/dtype.js';
import { InternalError } from '../../../host/errors.js';
import { once, onceInSlices } from '../../../host/once.js';
import { DEVICE_ALIGNMENT, MATMUL_GRANULE } from '../../../shared/layout.js';
import { aligned } from '../../plan/memory.js';
import type { BytePitches, Ranges } from '../../tiles/sweep-cuts.js';
import {
  countsTo,
  FEWER_SLOTS,
  fewer,
  type SizedSweep,
  type Sizer,
  type SlotBlock,
  type SlotRules,
  slotBytes,
  type TileList,
} from '../../tiles/sweep-slots.js';
import type { Span, SweptTask, Tile, Window } from '../../tiles/sweep-windows.js';
import {
  CONTRACTED_GRANULE,
  contractedUnits,
  operandAt,
  operandInRows,
  PANEL_GRANULE,
  ROW_GRANULE,
} from './matmul-cuts.js';
import { isInLines, matricesOf } from './matrices.js';
import { type PanelWork, panelSeconds } from './product-cost.js';
import type { MatmulStep, MatrixOperand } from './product-steps.js';

/** A part of one block of the result, rows × columns. */
type PanelTile = Tile & { readonly ranges: Ranges };

/**
 * How a product is cut: into `rows` ranges of rows and `columns` ranges of columns, the outer ones of which
 * change slowly, and `depths` ranges of the contracted axis, which follow each other for every block.
 */
interface PanelCounts {
  readonly rows: number;
  readonly columns: number;
  readonly depths: number;
  readonly outer: 'rows' | 'columns';
  readonly granules: Granules;
}

/** Rows or columns that stay together, and contracted indices. */
interface Granules {
  readonly lines: number;
  readonly depth: number;
  readonly isOfLibrary?: true;
}

const WIDE: Granules = { lines: ROW_GRANULE, depth: CONTRACTED_GRANULE };
/** On the CPU, whose kernels add up parts of this length in the order of the whole, where wide ones do not fit. */
const NARROW: Granules = { lines: PANEL_GRANULE, depth: MATMUL_GRANULE };
/** The same on a GPU, whose library has an order of its own for each size. */
const NARROW_OF_LIBRARY: Granules = { lines: PANEL_GRANULE, depth: 256, isOfLibrary: true };

/** Ranges that rows or columns can be cut into. */
const mostPanels = (size: number, { lines }: Granules): number => Math.ceil(size / lines);

/** The bytes that are copied to the device and from it. */
function panelTraffic(step: MatmulStep, { rows, columns, depths, outer }: PanelCounts): number {
  const { m, n, k } = step;
  // Parts of a panel do not stay.
  const [timesA, timesB] = [
    depths > 1 || outer === 'columns' ? columns : 1,
    depths > 1 || outer === 'rows' ? rows : 1,
  ];
  const [ofA, ofB] = [m * k * innerOf(step.a), k * n * innerOf(step.b)]; // with what lies between the elements of a line
  return (ofA * timesA + ofB * timesB + m * n) * byteLengthOf(step.dtype);
}

/** The cost of running a product by panels. */
function panelWork(step: MatmulStep, counts: PanelCounts): PanelWork {
  const { lines } = counts.granules;
  const rows = largestPanel(step.m, counts.rows, lines);
  const columns = largestPanel(step.n, counts.columns, lines);
  const size = byteLengthOf(step.dtype);
  return {
    rows,
    columns,
    tiles: counts.rows * counts.columns * counts.depths,
    bytes: panelTraffic(step, counts),
    firstBytes: (rows + columns) * largestDepth(step, counts) * size,
    lastBytes: rows * columns * size,
  };
}

/** Each is worked out when it is asked for: there may be 65,536. */
function panelTiles(step: MatmulStep, { rows, columns, depths, outer, granules }: PanelCounts): TileList {
  const fast = outer === 'rows' ? columns : rows;
  const at = (t: number): PanelTile => {
    const [block, part] = [Math.floor(t / depths), t % depths];
    const [slow, quick] = [Math.floor(block / fast), block % fast];
    const [i, j] = outer === 'rows' ? [slow, quick] : [quick, slow];
    const { lines } = granules;
    const depth = rangeOf(step.k, part, depths, granules.depth);
    return panelTile(step, rangeOf(step.m, i, rows, lines), rangeOf(step.n, j, columns, lines), depth);
  };
  return { length: rows * columns * depths, at };
}

/** The i-th of `count` ranges, in whole granules. One range is all there is. */
function rangeOf(size: number, i: number, count: number, granule: number): Span {
  const units = Math.ceil(size / granule);
  const at = (k: number): number => Math.min(size, Math.floor((units * k) / count) * granule);
  return [at(i), at(i + 1)];
}

/** The size of the largest of `count` ranges: the last one may be cut short, and is a longer one if only one is. */
function largestPanel(size: number, count: number, granule: number): number {
  const [first, last] = rangeOf(size, count - 1, count, granule);
  const units = Math.ceil(size / granule);
  const others = units % count === 1 ? Math.floor(units / count) : Math.ceil(units / count);
  return count === 1 ? size : Math.max(last - first, others * granule);
}

/** The length of the longest of the parts of a product's panels. */
const largestDepth = ({ k }: MatmulStep, { depths, granules }: PanelCounts): number =>
  largestPanel(k, depths, granules.depth);

function panelTile(step: MatmulStep, rows: Span, columns: Span, depth: Span): PanelTile {
  const { a, b, c, dtype } = step;
  const size = byteLengthOf(dtype);
  const windows = new Map<number, Window>();
  for (const [operand, i, j] of [
    [a, rows, depth],
    [b, depth, columns],
    [c, rows, columns],
  ] as const)
    windows.set(operand.buffer, windowOf(operand, i, j, size));
  const unfinished = depth[1] < step.k ? [c.buffer] : [];
  return { spans: [[0, 1]], ranges: [...rows, ...columns, ...depth], windows, unfinished };
}

/** Rows of the memory, which are columns of the matrix where those are closer together. */
function windowOf(operand: MatrixOperand, i: Span, j: Span, size: number): Window {
  const { offset } = operand;
  const [lines, along] = isByRow(operand) ? [i, j] : [j, i];
  const [pitch, inner] = [linesOf(operand), innerOf(operand)];
  const first = (offset + lines[0] * pitch + along[0] * inner) * size;
  const width = spannedBy(along[1] - along[0], inner) * size;
  return { first, width, rows: lines[1] - lines[0], pitch: pitch * size };
}

const isByRow = ({ rowStride, columnStride }: MatrixOperand): boolean =>
  columnStride === 1 || (rowStride !== 1 && columnStride < rowStride);

/** From element to element of a line. */
const innerOf = (operand: MatrixOperand): number =>
  isByRow(operand) ? operand.columnStride : operand.rowStride;

/** Elements from the first to the last of so many. */
const spannedBy = (count: number, stride: number): number => (count - 1) * stride + 1;

/** The product with the strides that its operands have in slots, whose rows are `inSlot` bytes apart. */
export function inSlots(step: MatmulStep, pitches: BytePitches, inSlot: BytePitches): MatmulStep {
  const size = byteLengthOf(step.dtype);
  const moved = (name: 'a' | 'b' | 'c'): MatrixOperand => {
    const operand = step[name];
    const to = inSlot.get(operand.buffer);
    if (to === undefined) return operand;
    const from = pitches.get(operand.buffer) ?? linesOf(operand) * size;
    const split = operandInRows(step, name, from / size);
    if (split === undefined) throw new InternalError(`an operand that is no rows of ${from} bytes`);
    return operandAt(operand, joinRows(split, to / size));
  };
  return { ...step, a: moved('a'), b: moved('b'), c: moved('c') };
}

/** From line to line of an operand of one matrix: its rows, or its columns where those are closer together. */
const linesOf = (operand: MatrixOperand): number =>
  isByRow(operand) ? operand.rowStride : operand.columnStride;

/**
 * Whether a product may be run by panels. Elements of a vector, or of a line, stay side by side; an epilogue reads more than has
 * windows.
 */
export const canRunByPanels = (step: MatmulStep): boolean =>
  matricesOf(step) === 1 &&
  step.epilogue === undefined &&
  step.m > 1 &&
  step.n > 1 &&
  step.a.buffer !== step.b.buffer &&
  areLines(step, 'a') &&
  areLines(step, 'b');

/** A product of a matrix and itself, the second of which may be another buffer: then it can be run by panels. */
export function factorsApart(
  step: MatmulStep,
): { readonly buffer: number; readonly apart: (other: number) => MatmulStep } | undefined {
  const { a, b, epilogue } = step;
  if (a.buffer !== b.buffer || epilogue?.addend?.buffer === b.buffer) return undefined;
  return { buffer: b.buffer, apart: (buffer) => ({ ...step, b: { ...b, buffer } }) };
}

/** Whether the lines of a factor follow each other: the CPU reads steps within them as well. */
function areLines(step: MatmulStep, name: 'a' | 'b'): boolean {
  const { rowStride, columnStride } = step[name];
  if (isInLines(step[name])) return true;
  const isForwards = rowStride > 0 && columnStride > 0;
  return isForwards && operandInRows(step, name, linesOf(step[name])) !== undefined;
}

/**
 * Finds the panels of a matrix product for what room there is: of what fits, what takes least time. Panels are cut along
 * the contracted axis only where no other way fits, then with as few slots as that takes; last of all into narrow ones.
 */
export function panelSizer(swept: SweptTask, step: MatmulStep, rules: SlotRules): Sizer {
  const ways = (granules: Granules): readonly Sizer[] => {
    const most = contractedUnits(step, granules.depth, granules.isOfLibrary);
    const cut = (most === 1 ? [] : FEWER_SLOTS).map((slots) =>
      panelChooser(swept, step, { ...rules, slots: fewer(rules.slots, slots) }, granules, most),
    );
    return [panelChooser(swept, step, rules, granules, 1), ...cut];
  };
  const narrow = rules.multiprocessors === undefined ? NARROW : NARROW_OF_LIBRARY;
  const choosers = [...ways(WIDE), ...(rules.panels === 'narrow' ? ways(narrow) : [])];
  return function* (room) {
    let needed = Number.POSITIVE_INFINITY;
    for (const choose of choosers) {
      const found = yield* choose(room);
      if (!('needed' in found)) return found;
      needed = Math.min(needed, found.needed);
    }
    return { needed, step };
  };
}

/** Choices of panels between pauses: each takes some microseconds. */
const CHOICES_OF_SLICE = 256;

/**
 * Finds the best of the panels that are cut along the contracted axis no more than they have to be, and into at most
 * `depths`. Costs and bytes do not depend on the room: they are worked out once.
 */
function panelChooser(
  swept: SweptTask,
  step: MatmulStep,
  rules: SlotRules,
  granules: Granules,
  depths: number,
): Sizer {
  const bytesOf = (panels: PanelCounts): number => slotBytes(panelSlots(step, swept, panels, rules));
  const byCost = onceInSlices(function* () {
    const choices: { panels: PanelCounts; cost: number; bytes: () => number }[] = [];
    for (const blocks of panelChoices(step, granules)) {
      if (choices.length % CHOICES_OF_SLICE === 0) yield;
      const panels = { ...blocks, granules, depths };
      choices.push({ panels, cost: panelCost(step, panels, rules), bytes: once(() => bytesOf(panels)) });
    }
    return choices.sort((a, b) => a.cost - b.cost);
  });
  // More panels take less room: where the most of them do not fit, none do.
  const least = once(() =>
    Math.min(
      ...(['columns', 'rows'] as const).map((outer) =>
        bytesOf({
          rows: mostPanels(step.m, granules),
          columns: mostPanels(step.n, granules),
          depths,
          outer,
          granules,
        }),
      ),
    ),
  );
  return function* (room) {
    if (least() > room) return { needed: least(), step };
    let needed = Number.POSITIVE_INFINITY;
    let best: PanelCounts | undefined;
    for (const [k, { panels, bytes }] of (yield* byCost()).entries()) {
      if (k % CHOICES_OF_SLICE === 0) yield;
      needed = Math.min(needed, bytes());
      if (bytes() > room) continue;
      best = panels;
      break;
    }
    if (best === undefined) return { needed, step };
    const inBlocks = best;
    const fitting = countsTo(depths).find((tried) => bytesOf({ ...inBlocks, depths: tried }) <= room)!;
    return sweepByPanels(swept, step, { ...inBlocks, depths: fitting }, rules);
  };
}

const panelCost = (step: MatmulStep, panels: PanelCounts, { multiprocessors }: SlotRules): number =>
  multiprocessors === undefined
    ? panelTraffic(step, panels)
    : panelSeconds(step, panelWork(step, panels), multiprocessors);

function sweepByPanels(
  swept: SweptTask,
  step: MatmulStep,
  panels: PanelCounts,
  rules: SlotRules,
): SizedSweep {
  const slots = panelSlots(step, swept, panels, rules);
  return { tasks: [swept], pitches: rules.pitches, tiles: panelTiles(step, panels), slots };
}

function* panelChoices(
  { m, n }: MatmulStep,
  granules: Granules,
): Generator<Pick<PanelCounts, 'rows' | 'columns' | 'outer'>> {
  for (const outer of ['columns', 'rows'] as const)
    for (const rows of countsTo(mostPanels(m, granules)))
      for (const columns of countsTo(mostPanels(n, granules))) yield { rows, columns, outer };
}

/**
 * Rows of a window lie in its slot a multiple of 256 bytes apart. A panel that stays needs two slots, to be
 * read ahead.
 */
function panelSlots(step: MatmulStep, swept: SweptTask, panels: PanelCounts, rules: SlotRules): SlotBlock[] {
  const { rows, columns, outer, granules } = panels;
  const { lines } = granules;
  const largest = { rows: largestPanel(step.m, rows, lines), columns: largestPanel(step.n, columns, lines) };
  const depth = largestDepth(step, panels);
  const operands = [
    { operand: step.a, lines: largest.rows, across: depth, stays: outer === 'rows' },
    { operand: step.b, lines: depth, across: largest.columns, stays: outer === 'columns' },
    { operand: step.c, lines: largest.rows, across: largest.columns, stays: false },
  ];
  return operands.flatMap(({ operand, lines, across, stays }): SlotBlock[] => {
    const { buffer } = operand;
    if (!rules.isWindowed(buffer)) return [];
    const [height, along] = isByRow(operand) ? [lines, across] : [across, lines];
    const width = spannedBy(along, innerOf(operand));
    const slotPitch = aligned(width * byteLengthOf(step.dtype));
    const direction = rules.directionOf(buffer, [swept]);
    const slots = Math.min(stays ? 2 : Number.POSITIVE_INFINITY, rules.slots[direction]);
    const slotByteLength = aligned(height * slotPitch + DEVICE_ALIGNMENT - 1);
    return [{ buffer, direction, slotPitch, slotByteLength, slots, first: 0, last: 0 }];
  });
}
