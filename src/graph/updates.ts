/**
 * Writing by arrays of indices: `put`, `putAlongAxis`. Every export is also a method of Lazy and a free function
 * (`fluent.ts`). `x.at(…)` is in `api/updates.ts`.
 */
import { expected, ShapeError } from '../host/errors.js';
import { checkOptions } from './arguments.js';
import type { OutOfRange } from './bin-arguments.js';
import type { Expr } from './expr.js';
import { formatShape } from './format.js';
import { sizeOfShape } from './graph.js';
import { type IndexList, int64Array, integers, listed } from './index-lists.js';
import { take } from './indexing.js';
import { iota, isExpr, type Operand } from './infer.js';
import { normalizeAxis } from './shape.js';
import { takenAlong } from './taking.js';
import { broadcast, reshape } from './view-nodes.js';
import { flatten } from './views.js';
import { modeOf, updatedIn, valuesFor } from './writing.js';

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
  const keys = flatten(indicesOf(op, indices));
  const given = flatten(valuesFor(op, 'set', x, values));
  const [count, size] = [keys.shape[0]!, given.shape[0]!];
  if (count === 0) return x;
  if (size === 0) throw new ShapeError(expected(op, 'values', 'none'));
  const rows =
    size === 1
      ? broadcast(given, [count])
      : size === count
        ? given
        : take(given, iota(count), 0, { mode: 'wrap' });
  const line = reshape(x, [sizeOfShape(x.shape)]);
  return reshape(updatedIn(op, 'set', line, keys, modeOf(op, options?.mode), rows), x.shape);
}

/**
 * The array with one element replaced for each index, along an axis (the last one by default): `x[…, indices[…, i,
 * …], …]` becomes `values[…, i, …]`, as NumPy's `put_along_axis`, which changes the array. Indices have as many
 * axes as x, whose other sizes agree or are 1; values broadcast to them. Of equal places the last value stays.
 * Errors are those of `takeAlongAxis`, with a DTypeError for values that the dtype does not hold.
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
): Expr {
  const op = 'putAlongAxis';
  const at = normalizeAxis(op, axis ?? -1, x.shape.length);
  const size = sizeOfShape(x.shape);
  const places = takenAlong(op, reshape(iota(size), x.shape), indicesOf(op, indices), at);
  const given = valuesFor(op, 'set', x, values);
  if (given.shape.length > places.shape.length) {
    const wanted = `values that broadcast to ${formatShape(places.shape)}`;
    throw new ShapeError(expected(op, wanted, formatShape(given.shape)));
  }
  const rows = flatten(broadcast(given, places.shape));
  return reshape(updatedIn(op, 'set', reshape(x, [size]), flatten(places), 'within', rows), x.shape);
}

/** Indices as an array of integers. */
function indicesOf(op: string, indices: Expr | number | IndexList): Expr {
  if (isExpr(indices)) return integers(op, indices);
  const { flat, shape } = listed(op, indices);
  return int64Array(flat, shape);
}
