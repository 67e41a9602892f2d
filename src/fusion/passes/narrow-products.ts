/**
 * Narrow products: those of few terms for a few rows or columns, which take less arithmetic than memory takes to bring their
 * operands. They are maps, written out in the kernels that compute their operands or use their results:
 *
 *     (1080, 1920, 3) @ (3, 3)          →   x[…, 0] r[0, j] + x[…, 1] r[1, j] + x[…, 2] r[2, j]
 *     ij,jk->ik, 10^6 × 8 × 8           →   eight terms for each element
 *     nij,njk->nik, 10^6 × 3 × 3        →   three terms for each element, of its own matrices
 *     Σj (x @ p)[i, j] x[i, j]          →   the short sum of what is computed of such a product is written out, too
 *     Σij f(x @ w), of few columns      →   Σi Σj f(x @ w), the sum of columns written out
 *
 * The sizes of a product and what its operands are computed of alone decide, so that a result has the bits that it has by
 * itself. Terms are added one after the other, from the first term on, halves in float32. Asked by `pair-products.ts`;
 * the pass runs after `lower-contractions.ts`.
 */
import { isHalf } from '../../graph/dtype.js';
import { formatShape } from '../../graph/format.js';
import { type GraphNode, type GraphNodeOf, type MutableGraph, nodeOf, orderOf } from '../../graph/graph.js';
import { SHORT_REDUCTION } from '../../graph/reductions.js';
import type { Slices } from '../../host/slices.js';
import type { ContractionReport, ProductChoice } from './contraction-report.js';
import { ElementCosts, isComputed, isUnrolled, lengthOf } from './element-cost.js';
import type { ProductSize } from './kernel-contractions.js';
import { isShortReduction, MAX_UNROLLED_COST } from './own-expression.js';
import { type Editor, type Rule, rewriteInOneWalk } from './rewrite.js';

/** Terms, and terms of all the results that one row or column of the long operand gives, at most. */
const MOST_TERMS = SHORT_REDUCTION;
const MOST_OF_ROW = 64;
/** Fewer results are computed once, by a kernel or call of their own, for whatever needs them. */
const LEAST_RESULTS = 1024;

/** Whether a product has few terms for few columns of many rows, or few rows of many columns, or many small matrices. */
export const isNarrow = ({ batch, m, n, k }: ProductSize): boolean =>
  k > 1 && k <= MOST_TERMS && k * Math.min(m, n) <= MOST_OF_ROW && batch * m * n >= LEAST_RESULTS;

/** Why it is a kernel's, for `explain()`. */
export const narrowReason = ({ m, n, k }: ProductSize): string =>
  `that writes out ${k} terms for each element: a ${m >= n ? 'row' : 'column'} takes ${k * Math.min(m, n)} multiply-adds, less than to bring it from memory`;

type Reduce = GraphNodeOf<'reduce'>;

export function* narrowProducts(graph: MutableGraph, report?: ContractionReport): Slices<void> {
  if (!graph.nodes.some((node) => node !== undefined && isUnrolled(node))) return;
  const { chosen, readers } = writtenOut(graph);
  const rule: Rule = (node, editor) => {
    if (node.kind !== 'reduce') return undefined;
    const isWritten = chosen.get(node.id);
    if (isWritten === undefined) return readers.has(node.id) ? inTwoSteps(node, editor) : undefined;
    if (isWritten === isUnrolled(node)) return undefined;
    if (!isWritten) report?.choice(storedOnce(node));
    const { id: _, ...reduction } = node;
    return editor.add({ ...reduction, unrolled: isWritten ? true : undefined });
  };
  yield* rewriteInOneWalk(graph, { reduce: [rule] });
}

const storedOnce = ({ id, shape }: Reduce): ProductChoice => ({
  subscripts: `%${id}, ${formatShape(shape)},`,
  library: 'weft',
  reason: `that stores it: its terms cost more than ${MAX_UNROLLED_COST} additions together`,
  copiedBytes: 0,
  sparedBytes: 0,
});

