/**
 * Whether two reductions add their elements up in one order, by the kernels that a target would run for them: one of a batch
 * and the batch, or one that reads short sums from memory and one that computes these. Called by `batch-slices.ts` and
 * `unroll-reductions.ts`.
 */
import { type GraphNodeOf, type MutableGraph, nodeOf, topologicalOrder } from '../../graph/graph.js';
import { SHORT_REDUCTION } from '../../graph/reductions.js';
import { liveValues } from '../kernel/algebra.js';
import { isReduction } from '../kernel/arithmetic.js';
import type { Kernel } from '../kernel/kernel.js';
import { nodeBufferKey } from '../partition/buffer-key.js';
import { LeafMaps } from '../partition/leaf-maps.js';
import { partition } from '../partition/partition.js';
import { walkBy } from '../partition/read-order.js';
import { lengthOf } from './element-cost.js';

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
    const [one, other] = [member, batch].map((id) => nodeOf(this.#graph, id) as GraphNodeOf<'reduce'>);
    if (this.#walkOf(one!) !== this.#walkOf(other!)) return false;
    const order = this.#of(batch);
    return order !== undefined && order === this.#of(member);
  }

  /**
   * In which order a kernel walks the axes of a reduction, by those of its node: a kernel has them sorted, and its order says
   * nothing of which is which. Elements of short ones and of users' monoids keep theirs.
   */
  #walkOf(root: GraphNodeOf<'reduce'>): string {
    const input = nodeOf(this.#graph, root.inputs[0]!);
    if (root.monoid !== undefined || lengthOf(root, input) <= SHORT_REDUCTION) return '';
    const maps = new LeafMaps(this.#graph, () => false);
    return walkBy(
      root,
      input.shape,
      root.inputs.flatMap((id) => maps.of(id)),
    );
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
