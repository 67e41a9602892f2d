/**
 * Draft: a partitioned graph as numbered buffers and steps over them, before anything is placed in memory. Called by
 * `planner.ts`; `planner.ts` and `sweeps.ts` make a plan of it.
 */

import { type SplitKernels, usedBuffers } from '../codegen/split-phases.js';
import { InternalError } from '../errors.js';
import type { SourceArray } from '../fusion/canonicalize.js';
import { nodeBufferKey } from '../fusion/fused-kernel.js';
import type { Kernel } from '../fusion/kernel.js';
import type { Operand } from '../fusion/operands.js';
import { type FusedStep, type Partition, storedNode } from '../fusion/partition.js';
import { byteLengthOf } from '../graph/dtype.js';
import { type Graph, nodeOf, sizeOfShape } from '../graph/graph.js';
import type { KernelStep, MatrixOperand, PlanBuffer, Step } from './plan.js';

export interface DraftBuffer {
  /** What it holds: `node 12`, `source 0 float32`, `scratch` … */
  readonly key: string;
  readonly role: PlanBuffer['role'];
  readonly byteLength: number;
  /** For an input: the source of the graph that fills it, and whether that is in a device's memory. */
  readonly source: number;
  readonly isStored: boolean;
  /** Whether it is an input that is not in memory yet, and can be read in windows. */
  readonly isRead: boolean;
  /** Whether it is an input that JavaScript brings into memory as a whole before the run. */
  readonly isFetched?: boolean | undefined;
}

export interface Draft {
  readonly buffers: readonly DraftBuffer[];
  readonly steps: readonly Step[];
  /** The key of each output of the graph. */
  readonly outputKeys: readonly string[];
  /** The buffer that matrix products share besides their operands and results (`workspace.ts`). */
  readonly workspace?: number;
}

/** What drafting needs to know of a device. */
export interface DraftNeeds {
  /** Bytes of each scratch buffer a kernel uses. */
  readonly scratchOf: (kernel: Kernel) => readonly number[];
  /** The kernels that the device runs for one, in order; without it, every kernel runs as it is. */
  readonly expand?: ((kernel: Kernel) => SplitKernels) | undefined;
}

/** Numbers what a partition reads and writes. */
export function draftOf(
  graph: Graph,
  partition: Partition,
  sources: readonly SourceArray[],
  needs: DraftNeeds,
): Draft {
  const drafter = new Drafter(graph, sources, needs);
  partition.steps.forEach((step, at) => {
    drafter.add(step, at);
  });
  return drafter.finish();
}

/** The buffers that a step reads, and those that it writes, scratch included, but for the workspace of products. */
export function buffersOf(step: Step): {
  readonly reads: readonly number[];
  readonly writes: readonly number[];
} {
  switch (step.kind) {
    case 'kernel': {
      const ofRole = (role: 'input' | 'output'): number[] =>
        step.buffers.filter((_, k) => step.kernel.buffers[k]!.role === role);
      return { reads: ofRole('input'), writes: [...ofRole('output'), ...step.scratch] };
    }
    case 'matmul':
      return { reads: [step.a.buffer, step.b.buffer], writes: [step.c.buffer] };
    case 'phase':
    case 'finish':
      return buffersOf({ ...step, kind: 'kernel' });
    case 'sweep': {
      const parts = step.body.map((part) => buffersOf(part.step));
      return {
        reads: [...new Set(parts.flatMap(({ reads }) => reads))],
        writes: [...new Set(parts.flatMap(({ writes }) => writes))],
      };
    }
  }
}

class Drafter {
  readonly #graph: Graph;
  readonly #sources: readonly SourceArray[];
  readonly #needs: DraftNeeds;
  readonly #buffers: DraftBuffer[] = [];
  readonly #byKey = new Map<string, number>();
  readonly #steps: Step[] = [];
  readonly #outputKeys: readonly string[];
  readonly #isOutput: ReadonlySet<string>;

