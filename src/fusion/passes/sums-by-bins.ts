/**
 * The two ways to sum floats by bin, which a graph has both of and which have the same bits:
 *
 *     binSums keys values (sums by units)   →   sums by units            for a GPU, and plans in which it does not fit
 *     binSums keys values (sums by units)   →   binSums keys values      for the CPU, in one pass over the values
 *
 * Called by the lists of passes of targets, ahead of all others.
 */
import type { Graph, GraphNode, MutableGraph } from '../../graph/graph.js';
import type { Slices } from '../../host/slices.js';
import { type Rule, rewriteInOneWalk } from './rewrite.js';

/** Whether a node has both ways. */
export const hasBothWays = (node: GraphNode | undefined): boolean =>
  node?.kind === 'call' && node.routine === 'binSums' && node.inputs.length === 3;

/** The sums by units of a node that has both ways. */
export const byUnits: Rule = (node) => (hasBothWays(node) ? node.inputs[2] : undefined);

const atOnce: Rule = (node, editor) =>
  node.kind === 'call' && hasBothWays(node)
    ? editor.add({ ...node, inputs: node.inputs.slice(0, 2) })
    : undefined;

const hasAny = ({ nodes }: Pick<Graph, 'nodes'>): boolean => nodes.some(hasBothWays);

export function* sumsByUnits(graph: MutableGraph): Slices<void> {
  if (hasAny(graph)) yield* rewriteInOneWalk(graph, { call: [byUnits] });
}

export function* sumsAtOnce(graph: MutableGraph): Slices<void> {
  if (hasAny(graph)) yield* rewriteInOneWalk(graph, { call: [atOnce] });
}
