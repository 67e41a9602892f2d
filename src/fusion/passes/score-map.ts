/**
 * The way from a product to what a softmax or a reduction reads of it: a factor, the columns that a causal mask keeps,
 * and otherwise a map of single scores, as a graph of its own.
 *
 *     where(rows >= columns, q·k / 8, -infinity)   →   q·k by 1/8, causal
 *     q·k / 8 + bias                               →   q·k, mapped by (score, bias) → score / 8 + bias
 *
 * Maps are computed in float32 where the product is of halves: scores are rounded once, not at each op. Called by
 * `fuse-attention.ts`.
 */
import { isHalf } from '../../graph/dtype.js';
import {
  denseStrides,
  type Graph,
  type GraphNode,
  type GraphNodeOf,
  type ValueMap,
} from '../../graph/graph.js';
import { printGraph } from '../../graph/print.js';
import { type ScalarTest, specialized } from '../../graph/runtime-scalar.js';
import { sameShape } from '../../graph/shape.js';
import { causalForm } from './causal-form.js';
import { constantOf, isConstantThat } from './constant-of.js';
import type { NodeContent } from './node-table.js';
import type { Editor } from './rewrite.js';

const isZero: ScalarTest = (value) => value === 0;
const isLowest: ScalarTest = (value) => value === Number.NEGATIVE_INFINITY;

/** The most nodes of a map. */
const MAX_NODES = 64;

export interface MappedProduct {
  readonly product: GraphNodeOf<'contract'>;
  /** Above 0; 1 beside a map. */
  readonly scale: number;
  /** The last column of row 0. */
  readonly causal: number | undefined;
  readonly map: { readonly value: ValueMap; readonly inputs: readonly number[] } | undefined;
}

/** The product whose elements a node has mapped, if there is one. */
export function mappedProduct(root: number, editor: Editor): MappedProduct | undefined {
  const { shape } = editor.node(root);
  const dependent = dependentsOf(root, editor);
  if (dependent === undefined) return undefined;
  const { product, nodes } = dependent;
  const masked = causalPart(root, nodes, editor);
  const scale = scaleOf(masked.value, product.id, nodes, editor);
  if (scale !== undefined) return { product, scale, causal: masked.offset, map: undefined };
  const map = new MapGraph(product.id, shape, nodes, editor).of(masked.value);
  return map && { product, scale: 1, causal: masked.offset, map };
}

/** The one contraction of a node's shape below maps and casts of that shape, and those with it. */
function dependentsOf(
  root: number,
  editor: Editor,
): { readonly product: GraphNodeOf<'contract'>; readonly nodes: ReadonlySet<number> } | undefined {
  const { shape } = editor.node(root);
  const order: number[] = [];
  const seen = new Set<number>();
  const open = [root];
  const isMap = ({ kind }: GraphNode): boolean => kind === 'map' || kind === 'cast';
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    const node = editor.node(id);
    if (seen.has(id) || !sameShape(node.shape, shape)) continue;
    seen.add(id);
    order.push(id);
    if (order.length > MAX_NODES) return undefined;
    if (isMap(node)) open.push(...node.inputs);
  }
  const products = order.filter((id) => editor.node(id).kind === 'contract');
  if (products.length !== 1) return undefined;
  const nodes = new Set(products);
  // Maps of maps: as often as the longest way is long.
  for (let found = true; found; ) {
    found = false;
    for (const id of order) {
      const node = editor.node(id);
      if (nodes.has(id) || !isMap(node) || !node.inputs.some((input) => nodes.has(input))) continue;
      nodes.add(id);
      found = true;
    }
  }
  if (!nodes.has(root)) return undefined;
  return { product: editor.node(products[0]!) as GraphNodeOf<'contract'>, nodes };
}

interface Masked {
  readonly value: number;
  readonly offset: number | undefined;
}

/** where(causal, value, -infinity), or value + where(causal, 0, -infinity), through casts. */
function causalPart(root: number, nodes: ReadonlySet<number>, editor: Editor): Masked {
  let node = editor.node(root);
  while (node.kind === 'cast' && nodes.has(node.inputs[0]!)) node = editor.node(node.inputs[0]!);
  const none = { value: root, offset: undefined };
  if (node.kind !== 'map') return none;
  if (node.op === 'where') {
    const [condition, kept, other] = node.inputs as readonly [number, number, number];
    const offset = causalOffset(condition, kept, other, editor);
    const value = [kept, other].find((id) => nodes.has(id));
    return offset === undefined || value === undefined || nodes.has(condition) ? none : { value, offset };
  }
  if (node.op !== 'add') return none;
  const [value, mask] = nodes.has(node.inputs[0]!) ? node.inputs : [...node.inputs].reverse();
  let chosen = editor.node(mask!);
  while (chosen.kind === 'cast') chosen = editor.node(chosen.inputs[0]!);
  if (nodes.has(mask!) || chosen.kind !== 'map' || chosen.op !== 'where') return none;
  const [condition, kept, other] = chosen.inputs as readonly [number, number, number];
  const zero = [kept, other].find((id) => isConstantThat(id, editor, isZero));
  const offset = zero === undefined ? undefined : causalOffset(condition, kept, other, editor);
  return offset === undefined ? none : { value: value!, offset };
}

