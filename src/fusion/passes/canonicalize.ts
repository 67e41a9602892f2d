/**
 * Canonicalize: Exprs → Graph. Equal subexpressions become one node, sources are numbered in order of first
 * use, and what no output needs never enters.
 *
 *     (x * x) + (x * x)   →   %0 = source 0;  %1 = multiply %0 %0;  %2 = add %1 %1
 *
 * Values do not change. The fingerprint covers kinds, ops, shapes, dtypes and layouts, not data, and which constants
 * are equal, not their values: those are given with each run. Equal fingerprints have equal plans where constants give
 * the same answers to what plans ask of them (`graph/runtime-scalar.ts`).
 */

import { type DType, dtypeCode, type Scalar } from '../../graph/dtype.js';
import {
  type Expr,
  type ExprOf,
  type LoopBody,
  layoutOf,
  type Site,
  type StridedSource,
} from '../../graph/expr.js';
import {
  denseStrides,
  type Graph,
  type GraphLoop,
  type GraphNode,
  type GraphNodeData,
  nodeFrom,
  sizeOfShape,
} from '../../graph/graph.js';
import { formatCount } from '../../graph/print.js';
import { type StretchedCall, stretchedCalls } from '../../graph/row-stretches.js';
import { RuntimeScalar } from '../../graph/runtime-scalar.js';
import { sameScalar } from '../../graph/scalar.js';
import { type CheckedStatus, checkedStatuses, isSameCall } from '../../graph/statuses.js';
import { ArgumentError, expected, InternalError } from '../../host/errors.js';
import { completed, type Slices } from '../../host/slices.js';
import { rangeOf } from '../kernel/boxes.js';
import { DistinctList, mixScalar, numberOf } from './hash.js';
import { checksOf, type IndexCheck } from './index-check.js';
import { narrowSources } from './narrow-sources.js';
import { NodeTable } from './node-table.js';
import type { Records } from './records.js';
import type { SourceArray } from './source-array.js';

export interface Canonical {
  readonly graph: Graph;
  /** The arrays behind `source` nodes, by their number. */
  readonly sources: readonly SourceArray[];
  /** The constants that are given with each run, by position; those of the bodies of loops too. */
  readonly scalars: readonly RuntimeScalar[];
  /** Where the user made each node, by id; of one that stands at several places, the first of them. */
  readonly sites: ReadonlyMap<number, Site>;
  /** The further places of nodes that the user made more than once; equal constants are one. */
  readonly repeated: readonly (readonly [id: number, site: Site])[];
  readonly fingerprint: string;
  /** Index arrays that have to be within an axis before the graph runs. */
  readonly checks: readonly IndexCheck[];
  /** Calls that may fail, and what loops look at: their codes are the last outputs of the graph, behind the user's. */
  readonly statuses: readonly CheckedStatus[];
  /** Calls that can be cut by the rows of sparse matrices once it is known where those begin. */
  readonly stretched: readonly StretchedCall[];
}

/** Graphs of up to so many nodes are made again as fast as they are found. */
const CHEAP = 8;

/**
 * Nodes of all graphs that are kept: a loop that computes what it builds at every step makes larger and
 * larger ones.
 */
const MOST_KNOWN = 1 << 18;

interface Known {
  readonly outputs: readonly Expr[];
  readonly canonical: Canonical;
}

/**
 * Expressions never change, so what was found for a list of them stays right; kept at most as long as the
 * first of them.
 */
let known = new WeakMap<Expr, Known>();
/**
 * The first expressions of lists that were asked for once. Only what is asked for again is kept: the values of a weak
 * map survive until the engine's next full collection, which takes 0.5 µs for each node, more than making it again.
 */
const asked = new WeakSet<Expr>();
/** Nodes of the graphs that were put there. */
let knownNodes = 0;

/** The canonical graph of some results; found once for the same list of expressions, unless it is small. */
export const canonicalize = (outputs: readonly Expr[]): Canonical => completed(canonicalizeInSlices(outputs));

/**
 * As `canonicalize`. An expression that becomes a source between two slices (`segment.ts`) is the same value before and
 * after.
 */
export function* canonicalizeInSlices(outputs: readonly Expr[]): Slices<Canonical> {
  const [first] = outputs;
  const entry = first && known.get(first);
  if (entry?.outputs.length === outputs.length && entry.outputs.every((expr, k) => expr === outputs[k])) {
    return entry.canonical;
  }
  const canonical = yield* build(outputs, new SourceList(), new ScalarList());
  const { nodes } = canonical.graph;
  if (first !== undefined && (nodes.length > CHEAP || nodes.some((node) => node?.kind === 'loop'))) {
    if (asked.has(first)) keep(first, outputs, canonical);
    else asked.add(first);
  }
  return canonical;
}

