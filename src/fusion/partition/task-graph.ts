/**
 * TaskGraph: kernels, library calls and loops, and who writes and who reads each buffer, which is what
 * depends on what. Merging two tasks costs what one of them has. `kernel-graph.ts` decides what merges.
 */

import type { GraphNodeOf } from '../../graph/graph.js';
import { InternalError } from '../../host/errors.js';
import type { Slices } from '../../host/slices.js';
import type { BufferKey } from './buffer-key.js';
import type { KernelInstance } from './kernel-instance.js';

/** The nodes that no kernel computes. */
export type CallNode = GraphNodeOf<'contract' | 'call'>;
export type BetweenNode = CallNode | GraphNodeOf<'loop'>;

/** A task that is no kernel: a call or a loop, with the nodes of its results. */
export interface Call {
  readonly nodes: readonly BetweenNode[];
  readonly reads: readonly BufferKey[];
  readonly writes: readonly BufferKey[];
}

/** A kernel or a call. */
export class TaskNode {
  /** Newer tasks have higher numbers; a merged task is new. */
  number = 0;
  /**
   * Position in the order that producers are merged in; a merged task has its consumer's. While tasks are
   * taken in that order, no path to a task leads through one of a higher rank: such a task is still as it was
   * in the order.
   */
  rank = 0;
  /** Lower than that of every task that reads what this one writes, once `assignLevels` was called. */
  level = 0;
  /** Values that it reads of tasks which `order` has not taken yet. */
  waiting = 0;
  /** The search that came here last. */
  seen = 0;
  /** The search for a producer to merge with that tried this last. */
  tried = 0;
  /** Numbers of the tasks that this one does not merge with, as consumer or as sibling. */
  apartFromProducers: number[] | undefined;
  apartFromSiblings: number[] | undefined;

  constructor(
    public kernel: KernelInstance | undefined,
    readonly call: Call | undefined,
    /** Whether it merges with no other: of a reduction that has no order of sums in common with those of its kernel. */
    readonly isApart = false,
  ) {}

  get reads(): readonly BufferKey[] {
    return this.kernel?.reads ?? this.call?.reads ?? [];
  }

  get writes(): readonly BufferKey[] {
    return this.kernel?.writes ?? this.call!.writes;
  }
}

/** Tasks between pauses: each takes some 0.3 µs, and one that thousands read longer. */
const TASKS_OF_SLICE = 1024;

const newestFirst = (a: TaskNode, b: TaskNode): number => b.number - a.number;

/** Lists of up to so many tasks are sorted in place, which makes no memory. */
const SHORT = 8;

function sortNewestFirst(tasks: TaskNode[]): void {
  if (tasks.length > SHORT) {
    tasks.sort(newestFirst);
    return;
  }
  for (let k = 1; k < tasks.length; k++) {
    const task = tasks[k]!;
    let at = k;
    for (; at > 0 && tasks[at - 1]!.number < task.number; at--) tasks[at] = tasks[at - 1]!;
    tasks[at] = task;
  }
}

/** Tasks that a search for a path looks at before it takes two tasks to be connected. */
const MAX_SEARCHED = 1000;

export class TaskGraph {
  readonly #tasks = new Set<TaskNode>();
  readonly #writer = new Map<BufferKey, TaskNode>();
  readonly #readers = new Map<BufferKey, Set<TaskNode>>();
  /** The order of the tasks, until some are merged. */
  #order: readonly TaskNode[] | undefined;
  #next = 0;
  #searches = 0;

  add(task: TaskNode): void {
    task.number = this.#next++;
    this.#order = undefined;
    this.#tasks.add(task);
    for (const key of task.reads) this.readersOf(key).add(task);
    for (const key of task.writes) {
      this.#writer.set(key, task);
      this.readersOf(key);
    }
  }

  writerOf(key: BufferKey): TaskNode | undefined {
    return this.#writer.get(key);
  }

  readersOf(key: BufferKey): Set<TaskNode> {
    let readers = this.#readers.get(key);
    if (readers === undefined) {
      readers = new Set();
      this.#readers.set(key, readers);
    }
    return readers;
  }

