/**
 * Replaces slices of joins by their parts, through maps and views, and writes maps of joins part by part:
 *
 *     k = stack [f, g];  slice 0 of (y + h * k)      →   slice 0 of y + h * f
 *     return y + h * stack [f, g]                    →   return join [slice 0 of y + h * f, slice 1 of y + h * g]
 *
 * An integrator that stacks its derivatives at each stage then is one kernel. Values do not change. Kernels write a
 * join part by part where its parts have one size and no kernel reads it as a whole (`partition/join-parts.ts`), so
 * that only such maps are written as joins. A map of a join of products of halves stays as it is: beside the product, it
 * would be rounded with it (`fuse-epilogues.ts`), in the part alone.
 */
import { isHalf } from '../../graph/dtype.js';
import {
  Consumers,
  type GraphNode,
  type MutableGraph,
  nodeOf,
  storedNode,
  topologicalOrder,
} from '../../graph/graph.js';
import type { Slices } from '../../host/slices.js';
import { isComputed } from './element-cost.js';
import { isElementwise, JoinCuts } from './join-cuts.js';
import { isInStretches, readsFromMemory } from './join-form.js';
import { flattenJoins } from './large-joins.js';
import { type Rule, rewrite, rewriteInOneWalk } from './rewrite.js';
import { viewOfView } from './simplify.js';
import { SliceTaker } from './take-slices.js';

/** Nodes that are made, at most, to write a map of a join part by part: as many as half a kernel holds. */
const MOST_MADE = 512;

export function* splitJoins(graph: MutableGraph): Slices<void> {
  if (!graph.nodes.some((node) => node?.kind === 'join')) return;
  yield* flattenJoins(graph);
  const sliced = new Set<number>();
  const cuts = yield* JoinCuts.of(graph);
  const takePart: Rule = (node, editor) => {
    if (node.kind !== 'view' || node.view.type !== 'slice') return undefined;
    const [input] = node.inputs;
    const { starts, steps } = node.view;
    const parts = cuts.ofParts(input!, { starts, steps, sizes: node.shape });
    if (parts === undefined) return undefined;
    const taken = new SliceTaker(editor, cuts, sliced).take(input!, parts);
    const rest = starts.map((start, axis) => start - parts.starts[axis]!);
    return editor.view(taken, { type: 'slice', starts: rest, steps }, node.shape);
  };
  yield* rewrite(graph, { view: [viewOfView, takePart] });
  yield* splitRoots(graph, sliced);
}

/** Writes the maps of joins that are only stored part by part. `sliced`: nodes whose parts are computed in any case. */
export function* splitRoots(graph: MutableGraph, sliced: Set<number>): Slices<void> {
  const stored = new Set(graph.outputs.map((id) => storedNode(graph, id)));
  const order = topologicalOrder({ ...graph, outputs: [...stored] });
  yield;
  const consumers = new Consumers(graph, order);
  yield;
  const cuts = yield* JoinCuts.of(graph);
  const region = { graph, cuts, sliced, rounded: roundedProducts(graph, order) };
  const roots = rootsIn(order, { consumers, stored, region });
  const split: Rule = (node, editor) => {
    const parts = roots.has(node.id) ? (roots.get(node.id) ?? partsOf(node, region)) : undefined;
    return parts && joinOfSlices(node, parts, new SliceTaker(editor, cuts, sliced));
  };
  if (roots.size > 0)
    yield* rewriteInOneWalk(graph, {
      map: [split],
      cast: [split],
      repeat: [split],
      function: [split],
      view: [split],
    });
}

/**
 * The nodes that are written part by part, with the parts where these are known: those that are only stored, where readers
 * that are written so do not count, since they take the parts:
 *
 *     v = stack [f, g];  x + v, both results   →   stack [f, g];  stack [x0 + f, x1 + g]
 */
