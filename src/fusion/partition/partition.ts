/**
 * Partition: graph → kernels, library calls and loops. Chooses which nodes are stored (`materialization.ts`),
 * builds a kernel for each (`build-kernel.ts`), cuts what is too long (`split.ts`), merges what belongs
 * together (`merge.ts`) and finishes each kernel (`lower-kernel.ts`).
 *
 * Values do not change: every instruction of the graph is computed as it stands, perhaps more than once.
 */
import {
  Consumers,
  denseStrides,
  type Graph,
  type GraphLoop,
  type GraphNode,
  type GraphNodeOf,
  nodeOf,
  routineKey,
  sizeOfShape,
  storedNode,
  topologicalOrderInSlices,
} from '../../graph/graph.js';
import { InternalError } from '../../host/errors.js';
import { completed, Pace, type Slices } from '../../host/slices.js';
import { PACKED_CHANNELS } from '../kernel/channels.js';
import { type Kernel, sameNumbers } from '../kernel/kernel.js';
import { ElementCosts } from '../passes/element-cost.js';
import { type BufferKey, nodeBufferKey, partBufferKey, sourceBufferKey } from './buffer-key.js';
import { KernelBuilder } from './build-kernel.js';
import { isReduction } from './emit-kernel.js';
import { joinsInParts } from './join-parts.js';
import { type Edge, KernelGraph, type SharedRead, type Task } from './kernel-graph.js';
import type { KernelInstance } from './kernel-instance.js';
import { MustStore } from './loadable.js';
import { KernelLowering, type LoweredKernel } from './lower-kernel.js';
import { chooseMaterialized } from './materialization.js';
import { fusedOf } from './mutable-kernel.js';
import {
  asMatrix,
  asRows,
  asTensor,
  asWhole,
  type Operand,
  operandThroughViews,
  type Readable,
} from './operands.js';
import { placedOperand } from './placed-operands.js';
import { readKernels } from './read-kernels.js';
import { MAX_INSTRUCTIONS, splitKernel } from './split.js';
import { Structures } from './structures.js';
import type { Call, CallNode } from './task-graph.js';

export type FusedStep =
  | { readonly kind: 'kernel'; readonly kernel: LoweredKernel; readonly nodes: readonly number[] }
  | {
      /** Work of a library or a routine: the nodes of its results. */
      readonly kind: 'call';
      readonly nodes: readonly CallNode[];
      readonly operands: readonly Operand[];
    }
  | {
      readonly kind: 'loop';
      readonly loop: GraphLoop;
      /** The results that are wanted. */
      readonly results: readonly GraphNodeOf<'loop'>[];
      /** Keys of the buffers that hold the loop's inputs, in C order. */
      readonly inputs: readonly BufferKey[];
      readonly body: Partition;
    };

export interface Partition {
  /** In an order in which they can run. */
  readonly steps: readonly FusedStep[];
  /**
   * The stored values that one step hands to another, with the reason why the two are not one; made when
   * asked for.
   */
  readonly edges: () => readonly Edge[];
  /** The arrays that several steps read, of those that are there, with the reason why these are not one. */
  readonly sharedReads: (isThere?: (position: number) => boolean) => readonly SharedRead[];
}

type KeepsOrder = (kernel: Kernel) => boolean;
const KEEPS_ANY: KeepsOrder = () => true;

/** Tasks of the task graph between pauses: each takes some 1 µs. */
const TASKS_OF_SLICE = 256;
/** Products between pauses: where each of their operands lies takes some 1 µs. */
const PRODUCTS_OF_SLICE = 64;
/** Instructions of kernels that are finished between pauses: each takes up to 3 µs. */
const FINISHED_OF_SLICE = 512;
const LEAST_FINISHED = 8;

/**
 * Partitions a graph. A result that is a reshape is stored as what it reshapes:
 * `storedNode` says which. `isReadable`: the factors that the target's matrix products read where they lie;
 * `structures`: those that its kernels share; `channels`: places that they compute together (`kernel/channels.ts`);
 * `keepsOrder`: whether the sums of a kernel have an order in common that each has alone, too. Those of a kernel that does not are
 * kernels of their own.
 */
export const partition = (
  original: Graph,
  isReadable: Readable = asMatrix,
  structures = new Structures(),
  channels = PACKED_CHANNELS,
  keepsOrder = KEEPS_ANY,
): Partition => completed(partitionInSlices(original, isReadable, structures, channels, keepsOrder));

