/**
 * Updates: `x.at(…)`, which gives arrays with some elements set or combined with values. Made by `lazy.ts`, which
 * says how its arguments are nodes and its results arrays.
 */

import type { Update } from '../graph/box-updates.js';
import type { Expr } from '../graph/expr.js';
import type { Operand } from '../graph/infer.js';
import type { Selector } from '../graph/selectors.js';
import { type UpdateOptions, updatedAt } from '../graph/writing.js';
import { called } from '../host/site.js';

/** Conversions that updates take from the handle: of values to operands, and of nodes to arrays. */
interface Handles<Result> {
  readonly operand: (op: string, value: unknown) => Operand;
  readonly wrap: (expr: Expr) => Result;
}

/**
 * Some elements of an array, to be updated: every method gives a new array, which may take the memory of the old
 * one where nothing else reads that. Values broadcast to the shape that `slice` gives by the same selectors and
 * are brought to the array's dtype. By a mask, of rows (`x.at(rows)`), of columns (`x.at(null, columns)`) or of more axes
 * beside numbers and ranges, they broadcast to its axes instead of its true places,
 * unless the same mask selected them. Places that are selected twice are updated by both values, and the result does not
 * depend on an order; `set` keeps the last.
 */
export class Updates<Result, Values> {
  readonly #x: Expr;
  readonly #selectors: readonly (Selector | UpdateOptions)[];
  readonly #handles: Handles<Result>;

  constructor(x: Expr, selectors: readonly (Selector | UpdateOptions)[], handles: Handles<Result>) {
    this.#x = x;
    this.#selectors = selectors;
    this.#handles = handles;
  }

  /**
   * The values in place of the elements, the last one where there are several, as NumPy's `x[…] = values`.
   *
   * @example
   * const x = lazy([1, -2, 3])
   * await x.at(x.less(0)).set(0).compute()
   * //=> [1. 0. 3.]
   */
  set(values: Values): Result {
    return called(this.set, () => this.#updated('set', values));
  }

  /**
   * The elements and the values added up, as NumPy's `add.at`; sums of floats are rounded once, then added.
   *
   * @example
   * await zeros([3]).at([[0, 0, 2]]).add(1).compute()
   * //=> [2. 0. 1.]
   */
  add(values: Values): Result {
    return called(this.add, () => this.#updated('add', values));
  }

  /**
   * The elements less all the values, as NumPy's `subtract.at`. Throws a DTypeError for booleans.
   *
   * @example
   * await lazy([5, 5, 5]).at(-1).subtract(2).compute()
   * //=> [5. 5. 3.]
   */
  subtract(values: Values): Result {
    return called(this.subtract, () => this.#updated('subtract', values));
  }

  /**
   * The elements times all the values, as NumPy's `multiply.at`; of a place that is selected more than once, the
   * product of its values, as `segmentProd` gives it, is multiplied by the element.
   *
   * @example
   * await lazy([1, 2, 3]).at([[1, 2]]).multiply(10).compute()
   * //=> [ 1. 20. 30.]
   */
  multiply(values: Values): Result {
    return called(this.multiply, () => this.#updated('multiply', values));
  }

  /**
   * The least of the elements and the values, NaN where one is, as NumPy's `minimum.at`.
   *
   * @example
   * await lazy([1, 5, 9]).at([[1, 2]]).min(3).compute()
   * //=> [1. 3. 3.]
   */
  min(values: Values): Result {
    return called(this.min, () => this.#updated('min', values));
  }

  /**
   * The largest of the elements and the values, NaN where one is, as NumPy's `maximum.at`.
   *
   * @example
   * await lazy([1, 5, 1]).at([[0, 2]]).max(3).compute()
   * //=> [3. 5. 3.]
   */
  max(values: Values): Result {
    return called(this.max, () => this.#updated('max', values));
  }

  #updated(update: Update, values: Values): Result {
    const { operand, wrap } = this.#handles;
    return wrap(updatedAt(update, this.#x, this.#selectors, operand(`at.${update}`, values)));
  }
}