function keep(first: Expr, outputs: readonly Expr[], canonical: CanonicalGraph): void {
  knownNodes += canonical.graph.nodes.length;
  if (knownNodes > MOST_KNOWN) {
    known = new WeakMap();
    knownNodes = canonical.graph.nodes.length;
  }
  known.set(first, { outputs: [...outputs], canonical });
}

const bodies = new WeakMap<Graph, Pick<Canonical, 'sites' | 'repeated' | 'stretched'>>();

const calledIn = (body: Graph): readonly StretchedCall[] => bodies.get(body)?.stretched ?? [];

/** Where the user made the nodes of a loop's body, of a graph that no pass has rewritten. */
export const sitesOfBody = (body: Graph): Pick<Canonical, 'sites' | 'repeated'> | undefined =>
  bodies.get(body);

/** A loop with its body as a graph. */
function graphLoopOf(loop: LoopBody, scalars: ScalarList | undefined): GraphLoop {
  const { steps, condition, every } = loop;
  const canonical = completed(build(loop.next, new ArgumentList(), scalars));
  const { graph, fingerprint } = canonical;
  bodies.set(graph, canonical);
  return { steps, condition, every, body: graph, key: `${formatCount(loop)} {\n${fingerprint}\n}` };
}

/** Drops what is known of a node that is about to change. */
export function forget(expr: Expr): void {
  known.delete(expr);
}

/** The canonical graph of some results that nobody asks for again; its constants are part of it. */
export const canonicalizeOnce = (outputs: readonly Expr[]): CanonicalGraph =>
  completed(build(outputs, new SourceList(), undefined));

/** The graph of expressions of arguments alone (`argumentLike`): its source number k is argument k. */
export const graphOfArguments = (outputs: readonly Expr[]): Graph =>
  completed(build(outputs, new ArgumentList(), undefined)).graph;

/** Nodes between pauses, on the way down and up again, each of which takes about 0.6 µs. */
const NODES_OF_SLICE = 1024;

