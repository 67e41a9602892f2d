/** A graph as passes read it that look for forms of several nodes: its nodes, and how many nodes read each. */
import { type GraphNode, type MutableGraph, nodeOf, topologicalOrder } from '../../graph/graph.js';

export interface Reading {
  /** Nodes from here on are new. */
  readonly size: number;
  readonly node: (id: number) => GraphNode;
  readonly readers: (id: number) => number;
  /** Whether nothing but so many nodes reads a node; results are read outside, too. */
  readonly isReadBy: (id: number, count: number) => boolean;
}

export function readingOf(graph: MutableGraph): Reading {
  const counts: number[] = [];
  const readers = (id: number): number => counts[id] ?? 0;
  for (const id of topologicalOrder(graph))
    for (const input of nodeOf(graph, id).inputs) counts[input] = readers(input) + 1;
  for (const id of graph.outputs) counts[id] = Number.POSITIVE_INFINITY;
  return {
    size: graph.nodes.length,
    node: (id) => nodeOf(graph, id),
    readers,
    isReadBy: (id, count) => readers(id) === count,
  };
}
