/**
 * Merges products and sums into n-ary contractions, so that the path search sees all of them at once.
 *
 *     sum over i (contract ij,jk->ik)                    →   contract ij,jk->k
 *     contract ij,jk->ik (permute [1 0] a) b             →   contract ji,jk->ik a b
 *     contract ij,jk->ik (broadcast of j) b              →   broadcast (contract j,jk->k a b)
 *     contract ik,kl->il (contract ij,jk->ik a b) c      →   contract ij,jk,kl->il a b c
 *     diagonal of contract ij,jk->ik                     →   contract ij,ji->i
 *
 * Floating-point values may change by rounding (sums are reassociated); `exact: true` leaves this pass out.
 *
 * A form is taken for what an expression is, not for who else reads its parts, so that results have the bits that
 * they have alone: sums and diagonals always, which take less work than the product; products of products where both take less
 * work than the outer one, so that they do also where the inner one is computed for others. A permuted product has the
 * bits of the product: it is a view of it where a target computes other bits with rows and columns in each other's place
 * (`IsTurnedAlike`), and where a reduction reads it, whose order follows from how the product lies in memory.
 */
import { byteLengthOf, type DType, isComplex, isFloat } from '../../graph/dtype.js';
import {
  type Graph,
  type GraphNode,
  type GraphNodeOf,
  type MutableGraph,
  nodeOf,
  orderOf,
  sharedNodes,
} from '../../graph/graph.js';
import { isExactReduction } from '../../graph/reductions.js';
import type { ScalarTest } from '../../graph/runtime-scalar.js';
import { completed, type Slices } from '../../host/slices.js';
import { contractionPath, elementLimit } from '../paths/contraction-path.js';
import { isConstantThat } from './constant-of.js';
import { diagonalOfContract } from './diagonal-products.js';
import { isComputed } from './element-cost.js';
import { isShortReduction } from './own-expression.js';
import { type Editor, type Rule, rewrite } from './rewrite.js';

/** More operands than this are not searched together. */
const MAX_OPERANDS = 12;

/**
 * Whether a target computes the same bits of a product with rows and columns in each other's place. `extents`: of the axes
 * that only one of its factors has.
 */
export type IsTurnedAlike = (dtype: DType, extents: readonly number[]) => boolean;

export const mergeContractions = (isTurnedAlike: IsTurnedAlike = () => true) =>
  function* (graph: MutableGraph): Slices<void> {
    if (!canMerge(graph)) return;
    const kept = new Set([...sharedNodes(graph), ...reducedNodes(graph)]);
    yield* rewrite(graph, {
      view: [permuteOfContract(kept, isTurnedAlike), diagonalOfContract],
      reduce: [sumOfContract],
      contract: [contractOfPermute, contractOfBroadcast, contractOfContract],
    });
  };

/** Whether there is a node that a rule looks at twice: what takes or gives a contraction. */
function canMerge(graph: MutableGraph): boolean {
  const kindOf = (id: number): GraphNode['kind'] => nodeOf(graph, id).kind;
  for (let id = 0; id < graph.nodes.length; id++) {
    const node = graph.nodes[id];
    if (node === undefined) continue;
    if (node.kind === 'contract') {
      if (node.inputs.some((id) => kindOf(id) === 'contract' || isRearranged(nodeOf(graph, id)))) return true;
    } else if ((node.kind === 'reduce' || node.kind === 'view') && kindOf(node.inputs[0]!) === 'contract') {
      return true;
    }
  }
  return false;
}

/** The contractions that reductions read whose order may change bits, through maps and views; sums that become contractions do not. */
function reducedNodes(graph: MutableGraph): Set<number> {
  const reduced = new Set<number>();
  const order = orderOf(graph);
  for (let k = order.length - 1; k >= 0; k--) {
    const node = nodeOf(graph, order[k]!);
    const isOrdered =
      node.kind === 'reduce' &&
      !isExactReduction(node.reduction, nodeOf(graph, node.inputs[0]!).dtype) &&
      !isSumOfContract(node, graph);
    const isPassed = isComputed(node) || isShortReduction(graph, node); // which may be written out
    if (isOrdered || (reduced.has(node.id) && isPassed)) for (const id of node.inputs) reduced.add(id);
  }
  return reduced;
}

/** Whether there is a contraction; those in the bodies of loops are not counted. */
export function hasContractions(graph: Graph | MutableGraph): boolean {
  return graph.nodes.some((node) => node?.kind === 'contract');
}

