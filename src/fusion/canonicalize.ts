/**
 * Canonicalize: Exprs → Graph. Equal subexpressions become one node, sources are numbered in order of first use, and
 * what no output needs never enters.
 *
 *     (x * x) + (x * x)   →   %0 = source 0;  %1 = multiply %0 %0;  %2 = add %1 %1
 *
 * Values do not change. The fingerprint covers kinds, ops, shapes, dtypes, layouts and constants, not data; equal
 * fingerprints have equal plans.
 */
import { createHash } from 'node:crypto';
import { ArgumentError, expected, InternalError } from '../errors.js';
import type { DType } from '../graph/dtype.js';
import {
  type DeviceSource,
  type Expr,
  type ExprOf,
  type FoldedSource,
  type LoopBody,
  layoutOf,
  type NodeBase,
  type Site,
  type StridedSource,
} from '../graph/expr.js';
import {
  denseStrides,
  type Graph,
  type GraphLoop,
  type GraphNode,
  type GraphNodeData,
  nodeFrom,
  sizeOfShape,
} from '../graph/graph.js';
import { formatCount, formatNodeData } from '../graph/print.js';
import { narrowSources, reach } from './narrow-sources.js';

/** The part of an array that a graph reads. */
export interface SourceArray {
  readonly source: StridedSource | DeviceSource | FoldedSource;
  /** First element read, and how many from there on; node offsets count from `start`. */
  readonly start: number;
  readonly elementCount: number;
  readonly dtype: DType;
}

export interface Canonical {
  readonly graph: Graph;
  /** The arrays behind `source` nodes, by their number. */
  readonly sources: readonly SourceArray[];
  /** Where the user made each node, by id. */
  readonly sites: ReadonlyMap<number, Site>;
  readonly fingerprint: string;
}

/** Longest text that is a fingerprint as it stands; a longer one is hashed. */
const MAX_TEXT = 4096;

/** Identifies a node's computation, given its inputs' ids. Equal keys are equal values. */
function keyOf(data: GraphNodeData, { dtype, shape }: NodeBase, inputs: readonly number[]): string {
  const text = data.kind === 'map' ? data.op : data.kind === 'loop' ? loopText(data) : formatNodeData(data);
  return `${text}|${listed(inputs)}|${dtype}|${listed(shape)}`;
}

const loopText = ({ loop, result }: Extract<GraphNodeData, { kind: 'loop' }>): string =>
  `loop ${result} ${loop.key}`;

/** `join(' ')`, which is slow for the short lists that nearly all are. */
function listed(numbers: readonly number[]): string {
  switch (numbers.length) {
    case 0:
      return '';
    case 1:
      return `${numbers[0]}`;
    case 2:
      return `${numbers[0]} ${numbers[1]}`;
    default:
      return numbers.join(' ');
  }
}

/** Graphs of up to so many nodes are found again as fast as the collector drops what was kept of them. */
const CHEAP = 8;

/** Nodes of all graphs that are kept: a loop that computes what it builds at every step makes larger and larger ones. */
const MOST_KNOWN = 1 << 18;

interface Known {
  readonly outputs: readonly Expr[];
  readonly canonical: Canonical;
}

/** Expressions never change, so what was found for a list of them stays right; kept at most as long as the first of them. */
let known = new WeakMap<Expr, Known>();
/** Nodes of the graphs that were put there. */
let knownNodes = 0;

/** The canonical graph of some results; found once for the same list of expressions, unless it is small. */
export function canonicalize(outputs: readonly Expr[]): Canonical {
  const [first] = outputs;
  if (first === undefined) return canonicalizeOnce(outputs);
  const entry = known.get(first);
  if (entry?.outputs.length === outputs.length && entry.outputs.every((expr, k) => expr === outputs[k])) {
    return entry.canonical;
  }
  const canonical = canonicalizeOnce(outputs);
  if (canonical.size > CHEAP) keep(first, outputs, canonical);
  return canonical;
}

function keep(first: Expr, outputs: readonly Expr[], canonical: LazyCanonical): void {
  knownNodes += canonical.size;
  if (knownNodes > MOST_KNOWN) {
    known = new WeakMap();
    knownNodes = canonical.size;
  }
  known.set(first, { outputs: [...outputs], canonical });
}

/** A node of the graph, and where it comes from: an Expr that may become a source later. */
interface Entry {
  readonly expr: Expr;
  readonly data: GraphNode;
  readonly inputs: readonly number[];
}

const loops = new WeakMap<LoopBody, GraphLoop>();

/** A loop with its body as a graph; made once for all its results. */
function loopOf(loop: LoopBody): GraphLoop {
  let made = loops.get(loop);
  if (made === undefined) {
    const { steps, condition, every } = loop;
    const { graph, fingerprint } = build(loop.next, new ArgumentList());
    const key = `${formatCount(loop)} {\n${fingerprint}\n}`;
    made = { steps, condition, every, body: graph, key };
    loops.set(loop, made);
  }
  return made;
}

function dataOf(expr: Expr, sources: SourceList | ArgumentList): GraphNodeData {
  if (expr.kind === 'source') return sources.nodeOf(expr);
  if (expr.kind !== 'loop') return expr;
  return { kind: 'loop', loop: loopOf(expr.loop), result: expr.result };
}

