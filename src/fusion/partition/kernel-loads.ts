/**
 * KernelLoads: the loads of one kernel and the buffers that they read: of stored nodes and sources through an index map,
 * of reshapes as lines, of gathers by an index that the kernel computes. Called by `emit-kernel.ts`.
 */
import { type DType, isComplex, isHalf, type Scalar } from '../../graph/dtype.js';
import { denseStrides, type Graph, type GraphNode, type GraphNodeOf, nodeOf } from '../../graph/graph.js';
import { loadOf } from '../kernel/algebra.js';
import { create } from '../kernel/instruction.js';
import type { Access, Bound } from '../kernel/kernel.js';
import type { TapeBuilder } from '../kernel/tape-builder.js';
import { BufferList } from './buffer-list.js';
import { belowViews, foldedIndex, gatherMap, inRange } from './gathers.js';
import { combine, constantAffine, type IndexMap } from './index-map.js';
import { type Loadable, type Loadables, MustStore } from './loadable.js';

/** The memory that kernels of a graph read. */
interface Readable {
  readonly graph: Graph;
  readonly loadables: Loadables;
  readonly stored: ReadonlySet<number>;
}

export class KernelLoads {
  readonly buffers = new BufferList();
  readonly #graph: Graph;
  readonly #loadables: Loadables;
  readonly #sizes: readonly number[];
  readonly #tape: TapeBuilder;
  readonly #stored: ReadonlySet<number>;
  readonly #computed: ReadonlySet<number>;

  /** `computed`: stored nodes that the kernel does not load; `sizes`: of its axes. */
  constructor(
    { graph, loadables, stored }: Readable,
    computed: ReadonlySet<number>,
    sizes: readonly number[],
    tape: TapeBuilder,
  ) {
    this.#graph = graph;
    this.#loadables = loadables;
    this.#stored = stored;
    this.#computed = computed;
    this.#sizes = sizes;
    this.#tape = tape;
  }

  /** Whether a node is stored, and read where it is. */
  isLoaded(id: number): boolean {
    return this.#stored.has(id) && !this.#computed.has(id);
  }

  load({ buffer, strides, offset }: Loadable, { coordinates, bounds, folds }: IndexMap): number {
    const address = combine(coordinates, strides, offset, this.#sizes.length);
    const at = this.buffers.at(buffer);
    const all = folds.length === 0 ? bounds : [...bounds, ...foldedBounds(folds, strides)];
    const access: Access = { offset: address.offset, strides: address.strides, buffer: at, bounds: all };
    return this.#tape.add(create.load(buffer.dtype, access));
  }

  /** A coordinate of a node as a value. */
  coordinate({ coordinates, folds }: IndexMap, k: number): number {
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
  gather(node: GraphNodeOf<'gather'>, index: number, { coordinates, bounds }: IndexMap): number {
    const [array, indices] = node.inputs.map((id) => nodeOf(this.#graph, id)) as [GraphNode, GraphNode];
    const size = array.shape[node.axis]!;
    const outer = [...coordinates];
    outer.splice(node.axis, indices.shape.length, constantAffine(0, this.#sizes.length));
    const { at, map } = this.#gathered(array, gatherMap(outer, node.axis), size);
    const { buffer, strides, offset } = at;
    const address = combine(map.coordinates, strides, offset, this.#sizes.length + 1);
    const access: Access = {
      offset: address.offset,
      strides: address.strides.slice(0, -1),
      buffer: this.buffers.at(buffer),
      bounds,
      index: {
        value: inRange(this.#tape, index, size, node.mode),
        stride: address.strides[this.#sizes.length]!,
        size,
      },
    };
    return this.#tape.add(create.load(buffer.dtype, access));
  }

  /** The memory that a gather reads its array from, and the map of the coordinates there. */
  #gathered(array: GraphNode, map: IndexMap, size: number): { at: Loadable; map: IndexMap } {
    const line = this.isLoaded(array.id) ? undefined : this.#reshaped(array);
    if (line !== undefined) return { at: line, map };
    const found = belowViews(this.#graph, array, map, {
      sizes: [...this.#sizes, size],
      isStored: (id) => this.isLoaded(id),
    });
    if (found === undefined) throw new MustStore(array.id);
    return { at: this.#loadable(found.base, array), map: found.map };
  }

  /** A reshape of an array that is in memory in C order: the same elements, with strides of its own. */
  #reshaped(array: GraphNode): Loadable | undefined {
    const isReshape = (node: GraphNode): boolean => node.kind === 'view' && node.view.type === 'reshape';
    if (!isReshape(array)) return undefined;
    let base = nodeOf(this.#graph, array.inputs[0]!);
    while (isReshape(base) && !this.isLoaded(base.id)) base = nodeOf(this.#graph, base.inputs[0]!);
    if (base.kind !== 'source' && !this.isLoaded(base.id)) return undefined;
    const { buffer, strides, offset } = this.#loadable(base, array);
    const { shape } = base;
    const dense = denseStrides(shape);
    const isDense = strides.every((stride, k) => shape[k] === 1 || stride === dense[k]);
    return isDense ? { buffer, strides: denseStrides(array.shape), offset } : undefined;
  }

  #loadable(base: GraphNode, array: GraphNode): Loadable {
    if (this.isLoaded(base.id)) return this.#loadables.storedNode(base);
    if (base.kind === 'source') return this.#loadables.source(base);
    throw new MustStore(array.id);
  }

  /** A reshape of an array in memory reads it as a line: no need to find the array's own coordinates, which may not be affine. */
  lineOfReshape(node: GraphNode, map: IndexMap): number | undefined {
    const line = this.#reshaped(node);
    return line && this.load(line, map);
  }

  /** Zero outside the bounds that a pad added. Loads see to that themselves. */
  padded(value: number, inner: IndexMap, outer: IndexMap): number {
    const instruction = this.#tape.instructions[value]!;
    if (loadOf(instruction) !== undefined || inner.bounds.length === outer.bounds.length) return value;
    const { dtype } = instruction;
    const computed: DType = isHalf(dtype) ? 'float32' : dtype;
    const inside = this.#tape.add(create.inside(inner.bounds));
    const zero = this.#tape.add(create.constant(computed, zeroOf(computed)));
    return this.#tape.cast(this.#tape.map('where', [inside, this.#tape.cast(value, computed), zero]), dtype);
  }
}

/** The bounds of a load through folds, in which its address folds back. */
const foldedBounds = (folds: IndexMap['folds'], strides: readonly number[]): Bound[] =>
  folds.flatMap(({ mode, steps, ...bound }): Bound[] => {
    const stride = steps.reduce((sum, step, k) => sum + step * strides[k]!, 0);
    return stride === 0 ? [] : [{ ...bound, fold: { mode, stride } }];
  });

const zeroOf = (dtype: DType): Scalar => {
  if (dtype === 'bool') return false;
  if (dtype === 'int64' || dtype === 'uint64') return 0n;
  return isComplex(dtype) ? { re: 0, im: 0 } : 0;
};