/** As `partition`. */
export function* partitionInSlices(
  original: Graph,
  isReadable: Readable = asMatrix,
  structures = new Structures(),
  channels = PACKED_CHANNELS,
  keepsOrder = KEEPS_ANY,
): Slices<Partition> {
  const graph = { ...original, outputs: original.outputs.map((id) => storedNode(original, id)) };
  const order = yield* topologicalOrderInSlices(graph);
  yield;
  const { contracts, calls: callNodes, loops: loopNodes, gathers } = nodesByKind(graph, order);
  const routines = together(callNodes, routineKey);
  const loops = together(loopNodes, ({ loop }) => loop.key);
  const outputs = new Set(graph.outputs);
  yield;
  const factors = yield* factorsOf(graph, contracts, isReadable);
  const wantedWhole = new Set<number>();
  for (const [at, node] of contracts.entries())
    for (let k = 0; k < node.inputs.length; k++) wantedWhole.add(factors[at]![k]?.node ?? node.inputs[k]!);
  for (const node of gathers) addGathered(graph, node, wantedWhole);
  for (const [node] of [...routines, ...loops])
    for (const [k, id] of node!.inputs.entries())
      wantedWhole.add(placedOperand(graph, node!, k)?.node ?? storedNode(graph, id));
  yield;
  const consumers = new Consumers(graph, order);
  yield;
  const inParts = joinsInParts(graph, order, consumers);
  yield;
  const costs = yield* ElementCosts.inSlices(graph, order);
  yield;
  const stored = yield* chooseMaterialized(graph, order, {
    operands: wantedWhole,
    consumers,
    inParts,
    costs,
    channels,
  });
  const operands = new Map<number, readonly Operand[]>();
  const calls: Call[] = [];
  for (const [at, node] of contracts.entries()) {
    const located = node.inputs.map(
      (id, k) => factors[at]![k] ?? storedFactor(graph, id, stored, readableBy(node, k, isReadable)),
    );
    operands.set(node.id, located);
    calls.push({ nodes: [node], reads: located.map(({ key }) => key), writes: [nodeBufferKey(node.id)] });
    if (at % PRODUCTS_OF_SLICE === PRODUCTS_OF_SLICE - 1) yield;
  }
  for (const nodes of routines) {
    const located = nodes[0]!.inputs.map(
      (id, k) => placedOperand(graph, nodes[0]!, k) ?? wholeOperand(graph, id, stored),
    );
    operands.set(nodes[0]!.id, located);
    const writes = nodes.map(({ id }) => nodeBufferKey(id));
    calls.push({ nodes, reads: located.map(({ key }) => key), writes });
  }
  const loopInputs = loops.map(([node]) => node!.inputs.map((id) => wholeBuffer(graph, id, stored)));
  for (const [k, nodes] of loops.entries()) {
    const writes = nodes.map(({ id }) => nodeBufferKey(id));
    calls.push({ nodes, reads: loopInputs[k]!, writes });
  }
  const results = [...outputs].map(nodeBufferKey);
  const apart = new Set<number>();
  for (;;) {
    const kernels = yield* mergedKernels(
      { graph, order, stored, inParts, structures, calls, results },
      apart,
    );
    const steps: FusedStep[] = [];
    const lowering = new KernelLowering(channels);
    const pace = new Pace(FINISHED_OF_SLICE);
    const known = apart.size;
    for (const task of yield* kernels.tasks()) {
      const step = finish(task, lowering, operands, { isReadable, channels, keepsOrder });
      steps.push(step);
      if (step.kind === 'kernel' && step.kernel.kernel.reduced.length > 0 && !keepsOrder(step.kernel.kernel))
        for (const id of step.nodes) if (isReduction(nodeOf(graph, id))) apart.add(id);
      pace.add(finishingOf(task));
      if (pace.isDue()) yield;
    }
    if (apart.size === known)
      return { steps, edges: () => kernels.edges(), sharedReads: (isThere) => kernels.sharedReads(isThere) };
  }
}

/** Values of a graph that its kernels are made of. */
interface Unmerged {
  readonly graph: Graph;
  readonly order: readonly number[];
  /** May grow. */
  readonly stored: Set<number>;
  readonly inParts: ReadonlySet<number>;
  readonly structures: Structures;
  readonly calls: readonly Call[];
  readonly results: readonly BufferKey[];
}

/** The kernels of a graph, merged. `apart`: reductions that stay kernels of their own. */
function* mergedKernels(
  { graph, order, stored, inParts, structures, calls, results }: Unmerged,
  apart: ReadonlySet<number>,
): Slices<KernelGraph> {
  const kernels = new KernelGraph(new Set(results), structures);
  for (const [k, call] of calls.entries()) {
    kernels.addCall(call);
    if (k % TASKS_OF_SLICE === TASKS_OF_SLICE - 1) yield;
  }
  const built = yield* buildAll(graph, order, stored, inParts, structures);
  const wanted = [...results, ...calls.flatMap(({ reads }) => reads)];
  const kept = built.hasOwnReadings ? readKernels(built.kernels, wanted) : built.kernels;
  const keysApart = new Set([...apart].map(nodeBufferKey));
  for (const [k, kernel] of kept.entries()) {
    const isApart = keysApart.size > 0 && kernel.writes.some((key) => keysApart.has(key));
    kernels.addKernel(kernel, isApart);
    if (k % TASKS_OF_SLICE === TASKS_OF_SLICE - 1) yield;
  }
  yield* kernels.mergeAll();
  return kernels;
}

