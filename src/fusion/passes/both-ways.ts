/**
 * Routines that only the CPU has, or that do not always fit, and the nodes that give the same values everywhere: a graph
 * has both ways, the second one as further inputs of the call.
 *
 *     unique x (distinct of sorted x) (count)  →   distinct of sorted x     for several devices, plans in which it does not fit,
 *                                                                           and the CPU
 *     unique x (distinct of sorted x) (count)  →   unique x                 for a GPU, which may need no sort
 *     uniqueCounts x (distinct, counts of sorted x) (count)    →   the same
 *     svd a (s) …                              →   s, …                     for a GPU, in double precision
 *     svd a (s) …                              →   svd a                    for the CPU
 *     determinants f p (d) …                   →   d, …                     for a GPU, of small matrices, without their factors
 *     determinants f p (d) …                   →   determinants f p         for the CPU
 *
 * Of calls that have no such inputs, as other ones of svd and determinants, a GPU's nodes are made where they are needed:
 *
 *     labels mask   →   labels by the places of components and a scan
 *     members x set →   among x set, a table, of many elements and sets that are large; else a search in the kernel around it
 *     among x set   →   such a search for several devices, plans in which it does not fit, and the CPU
 *     luFactors a   →   lu of aᵀ in C order, NaN added where there is any, a search for zeros on the diagonal
 *     luParts f p   →   their triangles, and the order of rows that `pivotOrder` finds
 *     luSolve b f p →   solutions by both triangles, rows exchanged; of few rows a kernel has it
 *     inverse f p   →   both triangles' solutions with the rows of the identity, exchanged
 *     determinants f p →  products of their diagonals, and the sign of their exchanges
 *     cholesky a    →   cholesky that leaves the other triangle, and a kernel that clears it
 *     qrParts a     →   qr of aᵀ in C order, its triangle, and qOfQr
 *     expm a        →   products, a solution and a loop of squarings
 *     svd a         →   svd, V of its Vᴴ, and a search for NaN in its values
 *     eig a         →   eig of aᵀ in C order, complex vectors of its columns, and such a search
 *     leastSquares a b → products of the singular vectors
 *     binSums k v   →   sums by units, also for several devices and plans in which it does not fit; not where a GPU has
 *                         many rows, and more bins than fit a block
 *     sparseTranspose, sparseGather, sparseCombine, sparseKept, sparseKron, sparseElements → those of `graph/sparse-ways.ts`, also for several
 *                         devices and plans in which they do not fit
 *
 * Called by the lists of passes of targets, ahead of all others.
 */
import {
  type Graph,
  type GraphNode,
  type GraphNodeOf,
  type MutableGraph,
  nodeOf,
} from '../../graph/graph.js';
import { OTHER_WAYS } from '../../graph/other-ways.js';
import type { ArrayType } from '../../graph/routine-row.js';
import type { Slices } from '../../host/slices.js';
import { type Editor, type Rule, rewrite, rewriteInOneWalk } from './rewrite.js';
import { spliced } from './splice.js';

/** The result of the other way, where it is an input. */
function otherWay(node: GraphNode): number | undefined {
  if (node.kind !== 'call') return undefined;
  const own = OTHER_WAYS[node.routine]?.own;
  return own === undefined ? undefined : node.inputs[own + node.result];
}

/** The same where it is none. */
const madeWay = (node: GraphNodeOf<'call'>, editor: Editor): number =>
  spliced(
    editor,
    node.inputs,
    (given) => OTHER_WAYS[node.routine]!.made!(given, node.parameters)[node.result]!,
  );

/** Whether a node has both ways, the other one in parts. */
export function isInParts(node: GraphNode | undefined): boolean {
  if (node?.kind !== 'call') return false;
  const row = OTHER_WAYS[node.routine];
  return row?.isInParts === true && (row.made !== undefined || otherWay(node) !== undefined);
}

/** The other way of such a node, and of that one again. */
const byParts: Rule = (node, editor) => {
  let found: number | undefined;
  for (let at = node; at.kind === 'call' && isInParts(at); at = editor.node(found))
    found = otherWay(at) ?? madeWay(at, editor);
  return found;
};

export const inParts = (graph: MutableGraph): Slices<void> => rewriteInOneWalk(graph, { call: [byParts] });

const atOnce: Rule = (node, editor) =>
  node.kind === 'call' && otherWay(node) !== undefined
    ? editor.add({ ...node, inputs: node.inputs.slice(0, OTHER_WAYS[node.routine]!.own) })
    : undefined;

/** Whether it is a call that the CPU does not have. */
const isGpuAlone = (node: GraphNode): boolean =>
  node.kind === 'call' && OTHER_WAYS[node.routine]?.isGpuAlone === true;

const onCpu: Rule = (node, editor) =>
  node.kind === 'call' && isGpuAlone(node) ? (otherWay(node) ?? madeWay(node, editor)) : atOnce(node, editor);

const onGpu: Rule = (node) => (isGpuAlone(node) ? undefined : otherWay(node));

/** Whether a call that a GPU does not have stands for other nodes. */
function isExpanded(
  node: GraphNode | undefined,
  nodes: (id: number) => ArrayType,
): node is GraphNodeOf<'call'> {
  if (node?.kind !== 'call') return false;
  const row = OTHER_WAYS[node.routine];
  if (row?.made === undefined || row.isGpuAlone === true) return false;
  return row.isOnGpu?.(nodes(node.inputs[0]!), node.parameters) !== true;
}

const expanded: Rule = (node, editor) =>
  isExpanded(node, (id) => editor.node(id)) ? madeWay(node, editor) : undefined;

const hasAny = ({ nodes }: Pick<Graph, 'nodes'>): boolean =>
  nodes.some((node) => node !== undefined && otherWay(node) !== undefined);

export function* withoutCpuRoutines(graph: MutableGraph): Slices<void> {
  if (graph.nodes.some((node) => isExpanded(node, (id) => nodeOf(graph, id))))
    yield* rewrite(graph, { call: [onGpu, expanded] });
  else if (hasAny(graph)) yield* rewriteInOneWalk(graph, { call: [onGpu] });
}

/** Takes the routines of all nodes that have both ways. */
export function* withRoutines(graph: MutableGraph): Slices<void> {
  if (hasAny(graph)) yield* rewriteInOneWalk(graph, { call: [atOnce] });
}

/** The same for the CPU. */
export function* withCpuRoutines(graph: MutableGraph): Slices<void> {
  if (hasAny(graph) || graph.nodes.some((node) => node !== undefined && isGpuAlone(node)))
    yield* rewriteInOneWalk(graph, { call: [onCpu] });
}
