/** Groups: `x.groupBy(…)`, whose rows are reduced group by group. Made by `lazy.ts`. */

import { binMode, binsBy, checkCount, keysOf } from '../graph/bin-arguments.js';
import { countsIn } from '../graph/binning.js';
import type { Expr } from '../graph/expr.js';
import {
  type SegmentOptions,
  segmentMax,
  segmentMean,
  segmentMin,
  segmentProd,
  segmentSum,
} from '../graph/segment-reductions.js';
import { called } from '../host/site.js';

/** The arrays that reductions of groups give, by their dtypes. */
export interface GroupResults {
  readonly sum: unknown;
  readonly mean: unknown;
  readonly same: unknown;
  readonly count: unknown;
}

/**
 * The rows of an array (along the first axis) in groups: row i is of group `keys[i]`, 0 … groups - 1. Every
 * method gives an array of shape (groups, …).
 */
export class Groups<Results extends GroupResults> {
  readonly #x: Expr;
  readonly #keys: Expr;
  readonly #groups: number;
  readonly #options: SegmentOptions | undefined;
  readonly #wrap: (expr: Expr) => unknown;

  constructor(
    x: Expr,
    keys: Expr,
    groups: number,
    options: SegmentOptions | undefined,
    wrap: (expr: Expr) => unknown,
  ) {
    this.#x = x;
    this.#keys = keys;
    this.#groups = groups;
    this.#options = options;
    this.#wrap = wrap;
    // Refuses keys and options where the groups are made.
    segmentSum(x, keys, groups, options);
  }

  /**
   * The sums of each group, as `segmentSum`: 0 of one without rows.
   *
   * @example
   * await lazy([[1, 2], [3, 4], [5, 6]]).groupBy(new Int32Array([0, 1, 0]), 2).sum().compute()
   * //=> [[6. 8.]
   * //=>  [3. 4.]]
   */
  sum(): Results['sum'] {
    return called(this.sum, () => this.#reduced(segmentSum)) as Results['sum'];
  }

  /**
   * The products of each group, as `segmentProd`: 1 of one without rows.
   *
   * @example
   * await lazy([1, 2, 3]).groupBy(new Int32Array([0, 1, 0]), 2).prod().compute()
   * //=> [3. 2.]
   */
  prod(): Results['sum'] {
    return called(this.prod, () => this.#reduced(segmentProd)) as Results['sum'];
  }

  /**
   * The means of each group, as `segmentMean`: NaN of one without rows.
   *
   * @example
   * await lazy([1, 2, 3]).groupBy(new Int32Array([0, 1, 0]), 2).mean().compute()
   * //=> [2. 2.]
   */
  mean(): Results['mean'] {
    return called(this.mean, () => this.#reduced(segmentMean)) as Results['mean'];
  }

  /**
   * The least of each group, as `segmentMin`.
   *
   * @example
   * await lazy([1, 2, 3]).groupBy(new Int32Array([0, 1, 0]), 2).min().compute()
   * //=> [1. 2.]
   */
  min(): Results['same'] {
    return called(this.min, () => this.#reduced(segmentMin)) as Results['same'];
  }

  /**
   * The largest of each group, as `segmentMax`.
   *
   * @example
   * await lazy([1, 2, 3]).groupBy(new Int32Array([0, 1, 0]), 2).max().compute()
   * //=> [3. 2.]
   */
  max(): Results['same'] {
    return called(this.max, () => this.#reduced(segmentMax)) as Results['same'];
  }

  /**
   * The int64 number of rows in each group, of shape (groups).
   *
   * @example
   * await lazy([1, 2, 3]).groupBy(new Int32Array([0, 1, 0]), 2).count().compute()
   * //=> [2 1]
   */
  count(): Results['count'] {
    return called(this.count, () => {
      const op = 'groupBy';
      const count = checkCount(op, 'number of groups', this.#groups);
      const mode = binMode(op, this.#options?.mode, 'raiseFromEnd');
      const bins = binsBy(op, count, keysOf(op, this.#keys), mode);
      return this.#wrap(countsIn(bins));
    }) as Results['count'];
  }

  #reduced(reduction: typeof segmentSum): unknown {
    return this.#wrap(reduction(this.#x, this.#keys, this.#groups, this.#options));
  }
}
