/**
 * Joins maps over the same axes that depend on each other or share an input, in one walk over the kernels:
 *
 *     a = x + 1 (stored, read by many);  b = a * 2;  c = sqrt(a)     →   one kernel that stores what others read
 *
 * The same merge as `merge.ts` makes pairwise, for its commonest case, at a cost that grows with the size of
 * the graph and not with its square. The rest (reductions, other domains) is merged pairwise afterwards.
 * Values do not change.
 */

import { type Access, sameNumbers } from '../kernel/kernel.js';
import type { BufferKey } from './buffer-key.js';
import { MAX_BUFFERS } from './merge-limits.js';
import type { MutableKernel } from './mutable-kernel.js';
import { MAX_MERGED } from './split.js';

/** Clusters that stay open for later kernels. */
const OPEN = 8;

/** A step between kernels that is none: a call, a loop. */
export interface Between {
  readonly reads: readonly BufferKey[];
  readonly writes: readonly BufferKey[];
}

/**
 * Joins kernels, which stand in an order in which they can run; results in such an order are not needed. What
 * the `calls` write stands between the kernels that they read of and those that read it.
 */
export function joinMaps(
  kernels: readonly MutableKernel[],
  calls: readonly Between[],
  isOutput: (key: BufferKey) => boolean,
): MutableKernel[] {
  const joiner = new Joiner(calls);
  const readers = new Map<BufferKey, number>();
  for (const kernel of kernels) {
    for (const key of kernel.reads) readers.set(key, (readers.get(key) ?? 0) + 1);
    joiner.add(kernel);
  }
  return [
    ...joiner.clusters.map((cluster) =>
      cluster.finish((key, inside) => isOutput(key) || inside < (readers.get(key) ?? 0)),
    ),
    ...joiner.others,
  ];
}

/** The producer of some values: a cluster, or a kernel that stays alone. */
interface Maker {
  /** Clusters that this needs, each once; those that were closed by then are replaced by what they need. */
  readonly needs: Cluster[];
  /** The search that came here last. */
  seen: number;
}

const NO_MAKERS: readonly Maker[] = [];

let searches = 0;

class Joiner {
  readonly clusters: Cluster[] = [];
  readonly others: MutableKernel[] = [];
  readonly #open: Cluster[] = [];
  readonly #maker = new Map<BufferKey, Maker>();
  readonly #callOf = new Map<BufferKey, Between>();

  constructor(calls: readonly Between[]) {
    for (const call of calls) for (const key of call.writes) this.#callOf.set(key, call);
  }

  add(kernel: MutableKernel): void {
    const makers = this.#makersFor(kernel);
    const maker = this.#join(kernel, makers) ?? this.#place(kernel);
    for (const need of openAmong(makers))
      if (need !== maker && !maker.needs.includes(need)) maker.needs.push(need);
    for (const { buffer, store } of kernel.uses) if (store !== undefined) this.#maker.set(buffer.key, maker);
  }

  /** The producers of the values that a kernel loads, each once. */
  #makersFor(kernel: MutableKernel): readonly Maker[] {
    let makers: Maker[] | undefined;
    for (const { buffer, loads } of kernel.uses) {
      const maker = loads.length === 0 ? undefined : this.#makerOf(buffer.key);
      if (maker === undefined) continue;
      if (makers === undefined) makers = [maker];
      else if (!makers.includes(maker)) makers.push(maker);
    }
    return makers ?? NO_MAKERS;
  }

  /** The producer of a value; through calls, the kernels that they depend on. */
  #makerOf(wanted: BufferKey): Maker | undefined {
    const known = this.#maker.get(wanted);
    const call = this.#callOf.get(wanted);
    if (known !== undefined || call === undefined) return known;
    const behind = new Set<Maker>();
    const calls = new Set([call]);
    for (const { reads } of calls) {
      for (const key of reads) {
        const maker = this.#maker.get(key);
        const before = this.#callOf.get(key);
        if (maker !== undefined) behind.add(maker);
        else if (before !== undefined) calls.add(before);
      }
    }
    const made: Maker = { needs: openAmong([...behind]), seen: 0 };
    for (const key of call.writes) this.#maker.set(key, made);
    return made;
  }

  /**
   * Joins a map to the newest cluster that takes it; what the map reads of others must not need that cluster.
   */
  #join(kernel: MutableKernel, makers: readonly Maker[]): Cluster | undefined {
    if (kernel.reduced.length > 0) return undefined;
    for (let k = this.#open.length - 1; k >= 0; k--) {
      const cluster = this.#open[k]!;
      if (!cluster.takes(kernel) || leadsTo(makers, cluster)) continue;
      cluster.add(kernel);
      return cluster;
    }
    return undefined;
  }

  /** A place of its own for a kernel: a cluster for a map, in which others may join it. */
  #place(kernel: MutableKernel): Maker {
    if (kernel.reduced.length > 0 || kernel.tape.length > MAX_MERGED) {
      this.others.push(kernel);
      return { needs: [], seen: 0 };
    }
    const made = new Cluster(kernel);
    this.clusters.push(made);
    this.#open.push(made);
    if (this.#open.length > OPEN) this.#open.shift()!.close();
    return made;
  }
}

