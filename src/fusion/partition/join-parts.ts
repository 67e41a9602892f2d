/**
 * Joins in kernels. One that is stored, and whose parts have one size, is written by a kernel over the domain of a
 * part, with a store for each:
 *
 *     stack [exp x, sin x] of n elements   →   parallel [n]; store b1[i] = exp b0[i]; store b1[n + i] = sin b0[i]
 *
 * Any other is read where it is needed, by an index that chooses among the parts that the domain reaches. Called by
 * `partition.ts` and `emit-kernel.ts`.
 */
import type { Shape } from '../../graph/expr.js';
import { type Consumers, type Graph, type GraphNodeOf, nodeOf } from '../../graph/graph.js';
import { holdsEverywhere, rangeOf } from '../kernel/boxes.js';
import type { Affine } from '../kernel/kernel.js';
import { hasEqualParts, isOnlyStored } from '../passes/join-form.js';
import { constantAffine, type IndexMap, indexMap, isFolded, NotAffine } from './index-map.js';

/**
 * The joins that are stored part by part where they are stored: those that no kernel reads as a whole, which could
 * then compute what it reads.
 */
export function joinsInParts(graph: Graph, order: readonly number[], consumers: Consumers): Set<number> {
  const found = new Set<number>();
  for (const id of order) {
    const node = nodeOf(graph, id);
    if (node.kind !== 'join' || !hasEqualParts(node, (part) => nodeOf(graph, part))) continue;
    if (isOnlyStored(id, consumers)) found.add(id);
  }
  return found;
}

/** A part of a join that a domain reaches. */
export interface ReachedPart {
  /** Its position among the join's inputs. */
  readonly position: number;
  /** The index along the join's axis at which it begins. */
  readonly start: number;
  readonly map: IndexMap;
}

/** The parts of a join that are read with an index map over a domain. Throws `NotAffine` where that folds the axis. */
export function reachedParts(
  { axis, shape }: Pick<GraphNodeOf<'join'>, 'axis' | 'shape'>,
  parts: readonly Shape[],
  map: IndexMap,
  sizes: readonly number[],
): ReachedPart[] {
  if (isFolded(map, axis)) throw new NotAffine();
  const along = map.coordinates[axis]!;
  const [low, high] = rangeOf(along, sizes);
  // Beyond the axis are elements that a pad leaves out.
  const last = shape[axis]! - 1;
  const from = Math.min(Math.max(low, 0), last);
  // Of a domain without elements the range ends before it begins.
  const to = Math.max(Math.min(high, last), from, 0);
  const reached: ReachedPart[] = [];
  let start = 0;
  for (const [position, part] of parts.entries()) {
    const size = part[axis]!;
    if (start <= to && start + size > from) reached.push({ position, start, map });
    start += size;
  }
  const isAlone = reached.length === 1;
  // A column beside columns: to read it for its neighbours costs less than to ask for each whether it is there.
  const isColumn = (size: number): boolean => size === 1 && axis === shape.length - 1;
  return reached.map((part) => {
    const size = parts[part.position]![axis]!;
    const own: Affine = { offset: along.offset - part.start, strides: along.strides };
    // A part of one element does not move along the axis, wherever it lies in memory: reductions have their order by that.
    const place = size === 1 ? constantAffine(0, sizes.length) : own;
    const bound = { ...own, size };
    const isFree = isColumn(size) || isAlone || holdsEverywhere(bound, sizes);
    const bounds = isFree ? map.bounds : [...map.bounds, bound];
    return { ...part, map: indexMap(map.coordinates.with(axis, place), bounds, map.folds) };
  });
}
