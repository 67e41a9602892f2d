/**
 * Lowers contractions to what is executed: sums over one operand's own labels first, then pairs in the order
 * of the path search, each either a matrix product for a library or a fused multiply-and-sum.
 *
 *     contract ij,jk->k                  →   s = sum over i (a);  sum over j (s[:, None] * b)
 *     contract abcd,dbea->ec (a, b)      →   matmul (1, m=c, k=abd) (1, k=abd, n=e), views around it
 *     contract abcd,dbea->ec (c, d)      →   the same by cuTENSOR, where a matrix product would need copies
 *     contract ij,jk->ik (integers)      →   sum over j (a[:, None, :] * b.T[None])
 *
 * Where a target gives the costs of products, long ones that would need copies of their operands are such sums
 * as well (`kernel-contractions.ts`).
 *
 * After this pass every `contract` node is `(batch, m, k), (batch, k, n) -> (batch, m, n)`, the same with several batch
 * axes and the result's in any order (`graph/matrix-product.ts`), or of two operands and by cuTENSOR. Only the order of sums changes, and only for contractions of more than two operands or with
 * labels of one operand.
 */
import { byteLengthOf, type DType, isHalf } from '../../graph/dtype.js';
import { type GraphNodeOf, type MutableGraph, nodeOf, orderOf, sharedNodes } from '../../graph/graph.js';
import { labelName } from '../../graph/print.js';
import type { Slices } from '../../host/slices.js';
import { sameNumbers } from '../kernel/kernel.js';
import { asMatrix, type Readable } from '../partition/operands.js';
import { type ContractionPath, contractionPath, elementLimit } from '../paths/contraction-path.js';
import type { Pair } from '../paths/exact-order.js';
import type { Network } from '../paths/network.js';
import { reportPath } from '../paths/path-report.js';
import type { AttentionTraits } from './attention-traits.js';
import type { ContractionReport } from './contraction-report.js';
import { copiedBytes, type ProductCosts, suitsKernel } from './kernel-contractions.js';
import { type Context, type InKernel, NEVER, type Tf32Traits } from './lowering-context.js';
import { hasContractions, type IsTurnedAlike } from './merge-contractions.js';
import { isNarrow } from './narrow-products.js';
import { PairProducts, suitsLibrary } from './pair-products.js';
import type { CallTraits } from './product-costs.js';
import type { Operand } from './product-labels.js';
import { LEFT, PRODUCT, RIGHT } from './product-ways.js';
import { type Rule, rewriteInOneWalk } from './rewrite.js';
import { simplify } from './simplify.js';
import { partsOf, type SlicedOperands } from './slice-operands.js';
import { splitRoots } from './split-joins.js';
import type { TensorTraits } from './tensor-products.js';

/** The path of two operands. */
const ONE_PAIR: readonly Pair[] = [[0, 1]];

/** The products of a target. */
export interface ProductTraits {
  /** Without them, its library does all products that it can. */
  readonly costs?: ProductCosts;
  /** The operands that it reads where they lie: without it, matrices of which rows or columns are contiguous. */
  readonly isReadable?: Readable;
  /** Without them, the way to form a product that copies the fewest bytes is the best. */
  readonly calls?: CallTraits;
  /** Without them, products that may be in TF32 are computed in full. */
  readonly tf32?: Tf32Traits;
  /** cuTENSOR; a target that never has it has no copies for it to spare. */
  readonly tensors?: TensorTraits;
  /** Without them, no attention is fused. */
  readonly attention?: AttentionTraits;
  /** Places along short axes that its kernels compute together; without it, those of packs of a GPU. */
  readonly channels?: number;
  /** Without it, all products have the same bits with rows and columns in each other's place. */
  readonly isTurnedAlike?: IsTurnedAlike;
  /** Whether its library's products may be Weft's own. */
  readonly hasOwnProducts?: boolean;
}

export const lowerContractions = ({
  costs,
  isReadable = asMatrix,
  calls,
  tf32,
  tensors,
  hasOwnProducts = false,
}: ProductTraits = {}) =>
  function* (graph: MutableGraph, report?: ContractionReport): Slices<void> {
    if (!hasContractions(graph)) return;
    const inKernel: InKernel =
      costs === undefined
        ? NEVER
        : (dtype, left, right, size) => suitsKernel(graph, costs, dtype, left, right, size);
    const shared = tensors === undefined ? undefined : sharedNodes(graph);
    const made = new Set<number>();
    const paths = yield* searchedPaths(graph);
    const firstMade = graph.nodes.length;
    let context: Context | undefined;
    const rule: Rule = (node, editor) => {
      if (node.kind !== 'contract' || made.has(node.id)) return undefined;
      context ??= {
        editor,
        graph,
        inKernel,
        isReadable,
        copiedBytes: (id: number) => copiedBytes(graph, id, isReadable),
        calls,
        tf32,
        tensors,
        hasOwnProducts,
        isShared: (id: number) => shared?.has(id) === true,
        made,
        report,
        paths,
      };
      return isMatrixProduct(node, context) ? undefined : lower(node, context);
    };
    yield* rewriteInOneWalk(graph, { contract: [rule] }, ['contract', 'view', 'map']); // what is made of a contraction is executed as it is
    yield* simplify(graph);
    // Those of columns: what is computed of these is computed by the kernel of their sums.
    if (graph.nodes.some((node) => node?.kind === 'join' && node.id >= firstMade))
      yield* splitRoots(graph, new Set());
  };

