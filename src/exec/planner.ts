/**
 * Plans a partitioned graph: numbers its buffers, finds their lifetimes, places temporaries in the arena and adds up the
 * peak. What a device needs besides (scratch memory of its kernels, a library's workspace) comes as `DeviceNeeds`.
 */

import type { SourceArray } from '../fusion/canonicalize.js';
import { nodeBufferKey } from '../fusion/fused-kernel.js';
import type { Kernel } from '../fusion/kernel.js';
import type { Operand } from '../fusion/operands.js';
import { type FusedStep, type Partition, storedNode } from '../fusion/partition.js';
import { byteLengthOf } from '../graph/dtype.js';
import { type Graph, nodeOf, sizeOfShape } from '../graph/graph.js';
import { aligned, type Lifetime, placeInArena } from './memory.js';
import type { MatrixOperand, Plan, PlanBuffer, Step } from './plan.js';

/** What a device needs to run a plan, beyond the plan's own buffers. */
export interface DeviceNeeds {
  /** Bytes of each scratch buffer a kernel uses. */
  readonly scratchOf: (kernel: Kernel) => readonly number[];
  /** Bytes a library holds while a plan has matrix products. */
  readonly workspaceByteLength: number;
  /** Whether host inputs and outputs are copied to memory of the device. */
  readonly copiesHost: boolean;
}

interface Entry {
  readonly key: string;
  readonly role: PlanBuffer['role'];
  byteLength: number;
  first: number;
  last: number;
}

export function planPartition(
  graph: Graph,
  partition: Partition,
  sources: readonly SourceArray[],
  needs: DeviceNeeds,
): Plan {
  const planner = new Planner(graph, sources, needs);
  partition.steps.forEach((step, at) => {
    planner.addStep(step, at);
  });
  return planner.finish();
}

class Planner {
  readonly #graph: Graph;
  readonly #sources: readonly SourceArray[];
  readonly #needs: DeviceNeeds;
  readonly #entries: Entry[] = [];
  readonly #byKey = new Map<string, number>();
  readonly #steps: Step[] = [];
  readonly #outputKeys: readonly string[];
  readonly #isOutput: ReadonlySet<string>;

  constructor(graph: Graph, sources: readonly SourceArray[], needs: DeviceNeeds) {
    this.#graph = graph;
    this.#sources = sources;
    this.#needs = needs;
    this.#outputKeys = graph.outputs.map((id) => nodeBufferKey(storedNode(graph, id)));
    this.#isOutput = new Set(this.#outputKeys);
  }

  addStep(step: FusedStep, at: number): void {
    if (step.kind === 'kernel') {
      const { kernel, keys } = step.kernel;
      const buffers = kernel.buffers.map((buffer, k) =>
        this.#use(keys[k]!, buffer.elementCount * byteLengthOf(buffer.dtype), at),
      );
      const scratch = this.#needs
        .scratchOf(kernel)
        .map((bytes, k) => this.#use(`scratch ${at} ${k}`, bytes, at));
      this.#steps.push({ kind: 'kernel', kernel, buffers, scratch, nodes: step.nodes });
      return;
    }
    const { node } = step;
    const [batch, m, n] = node.shape as readonly [number, number, number];
    const k = nodeOf(this.#graph, node.inputs[0]!).shape[2]!;
    const bytes = sizeOfShape(node.shape) * byteLengthOf(node.dtype);
    const a = this.#operand(step.a, at);
    const b = this.#operand(step.b, at);
    const c = {
      buffer: this.#use(nodeBufferKey(node.id), bytes, at),
      offset: 0,
      batchStride: m * n,
      rowStride: n,
      columnStride: 1,
    };
    this.#steps.push({ kind: 'matmul', dtype: node.dtype, m, n, k, batch, a, b, c, nodes: [node.id] });
  }

  #operand({ key, node: id, offset, strides }: Operand, at: number): MatrixOperand {
    const node = nodeOf(this.#graph, id);
    const bytes = sizeOfShape(node.shape) * byteLengthOf(node.dtype);
    const [batchStride, rowStride, columnStride] = strides;
    return { buffer: this.#use(key, bytes, at), offset, batchStride, rowStride, columnStride };
  }

  /** The buffer of this name, in use at step `at`. */
  #use(key: string, byteLength: number, at: number): number {
    const known = this.#byKey.get(key);
    if (known !== undefined) {
      this.#entries[known]!.last = at;
      return known;
    }
    const source = this.#sourceOf(key);
    const role = source !== undefined ? 'input' : this.#isOutput.has(key) ? 'output' : 'temporary';
    const bytes = source === undefined ? byteLength : source.elementCount * byteLengthOf(source.dtype);
    this.#byKey.set(key, this.#entries.length);
    return this.#entries.push({ key, role, byteLength: bytes, first: at, last: at }) - 1;
  }

  #sourceOf(key: string): SourceArray | undefined {
    return key.startsWith('source ') ? this.#sources[Number(key.split(' ')[1])] : undefined;
  }

  finish(): Plan {
    const temporaries = this.#entries.filter((entry) => entry.role === 'temporary');
    const arena = placeInArena(temporaries satisfies Lifetime[]);
    const offsets = new Map(temporaries.map((entry, k) => [entry, arena.offsets[k]!]));
    const buffers = this.#entries.map(
      (entry): PlanBuffer => ({
        role: entry.role,
        byteLength: entry.byteLength,
        offset: offsets.get(entry) ?? 0,
        label: entry.key,
      }),
    );
    const inputs = this.#entries.filter((e) => e.role === 'input').map((e) => Number(e.key.split(' ')[1]));
    const outputBuffers = this.#entries.filter((e) => e.role === 'output').map((e) => e.key);
    const outputs = this.#outputKeys.map((key) => outputBuffers.indexOf(key));
    return {
      buffers,
      steps: this.#steps,
      inputs,
      outputs,
      arenaByteLength: arena.byteLength,
      peakBytes: this.#peak(arena.byteLength),
    };
  }

  #peak(arenaByteLength: number): number {
    const library = this.#steps.some((step) => step.kind === 'matmul') ? this.#needs.workspaceByteLength : 0;
    const own = this.#entries.filter(
      (e) => e.role === 'output' || (e.role === 'input' && this.#needs.copiesHost),
    );
    const held = own.reduce((sum, e) => sum + aligned(e.byteLength), 0);
    return arenaByteLength + library + held;
  }
}
