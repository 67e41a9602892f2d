/**
 * NodeTable: finds the node that has a given content: equal data, inputs, dtype and shape are equal values. Called by
 * `rewrite.ts`; `canonicalize.ts` compares the same things as text, which a fingerprint needs anyway.
 */
import { unreachable } from '../errors.js';
import type { NodeBase, View } from '../graph/expr.js';
import type { GraphNodeData } from '../graph/graph.js';
import { HashChains, mix, mixAll, mixScalar, numberOf, sameScalar } from './hash.js';
import { sameNumbers } from './kernel.js';

/** A node but for its id. */
export type NodeContent = GraphNodeData & NodeBase & { readonly inputs: readonly number[] };

export class NodeTable {
  readonly #contents: NodeContent[] = [];
  readonly #ids: number[] = [];
  readonly #chains = new HashChains();

  /** The id that `node` was entered with, or `id`, under which it is entered then. */
  enter(node: NodeContent, id: number): number {
    const hash = hashOf(node) & 0x3fffffff;
    for (let at = this.#chains.first(hash); at >= 0; at = this.#chains.next(at))
      if (isSame(this.#contents[at]!, node)) return this.#ids[at]!;
    this.#contents.push(node);
    this.#ids.push(id);
    this.#chains.push(hash);
    return id;
  }
}

function hashOf(node: NodeContent): number {
  const own = mix(mixData(node), numberOf(node.dtype));
  return mixAll(mixAll(own, node.inputs), node.shape);
}

function mixData(node: GraphNodeData): number {
  const kind = numberOf(node.kind);
  switch (node.kind) {
    case 'source':
      return mixAll(mix(mix(kind, node.input), node.offset), node.strides);
    case 'iota':
    case 'cast':
      return kind;
    case 'const':
      return mixScalar(kind, node.value);
    case 'map':
      return mix(kind, numberOf(node.op));
    case 'reduce':
      return mixAll(mix(kind, numberOf(node.reduction)), node.axes);
    case 'view':
      return mixView(mix(kind, numberOf(node.view.type)), node.view);
    case 'contract': {
      let hash = mixAll(kind, node.output);
      for (const labels of node.labels) hash = mixAll(mix(hash, labels.length), labels);
      return hash;
    }
    case 'loop':
      return mix(mix(kind, node.loop.steps), node.result);
    default:
      return unreachable(node);
  }
}

function mixView(hash: number, view: View): number {
  switch (view.type) {
    case 'reshape':
    case 'broadcast':
      return hash;
    case 'permute':
      return mixAll(hash, view.order);
    case 'slice':
      return mixAll(mixAll(hash, view.starts), view.steps);
    case 'pad':
      return mixAll(hash, view.before);
    default:
      return unreachable(view);
  }
}

const isSame = (a: NodeContent, b: NodeContent): boolean =>
  a.dtype === b.dtype && sameNumbers(a.inputs, b.inputs) && sameNumbers(a.shape, b.shape) && sameData(a, b);

function sameData(a: GraphNodeData, b: GraphNodeData): boolean {
  switch (a.kind) {
    case 'source':
      return (
        b.kind === 'source' &&
        a.input === b.input &&
        a.offset === b.offset &&
        sameNumbers(a.strides, b.strides)
      );
    case 'iota':
    case 'cast':
      return a.kind === b.kind;
    case 'const':
      return b.kind === 'const' && sameScalar(a.value, b.value);
    case 'map':
      return b.kind === 'map' && a.op === b.op;
    case 'reduce':
      return b.kind === 'reduce' && a.reduction === b.reduction && sameNumbers(a.axes, b.axes);
    case 'view':
      return b.kind === 'view' && sameView(a.view, b.view);
    case 'contract':
      return (
        b.kind === 'contract' &&
        sameNumbers(a.output, b.output) &&
        a.labels.length === b.labels.length &&
        a.labels.every((labels, k) => sameNumbers(labels, b.labels[k]!))
      );
    case 'loop':
      return b.kind === 'loop' && a.result === b.result && a.loop.key === b.loop.key;
    default:
      return unreachable(a);
  }
}

function sameView(a: View, b: View): boolean {
  switch (a.type) {
    case 'reshape':
    case 'broadcast':
      return a.type === b.type;
    case 'permute':
      return b.type === 'permute' && sameNumbers(a.order, b.order);
    case 'slice':
      return b.type === 'slice' && sameNumbers(a.starts, b.starts) && sameNumbers(a.steps, b.steps);
    case 'pad':
      return b.type === 'pad' && sameNumbers(a.before, b.before);
    default:
      return unreachable(a);
  }
}
