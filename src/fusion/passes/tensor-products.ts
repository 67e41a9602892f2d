/**
 * Which products of two operands cuTENSOR computes: those that cuBLAS would need copies for, where the copies
 * take longer than cuTENSOR's arithmetic does beyond cuBLAS's.
 *
 *     abcd,dbea->ce, both in C order   →   contract by cuTENSOR; a matrix product would need both in another order
 *
 * The comparison goes by the graph and by whether the library is there, never by budgets. Called by
 * `pair-products.ts`.
 */
import { byteLengthOf, type DType, isComplex } from '../../graph/dtype.js';
import type { Precision } from '../../graph/expr.js';
import { formatBytes, formatMicroseconds } from '../../graph/format.js';
import { denseStrides, type GraphNodeOf, type MutableGraph, nodeOf, sizeOfShape } from '../../graph/graph.js';
import { asTensor, operandThroughViews } from '../partition/operands.js';
import type { ProductChoice } from './contraction-report.js';
import { copiedBytes, type ProductSize } from './kernel-contractions.js';
import type { CallTraits, ChosenWay, WayCost } from './product-costs.js';
import type { Operand } from './product-labels.js';
import type { Editor } from './rewrite.js';

/**
 * Along which labels the elements of two factors lie side by side, on which cuTENSOR's speed depends: the same summed
 * one, two summed ones, one that is not summed, or none at all in a factor.
 *
 *     bqhd,bkhd->bhqk   same        bhqk,bkhd->bqhd   free
 *     abcd,dbea->ce     different   every other column of a, b   strided
 */
export type TensorLayout = 'same' | 'different' | 'free' | 'strided';

/** cuTENSOR beside cuBLAS on a target. */
export interface TensorTraits {
  readonly isFound: () => boolean;
  /** Seconds that a call takes longer than one of cuBLAS, whatever its sizes. */
  readonly callSeconds: number;
  /**
   * Seconds that cuTENSOR takes longer than cuBLAS for a multiplication and an addition; infinite: it is used where a
   * product asks for it alone.
   */
  readonly lostSeconds: (dtype: DType, precision: Precision | undefined, layout: TensorLayout) => number;
}

/** An operand whose complex conjugate a product reads, without the map. */
export interface TensorFactor {
  readonly operand: Operand;
  readonly isConjugated: boolean;
  /** Bytes of the copy that is made for cuTENSOR. */
  readonly copiedBytes: number;
  /** Bytes of the conjugates, which a matrix product reads from memory. */
  readonly conjugateBytes: number;
  /** The label along which its elements lie side by side, if there is one. */
  readonly innermost: number | undefined;
}

/** An operand as cuTENSOR reads it. `isShared`: whether others than the product read a node. */
export function tensorFactor(
  graph: MutableGraph,
  operand: Operand,
  isShared: (id: number) => boolean,
  editor: Editor,
): TensorFactor {
  const { dtype, shape } = nodeOf(graph, operand.id);
  const below = isComplex(dtype) ? conjugateBelow(graph, operand.id, isShared, editor) : undefined;
  const id = below ?? operand.id;
  return {
    operand: { id, labels: operand.labels },
    isConjugated: below !== undefined,
    copiedBytes: copiedBytes(graph, id, asTensor),
    conjugateBytes: below === undefined ? 0 : sizeOfShape(shape) * byteLengthOf(dtype),
    innermost: innermostOf(graph, { id, labels: operand.labels }),
  };
}

function innermostOf(graph: MutableGraph, { id, labels }: Operand): number | undefined {
  const { shape } = nodeOf(graph, id);
  const strides = operandThroughViews(graph, id, undefined, asTensor)?.strides ?? denseStrides(shape); // as its copy
  return labels.find((_, axis) => strides[axis] === 1 && shape[axis]! > 1);
}

/** `summed`: the labels that the product sums. */
export function layoutOf(left: TensorFactor, right: TensorFactor, summed: readonly number[]): TensorLayout {
  const [a, b] = [left.innermost, right.innermost];
  if (a === undefined || b === undefined) return 'strided';
  if (!summed.includes(a) || !summed.includes(b)) return 'free';
  return a === b ? 'same' : 'different';
}