  constructor(graph: Graph, sources: readonly SourceArray[], needs: DraftNeeds) {
    this.#graph = graph;
    this.#sources = sources;
    this.#needs = needs;
    this.#outputKeys = graph.outputs.map((id) => nodeBufferKey(storedNode(graph, id)));
    this.#isOutput = new Set(this.#outputKeys);
  }

  add(step: FusedStep, at: number): void {
    if (step.kind === 'kernel') {
      const { kernel, keys } = step.kernel;
      const buffers = kernel.buffers.map((buffer, k) =>
        this.#buffer(keys[k]!, buffer.elementCount * byteLengthOf(buffer.dtype)),
      );
      this.#addKernel({ kind: 'kernel', kernel, buffers, scratch: [], nodes: step.nodes }, at);
      return;
    }
    const { node } = step;
    const [batch, m, n] = node.shape as readonly [number, number, number];
    const k = nodeOf(this.#graph, node.inputs[0]!).shape[2]!;
    const bytes = sizeOfShape(node.shape) * byteLengthOf(node.dtype);
    const a = this.#operand(step.a);
    const b = this.#operand(step.b);
    const c = {
      buffer: this.#buffer(nodeBufferKey(node.id), bytes),
      offset: 0,
      batchStride: m * n,
      rowStride: n,
      columnStride: 1,
    };
    this.#steps.push({ kind: 'matmul', dtype: node.dtype, m, n, k, batch, a, b, c, nodes: [node.id] });
  }

  /** A kernel, or those that the device runs for it. */
  #addKernel(step: KernelStep, at: number): void {
    const { kernels, added } = this.#needs.expand?.(step.kernel) ?? { kernels: [step.kernel], added: [] };
    const buffers = [...step.buffers];
    for (const [k, { position, byteLength }] of added.entries())
      buffers[position] = this.#buffer(`handed on ${at} ${k}`, byteLength);
    for (const [part, whole] of kernels.entries()) {
      const { kernel, used } = kernels.length === 1 ? { kernel: whole, used: undefined } : usedBuffers(whole);
      const scratch = this.#needs
        .scratchOf(kernel)
        .map((bytes, k) => this.#buffer(`scratch ${at} ${part} ${k}`, bytes));
      this.#steps.push({ ...step, kernel, buffers: used?.map((k) => buffers[k]!) ?? buffers, scratch });
    }
  }

  #operand({ key, node: id, offset, strides }: Operand): MatrixOperand {
    const node = nodeOf(this.#graph, id);
    const bytes = sizeOfShape(node.shape) * byteLengthOf(node.dtype);
    const [batchStride, rowStride, columnStride] = strides;
    return { buffer: this.#buffer(key, bytes), offset, batchStride, rowStride, columnStride };
  }

  /** The buffer of this name. */
  #buffer(key: string, byteLength: number): number {
    const known = this.#byKey.get(key);
    if (known !== undefined) return known;
    const source = key.startsWith('source ') ? Number(key.split(' ')[1]) : -1;
    const role = source >= 0 ? 'input' : this.#isOutput.has(key) ? 'output' : 'temporary';
    this.#byKey.set(key, this.#buffers.length);
    const bytes = source < 0 ? byteLength : this.#sourceByteLength(source);
    const from = source < 0 ? undefined : this.#sources[source]!.source.type;
    const isStored = from === 'device';
    const isRead = from === 'file' || from === 'chunked';
    return (
      this.#buffers.push({
        key,
        role,
        byteLength: bytes,
        source,
        isStored,
        isRead,
        isFetched: from === 'reader',
      }) - 1
    );
  }

  #sourceByteLength(source: number): number {
    const array = this.#sources[source];
    if (array === undefined) throw new InternalError(`[plan] no source ${source}`);
    return array.elementCount * byteLengthOf(array.dtype);
  }

  finish(): Draft {
    return { buffers: this.#buffers, steps: this.#steps, outputKeys: this.#outputKeys };
  }
}