/** `scalars`: takes the constants that are given with each run; without one, constants are part of the graph. */
function* build(
  outputs: readonly Expr[],
  sources: SourceList | ArgumentList,
  scalars: ScalarList | undefined,
): Slices<CanonicalGraph> {
  const nodes: (GraphNode | undefined)[] = [];
  const sites: (Site | undefined)[] = [];
  const repeated: (readonly [id: number, site: Site])[] = [];
  const table = new NodeTable();
  const ids = new Map<Expr, number>();

  const checks: IndexCheck[] = [];
  const failing: CheckedStatus[] = [];
  /** Results of one call, which stand beside each other, have one status. */
  let lastCall: Expr | undefined;
  const stretched: StretchedCall[] = [];
  /** The results of a loop are nodes with one loop. Most graphs have none: a map takes 0.06 µs. */
  let loops: Map<LoopBody, GraphLoop> | undefined;
  const loopOf = (loop: LoopBody): GraphLoop => {
    loops ??= new Map();
    const made = loops.get(loop) ?? graphLoopOf(loop, scalars);
    loops.set(loop, made);
    return made;
  };
  const dataOf = (expr: Expr): GraphNodeData => {
    switch (expr.kind) {
      case 'source':
        return sources.nodeOf(expr);
      case 'const':
        return scalars === undefined ? expr : { kind: 'const', value: scalars.add(expr.value, expr.dtype) };
      case 'loop':
        return { kind: 'loop', loop: loopOf(expr.loop), result: expr.result };
      default:
        return expr;
    }
  };
  const enter = (expr: Expr): void => {
    const inputs = new Array<number>(expr.inputs.length);
    for (let k = 0; k < inputs.length; k++) inputs[k] = ids.get(expr.inputs[k]!)!;
    if (expr.kind === 'loop' && loops?.has(expr.loop) !== true) failing.push(...checkedStatuses(expr));
    const node = nodeFrom(dataOf(expr), expr, nodes.length, inputs);
    const id = table.enter(node, nodes.length);
    if (expr.kind === 'call' && (lastCall === undefined || !isSameCall(expr, lastCall))) {
      lastCall = expr;
      failing.push(...checkedStatuses(expr));
    }
    if (id === nodes.length) {
      const own = checksOf(expr);
      if (own.length > 0) checks.push(...own);
      if (node.kind === 'call' || node.kind === 'loop')
        for (const each of stretchedCalls(expr, id, node.kind === 'loop' ? calledIn(node.loop.body) : []))
          stretched.push(each);
      nodes.push(node);
      sites.push(expr.site);
    } else if (expr.site !== undefined && expr.kind !== 'const') {
      repeated.push([id, expr.site]);
    }
    ids.set(expr, id);
  };

  const walk = new InputsFirst(ids, enter);
  for (const output of outputs) while (!walk.reach(output)) yield;
  const outputIds = outputs.map((expr) => ids.get(expr)!);
  const statuses: CheckedStatus[] = [];
  // A failed step in the body of a loop goes on with the values that it gave: a body has no results of statuses.
  if (failing.length > 0 && sources instanceof SourceList) {
    const seen = new Set<number>();
    for (const status of [...failing]) {
      while (!walk.reach(status.code)) yield;
      const id = ids.get(status.code)!;
      if (seen.has(id)) continue;
      seen.add(id);
      statuses.push(status);
      outputIds.push(id);
    }
  }
  const graph = { nodes, outputs: outputIds };
  const narrowed = narrowSources(graph, sources.list);
  for (const { node, replaced, array } of narrowed) {
    nodes[node.id] = node;
    sources.list[node.input] = array;
    for (const id of replaced) nodes[id] = undefined;
  }
  const { records } = narrowed.length === 0 ? table : tableOf(nodes);
  const fingerprint = fingerprintOf(records, graph.outputs, statuses.length, sources.list);
  const looked = { checks, statuses, stretched };
  const read = { sources: sources.list, scalars: scalars?.list ?? [] };
  return new CanonicalGraph(graph, { sites, repeated }, read, fingerprint, looked);
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

/** Where nodes were made: by id, and those that were made again. */
interface Sites extends Pick<Canonical, 'repeated'> {
  readonly sites: readonly (Site | undefined)[];
}

class CanonicalGraph implements Canonical {
  readonly graph: Graph;
  readonly sources: readonly SourceArray[];
  readonly scalars: readonly RuntimeScalar[];
  readonly repeated: Canonical['repeated'];
  readonly fingerprint: string;
  readonly checks: readonly IndexCheck[];
  readonly statuses: readonly CheckedStatus[];
  readonly stretched: Canonical['stretched'];
  /** By id. */
  readonly #sites: readonly (Site | undefined)[];
  #sitesById: ReadonlyMap<number, Site> | undefined;

  constructor(
    graph: Graph,
    { sites, repeated }: Sites,
    { sources, scalars }: Pick<Canonical, 'sources' | 'scalars'>,
    fingerprint: string,
    { checks, statuses, stretched }: Pick<Canonical, 'checks' | 'statuses' | 'stretched'>,
  ) {
    this.checks = checks;
    this.statuses = statuses;
    this.stretched = stretched;
    this.graph = graph;
    this.sources = sources;
    this.scalars = scalars;
    this.fingerprint = fingerprint;
    this.#sites = sites;
    this.repeated = repeated;
  }

  /** Made when it is asked for: errors and `explain()` do. */
  get sites(): ReadonlyMap<number, Site> {
    this.#sitesById ??= new Map(
      this.#sites.flatMap((site, id) => (site === undefined ? [] : [[id, site] as const])),
    );
    return this.#sitesById;
  }
}

/** A key that is the same object for sources with the same elements. */
function identityOf(source: StridedSource): object {
  switch (source.type) {
    case 'host':
      return source.data;
    case 'chunked':
      return source.chunks;
    case 'file':
      return source.region;
    case 'reader':
      return source.reader;
  }
}

/** The arguments of a loop's body, by their numbers: there are no arrays. */
class ArgumentList {
  readonly list: SourceArray[] = [];

  nodeOf({ source, shape }: ExprOf<'source'>): GraphNodeData {
    if (source.type === 'iota') return { kind: 'iota' };
    if (source.type !== 'argument') throw new InternalError('an array in the body of a loop');
    return { kind: 'source', input: source.index, offset: 0, strides: denseStrides(shape) };
  }
}

/** Numbers the arrays; the same part of the same array is one. */
class SourceList {
  readonly list: SourceArray[] = [];
  /** By memory the first array in it, and by memory and part all others. */
  readonly #first = new Map<object, number>();
  #others: Map<object, Map<string, number>> | undefined;

