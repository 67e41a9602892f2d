/**
 * Prints a graph as text: one line a node, inputs first. Golden files, `explain()` and debug output use it.
 */

import { unreachable } from '../host/errors.js';
import { formatEpilogue } from './epilogue.js';
import type { LoopCount, View } from './expr.js';
import { formatScalar, formatShape } from './format.js';
import {
  type Graph,
  type GraphNode,
  type GraphNodeData,
  type GraphNodeOf,
  nodeOf,
  topologicalOrder,
} from './graph.js';
import { splitParameters } from './row-lines.js';
import { givenValue } from './runtime-scalar.js';

const LABELS = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ';
/** The letter of a label. */
export const labelName = (label: number): string => LABELS[label] ?? `<${label}>`;

/** An einsum's subscripts: `ij,jk->ik`. */
export const formatSubscripts = (labels: readonly (readonly number[])[], output: readonly number[]): string =>
  `${labels.map((list) => list.map(labelName).join('')).join(',')}->${output.map(labelName).join('')}`;

export function formatView(view: View): string {
  switch (view.type) {
    case 'reshape':
    case 'broadcast':
      return view.type;
    case 'permute':
      return `permute [${view.order.join(' ')}]`;
    case 'slice':
      return `slice start [${view.starts.join(' ')}] step [${view.steps.join(' ')}]`;
    case 'pad':
      return `pad before [${view.before.join(' ')}]${view.fold === undefined ? '' : ` ${view.fold}`}`;
    default:
      return unreachable(view);
  }
}

/** How often a loop's body runs, and what is kept of its states. */
export function formatCount({ steps, condition, every }: LoopCount): string {
  const limit = steps === Number.MAX_SAFE_INTEGER ? '' : `, at most ${steps} times`;
  const often = condition === undefined ? `${steps} times` : `while state ${condition}${limit}`;
  return every === undefined ? often : `${often}, every ${every} kept`;
}

/** The number of equal reductions that one is, where there are several. */
export const formatBatch = ({ batch }: { readonly batch?: number | undefined }): string =>
  batch === undefined ? '' : ` batch ${batch}`;

/** A node's operation, without its id, inputs, dtype and shape. */
export function formatNodeData(node: GraphNodeData): string {
  switch (node.kind) {
    case 'source':
      return `source ${node.input} offset ${node.offset} strides [${node.strides.join(' ')}]`;
    case 'iota':
    case 'cast':
      return node.kind;
    case 'const':
      return `const ${formatScalar(givenValue(node.value))}`;
    case 'map':
      return node.op;
    case 'reduce':
      return `${node.reduction}${node.monoid === undefined ? '' : ` part ${node.monoid.part}`} over [${node.axes.join(' ')}]${node.unrolled === true ? ' unrolled' : ''}${node.together === true ? ' together' : ''}${formatBatch(node)}`;
    case 'view':
      return formatView(node.view);
    case 'join':
      return `join along ${node.axis}`;
    case 'gather':
      return `gather along ${node.axis}${node.mode === 'raise' ? '' : ` ${node.mode}`}`;
    case 'contract':
      return formatContract(node);
    case 'call':
      return `${node.kernel?.key ?? node.routine}(${formatParameters(node)})${formatValueMap(node)}, result ${node.result}`;
    case 'repeat':
      return `repeat, ${node.loop.values.length} values a step, state ${node.result}`;
    case 'function':
      return `function ${node.function.operation.file}, result ${node.result}`;
    case 'loop':
      return `loop ${formatCount(node.loop)}, state ${node.result}`;
    default:
      return unreachable(node);
  }
}

/** The ops of a routine's map, in order. */
/** Parameters as text: of starts of blocks of rows, how many there are. */
function formatParameters({ routine, parameters }: Extract<GraphNodeData, { kind: 'call' }>): string {
  const [own, blocks] = splitParameters({ call: routine, parameters });
  return blocks === undefined ? own.join(' ') : `${own.join(' ')}, in ${blocks.count} blocks of rows`;
}

const formatValueMap = ({ valueMap }: Extract<GraphNodeData, { kind: 'call' }>): string => {
  const ops = valueMap?.graph.nodes.flatMap((node) => (node?.kind === 'map' ? [node.op] : []));
  return ops === undefined ? '' : ` of ${ops.join(' ')}`;
};

export function printNode(node: GraphNode): string {
  const inputs = node.inputs.map((id) => ` %${id}`).join('');
  return `%${node.id} = ${formatNodeData(node)}${inputs} : ${node.dtype} ${formatShape(node.shape)}`;
}

export function printGraph(graph: Graph): string {
  const printed = new Set<string>();
  const lines = topologicalOrder(graph).flatMap((id) => {
    const node = nodeOf(graph, id);
    if (node.kind !== 'loop' || printed.has(bodyKey(node))) return [printNode(node)];
    printed.add(bodyKey(node));
    return [printNode(node), ...bodyLines(node)];
  });
  return `${lines.join('\n')}\nreturn ${graph.outputs.map((id) => `%${id}`).join(', ')}\n`;
}

const bodyKey = (node: GraphNodeOf<'loop'>): string => `${node.loop.key}|${node.inputs.join(' ')}`;

/** A loop's body, of which source k is input k of the loop; printed once for all its results. */
const bodyLines = ({ loop }: GraphNodeOf<'loop'>): string[] =>
  printGraph(loop.body)
    .trimEnd()
    .split('\n')
    .map((line) => `  ${line}`);

function formatContract({
  labels,
  output,
  precision,
  epilogue,
  library,
  conjugated = [],
}: Extract<GraphNodeData, { kind: 'contract' }>): string {
  const within = precision === undefined ? '' : ` in ${precision}`;
  const after = epilogue === undefined ? '' : formatEpilogue(epilogue);
  const by = library === undefined ? '' : ` by ${library}`;
  const conj = conjugated.length === 0 ? '' : `, conj of ${conjugated.join(' ')}`;
  return `contract ${formatSubscripts(labels, output)}${within}${by}${conj}${after === '' ? '' : `, ${after}`}`;
}
