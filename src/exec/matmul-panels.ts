/**
 * A matrix product of which neither the rows nor the columns alone can be cut far enough: panels of one operand stay on
 * the device while tiles of the other pass, and blocks of the result leave one by one. Called by `sweeps.ts`.
 */
import { joinRows } from '../codegen/pitch.js';
import { InternalError } from '../errors.js';
import { byteLengthOf } from '../graph/dtype.js';
import { operandInRows, ROW_GRANULE } from './matmul-cuts.js';
import type { PanelWork } from './panel-time.js';
import type { MatmulStep, MatrixOperand } from './plan.js';
import type { BytePitches, Ranges } from './sweep-tasks.js';
import type { Span, Window } from './sweep-windows.js';

/** One block of the result: rows × columns. */
export interface PanelTile {
  readonly ranges: Ranges;
  readonly windows: ReadonlyMap<number, Window>;
}

/** How a product is cut: into `rows` ranges of rows and `columns` ranges of columns; the outer ones change slowly. */
export interface PanelCounts {
  readonly rows: number;
  readonly columns: number;
  readonly outer: 'rows' | 'columns';
}

/** Ranges that rows or columns can be cut into. */
export const mostPanels = (size: number): number => Math.ceil(size / ROW_GRANULE);

/** The bytes that are copied to the device and from it. */
export function panelTraffic(step: MatmulStep, { rows, columns, outer }: PanelCounts): number {
  const { m, n, k } = step;
  const again = outer === 'columns' ? m * k * columns + k * n : m * k + k * n * rows;
  return (again + m * n) * byteLengthOf(step.dtype);
}

/** What running a product by panels takes. */
export function panelWork(step: MatmulStep, counts: PanelCounts): PanelWork {
  const rows = largestPanel(step.m, counts.rows);
  const columns = largestPanel(step.n, counts.columns);
  const size = byteLengthOf(step.dtype);
  return {
    rows,
    columns,
    tiles: counts.rows * counts.columns,
    bytes: panelTraffic(step, counts),
    firstBytes: (rows + columns) * step.k * size,
    lastBytes: rows * columns * size,
  };
}

export function panelTiles(step: MatmulStep, counts: PanelCounts): PanelTile[] {
  const { rows, columns, outer } = counts;
  const tiles: PanelTile[] = [];
  const [slow, fast] = outer === 'rows' ? [rows, columns] : [columns, rows];
  for (let a = 0; a < slow; a++) {
    for (let b = 0; b < fast; b++) {
      const [i, j] = outer === 'rows' ? [a, b] : [b, a];
      tiles.push(panelTile(step, rangeOf(step.m, i, rows), rangeOf(step.n, j, columns)));
    }
  }
  return tiles;
}

/** The i-th of `count` ranges, in whole granules. */
function rangeOf(size: number, i: number, count: number): Span {
  const units = mostPanels(size);
  const at = (k: number): number => Math.min(size, Math.floor((units * k) / count) * ROW_GRANULE);
  return [at(i), at(i + 1)];
}

/** The size of the largest of `count` ranges. */
export function largestPanel(size: number, count: number): number {
  let most = 0;
  for (let i = 0; i < count; i++) {
    const [first, last] = rangeOf(size, i, count);
    most = Math.max(most, last - first);
  }
  return most;
}

function panelTile(step: MatmulStep, rows: Span, columns: Span): PanelTile {
  const { a, b, c, k, dtype } = step;
  const size = byteLengthOf(dtype);
  const windows = new Map<number, Window>();
  for (const [operand, i, j] of [
    [a, rows, [0, k]],
    [b, [0, k], columns],
    [c, rows, columns],
  ] as const)
    windows.set(operand.buffer, windowOf(operand, i, j, size));
  return { ranges: [...rows, ...columns, 0, k], windows };
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
