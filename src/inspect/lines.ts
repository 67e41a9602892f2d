/** The user's lines behind the nodes of an optimized graph, and of the bodies of its loops. */
import type { Canonical } from '../fusion/passes/canonicalize.js';
import { sitesOfBody } from '../fusion/passes/graph-building.js';
import type { Origins } from '../fusion/passes/origins.js';
import type { Graph, GraphNode } from '../graph/graph.js';
import { lineOf } from '../host/site.js';

type Sites = Pick<Canonical, 'sites' | 'repeated'>;

/** Arrays and constants compute nothing, and equal constants are one node, wherever they were written. */
const isComputed = (node: GraphNode | undefined): boolean =>
  node !== undefined && node.kind !== 'source' && node.kind !== 'const';

/**
 * Nor do views that passes put between steps; they stand for a line where they are all that is left of it.
 */
const isWork = (graph: Graph, built: Graph | undefined, id: number): boolean =>
  isComputed(graph.nodes[id]) && (graph.nodes[id]?.kind !== 'view' || built?.nodes[id] !== undefined);

export class Lines {
  readonly #sites: Canonical;
  readonly #origins: Origins;
  readonly #found = new Map<Graph, (id: number) => readonly string[]>();

  constructor(canonical: Canonical, origins: Origins) {
    this.#sites = canonical;
    this.#origins = origins;
  }

  /** `file:line` of the calls that made what some nodes compute, each once. */
  of(graph: Graph, ids: readonly number[]): string[] {
    let linesOf = this.#found.get(graph);
    if (linesOf === undefined) {
      linesOf = this.#linesIn(graph);
      this.#found.set(graph, linesOf);
    }
    const built = this.#origins.of(graph)?.built;
    const lines = new Set(ids.filter((id) => isWork(graph, built, id)).flatMap(linesOf));
    return [...(lines.size > 0 ? lines : new Set(ids.flatMap(linesOf)))];
  }

  #linesIn(graph: Graph): (id: number) => readonly string[] {
    const origins = this.#origins.of(graph);
    if (origins === undefined) return () => [];
    const { built, idsOf } = origins;
    const { sites, repeated }: Sites = sitesOfBody(built) ?? this.#sites;
    const places = new Map([...sites].map(([id, site]) => [id, [site]]));
    for (const [id, site] of repeated) places.get(id)?.push(site);
    const lines = (id: number): readonly string[] =>
      (isComputed(built.nodes[id]) ? (places.get(id) ?? []) : []).flatMap((site) => lineOf(site) ?? []);
    return (id) => idsOf(id).flatMap(lines);
  }
}