function rootsIn(
  order: readonly number[],
  { consumers, stored, region }: { consumers: Consumers; stored: ReadonlySet<number>; region: Region },
): ReadonlyMap<number, Parts | undefined> {
  const { graph, cuts } = region;
  const roots = new Map<number, Parts | undefined>();
  /** Nodes of which parts alone are computed, and the axis along which these lie. */
  const inParts = new Map<number, number>();
  /** The axis of a node's parts that a reader takes; undefined: it reads the whole. */
  const taken = (reader: GraphNode, id: number): number | undefined => {
    const along = inParts.get(reader.id);
    const below = along === undefined ? [] : cuts.below(reader, along);
    return below.find((input) => input.id === id && cuts.of(id)[input.axis] !== undefined)?.axis;
  };
  for (const id of order.toReversed()) {
    if (cuts.of(id).length === 0) continue;
    const readers = consumers.list.slice(consumers.first[id]!, consumers.first[id + 1]!);
    const inKernels = readers.filter((reader) => !readsFromMemory(reader, id));
    const axes = new Set(inKernels.map((reader) => taken(reader, id)));
    if (axes.has(undefined) || axes.size > 1) continue;
    const [axis] = axes;
    const node = nodeOf(graph, id);
    const isStored = stored.has(id) || inKernels.length < readers.length;
    const parts = isStored ? partsOf(node, region) : undefined;
    const own = isStored ? parts?.axis : axis;
    if (axis !== undefined && own !== axis) continue;
    if (isStored) roots.set(id, parts);
    if (own !== undefined && node.kind !== 'join') inParts.set(id, own);
  }
  return roots;
}

/** The parts by which a node can be written. */
function partsOf(node: GraphNode, region: Region): Parts | undefined {
  for (const axis of region.cuts.axesOf(node.id)) {
    const parts = partsAlong(node, axis, region);
    if (parts !== undefined) return parts;
  }
  return undefined;
}

/** An axis of a node, and how many parts of one size it is joined of. */
interface Parts {
  readonly axis: number;
  readonly count: number;
}

interface Region {
  readonly graph: MutableGraph;
  readonly cuts: JoinCuts;
  readonly sliced: ReadonlySet<number>;
  readonly rounded: ReadonlySet<number>;
}

/** Products of halves, and what is computed of them. */
function roundedProducts(graph: MutableGraph, order: readonly number[]): ReadonlySet<number> {
  const rounded = new Set<number>();
  for (const id of order) {
    const node = nodeOf(graph, id);
    const isProduct = node.kind === 'contract' && isHalf(node.dtype);
    const isOfOne = isComputed(node) && node.inputs.some((input) => rounded.has(input));
    if (isProduct || isOfOne) rounded.add(id);
  }
  return rounded;
}

/**
 * The parts by which a node can be written along an axis, of one size; those of the joins below it. undefined: these
 * do not agree, or more would be computed apart than is worth it, or the node ends a reduction, whose kernel computes
 * it where it stays whole.
 */
function partsAlong(
  root: GraphNode,
  along: number,
  { graph, cuts, sliced, rounded }: Region,
): Parts | undefined {
  const places = cuts.of(root.id)[along]!;
  const count = places.length - 1;
  if (places.some((place, k) => place * count !== k * root.shape[along]!)) return undefined;
  if (!isInStretches(root.shape, along, count)) return undefined;
  let made = 0;
  const seen = new Set<number>();
  const stack = [{ id: root.id, axis: along }];
  for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
    const { id, axis } = at;
    const node = nodeOf(graph, id);
    if (seen.has(id) || sliced.has(id)) continue;
    seen.add(id);
    if (node.kind === 'reduce') return undefined;
    if (node.kind === 'join' && node.axis === axis) {
      const isWhole = (part: number): boolean => rounded.has(part) || nodeOf(graph, part).kind === 'join';
      if (node.inputs.length !== count || node.inputs.some(isWhole)) return undefined;
      continue;
    }
    if (isElementwise(node)) made++;
    if (made * count > MOST_MADE) return undefined;
    for (const below of cuts.below(node, axis)) stack.push(below);
  }
  return { axis: along, count };
}

function joinOfSlices(node: GraphNode, { axis, count }: Parts, taker: SliceTaker): number {
  const { shape, dtype } = node;
  const size = shape[axis]! / count;
  const parts = Array.from({ length: count }, (_, k) =>
    taker.take(node.id, {
      starts: shape.map((_, j) => (j === axis ? k * size : 0)),
      steps: shape.map(() => 1),
      sizes: shape.with(axis, size),
    }),
  );
  return taker.editor.add({ kind: 'join', axis, dtype, shape, inputs: parts });
}
