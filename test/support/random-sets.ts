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
  type Known,
  maskOf,
  type Operand,
  partnerOf,
  ROUNDED,
  type Row,
  resultOf,
  sumOf,
  valuesFor,
} from './random-calls.js';
import { BETWEEN, SELECTING } from './random-orders.js';
import { selectorsOf } from './random-places.js';
import { GATHERED } from './random-sized.js';
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

/** Elements of two arrays. */
const boundOf = (x: Operand, other: Operand): Known => ({
  exact: true,
  bound: x.bound === undefined || other.bound === undefined ? undefined : Math.max(x.bound, other.bound),
});

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
    return callOf(x, draw.of(['union', 'intersect', 'setdiff']), [other], boundOf(x, other));
  },
];

const sizedAxis = ({ lazy }: Operand): number => lazy.expr.extent!.axis;

const RANGES = ['1:', ':-1', '::2', '::-1', '-3:', '1:-1', '-2::-2', ':4', '3:0:-1', '-4:3'] as const;

/** Selectors that take all of the axes before one. */
const whole = (axis: number): null[] => Array<null>(axis).fill(null);

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
  (x) => callOf(x, 'ravel', []),
  (x, draw) => callOf(x, 'slice', [...whole(sizedAxis(x)), draw.of(RANGES)]),
  (x, draw) => callOf(x, 'flip', [draw.of([null, sizedAxis(x)])]),
  (x, draw) => callOf(x, 'roll', [draw.below(9) - 4, draw.of([null, sizedAxis(x)])]),
  (x) => (x.lazy.dtype === 'bool' ? undefined : callOf(x, 'diff', [{ axis: sizedAxis(x) }], sumOf(x, 2))),
  (x) => {
    const [later, earlier] = ['1:', ':-1'].map((range) =>
      callOf(x, 'slice', [...whole(sizedAxis(x)), range]),
    ) as [Operand, Operand];
    return callOf(later, 'add', [earlier], sumOf(x, 2));
  },
  (x) => {
    const axis = sizedAxis(x);
    return isOrdered(x) ? callOf(x, 'takeAlongAxis', [callOf(x, 'argsort', [axis]), axis]) : undefined;
  },
  (x, draw) => (isOrdered(x) ? callOf(x, 'slice', [callOf(x, 'greater', [draw.below(2)])]) : undefined),
  (x, draw) => {
    if (!isOrdered(x)) return undefined;
    const others = x.lazy.shape.flatMap((_, axis) => (axis === sizedAxis(x) ? [] : [axis]));
    const mask = callOf(callOf(x, 'max', [others]), 'greater', [draw.below(2)], integersTo(1));
    return x.lazy.shape.includes(0) ? undefined : callOf(x, 'compress', [mask, sizedAxis(x)]);
  },
  (x, draw) => {
    if (!isOrdered(x) || x.lazy.ndim > 1) return undefined;
    const mask = callOf(x, 'greater', [draw.below(2)]);
    return callOf(x, 'take', [resultOf('nonzero', [mask], integersTo(sizeOf(x.lazy.shape)), 0)]);
  },
  (x, draw) => callOf(x, 'pad', [x.lazy.shape.map(() => [draw.below(2), draw.below(2)])]),
  (x) => (sizeOf(x.lazy.shape) > 400 ? undefined : callOf(x, 'repeat', [2, sizedAxis(x)])),
  (x) =>
    isOrdered(x)
      ? resultOf('uniqueInverse', [x], integersTo(sizeOf(x.lazy.shape)), 'inverseIndices')
      : undefined,
  (x, draw) =>
    isOrdered(x)
      ? resultOf('uniqueAll', [x], integersTo(sizeOf(x.lazy.shape)), draw.of(['indices', 'counts']))
      : undefined,
  (x, draw, state) => {
    if (!isOrdered(x)) return undefined;
    const isEqual = ({ exact, lazy }: Operand): boolean => exact && lazy.dtype === x.lazy.dtype;
    const other = state.values.map((value, i): Operand => ({ ...value, code: `v${i}` })).filter(isEqual);
    const test = draw.of([x, ...other]);
    const set = draw.of(['union', 'intersect', 'setdiff', 'isin']);
    const known = set === 'isin' ? integersTo(1) : boundOf(x, test);
    return draw.below(2) === 0 || set === 'isin'
      ? callOf(x, set, [test], known)
      : callOf(test, set, [x], known);
  },
  (x, draw) =>
    isOrdered(x)
      ? callOf(
          callOf(x, 'sort', [null]),
          'searchsorted',
          [x, null, { side: draw.of(['left', 'right']) }],
          integersTo(sizeOf(x.lazy.shape)),
        )
      : undefined,
  (x) =>
    isOrdered(x) ? resultOf('lexsort', [[x, x], sizedAxis(x)], integersTo(sizeOf(x.lazy.shape))) : undefined,
  (x, draw, state) => {
    // Elements of another array at such places.
    const table = state.values.findLastIndex(({ lazy }) => lazy.shape.length > 0 && (lazy.shape[0] ?? 0) > 0);
    if (!isOrdered(x) || isFloat(x.lazy.dtype) || x.lazy.dtype === 'bool' || table < 0) return undefined;
    const value = state.values[table]!;
    if ((sizeOf(value.lazy.shape) / value.lazy.shape[0]!) * sizeOf(x.lazy.shape) > 5000) return undefined;
    return callOf({ ...value, code: `v${table}` }, 'take', [x, 0, { mode: draw.of(['wrap', 'clip']) }]);
  },
];

/** A quantile of elements along that axis, or of all. */
function quantileOf(x: Operand, draw: Draw): Operand {
  const axis = draw.of([null, sizedAxis(x)]);
  const of = isFloat(x.lazy.dtype) ? x : callOf(x, 'astype', ['float64']);
  const name = draw.of(['quantile', 'nanQuantile']);
  const q = draw.of([0.5, 0, 1, [0.25, 0.75]]);
  if (draw.below(3) === 0) return callOf(x, draw.of(['median', 'nanMedian']), [axis], ROUNDED);
  return draw.below(2) === 0
    ? callOf(of, name, [q, axis, { method: draw.of(SELECTING) }], { exact: of.exact, bound: undefined })
    : callOf(x, name, [q, axis, { method: draw.of(BETWEEN) }], ROUNDED);
}

/** Of a size that depends on data, its elements reduced. */
const REDUCED: readonly Row[] = [
  (x) => callOf(x, 'sum', [sizedAxis(x)], sumOf(x, sizeOf(x.lazy.shape))),
  (x) => callOf(x, 'sum', [null, { keepdims: true }], sumOf(x, sizeOf(x.lazy.shape))),
  (x) => (x.exact ? callOf(x, 'countNonzero', [sizedAxis(x)], integersTo(sizeOf(x.lazy.shape))) : undefined),
  (x) => (x.exact ? callOf(x, 'any', [sizedAxis(x)], integersTo(1)) : undefined),
  (x, draw) => (isOrdered(x) ? quantileOf(x, draw) : undefined),
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
  return draw.of(draw.below(2) === 0 ? REDUCED : GATHERED)(made, draw, state);
};

export const SETS: readonly Row[] = [isin, inverse, sized, sized, sized, sized];
