/** Rows of random programs (`random-graph.ts`) that gather elements in bins: counts, histograms, segments, groups. */

import { isFloat } from '../../src/graph/dtype.js';
import { sizeOf } from './host.js';
import {
  callOf,
  indicesOf,
  integersTo,
  isReal,
  type Known,
  type Mode,
  ROUNDED,
  type Row,
  resultOf,
  sumOf,
} from './random-calls.js';
import { componentsOf, integerLimit } from './random-values.js';

const MODES = ['raise', 'wrap', 'clip', 'drop'] as const;
const BINS = [1, 3, 7] as const;

const bincount: Row = (x, draw) => {
  const line = callOf(x, 'flatten', []);
  const count = sizeOf(x.lazy.shape);
  const bins = draw.of([4, 9]);
  const mode: Mode = draw.of(MODES.slice(1));
  const keys = indicesOf(draw, [count], bins, mode);
  if (draw.below(2) === 0 || !isReal(x))
    return callOf(keys, 'bincount', [bins, null, { mode }], integersTo(count));
  const weights = callOf(line, 'astype', ['float64']);
  return callOf(keys, 'bincount', [bins, weights, { mode }], sumOf(weights, count));
};

const histogram: Row = (x, draw) => {
  if (!isReal(x) || !x.exact || x.lazy.dtype === 'bool') return undefined;
  const edges = draw.of([[-3, 0, 1, 4], [0, 0, 5], 4, 8]);
  const options = typeof edges === 'number' ? { range: [-8, 8] } : {};
  return resultOf('histogram', [x, edges, options], integersTo(sizeOf(x.lazy.shape)), 0);
};

const REDUCTIONS = ['Sum', 'Sum', 'Prod', 'Mean', 'Max', 'Min'] as const;

/** Rows in segments, or in groups. */
const segments: Row = (x, draw) => {
  const { shape, dtype } = x.lazy;
  const reduction = draw.of(REDUCTIONS);
  const isExtreme = reduction === 'Max' || reduction === 'Min';
  if (!isReal(x) && (isExtreme || reduction === 'Mean')) return undefined;
  const mode = draw.of(MODES);
  const count = draw.of(BINS);
  const rows = shape[0]!;
  let known: Known = ROUNDED;
  if (reduction === 'Sum') known = sumOf(x, rows);
  else if (isExtreme) known = { exact: x.exact, bound: undefined };
  else if (reduction === 'Prod') {
    const bound =
      x.bound === undefined || x.bound > 8 || rows > 5
        ? undefined
        : (Math.max(x.bound, 1) * componentsOf(dtype)) ** rows;
    const isWhole = isReal(x) && !isFloat(dtype);
    if (!isWhole && (bound === undefined || bound > integerLimit(dtype))) return undefined;
    known = { exact: x.exact, bound };
  }
  const ids = indicesOf(draw, [rows], count, mode);
  if (draw.below(3) > 0) return callOf(x, `segment${reduction}`, [ids, count, { mode }], known);
  // Groups are no array: their methods give one.
  return callOf(callOf(x, 'groupBy', [ids, count, { mode }]), reduction.toLowerCase(), [], known);
};

export const IN_BINS: readonly Row[] = [bincount, histogram, segments, segments];
