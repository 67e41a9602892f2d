/**
 * Origins: which nodes of a graph as the user built it a node of the optimized graph computes, so that
 * `explain()` can name the user's lines for every step.
 *
 *     (A @ B).sum(0)   →   sum(A, 0), then a sum of products: both compute the product's node and the sum's
 *
 * The passes say what they make for which node and what they put in the place of what. A node that lost its
 * readers without a replacement was taken in by what stands in their place.
 */
import type { Graph, Made, RewriteListener } from '../../graph/graph.js';

/** The nodes behind those of one optimized graph. */
export interface GraphOrigins {
  /** As it was given to the passes. */
  readonly built: Graph;
  /** Ids of `built` that a node of the optimized graph computes, ascending. */
  readonly idsOf: (id: number) => readonly number[];
}

/** The changes that passes made to one graph. Ids are never reused, so one record holds all passes. */
class RewriteLog implements RewriteListener {
  /** For each node that was made, those that it was made for. */
  readonly #makers = new Map<number, number[]>();
  readonly #replaced = new Set<number>();
  /** Nodes that were made and are views. */
  readonly #views = new Set<number>();
  /** All inputs that a node ever had. */
  readonly #inputs = new Map<number, number[]>();

  made(id: number, { kind, inputs }: Made, maker: number): void {
    append(this.#makers, id, [maker]);
    if (kind === 'view') this.#views.add(id);
    this.redirected(id, inputs);
  }

  redirected(id: number, inputs: readonly number[]): void {
    append(this.#inputs, id, inputs);
  }

  replaced(id: number): void {
    this.#replaced.add(id);
  }

  originsIn(built: Graph, optimized: Graph): GraphOrigins {
    const isTakenIn = (id: number): boolean => optimized.nodes[id] === undefined && !this.#replaced.has(id);
    const idsOf = (start: number): readonly number[] => {
      // A view does no work: what it was made for is asked for only where something was made for the view
      // itself.
      const workers = new Set([start]);
      const views = new Set<number>();
      const add = (id: number, isMaker: boolean): unknown =>
        (!isMaker && this.#views.has(id) ? views : workers).add(id);
      const visit = (id: number, isView: boolean): void => {
        if (!isView) for (const maker of this.#makers.get(id) ?? []) add(maker, true);
        const inputs = [...(built.nodes[id]?.inputs ?? []), ...(this.#inputs.get(id) ?? [])];
        for (const input of inputs) if (isTakenIn(input)) add(input, false);
      };
      // A set's walk meets what is added to it meanwhile.
      for (let count = -1; count < workers.size + views.size; ) {
        count = workers.size + views.size;
        for (const id of workers) visit(id, false);
        for (const id of views) visit(id, true);
      }
      return [...workers, ...views].filter((id) => built.nodes[id] !== undefined).sort((x, y) => x - y);
    };
    return { built, idsOf };
  }
}

function append(lists: Map<number, number[]>, key: number, values: readonly number[]): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [...values]);
  else list.push(...values);
}

/** The origins of all graphs that one run of the passes gives: of a graph, and of the bodies of its loops. */
export class Origins {
  readonly #known = new Map<Graph, GraphOrigins>();

  /** The listener for the rewrites of a graph, and the function to call with the result. */
  watch(built: Graph): { readonly listener: RewriteListener; readonly done: (optimized: Graph) => void } {
    const log = new RewriteLog();
    return {
      listener: log,
      done: (optimized) => {
        this.#known.set(optimized, log.originsIn(built, optimized));
      },
    };
  }

  /** Of a graph that the passes gave. */
  of(optimized: Graph): GraphOrigins | undefined {
    return this.#known.get(optimized);
  }
}