  /** A source as a node: which array, and where in it. */
  nodeOf(expr: ExprOf<'source'>): GraphNodeData {
    const { source } = expr;
    if (source.type === 'iota') return { kind: 'iota' };
    if (source.type === 'argument') {
      throw new ArgumentError(
        expected('iterate', 'a function that builds a graph', 'one that computes', 'nothing runs in it'),
      );
    }
    const size = sizeOfShape(expr.shape);
    if (source.type === 'device' || source.type === 'segment') {
      const array = { source, start: 0, elementCount: size, dtype: expr.dtype };
      return {
        kind: 'source',
        input: this.#add(array, source.type === 'device' ? source.buffer : source.segment),
        offset: 0,
        strides: denseStrides(expr.shape),
      };
    }
    const [first, last] = size === 0 ? [source.offset, source.offset - 1] : rangeOf(source, expr.shape);
    const array = { source, start: first, elementCount: last - first + 1, dtype: expr.dtype };
    const input = this.#add(array, identityOf(source));
    return { kind: 'source', input, offset: source.offset - first, strides: source.strides };
  }

  #add(array: SourceArray, identity: object): number {
    const first = this.#first.get(identity);
    if (first === undefined) {
      this.#first.set(identity, this.list.length);
      return this.list.push(array) - 1;
    }
    if (isSamePart(this.list[first]!, array)) return first;
    this.#others ??= new Map();
    const parts = this.#others.get(identity) ?? new Map<string, number>();
    this.#others.set(identity, parts);
    const key = `${array.start} ${array.elementCount} ${array.dtype} ${segmentValueOf(array)}`;
    let input = parts.get(key);
    if (input === undefined) {
      input = this.list.push(array) - 1;
      parts.set(key, input);
    }
    return input;
  }
}

const segmentValueOf = ({ source }: SourceArray): number => (source.type === 'segment' ? source.value : 0);

const isSamePart = (a: SourceArray, b: SourceArray): boolean =>
  a.start === b.start &&
  a.elementCount === b.elementCount &&
  a.dtype === b.dtype &&
  segmentValueOf(a) === segmentValueOf(b);

const hashOfScalar = ({ value, dtype }: RuntimeScalar): number =>
  mixScalar(dtypeCode(dtype), value) & 0x3fffffff;
const isSameScalar = (a: RuntimeScalar, b: RuntimeScalar): boolean =>
  a.dtype === b.dtype && sameScalar(a.value, b.value);

/** Numbers the constants; those of one dtype and the same bits are one. */
class ScalarList {
  readonly #distinct = new DistinctList<RuntimeScalar>(hashOfScalar, isSameScalar);

  get list(): readonly RuntimeScalar[] {
    return this.#distinct.all;
  }

  add(value: Scalar, dtype: DType): RuntimeScalar {
    const { all } = this.#distinct;
    return all[this.#distinct.add(new RuntimeScalar(all.length, dtype, value))]!;
  }
}

/**
 * Calls `enter` once for every Expr below some roots that `done` lacks, inputs first; iterative. A class, not a generator
 * for each root: small graphs have as many roots as nodes.
 */
class InputsFirst {
  readonly #done: ReadonlyMap<Expr, number>;
  readonly #enter: (expr: Expr) => void;
  readonly #path: Expr[] = [];
  /** For each of the path: its first input that was not looked at. */
  readonly #next: number[] = [];

  constructor(done: ReadonlyMap<Expr, number>, enter: (expr: Expr) => void) {
    this.#done = done;
    this.#enter = enter;
  }

  /** Goes on to a root; false after a slice of nodes: it is to be called again. */
  reach(root: Expr): boolean {
    const [done, path, next] = [this.#done, this.#path, this.#next];
    if (path.length === 0) {
      if (done.has(root)) return true;
      path.push(root);
      next.push(0);
    }
    while (path.length > 0) {
      const top = path.length - 1;
      const { inputs } = path[top]!;
      let at = next[top]!;
      while (at < inputs.length && done.has(inputs[at]!)) at++;
      if (at < inputs.length) {
        next[top] = at + 1;
        next.push(0);
        if (path.push(inputs[at]!) % NODES_OF_SLICE === 0) return false;
      } else {
        this.#enter(path.pop()!);
        next.pop();
        if (done.size % NODES_OF_SLICE === 0 && path.length > 0) return false;
      }
    }
    return true;
  }
}
