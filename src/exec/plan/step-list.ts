/**
 * StepList: a partitioned graph as numbered buffers and steps over them, before anything is placed in memory.
 * Called by `plan-graph.ts`; `device-planner.ts` and `sweeps.ts` make a plan of it.
 */

import { type SplitKernels, usedBuffers } from '../../codegen/cuts/split-phases.js';
import { create } from '../../fusion/kernel/instruction.js';
import type { Kernel } from '../../fusion/kernel/kernel.js';
import {
  type BufferKey,
  bufferName,
  nodeBufferKey,
  sourceBufferKey,
  sourceOfKey,
} from '../../fusion/partition/buffer-key.js';
import type { Operand } from '../../fusion/partition/operands.js';
import type { FusedStep, Partition } from '../../fusion/partition/partition.js';
import type { SourceArray } from '../../fusion/passes/source-array.js';
import { byteLengthOf, type DType } from '../../graph/dtype.js';
import {
  type Graph,
  type GraphLoop,
  type GraphNodeOf,
  nodeOf,
  sizeOfShape,
  storedNode,
} from '../../graph/graph.js';
import { routineRow } from '../../graph/routines.js';
import { InternalError } from '../../host/errors.js';
import { Pace, type Slices } from '../../host/slices.js';
import type { CallStep } from '../calls/call.js';
import type { StridedOperand } from '../calls/call-row.js';
import { rowOf } from '../calls/table.js';
import { type LoopNeeds, loopRuns } from './loop-runs.js';
import type { KernelStep, LoopState, LoopStep, PlanBuffer, Step, SweepStep } from './plan.js';

type FusedOf<K extends FusedStep['kind']> = Extract<FusedStep, { kind: K }>;

export interface UnplacedBuffer {
  /** Its contents: `node 12`, `source 0 float32`, `scratch` … */
  readonly key: string;
  readonly role: PlanBuffer['role'];
  readonly byteLength: number;
  /** For an input: the source of the graph that fills it, and whether that is in a device's memory. */
  readonly source: number;
  readonly isStored: boolean;
  /** Whether it is an input that is not in memory yet, and can be read in windows. */
  readonly isRead: boolean;
  /** Whether it is an input that JavaScript reads: as a whole before the run, or in windows part by part. */
  readonly isFetched?: boolean | undefined;
  /** As of `PlanBuffer`. */
  readonly readInBlocks?: boolean;
}

/** A buffer of the run's own. */
export const ownBuffer = (
  key: string,
  byteLength: number,
  role: PlanBuffer['role'] = 'temporary',
): UnplacedBuffer => ({ key, role, byteLength, source: -1, isStored: false, isRead: false });

export interface StepList {
  readonly buffers: readonly UnplacedBuffer[];
  readonly steps: readonly Step[];
  /** The key of each output of the graph. */
  readonly outputKeys: readonly string[];
  /** The buffer that matrix products share besides their operands and results (`workspace.ts`). */
  readonly workspace?: number;
}

/** Properties of a device that step lists depend on. */
export interface LoweringModel extends LoopNeeds {
  /** Bytes of each scratch buffer a kernel uses. */
  readonly scratchOf: (kernel: Kernel) => readonly number[];
  /** The kernels that the device runs for one, in order; without it, every kernel runs as it is. */
  readonly expand?: ((kernel: Kernel) => SplitKernels) | undefined;
  /** The most elements in a unit of a routine, where rows allow it; without it, as many as fill a GPU. */
  readonly unitElements?: number | undefined;
}

/** Numbers what a partition reads and writes. */
export function* stepListOf(
  graph: Graph,
  partition: Partition,
  sources: readonly SourceArray[],
  model: LoweringModel,
): Slices<StepList> {
  const lowering = new Lowering(graph, sources, model);
  const known = new Set<Kernel>();
  const pace = new Pace(STEPS_OF_SLICE);
  for (const [at, step] of partition.steps.entries()) {
    lowering.add(step, at);
    const isCheap = step.kind === 'call' || (step.kind === 'kernel' && known.has(step.kernel.kernel));
    if (step.kind === 'kernel' && !isCheap) known.add(step.kernel.kernel);
    pace.add(isCheap ? 1 : STEPS_OF_SLICE);
    if (pace.isDue()) yield;
  }
  return lowering.finish();
}

/** Steps between pauses: each takes some 2 µs, but a GPU's schedules for a kernel, which are chosen once, up to 1 ms. */
const STEPS_OF_SLICE = 64;

/** A buffer by its key in a graph's partition, or by a name. */
type LoweringKey = BufferKey | string;

