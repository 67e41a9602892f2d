/**
 * Which matrix products a generated kernel does rather than a library: long ones with small results, whose
 * operands the library would have to be given as copies, and those of many rows by few columns, or few rows by many
 * columns. The kernel reads them where they lie, or computes them as it goes.
 *
 *     abcd,dbea->ec, 96 × 393,216 × 96   →   one kernel; a library would need both operands in another order
 *     ij,jk->ik, 16,384 × 1,024 × 16     →   one kernel: 34 µs on an H100, where cuBLAS takes 67
 *
 * Long ones are compared by the bytes that memory moves in the same time, with the costs of a target. Called
 * by `lower-contractions.ts`.
 */
import { byteLengthOf, type DType } from '../../graph/dtype.js';
import { type Graph, nodeOf, sizeOfShape } from '../../graph/graph.js';
import { operandThroughViews, type Readable } from '../partition/operands.js';

/** The sizes of a product (batch, m, k) (batch, k, n). */
export interface ProductSize {
  readonly batch: number;
  readonly m: number;
  readonly n: number;
  readonly k: number;
}

/** The costs of products on a target whose generated kernels compete with its library. */
export interface ProductCosts {
  /** The contracted axis is at least so many times longer than rows and columns. */
  readonly leastRatio: number;
  /** Rows and columns: fewer leave a tile empty, more are several tiles. */
  readonly leastSide: number;
  readonly mostSide: number;
  /**
   * Float32 operations while memory moves a byte: of a library on such products, in tiles of at least so many
   * rows and columns, and of a generated kernel.
   */
  readonly libraryRate: number;
  readonly librarySide: number;
  readonly kernelRate: number;
  /**
   * Bytes that memory moves while the kernel takes up an element of an operand, and while it computes one as
   * well.
   */
  readonly loadedBytes: number;
  readonly computedBytes: number;
  /**
   * The same where both operands are one, of so many rows at most: they are taken up once, and a part of the products is
   * computed.
   */
  readonly sharedBytes: number;
  readonly mostShared: number;
  readonly sharedPart: number;
  /** Bytes of an element that is copied for a library: written and read. */
  readonly copiedBytes: number;
  /**
   * Products of so many rows by few columns, or columns by rows, over no more terms than those: the kernel reads the long
   * side about as fast as memory gives it.
   */
  readonly narrowLong: number;
  /** At most so many columns over so many terms and more; `inOrder`: where the long operand lies in C order. */
  readonly narrow: readonly { readonly most: number; readonly terms: number; readonly inOrder: boolean }[];
}

/**
 * Whether a generated kernel does it faster. `left` and `right`: the operands as the library would be given
 * them.
 */
export function suitsKernel(
  graph: Graph,
  costs: ProductCosts,
  dtype: DType,
  left: number,
  right: number,
  { batch, m, n, k }: ProductSize,
): boolean {
  // Halves and doubles have faster units than a generated kernel uses.
  if (dtype !== 'float32' || batch !== 1) return false;
  const [short, side] = [Math.min(m, n), Math.max(m, n)];
  if (short < costs.leastSide) return false;
  if (side >= costs.narrowLong && k <= side) {
    const strides = operandThroughViews(graph, m > n ? left : right)?.strides;
    const isInOrder = strides?.at(-1) === 1;
    if (
      costs.narrow.some(({ most, terms, inOrder }) => short <= most && k >= terms && (isInOrder || !inOrder))
    )
      return true;
  }
  if (side > costs.mostSide || k < costs.leastRatio * side) return false;
  const a = libraryOperandOf(graph, left);
  const b = libraryOperandOf(graph, right);
  const copied = (a.isCopied ? m : 0) + (b.isCopied && b.node !== a.node ? n : 0);
  if (copied === 0) return false;
  const bytesOf = ({ isComputed: computed }: LibraryOperand): number =>
    computed ? costs.computedBytes : costs.loadedBytes;
  const padded = 2 * Math.max(m, costs.librarySide) * Math.max(n, costs.librarySide);
  // For each element of the contracted axis.
  const library = costs.copiedBytes * copied + padded / costs.libraryRate;
  const isShared = m === n && m <= costs.mostShared && arranged(graph, left) === arranged(graph, right);
  const kernel = isShared
    ? costs.sharedBytes * m + (2 * m * n * costs.sharedPart) / costs.kernelRate
    : bytesOf(a) * m + bytesOf(b) * n + (2 * m * n) / costs.kernelRate;
  return kernel < library;
}

/** The form of an operand that a library would need. */
interface LibraryOperand {
  /** The node whose values a library reads. */
  readonly node: number;
  readonly isComputed: boolean;
  /** Whether they are there only for the library. */
  readonly isCopied: boolean;
}

/**
 * Bytes of the copy of an operand that is made for the library alone; none of an operand that is computed, since
 * it is stored in the order that the library wants.
 */
export function copiedBytes(graph: Graph, id: number, isReadable?: Readable): number {
  if (isComputed(graph, id) || operandThroughViews(graph, id, undefined, isReadable) !== undefined) return 0;
  const { dtype, shape } = nodeOf(graph, id);
  return sizeOfShape(shape) * byteLengthOf(dtype);
}

function libraryOperandOf(graph: Graph, id: number): LibraryOperand {
  const operand = operandThroughViews(graph, id);
  const node = operand?.node ?? id;
  const computed = isComputed(graph, id);
  return { node, isComputed: computed, isCopied: operand === undefined || computed };
}

/** The node whose elements an operand has, all of them, in another order or shape. */
function arranged(graph: Graph, id: number): number {
  let node = nodeOf(graph, id);
  while (node.kind === 'view' && (node.view.type === 'permute' || node.view.type === 'reshape'))
    node = nodeOf(graph, node.inputs[0]!);
  return node.id;
}

const COMPUTED: ReadonlySet<string> = new Set(['map', 'cast', 'iota', 'const']);

/** Whether a kernel computes an operand, below views of it, which then stores it as it is read. */
export function isComputed(graph: Graph, id: number): boolean {
  let node = nodeOf(graph, id);
  while (node.kind === 'view') node = nodeOf(graph, node.inputs[0]!);
  return COMPUTED.has(node.kind);
}
