/**
 * Unique values, and sets of them. Every export is also a method of Lazy and a free function
 * (`fluent.ts`); functions of several results are in `api/sets.ts`. Sizes of results depend on data (`extent.ts`).
 *
 * Elements are sorted; those that differ from the one before are the distinct ones. NaN differs from NaN, as in the
 * array API standard; of -0 and 0, which are equal, -0 is given.
 */
import { DTypeError, expected } from '../host/errors.js';
import { distinctIn, firsts, isForTable, placesWhere, uniqueIn } from './compaction.js';
import { isComplex, isFloat } from './dtype.js';
import type { Expr } from './expr.js';
import { upToBound, withExtent } from './extent.js';
import { sizeOfShape } from './graph.js';
import { cast, constant, map, meetingDType, type Operand, toExpr } from './infer.js';
import { concat } from './joins.js';
import { firstBehind } from './lines.js';
import { isin } from './searching.js';
import { sort } from './sorting.js';
import { broadcast, gather } from './view-nodes.js';
import { flatten } from './views.js';

/**
 * The distinct elements in ascending order, as `unique_values` of the array API standard: each NaN by itself, at the
 * end. Complex numbers are in the order of `sort`. The size of the result depends on data.
 *
 * @example
 * await lazy([3, 1, 3, 2]).uniqueValues().compute()
 * //=> [1. 2. 3.]
 */
export function uniqueValues(x: Expr): Expr {
  if (sizeOfShape(x.shape) === 0) return broadcast(constant(0, x.dtype), [0]);
  const line = flatten(x);
  if (line.extent === undefined) return distinctOf(line);
  const { length } = line.extent;
  const behind = map('subtract', [line.shape[0]!, length]);
  // Each NaN behind the length is a distinct one; an element that is there is none.
  const hasNaN = isFloat(x.dtype) || isComplex(x.dtype);
  const found = hasNaN ? distinctIn(upToBound(sort(line))) : distinctOf(firstBehind(line));
  const count = found.extent!.length;
  return withExtent(found, 0, hasNaN ? map('subtract', [count, behind]) : map('minimum', [count, length]));
}

/** The distinct elements of a line that is as long as its shape says. */
function distinctOf(line: Expr): Expr {
  const sorted = sort(line);
  return isForTable(line) ? uniqueIn(line, sorted) : distinctIn(sorted);
}

/**
 * The distinct elements of two arrays of any shapes together, in ascending order, as NumPy's `union1d`, in their common
 * dtype. The size of the result depends on data.
 *
 * @example
 * await lazy([3, 1]).union(lazy([2, 3])).compute()
 * //=> [1. 2. 3.]
 */
export function union(x: Expr, other: Operand): Expr {
  return uniqueValues(concat([x, toExpr('union', other)], null, 'union'));
}

/**
 * The distinct elements of an array that are among those of another one, in ascending order, as NumPy's `intersect1d`,
 * in their common dtype. The size of the result depends on data. Throws a DTypeError for complex numbers.
 *
 * @example
 * await lazy([3, 1, 2]).intersect(lazy([2, 3, 4])).compute()
 * //=> [2. 3.]
 */
export function intersect(x: Expr, other: Operand): Expr {
  const test = toExpr('intersect', other);
  const sorted = sort(realIn('intersect', x, meetingDType('intersect', [x, test])), null);
  return chosenFrom(sorted, (line) => isin(line, test));
}

/**
 * The distinct elements of an array that are not among those of another one, in ascending order, as NumPy's
 * `setdiff1d`. The size of the result depends on data. Throws a DTypeError for complex numbers.
 *
 * @example
 * await lazy([3, 1, 2, 1]).setdiff(lazy([2])).compute()
 * //=> [1. 3.]
 */
export function setdiff(x: Expr, other: Operand): Expr {
  const sorted = sort(realIn('setdiff', x, x.dtype), null);
  const test = toExpr('setdiff', other);
  return chosenFrom(sorted, (line) => isin(line, test, { invert: true }));
}

function realIn(op: string, x: Expr, dtype: Expr['dtype']): Expr {
  if (isComplex(dtype)) throw new DTypeError(expected(op, 'real numbers or booleans', dtype));
  return cast(x, dtype);
}

/** The distinct elements of a line in order of which others hold. */
function chosenFrom(sorted: Expr, isChosen: (line: Expr) => Expr): Expr {
  const line = upToBound(sorted);
  if (sizeOfShape(line.shape) === 0) return broadcast(constant(0, line.dtype), [0]);
  const places = placesWhere(map('logicalAnd', [firsts(sorted), isChosen(line)]));
  return gather(line, places, 0, 'clip', places.shape);
}
