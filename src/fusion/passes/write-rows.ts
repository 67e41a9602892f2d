/**
 * Has a loop's step that sets one row of a state, by a number that it computes, say so:
 *
 *     where (equal rows i) v x   →   writeRow x i v      x: a state, of which this is the next value; rows: 0, 1, 2 … along an axis
 *
 * so that the row can be written in its place (`exec/plan/row-states.ts`) and the others stay where they are. For bodies of
 * loops, in plans that hold everything at once: rows of a map can be cut into tiles. A state of few bytes is sooner written
 * anew by a kernel that does other work too.
 */
import { byteLengthOf, type DType, isFloat, isInteger } from '../../graph/dtype.js';
import {
  type Graph,
  type GraphNode,
  type GraphNodeOf,
  type MutableGraph,
  nodeOf,
  orderOf,
  sizeOfShape,
  storedNode,
} from '../../graph/graph.js';
import type { ScalarTest } from '../../graph/runtime-scalar.js';
import { sameShape } from '../../graph/shape.js';
import type { Slices } from '../../host/slices.js';
import { isConstantThat } from './constant-of.js';
import { type Editor, rewriteInOneWalk } from './rewrite.js';

type GraphMap = GraphNodeOf<'map'>;

/** Of states of at least so many bytes. */
export const writeRows = (leastBytes: number) =>
  function* (graph: MutableGraph): Slices<void> {
    const writes = new RowWrites(graph).find(leastBytes);
    if (writes.size === 0) return;
    yield* rewriteInOneWalk(graph, {
      map: [
        (node, editor) => {
          const write = writes.get(node.id);
          return write && written(node as GraphMap, write, editor);
        },
      ],
    });
  };

/** Whether a loop of the graph has such a step. */
export const hasRowWrites = ({ nodes }: Pick<Graph, 'nodes'>): boolean =>
  nodes.some((node) =>
    node?.kind === 'loop'
      ? hasRowWrites(node.loop.body)
      : node?.kind === 'call' && node.routine === 'writeRow',
  );

/** A row that is set: along an axis, the one whose number a node is. */
interface RowWrite {
  readonly axis: number;
  readonly row: number;
}

/** The state before, from which a row is taken, and the number. */
function written({ dtype, shape, inputs }: GraphMap, { axis, row }: RowWrite, editor: Editor): number {
  const [, values, before] = inputs as readonly [number, number, number];
  const outer = sizeOfShape(shape.slice(0, axis));
  const width = sizeOfShape(shape.slice(axis + 1));
  const rows = [outer, shape[axis]!, width];
  const of = shape.map((size, k) => (k === axis ? 1 : size));
  const own = unspread(values, editor).id;
  const given = editor.reshape(row, []);
  const number =
    editor.node(row).dtype === 'int64'
      ? given
      : editor.add({ kind: 'cast', dtype: 'int64', shape: [], inputs: [given] });
  const call = editor.add({
    kind: 'call',
    routine: 'writeRow',
    parameters: [],
    result: 0,
    dtype,
    shape: rows,
    inputs: [editor.reshape(before, rows), number, editor.reshape(editor.broadcast(own, of), [outer, width])],
  });
  return editor.reshape(call, shape);
}

/** The node that is broadcast to another. */
function unspread(id: number, nodes: Pick<Editor, 'node'>): GraphNode {
  let node = nodes.node(id);
  while (node.kind === 'view' && node.view.type === 'broadcast') node = nodes.node(node.inputs[0]!);
  return node;
}

const isZero: ScalarTest = (value) => value === 0 || value === 0n;

/** Up to which number a dtype has all whole ones from 0 on. */
const WHOLE: Readonly<Partial<Record<DType, number>>> = {
  int32: 2 ** 31,
  uint32: 2 ** 32,
  int64: 2 ** 53,
  uint64: 2 ** 53,
  float32: 2 ** 24,
  float64: 2 ** 53,
};

class RowWrites {
  readonly #graph: MutableGraph;

  constructor(graph: MutableGraph) {
    this.#graph = graph;
  }