/** Drops what is known of a node that is about to change. */
export function forget(expr: Expr): void {
  known.delete(expr);
}

/** The canonical graph of some results that nobody asks for again. */
export const canonicalizeOnce = (outputs: readonly Expr[]): LazyCanonical => build(outputs, new SourceList());

function build(outputs: readonly Expr[], sources: SourceList | ArgumentList): LazyCanonical {
  const entries: Entry[] = [];
  const interned = new Map<string, number>();
  const ids = new Map<Expr, number>();
  const keys: string[] = [];

  const enter = (expr: Expr): void => {
    const inputs: number[] = [];
    for (const input of expr.inputs) inputs.push(ids.get(input)!);
    const data = dataOf(expr, sources);
    const key = keyOf(data, expr, inputs);
    let id = interned.get(key);
    if (id === undefined) {
      id = entries.length;
      entries.push({ expr, data: nodeFrom(data, expr, id, inputs), inputs });
      interned.set(key, id);
      keys.push(key);
    }
    ids.set(expr, id);
  };

  for (const output of outputs) visitInputsFirst(output, ids, enter);
  const results = outputs.map((expr) => ids.get(expr)!);
  const replaced = new Set<number>();
  for (const narrow of narrowSources(entries, results, sources.list)) {
    const { expr } = entries[narrow.id]!;
    entries[narrow.id] = { expr, data: nodeFrom(narrow.data, expr, narrow.id, []), inputs: [] };
    keys[narrow.id] = keyOf(narrow.data, expr, []);
    sources.list[narrow.data.input] = narrow.array;
    for (const id of narrow.replaced) replaced.add(id);
  }
  for (const { source, elementCount } of sources.list) {
    keys.push(`${source.type === 'device' ? layoutOf(source.buffer) : source.type} ${elementCount}`);
  }
  keys.push(`return ${listed(results)}`);
  const text = keys.join('\n');
  const fingerprint = text.length <= MAX_TEXT ? text : createHash('sha256').update(text).digest('hex');
  return new LazyCanonical(entries, replaced, results, sources.list, fingerprint);
}

/** Makes the table of nodes when it is asked for: a repeated program needs only the fingerprint and the sources. */
class LazyCanonical implements Canonical {
  readonly #entries: readonly Entry[];
  /** Ids of entries that are no nodes any more. */
  readonly #replaced: ReadonlySet<number>;
  readonly #outputs: readonly number[];
  #graph: Graph | undefined;

  constructor(
    entries: readonly Entry[],
    replaced: ReadonlySet<number>,
    outputs: readonly number[],
    readonly sources: readonly SourceArray[],
    readonly fingerprint: string,
  ) {
    this.#entries = entries;
    this.#replaced = replaced;
    this.#outputs = outputs;
  }

  /** How many nodes there are. */
  get size(): number {
    return this.#entries.length;
  }

  get graph(): Graph {
    if (this.#graph === undefined) {
      const nodes = this.#entries.map(({ data }, id) => (this.#replaced.has(id) ? undefined : data));
      this.#graph = { nodes, outputs: this.#outputs };
    }
    return this.#graph;
  }

  get sites(): ReadonlyMap<number, Site> {
    return new Map(
      this.#entries.flatMap(({ expr }, id) => (expr.site === undefined ? [] : [[id, expr.site] as const])),
    );
  }
}

/** What is the same object where two sources have the same elements. */
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
  readonly #known = new Map<object, Map<string, number>>();

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
    if (source.type === 'device' || source.type === 'folded') {
      const array = { source, start: 0, elementCount: size, dtype: expr.dtype };
      return {
        kind: 'source',
        input: this.#add(array, source.type === 'device' ? source.buffer : source.part),
        offset: 0,
        strides: denseStrides(expr.shape),
      };
    }
    const [first, last] = size === 0 ? [source.offset, source.offset - 1] : reach(source, expr.shape);
    const array = { source, start: first, elementCount: last - first + 1, dtype: expr.dtype };
    const input = this.#add(array, identityOf(source));
    return { kind: 'source', input, offset: source.offset - first, strides: source.strides };
  }

  #add(array: SourceArray, identity: object): number {
    const parts = this.#known.get(identity) ?? new Map<string, number>();
    this.#known.set(identity, parts);
    const value = array.source.type === 'folded' ? array.source.value : 0;
    const key = `${array.start} ${array.elementCount} ${array.dtype} ${value}`;
    let input = parts.get(key);
    if (input === undefined) {
      input = this.list.push(array) - 1;
      parts.set(key, input);
    }
    return input;
  }
}

/** Calls `enter` once for every Expr below `root` that `done` lacks, inputs first; iterative. */
function visitInputsFirst(root: Expr, done: ReadonlyMap<Expr, number>, enter: (expr: Expr) => void): void {
  if (done.has(root)) return;
  const path = [root];
  const next = [0]; // for each of `path`: its first input that was not looked at
  while (path.length > 0) {
    const top = path.length - 1;
    const { inputs } = path[top]!;
    let at = next[top]!;
    while (at < inputs.length && done.has(inputs[at]!)) at++;
    if (at < inputs.length) {
      next[top] = at + 1;
      path.push(inputs[at]!);
      next.push(0);
    } else {
      enter(path.pop()!);
      next.pop();
    }
  }
}
