/**
 * Joins of many parts, which users' functions make as joins of 16 each (`graph/joins.ts`):
 *
 *     join [join [a, b, …], join [q, r, …], …]   →   join [a, b, …, q, r, …]
 *
 * where one kernel can store all parts, so that what several of them need, as dependent rows do, is computed once. Those that
 * kernels read instead are joins of 16 again in the end: a kernel that reads a join computes each part for every element.
 */
import {
  Consumers,
  type GraphNode,
  type GraphNodeOf,
  type MutableGraph,
  nodeOf,
  orderOf,
  storedNode,
} from '../../graph/graph.js';
import type { Slices } from '../../host/slices.js';
import { isUnrolled, lengthOf } from './element-cost.js';
import { hasEqualParts, isOnlyStored } from './join-form.js';
import { type Editor, type Rule, rewriteInOneWalk } from './rewrite.js';

/** Parts that a kernel stores, at most. */
const MOST_STORED = 256;
/** Parts that a kernel chooses from. */
const MOST_READ = 16;
/** Nodes that the kernel of a join computes: it has less than twice as many instructions, and is not cut. */
const MOST_NODES = 640;

type Join = GraphNodeOf<'join'>;

/**
 * Takes the parts of joins for those of the join that reads them, along the same axis; also where others read them, since
 * reductions of the whole have their order by its parts.
 */
export function* flattenJoins(graph: MutableGraph): Slices<void> {
  const isOfJoins = (node: GraphNode | undefined): node is Join =>
    node?.kind === 'join' && node.inputs.some((id) => nodeOf(graph, id).kind === 'join');
  if (!graph.nodes.some(isOfJoins)) return;
  const { length } = graph.nodes;
  const flatten: Rule = (node, editor) => {
    if (!isOfJoins(node)) return undefined;
    const parts: number[] = [];
    for (const id of node.inputs) {
      const part = editor.node(id);
      const isPart = part.kind === 'join' && part.axis === node.axis && id < length;
      for (const each of isPart ? part.inputs : [id]) parts.push(each);
    }
    if (parts.length > MOST_STORED) return undefined;
    const flat = { ...node, inputs: parts };
    return hasEqualParts(flat, (id) => editor.node(id)) ? joinOf(flat, parts, editor) : undefined;
  };
  yield* rewriteInOneWalk(graph, { join: [flatten] });
}

const joinOf = ({ axis, dtype, shape }: Join, inputs: readonly number[], editor: Editor): number =>
  editor.add({ kind: 'join', axis, dtype, shape, inputs });

/** Makes joins of many parts that no kernel stores part by part joins of joins. */
export function* nestJoins(graph: MutableGraph): Slices<void> {
  const isLarge = (node: GraphNode | undefined): node is Join =>
    node?.kind === 'join' && node.inputs.length > MOST_READ;
  if (!graph.nodes.some(isLarge)) return;
  const consumers = new Consumers(graph, orderOf(graph));
  yield;
  const stored = new Set(graph.outputs.map((id) => storedNode(graph, id)));
  const isStored = ({ id }: Join): boolean =>
    isOnlyStored(id, consumers) && (stored.has(id) || consumers.first[id]! < consumers.first[id + 1]!);
  const nest: Rule = (node, editor) => {
    if (!isLarge(node)) return undefined;
    const isInParts = node.id < consumers.first.length - 1 && isStored(node);
    if (isInParts && hasEqualParts(node, (id) => editor.node(id)) && isShort(node, editor)) return undefined;
    const fewer: number[] = [];
    for (let k = 0; k < node.inputs.length; k += MOST_READ) {
      const parts = node.inputs.slice(k, k + MOST_READ);
      const length = parts.reduce((sum, id) => sum + editor.node(id).shape[node.axis]!, 0);
      const own = { ...node, shape: node.shape.with(node.axis, length) };
      fewer.push(parts.length === 1 ? parts[0]! : joinOf(own, parts, editor));
    }
    return joinOf(node, fewer, editor);
  };
  yield* rewriteInOneWalk(graph, { join: [nest] });
}

/** Whether a kernel that stores all parts of a join is short enough. */
function isShort(join: Join, editor: Editor): boolean {
  let count = 0;
  const seen = new Set<number>();
  const open = [...join.inputs];
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    if (seen.has(id)) continue;
    seen.add(id);
    const node = editor.node(id);
    count += weightOf(node, editor);
    if (count > MOST_NODES) return false;
    const isPassed =
      node.kind !== 'contract' &&
      node.kind !== 'call' &&
      node.kind !== 'loop' &&
      (node.kind !== 'reduce' || isUnrolled(node));
    if (isPassed) for (const input of node.inputs) open.push(input);
  }
  return true;
}

/** Instructions of an element of a node. */
function weightOf(node: GraphNode, editor: Editor): number {
  if (isUnrolled(node)) return 2 * lengthOf(node, editor.node(node.inputs[0]!));
  if (node.kind === 'join') return 3 * node.inputs.length;
  return 1;
}
