/**
 * The product of two operands of a contraction: a matrix product for a library, or a fused multiply-and-sum.
 * Called by `lower-contractions.ts`.
 */
import { type DType, isComplex, isFloat, isHalf } from '../../graph/dtype.js';
import type { Precision, ProductLibrary, Shape } from '../../graph/expr.js';
import { formatBytes } from '../../graph/format.js';
import type { GraphNodeOf } from '../../graph/graph.js';
import { subscriptsOf } from './contraction-report.js';
import type { ProductSize } from './kernel-contractions.js';
import type { Context } from './lowering-context.js';
import { isNarrow, narrowReason } from './narrow-products.js';
import { columnsOf, columnsReason, suitsColumns } from './product-columns.js';
import type { ChosenWay } from './product-costs.js';
import { type Operand, type PairProduct, type ProductLabels, productLabelsOf } from './product-labels.js';
import { type FormedWay, ProductWays } from './product-ways.js';
import type { Editor } from './rewrite.js';
import { sumOfThree } from './split-factors.js';
import { layoutOf, libraryOf, type TensorFactor, tensorFactor } from './tensor-products.js';

/**
 * Results of at most this many elements a batch are summed by a generated kernel, which spreads over the
 * summed axis.
 */
const SMALL_RESULT = 64;
export const suitsLibrary = (dtype: DType, m: number, n: number, k: number): boolean =>
  (isFloat(dtype) || isComplex(dtype)) && m > 1 && n > 1 && k > 1 && m * n > SMALL_RESULT;

/** The labels of a result: in the order that is wanted, where that is known. */
const keptOf = ({ batch, m, n }: ProductLabels, wanted: readonly number[] | undefined): readonly number[] =>
  wanted ?? [...batch, ...m, ...n];

export class PairProducts {
  readonly #editor: Editor;
  readonly #sizeOf: (label: number) => number;
  readonly #context: Context;
  readonly #ways: ProductWays;
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
    this.#ways = new ProductWays(context, sizeOf, isSplit ? undefined : precision, library);
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
  #sum(id: number, axes: readonly number[], shape: Shape, unrolled?: true): number {
    const { dtype } = this.#editor.node(id);
    const common = { kind: 'reduce', axes, shape, unrolled } as const;
    if (isFloat(dtype) || isComplex(dtype))
      return this.#editor.add({ ...common, reduction: 'sum', dtype, inputs: [id] });
    if (dtype === 'bool') return this.#editor.add({ ...common, reduction: 'any', dtype, inputs: [id] });
    const wide = dtype.startsWith('u') ? 'uint64' : 'int64';
    const inputs = [this.#cast(id, wide)];
    return this.#cast(this.#editor.add({ ...common, reduction: 'sum', dtype: wide, inputs }), dtype);
  }

