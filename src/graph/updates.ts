/**
 * Writing by arrays of indices: `put`, `putAlongAxis`. Every export is also a method of Lazy and a free function
 * (`fluent.ts`). `x.at(…)` is in `api/updates.ts`.
 */
import { expected, ShapeError } from '../host/errors.js';
import { checkOptions, oneOf } from './arguments.js';
import { OUT_OF_RANGE, type OutOfRange } from './bin-arguments.js';
import type { Expr } from './expr.js';
import { meetingExtent, needSizes, unknownSize } from './extent.js';
import type { Reading } from './filling.js';
import { sizeOfShape } from './graph.js';
import { type IndexList, indicesOf } from './index-lists.js';
import { take } from './indexing.js';
import { constant, iota, type Operand } from './infer.js';
import { normalizeAxis, sameShape } from './shape.js';
import { takenAlong } from './taking.js';
import { broadcast, reshape } from './view-nodes.js';
import { flatten } from './views.js';
import { modeOf, spread, updatedIn, valuesFor } from './writing.js';

/** Options of `put` and `putAlongAxis`. */
export interface PutOptions {
  /** `'raise'` by default; from -n on, negative indices count from the end. */
  readonly mode?: OutOfRange | undefined;
}

/**
 * The array with elements of its flat order replaced: the one at `indices[i]` by `values[i]`, as NumPy's `put`,
 * which changes the array. Values are used again from the first where they are fewer. Of an index that occurs
 * twice the last value stays. Throws a RangeArgumentError for indices out of range, before anything else is
 * computed, unless `mode` says what they are; a DTypeError for indices that are no integers and for values that
 * the dtype does not hold, a ShapeError for no values.
 *
 * @example
 * await lazy([1, 2, 3]).put([0, -1], lazy([10, 30])).compute()
 * //=> [10.  2. 30.]
 */
export function put(
  x: Expr,
  indices: Expr | number | IndexList,
  values: Operand,
  options?: PutOptions,
): Expr {
  const op = 'put';
  checkOptions(op, options, ['mode']);
  needSizes(op, x);
  const keys = indicesOf(op, indices);
  const given = valuesFor(op, 'set', x, values);
  const count = sizeOfShape(keys.shape);
  if (count === 0) return x;
  if (sizeOfShape(given.shape) === 0) throw new ShapeError(expected(op, 'values', 'none'));
  const line = reshape(x, [sizeOfShape(x.shape)]);
  const rows = valuesInTurn(op, given, keys);
  return reshape(updatedIn(op, 'set', line, keys, modeOf(op, options?.mode), rows), x.shape);
}

/** As many values as keys, from the first on again where they are fewer. */
function valuesInTurn(op: string, values: Expr, keys: Expr): Expr {
  const [count, size] = [sizeOfShape(keys.shape), sizeOfShape(values.shape)];
  if (size === 1) return broadcast(flatten(values), [count]);
  if (values.extent !== undefined) {
    if (!sameShape(values.shape, keys.shape)) throw unknownSize(op, values);
    meetingExtent(op, [keys, values], keys.shape);
    return values;
  }
  // Keys have to be in one order, whatever their number.
  if (keys.extent !== undefined && sizeOfShape(keys.shape.slice(0, keys.extent.axis)) > 1)
    throw unknownSize(op, keys);
  return size === count ? values : take(flatten(values), iota(count), 0, { mode: 'wrap' });
}

/**
 * The array with one element replaced for each index, along an axis (the last one by default): `x[…, indices[…, i,
 * …], …]` becomes `values[…, i, …]`, as NumPy's `put_along_axis`, which changes the array. Indices have as many
 * axes as x, whose other sizes agree or are 1; values broadcast to them. Of equal places the last value stays.
 * Options are those of `put`, errors those of `takeAlongAxis`, with a DTypeError for values that the dtype does not hold.
 *
 * @example
 * const x = lazy([[3, 1, 2], [9, 7, 8]])
 * await x.putAlongAxis(x.argmax(1, { keepdims: true }), 0, 1).compute()
 * //=> [[0. 1. 2.]
 * //=>  [0. 7. 8.]]
 */
export function putAlongAxis(
  x: Expr,
  indices: Expr | number | IndexList,
  values: Operand,
  axis?: number,
  options?: PutOptions,
): Expr {
  const op = 'putAlongAxis';
  checkOptions(op, options, ['mode']);
  needSizes(op, x);
  const at = normalizeAxis(op, axis ?? -1, x.shape.length);
  const size = sizeOfShape(x.shape);
  const places = takenAlong(
    op,
    reshape(iota(size), x.shape),
    indicesOf(op, indices),
    at,
    readingFor(op, options),
  );
  const given = spread(op, valuesFor(op, 'set', x, values), places);
  return reshape(updatedIn(op, 'set', reshape(x, [size]), places, 'within', given), x.shape);
}

/** How places are read that values are written to: -1 leaves one out. */
function readingFor(op: string, options: PutOptions | undefined): Reading {
  const mode = oneOf(op, 'a mode', OUT_OF_RANGE, options?.mode ?? 'raise');
  return mode === 'drop' ? { value: constant(-1, 'int64') } : mode;
}
