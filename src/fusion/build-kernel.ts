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
import {
  denseStrides,
  type Graph,
  type GraphNode,
  type GraphNodeOf,
  nodeOf,
  sizeOfShape,
} from '../graph/graph.js';
import { accumulatorOf, reductionRow } from '../graph/reductions.js';
import { type FusedKernel, type KernelBuffer, nodeBufferKey, sourceBufferKey } from './fused-kernel.js';
import {
  broadcastMap,
  combine,
  type IndexMap,
  indexMap,
  mapThroughView,
  NeedsSplit,
  NotAffine,
} from './index-map.js';
import type { Access, Affine, Instruction } from './kernel.js';
import { TapeBuilder } from './tape-builder.js';
import { combinePairwise, elementMaps, UNROLLED } from './unroll.js';

/** A view whose input has to be stored, found while a kernel was built. */
export class MustStore {
  constructor(readonly node: number) {}
}

/** The kernel that computes `root`, given which nodes have a buffer of their own. Throws `MustStore`. */
export function buildKernel(graph: Graph, root: number, isStored: (id: number) => boolean): FusedKernel {
  const node = nodeOf(graph, root);
  const domain = node.kind === 'reduce' ? nodeOf(graph, node.inputs[0]!).shape : node.shape;
  const reduced = new Set(node.kind === 'reduce' ? node.axes : []);
  let splits: number[][] = domain.map((n) => (n === 1 ? [] : [n]));
  for (;;) {
    try {
      return new Puller(graph, node, splits, reduced, isStored).build();
    } catch (error) {
      if (!(error instanceof NeedsSplit)) throw error;
      splits = splitAxis(splits, reduced, error);
    }
  }
}

/** Domain positions: parallel pieces in order, then reduced ones. */
function axesInOrder(
  splits: readonly number[][],
  reduced: ReadonlySet<number>,
): { axis: number; piece: number }[] {
  const all = splits.flatMap((pieces, axis) => pieces.map((_, piece) => ({ axis, piece })));
  return [...all.filter((a) => !reduced.has(a.axis)), ...all.filter((a) => reduced.has(a.axis))];
}

function splitAxis(splits: readonly number[][], reduced: ReadonlySet<number>, need: NeedsSplit): number[][] {
  const { axis, piece } = axesInOrder(splits, reduced)[need.axis]!;
  return splits.map((pieces, k) =>
    k === axis ? pieces.flatMap((n, p) => (p === piece ? [n / need.inner, need.inner] : [n])) : pieces,
  );
}

interface Task {
  readonly id: number;
  readonly map: IndexMap;
}

class Puller {
  readonly #graph: Graph;
  readonly #root: GraphNode;
  readonly #isStored: (id: number) => boolean;
  readonly #sizes: readonly number[];
  readonly #parallel: number;
  readonly #start: IndexMap;
  readonly #tape = new TapeBuilder();
  readonly #buffers: KernelBuffer[] = [];
  readonly #bufferOf = new Map<string, number>();
  readonly #done = new Map<string, Map<number, number>>();
  readonly #nodes = new Set<number>();
  readonly #origins: number[] = [];

  constructor(
    graph: Graph,
    root: GraphNode,
    splits: readonly number[][],
    reduced: ReadonlySet<number>,
    isStored: (id: number) => boolean,
  ) {
    this.#graph = graph;
    this.#root = root;
    this.#isStored = isStored;
    const axes = axesInOrder(splits, reduced);
    this.#sizes = axes.map(({ axis, piece }) => splits[axis]![piece]!);
    this.#parallel = axes.filter(({ axis }) => !reduced.has(axis)).length;
    const coordinates = splits.map((pieces, axis): Affine => {
      const weights = denseStrides(pieces);
      return { offset: 0, strides: axes.map((a) => (a.axis === axis ? weights[a.piece]! : 0)) };
    });
    this.#start = indexMap(coordinates, []);
  }

