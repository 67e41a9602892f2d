/**
 * Merges the kernels of a task graph: producers into what reads them, then kernels that read the same array;
 * and says why the others stay apart. Called by `partition.ts`.
 */
import { completed, Pace, type Slices } from '../../host/slices.js';
import { affineLoadOf } from '../kernel/algebra.js';
import { product } from '../kernel/kernel.js';
import { type BufferKey, bufferName } from './buffer-key.js';
import type { KernelInstance } from './kernel-instance.js';
import { MAX_BUFFERS } from './merge-limits.js';
import { MergedStructures } from './merged-structures.js';
import type { MutableKernel } from './mutable-kernel.js';
import { MAX_MERGED, MAX_OF_ROWS } from './split.js';
import type { Structures } from './structures.js';
import { type BetweenNode, type Call, TaskGraph, TaskNode } from './task-graph.js';
import type { IsLiveOut, Reason } from './union.js';

/** A kernel, or a call or a loop between kernels. */
export type Task =
  | { readonly kind: 'kernel'; readonly kernel: KernelInstance }
  | {
      readonly kind: 'between';
      readonly nodes: readonly BetweenNode[];
      readonly reads: readonly BufferKey[];
    };

/** A stored value that one task hands to another, and why they are two. */
export interface Edge {
  readonly buffer: string;
  readonly from: number;
  readonly to: number;
  readonly reason: Reason;
}

/** An array in memory that two tasks read, and why they are two. */
export interface SharedRead {
  readonly buffer: string;
  readonly first: number;
  readonly second: number;
  readonly reason: Reason;
}

/** Results of whole rows that a kernel has, at most: each has an accumulator in every thread. */
const MOST_ROW_RESULTS = 96;
/** Siblings that are compared with one kernel before it is left alone. */
const MAX_SIBLINGS = 16;
const MAX_ROUNDS = 8;
/** Readers of an array that a later one is compared with, for why it is apart. */
const MOST_COMPARED = 4;
/** Work between pauses, in instructions of kernels that are merged, which take up to 1 µs each. */
const WORK_OF_SLICE = 1024;
/** Of looking for a path between two tasks. */
const WORK_OF_SEARCH = 16;

export class KernelGraph {
  readonly #graph = new TaskGraph();
  readonly #outputs: ReadonlySet<BufferKey>;
  readonly #merges: MergedStructures;
  #searches = 0;
  readonly #pace = new Pace(WORK_OF_SLICE);

  /** `structures`: those of the kernels. */
  constructor(outputs: ReadonlySet<BufferKey>, structures: Structures) {
    this.#outputs = outputs;
    this.#merges = new MergedStructures(structures);
  }

  /** `isApart`: whether it stays as it is. */
  addKernel(kernel: KernelInstance, isApart: boolean): void {
    this.#graph.add(new TaskNode(kernel, undefined, isApart));
  }

  addCall(call: Call): void {
    this.#graph.add(new TaskNode(undefined, call));
  }

