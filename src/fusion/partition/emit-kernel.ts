/**
 * Emits the kernel of one root on one domain: the walk from the root through all that it computes itself, which writes a
 * tape. The walk is iterative: a chain may be 100,000 nodes long (`split.ts` cuts what is too long for a kernel).
 * Called by `build-kernel.ts`.
 */
import { type DType, isHalf } from '../../graph/dtype.js';
import {
  denseStrides,
  type Graph,
  type GraphNode,
  type GraphNodeOf,
  nodeOf,
  sizeOfShape,
} from '../../graph/graph.js';
import { accumulatorOf, reductionRow } from '../../graph/reductions.js';
import { create } from '../kernel/instruction.js';
import type { Affine } from '../kernel/kernel.js';
import { TapeBuilder } from '../kernel/tape-builder.js';
import { computesAll, isUnrolled } from '../passes/element-cost.js';
import { DistinctList } from '../passes/hash.js';
import {
  broadcastMap,
  combine,
  constantAffine,
  hashOfMap,
  type IndexMap,
  indexMap,
  mapThroughView,
  NotAffine,
  sameMap,
} from './index-map.js';
import { reachedParts } from './join-parts.js';
import type { KernelDomain } from './kernel-domain.js';
import { KernelLoads } from './kernel-loads.js';
import { type Loadables, MustStore } from './loadable.js';
import type { WrittenKernel } from './mutable-kernel.js';
import { elementMaps, writeUnrolled } from './unrolled.js';

/** A kernel as it comes from its graph. */
export interface EmittedKernel {
  readonly kernel: WrittenKernel;
  /** Graph nodes whose arithmetic it holds; one may stand more than once. */
  readonly nodes: readonly number[];
  /** The node that each instruction was written for. */
  readonly origins: readonly number[];
}

/** Values of a graph that its kernels read and note. */
export interface GraphValues {
  readonly graph: Graph;
  /** Nodes that have a buffer of their own; may grow between kernels. */
  readonly stored: ReadonlySet<number>;
  /** Joins that are stored part by part. */
  readonly inParts: ReadonlySet<number>;
  readonly loadables: Loadables;
  /** Values where the domain starts, by node: `starts[id]` belongs to kernel number `kernels[id]`. */
  readonly starts: Int32Array;
  readonly kernels: Int32Array;
}

/** Whether a node's kernel walks the axes that it reduces. */
export const isReduction = (node: GraphNode): node is GraphNodeOf<'reduce'> =>
  node.kind === 'reduce' && !isUnrolled(node);

/** Whether one kernel has an accumulator for each result of a reduction. */
export const isTogether = (node: GraphNode): node is GraphNodeOf<'reduce'> =>
  isReduction(node) && computesAll(node);

/** Whether a node, where it is stored, is a join that is stored part by part. */
export const isInParts = (node: GraphNode, inParts: ReadonlySet<number>): node is GraphNodeOf<'join'> =>
  inParts.has(node.id);

/**
 * An index map, and the values of the nodes that were read through it; those where the domain starts are
 * elsewhere.
 */
interface MapScope {
  readonly map: IndexMap;
  values: Map<number, number> | undefined;
}

const hashOfScope = ({ map }: MapScope): number => hashOfMap(map);
const sameScope = (a: MapScope, b: MapScope): boolean => sameMap(a.map, b.map);

/** A node whose value is wanted in a scope. */
interface Start {
  readonly node: number;
  readonly scope: MapScope;
}

/** A node on its way into the tape. */
interface Task {
  readonly node: GraphNode;
  readonly scope: MapScope;
  /** The nodes it needs; each in its own scope, or all in the node's. */
  readonly inputs: readonly number[];
  readonly scopes: readonly MapScope[] | undefined;
  /** Of a join: where along its axis each of them begins. */
  readonly starts: readonly number[];
  /** How many of `inputs` are known. */
  done: number;
}

const NOTHING: readonly number[] = [];

const taskOf = (
  node: GraphNode,
  scope: MapScope,
  inputs: readonly number[],
  scopes: readonly MapScope[] | undefined,
  starts = NOTHING,
): Task => ({ node, scope, inputs, scopes, starts, done: 0 });

/** Steps of the walk between pauses: each takes some 0.5 µs. */
const TASKS_OF_SLICE = 512;

/** Emits one kernel. */
export class KernelEmitter {
  readonly #values: GraphValues;
  readonly #graph: Graph;
  readonly #root: GraphNode;
  readonly #domain: KernelDomain;
  readonly #number: number;
  readonly #axes: number;
  readonly #start: MapScope;
  readonly #tape = new TapeBuilder();
  readonly #loads: KernelLoads;
  /** All scopes but the start, once there is one. */
  #scopes: DistinctList<MapScope> | undefined;
  readonly #nodes: number[];
  readonly #origins: number[] = [];
  /** The nodes whose values are wanted, each in a scope, and how many of them the walk has entered. */
  readonly #starts: readonly Start[];
  #next = 0;
  /** The root, where it is computed there even though it is stored. */
  readonly #asRoot: number;
  readonly #stack: Task[] = [];