/** The buffers of a graph. A loop's body has its own, some of which are buffers around it. */
class Scope {
  readonly graph: Graph;
  /** Prefix of the names of buffers that are this scope's alone. */
  readonly prefix: string;
  readonly #buffers = new Map<LoweringKey, number>();

  constructor(graph: Graph, prefix: string) {
    this.graph = graph;
    this.prefix = prefix;
  }

  get(key: LoweringKey): number | undefined {
    return this.#buffers.get(key);
  }

  set(key: LoweringKey, buffer: number): void {
    this.#buffers.set(key, buffer);
  }
}

type BodyStep = Exclude<Step, SweepStep>;

class Lowering {
  readonly #sources: readonly SourceArray[];
  readonly #model: LoweringModel;
  readonly #buffers: UnplacedBuffer[] = [];
  readonly #outer: Scope;
  readonly #outputs: readonly BufferKey[];
  readonly #isOutput: ReadonlySet<LoweringKey>;
  readonly #steps: Step[] = [];

  constructor(graph: Graph, sources: readonly SourceArray[], model: LoweringModel) {
    this.#outer = new Scope(graph, '');
    this.#sources = sources;
    this.#model = model;
    this.#outputs = graph.outputs.map((id) => nodeBufferKey(storedNode(graph, id)));
    this.#isOutput = new Set(this.#outputs);
  }

  add(step: FusedStep, at: number): void {
    this.#steps.push(...this.#lower(step, `${at}`, this.#outer));
  }

