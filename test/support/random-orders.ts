/** Rows of random programs (`random-graph.ts`) that look at order: sorts, partitions, quantiles, searches, scans. */
import { isFloat } from '../../src/graph/dtype.js';
import { sizeOf } from './host.js';
import {
  callOf,
  integersTo,
  isReal,
  type Operand,
  partnerOf,
  ROUNDED,
  type Row,
  resultOf,
  sumOf,
} from './random-calls.js';

/** Whether orders of the elements are the same on every backend. */
const isOrdered = (x: Operand): boolean => isReal(x) && x.exact;

const sort: Row = (x, draw) => {
  if (!isReal(x)) return undefined;
  const axis = draw.below(5) === 0 ? null : draw.below(x.lazy.shape.length);
  const descending = draw.below(2) === 1;
  return draw.below(2) === 0 || !x.exact
    ? callOf(x, 'sort', [axis, { descending }])
    : callOf(x, 'argsort', [axis, { descending }], integersTo(sizeOf(x.lazy.shape)));
};

/** Others in the order of an array. */
const inOrder: Row = (x, draw, state) => {
  if (!isOrdered(x)) return undefined;
  const axis = draw.below(x.lazy.shape.length);
  const order = callOf(x, 'argsort', [axis]);
  if (draw.below(3) === 0) return callOf(order, 'argsort', [axis], integersTo(sizeOf(x.lazy.shape)));
  return callOf(
    partnerOf(x, draw, state, () => true),
    'takeAlongAxis',
    [order, axis],
  );
};

const lexsort: Row = (x, draw, state) => {
  if (!isOrdered(x)) return undefined;
  const other = partnerOf(x, draw, state, isOrdered);
  const axis = draw.below(x.lazy.shape.length);
  return resultOf('lexsort', [[other, x], axis], integersTo(sizeOf(x.lazy.shape)));
};

const partition: Row = (x, draw) => {
  if (!isOrdered(x)) return undefined;
  const axis = draw.below(x.lazy.shape.length);
  const size = x.lazy.shape[axis]!;
  const places = draw.below(2) === 0 ? draw.below(2 * size) - size : [draw.below(size), draw.below(size)];
  return draw.below(2) === 0
    ? callOf(x, 'partition', [places, axis])
    : callOf(x, 'argpartition', [places, axis], integersTo(size));
};

const topK: Row = (x, draw) => {
  if (!isOrdered(x)) return undefined;
  const axis = draw.below(x.lazy.shape.length);
  const size = x.lazy.shape[axis]!;
  const result = draw.of(['values', 'indices'] as const);
  const options = { axis, largest: draw.below(2) === 0 };
  const known = result === 'values' ? x : integersTo(size);
  return resultOf('topK', [x, draw.of([0, 1, Math.ceil(size / 2), size]), options], known, result);
};

export const SELECTING = ['lower', 'higher', 'nearest', 'inverted_cdf', 'closest_observation'] as const;
export const BETWEEN = [
  'linear',
  'midpoint',
  'hazen',
  'weibull',
  'median_unbiased',
  'averaged_inverted_cdf',
] as const;

const quantile: Row = (x, draw, state) => {
  if (!isOrdered(x)) return undefined;
  const axis = draw.below(3) === 0 ? null : draw.below(x.lazy.shape.length);
  const keepdims = draw.below(2) === 0;
  if (draw.below(4) === 0) return callOf(x, draw.of(['median', 'nanMedian']), [axis, { keepdims }], ROUNDED);
  const name = draw.of(['quantile', 'nanQuantile']);
  const q = draw.of([0.5, 0, 1, [0.25, 0.75]]);
  const weighing = partnerOf(x, draw, state, (other) => other.exact && other.lazy.dtype === 'bool');
  if (weighing.lazy.dtype === 'bool' && draw.below(2) === 0) {
    const weights = callOf(callOf(weighing, 'astype', ['float64']), 'add', [1]);
    return callOf(x, name, [q, axis, { keepdims, method: 'inverted_cdf', weights }]);
  }
  return draw.below(2) === 0
    ? callOf(x, name, [q, axis, { keepdims, method: draw.of(SELECTING) }])
    : callOf(x, name, [q, axis, { keepdims, method: draw.of(BETWEEN) }], ROUNDED);
};

const search: Row = (x, draw, state) => {
  if (!isOrdered(x)) return undefined;
  const line = callOf(x, 'flatten', []);
  const values = partnerOf(x, draw, state, (other) => isOrdered(other) && other.lazy.dtype === x.lazy.dtype);
  const side = draw.of(['left', 'right']);
  const known = integersTo(sizeOf(x.lazy.shape));
  if (draw.below(4) === 0) return callOf(values, 'digitize', [callOf(line, 'sort', [])], known);
  return draw.below(2) === 0
    ? callOf(line, 'searchsorted', [values, callOf(line, 'argsort', []), { side }], known)
    : callOf(callOf(line, 'sort', []), 'searchsorted', [values, null, { side }], known);
};

const scan: Row = (x, draw) => {
  const axis = draw.below(5) === 0 ? null : draw.below(x.lazy.shape.length);
  const reverse = draw.below(2) === 0;
  if (draw.below(2) === 0) {
    if (!isReal(x)) return undefined;
    return callOf(x, draw.of(['cumulativeMax', 'cumulativeMin']), [axis, { reverse }]);
  }
  const beside = draw.of([{}, { exclusive: true }, { includeInitial: true }] as const);
  const { dtype } = x.lazy;
  const isProduct = !isFloat(dtype) && isReal(x) && draw.below(3) === 0;
  if (isProduct)
    return callOf(x, 'cumulativeProd', [axis, { reverse, ...beside }], { exact: x.exact, bound: undefined });
  return callOf(x, 'cumulativeSum', [axis, { reverse, ...beside }], sumOf(x, sizeOf(x.lazy.shape)));
};

const diff: Row = (x, draw) =>
  callOf(x, 'diff', [{ n: draw.below(3), axis: draw.below(x.lazy.shape.length) }], sumOf(x, 4));

export const ORDERS: readonly Row[] = [
  sort,
  sort,
  inOrder,
  lexsort,
  partition,
  topK,
  quantile,
  search,
  scan,
  scan,
  diff,
];
