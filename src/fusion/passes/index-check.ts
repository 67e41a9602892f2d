/**
 * Looks for indices out of range: the least and the largest of every index array of a graph are computed
 * before the graph is, since a gather by itself never reads outside of its axis, and keys of bins that are none
 * are left out. Called by `exec/run/evaluate.ts` and `exec/run/compiled-graph.ts`.
 *
 *     table.take(ids, 0)   →   min(ids), max(ids): -n <= min and max < n, or a RangeArgumentError
 */

import { checkedIndices } from '../../graph/checked-indices.js';
import type { CheckedIndices, Expr } from '../../graph/expr.js';
import { reduce, withinLength } from '../../graph/infer.js';
import { mayBeOut } from '../../graph/known-range.js';
import { checkIndex } from '../../graph/shape.js';
import { expected, isOwnError, RangeArgumentError } from '../../host/errors.js';
import { formatSite } from '../../host/site.js';

/** One index array, and the axis that it chooses from. */
export interface IndexCheck extends Omit<CheckedIndices, 'indices'> {
  /** The least and the largest index: scalars. */
  readonly ends: readonly [least: Expr, largest: Expr];
}

const endsOf = new WeakMap<Expr, IndexCheck['ends']>();

/** The checks of a node: none of indices that are known to be within their axis, or mean something elsewhere. */
export function checksOf(node: Expr): readonly IndexCheck[] {
  const checked = checkedIndices(node);
  if (checked.length === 0) return NONE;
  return checked.filter((check) => check.begins || mayBeOut(check)).map(checkOf);
}

/** Of most nodes, for which no list is made. */
const NONE: readonly IndexCheck[] = [];

function checkOf({ indices, ...check }: CheckedIndices): IndexCheck {
  let ends = endsOf.get(indices);
  if (ends === undefined) {
    const axes = indices.shape.map((_, k) => k);
    // Behind the length of an axis whose size depends on data nothing is an index.
    const known = indices.extent === undefined ? indices : withinLength(indices, 0);
    ends = [reduce('min', known, axes), reduce('max', known, axes)];
    endsOf.set(indices, ends);
  }
  return { ends, ...check };
}

const beginsElsewhere = (op: string, from: number, least: bigint): RangeArgumentError =>
  new RangeArgumentError(expected(op, `a first one of ${from}`, `${least}`));

/** Throws for an index that is out of range. `ends`: the values of the checks' ends, in their order. */
export function throwOutOfRange(
  checks: readonly IndexCheck[],
  ends: readonly (readonly [least: bigint, largest: bigint])[],
): void {
  for (const [k, { op, axis, size, from, begins, site }] of checks.entries()) {
    try {
      for (const end of ends[k]!) checkIndex(op, end, axis, size, from);
      if (begins && ends[k]![0] !== BigInt(from)) throw beginsElsewhere(op, from, ends[k]![0]);
    } catch (error) {
      const place = formatSite(site);
      if (isOwnError(error) && place !== undefined) error.message += `\n    made at ${place}`;
      throw error;
    }
  }
}
