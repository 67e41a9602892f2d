/**
 * Builds the canonical graph of some results from their expressions, in slices. Called by `canonicalize.ts`, for loops
 * by itself: their bodies are graphs.
 */
import { type Expr, type LoopBody, layoutOf, type Site } from '../../graph/expr.js';
import {
  type Graph,
  type GraphLoop,
  type GraphNode,
  type GraphNodeData,
  nodeFrom,
} from '../../graph/graph.js';
import { formatCount } from '../../graph/print.js';
import { type StretchedCall, stretchedCalls } from '../../graph/row-stretches.js';
import { type CheckedStatus, checkedStatuses, isSameCall } from '../../graph/statuses.js';
import { Numbered } from '../../shared/numbered.js';
import { type Canonical, CanonicalGraph } from './canonical-graph.js';
import { ArgumentList, type ScalarList, SourceList } from './graph-sources.js';
import { numberOf } from './hash.js';
import { checksOf, type IndexCheck } from './index-check.js';
import { narrowSources } from './narrow-sources.js';
import { NodeTable } from './node-table.js';
import type { Records } from './records.js';
import type { SourceArray } from './source-array.js';

const bodies = new WeakMap<Graph, Pick<Canonical, 'sites' | 'repeated' | 'stretched'>>();

const calledIn = (body: Graph): readonly StretchedCall[] => bodies.get(body)?.stretched ?? [];

/** Where the user made the nodes of a loop's body, of a graph that no pass has rewritten. */
export const sitesOfBody = (body: Graph): Pick<Canonical, 'sites' | 'repeated'> | undefined =>
  bodies.get(body);

/** A loop with its body as a graph. */
function graphLoopOf(loop: LoopBody, scalars: ScalarList | undefined): GraphLoop {
  const { steps, condition, every } = loop;
  const canonical = builtAtOnce(loop.next, new ArgumentList(), scalars);
  const { graph, fingerprint } = canonical;
  bodies.set(graph, canonical);
  return { steps, condition, every, body: graph, key: `${formatCount(loop)} {\n${fingerprint}\n}` };
}

/** Nodes between pauses, on the way down and up again, each of which takes about 0.6 µs. */
const NODES_OF_SLICE = 1024;

/** Levels, and expressions, of graphs that are walked by recursion: it needs no lists. */
const SHALLOW = 32;
const FEW = 64;

/** A graph in the making. `scalars`: takes the constants that are given with each run; without one, they are part of the graph. */
export class GraphBuilding {
  readonly #sources: SourceList | ArgumentList;
  readonly #scalars: ScalarList | undefined;
  readonly #outputs: readonly Expr[];
  readonly #nodes: (GraphNode | undefined)[] = [];
  readonly #sites: (Site | undefined)[] = [];
  readonly #repeated: (readonly [id: number, site: Site])[] = [];
  readonly #table = new NodeTable();
  readonly #ids = new Numbered<Expr>();
  readonly #checks: IndexCheck[] = [];
  readonly #stretched: StretchedCall[] = [];
  /** Results of one call, which stand beside each other, have one status. */
  #lastCall: Expr | undefined;
  readonly #failing: CheckedStatus[] = [];
  /** Those of the outputs, from when these are reached; their codes are reached after them. */
  #statuses: readonly CheckedStatus[] | undefined;
  /** How many of the outputs and codes were reached. */
  #reached = 0;
  /** The results of a loop are nodes with one loop. Most graphs have none: a map takes 0.06 µs. */
  #loops: Map<LoopBody, GraphLoop> | undefined;
  /** From an output to where the walk is, and for each of these its first input that was not looked at. */
  readonly #path: Expr[] = [];
  readonly #next: number[] = [];

  constructor(outputs: readonly Expr[], sources: SourceList | ArgumentList, scalars: ScalarList | undefined) {
    this.#outputs = outputs;
    this.#sources = sources;
    this.#scalars = scalars;
  }

