/**
 * Looks for indices out of range: the least and the largest of every index array of a graph are computed
 * before the graph is, since a gather by itself never reads outside of its axis, and keys of bins that are none
 * are left out. Called by `exec/run/evaluate.ts` and `exec/run/compiled-graph.ts`.
 *
 *     table.take(ids, 0)   →   min(ids), max(ids): -n <= min and max < n, or a RangeArgumentError
 */

import { checkedIndices } from '../../graph/checked-indices.js';
import type { CheckedIndices, Expr } from '../../graph/expr.js';
import { reduce } from '../../graph/infer.js';
import { mayBeOut } from '../../graph/known-range.js';
import { checkIndex, noElements } from '../../graph/shape.js';
import { expected, isOwnError, RangeArgumentError } from '../../host/errors.js';
import { formatSite } from '../../host/site.js';

/** One index array, and the axis that it chooses from. */
export interface IndexCheck extends Omit<CheckedIndices, 'indices'> {
  /** The least and the largest index: scalars. */
  readonly ends: readonly [least: Expr, largest: Expr];
}

/** Values that a check looks at: the least and the largest index, and the size of the axis where it depends on data. */
export type Ends = readonly [least: bigint, largest: bigint, size?: bigint];

/** The same to be computed: scalars. */
export const computedFor = ({ ends, length }: IndexCheck): readonly Expr[] =>
  length === undefined ? ends : [...ends, counted(length)];

/** The values of what is computed for checks, in their order. */
export function endsIn(checks: readonly IndexCheck[], values: readonly bigint[]): Ends[] {
  let at = 0;
  return checks.map((check) => {
    const count = computedFor(check).length;
    at += count;
    return values.slice(at - count, at) as unknown as Ends;
  });
}

const endsOf = new WeakMap<Expr, IndexCheck['ends']>();
const counts = new WeakMap<Expr, Expr>();

/** A length where the places that it is the number of are counted, but not found. */
function counted(length: Expr): Expr {
  let count = counts.get(length);
  if (count === undefined) {
    if (length.kind === 'call' && length.routine === 'compact') count = reduce('sum', length.inputs[0]!, [0]);
    else if (length.kind === 'map' || length.kind === 'cast')
      count = { ...length, inputs: length.inputs.map(counted) };
    else count = length;
    counts.set(length, count);
  }
  return count;
}

/** The checks of a node: none of indices that are known to be within their axis, or mean something elsewhere. */
export function checksOf(node: Expr): readonly IndexCheck[] {
  const checked = checkedIndices(node);
  if (checked.length === 0) return NONE;
  return checked
    .filter((check) => check.begins || check.length !== undefined || mayBeOut(check))
    .map(checkOf);
}

/** Of most nodes, for which no list is made. */
const NONE: readonly IndexCheck[] = [];

function checkOf({ indices, ...check }: CheckedIndices): IndexCheck {
  let ends = endsOf.get(indices);
  if (ends === undefined) {
    const axes = indices.shape.map((_, k) => k);
    ends = [reduce('min', indices, axes), reduce('max', indices, axes)];
    endsOf.set(indices, ends);
  }
  return { ends, ...check };
}

const beginsElsewhere = (op: string, from: number, least: bigint): RangeArgumentError =>
  new RangeArgumentError(expected(op, `a first one of ${from}`, `${least}`));

/** Throws for an index that is out of range. `ends`: the values of the checks' ends, in their order. */
export function throwOutOfRange(checks: readonly IndexCheck[], ends: readonly Ends[]): void {
  for (const [k, { op, axis, size: bound, from, begins, site }] of checks.entries()) {
    const [least, largest, length] = ends[k]!;
    // Of indices whose number depends on data there may be none.
    if (least > largest) continue;
    try {
      if (length === 0n) throw new RangeArgumentError(noElements(op, axis));
      const [size, first] = length === undefined ? [bound, from] : [Number(length), -Number(length)];
      // As the steps of loops say it (`graph/step-checks.ts`).
      checkIndex(op, least < BigInt(first) ? least : largest, axis, size, first);
      if (begins && least !== BigInt(from)) throw beginsElsewhere(op, from, least);
    } catch (error) {
      const place = formatSite(site);
      if (isOwnError(error) && place !== undefined) error.message += `\n    made at ${place}`;
      throw error;
    }
  }
}
