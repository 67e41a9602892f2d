/**
 * LeafMaps: by which index maps an expression reads the values that it is computed from, its leaves:
 *
 *     exp(x.T) + y, x of (3, 4)   →   x by (1, 4), y by (3, 1)
 *
 * Found from the leaves up, on a node's own axes, so that it takes one look at each node. `own-reading.ts` compares what
 * a reduction reads beside others with what it reads alone.
 */
import type { DType } from '../../graph/dtype.js';
import type { Shape, View } from '../../graph/expr.js';
import { denseStrides, type Graph, type GraphNode, type GraphNodeOf, nodeOf } from '../../graph/graph.js';
import { sameShape } from '../../graph/shape.js';
import { sameNumbers } from '../kernel/kernel.js';
import { isUnrolled } from '../passes/element-cost.js';
import { isBoundary } from './materialization.js';
import { stridedViewOf } from './strided-view.js';

export interface LeafMap {
  /** The node that is read; -1 for a coordinate. */
  readonly leaf: number;
  readonly dtype: DType;
  /** Of the node's axes; 0 for those of one element. */
  readonly strides: readonly number[];
  /** Whether an index chooses the element. */
  readonly isGathered: boolean;
  /**
   * Of a reshape that no strides describe, which a kernel splits its axes for: the maps of what it reshapes, on axes of
   * that. It stands for them as if it were a leaf in C order.
   */
  readonly split?: readonly LeafMap[];
  /** Whether it is the coordinate of an axis that a pad made longer or turned, which no kernel folds. */
  readonly isPadded?: boolean;
  /** Whether the node is in memory whoever reads it, since the expression folds an axis there that it pads. */
  readonly isFolded?: boolean;
}

/** The most maps of a value; further ones are left out. */
const MOST_MAPS = 32;
const NONE: readonly LeafMap[] = [];

export class LeafMaps {
  readonly #graph: Graph;
  readonly #isLeaf: (node: GraphNode) => boolean;
  /** By id; with gaps, for mostly a few nodes are asked about. */
  readonly #known: (readonly LeafMap[] | undefined)[] = [];

  /** `isLeaf`: the nodes that are read from memory besides sources, reductions and results of calls. */
  constructor(graph: Graph, isLeaf: (node: GraphNode) => boolean) {
    this.#graph = graph;
    this.#isLeaf = isLeaf;
  }

  of(start: number): readonly LeafMap[] {
    const open = [start];
    for (let id = open.at(-1); id !== undefined; id = open.at(-1)) {
      const node = nodeOf(this.#graph, id);
      const missing = this.#isInMemory(node) ? undefined : this.#unknownOf(node.inputs);
      if (missing === undefined) {
        this.#known[id] ??= this.#find(node);
        open.pop();
      } else {
        open.push(missing);
      }
    }
    return this.#known[start]!;
  }

  #unknownOf(inputs: readonly number[]): number | undefined {
    for (let k = 0; k < inputs.length; k++) if (this.#known[inputs[k]!] === undefined) return inputs[k];
    return undefined;
  }

  #isInMemory(node: GraphNode): boolean {
    return node.kind === 'source' || isBoundary(node) || this.#isLeaf(node);
  }

