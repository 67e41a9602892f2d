/**
 * Lowers contractions to what is executed: sums over one operand's own labels first, then pairs in the order
 * of the path search, each either a matrix product for a library or a fused multiply-and-sum.
 *
 *     contract ij,jk->k                  →   s = sum over i (a);  sum over j (s[:, None] * b)
 *     contract abcd,dbea->ec (a, b)      →   matmul (1, m=c, k=abd) (1, k=abd, n=e), views around it
 *     contract ij,jk->ik (integers)      →   sum over j (a[:, None, :] * b.T[None])
 *
 * Where a target gives the costs of products, long ones that would need copies of their operands are such sums
 * as well (`kernel-contractions.ts`).
 *
 * After this pass every `contract` node is `(batch, m, k), (batch, k, n) -> (batch, m, n)`. Only the order of
 * sums changes, and only for contractions of more than two operands or with labels of one operand.
 */
import { byteLengthOf, type DType, isComplex, isFloat, isHalf } from '../../graph/dtype.js';
import type { Precision, Shape } from '../../graph/expr.js';
import { type GraphNodeOf, type MutableGraph, sizeOfShape } from '../../graph/graph.js';
import { labelName } from '../../graph/print.js';
import { sameNumbers } from '../kernel/kernel.js';
import { type ContractionPath, contractionPath, elementLimit } from '../paths/contraction-path.js';
import type { Pair } from '../paths/exact-order.js';
import type { Network } from '../paths/network.js';
import { type Report, reportPath } from '../paths/path-report.js';
import { type ProductCosts, type ProductSize, suitsKernel } from './kernel-contractions.js';
import { hasContractions } from './merge-contractions.js';
import { type Editor, type Rule, rewriteInOneWalk } from './rewrite.js';
import { simplify } from './simplify.js';
import { type Part, partsOf } from './slice-operands.js';
import { sumOfThree } from './split-factors.js';

/**
 * Results of at most this many elements a batch are summed by a generated kernel, which spreads over the
 * summed axis.
 */
const SMALL_RESULT = 64;

/** The path of two operands. */
const ONE_PAIR: readonly Pair[] = [[0, 1]];

/** An operand on its way: a node and the labels of its axes. */
interface Operand {
  readonly id: number;
  readonly labels: readonly number[];
}

/** Whether a product of these operands is better not left to a library. */
type InKernel = (dtype: DType, left: number, right: number, size: ProductSize) => boolean;
const NEVER: InKernel = () => false;

/** What lowering one contraction needs to know. */
interface Context {
  readonly editor: Editor;
  readonly inKernel: InKernel;
  readonly hasTf32: boolean;
  readonly report: Report | undefined;
}

/** The products of a target. */
export interface ProductTraits {
  /** Without them, its library does all products that it can. */
  readonly costs?: ProductCosts;
  /** Whether it multiplies in TF32; else products that may are computed in full. */
  readonly hasTf32?: boolean;
}

export const lowerContractions =
  ({ costs, hasTf32 = false }: ProductTraits = {}) =>
  (graph: MutableGraph, report?: Report): void => {
    if (!hasContractions(graph)) return;
    const inKernel: InKernel =
      costs === undefined
        ? NEVER
        : (dtype, left, right, size) => suitsKernel(graph, costs, dtype, left, right, size);
    const rule: Rule = (node, editor) =>
      node.kind === 'contract' && !isMatmul(node, { editor, inKernel, hasTf32 })
        ? lower(node, { editor, inKernel, hasTf32, report })
        : undefined;
    rewriteInOneWalk(graph, { contract: [rule] }); // what is made of a contraction is executed as it is
    simplify(graph);
  };

/** Labels of a product of stacks of matrices. */
const LEFT = [0, 1, 2];
const RIGHT = [0, 2, 3];
const PRODUCT = [0, 1, 3];

/** A product that a library computes as it stands. */
const isMatmul = (
  node: GraphNodeOf<'contract'>,
  { editor, inKernel, hasTf32 }: Omit<Context, 'report'>,
): boolean => {
  if (hasTf32 && node.precision === 'tf32x3') return false;
  const [a, b] = node.labels;
  if (node.labels.length !== 2 || !sameNumbers(a!, LEFT) || !sameNumbers(b!, RIGHT)) return false;
  if (!sameNumbers(node.output, PRODUCT)) return false;
  const [batch, m, n] = node.shape as readonly [number, number, number];
  const [left, right] = node.inputs as readonly [number, number];
  const k = editor.node(left).shape[2]!;
  return suitsLibrary(node.dtype, m, n, k) && !inKernel(node.dtype, left, right, { batch, m, n, k });
};

