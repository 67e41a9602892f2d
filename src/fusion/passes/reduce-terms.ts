/**
 * Writes reductions along the axis of a join out as ops of its parts, also through maps, so that the join is not in memory:
 *
 *     Σ over 0 (c * stack [t0, t1, t2])     →   ((0 + c[0] t0) + c[1] t1) + c[2] t2
 *     softmax of stack [t0, t1], over 0     →   stack [e0 / s, e1 / s],  ek = exp(tk - max(t0, t1)),  s = e0 + e1
 *     argmax over 0 of stack [t0, t1]       →   where(t1 > t0, 1, 0)
 *
 * Sums of up to 16 parts have the order of short reductions, in which a stored join would be added up, too; longer ones are sums
 * of sums of 16 parts, in an order of their own. Whether it is done follows from the expression alone. Joins whose parts are computed alike of slices are one array before (`batch-slices.ts`).
 */
import { type DType, isComplex, isFloat, type Scalar } from '../../graph/dtype.js';
import {
  Consumers,
  type GraphNodeOf,
  type MutableGraph,
  nodeOf,
  orderOf,
  sizeOfShape,
} from '../../graph/graph.js';
import type { OpName } from '../../graph/ops.js';
import {
  accumulatorOf,
  COMBINING_OPS,
  isExactReduction,
  type ReductionName,
  SHORT_REDUCTION,
} from '../../graph/reductions.js';
import type { Slices } from '../../host/slices.js';
import { NEVER_NEGATIVE_ZERO } from '../partition/unrolled.js';
import { computesAll, isUnrolled, lengthOf } from './element-cost.js';
import { isElementwise, JoinCuts } from './join-cuts.js';
import { isInStretches } from './join-form.js';
import { KeptReductions } from './kept-reductions.js';
import { type Editor, type Rule, rewriteInOneWalk } from './rewrite.js';
import { splitRoots } from './split-joins.js';
import { SliceTaker } from './take-slices.js';

type Reduce = GraphNodeOf<'reduce'>;

/** Parts of which a reduction is written out, at most, where no order matters; else as many as short ones have. */
const MOST_TERMS = 64;
/** Parts of a join that is read again with its reduction and is not stored part by part, at most. */
const MOST_READ_AGAIN = 4;
/** Nodes above a reduction that are looked at. */
const MOST_ABOVE = 64;

/** Reductions whose written form rounds as they do by themselves, and those that have another form. */
const EXACT: ReadonlySet<ReductionName> = new Set([
  'sum',
  'prod',
  'min',
  'max',
  'any',
  'all',
  'argmin',
  'argmax',
]);
const OTHER: ReadonlySet<ReductionName> = new Set(['squaredDeviations', 'sumexp', 'logsumexp']);

/** The pass for reductions of values that are rounded as they would be otherwise. */
export const reduceTerms = (graph: MutableGraph): Slices<void> => written(graph, EXACT);

/** The pass for those that are written in another form, of two walks over the parts, and for long sums. */
export const reduceTermsTwice = (graph: MutableGraph): Slices<void> => written(graph, OTHER);

function* written(graph: MutableGraph, which: ReadonlySet<ReductionName>): Slices<void> {
  const takesLong = which === OTHER;
  const isOne = (node: MutableGraph['nodes'][number]): node is Reduce =>
    node?.kind === 'reduce' &&
    (which.has(node.reduction) || (takesLong && node.reduction === 'sum')) &&
    node.unrolled !== true;
  if (!graph.nodes.some((node) => node?.kind === 'join') || !graph.nodes.some(isOne)) return;
  const cuts = yield* JoinCuts.of(graph);
  const consumers = new Consumers(graph, orderOf(graph));
  const sliced = new Set<number>();
  let count = 0;
  const writtenAlong = (node: Reduce, axis: number, editor: Editor): number => {
    count++;
    const terms = termsOf(node, axis, new SliceTaker(editor, cuts, sliced));
    const made = new Terms(editor, editor.node(terms[0]!).shape, terms).reduced(node);
    const { id: _, ...rest } = node;
    const axes = rest.axes.filter((each) => each !== axis).map((each) => (each > axis ? each - 1 : each));
    // Of one element each, which is the result: kernels reduce no such rows.
    if (axes.every((each) => editor.node(made).shape[each] === 1)) return editor.reshape(made, rest.shape);
    return editor.add({ ...rest, axes, inputs: [made] });
  };
  const kept = new KeptReductions();
  const write: Rule = (given, editor) => {
    if (given.kind !== 'reduce' || isUnrolled(given) || computesAll(given)) return undefined;
    const node = kept.writtenIn(given, editor);
    const axis =
      isOne(node) && node.batch === undefined ? axisOfTerms(node, cuts, editor, takesLong) : undefined;
    if (axis !== undefined) {
      if (!isReadAgain(node, axis, { graph, consumers, takesLong })) return writtenAlong(node, axis, editor);
      if (!takesLong) kept.note(node.id, () => writtenAlong(node, axis, editor));
    }
    if (node === given || hasOneOrder(node, editor)) return undefined;
    const { id: _, ...data } = node;
    return editor.add(data);
  };
  yield* rewriteInOneWalk(graph, { reduce: [write] });
  if (count > 0) yield* splitRoots(graph, sliced);
}

