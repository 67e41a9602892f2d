/**
 * Segments deep graphs: puts what lies many levels below a node aside as a segment that is computed first, so that
 * a loop which never computes holds a bounded number of nodes.
 *
 *     acc = acc + x, 100,000 times   →   segment 1 = 16,384 additions;  segment 2 = 16,384 more, from segment 1's value;  …
 *
 * Nothing runs here. A segment keeps its canonical graph, which equal segments share, and what it reads: segments of a
 * loop that does the same in every step take next to nothing. They are computed by the compute that needs
 * them (`exec/run/segments.ts`), on its device, within its budget, with its options.
 *
 * Values do not change: a segment gives results of elementwise ops and casts alone, which no rewrite reaches
 * through. Its values' nodes become sources, whoever holds them; what others hold of the nodes below stays as
 * it is.
 */
import type { Segmentation } from '../../graph/depth.js';
import type { Expr, Segment, SegmentSource } from '../../graph/expr.js';
import type { Graph } from '../../graph/graph.js';
import { type Canonical, canonicalizeOnce, forget } from './canonicalize.js';
import type { IndexCheck } from './index-check.js';
import type { SourceArray } from './source-array.js';

/**
 * A segment gives at most so many values; a graph that needs more is no loop over a few arrays, and stays as it
 * is.
 */
const MAX_VALUES = 64;
/** Nodes of each level that are looked at, on average, before a graph is taken to be too wide. */
const MAX_WIDTH = 8;
/** Graphs that are kept for equal segments to share. */
const MAX_GRAPHS = 16;

class DeepSegment implements Segment {
  readonly valueCount: number;
  readonly #canonical: Canonical;

  constructor(valueCount: number, canonical: Canonical) {
    this.valueCount = valueCount;
    this.#canonical = canonical;
  }

  static canonicalOf(segment: Segment): Canonical {
    return (segment as DeepSegment).#canonical;
  }
}

/** The graph of a segment; its results are the segment's values, in order. */
export const canonicalOfSegment = (segment: Segment): Canonical => DeepSegment.canonicalOf(segment);

/** Puts aside what is more than `levels` below the next node. */
export const segment: Segmentation = (tops, depth, levels) => {
  const values = valuesBelow(tops, depth - levels, MAX_WIDTH * levels);
  if (values.length === 0) return;
  const segment = new DeepSegment(values.length, sharedCanonical(canonicalizeOnce(values)));
  for (const [value, expr] of values.entries()) becomeSource(expr, { type: 'segment', segment, value });
};

/** Replaces a node in place by a source of its value, so that all references see it. */
function becomeSource(expr: Expr, source: SegmentSource): void {
  // A call site that nobody has formatted yet holds the array whose method was called, and so the nodes
  // below.
  void expr.site?.stack;
  forget(expr);
  Object.assign(expr, { kind: 'source', source, inputs: NO_INPUTS });
}

const NO_INPUTS: readonly Expr[] = [];

/** The values of at most this level that what is above reads; none where they are too many. */
function valuesBelow(tops: readonly Expr[], level: number, most: number): Expr[] {
  const values = new Set<Expr>();
  const above = new Set<Expr>(tops);
  for (const reader of above) {
    if (above.size > most || values.size > MAX_VALUES) return [];
    for (const input of reader.inputs) {
      if (input.inputs.length === 0) continue;
      if (input.depth > level || !isCut(input)) above.add(input);
      else values.add(input);
    }
  }
  return [...values];
}

/** Contractions, sums and views may be rewritten together with what reads them. */
const isCut = ({ kind }: Expr): boolean =>
  kind === 'map' || kind === 'cast' || kind === 'repeat' || kind === 'function';

/** By fingerprint; the oldest goes first. */
const graphs = new Map<string, Graph>();
const NO_SITES: Canonical['sites'] = new Map();

/** Without the nodes it was made of, and with the graph of an equal segment where there is one. */
function sharedCanonical({ graph, sources, fingerprint, checks, statuses }: Canonical): Canonical {
  let shared = graphs.get(fingerprint);
  if (shared === undefined) {
    shared = graph;
    const [oldest] = graphs.keys();
    if (graphs.size === MAX_GRAPHS) graphs.delete(oldest!);
    graphs.set(fingerprint, shared);
  }
  const known = { sites: NO_SITES, repeated: [], stretched: [] };
  return { graph: shared, sources, scalars: [], fingerprint, checks, statuses, ...known };
}

const NO_SEGMENTS: readonly Segment[] = [];
const isSegment = ({ source }: SourceArray): boolean => source.type === 'segment';

/** The segments below a graph, those that others read first. */
export function segmentsBelow({ sources }: Canonical): readonly Segment[] {
  if (!sources.some(isSegment)) return NO_SEGMENTS;
  const found: Segment[] = [];
  const seen = new Set<Segment>();
  const path: {
    readonly segment: Segment | undefined;
    readonly below: readonly SourceArray[];
    next: number;
  }[] = [{ segment: undefined, below: sources, next: 0 }];
  while (path.length > 0) {
    const top = path[path.length - 1]!;
    const source = top.below[top.next++]?.source;
    if (source === undefined) {
      path.pop();
      if (top.segment !== undefined) found.push(top.segment);
    } else if (source.type === 'segment' && !seen.has(source.segment)) {
      seen.add(source.segment);
      path.push({ segment: source.segment, below: canonicalOfSegment(source.segment).sources, next: 0 });
    }
  }
  return found;
}

/** The index arrays to look at before a graph and the segments below it are computed. */
export function checksBelow(canonical: Canonical): readonly IndexCheck[] {
  const below = segmentsBelow(canonical);
  if (below.length === 0) return canonical.checks;
  return [canonical, ...below.map(canonicalOfSegment)].flatMap(({ checks }) => checks);
}

/** The segments that a graph itself reads. */
export const segmentsIn = ({ sources }: Canonical): ReadonlySet<Segment> =>
  new Set(sources.flatMap(({ source }) => (source.type === 'segment' ? [source.segment] : [])));
