/**
 * Builds the kernel of one root: a node whose value is stored. Starting at the root it pulls in, through
 * views, every node that is not itself stored, and writes them as one tape; stored nodes and sources become
 * loads.
 *
 *     %3 = sum over [1] (multiply %1 (permute %2))   →   parallel [i] reduced [j]; load %1[i,j]; load %2[j,i]; …
 *
 * A node read through two different index maps is computed twice (`partition.ts` decides when that is right).
 * The walk is iterative: a chain may be 100,000 nodes long (`split.ts` cuts what is too long for a kernel).
 */
import { type DType, isComplex, isHalf, type Scalar } from '../../graph/dtype.js';
import type { Shape } from '../../graph/expr.js';
import { denseStrides, type Graph, type GraphNode, type GraphNodeOf, nodeOf } from '../../graph/graph.js';
import { accumulatorOf, reductionRow } from '../../graph/reductions.js';
import type { Slices } from '../../host/slices.js';
import { loadOf } from '../kernel/algebra.js';
import { create } from '../kernel/instruction.js';
import { type Access, type Affine, type Bound, sameNumbers } from '../kernel/kernel.js';
import { TapeBuilder } from '../kernel/tape-builder.js';
import { isUnrolled } from '../passes/element-cost.js';
import { DistinctList, mixAll } from '../passes/hash.js';
import { combinePairwise, combiningOp, elementMaps } from '../passes/unroll-reductions.js';
import { BufferList, nodeBuffer, sourceBuffer } from './buffer-list.js';
import type { KernelBuffer } from './fused-kernel.js';
import { belowViews, foldedIndex, gatherMap, inRange } from './gathers.js';
import {
  broadcastMap,
  combine,
  constantAffine,
  hashOfMap,
  type IndexMap,
  indexMap,
  mapThroughView,
  NeedsSplit,
  NotAffine,
  sameMap,
} from './index-map.js';
import { type ReachedPart, reachedParts } from './join-parts.js';
import { KernelDomain } from './kernel-domain.js';
import { MutableKernel } from './mutable-kernel.js';
import { OwnReadings } from './own-reading.js';

/** A view whose input has to be stored, found while a kernel was built. */
export class MustStore {
  constructor(readonly node: number) {}
}

/** A stored value or a source as kernels load it. */
interface Loadable {
  readonly buffer: KernelBuffer;
  /** Of the node's elements. */
  readonly strides: readonly number[];
  readonly offset: number;
}

/** A kernel as it comes from its graph. */
export interface EmittedKernel {
  readonly kernel: MutableKernel;
  /** The node that each instruction was written for. */
  readonly origins: readonly number[];
}

/** The axes of kernels, and what they make. */
interface Axes {
  readonly shape: Shape;
  readonly reduced: readonly number[];
  domain: KernelDomain | undefined;
}

const hashOfAxes = ({ shape, reduced }: Axes): number =>
  mixAll(mixAll(shape.length, shape), reduced) & 0x3fffffff;

const sameAxes = (a: Axes, b: Axes): boolean =>
  sameNumbers(a.shape, b.shape) && sameNumbers(a.reduced, b.reduced);

/** Builds the kernels of one graph; what several of them need is made once. */
export class KernelBuilder {
  readonly graph: Graph;
  /** Nodes that have a buffer of their own; may grow between kernels. */
  readonly stored: ReadonlySet<number>;
  /** Joins that are stored part by part. */
  readonly #inParts: ReadonlySet<number>;
  /** Values where the domain starts, by node: `values[id]` belongs to kernel number `kernels[id]`. */
  readonly values: Int32Array;
  readonly kernels: Int32Array;
  readonly #storedNodes: Loadable[];
  readonly #sources: Loadable[];
  readonly #domains = new DistinctList(hashOfAxes, sameAxes);
  readonly #readings: OwnReadings;
  #started = 0;