  readonly node = (id: number): GraphNode => nodeOf(this.#graph, id);

  /** By the nodes of next states that are the states before with a row set. */
  find(leastBytes: number): ReadonlyMap<number, RowWrite> {
    const found = new Map<number, RowWrite>();
    for (const [k, output] of this.#graph.outputs.entries()) {
      const node = this.node(storedNode(this.#graph, output));
      if (node.kind !== 'map' || node.op !== 'where') continue;
      if (sizeOfShape(node.shape) * byteLengthOf(node.dtype) < leastBytes) continue;
      const [mask, values, before] = node.inputs as readonly [number, number, number];
      const state = this.node(storedNode(this.#graph, before));
      if (state.kind !== 'source' || state.input !== k || !sameShape(this.node(before).shape, node.shape))
        continue;
      const write = this.#rowOf(mask, node);
      const isRow = write !== undefined && sizeAlong(unspread(values, this), node, write.axis) === 1;
      if (isRow && !this.#isReadBehind(state.id, node.id)) found.set(node.id, write);
    }
    return found;
  }

  /** The row at which a mask is true. */
  #rowOf(mask: number, to: GraphNode): RowWrite | undefined {
    const equal = unspread(mask, this);
    if (equal.kind !== 'map' || equal.op !== 'equal') return undefined;
    const [a, b] = equal.inputs.map((id) => unspread(id, this)) as [GraphNode, GraphNode];
    for (const [numbers, number] of [
      [a, b],
      [b, a],
    ] as const) {
      const axis = axisOf(numbers, to);
      const row = this.#numberOf(number);
      if (axis === undefined || row === undefined || !this.#areNumbers(numbers)) continue;
      return { axis, row };
    }
    return undefined;
  }

  /** The node of the whole number that a node of one element is. */
  #numberOf(node: GraphNode): number | undefined {
    if (sizeOfShape(node.shape) !== 1) return undefined;
    if (isInteger(node.dtype)) return node.id;
    if (node.kind === 'view' && node.view.type === 'reshape')
      return this.#numberOf(this.node(node.inputs[0]!));
    if (node.kind !== 'cast' || !isFloat(node.dtype)) return undefined;
    const from = this.node(node.inputs[0]!);
    return isInteger(from.dtype) ? from.id : undefined;
  }

  /** Whether the elements of a node are 0, 1, 2 …, in order. */
  #areNumbers(numbers: GraphNode): boolean {
    const count = sizeOfShape(numbers.shape);
    let node = numbers;
    while (node.kind !== 'iota') {
      const isSame =
        (node.kind === 'view' && node.view.type === 'reshape') ||
        (node.kind === 'cast' && count <= (WHOLE[node.dtype] ?? 0)) ||
        (node.kind === 'map' && node.op === 'add' && isConstantThat(node.inputs[1]!, this, isZero));
      if (!isSame) return false;
      node = unspread(node.inputs[0]!, this);
    }
    return sizeOfShape(node.shape) === count;
  }

  /** Whether a node that needs a next state reads the state before, which then has to be there. */
  #isReadBehind(state: number, next: number): boolean {
    const before = new Set([state]);
    const behind = new Set([next]);
    for (const id of orderOf(this.#graph)) {
      if (id === next) continue;
      const { kind, inputs } = this.node(id);
      const needs = inputs.some((input) => behind.has(input));
      const reads = inputs.some((input) => before.has(input));
      if (needs && reads) return true;
      if (needs) behind.add(id);
      if (reads && kind === 'view') before.add(id);
    }
    return false;
  }
}

/** The size of a node along an axis of the one that it is broadcast to. */
const sizeAlong = ({ shape }: GraphNode, to: GraphNode, axis: number): number =>
  shape[axis - to.shape.length + shape.length] ?? 1;

/** The one axis along which a node is as long as the one that it is broadcast to, where it is 1 along all others. */
function axisOf({ shape }: GraphNode, to: GraphNode): number | undefined {
  const long = shape.flatMap((size, k) => (size === 1 ? [] : [k + to.shape.length - shape.length]));
  const [axis] = long;
  return long.length === 1 && to.shape[axis!] === sizeOfShape(shape) ? axis : undefined;
}
