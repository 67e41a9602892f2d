/**
 * The product of two operands of a contraction: a matrix product for a library, or a fused multiply-and-sum.
 * Called by `lower-contractions.ts`.
 */
import { byteLengthOf, type DType, isComplex, isFloat, isHalf } from '../../graph/dtype.js';
import type { Precision, ProductLibrary, Shape } from '../../graph/expr.js';
import { formatBytes } from '../../graph/format.js';
import { type GraphNodeOf, type MutableGraph, sizeOfShape } from '../../graph/graph.js';
import { sameNumbers } from '../kernel/kernel.js';
import { type ContractionReport, subscriptsOf } from './contraction-report.js';
import type { ProductSize } from './kernel-contractions.js';
import { type Operand, otherProductLabels, type ProductLabels, productLabelsOf } from './product-labels.js';
import type { Editor } from './rewrite.js';
import { sumOfThree } from './split-factors.js';
import { libraryOf, type TensorFactor, type TensorTraits, tensorFactor } from './tensor-products.js';

/**
 * Results of at most this many elements a batch are summed by a generated kernel, which spreads over the
 * summed axis.
 */
const SMALL_RESULT = 64;
/** Rows and columns of products in a batch that are there to spare a copy: fewer keep a library from its speed. */
const LEAST_SIDE = 32;

/** Whether a product of these operands is better not left to a library. */
export type InKernel = (dtype: DType, left: number, right: number, size: ProductSize) => boolean;
export const NEVER: InKernel = () => false;

/** Of a target that multiplies in TF32. */
export interface Tf32Traits {
  /**
   * Of so many results on, three products are as exact as one in float32: the sums of fewer are split among
   * multiprocessors there, which makes them more exact.
   */
  readonly leastResults: number;
}

/** The facts that lowering one contraction needs. */
export interface Context {
  readonly editor: Editor;
  readonly graph: MutableGraph;
  readonly inKernel: InKernel;
  /** Bytes of a copy that is made of an operand for the library alone. */
  readonly copiedBytes: (id: number) => number;
  readonly tf32: Tf32Traits | undefined;
  readonly tensors: TensorTraits | undefined;
  readonly hasOwnProducts: boolean;
  /** Whether a node is a result, or several nodes read it. */
  readonly isShared: (id: number) => boolean;
  /** The products for libraries that were made, which stay as they are. */
  readonly made: Set<number>;
  readonly report: ContractionReport | undefined;
}

/** A product of two operands, and the roles of their labels in it. */
interface PairProduct {
  readonly a: Operand;
  readonly b: Operand;
  readonly groups: ProductLabels;
}

/** Labels of a product of stacks of matrices. */
export const LEFT = [0, 1, 2];
export const RIGHT = [0, 2, 3];
export const PRODUCT = [0, 1, 3];

export const suitsLibrary = (dtype: DType, m: number, n: number, k: number): boolean =>
  (isFloat(dtype) || isComplex(dtype)) && m > 1 && n > 1 && k > 1 && m * n > SMALL_RESULT;

/** The labels of a result: in the order that is wanted, where that is known. */
const keptOf = ({ batch, m, n }: ProductLabels, wanted: readonly number[] | undefined): readonly number[] =>
  wanted ?? [...batch, ...m, ...n];

export class PairProducts {
  readonly #editor: Editor;
  readonly #sizeOf: (label: number) => number;
  readonly #context: Context;
  readonly #precision: Precision | undefined;
  /** As asked, of products by cuTENSOR, which splits factors itself. */
  readonly #asked: Precision | undefined;
  readonly #pinned: ProductLibrary | undefined;
  /** Products of at least so many results are sums of three of split factors. */
  readonly #leastSplit: number;