  build(): FusedKernel {
    const root = this.#root;
    this.#nodes.add(root.id);
    const value = root.kind === 'reduce' ? this.#reduce(root) : this.#pull(root.id, this.#start, true);
    this.#note(root.id);
    const output = this.#buffer(nodeBuffer(root));
    const strides = this.#outputStrides();
    return {
      parallel: this.#sizes.slice(0, this.#parallel),
      reduced: this.#sizes.slice(this.#parallel),
      buffers: this.#buffers,
      tape: this.#tape.instructions,
      stores: [{ value, access: { buffer: output, offset: 0, strides, bounds: [] } }],
      nodes: this.#nodes,
      origins: this.#origins,
    };
  }

  /** C order over the parallel axes, which is C order of the root's shape. */
  #outputStrides(): number[] {
    const parallel = denseStrides(this.#sizes.slice(0, this.#parallel));
    return this.#sizes.map((_, k) => (k < this.#parallel ? parallel[k]! : 0));
  }

  #reduce(root: GraphNodeOf<'reduce'>): number {
    const input = nodeOf(this.#graph, root.inputs[0]!);
    const arg = this.#cast(this.#pull(input.id, this.#start, false), accumulatorOf(input.dtype));
    const args = [arg];
    if (reductionRow(root.reduction).indexed) {
      const weights = denseStrides(root.axes.map((axis) => input.shape[axis]!));
      const coordinates = root.axes.map((axis) => this.#start.coordinates[axis]!);
      const affine = combine(coordinates, weights, 0, this.#sizes.length);
      args.push(this.#tape.add({ kind: 'index', dtype: 'int64', affine }));
    }
    const dtype = isHalf(root.dtype) ? 'float32' : root.dtype;
    return this.#cast(this.#tape.add({ kind: 'reduce', dtype, reduction: root.reduction, args }), root.dtype);
  }

  #cast(value: number, dtype: DType): number {
    return this.#tape.cast(value, dtype);
  }

  /** The value of a node at an index map. `asRoot`: compute it even though it is stored. */
  #pull(root: number, map: IndexMap, asRoot: boolean): number {
    const stack: Task[] = [{ id: root, map }];
    while (stack.length > 0) {
      const task = stack[stack.length - 1]!;
      if (this.#known(task) !== undefined) {
        stack.pop();
        continue;
      }
      const node = nodeOf(this.#graph, task.id);
      const stored = this.#isStored(task.id) && !(asRoot && task.id === root && task.map.key === map.key);
      const line = stored ? undefined : this.#lineOfReshape(node, task.map);
      const needed = stored || line !== undefined ? [] : this.#needs(node, task.map);
      const missing = needed.filter((need) => this.#known(need) === undefined);
      if (missing.length > 0) {
        for (let k = missing.length - 1; k >= 0; k--) stack.push(missing[k]!);
        continue;
      }
      stack.pop();
      const value = line ?? (stored ? this.#loadStored(node, task.map) : this.#write(node, task.map, needed));
      this.#note(task.id);
      let known = this.#done.get(task.map.key);
      if (known === undefined) {
        known = new Map();
        this.#done.set(task.map.key, known);
      }
      known.set(task.id, value);
    }
    return this.#known({ id: root, map })!;
  }

  /** Notes which node the newest instructions belong to. */
  #note(node: number): void {
    while (this.#origins.length < this.#tape.instructions.length) this.#origins.push(node);
  }

  #known(task: Task): number | undefined {
    return this.#done.get(task.map.key)?.get(task.id);
  }

  /** The inputs a node needs, each at its own index map. */
  #needs(node: GraphNode, map: IndexMap): Task[] {
    switch (node.kind) {
      case 'map':
      case 'cast':
        return node.inputs.map((id) => ({
          id,
          map: broadcastMap(map, nodeOf(this.#graph, id).shape, node.shape, this.#sizes.length),
        }));
      case 'view': {
        const input = nodeOf(this.#graph, node.inputs[0]!);
        try {
          return [
            { id: input.id, map: mapThroughView(node.view, map, node.shape, input.shape, this.#sizes) },
          ];
        } catch (error) {
          if (error instanceof NotAffine) throw new MustStore(input.id);
          throw error;
        }
      }
      case 'reduce': {
        if (!(node.reduction in UNROLLED)) return [];
        const { shape } = nodeOf(this.#graph, node.inputs[0]!);
        return elementMaps(map, shape, node.axes, this.#sizes.length).map((m) => ({
          id: node.inputs[0]!,
          map: m,
        }));
      }
      default:
        return [];
    }
  }

  #write(node: GraphNode, map: IndexMap, needed: readonly Task[]): number {
    this.#nodes.add(node.id);
    const args = needed.map((need) => this.#known(need)!);
    switch (node.kind) {
      case 'const':
        return this.#tape.add({ kind: 'const', dtype: node.dtype, value: node.value });
      case 'iota':
        return this.#tape.add({ kind: 'index', dtype: 'int64', affine: map.coordinates[0]! });
      case 'map':
        return this.#tape.map(node.op, args);
      case 'cast':
        return this.#cast(args[0]!, node.dtype);
      case 'view':
        return node.view.type === 'pad' ? this.#padded(args[0]!, needed[0]!.map, map) : args[0]!;
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

  #loadStored(node: GraphNode, map: IndexMap): number {
    return this.#load(nodeBuffer(node), map, denseStrides(node.shape), 0);
  }

  #load(stored: KernelBuffer, map: IndexMap, strides: readonly number[], offset: number): number {
    const address = combine(map.coordinates, strides, offset, this.#sizes.length);
    const access: Access = { ...address, buffer: this.#buffer(stored), bounds: map.bounds };
    return this.#tape.add({ kind: 'load', dtype: stored.dtype, access } satisfies Instruction);
  }

  /** A reshape of a stored node reads its buffer as a line: no need to find the node's own coordinates. */
  #lineOfReshape(node: GraphNode, map: IndexMap): number | undefined {
    if (node.kind !== 'view' || node.view.type !== 'reshape') return undefined;
    const input = nodeOf(this.#graph, node.inputs[0]!);
    if (!this.#isStored(input.id)) return undefined;
    this.#nodes.add(node.id);
    return this.#load(nodeBuffer(input), map, denseStrides(node.shape), 0);
  }

  #buffer(buffer: KernelBuffer): number {
    const known = this.#bufferOf.get(buffer.key);
    if (known !== undefined) {
      const old = this.#buffers[known]!;
      if (buffer.elementCount > old.elementCount) this.#buffers[known] = buffer;
      return known;
    }
    this.#bufferOf.set(buffer.key, this.#buffers.length);
    this.#buffers.push(buffer);
    return this.#buffers.length - 1;
  }
}

const nodeBuffer = (node: GraphNode): KernelBuffer => ({
  key: nodeBufferKey(node.id),
  dtype: node.dtype,
  elementCount: sizeOfShape(node.shape),
});

/** One array read as two dtypes is two buffers. */
const sourceBuffer = (node: GraphNodeOf<'source'>): KernelBuffer => ({
  key: sourceBufferKey(node.input, node.dtype),
  dtype: node.dtype,
  elementCount: spanOf(node),
});

/** Elements from the buffer's start to the last one a source reaches. */
export function spanOf(node: GraphNodeOf<'source'>): number {
  return node.shape.reduce((end, n, k) => end + Math.max(0, node.strides[k]! * (n - 1)), node.offset) + 1;
}

export const zeroOf = (dtype: DType): Scalar => {
  if (dtype === 'bool') return false;
  if (dtype === 'int64' || dtype === 'uint64') return 0n;
  return isComplex(dtype) ? { re: 0, im: 0 } : 0;
};