  #lower(step: FusedStep, at: string, scope: Scope): BodyStep[] {
    switch (step.kind) {
      case 'kernel':
        return this.#kernels(step, at, scope);
      case 'call':
        return [this.#call(step, scope)];
      case 'loop':
        return [this.#loop(step, at, scope)];
    }
  }

  /** A kernel, or those that the device runs for it. */
  #kernels({ kernel: { kernel, keys }, nodes }: FusedOf<'kernel'>, at: string, scope: Scope): KernelStep[] {
    const buffers = kernel.buffers.map((buffer, k) =>
      this.#buffer(keys[k]!, buffer.elementCount * byteLengthOf(buffer.dtype), scope),
    );
    const { kernels, added } = this.#model.expand?.(kernel) ?? { kernels: [kernel], added: [] };
    for (const [k, { position, byteLength }] of added.entries())
      buffers[position] = this.#buffer(`handed on ${at} ${k}`, byteLength, scope);
    return [...kernels.entries()].map(([part, whole]) => {
      const own = kernels.length === 1 ? { kernel: whole, used: undefined } : usedBuffers(whole);
      const scratch = this.#model
        .scratchOf(own.kernel)
        .map((bytes, k) => this.#buffer(`scratch ${at} ${part} ${k}`, bytes, scope));
      const used = own.used?.map((k) => buffers[k]!) ?? buffers;
      return { kind: 'kernel', kernel: own.kernel, buffers: used, scratch, nodes };
    });
  }

  #call({ nodes, operands }: FusedOf<'call'>, scope: Scope): CallStep {
    const node = nodes[0]!;
    const given = operands.map((operand, k) => {
      const { dtype, shape } = nodeOf(scope.graph, node.inputs[k]!);
      return { dtype, shape, at: this.#operand(operand, scope) };
    });
    const types =
      node.kind === 'call' ? routineRow(node.routine).results(given, node.parameters, node.kernel) : [node];
    const results = types.map(({ dtype, shape }, k) => {
      const wanted = nodes.find((each) => each.kind !== 'call' || each.result === k);
      const key = wanted === undefined ? `result ${k} of node ${node.id}` : nodeBufferKey(wanted.id);
      return { dtype, shape, buffer: this.#buffer(key, sizeOfShape(shape) * byteLengthOf(dtype), scope) };
    });
    return rowOf(nodes).lower(nodes, given, results, this.#model.unitElements);
  }

  #operand({ key, node: id, offset, strides }: Operand, scope: Scope): StridedOperand {
    const node = nodeOf(scope.graph, id);
    const bytes = sizeOfShape(node.shape) * byteLengthOf(node.dtype);
    return { buffer: this.#buffer(key, bytes, scope), offset, strides };
  }

  #loop({ loop, results, inputs, body }: FusedOf<'loop'>, at: string, scope: Scope): LoopStep {
    const inside = new Scope(loop.body, `${scope.prefix}loop ${at} `);
    const states = loop.body.outputs.map((_, k) => this.#state(k, loop, results, inputs[k]!, inside, scope));
    for (const node of loop.body.nodes) {
      if (node?.kind !== 'source') continue;
      const bytes = sizeOfShape(node.shape) * byteLengthOf(node.dtype);
      const buffer = states[node.input]?.current ?? this.#buffer(inputs[node.input]!, bytes, scope);
      inside.set(sourceBufferKey(node.input, node.dtype), buffer);
    }
    const steps = body.steps.flatMap((step, k) => this.#lower(step, `${at}.${k}`, inside));
    const copies = this.#copies(loop, states, inside);
    const runs = loopRuns(loop, states, [...steps, ...copies], this.#model);
    return {
      kind: 'loop',
      steps: loop.steps,
      condition: loop.condition ?? -1,
      every: loop.every ?? 0,
      ...runs,
      nodes: results.map(({ id }) => id),
    };
  }

  /** The buffers of a state. The result's buffer holds every other state, or those that are kept. */
  #state(
    k: number,
    loop: GraphLoop,
    results: readonly GraphNodeOf<'loop'>[],
    input: BufferKey,
    inside: Scope,
    scope: Scope,
  ): LoopState {
    const { dtype, shape } = nodeOf(loop.body, loop.body.outputs[k]!);
    const bytes = sizeOfShape(shape) * byteLengthOf(dtype);
    const wanted = results.find(({ result }) => result === k);
    const own = (name: string): number => this.#buffer(`${name} of state ${k}`, bytes, inside);
    const bound = (name: string): number => this.#add(`${inside.prefix}${name} state ${k}`, bytes, 'state');
    const stored = nodeBufferKey(storedNode(loop.body, loop.body.outputs[k]!));
    const next = bound('next');
    if (inside.get(stored) === undefined) inside.set(stored, next);
    const result = (count: number): number => this.#buffer(nodeBufferKey(wanted!.id), count * bytes, scope);
    const isKept = loop.every !== undefined;
    return {
      initial: this.#buffer(input, bytes, scope),
      current: bound('current'),
      next,
      last: wanted === undefined || isKept ? own('last') : result(1),
      other: own('other'),
      kept: wanted === undefined || !isKept ? -1 : result(loop.steps / loop.every!),
    };
  }

  /** Copies of next states that are the same node as others', which is stored once. */
  #copies(loop: GraphLoop, states: readonly LoopState[], inside: Scope): KernelStep[] {
    return states.flatMap(({ next }, k) => {
      const id = storedNode(loop.body, loop.body.outputs[k]!);
      const stored = inside.get(nodeBufferKey(id))!;
      if (stored === next) return [];
      const { dtype, shape } = nodeOf(loop.body, id);
      const kernel = copyKernel(dtype, sizeOfShape(shape));
      return [{ kind: 'kernel', kernel, buffers: [stored, next], scratch: [], nodes: [id] }];
    });
  }

  /** The buffer of a key or name; made where there is none yet. */
  #buffer(key: LoweringKey, byteLength: number, scope: Scope): number {
    const known = scope.get(key);
    if (known !== undefined) return known;
    const name = typeof key === 'string' ? key : bufferName(key);
    const source = typeof key === 'string' ? undefined : sourceOfKey(key);
    const role = scope === this.#outer && this.#isOutput.has(key) ? 'output' : 'temporary';
    const buffer =
      source === undefined
        ? this.#add(`${scope.prefix}${name}`, byteLength, role)
        : this.#input(name, source);
    scope.set(key, buffer);
    return buffer;
  }

  #add(key: string, byteLength: number, role: PlanBuffer['role']): number {
    return this.#buffers.push(ownBuffer(key, byteLength, role)) - 1;
  }

  #input(key: string, source: number): number {
    const array = this.#sources[source];
    if (array === undefined) throw new InternalError(`[plan] no source ${source}`);
    const from = array.source.type;
    return (
      this.#buffers.push({
        key,
        role: 'input',
        byteLength: array.elementCount * byteLengthOf(array.dtype),
        source,
        isStored: from === 'device',
        isRead: from === 'file' || from === 'chunked',
        isFetched: from === 'reader' || from === 'segment',
      }) - 1
    );
  }

  finish(): StepList {
    return { buffers: this.#buffers, steps: this.#steps, outputKeys: this.#outputs.map(bufferName) };
  }
}

/** Copies a line of elements. */
export function copyKernel(dtype: DType, elementCount: number): Kernel {
  const access = { offset: 0, strides: elementCount === 1 ? [] : [1], bounds: [] };
  return {
    name: 'map_copy',
    parallel: elementCount === 1 ? [] : [elementCount],
    reduced: [],
    buffers: [
      { dtype, role: 'input', elementCount },
      { dtype, role: 'output', elementCount },
    ],
    tape: [create.load(dtype, { ...access, buffer: 0 })],
    stores: [{ value: 0, access: { ...access, buffer: 1 } }],
  };
}
