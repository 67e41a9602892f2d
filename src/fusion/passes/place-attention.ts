/**
 * Attention reads Q, K and V where they lie, and stores its result in the order that is read, where that spares copies:
 *
 *     attention (q k v of (b·h, n, d), from slices of qkv (b, n, 3, h, d))   →   attention (views of (b, h, n, d))
 *     permute (reshape (attention …)), (b·h, n, d) → (b, n, h, d)            →   attention … of (b, n, h, d)
 *
 * After the other passes, for plans that hold everything at once: rows of a batch are no stretch of such arrays. The bits
 * are those of copies.
 */
import { byteLengthOf } from '../../graph/dtype.js';
import {
  type Graph,
  type GraphNode,
  type GraphNodeOf,
  type MutableGraph,
  nodeOf,
  sizeOfShape,
} from '../../graph/graph.js';
import type { Slices } from '../../host/slices.js';
import { asWhole, operandThroughViews } from '../partition/operands.js';
import { isPlaced, operandInPlace } from '../partition/placed-operands.js';
import { reshapeStrides } from '../partition/strided-view.js';
import { type Editor, rewriteInOneWalk } from './rewrite.js';
import { simplify } from './simplify.js';

type Call = GraphNodeOf<'call'>;
type View = GraphNodeOf<'view'>;

const isAttention = (node: GraphNode | undefined): node is Call =>
  node?.kind === 'call' && node.routine === 'attention';

/** Whether a graph, or the body of a loop, has attention of batches of two axes. */
export const hasPlacedAttention = ({ nodes }: Pick<Graph, 'nodes'>): boolean =>
  nodes.some((node) => (node?.kind === 'loop' ? hasPlacedAttention(node.loop.body) : isPlaced(node)));

/** The ways to split batches that there are at most to try. */
const MOST_SPLITS = 8;

export function* placeAttention(graph: MutableGraph): Slices<void> {
  if (!graph.nodes.some(isAttention)) return;
  const turns = turnsOfResults(graph);
  let isChanged = false;
  yield* rewriteInOneWalk(graph, {
    call: [
      (node, editor) => {
        const made =
          isAttention(node) && !isPlaced(node) ? placed(node, turns.get(node.id), graph, editor) : undefined;
        isChanged ||= made !== undefined;
        return made;
      },
    ],
  });
  if (!isChanged) return;
  yield* simplify(graph); // views of views
  yield* rewriteInOneWalk(graph, { view: [(node, editor) => inOrderOf(node as View, graph, editor)] });
  yield* simplify(graph);
}

/** Of each attention, the permutation of its result that is read. */
function turnsOfResults(graph: MutableGraph): ReadonlyMap<number, View> {
  const turns = new Map<number, View>();
  for (const node of graph.nodes) {
    if (node?.kind !== 'view' || node.view.type !== 'permute') continue;
    let below = nodeOf(graph, node.inputs[0]!);
    while (below.kind === 'view' && below.view.type === 'reshape') below = nodeOf(graph, below.inputs[0]!);
    if (isAttention(below)) turns.set(below.id, node);
  }
  return turns;
}

/** The node with batches of two axes that spares most bytes, as the node had its result; undefined: none spares any. */
function placed(node: Call, turn: View | undefined, graph: MutableGraph, editor: Editor): number | undefined {
  const operands = node.inputs.slice(0, 3);
  const [batch, m, width] = node.shape as readonly [number, number, number];
  const repeats = node.parameters[3]!;
  const bases = operands.map((id) => belowReshapes(id, editor));
  const shapes = [
    ...bases.map((id, k) =>
      splitOf(editor.node(id).shape, k === 0 ? batch : batch / repeats, k === 0 ? 1 : repeats),
    ),
    turn === undefined ? [] : splitOf(editor.node(turn.inputs[0]!).shape, batch, 1),
  ];
  const splits = new Set(shapes.flat().filter((heads) => heads % repeats === 0 && batch % heads === 0));
  let best: { readonly spared: number; readonly node: number } | undefined;
  for (const heads of [...splits].slice(0, MOST_SPLITS)) {
    const batches = [batch / heads, heads, heads / repeats] as const;
    const views = bases.map((id, k) => {
      const [rows, columns] = editor.node(operands[k]!).shape.slice(1) as [number, number];
      return editor.reshape(id, [batches[0], k === 0 ? batches[1] : batches[2], rows, columns]);
    });
    const ofOperands = operands.map((id, k) =>
      isCopied(id, graph) && operandInPlace(graph, views[k]!) !== undefined ? bytesOf(id, editor) : 0,
    );
    const rowAxis = turn === undefined ? 2 : rowAxisOf(turn, [batches[0], heads, m, width], editor);
    const spared = ofOperands.reduce(
      (sum, bytes) => sum + bytes,
      rowAxis === 2 ? 0 : bytesOf(node.id, editor),
    );
    if (spared <= (best?.spared ?? 0)) continue;
    const axes = [batches[0], heads];
    axes.splice(rowAxis, 0, m);
    const made = editor.add({
      ...node,
      parameters: [...node.parameters, rowAxis],
      shape: [...axes, width],
      inputs: [...views, ...node.inputs.slice(3)],
    });
    best = { spared, node: inBatches(made, rowAxis, node, editor) };
  }
  return best?.node;
}