/** The last column of row 0 that is not -infinity. */
function causalOffset(condition: number, kept: number, other: number, editor: Editor): number | undefined {
  const causal = causalForm(condition, editor);
  if (causal === undefined) return undefined;
  const hidden = causal.holds ? other : kept;
  return isConstantThat(hidden, editor, isLowest) ? causal.offset : undefined;
}

/** The factor of a product that is only scaled, and cast from halves. */
function scaleOf(
  root: number,
  product: number,
  nodes: ReadonlySet<number>,
  editor: Editor,
): number | undefined {
  let scale = 1;
  for (let id = root; id !== product; ) {
    const node = editor.node(id);
    const [a, b] = node.inputs as readonly [number, number];
    if (node.kind === 'cast') {
      id = a;
      continue;
    }
    const isProduct = node.kind === 'map' && node.op === 'multiply';
    if (node.kind !== 'map' || !(isProduct || (node.op === 'divide' && nodes.has(a)))) return undefined;
    const [next, other] = nodes.has(a) ? [a, b] : [b, a];
    const factor = constantOf(other, editor);
    if (nodes.has(other) || typeof factor !== 'number') return undefined;
    scale = isProduct ? scale * factor : scale / factor;
    id = next;
  }
  return scale > 0 && Number.isFinite(Math.fround(scale)) && Math.fround(scale) > 0 ? scale : undefined;
}

/** Copies the nodes of a map into a graph of its own. */
class MapGraph {
  readonly #nodes: GraphNode[] = [];
  readonly #ids = new Map<number, number>();
  readonly #inputs: number[] = [];

  constructor(
    readonly product: number,
    readonly shape: readonly number[],
    readonly dependents: ReadonlySet<number>,
    readonly editor: Editor,
  ) {}

  of(root: number): MappedProduct['map'] {
    const open = [root];
    while (open.length > 0) {
      const id = open.at(-1)!;
      const node = this.editor.node(id);
      const inputs = this.#isInside(node) ? node.inputs : [];
      const missing = inputs.filter((input) => !this.#ids.has(input));
      if (missing.length > 0) open.push(...missing);
      else {
        open.pop();
        if (!this.#ids.has(id)) this.#ids.set(id, this.#copy(node));
      }
      if (this.#nodes.length > MAX_NODES) return undefined;
    }
    const graph: Graph = { nodes: this.#nodes, outputs: [this.#ids.get(root)!] };
    if (this.#nodes[graph.outputs[0]!]!.dtype !== 'float32') return undefined;
    return { value: { graph, key: printGraph(graph) }, inputs: this.#inputs };
  }

  /** Whether a node is computed for each score. */
  #isInside({ id, kind }: GraphNode): boolean {
    return id !== this.product && ['map', 'cast', 'const', 'iota', 'view'].includes(kind);
  }

  #add(node: NodeContent): number {
    const id = this.#nodes.length;
    this.#nodes.push({ ...node, id });
    return id;
  }

  #copy(node: GraphNode): number {
    const { dtype, shape } = node;
    if (node.id === this.product) return this.#source(0, 'float32', this.shape);
    if (!this.#isInside(node)) return this.#source(this.#inputs.push(node.id), dtype, shape);
    const inputs = node.inputs.map((id) => this.#ids.get(id)!);
    // Values of the routine's own graph are a part of the program.
    if (node.kind === 'const') return this.#add({ ...node, value: specialized(node.value), inputs });
    if (!this.dependents.has(node.id)) return this.#add({ ...node, inputs });
    const wide = isHalf(dtype) ? 'float32' : dtype;
    if (node.kind === 'cast' && this.#nodes[inputs[0]!]!.dtype === wide) return inputs[0]!;
    return this.#add({ ...node, dtype: wide, inputs: inputs.map((id) => this.#widened(id)) });
  }

  #source(input: number, dtype: GraphNode['dtype'], shape: readonly number[]): number {
    return this.#add({
      kind: 'source',
      input,
      offset: 0,
      strides: denseStrides(shape),
      dtype,
      shape,
      inputs: [],
    });
  }

  /** A node in float32 where it is of halves. */
  #widened(id: number): number {
    const { dtype, shape } = this.#nodes[id]!;
    return isHalf(dtype) ? this.#add({ kind: 'cast', dtype: 'float32', shape, inputs: [id] }) : id;
  }
}