const suitsLibrary = (dtype: DType, m: number, n: number, k: number): boolean =>
  (isFloat(dtype) || isComplex(dtype)) && m > 1 && n > 1 && k > 1 && m * n > SMALL_RESULT;

function lower(node: GraphNodeOf<'contract'>, context: Context): number {
  const { editor, report } = context;
  const sizes: number[] = []; // by label
  node.labels.forEach((labels, k) => {
    const { shape } = editor.node(node.inputs[k]!);
    labels.forEach((label, axis) => {
      sizes[label] = shape[axis]!;
    });
  });
  const sizeOf = (label: number): number => sizes[label]!;
  if (node.inputs.length === 2) return lowerPairs(node, { inputs: node.inputs, sizeOf }, ONE_PAIR, context);
  const network: Network = { operands: node.labels, output: node.output, sizeOf };
  const path = contractionPath(network, elementLimit(byteLengthOf(node.dtype), node.memoryLimit));
  report?.(() => reportPath(network, path, byteLengthOf(node.dtype), labelName));
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
  { inputs, sizeOf }: Part,
  pairs: readonly Pair[],
  context: Context,
): number {
  const lowering = new Lowering(context, sizeOf, node.precision);
  const operands = node.labels.map((labels, k): Operand => ({ id: inputs[k]!, labels }));
  const list: (Operand | undefined)[] = [...operands];
  /** Whether the result or another operand has a label; few labels are searched faster than put into sets. */
  const isNeeded = (label: number, by: number): boolean =>
    node.output.includes(label) ||
    list.some((o, j) => j !== by && o !== undefined && o.labels.includes(label));
  operands.forEach((operand, k) => {
    list[k] = lowering.sumOwn(operand, (label) => isNeeded(label, k));
  });
  for (const [i, j] of pairs) {
    const a = list[i]!;
    const b = list[j]!;
    list[i] = undefined;
    list[j] = undefined;
    // The operand whose own labels come first in the result is the left one: its rows are the result's rows.
    const [left, right] = comesFirst(a, b, node.output) ? [a, b] : [b, a];
    list.push(lowering.multiply(left, right, (label) => isNeeded(label, -1)));
  }
  return lowering.arrange(list[list.length - 1]!, node.output);
}

/** Whether the first output label that only one operand has is the first operand's. */
function comesFirst(a: Operand, b: Operand, output: readonly number[]): boolean {
  const own = output.find((label) => a.labels.includes(label) !== b.labels.includes(label));
  return own === undefined || a.labels.includes(own);
}

class Lowering {
  readonly #editor: Editor;
  readonly #sizeOf: (label: number) => number;
  readonly #inKernel: InKernel;
  readonly #precision: Precision | undefined;
  /** Whether products are sums of three of split factors. */
  readonly #splits: boolean;

  constructor(
    { editor, inKernel, hasTf32 }: Context,
    sizeOf: (label: number) => number,
    precision: Precision | undefined,
  ) {
    this.#splits = hasTf32 && precision === 'tf32x3';
    this.#editor = editor;
    this.#sizeOf = sizeOf;
    this.#inKernel = inKernel;
    this.#precision = this.#splits ? 'tf32' : precision;
  }

  #shape(labels: readonly number[]): number[] {
    return labels.map(this.#sizeOf);
  }

