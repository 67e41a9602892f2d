/**
 * Gives matrix products the work on their elements that a library does before it stores them:
 *
 *     maximum (add (contract a b) bias) 0              →   contract a b, + bias, relu
 *     add (contract (multiply a 2) b) (multiply c 0.5)  →   contract a b, alpha 2, + 0.5 addend
 *     contract (cast a, float32) (cast b, float32)      →   contract a b of halves with a float32 result
 *     ½x(1 + tanh(√(2/π)(x + 0.044715x³))) of x          →   x, gelu
 *
 * After `lower-contractions`, for plans of one device. Values change by rounding: an epilogue
 * is computed in the precision of the sums and rounded once, products of a scaled operand are scaled.
 *
 * An epilogue is taken for what the expression is, not for who else reads its parts, so that a result has the bits that it
 * has alone. Products that differ by a ReLU alone are one again (`share-products.ts`).
 */
import { byteLengthOf, type DType, isHalf } from '../../graph/dtype.js';
import { type Epilogue, PLAIN } from '../../graph/epilogue.js';
import {
  type GraphNode,
  type GraphNodeOf,
  type MutableGraph,
  nodeOf,
  orderOf,
  sizeOfShape,
} from '../../graph/graph.js';
import { type MatrixProduct, matrixProductOf } from '../../graph/matrix-product.js';
import type { ScalarTest } from '../../graph/runtime-scalar.js';
import { convertScalar } from '../../graph/scalar.js';
import { sameShape } from '../../graph/shape.js';
import type { Slices } from '../../host/slices.js';
import { asRows, asWhole, operandThroughViews, type Readable } from '../partition/operands.js';
import { constantOf, isConstant, isConstantThat } from './constant-of.js';
import { geluForm } from './gelu-form.js';
import { hasContractions } from './merge-contractions.js';
import type { CallTraits } from './product-costs.js';
import { type Editor, type Rule, rewrite } from './rewrite.js';
import { shareProducts } from './share-products.js';

type Contract = GraphNodeOf<'contract'>;

/** The most matrices of a call, and rows or columns of one. */
const MOST_MATRICES = 65535;
const MOST_SIDE = 2 ** 31 - 1;

/** The most a call with a gelu may take, against a kernel for the gelu. */
const MOST_GELU_CALL = 2;

export const fuseEpilogues = (calls: CallTraits) =>
  function* (graph: MutableGraph): Slices<void> {
    if (!hasContractions(graph)) return;
    const rules = new EpilogueRules(graph, calls);
    yield* rewrite(graph, { map: rules.ofMaps, cast: [rules.castOfProduct], contract: rules.ofProducts });
    yield* shareProducts(graph);
  };

const isZero: ScalarTest = (value) => value === 0;

/** Whether a product of the graph has an epilogue. */
export const hasEpilogues = ({ nodes }: { readonly nodes: readonly (GraphNode | undefined)[] }): boolean =>
  nodes.some((node) =>
    node?.kind === 'loop'
      ? hasEpilogues(node.loop.body)
      : node?.kind === 'contract' && node.epilogue !== undefined,
  );

/** Products of several calls, which add to their results. */
const isStretched = ({ precision }: Contract): boolean => precision === 'tf32-stretched';

const hasActivations = (dtype: DType): boolean => dtype === 'float32' || isHalf(dtype);

/** cuTENSOR has alpha, beta and an addend that lies as the result, in the result's dtype. */
const isTensor = ({ library }: Contract): boolean => library === 'cutensor';

/** A product by cuBLAS of one row or column, which is a matrix in either order. */
const isVector = (node: Contract, editor: Pick<Editor, 'node'>): boolean => {
  if (isTensor(node)) return false;
  const { m, n } = sizesOf(node, editor);
  return Math.min(m, n) <= 1;
};

const sizesOf = (node: Contract, editor: Pick<Editor, 'node'>): MatrixProduct =>
  matrixProductOf(node, editor.node(node.inputs[0]!).shape);

class EpilogueRules {
  readonly #graph: MutableGraph;
  readonly #calls: CallTraits;
  /** Multiples of its argument that a gelu is computed from. */
  readonly #ofGelu: ReadonlySet<number>;

