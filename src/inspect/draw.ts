/**
 * Draws a plan: steps and the buffers between them as a graphlib graph, written as DOT (Graphviz) or Mermaid
 * text. Called by `Explanation`. Planning has its dependences in lists of numbers (`exec/plan/streams.ts`):
 * a graph of 10,000 steps takes some 130 ms to build here, and 1 ms there.
 */
import { Graph } from '@dagrejs/graphlib';
import { formatBytes } from '../graph/format.js';
import type { ExplanationData } from './explanation-data.js';

/** The label of a plan's node in graphlib. */
export interface PlanNode {
  readonly kind: 'step' | 'input' | 'output';
  readonly label: string;
}

/**
 * The plan as a directed graph: a node per step (`step 0`), per input array (`source 0 float32`) and per
 * result, an edge for every buffer that one hands to another, labelled with it.
 */
export function planAsGraph(
  data: Pick<ExplanationData, 'steps' | 'results'>,
): Graph<string, PlanNode, string> {
  // A step may read several buffers of another.
  const graph = new Graph<string, PlanNode, string>({ directed: true, multigraph: true });
  const writer = new Map<string, string>();
  data.steps.forEach((step, k) => {
    const traffic = `${formatBytes(step.bytesRead)} in, ${formatBytes(step.bytesWritten)} out`;
    graph.setNode(`step ${k}`, { kind: 'step', label: `${k}: ${step.name}\n${traffic}` });
  });
  data.steps.forEach((step, k) => {
    for (const buffer of step.reads) {
      const from = writer.get(buffer) ?? buffer;
      if (!graph.hasNode(from)) graph.setNode(from, { kind: 'input', label: from });
      graph.setEdge(from, `step ${k}`, buffer, buffer);
    }
    for (const buffer of step.writes) writer.set(buffer, `step ${k}`);
  });
  for (const buffer of data.results) {
    const from = writer.get(buffer);
    if (from === undefined) continue;
    graph.setNode(`result ${buffer}`, { kind: 'output', label: buffer });
    graph.setEdge(from, `result ${buffer}`, buffer, buffer);
  }
  return graph;
}

const SHAPES = { step: 'box', input: 'cylinder', output: 'note' } as const;
const quoted = (text: string): string => `"${text.replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`;

/** DOT text, for Graphviz. */
export function planAsDot(data: ExplanationData): string {
  const graph = planAsGraph(data);
  const nodes = graph.nodes().map((id) => {
    const { kind, label } = graph.node(id)!;
    return `  ${quoted(id)} [shape=${SHAPES[kind]}, label=${quoted(label)}];`;
  });
  const edges = graph
    .edges()
    .map((e) => `  ${quoted(e.v)} -> ${quoted(e.w)} [label=${quoted(graph.edge(e)!)}];`);
  return `digraph plan {\n${[...nodes, ...edges].join('\n')}\n}\n`;
}

const BRACKETS = { step: ['[', ']'], input: ['[(', ')]'], output: ['([', '])'] } as const;

/** Mermaid text, for Markdown pages. */
export function planAsMermaid(data: ExplanationData): string {
  const graph = planAsGraph(data);
  const names = new Map(graph.nodes().map((id, k) => [id, `n${k}`]));
  const nodes = graph.nodes().map((id) => {
    const { kind, label } = graph.node(id)!;
    const [open, close] = BRACKETS[kind];
    return `  ${names.get(id)}${open}${quoted(label).replaceAll('\\n', '<br>')}${close}`;
  });
  const edges = graph.edges().map((e) => `  ${names.get(e.v)} -->|${graph.edge(e)!}| ${names.get(e.w)}`);
  return `flowchart TD\n${[...nodes, ...edges].join('\n')}\n`;
}