  /** Sums away the labels that nobody else has. */
  sumOwn(operand: Operand, isNeeded: (label: number) => boolean): Operand {
    if (operand.labels.every(isNeeded)) return operand;
    const axes = operand.labels.flatMap((label, axis) => (isNeeded(label) ? [] : [axis]));
    const labels = operand.labels.filter(isNeeded);
    return { id: this.#sum(operand.id, axes, this.#shape(labels)), labels };
  }

  /** A sum in the operand's own dtype: integers are summed in 64 bits and wrap, booleans are or-ed. */
  #sum(id: number, axes: readonly number[], shape: Shape): number {
    const { dtype } = this.#editor.node(id);
    if (isFloat(dtype) || isComplex(dtype)) {
      return this.#editor.add({ kind: 'reduce', reduction: 'sum', axes, dtype, shape, inputs: [id] });
    }
    if (dtype === 'bool')
      return this.#editor.add({ kind: 'reduce', reduction: 'any', axes, dtype, shape, inputs: [id] });
    const wide = dtype.startsWith('u') ? 'uint64' : 'int64';
    const sum = this.#editor.add({
      kind: 'reduce',
      reduction: 'sum',
      axes,
      dtype: wide,
      shape,
      inputs: [this.#cast(id, wide)],
    });
    return this.#cast(sum, dtype);
  }

  #cast(id: number, dtype: DType): number {
    const node = this.#editor.node(id);
    return node.dtype === dtype
      ? id
      : this.#editor.add({ kind: 'cast', dtype, shape: node.shape, inputs: [id] });
  }

  /** An operand with its axes in another order. */
  arrange(operand: Operand, labels: readonly number[]): number {
    const order = labels.map((label) => operand.labels.indexOf(label));
    if (order.every((axis, k) => axis === k)) return operand.id;
    return this.#editor.view(operand.id, { type: 'permute', order }, this.#shape(labels));
  }

  /** The product of two operands, summed over what is needed no more. */
  multiply(a: Operand, b: Operand, isNeeded: (label: number) => boolean): Operand {
    const isShared = (l: number): boolean => a.labels.includes(l) && b.labels.includes(l);
    const longer = a.labels.length >= b.labels.length ? a : b;
    const groups = {
      batch: a.labels.filter((l) => isShared(l) && isNeeded(l)),
      m: a.labels.filter((l) => !isShared(l)),
      n: b.labels.filter((l) => !isShared(l)),
      k: longer.labels.filter((l) => isShared(l) && !isNeeded(l)),
    };
    const size = (labels: readonly number[]): number => sizeOfShape(this.#shape(labels));
    const { dtype } = this.#editor.node(a.id);
    const [m, n, k] = [groups.m, groups.n, groups.k].map(size) as [number, number, number];
    if (!suitsLibrary(dtype, m, n, k)) return this.#multiplyAndSum(a, b, groups);
    const [left, right] = this.#matrices(a, b, groups);
    const batch = size(groups.batch);
    return this.#inKernel(dtype, left, right, { batch, m, n, k })
      ? this.#multiplyAndSum(a, b, groups)
      : this.#splits
        ? this.#multiplySplit(a, b, groups)
        : this.#matmul(left, right, groups);
  }

  /** The parts of factors are taken before views, so that a factor that stands twice is split once. */
  #multiplySplit(a: Operand, b: Operand, groups: Groups): Operand {
    const { batch, m, n } = groups;
    const multiply = (x: number, y: number): number => {
      const [left, right] = this.#matrices({ ...a, id: x }, { ...b, id: y }, groups);
      return this.#matmul(left, right, groups).id;
    };
    return { id: sumOfThree(this.#editor, a.id, b.id, multiply), labels: [...batch, ...m, ...n] };
  }

  /** The operands as stacks of matrices. */
  #matrices(a: Operand, b: Operand, { batch, m, n, k }: Groups): [number, number] {
    const shape = (...groups: (readonly number[])[]): number[] =>
      groups.map((labels) => sizeOfShape(this.#shape(labels)));
    return [
      this.#editor.reshape(this.arrange(a, [...batch, ...m, ...k]), shape(batch, m, k)),
      this.#editor.reshape(this.arrange(b, [...batch, ...k, ...n]), shape(batch, k, n)),
    ];
  }

  #matmul(left: number, right: number, { batch, m, n }: Groups): Operand {
    const product = this.#editor.add({
      kind: 'contract',
      labels: [LEFT, RIGHT],
      output: PRODUCT,
      precision: this.#precision,
      memoryLimit: undefined,
      dtype: this.#editor.node(left).dtype,
      shape: [batch, m, n].map((labels) => sizeOfShape(this.#shape(labels))),
      inputs: [left, right],
    });
    const labels = [...batch, ...m, ...n];
    return { id: this.#editor.reshape(product, this.#shape(labels)), labels };
  }

  #multiplyAndSum(a: Operand, b: Operand, { batch, m, n, k }: Groups): Operand {
    const labels = [...batch, ...m, ...n, ...k];
    const shape = this.#shape(labels);
    const spread = (operand: Operand): number => {
      const own = new Set(operand.labels);
      const arranged = this.arrange(
        operand,
        labels.filter((label) => own.has(label)),
      );
      return this.#editor.reshape(
        arranged,
        labels.map((label) => (own.has(label) ? this.#sizeOf(label) : 1)),
      );
    };
    const own = this.#editor.node(a.id).dtype;
    const dtype = isHalf(own) ? 'float32' : own; // products of halves are not rounded before they are summed
    const product = this.#editor.add({
      kind: 'map',
      op: 'multiply',
      dtype,
      shape,
      inputs: [this.#cast(spread(a), dtype), this.#cast(spread(b), dtype)],
    });
    const kept = [...batch, ...m, ...n];
    const axes = k.map((_, axis) => kept.length + axis);
    const sum = axes.length === 0 ? product : this.#sum(product, axes, this.#shape(kept));
    return { id: this.#cast(sum, own), labels: kept };
  }
}

interface Groups {
  /**
   * Labels of both operands that stay, of the first only, of the second only, and of both that are summed.
   */
  readonly batch: readonly number[];
  readonly m: readonly number[];
  readonly n: readonly number[];
  readonly k: readonly number[];
}
