/**
 * Routines that only the CPU has, or that do not always fit, and the nodes that give the same values everywhere: a graph
 * has both ways, the second one as further inputs of the call.
 *
 *     unique x (distinct of sorted x) (count)  →   distinct of sorted x     for several devices, plans in which it does not fit,
 *                                                                           and the CPU
 *     unique x (distinct of sorted x) (count)  →   unique x                 for a GPU, which may need no sort
 *     uniqueCounts x (distinct, counts of sorted x) (count)    →   the same
 *     labels mask (labels by scan) (count)     →   labels by scan           for a GPU
 *     labels mask (labels by scan) (count)     →   labels mask              for the CPU
 *     members x set (x among set)              →   x among set              for plans in which the set does not fit, and a GPU:
 *                                                                           a search in the kernel around it
 *     members x set (x among set)              →   members x set            for the CPU, which looks into a table
 *     among x set (x among set)                →   x among set              for several devices, plans in which it does not fit,
 *                                                                           and the CPU: a search
 *     among x set (x among set)                →   among x set              for a GPU, which looks into a table
 *     sparseElements … (starts) …              →   starts, …                for a GPU, by a sort of keys
 *     sparseElements … (starts) …              →   sparseElements …         for the CPU, which counts rows
 *     svd a (s) …                              →   s, …                     for a GPU, in double precision
 *     svd a (s) …                              →   svd a                    for the CPU
 *     determinants f p (d) …                   →   d, …                     for a GPU, of small matrices, without their factors
 *     determinants f p (d) …                   →   determinants f p         for the CPU
 *
 * Of others a GPU's nodes are made where they are needed:
 *
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
 *     sparseTranspose, sparseGather, sparseCombine, sparseKept → those of `graph/sparse-ways.ts`, also for several devices and
 *                         plans in which they do not fit
 *
 * Called by the lists of passes of targets, ahead of all others.
 */
import { isSummedAtOnce } from '../../graph/bin-units.js';
import { sumsByUnits } from '../../graph/binning.js';
import { svdByLibrary } from '../../graph/decompositions.js';
import { determinantsByKernels } from '../../graph/determinants.js';
import { eigByLibrary } from '../../graph/eigenvalues.js';
import type { Expr } from '../../graph/expr.js';
import {
  type Graph,
  type GraphNode,
  type GraphNodeOf,
  type MutableGraph,
  nodeOf,
} from '../../graph/graph.js';
import { leastSquaresByVectors } from '../../graph/least-squares.js';
import { SMALL_ROWS } from '../../graph/linear-routines.js';
import {
  choleskyByLibrary,
  factorsByLibrary,
  inverseByTriangles,
  luPartsByKernels,
  solvedByTriangles,
} from '../../graph/linear-solves.js';
import { exponentialByProducts } from '../../graph/matrix-exponential.js';
import { qrByLibrary } from '../../graph/qr.js';
import type { ArrayType } from '../../graph/routine-row.js';
import type { RoutineName } from '../../graph/routines.js';
import { hasWay, wayOf } from '../../graph/sparse-ways.js';
import type { Slices } from '../../host/slices.js';
import { type Editor, type Rule, rewrite, rewriteInOneWalk } from './rewrite.js';
import { spliced } from './splice.js';

/** The inputs of the routines themselves; those behind them are the other way's results, in order. */
const OWN_INPUTS: Partial<Record<string, (parameters: readonly number[]) => number>> = {
  unique: () => 1,
  uniqueCounts: () => 1,
  labels: () => 1,
  members: () => 2,
  among: () => 2,
  sparseElements: () => 3,
  svd: () => 1,
  determinants: () => 2,
};

/** Those of one unit, or whose units all read a whole operand, whose other way can be cut. */
const IN_PARTS: ReadonlySet<string> = new Set([
  'members',
  'among',
  'unique',
  'uniqueCounts',
  'sparseElements',
]);

/** The result of the other way. */
function otherWay(node: GraphNode): number | undefined {
  if (node.kind !== 'call') return undefined;
  const own = OWN_INPUTS[node.routine];
  return own === undefined ? undefined : node.inputs[own(node.parameters) + node.result];
}