  constructor(graph: MutableGraph, calls: CallTraits) {
    this.#graph = graph;
    this.#calls = calls;
    const editor = { node: (id: number) => nodeOf(graph, id) };
    this.#ofGelu = new Set(orderOf(graph).flatMap((id) => geluForm(nodeOf(graph, id), editor)?.scaled ?? []));
  }

  get ofMaps(): readonly Rule[] {
    return [this.#scaled, this.#added, this.#clipped, this.#gelu];
  }

  get ofProducts(): readonly Rule[] {
    return [this.#ofHalves, this.#ofScaled];
  }

  /** The product whose elements a node has in the same order. */
  #productAt(id: number): Contract | undefined {
    let node = nodeOf(this.#graph, id);
    while (node.kind === 'view' && node.view.type === 'reshape') node = nodeOf(this.#graph, node.inputs[0]!);
    if (node.kind !== 'contract' || node.epilogue?.activation !== undefined || isStretched(node))
      return undefined;
    if (isTensor(node)) return node;
    const { batch, m, n, k, columnAxis } = sizesOf(node, { node: (at) => nodeOf(this.#graph, at) });
    // Results of cuBLASLt are in rows.
    if (Math.min(m, n) <= 1 || columnAxis !== node.shape.length - 1) return undefined;
    return sizeOfShape(batch) <= MOST_MATRICES && Math.max(m, n, k) <= MOST_SIDE ? node : undefined;
  }

  /** Whether it is of halves, whose NaNs cuBLASLt's ReLU makes 0 (13.0, on an H100); of float32 it keeps them. */
  #hasHalves({ inputs, dtype }: Contract): boolean {
    return isHalf(dtype) || isHalf(nodeOf(this.#graph, inputs[0]!).dtype);
  }

  /** The product with more of an epilogue, in the place of a node. */
  #become(
    node: GraphNode,
    product: Contract,
    changes: Partial<Epilogue>,
    { inputs = product.inputs, dtype = product.dtype }: { inputs?: readonly number[]; dtype?: DType },
    editor: Editor,
  ): number {
    const { id: _, ...data } = product;
    const epilogue = { ...(product.epilogue ?? PLAIN), ...changes };
    const made = editor.add({ ...data, epilogue, inputs, dtype });
    return editor.reshape(made, node.shape);
  }

  /** A factor by which the sums can be multiplied: one that the dtype has, so that nothing of it is lost. */
  #factor(id: number, dtype: DType, editor: Editor): number | undefined {
    const constant = constantOf(id, editor);
    const value = typeof constant === 'object' && constant.im === 0 ? constant.re : constant;
    if (typeof value !== 'number' || !Number.isFinite(value) || value === 0) return undefined;
    return isHalf(dtype) && convertScalar(value, dtype) !== value ? undefined : value;
  }

  /** Of a map of two inputs, each beside the other. */
  #sides({ inputs }: GraphNode): readonly (readonly [number, number])[] {
    const [a, b] = inputs as readonly [number, number];
    return [
      [a, b],
      [b, a],
    ];
  }

  /** multiply p constant → p, alpha */
  readonly #scaled: Rule = (node, editor) => {
    if (node.kind !== 'map' || node.op !== 'multiply' || this.#ofGelu.has(node.id)) return undefined;
    for (const [at, other] of this.#sides(node)) {
      const product = this.#productAt(at);
      const factor = product === undefined ? undefined : this.#factor(other, node.dtype, editor);
      if (product === undefined || factor === undefined) continue;
      const { alpha, beta, hasBias } = product.epilogue ?? PLAIN;
      if (beta === 0 && !hasBias && Number.isFinite(alpha * factor) && alpha * factor !== 0)
        return this.#become(node, product, { alpha: alpha * factor }, {}, editor);
    }
    return undefined;
  };

  /** add p c → p, + addend; add p row → p, + bias; subtract p c → p, + -1 addend */
  readonly #added: Rule = (node, editor) => {
    if (node.kind !== 'map' || (node.op !== 'add' && node.op !== 'subtract')) return undefined;
    for (const [at, other] of node.op === 'add' ? this.#sides(node) : [this.#sides(node)[0]!]) {
      const product = this.#productAt(at);
      if (product === undefined || !sameShape(nodeOf(this.#graph, at).shape, node.shape)) continue;
      const fused =
        (node.op === 'add' ? this.#withBias(node, product, other, editor) : undefined) ??
        this.#withAddend(node, product, other, node.op === 'add' ? 1 : -1, editor);
      if (fused !== undefined) return fused;
    }
    return undefined;
  };

  #withBias(node: GraphNode, product: Contract, other: number, editor: Editor): number | undefined {
    if (isTensor(product)) return undefined;
    const n = product.shape.at(-1)!;
    if (product.epilogue?.hasBias || !hasActivations(product.dtype) || node.shape.at(-1) !== n)
      return undefined;
    let row = editor.node(other);
    while (row.kind === 'view' && row.view.type === 'broadcast') row = editor.node(row.inputs[0]!);
    if (row.shape.at(-1) !== n || sizeOfShape(row.shape) !== n) return undefined;
    if (isConstant(row.id, editor)) return undefined;
    const bias = editor.reshape(row.id, [...product.shape.slice(1).map(() => 1), n]);
    return this.#become(node, product, { hasBias: true }, { inputs: [...product.inputs, bias] }, editor);
  }

  #withAddend(
    node: GraphNode,
    product: Contract,
    other: number,
    sign: 1 | -1,
    editor: Editor,
  ): number | undefined {
    if ((product.epilogue ?? PLAIN).beta !== 0) return undefined;
    const scaled = this.#scaledInput(other, editor);
    const { id, factor } = scaled ?? { id: other, factor: 1 };
    if (!sameShape(editor.node(id).shape, node.shape)) return undefined;
    const addend = editor.reshape(id, product.shape);
    const isReadable = isTensor(product) ? asWhole : asRows(sizesOf(product, editor).rowAxis);
    if (!this.#isStored(addend, isReadable)) return undefined;
    const [a, b, ...bias] = product.inputs as readonly [number, number, ...number[]];
    const inputs = [a, b, addend, ...bias];
    return this.#become(node, product, { beta: sign * factor }, { inputs }, editor);
  }

  /** Whether a node's elements are in memory anyway, as it can be read. */
  #isStored(id: number, isReadable: Readable): boolean {
    let base = nodeOf(this.#graph, id);
    while (base.kind === 'view') base = nodeOf(this.#graph, base.inputs[0]!);
    if (!['source', 'contract', 'reduce', 'call', 'loop'].includes(base.kind)) return false;
    return operandThroughViews(this.#graph, id, undefined, isReadable) !== undefined;
  }

  /** x and c of a multiply x c. */
  #scaledInput(id: number, editor: Editor): { readonly id: number; readonly factor: number } | undefined {
    const node = editor.node(id);
    if (node.kind !== 'map' || node.op !== 'multiply') return undefined;
    for (const [at, other] of this.#sides(node)) {
      const factor = this.#factor(other, node.dtype, editor);
      if (factor !== undefined && sameShape(editor.node(at).shape, node.shape)) return { id: at, factor };
    }
    return undefined;
  }

  /** maximum p 0 → p, relu; where p may be -0, a library's ReLU may keep it, and maximum gives 0 */
  readonly #clipped: Rule = (node, editor) => {
    if (node.kind !== 'map' || node.op !== 'maximum' || node.dtype !== 'float32') return undefined;
    for (const [at, other] of this.#sides(node)) {
      if (!isConstantThat(other, editor, isZero)) continue;
      const product = this.#productAt(at);
      if (product === undefined || isTensor(product) || this.#hasHalves(product)) continue;
      if (!mayBeNegativeZero(product.epilogue ?? PLAIN))
        return this.#become(node, product, { activation: 'relu' }, {}, editor);
    }
    return undefined;
  };

  /**
   * The form of `gelu` with tanh. The library's is not a kernel's to the bit, so that the product is computed once more for
   * others that read it: where that takes longer than the kernel would, gelu is a kernel for all.
   */
  readonly #gelu: Rule = (node, editor) => {
    if (node.kind !== 'map' || !hasActivations(node.dtype)) return undefined;
    const form = geluForm(node, editor);
    const product = form === undefined ? undefined : this.#productAt(form.argument);
    if (product === undefined || isTensor(product) || !this.#isQuick(product)) return undefined;
    return this.#become(node, product, { activation: 'gelu' }, {}, editor);
  };

  #isQuick(product: Contract): boolean {
    const { batch, m, n, k } = sizesOf(product, { node: (at) => nodeOf(this.#graph, at) });
    const { seconds, callSeconds, copySeconds, copyRate } = this.#calls;
    const { dtype } = nodeOf(this.#graph, product.inputs[0]!);
    const call = seconds({ batch: sizeOfShape(batch), m, n, k }, dtype, product.precision);
    const bytes = sizeOfShape(product.shape) * byteLengthOf(product.dtype);
    return call <= MOST_GELU_CALL * (callSeconds + copySeconds + bytes / copyRate);
  }

  /** cast p float32 → the sums of halves as they are */
  readonly castOfProduct: Rule = (node, editor) => {
    if (node.kind !== 'cast' || node.dtype !== 'float32') return undefined;
    const product = this.#productAt(node.inputs[0]!);
    if (product === undefined || isTensor(product) || !isHalf(product.dtype)) return undefined;
    const { beta, hasBias } = product.epilogue ?? PLAIN;
    if (beta !== 0 || hasBias) return undefined;
    return this.#become(node, product, {}, { dtype: node.dtype }, editor);
  };

  /** contract of halves that are cast to float32 → of the halves: their products are exact */
  readonly #ofHalves: Rule = (node, editor) => {
    if (node.kind !== 'contract' || node.dtype !== 'float32' || isVector(node, editor)) return undefined;
    if (node.epilogue?.activation === 'relu' || isTensor(node)) return undefined;
    const [a, b, ...further] = node.inputs as readonly [number, number, ...number[]];
    if (a === b) return undefined;
    const casts = [a, b].map((id) => throughViews(id, editor, castInput));
    const [left, right] = casts;
    if (left === undefined || right === undefined) return undefined;
    const { dtype } = editor.node(left);
    if (!isHalf(dtype) || editor.node(right).dtype !== dtype) return undefined;
    const { id: _, precision: __, ...data } = node;
    return editor.add({
      ...data,
      precision: undefined,
      epilogue: node.epilogue ?? PLAIN,
      inputs: [left, right, ...further],
    });
  };

  /** contract (multiply a constant) b → contract a b, alpha */
  readonly #ofScaled: Rule = (node, editor) => {
    if (node.kind !== 'contract' || isVector(node, editor) || isStretched(node)) return undefined;
    const { alpha } = node.epilogue ?? PLAIN;
    for (const k of [0, 1] as const) {
      let factor = 1;
      const input = throughViews(node.inputs[k]!, editor, (id) => {
        const scaled = this.#scaledInput(id, editor);
        factor = scaled?.factor ?? 1;
        return scaled?.id;
      });
      if (input === undefined || !Number.isFinite(alpha * factor) || alpha * factor === 0) continue;
      const inputs = node.inputs.map((id, j) => (j === k ? input : id));
      const { id: _, ...data } = node;
      const epilogue = { ...(node.epilogue ?? PLAIN), alpha: alpha * factor };
      if (epilogue.activation === 'relu' && mayBeNegativeZero(epilogue)) continue;
      return editor.add({ ...data, epilogue, inputs });
    }
    return undefined;
  };
}

/** Whether sums of 0 may give -0: sums begin with 0, which stays 0 whatever is added to it. */
const mayBeNegativeZero = ({ alpha }: Epilogue): boolean => alpha < 0;

const castInput = (id: number, editor: Editor): number | undefined => {
  const node = editor.node(id);
  return node.kind === 'cast' ? node.inputs[0] : undefined;
};

/** The views of a node, over what `below` gives for the node that they view. */
function throughViews(
  id: number,
  editor: Editor,
  below: (id: number, editor: Editor) => number | undefined,
): number | undefined {
  const views: GraphNodeOf<'view'>[] = [];
  let node = editor.node(id);
  // A pad's zeros are no elements of what it pads.
  while (node.kind === 'view' && node.view.type !== 'pad') {
    views.unshift(node);
    node = editor.node(node.inputs[0]!);
  }
  const base = below(node.id, editor);
  if (base === undefined) return undefined;
  return views.reduce((input, { view, shape }) => editor.view(input, view, shape), base);
}
