/**
 * Selects elements of a line without their places, where they are a result and nothing else reads them, or the places:
 *
 *     gather x (compact mask).places   →   compact mask x
 *
 * so that places of 8 bytes are neither written nor read. For plans that hold everything at once: a gather can be cut
 * into tiles, a compaction cannot. Reductions of the elements stay as they are: they would have another order.
 */
import {
  type Graph,
  type GraphNode,
  type GraphNodeOf,
  type MutableGraph,
  nodeOf,
  orderOf,
} from '../../graph/graph.js';
import type { Slices } from '../../host/slices.js';
import { type Editor, rewriteInOneWalk } from './rewrite.js';

type Call = GraphNodeOf<'call'>;
type Gather = GraphNodeOf<'gather'>;
type GraphNodes = Pick<Graph, 'nodes'>;

const isCompaction = (node: GraphNode): node is Call =>
  node.kind === 'call' && node.routine === 'compact' && node.inputs.length === 1;

export function* compactValues(graph: MutableGraph): Slices<void> {
  if (!hasPlaces(graph)) return;
  const lines = selectedLines(graph);
  if (lines.size === 0) return;
  const selection = (mask: number, line: number, result: 0 | 1, editor: Editor): number => {
    const { dtype, shape } = editor.node(line);
    const data = { kind: 'call', routine: 'compact', parameters: [], result, inputs: [mask, line] } as const;
    return editor.add(result === 0 ? { ...data, dtype, shape } : { ...data, dtype: 'int64', shape: [] });
  };
  yield* rewriteInOneWalk(graph, {
    gather: [
      (node, editor) => {
        const [line, places] = node.inputs as readonly [number, number];
        const call = editor.node(places);
        return lines.has(places) && isCompaction(call)
          ? selection(call.inputs[0]!, line, 0, editor)
          : undefined;
      },
    ],
    call: [
      (node, editor) => {
        if (!isCompaction(node) || node.result !== 1) return undefined;
        const found = [...lines].find(([places]) => editor.node(places).inputs[0] === node.inputs[0]);
        return found && selection(node.inputs[0]!, found[1], 1, editor);
      },
    ],
  });
}

/** Whether a compaction of the graph gives places. */
export const hasPlaces = ({ nodes }: GraphNodes): boolean =>
  nodes.some((node) => node !== undefined && isCompaction(node));

/** Whether one gives elements. */
export const hasCompactedValues = ({ nodes }: GraphNodes): boolean =>
  nodes.some((node) => node?.kind === 'call' && node.routine === 'compact' && node.inputs.length > 1);

/** By the places of each compaction that does nothing but select a result from a line as long as its mask: that line. */
function selectedLines(graph: MutableGraph): ReadonlyMap<number, number> {
  const order = orderOf(graph);
  const readers = new Map<number, GraphNode[]>();
  for (const id of order) {
    const node = nodeOf(graph, id);
    for (const input of node.inputs) readers.set(input, [...(readers.get(input) ?? []), node]);
  }
  const lines = new Map<number, number>();
  for (const places of order) {
    const from = nodeOf(graph, places);
    const [reader, ...more] = readers.get(places) ?? [];
    if (reader === undefined || more.length > 0 || readers.has(reader.id) || graph.outputs.includes(places))
      continue;
    if (!isCompaction(from) || from.result !== 0 || !isSelection(graph, reader, from)) continue;
    const line = reader.inputs[0]!;
    if (!needs(graph, line, from.inputs[0]!)) lines.set(places, line);
  }
  return lines;
}

const isSelection = (graph: MutableGraph, node: GraphNode, places: Call): node is Gather => {
  if (node.kind !== 'gather' || node.mode !== 'clip' || node.inputs[1] !== places.id) return false;
  const { shape } = nodeOf(graph, node.inputs[0]!);
  return shape.length === 1 && shape[0] === places.shape[0] && node.inputs[0] !== places.id;
};

/** Whether a node is computed from the compaction of a mask, which then cannot be the node's. */
function needs(graph: MutableGraph, start: number, mask: number): boolean {
  const seen = new Set<number>();
  const rest = [start];
  for (let id = rest.pop(); id !== undefined; id = rest.pop()) {
    if (seen.has(id)) continue;
    seen.add(id);
    const node = nodeOf(graph, id);
    if (isCompaction(node) && node.inputs[0] === mask) return true;
    rest.push(...node.inputs);
  }
  return false;
}