  constructor(
    context: Context,
    sizeOf: (label: number) => number,
    { precision, library }: Pick<GraphNodeOf<'contract'>, 'precision' | 'library'>,
  ) {
    this.#context = context;
    this.#asked = precision;
    this.#pinned = library;
    const isSplit = context.tf32 !== undefined && precision === 'tf32x3';
    this.#leastSplit = isSplit ? context.tf32.leastResults : Number.POSITIVE_INFINITY;
    this.#editor = context.editor;
    this.#sizeOf = sizeOf;
    this.#precision = isSplit ? undefined : precision;
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

  /**
   * The product of two operands, summed over what is needed no more. `wanted`: the labels of the result in the
   * order in which they are stored, where that is known.
   */
  multiply(
    a: Operand,
    b: Operand,
    isNeeded: (label: number) => boolean,
    wanted?: readonly number[],
  ): Operand {
    const groups = productLabelsOf(a.labels, b.labels, isNeeded);
    const { dtype } = this.#editor.node(a.id);
    const [m, n, k] = [groups.m, groups.n, groups.k].map(this.#volume) as [number, number, number];
    const batch = this.#volume(groups.batch);
    const size = { batch, m, n, k };
    if (this.#pinned !== undefined) return this.#multiplyBy(this.#pinned, { a, b, groups }, size, wanted);
    if (!suitsLibrary(dtype, m, n, k)) return this.#multiplyAndSum(a, b, groups);
    const [left, right] = this.#matrices({ a, b, groups });
    if (this.#context.inKernel(dtype, left, right, size)) {
      this.#choose(a, b, groups, 'weft', 'that reads the operands where they lie', left, right);
      return this.#multiplyAndSum(a, b, groups);
    }
    const { best, copied } = this.#withLeastCopies({ a, b, groups }, wanted);
    return this.#byCutensor({ a, b, groups }, size, copied, wanted) ?? this.#multiplyMatrices(best);
  }

  #multiplyMatrices(product: PairProduct): Operand {
    const { batch, m, n } = product.groups;
    return this.#volume([...batch, ...m, ...n]) >= this.#leastSplit
      ? this.#multiplySplit(product)
      : this.#matmul(...this.#matrices(product), product.groups);
  }

  /**
   * By the library that the user wants. A product that sums nothing, or of nothing, is a kernel, and so is one of a
   * vector where cuTENSOR is wanted, which refuses it.
   */
  #multiplyBy(
    library: ProductLibrary,
    product: PairProduct,
    { batch, m, n, k }: ProductSize,
    wanted: readonly number[] | undefined,
  ): Operand {
    const { a, b, groups } = product;
    const { dtype } = this.#editor.node(a.id);
    const isProduct = batch * m * n * k > 0 && k > 1;
    if (library === 'cutensor' && isProduct && m > 1 && n > 1) {
      this.#choose(a, b, groups, library, 'as asked');
      return this.#contraction(groups, this.#factor(a), this.#factor(b), wanted);
    }
    const isOwn = library === 'weft' && this.#context.hasOwnProducts && suitsLibrary(dtype, m, n, k);
    if ((library === 'cublas' && isProduct) || isOwn) {
      const { best, copied } = this.#withLeastCopies(product, wanted);
      this.#choose(a, b, groups, library, `as asked, ${formatBytes(copied)} copied`);
      return this.#multiplyMatrices(best);
    }
    return this.#multiplyAndSum(a, b, groups);
  }

  /** By cuTENSOR, where that takes less time than copies of so many bytes. */
  #byCutensor(
    { a, b, groups }: PairProduct,
    size: ProductSize,
    matrixBytes: number,
    wanted: readonly number[] | undefined,
  ): Operand | undefined {
    const { tensors, report } = this.#context;
    if (tensors === undefined) return undefined;
    const [left, right] = [this.#factor(a), this.#factor(b)];
    const choice = libraryOf(
      {
        ...size,
        dtype: this.#editor.node(a.id).dtype,
        precision: this.#asked,
        matrixBytes: matrixBytes + left.conjugateBytes + right.conjugateBytes,
        tensorBytes: left.copiedBytes + right.copiedBytes,
      },
      tensors,
    );
    if (choice === undefined) return undefined;
    report?.choice({ subscripts: subscriptsOf(a, b, keptOf(groups, wanted)), ...choice });
    return choice.library === 'cutensor' ? this.#contraction(groups, left, right, wanted) : undefined;
  }

  #choose(
    a: Operand,
    b: Operand,
    groups: ProductLabels,
    library: ProductLibrary,
    reason: string,
    ...spared: readonly number[]
  ): void {
    this.#context.report?.choice({
      subscripts: subscriptsOf(a, b, keptOf(groups, undefined)),
      library,
      reason,
      copiedBytes: 0,
      sparedBytes: spared.reduce((sum, id) => sum + this.#context.copiedBytes(id), 0),
    });
  }

  #factor(operand: Operand): TensorFactor {
    return tensorFactor(this.#context.graph, operand, this.#context.isShared, this.#editor);
  }

  #contraction(
    groups: ProductLabels,
    left: TensorFactor,
    right: TensorFactor,
    wanted: readonly number[] | undefined,
  ): Operand {
    const labels = keptOf(groups, wanted);
    const conjugated = [left, right].flatMap(({ isConjugated }, k) => (isConjugated ? [k] : []));
    const id = this.#editor.add({
      kind: 'contract',
      labels: [left.operand.labels, right.operand.labels],
      output: labels,
      precision: this.#asked,
      memoryLimit: undefined,
      library: 'cutensor',
      conjugated: conjugated.length === 0 ? undefined : conjugated,
      dtype: this.#editor.node(left.operand.id).dtype,
      shape: this.#shape(labels),
      inputs: [left.operand.id, right.operand.id],
    });
    this.#context.made.add(id);
    return { id, labels };
  }

  readonly #volume = (labels: readonly number[]): number => sizeOfShape(this.#shape(labels));

  /** Of the ways to form a product that of which the fewest bytes are copied; the given one, where it is as good. */
  #withLeastCopies(
    given: PairProduct,
    wanted: readonly number[] = [],
  ): { readonly best: PairProduct; readonly copied: number } {
    const { a, b, groups } = given;
    let [best, least] = [given, this.#copiesOf(given, wanted)];
    if (least === 0) return { best, copied: 0 };
    const turned = { ...groups, m: groups.n, n: groups.m };
    const others = [
      ...[...otherProductLabels(groups, wanted)].map((tried) => ({ a, b, groups: tried })),
      ...[...otherProductLabels(turned, wanted)].map((tried) => ({ a: b, b: a, groups: tried })),
    ];
    for (const tried of others) {
      const { batch, m, n } = tried.groups;
      if (batch.length > groups.batch.length && Math.min(this.#volume(m), this.#volume(n)) < LEAST_SIDE)
        continue;
      const copied = this.#copiesOf(tried, wanted);
      if (copied < least) [best, least] = [tried, copied];
    }
    return { best, copied: least };
  }

  /** Bytes of the copies of the operands, and of the result where it is stored in another order. */
  #copiesOf(product: PairProduct, wanted: readonly number[]): number {
    const [left, right] = this.#matrices(product);
    const { batch, m, n } = product.groups;
    const result = [...batch, ...m, ...n];
    const isArranged = wanted.length > 0 && !sameNumbers(result, wanted);
    const elementBytes = byteLengthOf(this.#editor.node(left).dtype);
    const { copiedBytes } = this.#context;
    return copiedBytes(left) + copiedBytes(right) + (isArranged ? elementBytes * this.#volume(result) : 0);
  }

  /** The parts of factors are taken before views, so that a factor that stands twice is split once. */
  #multiplySplit({ a, b, groups }: PairProduct): Operand {
    const { batch, m, n } = groups;
    const matrices = (x: number, y: number): [number, number] =>
      this.#matrices({ a: { ...a, id: x }, b: { ...b, id: y }, groups });
    const multiply = (x: number, y: number): number => this.#matmul(...matrices(x, y), groups, 'tf32').id;
    const multiplyInStretches = (x: number, y: number): number =>
      this.#matmul(...matrices(x, y), groups, 'tf32-stretched').id;
    const sum = sumOfThree(this.#editor, a.id, b.id, { multiply, multiplyInStretches });
    return { id: sum, labels: [...batch, ...m, ...n] };
  }

  /** The operands as stacks of matrices. */
  #matrices({ a, b, groups: { batch, m, n, k } }: PairProduct): [number, number] {
    return [this.#stack(a, batch, m, k), this.#stack(b, batch, k, n)];
  }

  /** An operand as (batch, rows, columns); it is the same for a batch that it has no label of. */
  #stack(operand: Operand, batch: readonly number[], ...sides: readonly (readonly number[])[]): number {
    const shape = [batch, ...sides].map(this.#volume);
    const own = batch.filter((label) => operand.labels.includes(label));
    const arranged = this.arrange(operand, [...own, ...sides.flat()]);
    if (own.length === batch.length) return this.#editor.reshape(arranged, shape);
    const inner = sides.map(this.#volume);
    const thin = batch.map((label) => (own.includes(label) ? this.#sizeOf(label) : 1));
    const spread = this.#editor.broadcast(this.#editor.reshape(arranged, [...thin, ...inner]), [
      ...this.#shape(batch),
      ...inner,
    ]);
    return this.#editor.reshape(spread, shape);
  }

  #matmul(left: number, right: number, { batch, m, n }: ProductLabels, precision = this.#precision): Operand {
    const product = this.#editor.add({
      kind: 'contract',
      labels: [LEFT, RIGHT],
      output: PRODUCT,
      precision,
      memoryLimit: undefined,
      library: this.#pinned === 'weft' ? this.#pinned : undefined,
      dtype: this.#editor.node(left).dtype,
      shape: [batch, m, n].map(this.#volume),
      inputs: [left, right],
    });
    this.#context.made.add(product);
    const labels = [...batch, ...m, ...n];
    return { id: this.#editor.reshape(product, this.#shape(labels)), labels };
  }

  #multiplyAndSum(a: Operand, b: Operand, { batch, m, n, k }: ProductLabels): Operand {
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
