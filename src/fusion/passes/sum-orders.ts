/**
 * Whether the sums of a batch are added up in the order of each of them alone, by the kernels that a target would run for
 * both. Called by `batch-slices.ts`.
 */
import { type MutableGraph, topologicalOrder } from '../../graph/graph.js';
import { liveValues } from '../kernel/algebra.js';
import { isReduction } from '../kernel/arithmetic.js';
import type { Kernel } from '../kernel/kernel.js';
import { nodeBufferKey } from '../partition/buffer-key.js';
import { partition } from '../partition/partition.js';

/** The order of a reduction of a kernel, by its position, as text; undefined: the kernel does not keep it. */
export type SumOrder = (kernel: Kernel, position: number) => string | undefined;

/** Nodes of a reduction's expression, at most: they are planned to know its order. */
const MOST_NODES = 256;

export class SumOrders {
  readonly #graph: MutableGraph;
  readonly #orderOf: SumOrder | undefined;

  constructor(graph: MutableGraph, orderOf: SumOrder | undefined) {
    this.#graph = graph;
    this.#orderOf = orderOf;
  }

  /** Whether one of the members of a batch has the order of the batch. */
  agree({ member, batch }: { readonly member: number; readonly batch: number }): boolean {
    const order = this.#of(batch);
    return order !== undefined && order === this.#of(member);
  }

  #of(id: number): string | undefined {
    const { nodes } = this.#graph;
    if (this.#orderOf === undefined || topologicalOrder({ nodes, outputs: [id] }).length > MOST_NODES)
      return undefined;
    const key = nodeBufferKey(id);
    for (const step of partition({ nodes, outputs: [id] }).steps) {
      const at = step.kind === 'kernel' ? step.kernel.keys.indexOf(key) : -1;
      if (step.kind !== 'kernel' || at < 0) continue;
      const { kernel } = step.kernel;
      const store = kernel.stores.find(({ access }) => access.buffer === at);
      const reduced =
        store && liveValues(kernel.tape, [store.value]).filter((k) => isReduction(kernel.tape[k]!));
      if (reduced !== undefined && reduced.length > 0) return this.#orderOf(kernel, Math.max(...reduced));
    }
    return undefined;
  }
}