  /** Merges until nothing more fits. */
  *mergeAll(): Slices<void> {
    let horizontal = true;
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const vertical = yield* this.#mergeProducers();
      // Siblings that were compared already stay apart.
      if (!vertical && !horizontal) return;
      horizontal = yield* this.#mergeSiblings();
      if (!vertical && !horizontal) return;
    }
  }

  *#mergeProducers(): Slices<boolean> {
    let changed = false;
    const order = yield* this.#graph.order();
    for (let rank = 0; rank < order.length; rank++) order[rank]!.rank = rank;
    for (const consumer of order) {
      if (this.#pace.isDue()) yield;
      let task = consumer;
      for (let merged = this.#mergeProducer(task); merged !== undefined; merged = this.#mergeProducer(task)) {
        task = merged;
        changed = true;
      }
    }
    return changed;
  }

  /** Merges the first producer that fits into a task; the merged task. */
  #mergeProducer(consumer: TaskNode): TaskNode | undefined {
    if (consumer.kernel === undefined) return undefined;
    const search = ++this.#searches;
    for (const key of consumer.kernel.reads) {
      const producer = this.#graph.writerOf(key);
      if (producer === undefined || producer.tried === search) continue; // one value read elsewhere keeps the two apart
      producer.tried = search;
      if (consumer.apartFromProducers?.includes(producer.number) === true) continue;
      this.#pace.add(WORK_OF_SEARCH);
      const isApart =
        this.#obstacle(producer, consumer) !== undefined || !this.#merge(producer, consumer, key);
      if (isApart) {
        consumer.apartFromProducers ??= [];
        consumer.apartFromProducers.push(producer.number);
        continue;
      }
      producer.rank = consumer.rank;
      return producer;
    }
    return undefined;
  }

  /** Makes a task one with another, where their kernels fit. `key`: a value of the first that the other reads. */
  #merge(task: TaskNode, other: TaskNode, key?: BufferKey): boolean {
    const [kernel, added] = [task.kernel!, other.kernel!];
    this.#pace.add(kernel.model.tape.length + added.model.tape.length);
    if (this.#merges.merge(kernel, added, key, this.#isLiveOut(task, other)) !== undefined) return false;
    this.#graph.merge(task, other, kernel);
    return true;
  }

  /** Why two tasks, one of which reads what the other stores, are not merged, whatever their kernels are. */
  #obstacle(producer: TaskNode, consumer: TaskNode): Reason | undefined {
    const p = producer.kernel?.model;
    const c = consumer.kernel?.model;
    if (isLoop(producer) || isLoop(consumer)) return 'loop';
    if (c === undefined && p !== undefined && isCopy(p)) return 'operand-copy';
    if (p === undefined || c === undefined) return reasonOfCall(p === undefined ? producer : consumer);
    if (producer.isApart || consumer.isApart) return 'sum-order';
    if (isTooLong(p, c)) return 'instruction-limit';
    const isBetween = this.#graph.reaches(producer, consumer, true, (task) => task.rank <= consumer.rank);
    return isBetween ? 'kernel-between' : undefined;
  }

  /** Whether a value must still be stored once the two kernels are one. */
  #isLiveOut(a: TaskNode, b: TaskNode): IsLiveOut {
    return (key) => {
      if (this.#outputs.has(key)) return true;
      for (const reader of this.#graph.readersOf(key)) if (reader !== a && reader !== b) return true;
      return false;
    };
  }

  *#mergeSiblings(): Slices<boolean> {
    let changed = false;
    yield* this.#graph.assignLevels();
    for (const key of this.#graph.keys()) {
      const readers = this.#graph.readersOf(key);
      if (readers.size < 2) continue;
      const tried: TaskNode[] = [];
      for (const reader of [...readers].sort((a, b) => a.number - b.number)) {
        if (reader.kernel === undefined) continue;
        if (this.#pace.isDue()) yield;
        if (this.#joinSibling(reader, tried)) changed = true;
        else tried.push(reader);
      }
    }
    return changed;
  }

  /** Merges a task into one of `siblings` (replacing it there), if one fits. */
  #joinSibling(task: TaskNode, siblings: TaskNode[]): boolean {
    const first = Math.max(0, siblings.length - MAX_SIBLINGS);
    for (let k = first; k < siblings.length; k++) {
      const sibling = siblings[k]!;
      if (task.apartFromSiblings?.includes(sibling.number) === true) continue;
      this.#pace.add(2 * WORK_OF_SEARCH);
      // The kernel that reduces more axes gives the domain.
      const moreReduced = sibling.kernel!.model.reduced.length >= task.kernel!.model.reduced.length;
      const [into, other] = moreReduced ? [sibling, task] : [task, sibling];
      if (!this.#mayJoin(into, other) || !this.#merge(into, other)) {
        task.apartFromSiblings ??= [];
        task.apartFromSiblings.push(sibling.number);
        continue;
      }
      into.level = Math.max(into.level, other.level);
      this.#graph.raiseReaders(into);
      siblings[k] = into;
      return true;
    }
    return false;
  }

  /** Whether two siblings, as tasks, may be one. */
  #mayJoin(a: TaskNode, b: TaskNode): boolean {
    const first = a.kernel!.model;
    const second = b.kernel!.model;
    return (
      !a.isApart &&
      !b.isApart &&
      first.domainSize === second.domainSize &&
      !isTooLong(first, second) &&
      !isTooWide(first, second) &&
      !this.#depends(a, b) &&
      !this.#depends(b, a)
    );
  }

  /** Whether `to` depends on `from`, by levels. */
  #depends(from: TaskNode, to: TaskNode): boolean {
    if (from.level >= to.level) return false;
    return this.#graph.reaches(from, to, false, (task) => task === to || task.level < to.level);
  }

  /** The tasks in an order in which they can run. */
  *tasks(): Slices<Task[]> {
    const order = yield* this.#graph.order();
    return order.map(({ kernel, call }): Task => {
      if (kernel !== undefined) return { kind: 'kernel', kernel };
      const { nodes, reads } = call!;
      return { kind: 'between', nodes, reads };
    });
  }

  /** Every edge that was not fused, with its reason; positions are those of `tasks()`. */
  edges(): Edge[] {
    const order = completed(this.#graph.order());
    for (const [rank, task] of order.entries()) task.rank = rank;
    return order.flatMap((task) =>
      task.reads.flatMap((key): Edge[] => {
        const producer = this.#graph.writerOf(key);
        if (producer === undefined || producer === task) return [];
        const reason =
          this.#obstacle(producer, task) ??
          this.#merges.reasonOf(producer.kernel!, task.kernel!, key, this.#isLiveOut(producer, task)) ??
          'kernel-between';
        return [{ buffer: bufferName(key), from: producer.rank, to: task.rank, reason }];
      }),
    );
  }

  /**
   * Every array that several tasks read, with the reason why each later one is not one with an earlier one: with the first that it
   * does not need, if any. `isThere`: of their positions, those of tasks that the plan still has.
   */
  sharedReads(isThere: (position: number) => boolean = () => true): SharedRead[] {
    const order = completed(this.#graph.order());
    for (const [rank, task] of order.entries()) task.rank = rank;
    completed(this.#graph.assignLevels());
    return this.#graph.keys().flatMap((key): SharedRead[] => {
      const readers = [...this.#graph.readersOf(key)].filter(({ rank }) => isThere(rank));
      const [first, ...others] = readers.sort((a, b) => a.rank - b.rank);
      return others.map((second, k) => {
        const earlier = readers.slice(0, Math.min(k + 1, MOST_COMPARED));
        const other = earlier.find((one) => !this.#areInTurn(one, second)) ?? first!;
        const reason = this.#whyApart(other, second, key);
        return { buffer: bufferName(key), first: other.rank, second: second.rank, reason };
      });
    });
  }

  #areInTurn(a: TaskNode, b: TaskNode): boolean {
    return this.#depends(a, b) || this.#depends(b, a);
  }

  /** Why two tasks that read one array are two. */
  #whyApart(a: TaskNode, b: TaskNode, key: BufferKey): Reason {
    if (isLoop(a) || isLoop(b)) return 'loop';
    if (this.#areInTurn(a, b)) return 'needs-result';
    if (a.kernel === undefined || b.kernel === undefined) return 'library-call';
    if (a.isApart || b.isApart) return 'sum-order';
    const [first, second] = [a.kernel.model, b.kernel.model];
    if (first.domainSize !== second.domainSize)
      return readsPart(a.kernel, b.kernel, key) ? 'part-read' : 'domain-mismatch';
    if (isTooLong(first, second)) return 'instruction-limit';
    if (isTooWide(first, second)) return 'buffer-limit';
    return this.#merges.reasonOf(a.kernel, b.kernel, undefined, this.#isLiveOut(a, b)) ?? 'many-readers';
  }
}

/** Why a call is apart from a kernel whose values it reads, or that reads its own. */
function reasonOfCall({ call }: TaskNode): Reason {
  const node = call?.nodes[0];
  if (node?.kind === 'contract') return 'product-call';
  return node?.kind === 'call' && node.routine === 'attention' ? 'attention-call' : 'library-call';
}

/** Whether one of two kernels walks an array as the other one does, but for a smaller or larger part of it. */
function readsPart(a: KernelInstance, b: KernelInstance, key: BufferKey): boolean {
  const loadsOf = (kernel: KernelInstance): readonly string[][] => {
    const { sizes, uses } = kernel.model;
    const { loads } = uses[kernel.buffers.findIndex((buffer) => buffer.key === key)]!;
    return loads.map(({ strides }) => {
      const moving = [...strides.keys()].filter((axis) => strides[axis] !== 0);
      moving.sort((one, other) => strides[other]! - strides[one]!);
      return [moving.map((axis) => strides[axis]).join(), moving.map((axis) => sizes[axis]).join()];
    });
  };
  const others = loadsOf(b);
  return loadsOf(a).some(([strides, sizes]) =>
    others.some(([otherStrides, otherSizes]) => strides === otherStrides && sizes !== otherSizes),
  );
}

const isLoop = ({ call }: TaskNode): boolean => call?.nodes[0]?.kind === 'loop';
/** Results of whole rows that a kernel stores, where it has several; else 0. */
function rowResults({ parallel, reduced, uses }: MutableKernel): number {
  if (reduced.length === 0 || product(parallel) > 1) return 0;
  const count = uses.reduce((sum, { stores }) => sum + stores.length, 0);
  return uses.some(({ stores }) => stores.length > 1) ? count : 0;
}

/** Two kernels, one of which has several results of whole rows, mostly share what they compute of a row. */
function isTooLong(a: MutableKernel, b: MutableKernel): boolean {
  const arithmetic = a.arithmetic + b.arithmetic;
  if (arithmetic <= MAX_MERGED) return false;
  const [own, others] = [rowResults(a), rowResults(b)];
  return own + others === 0 || own + others > MOST_ROW_RESULTS || arithmetic > MAX_OF_ROWS;
}

/**
 * Whether two kernels that do not read each other's values store more than one kernel may have buffers. Many siblings
 * of one array meet kernels that are full: that is seen here, before `merge-limits.ts` counts exactly.
 */
const isTooWide = (a: MutableKernel, b: MutableKernel): boolean =>
  Math.max(a.bufferCount + b.stored.length, b.bufferCount + a.stored.length) > MAX_BUFFERS;
/** Whether a kernel only copies what it reads. */
const isCopy = ({ tape }: MutableKernel): boolean =>
  tape.length === 1 && affineLoadOf(tape[0]!) !== undefined;
