/**
 * Looks for indices out of range: the least and the largest of every index array of a graph are computed
 * before the graph is, since a gather by itself never reads outside of its axis. Called by
 * `exec/run/evaluate.ts` and `exec/run/compiled-graph.ts`.
 *
 *     table.take(ids, 0)   →   min(ids), max(ids): -n <= min and max < n, or a RangeArgumentError
 */

import type { Expr, ExprOf, Site } from '../../graph/expr.js';
import { reduce } from '../../graph/infer.js';
import { checkIndex } from '../../graph/shape.js';
import { isOwnError } from '../../host/errors.js';
import { formatSite } from '../../host/site.js';

/** One index array, and the axis that it chooses from. */
export interface IndexCheck {
  /** The least and the largest index: int64 scalars. */
  readonly ends: readonly [least: Expr, largest: Expr];
  readonly axis: number;
  /** Elements of the axis. */
  readonly size: number;
  readonly site: Site | undefined;
}

const endsOf = new WeakMap<Expr, IndexCheck['ends']>();

/**
 * The check of a gather; undefined where every index is known to be within the axis, or says what it reads
 * elsewhere.
 */
export function checkOf({ mode, axis, inputs, site }: ExprOf<'gather'>): IndexCheck | undefined {
  const [array, index] = inputs as readonly [Expr, Expr];
  const size = array.shape[axis]!;
  if (mode !== 'raise' || mostOf(index) < size) return undefined;
  let ends = endsOf.get(index);
  if (ends === undefined) {
    const axes = index.shape.map((_, k) => k);
    ends = [reduce('min', index, axes), reduce('max', index, axes)];
    endsOf.set(index, ends);
  }
  return { ends, axis, size, site };
}

const MOST: ReadonlyMap<string, number> = new Map([
  ['uint8', 2 ** 8 - 1],
  ['uint16', 2 ** 16 - 1],
  ['uint32', 2 ** 32 - 1],
]);

/**
 * The largest that an index array without negative values can hold, as far as its nodes say; infinite
 * otherwise.
 */
function mostOf(index: Expr): number {
  for (let x = index; ; x = x.inputs[0]!) {
    if (x.kind === 'source' && x.source.type === 'iota') return x.shape[0]! - 1;
    if (x.kind === 'const' && (x.value as bigint) >= 0n) return Number(x.value);
    if (x.kind === 'reduce' && (x.reduction === 'argmax' || x.reduction === 'argmin'))
      return x.axes.reduce((n, axis) => n * x.inputs[0]!.shape[axis]!, 1) - 1;
    if (x.kind === 'cast' && MOST.has(x.inputs[0]!.dtype)) return MOST.get(x.inputs[0]!.dtype)!;
    if (x.kind !== 'view') return Number.POSITIVE_INFINITY;
  }
}

/** Throws for an index that is out of range. `values`: those of the checks' ends, in their order. */
export function throwOutOfRange(checks: readonly IndexCheck[], values: readonly bigint[]): void {
  for (const [k, { axis, size, site }] of checks.entries()) {
    try {
      for (const end of [values[2 * k]!, values[2 * k + 1]!]) checkIndex('take', end, axis, size);
    } catch (error) {
      const place = formatSite(site);
      if (isOwnError(error) && place !== undefined) error.message += `\n    made at ${place}`;
      throw error;
    }
  }
}