interface Choices {
  /**
   * Whether each sum of a narrow product, and each short reduction of what is computed of some, is written out: those whose
   * terms cost too much together, as those of products of products of products, are computed once.
   */
  readonly chosen: ReadonlyMap<number, boolean>;
  /** Longer reductions of what is computed of narrow products. */
  readonly readers: ReadonlySet<number>;
}

function writtenOut(graph: MutableGraph): Choices {
  const order = orderOf(graph);
  const costs = ElementCosts.of(graph, []);
  const chosen = new Map<number, boolean>();
  const readers = new Set<number>();
  const has = new Set<number>();
  const isOfProducts = ({ inputs }: GraphNode): boolean => inputs.some((id) => has.has(id));
  for (const id of order) {
    const node = nodeOf(graph, id);
    if (isUnrolled(node) || (isShortReduction(graph, node) && isOfProducts(node))) {
      const written = isCheap(node, graph, costs);
      chosen.set(id, written);
      if (!written) continue;
      has.add(id);
      costs.note({ ...node, unrolled: true }, graph);
    } else if (isComputed(node)) {
      if (isOfProducts(node)) has.add(id);
      costs.note(node, graph);
    } else if (node.kind === 'reduce' && isOfProducts(node) && areColumnsCheap(node, graph, costs)) {
      readers.add(id);
    }
  }
  return { chosen, readers };
}

function isCheap(node: Reduce, graph: MutableGraph, costs: ElementCosts): boolean {
  const input = nodeOf(graph, node.inputs[0]!);
  return lengthOf(node, input) * (costs.at(input.id) + 1) <= MAX_UNROLLED_COST;
}

/** Whether the columns of a row cost no more together than a reduction that is written out may. */
function areColumnsCheap({ inputs }: Reduce, graph: MutableGraph, costs: ElementCosts): boolean {
  const { id, shape } = nodeOf(graph, inputs[0]!);
  return (shape.at(-1) ?? 1) * (costs.at(id) + 1) <= MAX_UNROLLED_COST;
}

/** Reductions of which one of parts is one of all. */
const IN_TWO_STEPS: ReadonlySet<string> = new Set(['sum', 'prod', 'min', 'max', 'any', 'all']);
/** Columns whose reductions are computed together. */
const MOST_COLUMNS = 9;

/**
 * A reduction of rows that also takes their few columns takes these first, written out; one that keeps them is one of each
 * column, in one kernel: elements of a row are loaded once for all of its columns.
 */
function inTwoSteps(node: Reduce, editor: Editor): number | undefined {
  const input = editor.node(node.inputs[0]!);
  const last = input.shape.length - 1;
  const columns = input.shape[last]!;
  if (columns < 2 || columns > MOST_COLUMNS || node.inputs.length > 1 || node.axes.length === 0)
    return undefined;
  const { id: _, ...reduction } = node;
  if (!node.axes.includes(last)) return joinOfColumns(node, last, editor);
  if (!IN_TWO_STEPS.has(node.reduction) || isHalf(input.dtype)) return undefined;
  const row = editor.add({
    ...reduction,
    axes: [last],
    shape: input.shape.slice(0, -1),
    inputs: [input.id],
    unrolled: true,
  });
  return editor.add({ ...reduction, axes: node.axes.filter((axis) => axis !== last), inputs: [row] });
}

function joinOfColumns(node: Reduce, last: number, editor: Editor): number {
  const { id: _, ...reduction } = node;
  const { shape } = editor.node(node.inputs[0]!);
  const parts = Array.from({ length: shape[last]! }, (_, k) => {
    const starts = shape.map((_, axis) => (axis === last ? k : 0));
    const steps = shape.map(() => 1);
    const column = editor.view(node.inputs[0]!, { type: 'slice', starts, steps }, shape.with(last, 1));
    return editor.add({ ...reduction, shape: node.shape.with(-1, 1), inputs: [column] });
  });
  const { dtype } = node;
  return editor.add({ kind: 'join', axis: node.shape.length - 1, dtype, shape: node.shape, inputs: parts });
}
