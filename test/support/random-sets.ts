/**
 * Rows of random programs (`random-graph.ts`) of sets, and of axes whose size depends on data: chosen elements, places
 * and distinct values, through maps, sorts, scans, joins and takes to a reduction, or as a result.
 */
import { isFloat } from '../../src/graph/dtype.js';
import { sizeOf } from './host.js';
import type { Draw } from './random.js';
import {
  callOf,
  integersTo,
  isReal,
  maskOf,
  type Operand,
  partnerOf,
  type Row,
  resultOf,
  sumOf,
  valuesFor,
} from './random-calls.js';
import { selectorsOf } from './random-places.js';
import type { State } from './random-values.js';

const isOrdered = (x: Operand): boolean => isReal(x) && x.exact;

const isin: Row = (x, draw, state) => {
  if (!isOrdered(x)) return undefined;
  const test = partnerOf(x, draw, state, isOrdered);
  return callOf(x, 'isin', [callOf(test, 'add', [1]), { invert: draw.below(2) === 0 }], integersTo(1));
};

const inverse: Row = (x) =>
  isOrdered(x)
    ? resultOf('uniqueInverse', [x], integersTo(sizeOf(x.lazy.shape)), 'inverseIndices')
    : undefined;

/** The beginnings of axes whose size depends on data. */
const CHOICES: readonly Row[] = [
  (x, draw) => callOf(x, 'slice', [maskOf(draw, x.lazy.shape)]),
  (x, draw) => (isOrdered(x) ? callOf(x, 'extract', [callOf(x, 'greater', [draw.below(2)])]) : undefined),
  (x, draw) => {
    const axis = draw.below(x.lazy.shape.length);
    return callOf(x, 'compress', [maskOf(draw, [x.lazy.shape[axis]!]), axis]);
  },
  (x, draw) => callOf(x, 'slice', selectorsOf(x, draw, 'raise', true)),
  (x, draw) =>
    x.exact
      ? resultOf('nonzero', [x], integersTo(sizeOf(x.lazy.shape)), draw.below(x.lazy.shape.length))
      : undefined,
  (x) => (x.exact ? callOf(x, 'argwhere', [], integersTo(sizeOf(x.lazy.shape))) : undefined),
  (x) => (x.exact ? callOf(x, 'uniqueValues', []) : undefined),
  (x, draw) => {
    if (!x.exact) return undefined;
    const result = draw.of(['values', 'indices', 'counts'] as const);
    return resultOf('uniqueAll', [x], result === 'values' ? x : integersTo(sizeOf(x.lazy.shape)), result);
  },
  (x, draw, state) => {
    if (!isOrdered(x)) return undefined;
    const other = partnerOf(x, draw, state, ({ exact, lazy }) => exact && lazy.dtype === x.lazy.dtype);
    const bound =
      x.bound === undefined || other.bound === undefined ? undefined : Math.max(x.bound, other.bound);
    return callOf(x, draw.of(['union', 'intersect', 'setdiff']), [other], { exact: true, bound });
  },
];

const sizedAxis = ({ lazy }: Operand): number => lazy.expr.extent!.axis;

/** What keeps the axis. */
const THROUGH: readonly Row[] = [
  (x) => callOf(x, 'add', [x], sumOf(x, 2)),
  (x, draw) =>
    isReal(x) ? callOf(x, 'sort', [sizedAxis(x), { descending: draw.below(2) === 0 }]) : undefined,
  (x) => (isOrdered(x) ? callOf(x, 'argsort', [sizedAxis(x)], integersTo(sizeOf(x.lazy.shape))) : undefined),
  (x) => callOf(x, 'cumulativeSum', [sizedAxis(x)], sumOf(x, sizeOf(x.lazy.shape))),
  (x, draw) => (isReal(x) ? callOf(x, 'cumulativeMax', [draw.below(x.lazy.shape.length)]) : undefined),
  (x, draw) =>
    resultOf('concat', [[x, draw.below(2) === 0 ? x : callOf(x, 'sort', [sizedAxis(x)])], sizedAxis(x)], x),
  (x, draw) =>
    x.lazy.ndim === 1
      ? resultOf('concat', [[x, valuesFor(draw, x, [3]), x]], {
          ...x,
          bound: x.bound === undefined ? undefined : Math.max(x.bound, 3),
        })
      : undefined,
  (x) => callOf(x, 'transpose', []),
  (x, draw, state) => {
    // Elements of another array at such places.
    const table = state.values.findLastIndex(({ lazy }) => lazy.shape.length > 0 && (lazy.shape[0] ?? 0) > 0);
    if (!isOrdered(x) || isFloat(x.lazy.dtype) || x.lazy.dtype === 'bool' || table < 0) return undefined;
    const value = state.values[table]!;
    if ((sizeOf(value.lazy.shape) / value.lazy.shape[0]!) * sizeOf(x.lazy.shape) > 5000) return undefined;
    return callOf({ ...value, code: `v${table}` }, 'take', [x, 0, { mode: draw.of(['wrap', 'clip']) }]);
  },
];

/** Of a size that depends on data, its elements reduced. */
const REDUCED: readonly Row[] = [
  (x) => callOf(x, 'sum', [sizedAxis(x)], sumOf(x, sizeOf(x.lazy.shape))),
  (x) => callOf(x, 'sum', [null, { keepdims: true }], sumOf(x, sizeOf(x.lazy.shape))),
  (x) => (x.exact ? callOf(x, 'countNonzero', [sizedAxis(x)], integersTo(sizeOf(x.lazy.shape))) : undefined),
  (x) => (x.exact ? callOf(x, 'any', [sizedAxis(x)], integersTo(1)) : undefined),
];

/** An array of such a size. */
function chosen(x: Operand, draw: Draw, state: State): Operand | undefined {
  let made = draw.of(CHOICES)(x, draw, state);
  for (let k = draw.below(3); k > 0 && made?.lazy.expr.extent !== undefined; k--)
    made = draw.of(THROUGH)(made, draw, state) ?? made;
  return made;
}

/** Reduced, so that anything may follow; those that stay as they are can be results alone. */
const sized: Row = (x, draw, state) => {
  const made = chosen(x, draw, state);
  if (made?.lazy.expr.extent === undefined || draw.below(3) === 0) return made;
  return draw.of(REDUCED)(made, draw, state);
};

export const SETS: readonly Row[] = [isin, inverse, sized, sized, sized, sized];
