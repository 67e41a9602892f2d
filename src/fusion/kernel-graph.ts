/**
 * The graph of kernels and library calls while fusion merges them: who writes and who reads each buffer, which merges
 * are possible, and why the others are not. Called by `partition.ts`.
 */
import type { GraphNodeOf } from '../graph/graph.js';
import { type FusedKernel, nodeBufferKey, readKeysOf } from './fused-kernel.js';
import { product } from './kernel.js';
import { arithmetic, type Merged, mergeHorizontally, mergeVertically, type Reason } from './merge.js';
import { MAX_MERGED } from './split.js';

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

interface Entry {
  readonly task: Task;
  readonly reads: readonly string[];
  readonly writes: readonly string[];
  readonly arithmetic: number;
}

export class KernelGraph {
  readonly #tasks = new Map<number, Entry>();
  readonly #writer = new Map<string, number>();
  readonly #readers = new Map<string, Set<number>>();
  readonly #outputs: ReadonlySet<string>;
  /** Tasks that read what a task writes. */
  readonly #successors = new Map<number, Set<number>>();
  /**
   * Position of each task in the order that producers are merged in; a merged task has its consumer's. While tasks are taken
   * in that order, no path to a task leads through one of a higher rank: such a task is still as it was in the order.
   */
  readonly #rank = new Map<number, number>();
  /** Pairs that do not merge, as `a b`: tasks never change, so neither does that. */
  readonly #apart = new Set<string>();
  #next = 0;

  constructor(outputs: ReadonlySet<string>) {
    this.#outputs = outputs;
  }

  add(task: Task): number {
    const id = this.#next++;
    const reads = readsOf(task);
    const writes = writesOf(task);
    this.#tasks.set(id, {
      task,
      reads,
      writes,
      arithmetic: task.kind === 'kernel' ? arithmetic(task.kernel) : 0,
    });
    for (const key of writes) this.#writer.set(key, id);
    for (const key of reads) this.#readersOf(key).add(id);
    this.#successors.set(id, new Set());
    for (const key of reads) this.#connect(this.#writer.get(key), id);
    for (const key of writes) for (const reader of this.#readersOf(key)) this.#connect(id, reader);
    return id;
  }

  #connect(from: number | undefined, to: number): void {
    if (from !== undefined && from !== to) this.#successors.get(from)?.add(to);
  }

  #remove(id: number): void {
    for (const key of this.#tasks.get(id)!.reads) {
      this.#readersOf(key).delete(id);
      const writer = this.#writer.get(key);
      if (writer !== undefined) this.#successors.get(writer)?.delete(id);
    }
    this.#tasks.delete(id);
    this.#successors.delete(id);
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
    const task = id === undefined ? undefined : this.#tasks.get(id)?.task;
    return task?.kind === 'kernel' ? task.kernel : undefined;
  }

  #replace(a: number, b: number, kernel: FusedKernel): number {
    this.#remove(a);
    this.#remove(b);
    return this.add({ kind: 'kernel', kernel });
  }

  #mergeProducers(): boolean {
    let changed = false;
    const order = this.order();
    this.#rank.clear();
    for (const [rank, id] of order.entries()) this.#rank.set(id, rank);
    for (let id of order) {
      for (let again = true; again; ) {
        again = false;
        const kernel = this.#kernel(id);
        if (kernel === undefined) break;
        const tried = new Set<number | undefined>([undefined]);
        for (const key of this.#tasks.get(id)!.reads) {
          const producer = this.#writer.get(key);
          if (tried.has(producer)) continue; // one value read elsewhere keeps the two apart
          tried.add(producer);
          const pair = `${producer} > ${id}`;
          if (this.#apart.has(pair)) continue;
          this.#apart.add(pair);
          const merged = producer === undefined ? undefined : this.#tryVertically(producer, id, key);
          if (merged === undefined || 'reason' in merged) continue;
          const rank = this.#rank.get(id)!;
          id = this.#replace(producer!, id, merged.kernel);
          this.#rank.set(id, rank);
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
    if (this.#tooLong(producer, consumer)) return { reason: 'instruction-limit' };
    if (this.#reaches(producer, consumer, true, this.#rank.get(consumer)))
      return { reason: 'kernel-between' };
    return mergeVertically(p, c, key, this.#keeps(producer, consumer));
  }

  #tooLong(a: number, b: number): boolean {
    return this.#tasks.get(a)!.arithmetic + this.#tasks.get(b)!.arithmetic > MAX_MERGED;
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
      const pair = `${siblings[k]} ${id}`;
      if (this.#apart.has(pair)) continue;
      this.#apart.add(pair);
      if (other === undefined || domainSize(other) !== domainSize(kernel) || this.#tooLong(siblings[k]!, id))
        continue;
      if (this.#reaches(siblings[k]!, id, false) || this.#reaches(id, siblings[k]!, false)) continue;
      const merged = mergeHorizontally(other, kernel, this.#keeps(siblings[k]!, id));
      if ('reason' in merged) continue;
      siblings[k] = this.#replace(siblings[k]!, id, merged.kernel);
      return siblings[k];
    }
    return undefined;
  }

  /** Whether `to` depends on `from`; `indirect`: through at least one other task. Tasks beyond `last` are not looked at. */
  #reaches(from: number, to: number, indirect: boolean, last = Number.POSITIVE_INFINITY): boolean {
    const seen = new Set<number>();
    const stack: number[] = [];
    const visit = (id: number): void => {
      if (seen.has(id) || (this.#rank.get(id) ?? 0) > last) return;
      seen.add(id);
      stack.push(id);
    };
    for (const next of this.#successorsOf(from)) if (!indirect || next !== to) visit(next);
    while (stack.length > 0) {
      const id = stack.pop()!;
      if (id === to) return true;
      for (const next of this.#successorsOf(id)) visit(next);
    }
    return false;
  }

  #successorsOf(id: number): ReadonlySet<number> {
    return this.#successors.get(id)!;
  }

  /** Task ids, producers first; ties keep the order in which tasks were added. */
  order(): number[] {
    const waiting = new Map<number, number>();
    const ready: number[] = [];
    for (const [id, { reads }] of this.#tasks) {
      const producers = new Set(reads.flatMap((key) => this.#writer.get(key) ?? []));
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
      for (const next of this.#successorsOf(id)) {
        const left = waiting.get(next)! - 1;
        waiting.set(next, left);
        if (left === 0) released.push(next);
      }
      ready.push(...released.sort((a, b) => b - a));
    }
    return order;
  }

  tasks(): Task[] {
    return this.order().map((id) => this.#tasks.get(id)!.task);
  }

  /** Every edge that was not fused, with its reason; positions are those of `tasks()`. */
  edges(): Edge[] {
    const order = this.order();
    const position = new Map(order.map((id, k) => [id, k]));
    return order.flatMap((id) =>
      this.#tasks.get(id)!.reads.flatMap((key): Edge[] => {
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

export const readsOf = (task: Task): readonly string[] =>
  task.kind === 'contract' ? task.reads : [...readKeysOf(task.kernel)];

export function writesOf(task: Task): readonly string[] {
  if (task.kind === 'contract') return [nodeBufferKey(task.node.id)];
  return task.kernel.stores.map((store) => task.kernel.buffers[store.access.buffer]!.key);
}
