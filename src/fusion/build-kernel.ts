/**
 * Builds the kernel of one root: a node whose value is stored. Starting at the root it pulls in, through views, every
 * node that is not itself stored, and writes them as one tape; stored nodes and sources become loads.
 *
 *     %3 = sum over [1] (multiply %1 (permute %2))   →   parallel [i] reduced [j]; load %1[i,j]; load %2[j,i]; …
 *
 * A node read through two different index maps is computed twice (`partition.ts` decides when that is right). The
 * walk is iterative: a chain may be 100,000 nodes long (`split.ts` cuts what is too long for a kernel).
 */
import { type DType, isComplex, isHalf, type Scalar } from '../graph/dtype.js';
import { denseStrides, type Graph, type GraphNode, type GraphNodeOf, nodeOf } from '../graph/graph.js';
import { accumulatorOf, reductionRow } from '../graph/reductions.js';
import { BufferList, nodeBuffer, sourceBuffer } from './buffer-list.js';
import type { FusedKernel, KernelBuffer } from './fused-kernel.js';
import { broadcastMap, combine, type IndexMap, mapThroughView, NeedsSplit, NotAffine } from './index-map.js';
import type { Access } from './kernel.js';
import { KernelDomain } from './kernel-domain.js';
import { TapeBuilder } from './tape-builder.js';
import { combinePairwise, elementMaps, UNROLLED } from './unroll.js';

/** A view whose input has to be stored, found while a kernel was built. */
export class MustStore {
  constructor(readonly node: number) {}
}

/** The kernel that computes `root`, given which nodes have a buffer of their own. Throws `MustStore`. */
export function buildKernel(graph: Graph, root: number, stored: ReadonlySet<number>): FusedKernel {
  const node = nodeOf(graph, root);
  let domain =
    node.kind === 'reduce'
      ? KernelDomain.of(nodeOf(graph, node.inputs[0]!).shape, node.axes)
      : KernelDomain.of(node.shape, []);
  for (;;) {
    try {
      return new Puller(graph, node, domain, stored).build();
    } catch (error) {
      if (!(error instanceof NeedsSplit)) throw error;
      domain = domain.split(error);
    }
  }
}

/** An index map, and the values of the nodes that were read through it. */
interface Place {
  readonly map: IndexMap;
  readonly values: Map<number, number>;
}

/** A node at a place. */
interface Need {
  readonly id: number;
  readonly place: Place;
}

/** A node on its way into the tape. */
interface Task extends Need {
  readonly node: GraphNode;
  readonly needs: readonly Need[];
  /** How many of `needs` are known. */
  done: number;
}

class Puller {
  readonly #graph: Graph;
  readonly #root: GraphNode;
  readonly #stored: ReadonlySet<number>;
  readonly #domain: KernelDomain;
  readonly #axes: number;
  readonly #start: Place;
  readonly #tape = new TapeBuilder();
  readonly #buffers = new BufferList();
  readonly #places = new Map<string, Place>();
  readonly #nodes = new Set<number>();
  readonly #origins: number[] = [];

  constructor(graph: Graph, root: GraphNode, domain: KernelDomain, stored: ReadonlySet<number>) {
    this.#graph = graph;
    this.#root = root;
    this.#stored = stored;
    this.#domain = domain;
    this.#axes = domain.sizes.length;
    this.#start = { map: domain.start, values: new Map() };
    this.#places.set(domain.start.key, this.#start);
  }

  build(): FusedKernel {
    const root = this.#root;
    this.#nodes.add(root.id);
    const value = root.kind === 'reduce' ? this.#reduce(root) : this.#pull(root.id, root.id);
    this.#note(root.id);
    const buffer = this.#buffers.at(nodeBuffer(root));
    const strides = this.#domain.outputStrides();
    return {
      parallel: this.#domain.parallel,
      reduced: this.#domain.reduced,
      buffers: this.#buffers.all,
      tape: this.#tape.instructions,
      stores: [{ value, access: { buffer, offset: 0, strides, bounds: [] } }],
      nodes: this.#nodes,
      origins: this.#origins,
      writer: this.#tape,
    };
  }