/** A product that a library computes as it stands. */
const isMatrixProduct = (
  node: GraphNodeOf<'contract'>,
  { editor, inKernel, copiedBytes, tf32 }: Context,
): boolean => {
  if ((tf32 !== undefined && node.precision === 'tf32x3') || node.library !== undefined) return false;
  const [a, b] = node.labels;
  if (node.labels.length !== 2 || !sameNumbers(a!, LEFT) || !sameNumbers(b!, RIGHT)) return false;
  if (!sameNumbers(node.output, PRODUCT)) return false;
  const [batch, m, n] = node.shape as readonly [number, number, number];
  const [left, right] = node.inputs as readonly [number, number];
  if (copiedBytes(left) + copiedBytes(right) > 0) return false;
  const k = editor.node(left).shape[2]!;
  const size = { batch, m, n, k };
  return !isNarrow(size) && suitsLibrary(node.dtype, m, n, k) && !inKernel(node.dtype, left, right, size);
};

type Contraction = GraphNodeOf<'contract'>;

/** The paths of the contractions of a graph with more than two operands, found before anything is changed. */
function* searchedPaths(graph: MutableGraph): Slices<ReadonlyMap<number, ContractionPath>> {
  const paths = new Map<number, ContractionPath>();
  const order = orderOf(graph);
  for (let k = 0; k < order.length; k++) {
    const node = nodeOf(graph, order[k]!);
    if (node.kind !== 'contract' || node.inputs.length < 3) continue;
    const network = networkOf(node, (input) => nodeOf(graph, input).shape);
    const limit = elementLimit(byteLengthOf(node.dtype), node.memoryLimit);
    paths.set(node.id, yield* contractionPath(network, limit));
  }
  return paths;
}

function networkOf(node: Contraction, shapeOf: (id: number) => readonly number[]): Network {
  const sizes: number[] = []; // by label
  node.labels.forEach((labels, k) => {
    const shape = shapeOf(node.inputs[k]!);
    labels.forEach((label, axis) => {
      sizes[label] = shape[axis]!;
    });
  });
  return { operands: node.labels, output: node.output, sizeOf: (label) => sizes[label]! };
}

function lower(node: Contraction, context: Context): number {
  const { editor, report, paths } = context;
  const network = networkOf(node, (id) => editor.node(id).shape);
  const { sizeOf } = network;
  if (node.inputs.length === 2) return lowerPairs(node, { inputs: node.inputs, sizeOf }, ONE_PAIR, context);
  const path = paths.get(node.id)!;
  report?.path(() => reportPath(network, path, byteLengthOf(node.dtype), labelName));
  if (path.slices.length === 0) return lowerPairs(node, { inputs: node.inputs, sizeOf }, path.pairs, context);
  return lowerSliced(node, sizeOf, path, context);
}

/** The sum over the parts of a contraction. Those of halves are added in float32. */
function lowerSliced(
  node: GraphNodeOf<'contract'>,
  sizeOf: (label: number) => number,
  { pairs, slices }: ContractionPath,
  context: Context,
): number {
  const { editor } = context;
  const shape = [...node.shape]; // a draft of immer ends with the pass
  const dtype = isHalf(node.dtype) ? 'float32' : node.dtype;
  const cast = (id: number, to: DType): number =>
    editor.node(id).dtype === to ? id : editor.add({ kind: 'cast', dtype: to, shape, inputs: [id] });
  let sum: number | undefined;
  for (const part of partsOf(node, slices, sizeOf, editor)) {
    const next = cast(lowerPairs(node, part, pairs, context), dtype);
    sum =
      sum === undefined ? next : editor.add({ kind: 'map', op: 'add', dtype, shape, inputs: [sum, next] });
  }
  return cast(sum!, node.dtype);
}

/** A contraction of these inputs pair by pair. */
function lowerPairs(
  node: GraphNodeOf<'contract'>,
  { inputs, sizeOf }: SlicedOperands,
  pairs: readonly Pair[],
  context: Context,
): number {
  const lowering = new PairProducts(context, sizeOf, node);
  const { output } = node;
  const list: (Operand | undefined)[] = node.labels.map((labels, k) => ({ id: inputs[k]!, labels }));
  let by = -1;
  /** Whether the result or an operand but number `by` has a label; few labels are searched faster than put into sets. */
  const isNeeded = (label: number): boolean => {
    if (output.includes(label)) return true;
    for (let k = 0; k < list.length; k++) if (k !== by && list[k]?.labels.includes(label)) return true;
    return false;
  };
  for (by = 0; by < list.length; by++) list[by] = lowering.sumOwn(list[by]!, isNeeded);
  by = -1;
  for (const [k, [i, j]] of pairs.entries()) {
    const a = list[i]!;
    const b = list[j]!;
    list[i] = undefined;
    list[j] = undefined;
    // The operand whose own labels come first in the result is the left one: its rows are the result's rows.
    const [left, right] = comesFirst(a, b, output) ? [a, b] : [b, a];
    const wanted = k === pairs.length - 1 ? output : undefined;
    list.push(lowering.multiply(left, right, isNeeded, wanted));
  }
  return lowering.arrange(list[list.length - 1]!, output);
}

/** Whether the first output label that only one operand has is the first operand's. */
function comesFirst(a: Operand, b: Operand, output: readonly number[]): boolean {
  const own = output.find((label) => a.labels.includes(label) !== b.labels.includes(label));
  return own === undefined || a.labels.includes(own);
}
