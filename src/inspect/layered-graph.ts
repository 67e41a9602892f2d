/**
 * Layers and places of a directed graph without cycles (Sugiyama, Tagawa and Toda, 1981): every edge goes down, over
 * points of its own in the layers between; the order in a layer is by the mean place of neighbours. Called by
 * `graph-svg.ts`.
 */

export interface LayerNode {
  readonly width: number;
}

/** By positions in the list of nodes. */
export interface LayerEdge {
  readonly from: number;
  readonly to: number;
}

export interface LayeredGraph {
  readonly width: number;
  readonly layerCount: number;
  /** The layer of each node, and its centre across. */
  readonly layers: readonly number[];
  readonly centres: readonly number[];
  /** For each edge, its centre across in each layer from the first node's to the last one's. */
  readonly routes: readonly (readonly number[])[];
}

const GAP = 18;
/** Across, of an edge that passes a layer. */
const LANE = 10;
const SWEEPS = 8;

/** The longest way from a node without inputs; inputs of one node are one layer above it. */
function layersOf(count: number, edges: readonly LayerEdge[]): number[] {
  const layers = new Array<number>(count).fill(0);
  // Nodes are listed after those that they read.
  for (const { from, to } of edges) layers[to] = Math.max(layers[to]!, layers[from]! + 1);
  const hasInput = new Set(edges.map(({ to }) => to));
  for (let node = 0; node < count; node++) {
    const readers = edges.filter(({ from }) => from === node).map(({ to }) => layers[to]!);
    if (!hasInput.has(node) && readers.length > 0) layers[node] = Math.min(...readers) - 1;
  }
  return layers;
}

/** A graph whose edges each join neighbouring layers: the nodes, then points of the edges that pass layers. */
class Lanes {
  readonly widths: number[];
  readonly layerOf: number[];
  readonly paths: readonly (readonly number[])[];
  readonly above: number[][];
  readonly below: number[][];

  constructor(nodes: readonly LayerNode[], edges: readonly LayerEdge[]) {
    this.widths = nodes.map(({ width }) => width);
    this.layerOf = layersOf(nodes.length, edges);
    this.paths = edges.map(({ from, to }) => {
      const path = [from];
      for (let layer = this.layerOf[from]! + 1; layer < this.layerOf[to]!; layer++) {
        path.push(this.widths.push(LANE) - 1);
        this.layerOf.push(layer);
      }
      return [...path, to];
    });
    this.above = this.widths.map(() => []);
    this.below = this.widths.map(() => []);
    for (const path of this.paths)
      for (let k = 1; k < path.length; k++) {
        this.above[path[k]!]!.push(path[k - 1]!);
        this.below[path[k - 1]!]!.push(path[k]!);
      }
  }
}

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

/** Puts the members of a layer beside each other in the order of their wishes, and as near to those as room allows. */
function arrange(
  layer: number[],
  centres: number[],
  wishes: readonly number[],
  widths: readonly number[],
): void {
  layer.sort((a, b) => wishes[a]! - wishes[b]!);
  let right = -Infinity;
  for (const node of layer) {
    centres[node] = Math.max(wishes[node]!, right + GAP + widths[node]! / 2);
    right = centres[node]! + widths[node]! / 2;
  }
  // All of them moved together, so that they are in the mean where they wished to be.
  const shift = mean(layer.map((node) => wishes[node]! - centres[node]!));
  for (const node of layer) centres[node]! += shift;
}

/** Nodes are listed after those that their edges come from. */
export function layeredGraph(nodes: readonly LayerNode[], edges: readonly LayerEdge[]): LayeredGraph {
  if (nodes.length === 0) return { width: 0, layerCount: 0, layers: [], centres: [], routes: [] };
  const ordered = [...edges].sort((a, b) => a.to - b.to);
  const lanes = new Lanes(nodes, ordered);
  const layerCount = Math.max(...lanes.layerOf) + 1;
  const layers = Array.from({ length: layerCount }, (_, k) =>
    lanes.layerOf.flatMap((layer, node) => (layer === k ? [node] : [])),
  );
  const centres = lanes.widths.map(() => 0);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const isDown = sweep % 2 === 0;
    const neighbours = isDown ? lanes.above : lanes.below;
    for (const layer of isDown ? layers : [...layers].reverse()) {
      const wishes = [...centres];
      for (const node of layer)
        if (neighbours[node]!.length > 0)
          wishes[node] = mean(neighbours[node]!.map((other) => centres[other]!));
      arrange(layer, centres, wishes, lanes.widths);
    }
  }
  const left = Math.min(...centres.map((centre, node) => centre - lanes.widths[node]! / 2));
  const right = Math.max(...centres.map((centre, node) => centre + lanes.widths[node]! / 2));
  const at = (node: number): number => centres[node]! - left;
  const routes = new Map(ordered.map((edge, k) => [edge, lanes.paths[k]!.map(at)]));
  return {
    width: right - left,
    layerCount,
    layers: lanes.layerOf.slice(0, nodes.length),
    centres: nodes.map((_, node) => at(node)),
    routes: edges.map((edge) => routes.get(edge)!),
  };
}
