/**
 * The ways to give a product of two operands to a library of matrix products, and their costs: how labels are grouped
 * (`product-labels.ts`), in which order the summed ones stand, whether batches are one axis or an axis each, and along which
 * labels operands are read backwards. The best is the one that takes least time with its copies, and with a call for every matrix or stack of
 * matrices that no single stride describes.
 *
 *     bqhd,bkhd->bhqk   →   (b, h, q, d) · (b, h, d, k) where they lie, in b calls of h matrices; as one stack of
 *                           b·h matrices both operands would be copies
 *     ik,kj->ij, both backwards along k   →   both forwards
 *
 * Called by `pair-products.ts`.
 */
import { byteLengthOf } from '../../graph/dtype.js';
import type { Precision, ProductLibrary } from '../../graph/expr.js';
import { denseStrides } from '../../graph/graph.js';
import { sameNumbers } from '../kernel/kernel.js';
import { type BatchAxes, batchAxesOf, callsOf } from '../partition/batch-axes.js';
import { asStrided, operandThroughViews } from '../partition/operands.js';
import { isComputed } from './kernel-contractions.js';
import type { Context } from './lowering-context.js';
import type { ChosenWay, ProductWay, WayCost } from './product-costs.js';
import { type Operand, otherProductLabels, type PairProduct } from './product-labels.js';
import { reversalsOf, reversed } from './reversals.js';
import type { Editor } from './rewrite.js';

/** Rows and columns of products in a batch that are there to spare a copy: fewer keep a library from its speed. */
const LEAST_SIDE = 32;

/** Whether a way reads its operands backwards along labels of the result. */
const isReversed = ({ reversed: along }: ProductWay, result: Labels): boolean =>
  along.some((label) => result.includes(label));

/** Labels of a product of stacks of matrices. */
export const LEFT = [0, 1, 2];
export const RIGHT = [0, 2, 3];
export const PRODUCT = [0, 1, 3];

type Labels = readonly number[];

/** Labels of both operands and of the result, and the shape of the result. */
interface ContractLabels {
  readonly labels: readonly Labels[];
  readonly output: Labels;
  readonly shape: readonly number[];
}

/** The orders of the summed labels that spare an operand its copy: as given, and as each operand has them. */
function summedOrders(a: Operand, b: Operand, k: Labels): Labels[] {
  const orders = [k, ...[a, b].map(({ labels }) => labels.filter((label) => k.includes(label)))];
  return orders.filter((order, at) => orders.findIndex((other) => sameNumbers(other, order)) === at);
}

/** Operands as stacks of matrices: the nodes of both. */
type Stacks = readonly [left: number, right: number];

/** A way, and the stacks of matrices that its operands are in it. */
export interface FormedWay {
  readonly way: ProductWay;
  readonly stacks: Stacks;
}

export class ProductWays {
  readonly #context: Context;
  readonly #editor: Editor;
  readonly #sizeOf: (label: number) => number;
  readonly #precision: Precision | undefined;
  readonly #library: ProductLibrary | undefined;

  /** `library`: of the nodes that are made. */
  constructor(
    context: Context,
    sizeOf: (label: number) => number,
    precision: Precision | undefined,
    library: ProductLibrary | undefined,
  ) {
    this.#context = context;
    this.#editor = context.editor;
    this.#sizeOf = sizeOf;
    this.#precision = precision;
    this.#library = library;
  }

  /** The fastest way; the plain one, where it is as fast. `wanted`: the labels of the result as it is stored. */
  best(plain: FormedWay, wanted: Labels = []): ChosenWay {
    const product = plain.way;
    const given = this.#costOf(plain, wanted);
    let [best, single] = [given, given];
    let several: WayCost | undefined;
    if (given.copiedBytes === 0) return { ...given, single, several };
    for (const way of this.#others(product, wanted)) {
      const cost = this.#costOf(this.#formed(way), wanted);
      if (cost.seconds < best.seconds) best = cost;
      if (cost.calls === 1 && cost.seconds < single.seconds) single = cost;
      if (cost.calls > 1 && !(several !== undefined && several.seconds <= cost.seconds)) several = cost;
    }
    return { ...best, single, several };
  }