/** The open clusters that makers are, or need without another open one between. */
function openAmong(makers: readonly Maker[]): Cluster[] {
  const open: Cluster[] = [];
  if (makers.length === 0) return open;
  const search = ++searches;
  const found: Maker[] = [];
  const visit = (maker: Maker): void => {
    if (maker.seen === search) return;
    maker.seen = search;
    found.push(maker);
  };
  makers.forEach(visit);
  for (let k = 0; k < found.length; k++) {
    const maker = found[k]!;
    if (maker instanceof Cluster && maker.isOpen) open.push(maker);
    else maker.needs.forEach(visit);
  }
  return open;
}

/** Whether makers other than the cluster need it. */
function leadsTo(makers: readonly Maker[], cluster: Cluster): boolean {
  if (makers.length === 0 || (makers.length === 1 && makers[0] === cluster)) return false;
  const search = ++searches;
  const found: Maker[] = [];
  for (const maker of makers) {
    if (maker === cluster) continue;
    maker.seen = search;
    found.push(maker);
  }
  for (let k = 0; k < found.length; k++) {
    for (const need of found[k]!.needs) {
      if (need === cluster) return true;
      if (need.seen === search) continue;
      need.seen = search;
      found.push(need);
    }
  }
  return false;
}

const samePlace = (a: Access, b: Access): boolean =>
  a.offset === b.offset &&
  a.bounds.length === b.bounds.length &&
  a.index === undefined &&
  b.index === undefined &&
  sameNumbers(a.strides, b.strides);

class Cluster implements Maker {
  needs: Cluster[] = [];
  seen = 0;
  isOpen = true;
  readonly #kernel: MutableKernel;
  /** How many kernels inside read a value that the cluster stores. */
  readonly #readInside = new Map<BufferKey, number>();
  #size = 1;

  constructor(first: MutableKernel) {
    this.#kernel = first;
  }

  /**
   * Whether a map over the same axes shares an array with the cluster, and reads the cluster's values where
   * they are made.
   */
  takes(kernel: MutableKernel): boolean {
    const own = this.#kernel;
    if (!sameNumbers(kernel.parallel, own.parallel)) return false;
    if (own.tape.length + kernel.tape.length > MAX_MERGED) return false;
    if (own.uses.length + kernel.uses.length > MAX_BUFFERS) return false;
    let shares = false;
    for (const { buffer, loads } of kernel.uses) {
      const use = loads.length === 0 ? undefined : own.useOf(buffer.key);
      if (use === undefined) continue;
      shares = true;
      const { store } = use;
      if (store !== undefined && !loads.every((load) => samePlace(load, store.access))) return false;
    }
    return shares;
  }

  add(kernel: MutableKernel): void {
    this.#size++;
    this.#noteReads(kernel);
    this.#kernel.add(kernel, undefined);
  }

  #noteReads(kernel: MutableKernel): void {
    for (const key of kernel.reads)
      if (this.#kernel.storeOf(key) !== undefined)
        this.#readInside.set(key, (this.#readInside.get(key) ?? 0) + 1);
  }

  /** Takes nothing more: what it needs is known. */
  close(): void {
    this.isOpen = false;
    this.needs = openAmong(this.needs);
  }

  /** The cluster as one kernel, storing what `isLiveOut` says, given how many kernels inside read a value. */
  finish(isLiveOut: (key: BufferKey, readInside: number) => boolean): MutableKernel {
    if (this.#size > 1) this.#kernel.keepStores((key) => isLiveOut(key, this.#readInside.get(key) ?? 0));
    return this.#kernel;
  }
}
