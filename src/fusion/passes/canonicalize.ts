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

import type { Expr } from '../../graph/expr.js';
import type { Graph, GraphNode } from '../../graph/graph.js';
import { completed, type Slices } from '../../host/slices.js';
import type { Canonical } from './canonical-graph.js';
import { builtAtOnce, GraphBuilding } from './graph-building.js';
import { ArgumentList, ScalarList, SourceList } from './graph-sources.js';

export type { Canonical } from './canonical-graph.js';

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
export function canonicalize(outputs: readonly Expr[]): Canonical {
  const begun = canonicalOrSlices(outputs);
  return isSlices(begun) ? completed(begun) : begun;
}

/**
 * As `canonicalize`; slices where there are more than a few nodes. An expression that becomes a source between two slices
 * (`segment.ts`) is the same value before and after.
 */
export function canonicalOrSlices(outputs: readonly Expr[]): Canonical | Slices<Canonical> {
  const [first] = outputs;
  const entry = first && known.get(first);
  if (entry?.outputs.length === outputs.length && entry.outputs.every((expr, k) => expr === outputs[k])) {
    return entry.canonical;
  }
  const building = new GraphBuilding(outputs, new SourceList(), new ScalarList());
  return building.goOn() ? built(outputs, building) : builtInSlices(outputs, building);
}

function* builtInSlices(outputs: readonly Expr[], building: GraphBuilding): Slices<Canonical> {
  do yield;
  while (!building.goOn());
  return built(outputs, building);
}

export const isSlices = (begun: Canonical | Slices<Canonical>): begun is Slices<Canonical> => 'next' in begun;

function built(outputs: readonly Expr[], building: GraphBuilding): Canonical {
  const canonical = building.canonical();
  const [first] = outputs;
  const { nodes } = canonical.graph;
  if (first !== undefined && (nodes.length > CHEAP || nodes.some(isLoop))) {
    if (asked.has(first)) keep(first, outputs, canonical);
    else asked.add(first);
  }
  return canonical;
}

const isLoop = (node: GraphNode | undefined): boolean => node?.kind === 'loop';

function keep(first: Expr, outputs: readonly Expr[], canonical: Canonical): void {
  knownNodes += canonical.graph.nodes.length;
  if (knownNodes > MOST_KNOWN) {
    known = new WeakMap();
    knownNodes = canonical.graph.nodes.length;
  }
  known.set(first, { outputs: [...outputs], canonical });
}

/** Drops what is known of a node that is about to change. */
export function forget(expr: Expr): void {
  known.delete(expr);
}

/** The canonical graph of some results that nobody asks for again; its constants are part of it. */
export const canonicalizeOnce = (outputs: readonly Expr[]): Canonical =>
  builtAtOnce(outputs, new SourceList(), undefined);

/** The graph of expressions of arguments alone (`argumentLike`): its source number k is argument k. */
export const graphOfArguments = (outputs: readonly Expr[]): Graph =>
  builtAtOnce(outputs, new ArgumentList(), undefined).graph;