/** Views of x, where a node is such views of the conjugates of x, which nothing else reads. */
function conjugateBelow(
  graph: MutableGraph,
  id: number,
  isShared: (id: number) => boolean,
  editor: Editor,
): number | undefined {
  const views: GraphNodeOf<'view'>[] = [];
  let node = nodeOf(graph, id);
  while (node.kind === 'view' && node.view.type !== 'pad' && !isShared(node.id)) {
    views.unshift(node);
    node = nodeOf(graph, node.inputs[0]!);
  }
  if (node.kind !== 'map' || node.op !== 'conj' || isShared(node.id)) return undefined;
  return views.reduce((input, { view, shape }) => editor.view(input, view, shape), node.inputs[0]!);
}

/** The work of a product, and the ways to give it to cuBLAS and to cuTENSOR. */
export interface ProductWork extends ProductSize {
  readonly dtype: DType;
  readonly precision: Precision | undefined;
  /** The fastest for cuBLAS. */
  readonly chosen: ChosenWay;
  /** Bytes of conjugates that are computed for it. */
  readonly conjugateBytes: number;
  /** Bytes that are copied for cuTENSOR, and how its factors lie. */
  readonly tensorBytes: number;
  readonly layout: TensorLayout;
}

/** The faster of the two libraries, and why; `undefined`: there is nothing to choose. */
export function libraryOf(
  work: ProductWork,
  times: CallTraits,
  traits: TensorTraits,
): Omit<ProductChoice, 'subscripts'> | undefined {
  const { dtype, precision, chosen, tensorBytes, layout } = work;
  const { single, several, calls } = chosen;
  const matrixBytes = chosen.copiedBytes + work.conjugateBytes;
  const sparedBytes = Math.max(0, matrixBytes - tensorBytes);
  if (sparedBytes === 0 && calls === 1 && several === undefined) return undefined;
  const way = calls === 1 ? `after copies of ${formatBytes(matrixBytes)}` : inCalls(chosen, single);
  const conjugates = work.conjugateBytes === 0 ? 0 : times.copySeconds + work.conjugateBytes / times.copyRate;
  const copies = tensorBytes === 0 ? 0 : times.copySeconds + tensorBytes / times.copyRate;
  const spared = chosen.seconds - times.seconds(work, dtype, precision) + conjugates - copies;
  const operations = work.batch * work.m * work.n * work.k * (isComplex(dtype) ? 4 : 1);
  const longer = traits.callSeconds + operations * traits.lostSeconds(dtype, precision, layout);
  const isForAll = Number.isFinite(longer);
  const lost = isForAll
    ? `${formatMicroseconds(spared)} against ${formatMicroseconds(longer)} that cuTENSOR multiplies longer`
    : `cuTENSOR has ${precision ?? dtype} of some layouts only, and is used where it is asked for`;
  const instead =
    calls > 1 || several === undefined || several.seconds < single.seconds
      ? ''
      : `; ${several.calls} calls would take ${formatMicroseconds(several.seconds - single.seconds)} more`;
  const ofCublas = { library: 'cublas', copiedBytes: matrixBytes } as const;
  if (longer >= spared) {
    const isKept = sparedBytes > 0 || calls === 1;
    const reason = `${way}${isKept ? `: ${lost}` : ''}${instead}`;
    return { ...ofCublas, reason, sparedBytes: single.copiedBytes - chosen.copiedBytes };
  }
  if (!traits.isFound()) {
    const bytes = `${formatBytes(sparedBytes)} of them`;
    const gain = sparedBytes > 0 ? bytes : formatMicroseconds(spared - longer);
    const reason = `${way}: cuTENSOR would spare ${gain} and is not here ("npx weft doctor" says how to get it)${instead}`;
    return { ...ofCublas, reason, sparedBytes };
  }
  const needed = calls === 1 ? `copies of ${formatBytes(matrixBytes)}` : `${calls} calls`;
  const reason = `without the ${needed} that a matrix product needs: ${lost}`;
  return { library: 'cutensor', reason, copiedBytes: tensorBytes, sparedBytes };
}

/** Why several calls are better than a single one with copies. */
function inCalls({ calls, seconds, copiedBytes }: WayCost, single: WayCost): string {
  const spared = formatBytes(single.copiedBytes - copiedBytes);
  const times = `${formatMicroseconds(seconds)} against ${formatMicroseconds(single.seconds)}`;
  return `in ${calls} calls, without the copies of ${spared} that a single one needs: ${times}`;
}