  constructor(graph: Graph, stored: ReadonlySet<number>, inParts: ReadonlySet<number>) {
    this.graph = graph;
    this.stored = stored;
    this.#readings = new OwnReadings(graph, stored);
    this.#inParts = inParts;
    this.values = new Int32Array(graph.nodes.length);
    this.kernels = new Int32Array(graph.nodes.length);
    this.#storedNodes = new Array<Loadable>(graph.nodes.length);
    this.#sources = new Array<Loadable>(graph.nodes.length);
  }

  /** The kernel that computes `root`. Throws `MustStore`. */
  *build(root: number): Slices<EmittedKernel> {
    const node = nodeOf(this.graph, root);
    let domain = this.#domainOf(
      isReduction(node) || this.isInParts(node) ? nodeOf(this.graph, node.inputs[0]!).shape : node.shape,
      isReduction(node) ? node.axes : NO_AXES,
    );
    const computed = new Set(isReduction(node) ? this.#readings.of(node) : []);
    for (;;) {
      try {
        return yield* new KernelEmitter(this, node, domain, ++this.#started, computed).build();
      } catch (error) {
        // A value that is in memory alone, too, since its views are no index maps.
        if (error instanceof MustStore && computed.delete(error.node)) continue;
        if (!(error instanceof NeedsSplit)) throw error;
        domain = domain.split(error);
      }
    }
  }

  /** Whether a node, where it is stored, is a join that is stored part by part. */
  isInParts(node: GraphNode): node is GraphNodeOf<'join'> {
    return this.#inParts.has(node.id);
  }

  #domainOf(shape: Shape, reduced: readonly number[]): KernelDomain {
    const axes = this.#domains.all[this.#domains.add({ shape, reduced, domain: undefined })]!;
    axes.domain ??= KernelDomain.of(shape, reduced);
    return axes.domain;
  }

  storedNode(node: GraphNode): Loadable {
    let made = this.#storedNodes[node.id];
    if (made === undefined) {
      made = { buffer: nodeBuffer(node), strides: denseStrides(node.shape), offset: 0 };
      this.#storedNodes[node.id] = made;
    }
    return made;
  }

  source(node: GraphNodeOf<'source'>): Loadable {
    let made = this.#sources[node.id];
    if (made === undefined) {
      made = { buffer: sourceBuffer(node), strides: node.strides, offset: node.offset };
      this.#sources[node.id] = made;
    }
    return made;
  }
}

const NO_AXES: readonly number[] = [];

/** Whether a node's kernel walks the axes that it reduces. */
const isReduction = (node: GraphNode): node is GraphNodeOf<'reduce'> =>
  node.kind === 'reduce' && !isUnrolled(node);

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

/** A node on its way into the tape. */
interface Task {
  readonly node: GraphNode;
  readonly scope: MapScope;
  /** The nodes it needs; each in its own scope, or all in the node's. */
  readonly inputs: readonly number[];
  readonly scopes: readonly MapScope[] | undefined;
  /** How many of `inputs` are known. */
  done: number;
}

/** The requirements of a node. */
type Needs = Pick<Task, 'inputs' | 'scopes'>;

const NO_NEEDS: Needs = { inputs: [], scopes: undefined };

/** Steps of the walk between pauses: each takes some 0.5 µs. */
const TASKS_OF_SLICE = 512;

class KernelEmitter {
  readonly #builder: KernelBuilder;
  readonly #graph: Graph;
  readonly #root: GraphNode;
  readonly #domain: KernelDomain;
  readonly #number: number;
  readonly #computed: ReadonlySet<number>;
  readonly #axes: number;
  readonly #start: MapScope;
  readonly #tape = new TapeBuilder();
  readonly #buffers = new BufferList();
  /** All scopes but the start. */
  readonly #scopes = new DistinctList(hashOfScope, sameScope);
  readonly #nodes: number[] = [];
  readonly #origins: number[] = [];

  /** `computed`: stored nodes that it does not load. */
  constructor(
    builder: KernelBuilder,
    root: GraphNode,
    domain: KernelDomain,
    number: number,
    computed: ReadonlySet<number>,
  ) {
    this.#builder = builder;
    this.#computed = computed;
    this.#graph = builder.graph;
    this.#root = root;
    this.#domain = domain;
    this.#number = number;
    this.#axes = domain.sizes.length;
    this.#start = { map: domain.start, values: undefined };
  }

