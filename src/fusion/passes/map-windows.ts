/**
 * Computes a cheap map that windows of neighbours read from their neighbours, instead of storing it for them:
 *
 *     y = x²;  y[0:n] + y[1:n + 1] + … + y[63:n + 63]   →   x[0:n]² + x[1:n + 1]² + … + x[63:n + 63]²
 *
 * Elements of a chunk that a thread of a GPU computes share what their neighbours have in common, so that a window of n
 * elements costs a little more than n / 4 maps for each. Fewer sites than these are weighed by the partition.
 */
import {
  Consumers,
  type GraphNode,
  type GraphNodeOf,
  type MutableGraph,
  nodeOf,
  storedNode,
  topologicalOrder,
} from '../../graph/graph.js';
import { sameShape } from '../../graph/shape.js';
import type { Slices } from '../../host/slices.js';
import { ElementCosts } from './element-cost.js';
import { isStretch } from './fold-rolls.js';
import { type Rule, rewrite } from './rewrite.js';

/** Elements of a chunk. */
const CHUNK_LENGTH = 4;
/** Slices of a value that make it one that windows read: fewer are computed at each where that pays. */
const LEAST_SLICES = 16;
/** Additions for each element of a chunk, at most: as long as it takes to store one and to read it again. */
const MOST_COST = 32;

type Map = GraphNodeOf<'map'> | GraphNodeOf<'cast'>;

const isMap = (node: GraphNode): node is Map => node.kind === 'map' || node.kind === 'cast';

export function* mapWindows(graph: MutableGraph): Slices<void> {
  let slices = 0;
  for (const node of graph.nodes) if (node !== undefined && isStretch(node)) slices++;
  if (slices < LEAST_SLICES) return;
  const order = topologicalOrder(graph);
  yield;
  const { first, list } = new Consumers(graph, order);
  yield;
  const costs = yield* ElementCosts.inSlices(graph, order);
  const stored = new Set(graph.outputs.map((id) => storedNode(graph, id)));
  /** Whether elements are those of arrays at the same places, and of scalars. */
  const isOfPlaces = (map: Map): boolean =>
    map.inputs.every((id) => {
      const input = nodeOf(graph, id);
      if (input.shape.length === 0) return true;
      if (!sameShape(input.shape, map.shape)) return false;
      return input.kind === 'source' || (isMap(input) && !stored.has(id) && isOfPlaces(input));
    });
  const isWindow = (map: Map): boolean => {
    const [from, to] = [first[map.id]!, first[map.id + 1]!];
    if (to - from < LEAST_SLICES || stored.has(map.id)) return false;
    const readers = list.slice(from, to);
    if (!readers.every(isStretch)) return false;
    const rows = new Set(readers.map(({ view }) => view.starts.slice(0, -1).join()));
    const maps = (readers.length + rows.size * (CHUNK_LENGTH - 1)) / CHUNK_LENGTH;
    return costs.at(map.id) * maps <= MOST_COST && isOfPlaces(map);
  };
  const windows = new Set<number>();
  const enter = (map: Map): void => {
    windows.add(map.id);
    for (const id of map.inputs) {
      const input = nodeOf(graph, id);
      if (isMap(input) && input.shape.length > 0) enter(input);
    }
  };
  for (const id of order) {
    const node = nodeOf(graph, id);
    if (isMap(node) && isWindow(node)) enter(node);
  }
  if (windows.size === 0) return;
  const ofNeighbours: Rule = (node, editor) => {
    if (!isStretch(node) || !windows.has(node.inputs[0]!)) return undefined;
    const { id: _, ...map } = editor.node(node.inputs[0]!) as Map;
    const inputs = map.inputs.map((input) =>
      editor.node(input).shape.length === 0 ? input : editor.view(input, node.view, node.shape),
    );
    return editor.add({ ...map, shape: node.shape, inputs });
  };
  yield* rewrite(graph, { view: [ofNeighbours] });
}