/** Whether other nodes in parts are made of the inputs of a routine. */
const isMadeInParts = (routine: RoutineName): boolean => hasWay(routine) || routine === 'binSums';

/** Whether a node has both ways, the other one in parts. */
export const isInParts = (node: GraphNode | undefined): boolean =>
  node?.kind === 'call' &&
  (isMadeInParts(node.routine) || (IN_PARTS.has(node.routine) && otherWay(node) !== undefined));

/** The other way of such a node. */
export const byParts: Rule = (node, editor) => {
  if (!isInParts(node)) return undefined;
  return node.kind === 'call' && isMadeInParts(node.routine) ? madeWay(node, editor) : otherWay(node);
};

/** The nodes that a call stands for. */
const madeWay = ({ routine, inputs, parameters, result }: GraphNodeOf<'call'>, editor: Editor): number =>
  spliced(editor, inputs, (given) => {
    const made = EXPANSIONS[routine];
    return (made?.(given, parameters) ?? wayOf(routine, given, parameters).results)[result]!;
  });

export const inParts = (graph: MutableGraph): Slices<void> => rewriteInOneWalk(graph, { call: [byParts] });

const atOnce: Rule = (node, editor) =>
  node.kind === 'call' && otherWay(node) !== undefined
    ? editor.add({ ...node, inputs: node.inputs.slice(0, OWN_INPUTS[node.routine]!(node.parameters)) })
    : undefined;

/** Routines that the CPU does not have. */
const GPU_ALONE: ReadonlySet<string> = new Set(['unique', 'uniqueCounts', 'among']);

const onCpu: Rule = (node, editor) =>
  node.kind === 'call' && GPU_ALONE.has(node.routine) ? otherWay(node) : atOnce(node, editor);

/** The way of a GPU; both of what it may make at once. */
const onGpu: Rule = (node) =>
  node.kind === 'call' && GPU_ALONE.has(node.routine) ? undefined : otherWay(node);

/** The results of routines that have no other way among their inputs. */
const EXPANSIONS: Partial<
  Record<string, (inputs: readonly Expr[], parameters: readonly number[]) => readonly Expr[]>
> = {
  cholesky: ([a], [isUpper]) => choleskyByLibrary(a!, isUpper === 1),
  luFactors: ([a]) => factorsByLibrary(a!),
  luParts: luPartsByKernels,
  luSolve: (inputs, [form]) => solvedByTriangles(inputs, form!),
  inverse: inverseByTriangles,
  determinants: determinantsByKernels,
  qrParts: ([a], parameters) => qrByLibrary(a!, parameters),
  expm: ([a]) => [exponentialByProducts(a!)],
  svd: ([a], [hasVectors]) => svdByLibrary(a!, hasVectors === 1),
  eig: ([a], [hasVectors]) => eigByLibrary(a!, hasVectors === 1),
  leastSquares: leastSquaresByVectors,
  binSums: (inputs, parameters) => [sumsByUnits(inputs, parameters)],
};

/** Where a GPU has a call of the name itself: such forms of it stay. */
const STAYS: Partial<Record<string, (a: ArrayType, parameters: readonly number[]) => boolean>> = {
  cholesky: (_, [, isCleared]) => isCleared !== 1,
  luSolve: ({ shape }) => shape.at(-1)! <= SMALL_ROWS,
  svd: (_, [, isOfCpu]) => isOfCpu !== 1,
  eig: (_, [, isOfCpu]) => isOfCpu !== 1,
  binSums: ({ shape: [rows] }, [bins, width]) => isSummedAtOnce(rows!, bins!, width!),
};

const isExpanded = (
  node: GraphNode | undefined,
  nodes: (id: number) => ArrayType,
): node is GraphNode & { readonly kind: 'call' } =>
  node?.kind === 'call' &&
  (hasWay(node.routine) ||
    (EXPANSIONS[node.routine] !== undefined &&
      STAYS[node.routine]?.(nodes(node.inputs[0]!), node.parameters) !== true));

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
  if (hasAny(graph)) yield* rewriteInOneWalk(graph, { call: [onCpu] });
}
