/**
 * Gathers in kernels: the array that is read, through views, and the index that is read by. Called by
 * `kernel-loads.ts`.
 *
 * The coordinate along the gathered axis is one more axis of the domain for the views, behind all others. Its
 * stride in the array's buffer is that of the index:
 *
 *     take(permute x, ids) [i, j]  =  permute x [k, j], k = ids[i]   →   x[offset + strides · (i, j) + stride k]
 */
import type { Fold, GatherMode } from '../../graph/expr.js';
import { type Graph, type GraphNode, nodeOf } from '../../graph/graph.js';
import { create } from '../kernel/instruction.js';
import type { Affine } from '../kernel/kernel.js';
import type { TapeBuilder } from '../kernel/tape-builder.js';
import { type IndexMap, indexMap, mapThroughView, NeedsSplit, NotAffine } from './index-map.js';

/**
 * The map of a gathered array from its coordinates in the domain, of which the one along `axis` is the added
 * one.
 */
export function gatherMap(coordinates: readonly Affine[], axis: number): IndexMap {
  const wide = ({ offset, strides }: Affine, k: number): Affine => ({
    offset,
    strides: [...strides, k === axis ? 1 : 0],
  });
  return indexMap(coordinates.map(wide), []);
}

/** The domain for looking through views of an array: its sizes, the added axis among them. */
interface Through {
  readonly sizes: readonly number[];
  readonly isStored: (id: number) => boolean;
}

/**
 * The node that views of an array lead to, and the map for it; undefined where no affine map says the views.
 */
export function belowViews(
  graph: Graph,
  array: GraphNode,
  map: IndexMap,
  { sizes, isStored }: Through,
): { readonly base: GraphNode; readonly map: IndexMap } | undefined {
  let [base, own] = [array, map];
  while (base.kind === 'view' && !isStored(base.id)) {
    const input = nodeOf(graph, base.inputs[0]!);
    try {
      own = mapThroughView(base.view, own, base.shape, input.shape, sizes);
    } catch (error) {
      if (error instanceof NotAffine || error instanceof NeedsSplit) return undefined;
      throw error;
    }
    base = input;
  }
  return own.bounds.length + own.folds.length > 0 ? undefined : { base, map: own };
}

/** An index that is at most `foldReach` outside of an axis, folded back. */
export function foldedIndex(tape: TapeBuilder, index: number, size: number, mode: Fold): number {
  const int64 = (value: number): number => tape.add(create.constant('int64', BigInt(value)));
  if (mode === 'nearest') return inRange(tape, index, size, 'clip');
  if (mode === 'wrap') return inRange(tape, index, size, 'wrap');
  const edge = mode === 'reflect' ? 1 : 0;
  const left = tape.map('maximum', [index, tape.map('subtract', [int64(-edge), index])]);
  return tape.map('minimum', [left, tape.map('subtract', [int64(2 * (size - 1) + edge), left])]);
}

/** The index that is read, in 0 … size - 1: see `GatherMode`. */
export function inRange(tape: TapeBuilder, index: number, size: number, mode: GatherMode): number {
  if (mode === 'inRange') return index;
  const int64 = (value: number): number => tape.add(create.constant('int64', BigInt(value)));
  if (mode === 'wrap') return tape.map('remainder', [index, int64(size)]);
  const fromEnd = (): number => tape.map('add', [index, int64(size)]);
  const isNegative = (): number => tape.map('less', [index, int64(0)]);
  const counted = mode === 'raise' ? tape.map('where', [isNegative(), fromEnd(), index]) : index;
  return tape.map('minimum', [tape.map('maximum', [counted, int64(0)]), int64(size - 1)]);
}