/** Whether a reduction gives the same bits wherever the values are that it reads. */
function hasOneOrder(node: Reduce, editor: Editor): boolean {
  const input = editor.node(node.inputs[0]!);
  return (
    isExactReduction(node.reduction, input.dtype) ||
    (COMBINING_OPS[node.reduction] !== undefined && lengthOf(node, input) <= SHORT_REDUCTION)
  );
}

/** The reduced axis of which each element is a part of joins; undefined: none is, or it has too many. */
function axisOfTerms(
  { inputs, axes, reduction }: Reduce,
  cuts: JoinCuts,
  editor: Editor,
  takesLong: boolean,
): number | undefined {
  if (inputs.length > 1) return undefined;
  const { shape, dtype } = editor.node(inputs[0]!);
  if (isComplex(dtype) && OTHER.has(reduction)) return undefined;
  const own = cuts.of(inputs[0]!);
  const isFree = isExactReduction(reduction, dtype);
  // An element's place among those of several axes follows from all of these.
  if (axes.length > 1 && (!isFree || COMBINING_OPS[reduction] === undefined)) return undefined;
  const isLong = reduction === 'sum' && takesLong;
  if (isLong && isFree) return undefined;
  const most = isFree || isLong ? MOST_TERMS : SHORT_REDUCTION;
  return axes.find((axis) => {
    const size = shape[axis]!;
    return size > (isLong ? SHORT_REDUCTION : 1) && size <= most && own[axis]?.length === size + 1;
  });
}

interface Known {
  readonly graph: MutableGraph;
  readonly consumers: Consumers;
  /** Of the pass for reductions in another form or order. */
  readonly takesLong: boolean;
}

/** Whether many parts are needed for each element of what a kernel that chooses among them computes with the reduction. */
function isReadAgain(node: Reduce, axis: number, { graph, consumers, takesLong }: Known): boolean {
  const { shape } = nodeOf(graph, node.inputs[0]!);
  const count = shape[axis]!;
  if (count <= MOST_READ_AGAIN || isInStretches(shape, axis, count)) return false;
  // Those of another form or order have it by the expression alone: their bits would tell who else reads the join.
  if (takesLong) return true;
  const size = sizeOfShape(node.shape);
  const seen = new Set([node.id]);
  // A set's walk meets what is added to it meanwhile.
  for (const at of seen) {
    const end = consumers.first[at + 1] ?? 0;
    for (let k = consumers.first[at] ?? 0; k < end; k++) {
      const reader = consumers.list[k]!;
      if (!isElementwise(reader) && reader.kind !== 'view') continue;
      if (sizeOfShape(reader.shape) > size || seen.size > MOST_ABOVE) return true;
      seen.add(reader.id);
    }
  }
  return false;
}

/** The values that a reduction combines along an axis, each of the shape without it. */
function termsOf({ inputs }: Reduce, axis: number, taker: SliceTaker): number[] {
  const [id] = inputs as readonly [number];
  const { shape } = taker.editor.node(id);
  return Array.from({ length: shape[axis]! }, (_, k) => {
    const starts = shape.map((_, at) => (at === axis ? k : 0));
    const part = taker.take(id, { starts, steps: shape.map(() => 1), sizes: shape.with(axis, 1) });
    return taker.editor.reshape(part, shape.toSpliced(axis, 1));
  });
}

/** Reductions of values of one shape, as ops. */
class Terms {
  readonly #editor: Editor;
  readonly #shape: readonly number[];
  /** In the dtype that they are combined in: float32 of halves. */
  readonly #terms: readonly number[];
  readonly #dtype: DType;