  /** Enters nodes; false after a slice of them: it is to be called again. */
  goOn(): boolean {
    const outputs = this.#outputs;
    for (; this.#reached < outputs.length; this.#reached++)
      if (!this.#reach(outputs[this.#reached]!)) return false;
    // A failed step in the body of a loop goes on with the values that it gave: a body has no results of statuses.
    this.#statuses ??=
      this.#failing.length > 0 && this.#sources instanceof SourceList ? [...this.#failing] : NONE;
    const statuses = this.#statuses;
    for (; this.#reached < outputs.length + statuses.length; this.#reached++)
      if (!this.#reach(statuses[this.#reached - outputs.length]!.code)) return false;
    return true;
  }

  /** The graph, when all nodes are there. */
  canonical(): Canonical {
    const nodes = this.#nodes;
    const outputs = this.#outputs.map((expr) => this.#ids.of(expr));
    const statuses = this.#statuses!.filter(({ code }) => {
      const id = this.#ids.of(code);
      const isNew = !outputs.includes(id, this.#outputs.length);
      if (isNew) outputs.push(id);
      return isNew;
    });
    const graph = { nodes, outputs };
    const { list } = this.#sources;
    const narrowed = narrowSources(graph, list);
    for (const { node, replaced, array } of narrowed) {
      nodes[node.id] = node;
      list[node.input] = array;
      for (const id of replaced) nodes[id] = undefined;
    }
    const { records } = narrowed.length === 0 ? this.#table : tableOf(nodes);
    const fingerprint = fingerprintOf(records, outputs, statuses.length, list);
    const looked = { checks: this.#checks, statuses, stretched: this.#stretched };
    const read = { sources: list, scalars: this.#scalars?.list ?? [] };
    const made = { sites: this.#sites, repeated: this.#repeated };
    return new CanonicalGraph(graph, made, read, fingerprint, looked);
  }

  /** Enters all nodes below a root, inputs first. False after a slice of nodes: it is to be called again. */
  #reach(root: Expr): boolean {
    const isBegun = this.#path.length > 0;
    return (!isBegun && root.depth <= SHALLOW && this.#idBelow(root) >= 0) || this.#walk(root);
  }

  /** The id of a node, which is entered after those below it; -1: there are more of them than a few. Recursive, for shallow graphs. */
  #idBelow(expr: Expr): number {
    const known = this.#ids.of(expr);
    if (known >= 0) return known;
    if (this.#ids.size >= FEW) return -1;
    const inputs = new Array<number>(expr.inputs.length);
    for (let k = 0; k < inputs.length; k++) {
      const input = this.#idBelow(expr.inputs[k]!);
      if (input < 0) return -1;
      inputs[k] = input;
    }
    return this.#enter(expr, inputs);
  }

  /** As `#reach`, iterative. */
  #walk(root: Expr): boolean {
    const [ids, path, next] = [this.#ids, this.#path, this.#next];
    if (path.length === 0) {
      if (ids.has(root)) return true;
      path.push(root);
      next.push(0);
    }
    while (path.length > 0) {
      const top = path.length - 1;
      const { inputs } = path[top]!;
      let at = next[top]!;
      while (at < inputs.length && ids.has(inputs[at]!)) at++;
      if (at < inputs.length) {
        next[top] = at + 1;
        next.push(0);
        if (path.push(inputs[at]!) % NODES_OF_SLICE === 0) return false;
      } else {
        const expr = path.pop()!;
        const own = new Array<number>(inputs.length);
        for (let k = 0; k < own.length; k++) own[k] = ids.of(inputs[k]!);
        this.#enter(expr, own);
        next.pop();
        if (ids.size % NODES_OF_SLICE === 0 && path.length > 0) return false;
      }
    }
    return true;
  }

  #enter(expr: Expr, inputs: readonly number[]): number {
    const nodes = this.#nodes;
    if (expr.kind === 'loop' && this.#loops?.has(expr.loop) !== true)
      this.#failing.push(...checkedStatuses(expr));
    const node = nodeFrom(this.#dataOf(expr), expr, nodes.length, inputs);
    const id = this.#table.enter(node, nodes.length);
    if (expr.kind === 'call' && (this.#lastCall === undefined || !isSameCall(expr, this.#lastCall))) {
      this.#lastCall = expr;
      this.#failing.push(...checkedStatuses(expr));
    }
    if (id === nodes.length) {
      const own = checksOf(expr);
      if (own.length > 0) this.#checks.push(...own);
      if (node.kind === 'call' || node.kind === 'loop')
        for (const each of stretchedCalls(expr, id, node.kind === 'loop' ? calledIn(node.loop.body) : []))
          this.#stretched.push(each);
      nodes.push(node);
      this.#sites.push(expr.site);
    } else if (expr.site !== undefined && expr.kind !== 'const') {
      this.#repeated.push([id, expr.site]);
    }
    this.#ids.set(expr, id);
    return id;
  }

  #dataOf(expr: Expr): GraphNodeData {
    const scalars = this.#scalars;
    switch (expr.kind) {
      case 'source':
        return this.#sources.nodeOf(expr);
      case 'const':
        return scalars === undefined ? expr : { kind: 'const', value: scalars.add(expr.value, expr.dtype) };
      case 'loop':
        return { kind: 'loop', loop: this.#loopOf(expr.loop), result: expr.result };
      default:
        return expr;
    }
  }

  #loopOf(loop: LoopBody): GraphLoop {
    this.#loops ??= new Map();
    const made = this.#loops.get(loop) ?? graphLoopOf(loop, this.#scalars);
    this.#loops.set(loop, made);
    return made;
  }
}

const NONE: readonly CheckedStatus[] = [];

/** The canonical graph of some results, built in one go. */
export function builtAtOnce(
  outputs: readonly Expr[],
  sources: SourceList | ArgumentList,
  scalars: ScalarList | undefined,
): Canonical {
  const building = new GraphBuilding(outputs, sources, scalars);
  while (!building.goOn());
  return building.canonical();
}

function tableOf(nodes: readonly (GraphNode | undefined)[]): NodeTable {
  const table = new NodeTable();
  for (const node of nodes) if (node !== undefined) table.enter(node, node.id);
  return table;
}

/** The fingerprint of a graph: its records, outputs and sources. */
function fingerprintOf(
  records: Records,
  outputs: readonly number[],
  statuses: number,
  sources: readonly SourceArray[],
): string {
  records.put(0); // no node's record begins so
  records.put(statuses);
  records.putAll(outputs);
  for (let k = 0; k < sources.length; k++) {
    const { source, elementCount } = sources[k]!;
    records.put(numberOf(source.type));
    if (source.type === 'device') records.putText(layoutOf(source.buffer));
    records.putNumber(elementCount);
  }
  return records.fingerprint();
}
