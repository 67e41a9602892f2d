/**
 * Narrows what is read from files, readers and arrays in pieces to what is used: a slice or a transpose that is all that
 * reads such a source becomes the source itself.
 *
 *     %0 = source 0 (1000, 1000);  %1 = slice %0 start [5 0] (1, 1000)   →   %1 = source 0, of 1000 elements
 *
 * A source that several nodes read stays as it is, so that it is read once. Called by `canonicalize.ts`.
 */
import type { Expr, Shape, View } from '../graph/expr.js';
import { type GraphNodeData, sizeOfShape } from '../graph/graph.js';
import type { SourceArray } from './canonicalize.js';

type SourceData = Extract<GraphNodeData, { kind: 'source' }>;

/** A node as canonicalization has it; positions are ids. */
export interface SourceReader {
  readonly expr: Expr;
  readonly data: GraphNodeData;
  readonly inputs: readonly number[];
}

/** What becomes of a node that reads a source alone. */
export interface Narrowed {
  readonly id: number;
  readonly data: SourceData;
  /** The nodes that it takes the place of. */
  readonly replaced: readonly number[];
  readonly array: SourceArray;
}

/** Lowest and highest element of a line that a source of this shape reads. */
export function reach(
  { offset, strides }: { readonly offset: number; readonly strides: readonly number[] },
  shape: Shape,
): [number, number] {
  let low = offset;
  let high = offset;
  shape.forEach((n, k) => {
    const span = strides[k]! * (n - 1);
    if (span < 0) low += span;
    else high += span;
  });
  return [low, high];
}

const isRead = ({ source: { type } }: SourceArray): boolean =>
  type !== 'host' && type !== 'device' && type !== 'folded';

/** The sources to narrow; empty for graphs of arrays in memory, without a look at their nodes. */
export function narrowSources(
  nodes: readonly SourceReader[],
  outputs: readonly number[],
  sources: readonly SourceArray[],
): Narrowed[] {
  if (!sources.some(isRead)) return [];
  const readers = nodes.map((): number[] => []);
  for (const [id, { inputs }] of nodes.entries()) for (const input of inputs) readers[input]!.push(id);
  for (const output of outputs) readers[output]!.push(-1);
  const uses = new Map<number, number>();
  for (const { data } of nodes)
    if (data.kind === 'source') uses.set(data.input, (uses.get(data.input) ?? 0) + 1);
  return nodes.flatMap(({ data }, id) => {
    if (data.kind !== 'source' || uses.get(data.input) !== 1) return [];
    const array = sources[data.input]!;
    return isRead(array) ? (narrowed(nodes, readers, id, data, array) ?? []) : [];
  });
}

function narrowed(
  nodes: readonly SourceReader[],
  readers: readonly (readonly number[])[],
  first: number,
  source: SourceData,
  array: SourceArray,
): Narrowed | undefined {
  let id = first;
  let data = source;
  const replaced: number[] = [];
  for (;;) {
    const [reader, ...others] = readers[id]!;
    if (reader === undefined || reader < 0 || others.length > 0) break;
    const next = nodes[reader]!;
    const seen = next.data.kind === 'view' ? through(data, next.data.view) : undefined;
    if (seen === undefined) break;
    replaced.push(id);
    id = reader;
    data = seen;
  }
  const { shape } = nodes[id]!.expr;
  if (id === first || sizeOfShape(shape) === 0) return undefined;
  const [low, high] = reach(data, shape);
  return {
    id,
    data: { ...data, offset: data.offset - low },
    replaced,
    array: { ...array, start: array.start + low, elementCount: high - low + 1 },
  };
}

/** A source as a view of it sees it, where offset and strides can say so. */
function through({ kind, input, offset, strides }: SourceData, view: View): SourceData | undefined {
  switch (view.type) {
    case 'permute':
      return { kind, input, offset, strides: view.order.map((axis) => strides[axis]!) };
    case 'slice':
      return {
        kind,
        input,
        offset: view.starts.reduce((sum, start, k) => sum + start * strides[k]!, offset),
        strides: strides.map((stride, k) => stride * view.steps[k]!),
      };
    default:
      return undefined;
  }
}
