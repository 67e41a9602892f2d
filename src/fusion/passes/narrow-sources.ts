/**
 * Narrows what is read from files, readers and arrays in pieces to what is used: a slice or a transpose that
 * is all that reads such a source becomes the source itself.
 *
 *     %0 = source 0 (1000, 1000);  %1 = slice %0 start [5 0] (1, 1000)   →   %1 = source 0, of 1000 elements
 *
 * A source that several nodes read stays as it is, so that it is read once. Called by `graph-building.ts`.
 */
import type { View } from '../../graph/expr.js';
import { type Graph, type GraphNode, type GraphNodeOf, nodeOf, sizeOfShape } from '../../graph/graph.js';
import { rangeOf } from '../kernel/boxes.js';
import { type StridedView, stridedViewOf } from '../partition/strided-view.js';
import type { SourceArray } from './source-array.js';

type SourceNode = GraphNodeOf<'source'>;

/** The replacement of a node that reads a source alone. */
export interface Narrowed {
  readonly node: SourceNode;
  /** The nodes that it takes the place of, besides its own. */
  readonly replaced: readonly number[];
  readonly array: SourceArray;
}

/** Views that reach fewer elements, or reach them in another order. */
const isNarrowing = ({ type }: View): boolean => type === 'permute' || type === 'slice';

const isRead = ({ source: { type } }: SourceArray): boolean =>
  type !== 'host' && type !== 'device' && type !== 'segment';

/** The sources to narrow; empty for graphs of arrays in memory, without a look at their nodes. */
export function narrowSources(graph: Graph, sources: readonly SourceArray[]): Narrowed[] {
  if (!sources.some(isRead)) return [];
  const nodes = graph.nodes.map((_, id) => nodeOf(graph, id));
  const readers = nodes.map((): number[] => []);
  for (const { id, inputs } of nodes) for (const input of inputs) readers[input]!.push(id);
  for (const output of graph.outputs) readers[output]!.push(-1);
  const uses = new Map<number, number>();
  for (const node of nodes) if (node.kind === 'source') uses.set(node.input, (uses.get(node.input) ?? 0) + 1);
  return nodes.flatMap((node) => {
    if (node.kind !== 'source' || uses.get(node.input) !== 1) return [];
    const array = sources[node.input]!;
    return isRead(array) ? (narrowed(nodes, readers, node, array) ?? []) : [];
  });
}

function narrowed(
  nodes: readonly GraphNode[],
  readers: readonly (readonly number[])[],
  source: SourceNode,
  array: SourceArray,
): Narrowed | undefined {
  let last: GraphNode = source;
  let strided: StridedView = source;
  const replaced: number[] = [];
  for (;;) {
    const readings: readonly number[] = readers[last.id]!;
    if (readings.length !== 1 || readings[0]! < 0) break;
    const next: GraphNode = nodes[readings[0]!]!;
    const seen =
      next.kind === 'view' && isNarrowing(next.view)
        ? stridedViewOf(next.view, strided, last.shape, next.shape)
        : undefined;
    if (seen === undefined) break;
    replaced.push(last.id);
    last = next;
    strided = seen;
  }
  const { id, shape } = last;
  if (id === source.id || sizeOfShape(shape) === 0) return undefined;
  const [low, high] = rangeOf(strided, shape);
  return {
    node: { ...source, id, shape, offset: strided.offset - low, strides: strided.strides },
    replaced,
    array: { ...array, start: array.start + low, elementCount: high - low + 1 },
  };
}