const bytesOf = (id: number, editor: Editor): number => {
  const { dtype, shape } = editor.node(id);
  return sizeOfShape(shape) * byteLengthOf(dtype);
};

function belowReshapes(id: number, editor: Editor): number {
  let node = editor.node(id);
  while (node.kind === 'view' && node.view.type === 'reshape') node = editor.node(node.inputs[0]!);
  return node.id;
}

/** Whether an operand in C order is a copy: views of what is in memory, or is computed, in another order. */
function isCopied(id: number, graph: MutableGraph): boolean {
  const found = operandThroughViews(graph, id, undefined, asWhole);
  return found === undefined || found.offset > 0;
}

/** How many neighbours there may be, by the first axes of an array that hold so many batches; each is so many of Q's. */
function splitOf(shape: readonly number[], batch: number, repeats: number): number[] {
  const heads: number[] = [];
  let axes = 0;
  for (let count = 1; count < batch && axes < shape.length; axes++) count *= shape[axes]!;
  for (let count = 1, axis = axes - 1; axis >= 0; axis--) {
    count *= shape[axis]!;
    if (batch % count === 0) heads.push(count * repeats);
  }
  return heads;
}

/** Where rows stand in memory so that a permutation of the result is in C order; 2, behind batches, where none is. */
function rowAxisOf(
  { view, shape, inputs }: View,
  sizes: readonly [outer: number, heads: number, m: number, width: number],
  editor: Editor,
): 0 | 1 | 2 {
  if (view.type !== 'permute') return 2;
  const [outer, heads, m, width] = sizes;
  for (const rowAxis of [1, 0] as const) {
    const [ofOuter, ofHeads, ofRows] =
      rowAxis === 1
        ? [m * heads * width, width, heads * width]
        : [heads * width, width, outer * heads * width];
    const strides = reshapeStrides([ofOuter, ofHeads, ofRows, 1], sizes, editor.node(inputs[0]!).shape);
    if (strides === undefined) continue;
    if (
      asWhole(
        shape,
        view.order.map((axis) => strides[axis]!),
      )
    )
      return rowAxis;
  }
  return 2;
}

/** The result of a node with batches of two axes as that of a node with one. */
function inBatches(made: number, rowAxis: 0 | 1 | 2, node: Call, editor: Editor): number {
  if (rowAxis === 2) return editor.reshape(made, node.shape);
  const { shape } = editor.node(made);
  const order = rowAxis === 1 ? [0, 2, 1, 3] : [1, 2, 0, 3];
  const turned = editor.view(
    made,
    { type: 'permute', order },
    order.map((axis) => shape[axis]!),
  );
  return editor.reshape(turned, node.shape);
}

/** A permutation that gives such a node's result in the order in which it lies, as a reshape. */
function inOrderOf(node: View, graph: MutableGraph, editor: Editor): number | undefined {
  if (node.view.type !== 'permute') return undefined;
  const found = operandThroughViews(graph, node.id, undefined, asWhole);
  if (found === undefined || found.offset > 0) return undefined;
  const from = editor.node(found.node);
  const isAll = isPlaced(from) && sizeOfShape(from.shape) === sizeOfShape(node.shape);
  return isAll ? editor.reshape(found.node, node.shape) : undefined;
}