  *#others({ a, b, groups }: PairProduct, wanted: Labels): Generator<ProductWay> {
    const { calls, graph, isReadable } = this.#context;
    const turned = { ...groups, m: groups.n, n: groups.m };
    const inOneOrder: PairProduct[] = [
      { a, b, groups },
      ...[...otherProductLabels(groups, wanted)].map((tried) => ({ a, b, groups: tried })),
      { a: b, b: a, groups: turned },
      ...[...otherProductLabels(turned, wanted)].map((tried) => ({ a: b, b: a, groups: tried })),
    ];
    const groupings = summedOrders(a, b, groups.k).flatMap((k) =>
      inOneOrder.map((product) => ({ ...product, groups: { ...product.groups, k } })),
    );
    const readsAny = isReadable === asStrided;
    for (const along of readsAny ? [[]] : reversalsOf(graph, { a, b, groups })) {
      for (const product of groupings) {
        const { batch, m, n } = product.groups;
        const isNarrow = Math.min(this.volume(m), this.volume(n)) < LEAST_SIDE;
        if (batch.length > groups.batch.length && isNarrow) continue;
        yield { ...product, isApart: false, reversed: along };
        if (batch.length > 0 && (readsAny || calls !== undefined))
          yield { ...product, isApart: true, reversed: along };
      }
    }
  }

  #costOf({ way, stacks }: FormedWay, wanted: Labels): WayCost {
    const { copiedBytes, calls: traits } = this.#context;
    const { groups } = way;
    const [left, right] = stacks;
    const { dtype } = this.#editor.node(left);
    const result = this.resultOf(way, wanted);
    const isMoved = wanted.length > 0 && (!sameNumbers(result, wanted) || isReversed(way, result));
    const ofLeft = copiedBytes(left);
    const ofRight = copiedBytes(right);
    const ofResult = isMoved ? byteLengthOf(dtype) * this.volume(result) : 0;
    const copied = ofLeft + ofRight + ofResult;
    const cost = { way, stacks, copiedBytes: copied };
    if (traits === undefined) return { ...cost, calls: 1, seconds: copied };
    const { inner, calls } = this.#callsOf(way, left, right, result);
    const [m, n, k] = [groups.m, groups.n, groups.k].map(this.volume) as [number, number, number];
    const copies = [ofLeft, ofRight, ofResult].filter((each) => each > 0).length;
    const call = traits.seconds({ batch: inner, m, n, k }, dtype, this.#precision);
    const lost = calls === 1 ? 0 : traits.lostSeconds(dtype, this.#precision) * calls * inner * m * n * k;
    const inCalls = calls * call + (calls - 1) * traits.callSeconds + lost;
    const seconds = inCalls + copies * traits.copySeconds + copied / traits.copyRate;
    return { ...cost, calls, seconds };
  }

  /** The calls of a way, and the matrices of each. */
  #callsOf(way: ProductWay, left: number, right: number, result: Labels): { inner: number; calls: number } {
    const { batch } = way.groups;
    if (!way.isApart) return { inner: this.volume(batch), calls: 1 };
    const ofResult = denseStrides(this.shape(result));
    const [ofLeft, ofRight] = [left, right].map((id) => this.#stridesOf(id).slice(-batch.length - 2));
    const axes: BatchAxes = batchAxesOf(
      batch.map((label, k) => ({
        size: this.#sizeOf(label),
        strides: [ofLeft![k]!, ofRight![k]!, ofResult[result.indexOf(label)]!],
      })),
    );
    return { inner: axes.inner.size, calls: callsOf(axes) };
  }

  #stridesOf(id: number): readonly number[] {
    const { graph, isReadable } = this.#context;
    const found = isComputed(graph, id) ? undefined : operandThroughViews(graph, id, undefined, isReadable);
    return found?.strides ?? denseStrides(this.#editor.node(id).shape);
  }

  /** The labels of the result in the order in which a product stores them. */
  resultOf({ groups: { batch, m, n }, isApart }: ProductWay, wanted: Labels = []): Labels {
    const own = [...batch, ...m, ...n];
    if (!isApart || wanted.length !== own.length || m.length === 0 || n.length === 0) return own;
    const first = wanted.indexOf(m[0]!);
    const isStored =
      sameNumbers(wanted.slice(first, first + m.length), m) && sameNumbers(wanted.slice(-n.length), n);
    return isStored ? wanted : own;
  }

  /** The product in a way, of its operands or, of the same layout, others. */
  form(
    { way, stacks: [left, right] }: FormedWay,
    wanted: Labels | undefined,
    precision = this.#precision,
  ): Operand {
    const result = this.resultOf(way, wanted);
    const { labels, output, shape } = way.isApart ? this.#labelsApart(way, result) : this.#labelsOf(way);
    const product = this.#editor.add({
      kind: 'contract',
      labels,
      output,
      precision,
      memoryLimit: undefined,
      library: this.#library === 'weft' ? this.#library : undefined,
      dtype: this.#editor.node(left).dtype,
      shape,
      inputs: [left, right],
    });
    this.#context.made.add(product);
    const id = this.#editor.reshape(product, this.shape(result));
    return reversed({ id, labels: result }, way.reversed, this.#editor);
  }

  /** The labels of a product of stacks of matrices, and its shape. */
  #labelsOf({ groups: { batch, m, n } }: ProductWay): ContractLabels {
    return { labels: [LEFT, RIGHT], output: PRODUCT, shape: [batch, m, n].map(this.volume) };
  }

  /** The labels of a product with an axis for each batch, two at least, and its shape. */
  #labelsApart({ groups: { batch, m, n } }: ProductWay, result: Labels): ContractLabels {
    const spare = batch.length < 2 ? 1 : 0;
    const axes = batch.length + spare;
    const own = Array.from({ length: axes }, (_, axis) => axis);
    const output: number[] = spare === 0 ? [] : [0];
    const shape: number[] = spare === 0 ? [] : [1];
    for (const label of result) {
      if (batch.includes(label)) {
        output.push(spare + batch.indexOf(label));
        shape.push(this.#sizeOf(label));
      } else if (label === m[0] || label === n[0]) {
        output.push(label === m[0] ? axes : axes + 2);
        shape.push(this.volume(label === m[0] ? m : n));
      }
    }
    return {
      labels: [
        [...own, axes, axes + 1],
        [...own, axes + 1, axes + 2],
      ],
      output,
      shape,
    };
  }

  /** A product as it is given, of two stacks of matrices with a single batch axis. */
  plain({ a, b, groups }: PairProduct): FormedWay {
    return this.#formed({ a, b, groups, isApart: false, reversed: [] });
  }

  #formed(way: ProductWay): FormedWay {
    return { way, stacks: this.stacksOf(way, way.a.id, way.b.id) };
  }

  /** The stacks of matrices of a way, of these nodes in the place of its operands. */
  stacksOf(way: ProductWay, a: number, b: number): Stacks {
    const { m, n, k } = way.groups;
    const left = reversed({ id: a, labels: way.a.labels }, way.reversed, this.#editor);
    const right = reversed({ id: b, labels: way.b.labels }, way.reversed, this.#editor);
    return [this.#stack(way, left, m, k), this.#stack(way, right, k, n)];
  }

  /** An operand as (…, rows, columns); it is the same for a batch that it has no label of. */
  #stack(
    { groups: { batch }, isApart }: ProductWay,
    operand: Operand,
    rows: Labels,
    columns: Labels,
  ): number {
    const [m, n] = [this.volume(rows), this.volume(columns)];
    const spare = isApart && batch.length < 2 ? [1] : [];
    const shape = isApart ? [...spare, ...this.shape(batch), m, n] : [this.volume(batch), m, n];
    const own = batch.length === 0 ? batch : batch.filter((label) => operand.labels.includes(label));
    const arranged = this.arrange(operand, [...own, ...rows, ...columns]);
    return own.length === batch.length
      ? this.#editor.reshape(arranged, shape)
      : this.#spread(arranged, batch, own, [m, n], shape);
  }

  /** Stacks of matrices that are the same along the labels of a batch that are not their `own`. */
  #spread(
    id: number,
    batch: Labels,
    own: Labels,
    inner: readonly number[],
    shape: readonly number[],
  ): number {
    const thin = batch.map((label) => (own.includes(label) ? this.#sizeOf(label) : 1));
    const spread = this.#editor.broadcast(this.#editor.reshape(id, [...thin, ...inner]), [
      ...this.shape(batch),
      ...inner,
    ]);
    return this.#editor.reshape(spread, shape);
  }

  /** An operand with its axes in another order. */
  arrange(operand: Operand, labels: Labels): number {
    if (sameNumbers(labels, operand.labels)) return operand.id;
    const order = labels.map((label) => operand.labels.indexOf(label));
    return this.#editor.view(operand.id, { type: 'permute', order }, this.shape(labels));
  }

  shape(labels: Labels): number[] {
    return labels.map(this.#sizeOf);
  }

  readonly volume = (labels: Labels): number => {
    let volume = 1;
    for (let k = 0; k < labels.length; k++) volume *= this.#sizeOf(labels[k]!);
    return volume;
  };
}
