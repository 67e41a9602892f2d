/**
 * Connected components of masks, and what is computed of each. Called by `api/ndimage-labels.ts`.
 *
 * On the CPU a routine does it. On a GPU one finds the least place of each element's component, whatever the order in
 * which neighbours meet; the places that are their own are the components, and a running count of them numbers
 * components in the order in which a scan through the array meets them, as SciPy does.
 */
import { call } from './calls.js';
import type { Expr } from './expr.js';
import type { KnownArray } from './filter-arguments.js';
import { denseStrides, sizeOfShape } from './graph.js';
import { cast, constant, iota, map, reduce } from './infer.js';
import { placeDType } from './routine-row.js';
import { cumulativeSum } from './scans.js';
import { broadcast, gather, reshape } from './view-nodes.js';

/** The labels of a mask, from 1, and their number. */
export function labelled(
  mask: Expr,
  neighbours: readonly (readonly number[])[],
): { labels: Expr; count: Expr } {
  const size = sizeOfShape(mask.shape);
  const dtype = placeDType(size);
  if (size === 0) return { labels: broadcast(constant(0, dtype), mask.shape), count: constant(0, dtype) };
  const parameters = neighbours.flat().map((by) => by + 1);
  const [labels, count] = call('labels', parameters, [mask]);
  return { labels: labels!, count: count! };
}

/** The results of the routine by places of components and a scan. */
export function labelledByScan(
  mask: Expr,
  parameters: readonly number[],
): readonly [labels: Expr, count: Expr] {
  const size = sizeOfShape(mask.shape);
  const dtype = placeDType(size);
  const [found] = call('components', parameters, [mask]);
  const roots = reshape(found!, [size]);
  const isRoot = cast(map('equal', [roots, cast(iota(size), dtype)]), dtype);
  const numbers = cumulativeSum(isRoot, 0, { dtype });
  const places = cast(map('maximum', [roots, 0]), 'int64');
  const own = gather(numbers, places, 0, 'clip', [size]);
  const labels = map('where', [map('less', [roots, 0]), cast(constant(0, 'int64'), dtype), own]);
  return [reshape(labels, mask.shape), cast(reduce('sum', isRoot, [0]), dtype)];
}

/** The offsets of a symmetric structure that are before its middle in C order; undefined: it is not symmetric. */
export function neighboursBefore({ shape, values }: KnownArray): number[][] | undefined {
  const strides = denseStrides(shape);
  const middle = (values.length - 1) / 2;
  if (values.some((value, k) => (value !== 0) !== (values[values.length - 1 - k] !== 0))) return undefined;
  return values.slice(0, middle).flatMap((value, k) => {
    if (value === 0) return [];
    return [shape.map((n, axis) => (Math.floor(k / strides[axis]!) % n) - 1)];
  });
}
