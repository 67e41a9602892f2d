/**
 * The graph of kernels and library calls while fusion merges them: who writes and who reads each buffer, which merges
 * are possible, and why the others are not. Called by `partition.ts`.
 */
import type { GraphNodeOf } from '../graph/graph.js';
import { type FusedKernel, nodeBufferKey } from './fused-kernel.js';
import { product } from './kernel.js';
import { type Merged, mergeHorizontally, mergeVertically, type Reason } from './merge.js';

/** A matrix product for a library, or a kernel. */
export type Task =
  | { readonly kind: 'kernel'; readonly kernel: FusedKernel }
  | { readonly kind: 'contract'; readonly node: GraphNodeOf<'contract'>; readonly reads: readonly string[] };

/** A stored value that one task hands to another, and why they are two. */
export interface Edge {
  readonly buffer: string;
  readonly from: number;
  readonly to: number;
  readonly reason: Reason;
}

/** Siblings that are compared with one kernel before it is left alone. */
const MAX_SIBLINGS = 16;
const MAX_ROUNDS = 8;

export class KernelGraph {
  readonly #tasks = new Map<number, Task>();
  readonly #writer = new Map<string, number>();
  readonly #readers = new Map<string, Set<number>>();
  readonly #outputs: ReadonlySet<string>;
  #next = 0;

  constructor(outputs: ReadonlySet<string>) {
    this.#outputs = outputs;
  }

  add(task: Task): number {
    const id = this.#next++;
    this.#tasks.set(id, task);
    for (const key of writesOf(task)) this.#writer.set(key, id);
    for (const key of readsOf(task)) this.#readersOf(key).add(id);
    return id;
  }

