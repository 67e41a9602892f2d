/**
 * A matrix product of which neither the rows nor the columns alone can be cut far enough: panels of one operand stay on
 * the device while tiles of the other pass, and blocks of the result leave one by one. Where panels are too long for
 * that, both are cut along the contracted axis, too, and a block leaves when all parts have been added to it. Called by
 * `sweep-slots.ts`.
 */
import { joinRows } from '../../codegen/pitch.js';
import { InternalError } from '../../errors.js';
import { byteLengthOf } from '../../graph/dtype.js';
import type { PanelWork } from '../plan/panel-time.js';
import type { MatmulStep, MatrixOperand } from '../plan/plan.js';
import { CONTRACTED_GRANULE, contractedUnits, operandInRows, ROW_GRANULE } from './matmul-cuts.js';
import type { BytePitches, Ranges } from './sweep-cuts.js';
import type { Span, Window } from './sweep-windows.js';

/** A part of one block of the result, rows × columns. */
export interface PanelTile {
  readonly ranges: Ranges;
  readonly windows: ReadonlyMap<number, Window>;
  /** A buffer whose window the next tile adds to. */
  readonly unfinished?: number | undefined;
}

/**
 * How a product is cut: into `rows` ranges of rows and `columns` ranges of columns, the outer ones of which change slowly,
 * and `depths` ranges of the contracted axis, which follow each other for every block.
 */
export interface PanelCounts {
  readonly rows: number;
  readonly columns: number;
  readonly depths: number;
  readonly outer: 'rows' | 'columns';
}

/** Ranges that rows or columns can be cut into. */
export const mostPanels = (size: number): number => Math.ceil(size / ROW_GRANULE);
/** Ranges that the contracted axis can be cut into. */
export const mostDepths = (step: MatmulStep): number => contractedUnits(step);

/** The bytes that are copied to the device and from it. */
export function panelTraffic(step: MatmulStep, { rows, columns, depths, outer }: PanelCounts): number {
  const { m, n, k } = step;
  // Parts of a panel do not stay.
  const [timesA, timesB] = [
    depths > 1 || outer === 'columns' ? columns : 1,
    depths > 1 || outer === 'rows' ? rows : 1,
  ];
  return (m * k * timesA + k * n * timesB + m * n) * byteLengthOf(step.dtype);
}

/** What running a product by panels takes. */
export function panelWork(step: MatmulStep, counts: PanelCounts): PanelWork {
  const rows = largestPanel(step.m, counts.rows);
  const columns = largestPanel(step.n, counts.columns);
  const size = byteLengthOf(step.dtype);
  return {
    rows,
    columns,
    tiles: counts.rows * counts.columns * counts.depths,
    bytes: panelTraffic(step, counts),
    firstBytes: (rows + columns) * largestDepth(step, counts.depths) * size,
    lastBytes: rows * columns * size,
  };
}

export function panelTiles(step: MatmulStep, counts: PanelCounts): PanelTile[] {
  const { rows, columns, depths, outer } = counts;
  const tiles: PanelTile[] = [];
  const [slow, fast] = outer === 'rows' ? [rows, columns] : [columns, rows];
  for (let a = 0; a < slow; a++) {
    for (let b = 0; b < fast; b++) {
      const [i, j] = outer === 'rows' ? [a, b] : [b, a];
      const block = [rangeOf(step.m, i, rows), rangeOf(step.n, j, columns)] as const;
      for (let part = 0; part < depths; part++)
        tiles.push(panelTile(step, ...block, rangeOf(step.k, part, depths, CONTRACTED_GRANULE)));
    }
  }
  return tiles;
}

/** The i-th of `count` ranges, in whole granules. One range is all there is. */
function rangeOf(size: number, i: number, count: number, granule = ROW_GRANULE): Span {
  const units = Math.ceil(size / granule);
  const at = (k: number): number => Math.min(size, Math.floor((units * k) / count) * granule);
  return [at(i), at(i + 1)];
}

/** The size of the largest of `count` ranges. */
export function largestPanel(size: number, count: number, granule = ROW_GRANULE): number {
  let most = 0;
  for (let i = 0; i < count; i++) {
    const [first, last] = rangeOf(size, i, count, granule);
    most = Math.max(most, last - first);
  }
  return most;
}

/** The length of the longest of `depths` parts of a product's panels. */
export const largestDepth = ({ k }: MatmulStep, depths: number): number =>
  largestPanel(k, depths, CONTRACTED_GRANULE);

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
  const unfinished = depth[1] < step.k ? c.buffer : undefined;
  return { ranges: [...rows, ...columns, ...depth], windows, unfinished };
}

/** Rows of the memory, which are columns of the matrix where those are contiguous. */
function windowOf(
  { offset, rowStride, columnStride }: MatrixOperand,
  i: Span,
  j: Span,
  size: number,
): Window {
  const byRow = columnStride === 1;
  const [lines, along] = byRow ? [i, j] : [j, i];
  const stride = byRow ? rowStride : columnStride;
  const first = (offset + lines[0] * stride + along[0]) * size;
  return { first, width: (along[1] - along[0]) * size, rows: lines[1] - lines[0], pitch: stride * size };
}

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
    const { offset, strides } = joinRows(split, to / size);
    const [batchStride, rowStride, columnStride] = strides as [number, number, number];
    return { buffer: operand.buffer, offset, batchStride, rowStride, columnStride };
  };
  return { ...step, a: moved('a'), b: moved('b'), c: moved('c') };
}

/** From line to line of an operand of one matrix: its rows, or its columns where those are contiguous. */
const linesOf = ({ rowStride, columnStride }: MatrixOperand): number =>
  columnStride === 1 ? rowStride : columnStride;