/** The work of finishing a task, in instructions: bodies of loops are partitioned then. */
function finishingOf(task: Task): number {
  if (task.kind === 'kernel') return LEAST_FINISHED + task.kernel.model.tape.length;
  return task.nodes[0]!.kind === 'loop' ? FINISHED_OF_SLICE : LEAST_FINISHED;
}

const isCall = ({ kind }: GraphNode): boolean => kind === 'contract' || kind === 'call' || kind === 'loop';

interface TargetTraits {
  readonly isReadable: Readable;
  readonly channels: number;
  readonly keepsOrder: KeepsOrder;
}

function finish(
  task: Task,
  lowering: KernelLowering,
  operands: ReadonlyMap<number, readonly Operand[]>,
  { isReadable, channels, keepsOrder }: TargetTraits,
): FusedStep {
  if (task.kind === 'kernel')
    return { kind: 'kernel', kernel: lowering.lower(task.kernel), nodes: ascending(task.kernel.nodes) };
  const { nodes, reads: inputs } = task;
  const results = nodes.filter((node) => node.kind === 'loop');
  if (results.length === 0)
    return { kind: 'call', nodes: nodes as readonly CallNode[], operands: operands.get(nodes[0]!.id)! };
  const { loop } = results[0]!;
  const body = partition(loop.body, isReadable, new Structures(), channels, keepsOrder);
  return { kind: 'loop', loop, results, inputs, body };
}

const SHORT_LIST = 64;

/** Numbers in ascending order, each once. */
function ascending(numbers: readonly number[]): number[] {
  const once: number[] = [];
  // A typed array sorts long lists faster, and costs more to make than a short one costs to sort.
  const sorted = numbers.length > SHORT_LIST ? Float64Array.from(numbers).sort() : numbers;
  for (let k = 0; k < sorted.length; k++) {
    const number = sorted[k]!;
    let at = once.length;
    while (at > 0 && once[at - 1]! > number) at--;
    if (at === once.length) {
      if (once[at - 1] !== number) once.push(number);
    } else if (once[at - 1] !== number) {
      for (let moved = once.push(number) - 1; moved > at; moved--) once[moved] = once[moved - 1]!;
      once[at] = number;
    }
  }
  return once;
}

/** Nodes that are looked at by kind, in order. */
interface NodesByKind {
  readonly contracts: GraphNodeOf<'contract'>[];
  readonly calls: GraphNodeOf<'call'>[];
  readonly loops: GraphNodeOf<'loop'>[];
  readonly gathers: GraphNodeOf<'gather'>[];
}

function nodesByKind(graph: Graph, order: readonly number[]): NodesByKind {
  const found: NodesByKind = { contracts: [], calls: [], loops: [], gathers: [] };
  for (let k = 0; k < order.length; k++) {
    const node = nodeOf(graph, order[k]!);
    if (node.kind === 'contract') found.contracts.push(node);
    else if (node.kind === 'call') found.calls.push(node);
    else if (node.kind === 'loop') found.loops.push(node);
    else if (node.kind === 'gather') found.gathers.push(node);
  }
  return found;
}

/**
 * The operands of matrix products, below views of them; undefined: one has to be stored itself. Also where a view is stored
 * for others, since a library may sum in another order for operands that lie otherwise.
 */
function* factorsOf(
  graph: Graph,
  contracts: readonly GraphNodeOf<'contract'>[],
  isReadable: Readable,
): Slices<(Operand | undefined)[][]> {
  const factors: (Operand | undefined)[][] = [];
  for (let at = 0; at < contracts.length; at++) {
    if (at % PRODUCTS_OF_SLICE === 0) yield;
    const node = contracts[at]!;
    factors.push(
      node.inputs.map((id, k) => operandThroughViews(graph, id, undefined, readableBy(node, k, isReadable))),
    );
  }
  return factors;
}

/** Adds the node whose value a gather reads, below views. */
function addGathered(graph: Graph, { inputs }: GraphNodeOf<'gather'>, stored: Set<number>): void {
  let array = nodeOf(graph, inputs[0]!);
  while (array.kind === 'view') array = nodeOf(graph, array.inputs[0]!);
  if (array.kind !== 'source') stored.add(array.id);
}

/**
 * The form in which the library of a product reads its input `k`. Addends and biases of matrix products are read
 * in rows, whose elements follow each other; addends of cuTENSOR lie as the result.
 */