  #cast(id: number, dtype: DType): number {
    const node = this.#editor.node(id);
    return node.dtype === dtype
      ? id
      : this.#editor.add({ kind: 'cast', dtype, shape: node.shape, inputs: [id] });
  }

  /** An operand with its axes in another order. */
  arrange(operand: Operand, labels: readonly number[]): number {
    return this.#ways.arrange(operand, labels);
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
    const [m, n, k] = [this.#volume(groups.m), this.#volume(groups.n), this.#volume(groups.k)];
    const batch = this.#volume(groups.batch);
    const size = { batch, m, n, k };
    if (this.#pinned !== undefined) return this.#multiplyBy(this.#pinned, { a, b, groups }, size, wanted);
    if (isNarrow(size)) {
      this.#choose(a, b, groups, 'weft', narrowReason(size));
      return this.#multiplyAndSum(a, b, groups, true);
    }
    if (!suitsLibrary(dtype, m, n, k)) return this.#multiplyAndSum(a, b, groups);
    const byColumns = this.#multiplyByColumns({ a, b, groups }, size);
    if (byColumns !== undefined) return byColumns;
    const plain = this.#ways.plain({ a, b, groups });
    const [left, right] = plain.stacks;
    if (this.#context.inKernel(dtype, left, right, size)) {
      this.#choose(a, b, groups, 'weft', 'that reads the operands where they lie', left, right);
      return this.#multiplyAndSum(a, b, groups);
    }
    const chosen = this.#ways.best(plain, wanted);
    return this.#byCutensor({ a, b, groups }, size, chosen, wanted) ?? this.#multiplyMatrices(chosen, wanted);
  }

  #multiplyMatrices(formed: FormedWay, wanted: readonly number[] | undefined): Operand {
    const { batch, m, n } = formed.way.groups;
    return this.#volume(batch) * this.#volume(m) * this.#volume(n) >= this.#leastSplit
      ? this.#multiplySplit(formed, wanted)
      : this.#ways.form(formed, wanted);
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
      const chosen = this.#ways.best(this.#ways.plain(product), wanted);
      const { copiedBytes, calls } = chosen;
      const inCalls = calls === 1 ? '' : `, in ${calls} calls`;
      this.#choose(a, b, groups, library, `as asked, ${formatBytes(copiedBytes)} copied${inCalls}`);
      return this.#multiplyMatrices(chosen, wanted);
    }
    return this.#multiplyAndSum(a, b, groups);
  }

  /** By cuTENSOR, where that takes less time than a way to give the product to cuBLAS. */
  #byCutensor(
    { a, b, groups }: PairProduct,
    size: ProductSize,
    chosen: ChosenWay,
    wanted: readonly number[] | undefined,
  ): Operand | undefined {
    const { tensors, calls, report } = this.#context;
    if (tensors === undefined || calls === undefined) return undefined;
    const [left, right] = [this.#factor(a), this.#factor(b)];
    const choice = libraryOf(
      {
        ...size,
        dtype: this.#editor.node(a.id).dtype,
        precision: this.#asked,
        chosen,
        conjugateBytes: left.conjugateBytes + right.conjugateBytes,
        tensorBytes: left.copiedBytes + right.copiedBytes,
        layout: layoutOf(left, right, groups.k),
      },
      calls,
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

  readonly #volume = (labels: readonly number[]): number => this.#ways.volume(labels);

  /** The parts of factors are taken before views, so that a factor that stands twice is split once. */
  #multiplySplit({ way }: FormedWay, wanted: readonly number[] | undefined): Operand {
    const multiplyAs =
      (precision: Precision) =>
      (x: number, y: number): number =>
        this.#ways.form({ way, stacks: this.#ways.stacksOf(way, x, y) }, wanted, precision).id;
    const multiply = multiplyAs('tf32');
    const multiplyInStretches = multiplyAs('tf32-stretched');
    const isNarrow = this.#volume(way.groups.k) >= this.#context.tf32!.leastNarrowTerms;
    const parts = { multiply, multiplyInStretches, isNarrow };
    const sum = sumOfThree(this.#editor, way.a.id, way.b.id, parts);
    return { id: sum, labels: this.#ways.resultOf(way, wanted) };
  }

  /** A product of values of pairs with few columns, or of few rows with these: a sum for each, where they suit it. */
  #multiplyByColumns({ a, b, groups }: PairProduct, { m, n }: ProductSize): Operand | undefined {
    const { editor, graph } = this.#context;
    const isLeft = n <= m;
    const [pairs, columns, label] = isLeft ? [a, b, groups.n] : [b, a, groups.m];
    if (label.length !== 1 || !suitsColumns(pairs.id, Math.min(m, n), graph)) return undefined;
    this.#choose(a, b, groups, 'weft', columnsReason(Math.min(m, n)));
    const axis = columns.labels.indexOf(label[0]!);
    const labels = columns.labels.filter((own) => own !== label[0]);
    const parts = columnsOf(columns.id, axis, editor).map((id) => {
      const column = { id, labels };
      const product = isLeft
        ? this.#multiplyAndSum(pairs, column, { ...groups, n: [] })
        : this.#multiplyAndSum(column, pairs, { ...groups, m: [] });
      const { shape } = editor.node(product.id);
      const line = isLeft ? [...shape, 1] : [1, ...shape];
      return { id: editor.reshape(product.id, line), labels: product.labels };
    });
    const rest = parts[0]!.labels;
    const kept = isLeft ? [...rest, label[0]!] : [label[0]!, ...rest];
    const { dtype } = editor.node(a.id);
    const inputs = parts.map(({ id }) => id);
    const along = kept.indexOf(label[0]!);
    const id = editor.add({ kind: 'join', axis: along, dtype, shape: this.#shape(kept), inputs });
    return { id, labels: kept };
  }

  /** `unrolled`: the sum is written out. */
  #multiplyAndSum(a: Operand, b: Operand, { batch, m, n, k }: ProductLabels, unrolled?: true): Operand {
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
    const sum = axes.length === 0 ? product : this.#sum(product, axes, this.#shape(kept), unrolled);
    return { id: this.#cast(sum, own), labels: kept };
  }
}