  #find(node: GraphNode): readonly LeafMap[] {
    if (this.#isLeaf(node) || isBoundary(node)) return [leafOf(node)];
    switch (node.kind) {
      case 'source':
        return [{ ...leafOf(node), strides: wide(node.strides, node.shape) }];
      case 'const':
        return NONE;
      case 'iota':
        return [coordinate(node, 0)];
      case 'view':
        return this.#ofView(node);
      case 'join':
        return united([...node.inputs.map((id) => this.#known[id]!), [coordinate(node, node.axis)]]);
      case 'gather':
        return this.#ofGather(node);
      case 'reduce':
        return isUnrolled(node) ? this.#ofUnrolled(node) : [leafOf(node)];
      default:
        return this.#ofMap(node);
    }
  }

  #ofMap({ inputs, shape }: GraphNode): readonly LeafMap[] {
    if (inputs.length === 1) return this.#broadcast(inputs[0]!, shape);
    return united(inputs.map((id) => this.#broadcast(id, shape)));
  }

  #broadcast(id: number, shape: Shape): readonly LeafMap[] {
    const from = nodeOf(this.#graph, id).shape;
    const maps = this.#known[id]!;
    return sameShape(from, shape) ? maps : maps.map((map) => through(BROADCAST, map, from, shape)!);
  }

  #ofView(node: GraphNodeOf<'view'>): readonly LeafMap[] {
    const [input] = node.inputs as readonly [number];
    const maps = this.#known[input]!;
    const { view, shape } = node;
    if (view.type === 'pad') {
      const { shape: inner } = nodeOf(this.#graph, input);
      // A rolled axis has its size, and bounds as a padded one.
      const isWhole = (size: number, axis: number): boolean =>
        size === inner[axis] && view.before[axis] === 0;
      const padded = [...shape.keys()].filter((axis) => !isWhole(shape[axis]!, axis));
      const isFoldedAgain =
        view.fold !== undefined &&
        maps.some(({ isPadded, strides }) => isPadded === true && padded.some((axis) => strides[axis] !== 0));
      return united([
        isFoldedAgain ? this.#belowFold(input) : maps,
        padded.map((axis): LeafMap => ({ ...coordinate(node, axis), isPadded: true })),
      ]);
    }
    const moved = maps.map((map) => through(view, map, nodeOf(this.#graph, input).shape, shape));
    if (!moved.includes(undefined)) return united([moved as LeafMap[]]);
    return [{ ...leafOf(node), split: maps }];
  }

  /**
   * The maps of a value that is read by folding an axis that it pads: no index map folds twice, so that the array below the
   * views has to be in memory (`emit-kernel.ts`).
   */
  #belowFold(id: number): readonly LeafMap[] {
    let read = nodeOf(this.#graph, id);
    while (read.kind === 'view' && read.view.type !== 'pad') read = nodeOf(this.#graph, read.inputs[0]!);
    const maps = new LeafMaps(this.#graph, (node) => node === read || this.#isLeaf(node)).of(id);
    return maps.map((map) => (map.leaf === read.id ? { ...map, isFolded: true } : map));
  }

  /** The index, which is read first, and the array, of which views are index maps too. */
  #ofGather(node: GraphNodeOf<'gather'>): readonly LeafMap[] {
    const [array, index] = node.inputs.map((id) => nodeOf(this.#graph, id)) as [GraphNode, GraphNode];
    const [read, ...more] = this.#known[array.id]!;
    const strides = read === undefined || more.length > 0 ? denseStrides(array.shape) : read.strides;
    const between = index.shape.map(() => 0);
    const around = [...strides.slice(0, node.axis), ...between, ...strides.slice(node.axis + 1)];
    const before = strides.slice(0, node.axis).map(() => 0);
    const after = strides.slice(node.axis + 1).map(() => 0);
    const indices = this.#known[index.id]!.map((map) => ({
      ...map,
      strides: [...before, ...map.strides, ...after],
    }));
    const { dtype, shape } = node;
    return united([indices, [{ leaf: array.id, dtype, strides: wide(around, shape), isGathered: true }]]);
  }

  #ofUnrolled({ inputs, axes }: GraphNodeOf<'reduce'>): readonly LeafMap[] {
    const isKept = (_: number, axis: number): boolean => !axes.includes(axis);
    const maps = this.#known[inputs[0]!]!;
    return united([maps.map((map) => ({ ...map, strides: map.strides.filter(isKept) }))]);
  }
}

const BROADCAST: View = { type: 'broadcast' };

/** Strides, 0 along axes of one element. */
const wide = (strides: readonly number[], shape: Shape): readonly number[] =>
  strides.map((stride, axis) => (shape[axis] === 1 ? 0 : stride));

const leafOf = ({ id, dtype, shape }: GraphNode): LeafMap => ({
  leaf: id,
  dtype,
  strides: wide(denseStrides(shape), shape),
  isGathered: false,
});

const coordinate = ({ shape }: GraphNode, at: number): LeafMap => ({
  leaf: -1,
  dtype: 'int64',
  strides: shape.map((size, axis) => (axis === at && size !== 1 ? 1 : 0)),
  isGathered: false,
});

function through(view: View, map: LeafMap, from: Shape, to: Shape): LeafMap | undefined {
  const strided = stridedViewOf(view, { offset: 0, strides: map.strides }, from, to);
  return strided && { ...map, strides: wide(strided.strides, to) };
}

/** All maps of some lists, each once; one of the lists where it has all of them. */
function united(lists: readonly (readonly LeafMap[])[]): readonly LeafMap[] {
  let all: readonly LeafMap[] = lists[0] ?? NONE;
  for (let k = 1; k < lists.length; k++) {
    const added = lists[k]!.filter((map) => !all.some((other) => isSame(map, other)));
    if (added.length > 0) all = [...all, ...added].slice(0, MOST_MAPS);
  }
  return all;
}

const isSame = (a: LeafMap, b: LeafMap): boolean =>
  a === b ||
  (a.leaf === b.leaf &&
    a.isGathered === b.isGathered &&
    a.split === b.split &&
    a.isPadded === b.isPadded &&
    sameNumbers(a.strides, b.strides));