  *build(): Slices<EmittedKernel> {
    const root = this.#root;
    this.#nodes.push(root.id);
    const isInParts = this.#builder.isInParts(root);
    const values: number[] = [];
    if (isInParts) for (const part of root.inputs) values.push(yield* this.#pull(part, undefined));
    else if (isReduction(root)) values.push(yield* this.#reduce(root));
    else values.push(yield* this.#pull(root.id, root.id));
    this.#note(root.id);
    const buffer = this.#buffers.at(this.#builder.storedNode(root).buffer);
    const { offset: step, strides } = isInParts ? this.#placeOfPart(root) : this.#wholePlace;
    const kernel = new MutableKernel(this.#domain.parallel, this.#domain.reduced, {
      tape: this.#tape,
      buffers: this.#buffers,
      nodes: this.#nodes,
      stores: values.map((value, k) => ({
        value,
        access: { buffer, offset: k * step, strides, bounds: [] },
      })),
    });
    return { kernel, origins: this.#origins };
  }

  /** The place of an element of the root. */
  get #wholePlace(): Affine {
    return { offset: 0, strides: this.#domain.outputStrides };
  }

  /** The place of an element of the second part of a join that is stored part by part, all of one size. */
  #placeOfPart({ axis, inputs, shape }: GraphNodeOf<'join'>): Affine {
    const dense = denseStrides(shape);
    const size = shape[axis]! / inputs.length;
    return combine(this.#start.map.coordinates, dense, size * dense[axis]!, this.#axes);
  }

  *#reduce(root: GraphNodeOf<'reduce'>): Slices<number> {
    if (root.monoid !== undefined) {
      const parts: number[] = [];
      for (const input of root.inputs) parts.push(yield* this.#pull(input, undefined));
      return this.#tape.add(create.combine(root.dtype, root.monoid, parts));
    }
    const input = nodeOf(this.#graph, root.inputs[0]!);
    const arg = this.#cast(yield* this.#pull(input.id, undefined), accumulatorOf(input.dtype));
    const args = [arg];
    if (reductionRow(root.reduction).indexed) {
      const weights = denseStrides(root.axes.map((axis) => input.shape[axis]!));
      const coordinates = root.axes.map((axis) => this.#start.map.coordinates[axis]!);
      const affine = combine(coordinates, weights, 0, this.#axes);
      args.push(this.#tape.add(create.index(affine)));
    }
    const dtype = isHalf(root.dtype) ? 'float32' : root.dtype;
    return this.#cast(this.#tape.add(create.reduce(dtype, root.reduction, args)), root.dtype);
  }

  #cast(value: number, dtype: DType): number {
    return this.#tape.cast(value, dtype);
  }

  /** The value of a node in a scope, if it is known. */
  #valueAt(id: number, { values }: MapScope): number | undefined {
    if (values !== undefined) return values.get(id);
    return this.#builder.kernels[id] === this.#number ? this.#builder.values[id] : undefined;
  }

  /**
   * The value of a node where the domain starts. `asRoot`: a node to compute there even though it is stored.
   */
  *#pull(start: number, asRoot: number | undefined): Slices<number> {
    const stack: Task[] = [];
    this.#enter(stack, start, this.#start, asRoot);
    for (let tasks = 1; stack.length > 0; tasks++) {
      if (tasks % TASKS_OF_SLICE === 0) yield;
      const task = stack[stack.length - 1]!;
      const { inputs, scope, scopes } = task;
      let at = task.done;
      while (at < inputs.length && this.#valueAt(inputs[at]!, scopes?.[at] ?? scope) !== undefined) at++;
      task.done = at;
      if (at < inputs.length) {
        this.#enter(stack, inputs[at]!, scopes?.[at] ?? scope, asRoot);
      } else {
        stack.pop();
        this.#know(task.node.id, scope, this.#write(task));
      }
    }
    return this.#valueAt(start, this.#start)!;
  }

  /** Loads what is stored; what has to be computed goes on the stack. */
  #enter(stack: Task[], id: number, scope: MapScope, asRoot: number | undefined): void {
    const node = nodeOf(this.#graph, id);
    if (this.#isLoaded(id) && !(id === asRoot && scope === this.#start)) {
      this.#know(id, scope, this.#load(this.#builder.storedNode(node), scope.map));
      return;
    }
    // Where a pad has no element, nothing says that a loop would end.
    if ((node.kind === 'repeat' || node.kind === 'function') && scope.map.bounds.length > 0)
      throw new MustStore(id);
    const line = this.#lineOfReshape(node, scope.map);
    if (line === undefined) {
      const { inputs, scopes } = this.#needs(node, scope);
      stack.push({ node, scope, inputs, scopes, done: 0 });
    } else {
      this.#know(id, scope, line);
    }
  }

  #isLoaded(id: number): boolean {
    return this.#builder.stored.has(id) && !this.#computed.has(id);
  }

  /** Notes a value, and the node that the newest instructions belong to. */
  #know(id: number, { values }: MapScope, value: number): void {
    this.#note(id);
    if (values !== undefined) {
      values.set(id, value);
    } else {
      this.#builder.values[id] = value;
      this.#builder.kernels[id] = this.#number;
    }
  }

  #note(node: number): void {
    while (this.#origins.length < this.#tape.instructions.length) this.#origins.push(node);
  }

  /** The scope of an index map. */
  #scopeOf(map: IndexMap): MapScope {
    if (sameMap(map, this.#start.map)) return this.#start;
    const scope = this.#scopes.all[this.#scopes.add({ map, values: undefined })]!;
    scope.values ??= new Map();
    return scope;
  }

  /** The inputs a node needs, and where. */
  #needs(node: GraphNode, scope: MapScope): Needs {
    switch (node.kind) {
      case 'map':
      case 'cast':
      case 'repeat':
      case 'function':
        return this.#broadcastNeeds(node, scope);
      case 'view': {
        const input = nodeOf(this.#graph, node.inputs[0]!);
        try {
          const { sizes } = this.#domain;
          const map = mapThroughView(node.view, scope.map, node.shape, input.shape, sizes);
          return { inputs: node.inputs, scopes: [this.#scopeOf(map)] };
        } catch (error) {
          // A pad of what is folded is itself stored, and read by folding.
          if (error instanceof NotAffine) throw new MustStore(node.view.type === 'pad' ? node.id : input.id);
          throw error;
        }
      }
      case 'join':
        try {
          const parts = this.#partsOf(node, scope.map);
          return {
            inputs: parts.map(({ position }) => node.inputs[position]!),
            scopes: parts.map(({ map }) => this.#scopeOf(map)),
          };
        } catch (error) {
          if (error instanceof NotAffine) throw new MustStore(node.id);
          throw error;
        }
      case 'gather': {
        if (scope.map.folds.length > 0) throw new MustStore(node.id);
        // The array that is read is stored: only the indices are computed here.
        const [, index] = node.inputs as readonly [number, number];
        const { length } = nodeOf(this.#graph, index).shape;
        const coordinates = scope.map.coordinates.slice(node.axis, node.axis + length);
        return { inputs: [index], scopes: [this.#scopeOf(indexMap(coordinates, scope.map.bounds))] };
      }
      case 'reduce': {
        if (!isUnrolled(node)) return NO_NEEDS;
        if (scope.map.folds.length > 0) throw new MustStore(node.id);
        const [id] = node.inputs as readonly [number];
        const { shape } = nodeOf(this.#graph, id);
        const maps = elementMaps(scope.map, shape, node.axes, this.#axes);
        return { inputs: maps.map(() => id), scopes: maps.map((map) => this.#scopeOf(map)) };
      }
      default:
        return NO_NEEDS;
    }
  }

  #broadcastNeeds({ inputs, shape }: GraphNode, scope: MapScope): Needs {
    let scopes: MapScope[] | undefined;
    for (let k = 0; k < inputs.length; k++) {
      const map = broadcastMap(scope.map, nodeOf(this.#graph, inputs[k]!).shape, shape, this.#axes);
      if (map === scope.map) continue;
      scopes ??= inputs.map(() => scope);
      scopes[k] = this.#scopeOf(map);
    }
    return { inputs, scopes };
  }

  #write({ node, scope, inputs, scopes }: Task): number {
    const { map } = scope;
    this.#nodes.push(node.id);
    const args = new Array<number>(inputs.length);
    for (let k = 0; k < args.length; k++) args[k] = this.#valueAt(inputs[k]!, scopes?.[k] ?? scope)!;
    switch (node.kind) {
      case 'const':
        return this.#tape.add(create.constant(node.dtype, node.value));
      case 'iota':
        return this.#coordinate(map, 0);
      case 'map':
        return this.#tape.map(node.op, args, node.dtype);
      case 'cast':
        return this.#cast(args[0]!, node.dtype);
      case 'repeat':
        return this.#tape.add(create.repeat(node.dtype, node.loop, node.result, args));
      case 'function':
        return this.#tape.add(create.call(node.dtype, node.function, node.result, args));
      case 'view':
        return node.view.type === 'pad' ? this.#padded(args[0]!, scopes![0]!.map, map) : args[0]!;
      case 'join':
        return this.#chosen(node, args, map);
      case 'source':
        return this.#load(this.#builder.source(node), map);
      case 'gather':
        return this.#gather(node, args[0]!, map);
      case 'reduce':
        if (isUnrolled(node)) return this.#unrolled(node, args);
        throw new MustStore(node.id); // a reduction inside another kernel: never inlined
      default:
        throw new MustStore(node.id); // a reduction or contraction inside another kernel: never inlined
    }
  }

  #partsOf(node: GraphNodeOf<'join'>, map: IndexMap): ReachedPart[] {
    const shapes = node.inputs.map((id) => nodeOf(this.#graph, id).shape);
    return reachedParts(node, shapes, map, this.#domain.sizes);
  }

  /**
   * The value of the part that an element of a join comes from: a balanced tree of choices, so that it is reached in
   * log2(parts) steps.
   */
  #chosen(node: GraphNodeOf<'join'>, values: readonly number[], map: IndexMap): number {
    let level = this.#partsOf(node, map).map(({ start }, k) => ({ value: values[k]!, start }));
    while (level.length > 1) {
      const index = this.#coordinate(map, node.axis);
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

  /** A short reduction inside another. Halves are summed in float32, as every reduction does. */
  #unrolled(node: GraphNodeOf<'reduce'>, values: readonly number[]): number {
    const op = combiningOp(node);
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
    if (loadOf(instruction) !== undefined || inner.bounds.length === outer.bounds.length) return value;
    const { dtype } = instruction;
    const computed: DType = isHalf(dtype) ? 'float32' : dtype;
    const inside = this.#tape.add(create.inside(inner.bounds));
    const zero = this.#tape.add(create.constant(computed, zeroOf(computed)));
    return this.#cast(this.#tape.map('where', [inside, this.#cast(value, computed), zero]), dtype);
  }

  #load({ buffer, strides, offset }: Loadable, { coordinates, bounds, folds }: IndexMap): number {
    const address = combine(coordinates, strides, offset, this.#axes);
    const at = this.#buffers.at(buffer);
    const folded = folds.flatMap(({ mode, steps, ...bound }): Bound[] => {
      const stride = steps.reduce((sum, step, k) => sum + step * strides[k]!, 0);
      return stride === 0 ? [] : [{ ...bound, fold: { mode, stride } }];
    });
    const all = folded.length === 0 ? bounds : [...bounds, ...folded];
    const access: Access = { offset: address.offset, strides: address.strides, buffer: at, bounds: all };
    return this.#tape.add(create.load(buffer.dtype, access));
  }

  /** A coordinate of a node as a value. */
  #coordinate({ coordinates, folds }: IndexMap, k: number): number {
    let value = this.#tape.add(create.index(coordinates[k]!));
    for (const { mode, steps, size, ...affine } of folds) {
      if (steps[k] === 0) continue;
      const index = this.#tape.add(create.index(affine));
      const moved = this.#tape.map('subtract', [foldedIndex(this.#tape, index, size, mode), index]);
      const step = this.#tape.add(create.constant('int64', BigInt(steps[k]!)));
      value = this.#tape.map('add', [value, this.#tape.map('multiply', [moved, step])]);
    }
    return value;
  }

  /** A load whose place depends on an index. The array may be read through views (`gathers.ts`). */
  #gather(node: GraphNodeOf<'gather'>, index: number, { coordinates, bounds }: IndexMap): number {
    const [array, indices] = node.inputs.map((id) => nodeOf(this.#graph, id)) as [GraphNode, GraphNode];
    const size = array.shape[node.axis]!;
    const outer = [...coordinates];
    outer.splice(node.axis, indices.shape.length, constantAffine(0, this.#axes));
    const { at, map } = this.#gathered(array, gatherMap(outer, node.axis), size);
    const { buffer, strides, offset } = at;
    const address = combine(map.coordinates, strides, offset, this.#axes + 1);
    const access: Access = {
      offset: address.offset,
      strides: address.strides.slice(0, -1),
      buffer: this.#buffers.at(buffer),
      bounds,
      index: {
        value: inRange(this.#tape, index, size, node.mode),
        stride: address.strides[this.#axes]!,
        size,
      },
    };
    return this.#tape.add(create.load(buffer.dtype, access));
  }

  /** The memory that a gather reads its array from, and the map of the coordinates there. */
  #gathered(array: GraphNode, map: IndexMap, size: number): { at: Loadable; map: IndexMap } {
    const line = this.#reshaped(array);
    if (line !== undefined) return { at: line, map };
    const found = belowViews(this.#graph, array, map, {
      sizes: [...this.#domain.sizes, size],
      isStored: (id) => this.#isLoaded(id),
    });
    if (found === undefined) throw new MustStore(array.id);
    return { at: this.#loadable(found.base, array), map: found.map };
  }

  /** A reshape of an array that is in memory in C order: the same elements, with strides of its own. */
  #reshaped(array: GraphNode): Loadable | undefined {
    let base = array;
    while (base.kind === 'view' && base.view.type === 'reshape' && !this.#isLoaded(base.id))
      base = nodeOf(this.#graph, base.inputs[0]!);
    if (base === array || (base.kind !== 'source' && !this.#isLoaded(base.id))) return undefined;
    const { buffer, strides, offset } = this.#loadable(base, array);
    const { shape } = base;
    const dense = denseStrides(shape);
    const isDense = strides.every((stride, k) => shape[k] === 1 || stride === dense[k]);
    return isDense ? { buffer, strides: denseStrides(array.shape), offset } : undefined;
  }

  #loadable(base: GraphNode, array: GraphNode): Loadable {
    if (this.#isLoaded(base.id)) return this.#builder.storedNode(base);
    if (base.kind === 'source') return this.#builder.source(base);
    throw new MustStore(array.id);
  }

  /** A reshape of a stored node reads its buffer as a line: no need to find the node's own coordinates. */
  #lineOfReshape(node: GraphNode, map: IndexMap): number | undefined {
    if (node.kind !== 'view' || node.view.type !== 'reshape') return undefined;
    const input = nodeOf(this.#graph, node.inputs[0]!);
    if (!this.#isLoaded(input.id)) return undefined;
    this.#nodes.push(node.id);
    const { buffer } = this.#builder.storedNode(input);
    return this.#load({ buffer, strides: denseStrides(node.shape), offset: 0 }, map);
  }
}

const zeroOf = (dtype: DType): Scalar => {
  if (dtype === 'bool') return false;
  if (dtype === 'int64' || dtype === 'uint64') return 0n;
  return isComplex(dtype) ? { re: 0, im: 0 } : 0;
};