  /** `computed`: stored nodes that it does not load. */
  constructor(
    values: GraphValues,
    root: GraphNode,
    domain: KernelDomain,
    number: number,
    computed: ReadonlySet<number>,
  ) {
    this.#values = values;
    this.#graph = values.graph;
    this.#root = root;
    this.#domain = domain;
    this.#number = number;
    this.#nodes = [root.id];
    const isWalked = isReduction(root) || isInParts(root, values.inParts);
    this.#asRoot = isWalked ? -1 : root.id;
    this.#axes = domain.sizes.length;
    this.#start = { map: domain.start, values: undefined };
    this.#starts = isTogether(root)
      ? this.#startsOfResults(root)
      : (isWalked ? root.inputs : [root.id]).map((node) => ({ node, scope: this.#start }));
    this.#loads = new KernelLoads(values, computed, domain.sizes, this.#tape);
  }

  /** Goes on with the walk for a slice; undefined: it has not ended. */
  step(): EmittedKernel | undefined {
    const starts = this.#starts;
    let tasks = TASKS_OF_SLICE;
    for (; this.#next < starts.length || this.#stack.length > 0; tasks--) {
      if (tasks === 0) return undefined;
      if (this.#stack.length > 0) {
        this.#work(this.#stack[this.#stack.length - 1]!);
      } else {
        const { node, scope } = starts[this.#next++]!;
        if (this.#valueAt(node, scope) === undefined) this.#enter(node, scope);
      }
    }
    return this.#finish();
  }

  /** The input of a reduction to few results, where each of these takes it. */
  #startsOfResults({ inputs, axes }: GraphNodeOf<'reduce'>): Start[] {
    const [node] = inputs as readonly [number];
    const { shape } = nodeOf(this.#graph, node);
    const kept = shape.map((size, axis) => (axes.includes(axis) ? 1 : size));
    const strides = denseStrides(kept);
    return Array.from({ length: sizeOfShape(kept) }, (_, k) => {
      const coordinates = this.#domain.start.coordinates.map((along, axis) =>
        kept[axis] === 1 ? along : constantAffine(Math.floor(k / strides[axis]!) % kept[axis]!, this.#axes),
      );
      return { node, scope: this.#scopeOf(indexMap(coordinates, [])) };
    });
  }

  #finish(): EmittedKernel {
    const root = this.#root;
    const isParted = isInParts(root, this.#values.inParts);
    const read = this.#starts.map(({ node, scope }) => this.#valueAt(node, scope)!);
    const values = isTogether(root)
      ? read.map((value) => this.#reduce(root, [value]))
      : isReduction(root)
        ? [this.#reduce(root, read)]
        : read;
    this.#note(root.id);
    const buffer = this.#loads.buffers.at(this.#values.loadables.storedNode(root).buffer);
    const { offset: step, strides } = isParted ? this.#placeOfPart(root) : this.#wholePlace;
    const kernel: WrittenKernel = {
      parallel: this.#domain.parallel,
      reduced: this.#domain.reduced,
      tape: this.#tape,
      buffers: this.#loads.buffers,
      stores: values.map((value, k) => ({
        value,
        access: { buffer, offset: k * step, strides, bounds: [] },
      })),
    };
    return { kernel, nodes: this.#nodes, origins: this.#origins };
  }

  /** The place of an element of the root; of results of one row each, the step from one to the next. */
  get #wholePlace(): Affine {
    return { offset: isTogether(this.#root) ? 1 : 0, strides: this.#domain.outputStrides };
  }

  /** The place of an element of the second part of a join that is stored part by part, all of one size. */
  #placeOfPart({ axis, inputs, shape }: GraphNodeOf<'join'>): Affine {
    const dense = denseStrides(shape);
    const size = shape[axis]! / inputs.length;
    return combine(this.#start.map.coordinates, dense, size * dense[axis]!, this.#axes);
  }

  #reduce(root: GraphNodeOf<'reduce'>, values: readonly number[]): number {
    if (root.monoid !== undefined)
      return this.#tape.add(create.combine(root.dtype, root.monoid, values, root.batch));
    const input = nodeOf(this.#graph, root.inputs[0]!);
    const args = [this.#cast(values[0]!, accumulatorOf(input.dtype))];
    if (reductionRow(root.reduction).indexed) {
      const weights = denseStrides(root.axes.map((axis) => input.shape[axis]!));
      const coordinates = root.axes.map((axis) => this.#start.map.coordinates[axis]!);
      const affine = combine(coordinates, weights, 0, this.#axes);
      args.push(this.#tape.add(create.index(affine)));
    }
    const dtype = isHalf(root.dtype) ? 'float32' : root.dtype;
    return this.#cast(this.#tape.add(create.reduce(dtype, root.reduction, args, root.batch)), root.dtype);
  }

  #cast(value: number, dtype: DType): number {
    return this.#tape.cast(value, dtype);
  }

  /** The value of a node in a scope, if it is known. */
  #valueAt(id: number, { values }: MapScope): number | undefined {
    if (values !== undefined) return values.get(id);
    return this.#values.kernels[id] === this.#number ? this.#values.starts[id] : undefined;
  }

  /** Goes on with a node: to the next input that is not known, or writes it. */
  #work(task: Task): void {
    const { inputs, scope, scopes } = task;
    let at = task.done;
    while (at < inputs.length && this.#valueAt(inputs[at]!, scopes?.[at] ?? scope) !== undefined) at++;
    task.done = at;
    if (at < inputs.length) {
      this.#enter(inputs[at]!, scopes?.[at] ?? scope);
    } else {
      this.#stack.pop();
      this.#know(task.node.id, scope, this.#write(task));
    }
  }

  /** Loads what is stored; what has to be computed goes on the stack. */
  #enter(id: number, scope: MapScope): void {
    const node = nodeOf(this.#graph, id);
    if (this.#loads.isLoaded(id) && !(id === this.#asRoot && scope === this.#start)) {
      const { loadables } = this.#values;
      // A source that is a result, too, is read where it was before.
      const place = node.kind === 'source' ? loadables.source(node) : loadables.storedNode(node);
      this.#know(id, scope, this.#loads.load(place, scope.map));
      return;
    }
    // Where a pad has no element, nothing says that a loop would end.
    if ((node.kind === 'repeat' || node.kind === 'function') && scope.map.bounds.length > 0)
      throw new MustStore(id);
    const line = this.#loads.lineOfReshape(node, scope.map);
    if (line === undefined) {
      this.#stack.push(this.#taskOf(node, scope));
    } else {
      this.#nodes.push(id);
      this.#know(id, scope, line);
    }
  }

  /** Notes a value, and the node that the newest instructions belong to. */
  #know(id: number, { values }: MapScope, value: number): void {
    this.#note(id);
    if (values !== undefined) {
      values.set(id, value);
    } else {
      this.#values.starts[id] = value;
      this.#values.kernels[id] = this.#number;
    }
  }

  #note(node: number): void {
    while (this.#origins.length < this.#tape.instructions.length) this.#origins.push(node);
  }

  /** The scope of an index map. */
  #scopeOf(map: IndexMap): MapScope {
    if (sameMap(map, this.#start.map)) return this.#start;
    this.#scopes ??= new DistinctList(hashOfScope, sameScope);
    const scope = this.#scopes.all[this.#scopes.add({ map, values: undefined })]!;
    scope.values ??= new Map();
    return scope;
  }

  /** A node with the inputs that it needs, and where. */
  #taskOf(node: GraphNode, scope: MapScope): Task {
    switch (node.kind) {
      case 'map':
      case 'cast':
      case 'repeat':
      case 'function':
        return taskOf(node, scope, node.inputs, this.#broadcastScopes(node, scope));
      case 'view':
        return taskOf(node, scope, node.inputs, [this.#scopeOfView(node, scope)]);
      case 'join':
        return this.#joinTask(node, scope);
      case 'gather': {
        if (scope.map.folds.length > 0) throw new MustStore(node.id);
        // The array that is read is stored: only the indices are computed here.
        const [, index] = node.inputs as readonly [number, number];
        const { length } = nodeOf(this.#graph, index).shape;
        const coordinates = scope.map.coordinates.slice(node.axis, node.axis + length);
        const scopes = [this.#scopeOf(indexMap(coordinates, scope.map.bounds))];
        return taskOf(node, scope, [index], scopes);
      }
      case 'reduce':
        if (isUnrolled(node)) return this.#unrolledTask(node, scope);
        break;
    }
    return taskOf(node, scope, NOTHING, undefined);
  }

  #scopeOfView(node: GraphNodeOf<'view'>, scope: MapScope): MapScope {
    const input = nodeOf(this.#graph, node.inputs[0]!);
    try {
      return this.#scopeOf(mapThroughView(node.view, scope.map, node.shape, input.shape, this.#domain.sizes));
    } catch (error) {
      if (error instanceof NotAffine)
        throw new MustStore(node.view.type === 'pad' ? this.#foldedAround(node) : input.id);
      throw error;
    }
  }

  /**
   * The value to store, to be read by folding, where a pad lies below a fold: the map that the fold reads, one array whatever
   * pads it is computed of; the pad itself where nothing is computed in between.
   */
  #foldedAround(pad: GraphNode): number {
    for (let k = this.#stack.length - 1; k >= 0; k--) {
      const { node } = this.#stack[k]!;
      if (node.kind !== 'view' || node.view.type !== 'pad' || node.view.fold === undefined) continue;
      let read = nodeOf(this.#graph, node.inputs[0]!);
      while (read.kind === 'view' && read.id !== pad.id) read = nodeOf(this.#graph, read.inputs[0]!);
      return read.id;
    }
    return pad.id;
  }

  #joinTask(node: GraphNodeOf<'join'>, scope: MapScope): Task {
    try {
      const shapes = node.inputs.map((id) => nodeOf(this.#graph, id).shape);
      const parts = reachedParts(node, shapes, scope.map, this.#domain.sizes);
      const inputs = parts.map(({ position }) => node.inputs[position]!);
      const scopes = parts.map(({ map }) => this.#scopeOf(map));
      const starts = parts.map(({ start }) => start);
      return taskOf(node, scope, inputs, scopes, starts);
    } catch (error) {
      if (error instanceof NotAffine) throw new MustStore(node.id);
      throw error;
    }
  }

  #unrolledTask(node: GraphNodeOf<'reduce'>, scope: MapScope): Task {
    if (scope.map.folds.length > 0) throw new MustStore(node.id);
    const [id] = node.inputs as readonly [number];
    const { shape } = nodeOf(this.#graph, id);
    const maps = elementMaps(scope.map, shape, node.axes, this.#axes);
    return taskOf(
      node,
      scope,
      maps.map(() => id),
      maps.map((map) => this.#scopeOf(map)),
    );
  }

  /** The scopes of inputs that broadcast to a node; undefined: they are all in the node's. */
  #broadcastScopes({ inputs, shape }: GraphNode, scope: MapScope): MapScope[] | undefined {
    let scopes: MapScope[] | undefined;
    for (let k = 0; k < inputs.length; k++) {
      const map = broadcastMap(scope.map, nodeOf(this.#graph, inputs[k]!).shape, shape, this.#axes);
      if (map === scope.map) continue;
      scopes ??= new Array<MapScope>(inputs.length).fill(scope);
      scopes[k] = this.#scopeOf(map);
    }
    return scopes;
  }

  #write({ node, scope, inputs, scopes, starts }: Task): number {
    const { map } = scope;
    this.#nodes.push(node.id);
    const args = new Array<number>(inputs.length);
    for (let k = 0; k < args.length; k++) args[k] = this.#valueAt(inputs[k]!, scopes?.[k] ?? scope)!;
    switch (node.kind) {
      case 'const':
        return this.#tape.add(create.constant(node.dtype, node.value));
      case 'iota':
        return this.#loads.coordinate(map, 0);
      case 'map':
        return this.#tape.map(node.op, args, node.dtype);
      case 'cast':
        return this.#cast(args[0]!, node.dtype);
      case 'repeat':
        return this.#tape.add(create.repeat(node.dtype, node.loop, node.result, args));
      case 'function':
        return this.#tape.add(create.call(node.dtype, node.function, node.result, args));
      case 'view':
        return node.view.type === 'pad' ? this.#loads.padded(args[0]!, scopes![0]!.map, map) : args[0]!;
      case 'join':
        return this.#chosen(node, args, starts, map);
      case 'source':
        return this.#loads.load(this.#values.loadables.source(node), map);
      case 'gather':
        return this.#loads.gather(node, args[0]!, map);
      case 'reduce':
        if (isUnrolled(node)) return writeUnrolled(this.#tape, node, args);
        throw new MustStore(node.id); // a reduction inside another kernel: never inlined
      default:
        throw new MustStore(node.id); // a reduction or contraction inside another kernel: never inlined
    }
  }

  /**
   * The value of the part that an element of a join comes from: a balanced tree of choices, so that it is reached in
   * log2(parts) steps.
   */
  #chosen(
    node: GraphNodeOf<'join'>,
    values: readonly number[],
    starts: readonly number[],
    map: IndexMap,
  ): number {
    let level = values.map((value, k) => ({ value, start: starts[k]! }));
    while (level.length > 1) {
      const index = this.#loads.coordinate(map, node.axis);
      level = level.flatMap((left, k) => {
        if (k % 2 === 1) return [];
        const right = level[k + 1];
        if (right === undefined) return [left];
        const start = this.#tape.add(create.constant('int64', BigInt(right.start)));
        const isLeft = this.#tape.map('less', [index, start]);
        const value = this.#tape.map('where', [isLeft, left.value, right.value], node.dtype);
        return [{ value, start: left.start }];
      });
    }
    return level[0]!.value;
  }
}
