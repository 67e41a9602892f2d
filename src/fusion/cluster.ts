/**
 * Joins maps over the same axes that depend on each other or share an input, in one walk over the kernels:
 *
 *     a = x + 1 (stored, read by many);  b = a * 2;  c = sqrt(a)     →   one kernel that stores what others read
 *
 * The same merge as `merge.ts` makes pairwise, for its commonest case, at a cost that grows with the size of the graph and
 * not with its square. What is left (reductions, other domains) is merged pairwise afterwards. Values do not change.
 */
import {
  type FusedKernel,
  type KernelBuffer,
  mapInstruction,
  readKeysOf,
  TapeBuilder,
} from './fused-kernel.js';
import { type Access, argumentsOf, type Store } from './kernel.js';
import { MAX_BUFFERS } from './merge.js';
import { MAX_MERGED } from './split.js';

/** Clusters that stay open for later kernels. */
const OPEN = 8;

/** Joins kernels, which stand in an order in which they can run; results in such an order are not needed. */
export function joinMaps(kernels: readonly FusedKernel[], isOutput: (key: string) => boolean): FusedKernel[] {
  const open: Cluster[] = [];
  const joined: Cluster[] = [];
  const others: FusedKernel[] = [];
  for (const kernel of kernels) {
    let home: Cluster | undefined;
    for (let k = open.length - 1; k >= 0 && home === undefined; k--) if (open[k]!.add(kernel)) home = open[k];
    for (const cluster of open) if (cluster !== home) cluster.avoid(kernel);
    if (home !== undefined) continue;
    if (kernel.reduced.length > 0 || kernel.tape.length > MAX_MERGED) {
      others.push(kernel);
      continue;
    }
    home = new Cluster(kernel);
    joined.push(home);
    open.push(home);
    for (const cluster of open) if (cluster !== home) cluster.avoid(kernel);
    if (open.length > OPEN) open.shift();
  }
  const readers = countReaders(kernels);
  return [
    ...joined.map((cluster) =>
      cluster.finish((key, inside) => isOutput(key) || inside < (readers.get(key) ?? 0)),
    ),
    ...others,
  ];
}

function countReaders(kernels: readonly FusedKernel[]): Map<string, number> {
  const readers = new Map<string, number>();
  for (const kernel of kernels)
    for (const key of readKeysOf(kernel)) readers.set(key, (readers.get(key) ?? 0) + 1);
  return readers;
}

const placeOf = (access: Access): string => `${access.offset}+${access.strides}|${access.bounds.length}`;

class Cluster {
  readonly #parallel: readonly number[];
  readonly #builder = new TapeBuilder();
  readonly #buffers: KernelBuffer[] = [];
  readonly #positions = new Map<string, number>();
  readonly #values = new Map<string, { value: number; place: string }>();
  readonly #stores: { key: string; store: Store }[] = [];
  readonly #nodes = new Set<number>();
  readonly #readInside = new Map<string, number>();
  /** Values that depend on the cluster but are made outside: who reads them cannot join. */
  readonly #outside = new Set<string>();

  readonly #first: FusedKernel;
  #size = 0;

  constructor(first: FusedKernel) {
    this.#parallel = first.parallel;
    this.#first = first;
    this.#append(first);
  }

  /** Adds a kernel if it belongs here. */
  add(kernel: FusedKernel): boolean {
    if (kernel.reduced.length > 0 || kernel.parallel.length !== this.#parallel.length) return false;
    if (kernel.parallel.some((n, k) => n !== this.#parallel[k])) return false;
    if (this.#builder.instructions.length + kernel.tape.length > MAX_MERGED) return false;
    if (this.#buffers.length + kernel.buffers.length > MAX_BUFFERS) return false;
    const keys = readKeysOf(kernel);
    let shares = false;
    for (const key of keys) {
      if (this.#outside.has(key)) return false;
      shares ||= this.#positions.has(key);
    }
    if (!shares || !this.#readsInPlace(kernel)) return false;
    this.#append(kernel);
    return true;
  }

  /** Whether what the kernel reads of the cluster's values, it reads where they are made. */
  #readsInPlace(kernel: FusedKernel): boolean {
    return kernel.tape.every((i) => {
      const held = i.kind === 'load' ? this.#values.get(kernel.buffers[i.access.buffer]!.key) : undefined;
      return held === undefined || (i.kind === 'load' && placeOf(i.access) === held.place);
    });
  }

  /** Notes a kernel that stays outside; what it makes from the cluster's values taints what reads it. */
  avoid(kernel: FusedKernel): void {
    for (const key of readKeysOf(kernel)) {
      if (!this.#values.has(key) && !this.#outside.has(key)) continue;
      for (const store of kernel.stores) this.#outside.add(kernel.buffers[store.access.buffer]!.key);
      return;
    }
  }

  #bufferAt(buffer: KernelBuffer): number {
    const known = this.#positions.get(buffer.key);
    if (known === undefined) {
      this.#positions.set(buffer.key, this.#buffers.length);
      return this.#buffers.push(buffer) - 1;
    }
    if (buffer.elementCount > this.#buffers[known]!.elementCount) this.#buffers[known] = buffer;
    return known;
  }

  #append(kernel: FusedKernel): void {
    this.#size++;
    for (const key of readKeysOf(kernel)) this.#readInside.set(key, (this.#readInside.get(key) ?? 0) + 1);
    const moved: number[] = [];
    for (const i of kernel.tape) {
      const held = i.kind === 'load' ? this.#values.get(kernel.buffers[i.access.buffer]!.key) : undefined;
      const args = argumentsOf(i).map((arg) => moved[arg]!);
      const same = mapInstruction(
        i,
        args,
        (a) => a,
        (b) => (held === undefined ? this.#bufferAt(kernel.buffers[b]!) : b),
      );
      moved.push(held?.value ?? this.#builder.add(same));
    }
    for (const store of kernel.stores) {
      const buffer = kernel.buffers[store.access.buffer]!;
      const value = moved[store.value]!;
      this.#values.set(buffer.key, { value, place: placeOf(store.access) });
      const access = { ...store.access, buffer: this.#bufferAt(buffer) };
      this.#stores.push({ key: buffer.key, store: { value, access } });
    }
    for (const node of kernel.nodes) this.#nodes.add(node);
  }

  /** The cluster as one kernel, storing what `keeps` says, given how many kernels inside read a value. */
  finish(keeps: (key: string, readInside: number) => boolean): FusedKernel {
    if (this.#size === 1) return this.#first;
    const stores = this.#stores
      .filter(({ key }) => keeps(key, this.#readInside.get(key) ?? 0))
      .map(({ store }) => store);
    return {
      parallel: this.#parallel,
      reduced: [],
      buffers: this.#buffers,
      tape: this.#builder.instructions,
      stores,
      nodes: this.#nodes,
    };
  }
}
