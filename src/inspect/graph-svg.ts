/**
 * Pictures of graphs: the plan of an explanation, and the nodes of an expression. Boxes are steps and nodes, rounded
 * where they are arrays that exist or results; edges go down. Called by `Explanation` and by the display of a Lazy.
 */
import { formatShape } from '../graph/format.js';
import type { Graph as ExpressionGraph } from '../graph/graph.js';
import { nodeOf, topologicalOrder } from '../graph/graph.js';
import { formatNodeData } from '../graph/print.js';
import { escaped } from '../host/display.js';
import { planAsGraph } from './draw.js';
import type { ExplanationData } from './explanation-data.js';
import { layeredGraph } from './layered-graph.js';

interface Drawn {
  readonly kind: 'step' | 'input' | 'output';
  /** The first is the node's name. */
  readonly lines: readonly string[];
}

interface DrawnEdge {
  readonly from: number;
  readonly to: number;
  readonly title: string;
}

const STYLES = {
  step: 'fill="#e8f0fa" stroke="#2f6fb0" rx="3"',
  input: 'fill="#eef7ee" stroke="#2e9e5b" rx="11"',
  output: 'fill="#fdf1e3" stroke="#e08214" rx="11"',
} as const;
const LETTER = 6.1;
const LINE = 14;
const PADDING = 9;
const BETWEEN = 26;
const MARGIN = 10;
/** Letters of a line that are shown; the title of the box has all. */
const WIDEST = 40;

const shortened = (text: string): string => (text.length > WIDEST ? `${text.slice(0, WIDEST - 1)}…` : text);
const px = (value: number): string => String(Math.round(value * 10) / 10);

/** Nodes are listed after those that their edges come from. */
function drawGraph(nodes: readonly Drawn[], edges: readonly DrawnEdge[], title: string): string {
  const widthOf = ({ lines }: Drawn): number =>
    2 * PADDING + LETTER * Math.max(...lines.map((line) => shortened(line).length));
  const layered = layeredGraph(
    nodes.map((node) => ({ width: widthOf(node) })),
    edges,
  );
  const box = 2 * PADDING + LINE * Math.max(1, ...nodes.map(({ lines }) => lines.length)) - 4;
  const top = (layer: number): number => MARGIN + layer * (box + BETWEEN);
  const width = Math.ceil(layered.width + 2 * MARGIN);
  const height = Math.max(2 * MARGIN, top(layered.layerCount) - BETWEEN + MARGIN);
  const paths = edges.map(({ from, title: name }, k) => {
    const xs = layered.routes[k]!.map((x) => x + MARGIN);
    return `<path d="${routeOf(xs, layered.layers[from]!, top, box)}" fill="none" stroke="#8d99ae" stroke-width="1.2"><title>${escaped(name)}</title></path>`;
  });
  const boxes = nodes.map((node, k) => {
    const centre = layered.centres[k]! + MARGIN;
    return drawBox(node, centre, top(layered.layers[k]!), widthOf(node), box);
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${px(height)}" viewBox="0 0 ${width} ${px(height)}" font-family="ui-sans-serif, system-ui, sans-serif" font-size="11">`,
    `<title>${escaped(title)}</title>`,
    `<rect width="${width}" height="${px(height)}" fill="#ffffff"/>`,
    ...paths,
    ...boxes,
    '</svg>',
    '',
  ].join('\n');
}

/** From the lower edge of a box to the upper one of another, straight through the layers between. */
function routeOf(xs: readonly number[], layer: number, top: (layer: number) => number, box: number): string {
  let path = `M${px(xs[0]!)},${px(top(layer) + box)}`;
  for (let k = 1; k < xs.length; k++) {
    const [from, to] = [top(layer + k - 1) + box, top(layer + k)];
    const middle = px((from + to) / 2);
    path += `C${px(xs[k - 1]!)},${middle} ${px(xs[k]!)},${middle} ${px(xs[k]!)},${px(to)}`;
    if (k < xs.length - 1) path += `V${px(to + box)}`;
  }
  return path;
}

function drawBox({ kind, lines }: Drawn, centre: number, top: number, width: number, height: number): string {
  const first = top + height / 2 + 4 - ((lines.length - 1) * LINE) / 2;
  const texts = lines.map(
    (line, k) =>
      `<text x="${px(centre)}" y="${px(first + k * LINE)}" text-anchor="middle" fill="${k === 0 ? '#1a202c' : '#64748b'}">${escaped(shortened(line))}</text>`,
  );
  return `<g><title>${escaped(lines.join('\n'))}</title><rect x="${px(centre - width / 2)}" y="${px(top)}" width="${px(width)}" height="${px(height)}" ${STYLES[kind]}/>${texts.join('')}</g>`;
}

/** The plan of an explanation: steps, the arrays that they read, the results. */
export function planAsSvg(data: ExplanationData): string {
  const graph = planAsGraph(data);
  // Inputs before steps, steps in order, results last: what an edge comes from is listed first.
  const rank = (id: string): number => ['input', 'step', 'output'].indexOf(graph.node(id)!.kind);
  const ids = [...graph.nodes()].sort((a, b) => rank(a) - rank(b));
  const position = new Map(ids.map((id, k) => [id, k]));
  const nodes = ids.map((id): Drawn => {
    const { kind, label } = graph.node(id)!;
    return { kind, lines: label.split('\n') };
  });
  const edges = graph
    .edges()
    .map((edge) => ({ from: position.get(edge.v)!, to: position.get(edge.w)!, title: graph.edge(edge)! }));
  return drawGraph(nodes, edges, `plan of ${data.steps.length} steps on ${data.device}`);
}

/** The nodes of an expression. */
export function expressionAsSvg(graph: ExpressionGraph): string {
  const ids = topologicalOrder(graph);
  const position = new Map(ids.map((id, k) => [id, k]));
  const nodes = ids.map((id): Drawn => {
    const node = nodeOf(graph, id);
    const isInput = node.kind === 'source' || node.kind === 'const';
    const name = node.kind === 'source' ? `source ${node.input}` : formatNodeData(node);
    const kind = isInput ? 'input' : graph.outputs.includes(id) ? 'output' : 'step';
    return { kind, lines: [name, `${node.dtype} ${formatShape(node.shape)}`] };
  });
  const edges = ids.flatMap((id) =>
    nodeOf(graph, id).inputs.map((input) => ({
      from: position.get(input)!,
      to: position.get(id)!,
      title: `%${input}`,
    })),
  );
  return drawGraph(nodes, edges, `graph of ${nodes.length} nodes`);
}