  #remove(id: number): void {
    const task = this.#tasks.get(id)!;
    for (const key of readsOf(task)) this.#readersOf(key).delete(id);
    this.#tasks.delete(id);
  }

  #readersOf(key: string): Set<number> {
    let readers = this.#readers.get(key);
    if (readers === undefined) {
      readers = new Set();
      this.#readers.set(key, readers);
    }
    return readers;
  }

  /** Merges until nothing more fits. */
  mergeAll(): void {
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const vertical = this.#mergeProducers();
      const horizontal = this.#mergeSiblings();
      if (!vertical && !horizontal) return;
    }
  }

  #kernel(id: number | undefined): FusedKernel | undefined {
    const task = id === undefined ? undefined : this.#tasks.get(id);
    return task?.kind === 'kernel' ? task.kernel : undefined;
  }

  #replace(a: number, b: number, kernel: FusedKernel): number {
    this.#remove(a);
    this.#remove(b);
    return this.add({ kind: 'kernel', kernel });
  }

  #mergeProducers(): boolean {
    let changed = false;
    for (let id of this.order()) {
      for (let again = true; again; ) {
        again = false;
        const kernel = this.#kernel(id);
        if (kernel === undefined) break;
        for (const key of readsOf({ kind: 'kernel', kernel })) {
          const producer = this.#writer.get(key);
          const merged = producer === undefined ? undefined : this.#tryVertically(producer, id, key);
          if (merged === undefined || 'reason' in merged) continue;
          id = this.#replace(producer!, id, merged.kernel);
          changed = again = true;
          break;
        }
      }
    }
    return changed;
  }

  #tryVertically(producer: number, consumer: number, key: string): Merged {
    const p = this.#kernel(producer);
    const c = this.#kernel(consumer);
    if (p === undefined || c === undefined) return { reason: 'library-call' };
    if (this.#reaches(producer, consumer, true)) return { reason: 'kernel-between' };
    return mergeVertically(p, c, key, this.#keeps(producer, consumer));
  }

  /** Whether a value must still be stored once the two kernels are one. */
  #keeps(a: number, b: number): (key: string) => boolean {
    return (key) => this.#outputs.has(key) || [...this.#readersOf(key)].some((id) => id !== a && id !== b);
  }

  #mergeSiblings(): boolean {
    let changed = false;
    for (const key of [...this.#readers.keys()]) {
      const tried: number[] = [];
      for (const reader of [...this.#readersOf(key)].sort((a, b) => a - b)) {
        const id = this.#joinSibling(reader, tried);
        if (id !== undefined) changed = true;
        else if (this.#kernel(reader) !== undefined) tried.push(reader);
      }
    }
    return changed;
  }

  /** Merges `id` into one of `siblings` (replacing it there); the merged id, or `undefined`. */
  #joinSibling(id: number, siblings: number[]): number | undefined {
    const kernel = this.#kernel(id);
    if (kernel === undefined) return undefined;
    const first = Math.max(0, siblings.length - MAX_SIBLINGS);
    for (let k = first; k < siblings.length; k++) {
      const other = this.#kernel(siblings[k]);
      if (other === undefined || domainSize(other) !== domainSize(kernel)) continue;
      if (this.#reaches(siblings[k]!, id, false) || this.#reaches(id, siblings[k]!, false)) continue;
      const merged = mergeHorizontally(other, kernel, this.#keeps(siblings[k]!, id));
      if ('reason' in merged) continue;
      siblings[k] = this.#replace(siblings[k]!, id, merged.kernel);
      return siblings[k];
    }
    return undefined;
  }

  /** Whether `to` depends on `from`; `indirect`: through at least one other task. */
  #reaches(from: number, to: number, indirect: boolean): boolean {
    const seen = new Set<number>();
    const stack: number[] = [];
    for (const next of this.#successors(from)) if (!indirect || next !== to) stack.push(next);
    while (stack.length > 0) {
      const id = stack.pop()!;
      if (id === to) return true;
      if (seen.has(id)) continue;
      seen.add(id);
      stack.push(...this.#successors(id));
    }
    return false;
  }

  #successors(id: number): number[] {
    return writesOf(this.#tasks.get(id)!).flatMap((key) => [...this.#readersOf(key)].filter((r) => r !== id));
  }

  /** Task ids, producers first; ties keep the order in which tasks were added. */
  order(): number[] {
    const waiting = new Map<number, number>();
    const ready: number[] = [];
    for (const [id, task] of this.#tasks) {
      const producers = new Set(readsOf(task).flatMap((key) => this.#writer.get(key) ?? []));
      producers.delete(id);
      waiting.set(id, producers.size);
      if (producers.size === 0) ready.push(id);
    }
    const order: number[] = [];
    // Depth first from what became ready last, so that a value is consumed soon after it is made.
    ready.reverse();
    while (ready.length > 0) {
      const id = ready.pop()!;
      order.push(id);
      const released: number[] = [];
      for (const next of new Set(this.#successors(id))) {
        const left = waiting.get(next)! - 1;
        waiting.set(next, left);
        if (left === 0) released.push(next);
      }
      ready.push(...released.sort((a, b) => b - a));
    }
    return order;
  }

  tasks(): Task[] {
    return this.order().map((id) => this.#tasks.get(id)!);
  }

  /** Every edge that was not fused, with its reason; positions are those of `tasks()`. */
  edges(): Edge[] {
    const order = this.order();
    const position = new Map(order.map((id, k) => [id, k]));
    return order.flatMap((id) =>
      readsOf(this.#tasks.get(id)!).flatMap((key): Edge[] => {
        const producer = this.#writer.get(key);
        if (producer === undefined || producer === id) return [];
        const merged = this.#tryVertically(producer, id, key);
        const reason = 'reason' in merged ? merged.reason : 'kernel-between';
        return [{ buffer: key, from: position.get(producer)!, to: position.get(id)!, reason }];
      }),
    );
  }
}

const domainSize = (kernel: FusedKernel): number => product(kernel.parallel) * product(kernel.reduced);

export function readsOf(task: Task): readonly string[] {
  if (task.kind === 'contract') return task.reads;
  const { kernel } = task;
  const read = new Set(kernel.tape.flatMap((i) => (i.kind === 'load' ? [i.access.buffer] : [])));
  return [...read].map((at) => kernel.buffers[at]!.key);
}

export function writesOf(task: Task): readonly string[] {
  if (task.kind === 'contract') return [nodeBufferKey(task.node.id)];
  return task.kernel.stores.map((store) => task.kernel.buffers[store.access.buffer]!.key);
}
