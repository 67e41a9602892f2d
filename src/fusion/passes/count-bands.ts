/**
 * Counts of elements within neighbouring bands of one array compare each element once with each bound.
 *
 *     Σ (a ≤ x < b), Σ (b ≤ x < c), Σ (c ≤ x < d)   →   A - B, B - C, C - D,  where A = Σ (x ≥ a), B = Σ (x ≥ b) …
 *
 * Counts are integers, so that values do not change. NaN is in no band, and in none of the counts. Where bands share
 * no bounds they stay as they are.
 */

import type { GraphNode, GraphNodeOf, MutableGraph } from '../../graph/graph.js';
import type { OpName } from '../../graph/ops.js';
import type { Slices } from '../../host/slices.js';
import { constantOf } from './constant-of.js';
import { type Editor, rewriteInOneWalk } from './rewrite.js';

/** The elements from a bound on, with those that are equal to it or without. */
interface Bound {
  readonly op: 'greater' | 'greaterEqual';
  /** The node of its constant. */
  readonly at: number;
  readonly value: number;
}

/** A sum over a mask of x: the elements above `low` that are not above `high`. */
interface Band {
  readonly x: number;
  readonly low: Bound;
  readonly high: Bound;
}

export function* countBands(graph: MutableGraph): Slices<void> {
  const masks = graph.nodes.filter((node) => node?.kind === 'map' && node.op === 'logicalAnd');
  if (masks.length < 2) return;
  let shared: ReadonlySet<number> | undefined;
  const rule = (node: GraphNode, editor: Editor): number | undefined => {
    shared ??= neighbours(graph, editor);
    return shared.has(node.id) ? difference(node as GraphNodeOf<'reduce'>, editor) : undefined;
  };
  yield* rewriteInOneWalk(graph, { reduce: [rule] });
}

/** The elements above a bound by the op that compares with it: x < b are those that are not in x ≥ b. */
const ABOVE: Partial<Readonly<Record<OpName, Bound['op']>>> = {
  greater: 'greater',
  greaterEqual: 'greaterEqual',
  less: 'greaterEqual',
  lessEqual: 'greater',
};

/** x and the bound of a comparison with a constant. */
function comparison(id: number, editor: Editor): { x: number; bound: Bound; isLow: boolean } | undefined {
  const node = editor.node(id);
  if (node.kind !== 'map') return undefined;
  const op = ABOVE[node.op];
  const [x, at] = node.inputs;
  const value = at === undefined ? undefined : constantOf(at, editor);
  if (op === undefined || x === undefined || at === undefined || typeof value !== 'number') return undefined;
  return Number.isNaN(value)
    ? undefined
    : { x, bound: { op, at, value }, isLow: node.op.startsWith('greater') };
}

/** The band whose elements a sum counts. */
function bandOf(node: GraphNode, editor: Editor): Band | undefined {
  if (node.kind !== 'reduce' || node.reduction !== 'sum' || node.dtype !== 'int64') return undefined;
  const cast = editor.node(node.inputs[0]!);
  const mask = cast.kind === 'cast' ? editor.node(cast.inputs[0]!) : cast;
  if (mask.kind !== 'map' || mask.op !== 'logicalAnd') return undefined;
  const [first, second] = mask.inputs.map((id) => comparison(id, editor));
  const low = [first, second].find((each) => each?.isLow === true);
  const high = [first, second].find((each) => each?.isLow === false);
  if (low === undefined || high === undefined || low.x !== high.x) return undefined;
  const isOpen = low.bound.op === 'greater' && high.bound.op === 'greaterEqual';
  const isBand = low.bound.value < high.bound.value || (low.bound.value === high.bound.value && !isOpen);
  return isBand ? { x: low.x, low: low.bound, high: high.bound } : undefined;
}

/** The sums over bands of one array and the same axes that have fewer bounds than comparisons. */
function neighbours(graph: MutableGraph, editor: Editor): ReadonlySet<number> {
  const groups = new Map<string, { sums: number[]; bounds: Set<string> }>();
  for (const node of graph.nodes) {
    const band = node && bandOf(node, editor);
    if (node?.kind !== 'reduce' || band === undefined) continue;
    const key = `${band.x} over ${node.axes.join()}`;
    const group = groups.get(key) ?? { sums: [], bounds: new Set() };
    group.sums.push(node.id);
    for (const { op, value } of [band.low, band.high]) group.bounds.add(`${op} ${value}`);
    groups.set(key, group);
  }
  const isFewer = ({ sums, bounds }: { sums: number[]; bounds: Set<string> }): boolean =>
    2 * bounds.size <= 3 * sums.length;
  return new Set([...groups.values()].filter(isFewer).flatMap(({ sums }) => sums));
}

/** The count of a band from those of its bounds. */
function difference(node: GraphNodeOf<'reduce'>, editor: Editor): number {
  const { x, low, high } = bandOf(node, editor)!;
  const { shape } = editor.node(x);
  const counts = [low, high].map(({ op, at }) => {
    const mask = editor.add({ kind: 'map', op, dtype: 'bool', shape: [...shape], inputs: [x, at] });
    const ones = editor.add({ kind: 'cast', dtype: 'int64', shape: [...shape], inputs: [mask] });
    const { reduction, axes } = node;
    return editor.add({
      kind: 'reduce',
      reduction,
      axes: [...axes],
      dtype: 'int64',
      shape: [...node.shape],
      inputs: [ones],
    });
  });
  return editor.add({ kind: 'map', op: 'subtract', dtype: 'int64', shape: [...node.shape], inputs: counts });
}