  /** All buffers that were ever read or written. */
  keys(): BufferKey[] {
    return [...this.#readers.keys()];
  }

  /** Makes two tasks one: `task` becomes `kernel`, `gone` leaves. `gone` must not write what `task` reads. */
  merge(task: TaskNode, gone: TaskNode, kernel: KernelInstance): void {
    this.#order = undefined;
    for (const key of gone.writes) this.#writer.set(key, task);
    for (const key of gone.reads) {
      const readers = this.readersOf(key);
      readers.delete(gone);
      if (kernel.reads.includes(key)) readers.add(task);
    }
    task.kernel = kernel;
    task.number = this.#next++;
    task.apartFromProducers = undefined;
    task.apartFromSiblings = undefined;
    gone.kernel = undefined;
    this.#tasks.delete(gone);
  }

  /**
   * Whether `to` depends on `from`; `indirect`: through at least one other task. Only tasks that `mayLead`
   * there are looked at. Producers of `to` come first, then the newest ones: where there is a path, it
   * mostly leads there. A search that grows too long counts as a path: what is far apart gains little by
   * merging.
   */
  reaches(from: TaskNode, to: TaskNode, indirect: boolean, mayLead: (task: TaskNode) => boolean): boolean {
    if (!indirect && this.#isReadBy(from, to)) return true;
    for (const key of to.reads) {
      const before = this.#writer.get(key);
      if (before !== undefined && this.#isReadBy(from, before)) return true;
    }
    const search = ++this.#searches;
    const open: TaskNode[] = [];
    let searched = 0;
    for (let task: TaskNode | undefined = from; task !== undefined; task = open.pop()) {
      for (const key of task.writes) {
        for (const next of this.#readers.get(key)!) {
          if (next === to && task !== from) return true;
          if (next === to || next.seen === search || !mayLead(next)) continue;
          next.seen = search;
          searched++;
          open.push(next);
        }
      }
      if (searched > MAX_SEARCHED) return true;
    }
    return false;
  }

  /** Whether a task reads what another writes. */
  #isReadBy(writer: TaskNode, task: TaskNode): boolean {
    for (const key of writer.writes) if (this.#readers.get(key)!.has(task)) return true;
    return false;
  }

  /** The tasks, producers first; ties keep the order in which tasks were added. */
  *order(): Slices<readonly TaskNode[]> {
    this.#order ??= yield* this.#findOrder();
    return this.#order;
  }

  *#findOrder(): Slices<readonly TaskNode[]> {
    for (const task of this.#tasks) task.waiting = 0;
    let count = 0;
    for (const task of this.#tasks) {
      if (++count % TASKS_OF_SLICE === 0) yield;
      for (const key of task.writes) for (const next of this.#readers.get(key)!) next.waiting++;
    }
    const ready: TaskNode[] = [];
    for (const task of this.#tasks) if (task.waiting === 0) ready.push(task);
    ready.sort(newestFirst);
    const order: TaskNode[] = [];
    const released: TaskNode[] = [];
    // Depth first from what became ready last, so that a value is consumed soon after it is made.
    while (ready.length > 0) {
      const task = ready.pop()!;
      if (order.push(task) % TASKS_OF_SLICE === 0) yield;
      released.length = 0;
      for (const key of task.writes)
        for (const next of this.#readers.get(key)!) if (--next.waiting === 0) released.push(next);
      if (released.length > 1) sortNewestFirst(released);
      for (let k = 0; k < released.length; k++) ready.push(released[k]!);
    }
    if (order.length < this.#tasks.size) throw new InternalError('kernels that wait for each other');
    return order;
  }

  /** Gives every task its level: the length of the longest path that leads to it. */
  *assignLevels(): Slices<void> {
    const order = yield* this.order();
    for (const task of order) task.level = 0;
    for (let k = 0; k < order.length; k++) {
      if (k % TASKS_OF_SLICE === TASKS_OF_SLICE - 1) yield;
      const { writes, level } = order[k]!;
      for (const key of writes)
        for (const next of this.#readers.get(key)!) if (next.level <= level) next.level = level + 1;
    }
  }

  /** Lifts what depends on a task above it. */
  raiseReaders(start: TaskNode): void {
    const raised = [start];
    for (let task = raised.pop(); task !== undefined; task = raised.pop()) {
      for (const key of task.writes) {
        for (const next of this.#readers.get(key)!) {
          if (next.level > task.level) continue;
          next.level = task.level + 1;
          raised.push(next);
        }
      }
    }
  }
}
