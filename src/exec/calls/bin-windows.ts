/**
 * Bins in windows (`result-windows.ts`): rows whose bin is elsewhere are left out. No operation of bins depends on an
 * order, so the bits are those of the whole. Called through `bins.ts`.
 */
import { byteLengthOf } from '../../graph/dtype.js';
import type { Touch } from '../tiles/sweep-cuts.js';
import type { Span } from '../tiles/sweep-windows.js';
import { type BinPlan, planOf } from './bin-plan.js';
import type { RoutineStep } from './call.js';
import { resultWindows, type WindowedRows } from './result-windows.js';

/** The bytes of rows and bins of a unit; a window of several numbers of each bin has a row for each. */
function touchesOf(plan: BinPlan, { results }: RoutineStep, unit: number, rows: Span, window: Span) {
  const { form, keys, values, scales, edges, bins } = plan;
  const { width, parts } = form;
  const [from, to] = rows;
  const [low, high] = window.map((bin) => bin * width) as [number, number];
  const reads: Touch[] = [];
  for (const [array, first, last] of [
    [keys, from, to],
    [values, from * width, to * width],
    [scales, low, high],
    [edges, 0, bins + 1],
  ] as const) {
    if (array === undefined) continue;
    const bytes = byteLengthOf(array.dtype);
    reads.push({ buffer: array.buffer, first: first * bytes, last: last * bytes });
  }
  const { buffer, dtype } = results[0]!;
  const bytes = byteLengthOf(dtype);
  const [size, own] = [bins * width, unit * parts * bins * width];
  const range = { buffer, first: (own + low) * bytes, last: (own + (parts - 1) * size + high) * bytes };
  const inRows = { ...range, rows: { pitch: size * bytes, width: (high - low) * bytes } };
  return { reads, writes: [parts === 1 ? range : inRows] };
}

function rowsOf(step: RoutineStep): WindowedRows {
  const plan = planOf(step);
  const { form, keys, values, rows, bins, units, unitRows } = plan;
  return {
    of: 'bins',
    rows,
    units,
    unitRows,
    count: bins,
    pitch: bins * form.width,
    passing: [keys, ...(values === undefined ? [] : [values])],
    touches: (unit, some, window) => touchesOf(plan, step, unit, some, window),
  };
}

export const BIN_WINDOWS = resultWindows(rowsOf);