  constructor(editor: Editor, shape: readonly number[], terms: readonly number[]) {
    this.#editor = editor;
    this.#shape = shape;
    this.#dtype = accumulatorOf(editor.node(terms[0]!).dtype);
    this.#terms = terms.map((term) => this.#cast(term, this.#dtype));
  }

  reduced({ reduction, dtype }: Reduce): number {
    return this.#cast(this.#of(reduction), dtype);
  }

  #of(reduction: ReductionName): number {
    switch (reduction) {
      case 'argmin':
      case 'argmax':
        return this.#placeOf(reduction === 'argmin' ? 'less' : 'greater');
      case 'squaredDeviations': {
        const mean = this.#map('divide', [this.#sum(this.#terms), this.#constant(this.#terms.length)]);
        return this.#sum(this.#terms.map((term) => this.#squared(this.#map('subtract', [term, mean]))));
      }
      case 'sumexp':
        return this.#sumexp(this.#combined('maximum'));
      case 'logsumexp': {
        const most = this.#combined('maximum');
        const sum = this.#map('add', [this.#map('log', [this.#sumexp(most)]), most]);
        return this.#map('where', [this.#map('isinf', [most], 'bool'), most, sum]);
      }
      case 'sum':
        return this.#sum(this.#terms);
      default:
        return this.#combined(COMBINING_OPS[reduction]!);
    }
  }

  #sumexp(most: number): number {
    return this.#sum(this.#terms.map((term) => this.#map('exp', [this.#map('subtract', [term, most])])));
  }

  #combined(op: OpName): number {
    return this.#terms.reduce((all, term) => this.#map(op, [all, term]));
  }

  /** One after the other, as `partition/unrolled.ts` adds. A sum begins with 0, which tells where all terms are -0. */
  #sum(terms: readonly number[]): number {
    const first = this.#editor.node(terms[0]!);
    const isFromZero =
      isComplex(first.dtype) ||
      (isFloat(first.dtype) && !(first.kind === 'map' && NEVER_NEGATIVE_ZERO.has(first.op)));
    if (terms.length > SHORT_REDUCTION) {
      const sums: number[] = [];
      for (let k = 0; k < terms.length; k += SHORT_REDUCTION)
        sums.push(this.#sum(terms.slice(k, k + SHORT_REDUCTION)));
      return sums.reduce((sum, term) => this.#map('add', [sum, term]));
    }
    const all = isFromZero ? [this.#constant(0), ...terms] : terms;
    return all.reduce((sum, term) => this.#map('add', [sum, term]));
  }

  /** The place of the first of the extremes, or of the first NaN. */
  #placeOf(comparison: 'less' | 'greater'): number {
    let [best] = this.#terms as readonly [number];
    let place = this.#constant(0n, 'int64');
    for (const [k, term] of this.#terms.entries()) {
      if (k === 0) continue;
      const isBetter = this.#isBetter(comparison, term, best);
      best = this.#map('where', [isBetter, term, best]);
      place = this.#map('where', [isBetter, this.#constant(BigInt(k), 'int64'), place], 'int64');
    }
    return place;
  }

  #isBetter(comparison: 'less' | 'greater', term: number, best: number): number {
    const isBeyond = this.#map(comparison, [term, best], 'bool');
    if (!isFloat(this.#dtype)) return isBeyond;
    const isNumber = this.#map('logicalNot', [this.#map('isnan', [best], 'bool')], 'bool');
    const isFirst = this.#map('logicalAnd', [this.#map('isnan', [term], 'bool'), isNumber], 'bool');
    return this.#map('logicalOr', [isBeyond, isFirst], 'bool');
  }

  #squared(value: number): number {
    return this.#map('square', [value]);
  }

  #map(op: OpName, inputs: readonly number[], dtype = this.#dtype): number {
    return this.#editor.add({ kind: 'map', op, dtype, shape: this.#shape, inputs });
  }

  #constant(value: number | bigint, dtype = this.#dtype): number {
    const scalar: Scalar = isComplex(dtype) ? { re: Number(value), im: 0 } : value;
    return this.#editor.constant(scalar, dtype, this.#shape);
  }

  #cast(id: number, dtype: DType): number {
    if (this.#editor.node(id).dtype === dtype) return id;
    return this.#editor.add({ kind: 'cast', dtype, shape: this.#editor.node(id).shape, inputs: [id] });
  }
}