function readableBy(
  { library, labels, output }: GraphNodeOf<'contract'>,
  k: number,
  isReadable: Readable,
): Readable {
  const isFurther = k >= labels.length;
  if (library === 'cutensor') return isFurther ? asWhole : asTensor;
  return isFurther ? asRows(output.indexOf(labels[0]!.at(-2)!)) : isReadable;
}

/** The place of an operand that is stored itself. */
function storedFactor(graph: Graph, id: number, stored: Set<number>, isReadable: Readable): Operand {
  stored.add(id);
  return operandThroughViews(graph, id, id, isReadable)!;
}

/** Loops or routines, each as the nodes of its results. `keyOf`: equal for those of one. */
function together<Node extends GraphNode>(nodes: readonly Node[], keyOf: (node: Node) => string): Node[][] {
  const found = new Map<string, Node[]>();
  for (const node of nodes) {
    const key = `${node.inputs.join(' ')} ${keyOf(node)}`;
    const known = found.get(key);
    if (known === undefined) found.set(key, [node]);
    else known.push(node);
  }
  return [...found.values()];
}

/** An operand of a routine, which reads all elements in C order. */
function wholeOperand(graph: Graph, id: number, stored: Set<number>): Operand {
  const { shape } = nodeOf(graph, id);
  const node = storedNode(graph, id);
  return { key: wholeBuffer(graph, id, stored), node, offset: 0, strides: denseStrides(shape) };
}

/** The buffer in which all elements of a node lie in C order: a source's, or its own. */
function wholeBuffer(graph: Graph, id: number, stored: Set<number>): BufferKey {
  const node = nodeOf(graph, storedNode(graph, id));
  const isSource =
    node.kind === 'source' &&
    node.offset === 0 &&
    sameNumbers(node.strides, denseStrides(node.shape)) &&
    !stored.has(node.id);
  if (isSource) return sourceBufferKey(node.input, node.dtype);
  stored.add(node.id);
  return nodeBufferKey(node.id);
}

/** Nodes between pauses: each takes some 0.1 µs. */
const NODES_OF_SLICE = 1 << 14;
/** Instructions of kernels that are built between pauses: each takes some 2 µs. */
const INSTRUCTIONS_OF_SLICE = 256;

/** A kernel for every root; views that cannot be index maps make their input a root as well. */
function* buildAll(
  graph: Graph,
  order: readonly number[],
  stored: Set<number>,
  inParts: ReadonlySet<number>,
  structures: Structures,
): Slices<{ readonly kernels: readonly KernelInstance[]; readonly hasOwnReadings: boolean }> {
  const kernels: KernelInstance[] = [];
  const builder = new KernelBuilder(graph, stored, inParts);
  const { recurring } = builder;
  yield;
  let spare = 0;
  let instructions = 0;
  const nextKey = (): BufferKey => partBufferKey(spare++);
  const built = new Set<number>();
  const isBuilt = (id: number): boolean =>
    !isCall(nodeOf(graph, id)) && sizeOfShape(nodeOf(graph, id).shape) > 0;
  const waiting: number[] = [];
  for (let k = order.length - 1; k >= 0; k--) {
    if (k % NODES_OF_SLICE === 0) yield;
    if (stored.has(order[k]!) && isBuilt(order[k]!)) waiting.push(order[k]!);
  }
  while (waiting.length > 0) {
    const root = waiting[waiting.length - 1]!;
    if (built.has(root)) {
      waiting.pop();
      continue;
    }
    if (instructions >= INSTRUCTIONS_OF_SLICE) {
      instructions = 0;
      yield;
    }
    try {
      const known = recurring.find(root);
      if (known !== undefined) {
        instructions++;
        built.add(root);
        waiting.pop();
        kernels.push(known);
        continue;
      }
      const { kernel, nodes, origins } = yield* builder.build(root);
      instructions += kernel.tape.instructions.length;
      built.add(root);
      waiting.pop();
      if (kernel.tape.instructions.length <= MAX_INSTRUCTIONS) {
        const instance = structures.instanceOf(kernel, nodes);
        recurring.note(instance);
        kernels.push(instance);
      } else {
        for (const piece of yield* splitKernel(fusedOf(kernel), origins, nextKey))
          kernels.push(structures.instanceOf(piece.kernel, piece.nodes));
      }
    } catch (error) {
      if (!(error instanceof MustStore)) throw error;
      // It would be asked for again and again.
      if (built.has(error.node))
        throw new InternalError(`%${root} cannot read %${error.node}, which is stored`);
      stored.add(error.node);
      waiting.push(error.node);
    }
  }
  return { kernels, hasOwnReadings: builder.hasOwnReadings };
}