type Contract = GraphNodeOf<'contract'>;

/** The contraction that a sum takes, perhaps through a permute, and the labels of what it takes. */
function summedContract(
  id: number,
  editor: Pick<Editor, 'node'>,
): { contract: Contract; labels: number[] } | undefined {
  const node = editor.node(id);
  if (node.kind === 'contract') return { contract: node, labels: [...node.output] };
  if (node.kind !== 'view' || node.view.type !== 'permute') return undefined;
  const contract = editor.node(node.inputs[0]!);
  if (contract.kind !== 'contract') return undefined;
  return { contract, labels: node.view.order.map((axis) => contract.output[axis]!) };
}

const isFloatSum = ({ reduction, dtype }: GraphNodeOf<'reduce'>): boolean =>
  reduction === 'sum' && (isFloat(dtype) || isComplex(dtype));

const isSumOfContract = (node: GraphNodeOf<'reduce'>, graph: Graph): boolean =>
  isFloatSum(node) &&
  summedContract(node.inputs[0]!, { node: (id) => nodeOf(graph, id) })?.contract.dtype === node.dtype;

const sumOfContract: Rule = (node, editor) => {
  if (node.kind !== 'reduce' || !isFloatSum(node)) return undefined;
  const { contract, labels } = summedContract(node.inputs[0]!, editor) ?? {};
  if (contract === undefined || contract.dtype !== node.dtype) return undefined;
  const output = labels!.filter((_, axis) => !node.axes.includes(axis));
  return editor.add({ ...withoutId(contract), output, shape: node.shape });
};

/** `kept`: contractions that stay as they are. */
const permuteOfContract =
  (kept: ReadonlySet<number>, isTurnedAlike: IsTurnedAlike): Rule =>
  (node, editor) => {
    if (node.kind !== 'view' || node.view.type !== 'permute') return undefined;
    const contract = editor.node(node.inputs[0]!);
    if (contract.kind !== 'contract' || kept.has(contract.id)) return undefined;
    const output = node.view.order.map((axis) => contract.output[axis]!);
    if (isTurned(contract, output) && !isTurnedAlike(contract.dtype, ownExtents(contract))) return undefined;
    return editor.add({ ...withoutId(contract), output, shape: node.shape });
  };

const isOwn = ({ labels }: Contract, label: number): boolean =>
  labels.filter((factor) => factor.includes(label)).length === 1;

const ownExtents = (contract: Contract): number[] =>
  contract.shape.filter((_, axis) => isOwn(contract, contract.output[axis]!));

/** Whether a result in another order has the labels of another factor first: a library is given that one as the left one. */
function isTurned(contract: Contract, other: readonly number[]): boolean {
  const { labels, output } = contract;
  const ownerOf = (list: readonly number[]): number | undefined => {
    const own = list.find((label) => isOwn(contract, label));
    return own === undefined ? undefined : labels.findIndex((factor) => factor.includes(own));
  };
  return ownerOf(output) !== ownerOf(other);
}

const contractOfPermute: Rule = (node, editor) => {
  if (node.kind !== 'contract') return undefined;
  const at = node.inputs.findIndex((id) => isPermute(editor.node(id)));
  if (at < 0) return undefined;
  const view = editor.node(node.inputs[at]!) as GraphNodeOf<'view'>;
  if (view.view.type !== 'permute') return undefined;
  const labels = node.labels.map((list) => [...list]);
  view.view.order.forEach((axis, k) => {
    labels[at]![axis] = node.labels[at]![k]!;
  });
  const inputs = node.inputs.map((id, k) => (k === at ? view.inputs[0]! : id));
  return editor.add({ ...withoutId(node), labels, inputs });
};

const isBroadcast = (node: GraphNode): boolean => node.kind === 'view' && node.view.type === 'broadcast';
const isRearranged = (node: GraphNode): boolean => isPermute(node) || isBroadcast(node);

/** A sum that this is multiplied by overflows only where one of products does, and has NaN where that has. */
const isLargeAndFinite: ScalarTest = (value) =>
  typeof value === 'number' && Number.isFinite(value) && Math.abs(value) >= 1;

/**
 * An operand that is the same along an axis has no label for it, where another operand or the result has one;
 * the result is broadcast along labels that it alone has then. Not along an axis that is summed: a Σb is infinite where
 * b overflows, and where an infinite a makes terms of both signs, which are NaN.
 */
