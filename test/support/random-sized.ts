/**
 * Rows of random programs (`random-sets.ts`) that bring arrays whose size depends on data to known sizes: in bins, by
 * writing, and by products along the axis.
 */
import { isFloat } from '../../src/graph/dtype.js';
import { sizeOf } from './host.js';
import {
  callOf,
  integersTo,
  isReal,
  type Known,
  numbersOf,
  type Operand,
  ROUNDED,
  type Row,
  sumOf,
  valuesFor,
} from './random-calls.js';
import { componentsOf } from './random-values.js';

const axisOf = ({ lazy }: Operand): number => lazy.expr.extent!.axis;

/** 0 and 2, by the elements of a line; undefined where what they are is not known. */
const keysOf = (x: Operand): Operand | undefined =>
  x.lazy.ndim === 1 && isReal(x) && x.exact
    ? callOf(callOf(callOf(x, 'greater', [0]), 'astype', ['int32']), 'multiply', [2], integersTo(2))
    : undefined;

const productOf = (x: Operand, count: number): Known => {
  const bound = x.bound === undefined ? undefined : x.bound ** 2 * componentsOf(x.lazy.dtype);
  return sumOf({ ...x, bound }, count);
};

const bincount: Row = (x, draw) => {
  const keys = keysOf(x);
  const mode = draw.of(['raise', 'drop', 'wrap', 'clip'] as const);
  const bins = mode === 'raise' ? 3 : draw.of([1, 2, 4]);
  return keys && callOf(keys, 'bincount', [bins, null, { mode }], integersTo(sizeOf(x.lazy.shape)));
};

const segments: Row = (x, draw) => {
  const keys = keysOf(x);
  const name = draw.of(['segmentSum', 'segmentMax', 'segmentMin'] as const);
  const known = name === 'segmentSum' ? sumOf(x, sizeOf(x.lazy.shape)) : { exact: true, bound: undefined };
  return keys && callOf(x, name, [keys, draw.of([3, 5])], known);
};

/** Elements of a line of known size, updated at such keys by such values, or by one. */
const updated: Row = (x, draw) => {
  const keys = keysOf(x);
  if (keys === undefined || x.lazy.dtype === 'bool') return undefined;
  const values = draw.below(2) === 0 ? x : 3;
  const update = draw.of(['set', 'add', 'max', 'min'] as const);
  const most = Math.max(x.bound ?? Number.POSITIVE_INFINITY, 3);
  const bound = Number.isFinite(most) ? most : undefined;
  const known = update === 'add' ? sumOf({ ...x, bound }, sizeOf(x.lazy.shape) + 1) : { exact: true, bound };
  return callOf(callOf(valuesFor(draw, x, [4]), 'at', [keys]), update, [values], known);
};

const put: Row = (x, draw) => {
  const keys = keysOf(x);
  if (keys === undefined) return undefined;
  const base = valuesFor(draw, x, [2, 3]);
  return callOf(base, 'put', [keys, x], { exact: true, bound: undefined });
};

const squares: Row = (x) => callOf(x, 'vecdot', [x, axisOf(x)], productOf(x, x.lazy.shape[axisOf(x)]!));

/** Products with columns of a known matrix, beside the axis or along it. */
const product: Row = (x, draw) => {
  const { shape, dtype } = x.lazy;
  if (shape.length !== 2 || dtype === 'bool' || sizeOf(shape) > 2000) return undefined;
  const matrix = axisOf(x) === 0 ? x : callOf(x, 'transpose', []);
  const beside = numbersOf(draw, [matrix.lazy.shape[1]!, 2], 0, 2, dtype);
  const known = sumOf(x.bound === undefined ? x : { ...x, bound: 2 * x.bound }, sizeOf(shape));
  const rows = callOf(matrix, 'matmul', [beside], known);
  return callOf(rows, 'sum', [0], sumOf(rows, shape[axisOf(x)]!));
};

const isSame: Row = (x) =>
  x.exact && x.lazy.dtype !== 'bool'
    ? callOf(x, 'arrayEqual', [callOf(x, 'positive', [])], integersTo(1))
    : undefined;

const largest: Row = (x, draw) =>
  isReal(x) && x.exact ? callOf(x, draw.of(['nanMax', 'nanMin']), [axisOf(x)]) : undefined;

const average: Row = (x) =>
  isReal(x) && x.exact && isFloat(x.lazy.dtype)
    ? callOf(x, 'average', [callOf(callOf(x, 'square', []), 'add', [1]), axisOf(x)], ROUNDED)
    : undefined;

export const GATHERED: readonly Row[] = [
  bincount,
  segments,
  updated,
  put,
  squares,
  product,
  isSame,
  largest,
  average,
];
