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
import { formatBytes } from '../../graph/format.js';
import { type GraphNodeOf, type MutableGraph, nodeOf, sizeOfShape } from '../../graph/graph.js';
import { asTensor } from '../partition/operands.js';
import type { ProductChoice } from './contraction-report.js';
import { copiedBytes, type ProductSize } from './kernel-contractions.js';
import type { Operand } from './product-labels.js';
import type { Editor } from './rewrite.js';

/** cuTENSOR beside cuBLAS on a target. */
export interface TensorTraits {
  readonly isFound: () => boolean;
  /** Bytes of copies that are made in a second, each written and read once more. */
  readonly copyRate: number;
  /** Seconds of a copy beside that. */
  readonly copySeconds: number;
  /** Seconds that cuTENSOR takes longer than cuBLAS for a multiplication and an addition. */
  readonly lostSeconds: (dtype: DType, precision: Precision | undefined) => number;
}

/** An operand whose complex conjugate a product reads, without the map. */
export interface TensorFactor {
  readonly operand: Operand;
  readonly isConjugated: boolean;
  /** Bytes of the copy that is made for cuTENSOR. */
  readonly copiedBytes: number;
  /** Bytes of the conjugates, which a matrix product reads from memory. */
  readonly conjugateBytes: number;
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
  };
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

/** The work of a product, and the copies that are made for the libraries. */
export interface ProductWork extends ProductSize {
  readonly dtype: DType;
  readonly precision: Precision | undefined;
  /** Bytes that are copied for cuBLAS, and for cuTENSOR. */
  readonly matrixBytes: number;
  readonly tensorBytes: number;
}

/** The faster of the two libraries, and why; `undefined`: there is nothing to choose. */
export function libraryOf(
  work: ProductWork,
  traits: TensorTraits | undefined,
): Omit<ProductChoice, 'subscripts'> | undefined {
  const { dtype, precision, matrixBytes, tensorBytes } = work;
  const sparedBytes = matrixBytes - tensorBytes;
  if (sparedBytes <= 0 || traits === undefined) return undefined;
  const copied = formatBytes(matrixBytes);
  const copies = traits.copySeconds + sparedBytes / traits.copyRate;
  const operations = work.batch * work.m * work.n * work.k * (isComplex(dtype) ? 4 : 1);
  const arithmetic = operations * traits.lostSeconds(dtype, precision);
  const times = `${microseconds(copies)} against ${microseconds(arithmetic)} that cuTENSOR multiplies longer`;
  if (arithmetic >= copies) {
    const reason = `after copies of ${copied}: ${times}`;
    return { library: 'cublas', reason, copiedBytes: matrixBytes, sparedBytes: 0 };
  }
  if (!traits.isFound()) {
    const reason = `after copies of ${copied}: cuTENSOR would spare ${formatBytes(sparedBytes)} of them and is not here ("npx weft doctor" says how to get it)`;
    return { library: 'cublas', reason, copiedBytes: matrixBytes, sparedBytes };
  }
  const reason = `without the copies of ${copied} that a matrix product needs: ${times}`;
  return { library: 'cutensor', reason, copiedBytes: tensorBytes, sparedBytes };
}

const microseconds = (seconds: number): string => `${(seconds * 1e6).toPrecision(2)} µs`;