  #reduce(root: GraphNodeOf<'reduce'>): number {
    const input = nodeOf(this.#graph, root.inputs[0]!);
    const arg = this.#cast(this.#pull(input.id, undefined), accumulatorOf(input.dtype));
    const args = [arg];
    if (reductionRow(root.reduction).indexed) {
      const weights = denseStrides(root.axes.map((axis) => input.shape[axis]!));
      const coordinates = root.axes.map((axis) => this.#start.map.coordinates[axis]!);
      const affine = combine(coordinates, weights, 0, this.#axes);
      args.push(this.#tape.add({ kind: 'index', dtype: 'int64', affine }));
    }
    const dtype = isHalf(root.dtype) ? 'float32' : root.dtype;
    return this.#cast(this.#tape.add({ kind: 'reduce', dtype, reduction: root.reduction, args }), root.dtype);
  }

  #cast(value: number, dtype: DType): number {
    return this.#tape.cast(value, dtype);
  }

  /** The value of a node where the domain starts. `asRoot`: a node to compute there even though it is stored. */
  #pull(start: number, asRoot: number | undefined): number {
    const stack: Task[] = [];
    this.#enter(stack, { id: start, place: this.#start }, asRoot);
    while (stack.length > 0) {
      const task = stack[stack.length - 1]!;
      const { needs } = task;
      while (task.done < needs.length && isKnown(needs[task.done]!)) task.done++;
      if (task.done < needs.length) {
        this.#enter(stack, needs[task.done]!, asRoot);
      } else {
        stack.pop();
        this.#know(task, this.#write(task.node, task.place.map, needs));
      }
    }
    return this.#start.values.get(start)!;
  }

  /** Loads what is stored; what has to be computed goes on the stack. */
  #enter(stack: Task[], need: Need, asRoot: number | undefined): void {
    const { id, place } = need;
    const node = nodeOf(this.#graph, id);
    if (this.#stored.has(id) && !(id === asRoot && place === this.#start)) {
      this.#know(need, this.#load(nodeBuffer(node), place.map, denseStrides(node.shape), 0));
      return;
    }
    const line = this.#lineOfReshape(node, place.map);
    if (line === undefined) stack.push({ id, place, node, needs: this.#needs(node, place), done: 0 });
    else this.#know(need, line);
  }

  /** Notes a value, and the node that the newest instructions belong to. */
  #know({ id, place }: Need, value: number): void {
    this.#note(id);
    place.values.set(id, value);
  }

  #note(node: number): void {
    while (this.#origins.length < this.#tape.instructions.length) this.#origins.push(node);
  }

  /** The place of an index map. */
  #placeOf(map: IndexMap): Place {
    let place = this.#places.get(map.key);
    if (place === undefined) {
      place = { map, values: new Map() };
      this.#places.set(map.key, place);
    }
    return place;
  }

  /** The inputs a node needs, each at its own place. */
  #needs(node: GraphNode, place: Place): Need[] {
    switch (node.kind) {
      case 'map':
      case 'cast':
        return node.inputs.map((id) => {
          const map = broadcastMap(place.map, nodeOf(this.#graph, id).shape, node.shape, this.#axes);
          return { id, place: map === place.map ? place : this.#placeOf(map) };
        });
      case 'view': {
        const input = nodeOf(this.#graph, node.inputs[0]!);
        try {
          const { sizes } = this.#domain;
          const map = mapThroughView(node.view, place.map, node.shape, input.shape, sizes);
          return [{ id: input.id, place: this.#placeOf(map) }];
        } catch (error) {
          if (error instanceof NotAffine) throw new MustStore(input.id);
          throw error;
        }
      }
      case 'reduce': {
        if (!(node.reduction in UNROLLED)) return [];
        const [id] = node.inputs as readonly [number];
        const { shape } = nodeOf(this.#graph, id);
        const maps = elementMaps(place.map, shape, node.axes, this.#axes);
        return maps.map((map) => ({ id, place: this.#placeOf(map) }));
      }
      default:
        return [];
    }
  }

  #write(node: GraphNode, map: IndexMap, needed: readonly Need[]): number {
    this.#nodes.add(node.id);
    const args = needed.map(({ id, place }) => place.values.get(id)!);
    switch (node.kind) {
      case 'const':
        return this.#tape.add({ kind: 'const', dtype: node.dtype, value: node.value });
      case 'iota':
        return this.#tape.add({ kind: 'index', dtype: 'int64', affine: map.coordinates[0]! });
      case 'map':
        return this.#tape.map(node.op, args, node.dtype);
      case 'cast':
        return this.#cast(args[0]!, node.dtype);
      case 'view':
        return node.view.type === 'pad' ? this.#padded(args[0]!, needed[0]!.place.map, map) : args[0]!;
      case 'source':
        return this.#load(sourceBuffer(node), map, node.strides, node.offset);
      case 'reduce':
        return this.#unrolled(node, args);
      default:
        throw new MustStore(node.id); // a reduction or contraction inside another kernel: never inlined
    }
  }

  /** A short reduction inside another. Halves are summed in float32, as every reduction does. */
  #unrolled(node: GraphNodeOf<'reduce'>, values: readonly number[]): number {
    const op = UNROLLED[node.reduction];
    if (op === undefined) throw new MustStore(node.id);
    const wide = values.map((value) =>
      this.#cast(value, accumulatorOf(this.#tape.instructions[value]!.dtype)),
    );
    return this.#cast(
      combinePairwise(wide, (a, b) => this.#tape.map(op, [a, b])),
      node.dtype,
    );
  }

  /** Zero outside the bounds that a pad added. Loads see to that themselves. */
  #padded(value: number, inner: IndexMap, outer: IndexMap): number {
    const instruction = this.#tape.instructions[value]!;
    if (instruction.kind === 'load' || inner.bounds.length === outer.bounds.length) return value;
    const { dtype } = instruction;
    const computed: DType = isHalf(dtype) ? 'float32' : dtype;
    const inside = this.#tape.add({ kind: 'inside', dtype: 'bool', bounds: inner.bounds });
    const zero = this.#tape.add({ kind: 'const', dtype: computed, value: zeroOf(computed) });
    return this.#cast(this.#tape.map('where', [inside, this.#cast(value, computed), zero]), dtype);
  }

  #load(stored: KernelBuffer, map: IndexMap, strides: readonly number[], offset: number): number {
    const address = combine(map.coordinates, strides, offset, this.#axes);
    const access: Access = { ...address, buffer: this.#buffers.at(stored), bounds: map.bounds };
    return this.#tape.add({ kind: 'load', dtype: stored.dtype, access });
  }

  /** A reshape of a stored node reads its buffer as a line: no need to find the node's own coordinates. */
  #lineOfReshape(node: GraphNode, map: IndexMap): number | undefined {
    if (node.kind !== 'view' || node.view.type !== 'reshape') return undefined;
    const input = nodeOf(this.#graph, node.inputs[0]!);
    if (!this.#stored.has(input.id)) return undefined;
    this.#nodes.add(node.id);
    return this.#load(nodeBuffer(input), map, denseStrides(node.shape), 0);
  }
}

const isKnown = ({ id, place }: Need): boolean => place.values.has(id);

const zeroOf = (dtype: DType): Scalar => {
  if (dtype === 'bool') return false;
  if (dtype === 'int64' || dtype === 'uint64') return 0n;
  return isComplex(dtype) ? { re: 0, im: 0 } : 0;
};