const contractOfBroadcast: Rule = (node, editor) => {
  if (node.kind !== 'contract') return undefined;
  for (const [at, id] of node.inputs.entries()) {
    const view = editor.node(id);
    if (!isBroadcast(view)) continue;
    const input = editor.node(view.inputs[0]!);
    const lead = view.shape.length - input.shape.length;
    const isSame = (axis: number): boolean => axis < lead || input.shape[axis - lead] !== view.shape[axis];
    const labels = node.labels[at]!;
    const isExact = !(isFloat(node.dtype) || isComplex(node.dtype));
    const canScale = isExact || isConstantThat(input.id, editor, isLargeAndFinite);
    const isElsewhere = (label: number): boolean =>
      node.output.includes(label) ||
      (canScale && node.labels.some((list, k) => k !== at && list.includes(label)));
    const kept = labels.filter((label, axis) => !(isSame(axis) && isElsewhere(label)));
    if (kept.length === labels.length) continue;
    const axes = labels.flatMap((label, axis) => (kept.includes(label) ? [axis] : []));
    const thin = axes.map((axis) => (isSame(axis) ? 1 : view.shape[axis]!));
    const operand = editor.broadcast(
      editor.reshape(input.id, thin),
      axes.map((axis) => view.shape[axis]!),
    );
    const all = node.labels.map((list, k) => (k === at ? kept : list));
    const has = node.output.map((label) => all.some((list) => list.includes(label)));
    const contract = editor.add({
      ...withoutId(node),
      labels: all,
      output: node.output.filter((_, k) => has[k]),
      shape: node.shape.filter((_, k) => has[k]),
      inputs: node.inputs.map((each, k) => (k === at ? operand : each)),
    });
    const lines = editor.reshape(
      contract,
      node.shape.map((n, k) => (has[k] ? n : 1)),
    );
    return editor.broadcast(lines, [...node.shape]);
  }
  return undefined;
};

const isPermute = (node: GraphNode): boolean => node.kind === 'view' && node.view.type === 'permute';

const contractOfContract: Rule = (node, editor) => {
  if (node.kind !== 'contract' || !(isFloat(node.dtype) || isComplex(node.dtype))) return undefined;
  const outer = operationsOf(node, editor);
  for (const at of node.inputs.keys()) {
    const merged = mergedAt(node, at, editor);
    if (merged !== undefined && operationsOf(merged, editor) <= outer) return editor.add(merged);
  }
  return undefined;
};

/** A contraction of what its operand `at` contracts, where both can be one. */
function mergedAt(node: Contract, at: number, editor: Editor): Omit<Contract, 'id'> | undefined {
  const inner = editor.node(node.inputs[at]!);
  if (inner.kind !== 'contract' || inner.precision !== node.precision || inner.library !== node.library)
    return undefined;
  if (node.inputs.length + inner.inputs.length - 1 > MAX_OPERANDS) return undefined;
  // The inner labels take the outer names of its output, and fresh names for what it sums.
  const rename = new Map(inner.output.map((label, axis) => [label, node.labels[at]![axis]!]));
  let fresh = Math.max(0, ...node.labels.flat(), ...node.output) + 1;
  for (const label of inner.labels.flat()) if (!rename.has(label)) rename.set(label, fresh++);
  const labels = [
    ...node.labels.slice(0, at),
    ...inner.labels.map((list) => list.map((label) => rename.get(label)!)),
    ...node.labels.slice(at + 1),
  ];
  const inputs = [...node.inputs.slice(0, at), ...inner.inputs, ...node.inputs.slice(at + 1)];
  const memoryLimit = lower(node.memoryLimit, inner.memoryLimit);
  return { ...withoutId(node), memoryLimit, labels, inputs };
}

/** Multiplications and additions of a contraction by its best path. */
function operationsOf(
  { labels, output, inputs, dtype, memoryLimit }: Omit<Contract, 'id'>,
  editor: Editor,
): number {
  const sizes = new Map(
    labels.flatMap((list, k) => list.map((label, axis) => [label, editor.node(inputs[k]!).shape[axis]!])),
  );
  const network = { operands: labels, output, sizeOf: (label: number) => sizes.get(label)! };
  return completed(contractionPath(network, elementLimit(byteLengthOf(dtype), memoryLimit))).operations;
}

/** The lower of two limits, where there are any. */
const lower = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined || b === undefined ? (a ?? b) : Math.min(a, b);

function withoutId({ id, ...rest }: Contract): Omit<Contract, 'id'> {
  void id;
  return rest;
}
