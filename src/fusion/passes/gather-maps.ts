/**
 * Computes maps at the places that a gather takes, instead of storing them for it:
 *
 *     take(exp(x) * 2, ids)                  →   exp(take(x, ids)) * 2
 *     take(line of (z - m[i]), places)       →   take(line of z, places) - take(m, places / columns)
 *     take(take(x, ids), places)             →   take(x, take(ids, places))
 *     take(take(image, rows, 0), columns, 1) →   take(line of image, rows * width + columns)
 *
 * where that moves fewer bytes, by shapes alone: a map of fewer values than places, as a table of colours or of roots of
 * unity is, stays as it is, and so does one of several arrays that would each be read at random. Values do not change, and it makes no
 * difference what else reads the map.
 */
import { byteLengthOf, type DType } from '../../graph/dtype.js';
import type { Shape } from '../../graph/expr.js';
import {
  type GraphNode,
  type GraphNodeOf,
  type MutableGraph,
  nodeOf,
  sizeOfShape,
} from '../../graph/graph.js';
import { opRow } from '../../graph/ops.js';
import { sameShape } from '../../graph/shape.js';
import type { Slices } from '../../host/slices.js';
import { GATHER_COST, isUnrolled } from './element-cost.js';
import { indexValues, inRange } from './index-values.js';
import { type Editor, type Rule, rewrite } from './rewrite.js';

/** Bytes of memory traffic that take as long as an addition on a GPU. */
const BYTES_PER_COST = 0.25;
/** Nodes of a map that are looked at. */
const MAX_NODES = 32;
/** Bytes of an array that caches hold: its elements are read at random as in order. */
const CACHED_BYTES = 2 ** 20;
/** Additions that a division of a place by a constant takes. */
const DIVISION_COST = 16;

export function* gatherMaps(graph: MutableGraph): Slices<void> {
  const nodeAt = (id: number): GraphNode => nodeOf(graph, id);
  const isOfMap = (node: GraphNode | undefined): boolean =>
    node?.kind === 'gather' && isOpen(lineBase(nodeAt(node.inputs[0]!), nodeAt));
  if (graph.nodes.some(isOfMap)) yield* rewrite(graph, { gather: [indexValues, atPlaces] });
}

/** A node whose elements can be computed, or read, apart from each other. */
type Open = GraphNodeOf<'map' | 'cast' | 'gather'>;

const isOpen = (node: GraphNode): node is Open =>
  node.kind === 'map' || node.kind === 'cast' || node.kind === 'gather';

/** The node that an array of one axis has the elements of, in order. */
function lineBase(array: GraphNode, nodeAt: (id: number) => GraphNode): GraphNode {
  let node = array;
  while (array.shape.length === 1 && node.kind === 'view' && node.view.type === 'reshape')
    node = nodeAt(node.inputs[0]!);
  return node;
}

const atPlaces: Rule = (node, editor) => {
  if (node.kind !== 'gather') return undefined;
  const [array, index] = node.inputs.map((id) => editor.node(id)) as [GraphNode, GraphNode];
  const base = lineBase(array, (id) => editor.node(id));
  if (!isOpen(base) || isOfRoutine(index, [array.id, base.id], editor)) return undefined;
  const places = new Places(node, base, array === base, editor);
  return places.areCheaper ? places.valueOf(base.id) : undefined;
};

/** Whether places are those of a selection, or of an order of the elements themselves, which other passes look for. */
function isOfRoutine(index: GraphNode, arrays: readonly number[], editor: Editor): boolean {
  let node = index;
  while (node.kind === 'view' || node.kind === 'cast') node = editor.node(node.inputs[0]!);
  return (
    node.kind === 'call' && (node.routine === 'compact' || node.inputs.some((id) => arrays.includes(id)))
  );
}

/**
 * How an operand of a map is read at places of the map: it is the same at all, it has the axis that the places are of, or
 * all axes of a line; or it has one value for so many neighbours of a line, or for every so many-th.
 */
type Reading =
  | { readonly kind: 'same' | 'along' }
  | { readonly kind: 'each' | 'every'; readonly count: number };

const SAME: Reading = { kind: 'same' };
const ALONG: Reading = { kind: 'along' };

/** The places of a gather, and the map below it, whose elements are needed there. */
class Places {
  readonly areCheaper: boolean;
  readonly #gather: GraphNodeOf<'gather'>;
  readonly #places: GraphNode;
  readonly #editor: Editor;
  readonly #isLine: boolean;
  /** The shape of the map. */
  readonly #whole: Shape;
  readonly #values = new Map<number, number>();

  /** `isWhole`: the gather is along an axis of the map; else along its line. */
  constructor(gather: GraphNodeOf<'gather'>, base: Open, isWhole: boolean, editor: Editor) {
    this.#gather = gather;
    this.#places = editor.node(gather.inputs[1]!);
    this.#editor = editor;
    this.#isLine = !isWhole;
    this.#whole = base.shape;
    this.areCheaper = this.#areCheaper(base);
  }

  #areCheaper(base: Open): boolean {
    if (!this.#isComputed(base)) return false;
    const size = sizeOfShape(base.shape);
    const count = sizeOfShape(this.#gather.shape);
    // A table that is looked up more often than it has values.
    if (count > size && !this.#isPlane(base)) return false;
    let stored = size * byteLengthOf(base.dtype) + this.#bytesAt(base, ALONG);
    let computed = 0;
    const seen = new Set([base.id]);
    // A set's walk meets what is added to it meanwhile.
    for (const id of seen) {
      const node = this.#editor.node(id);
      if (isOpen(node) && this.#isComputed(node)) {
        const cost = BYTES_PER_COST * (node.kind === 'map' ? opRow(node.op).cost : 1);
        stored += cost * size;
        computed += cost * count;
        if (this.#isPlane(node)) {
          stored += size * byteLengthOf(node.dtype);
          computed += this.#bytesAt(node, ALONG);
          continue;
        }
        for (const input of node.inputs) seen.add(this.#operand(input).id);
        if (seen.size > MAX_NODES) return false;
        continue;
      }
      const reading = this.#readingOf(node);
      if (reading === undefined || !this.#isReadable(node)) return false;
      if (reading.kind === 'same' || node.kind === 'iota') continue;
      stored += sizeOfShape(node.shape) * byteLengthOf(node.dtype);
      computed += this.#bytesAt(node, reading);
      if (reading.kind !== 'along') computed += BYTES_PER_COST * DIVISION_COST * count;
    }
    return computed < stored;
  }

  /** The node that an operand is broadcast from. */
  #operand(id: number): GraphNode {
    let node = this.#editor.node(id);
    while (node.kind === 'view' && node.view.type === 'broadcast') node = this.#editor.node(node.inputs[0]!);
    return node;
  }

  /** Whether the elements of a node are computed at the places: it has all of the map's. */
  #isComputed(node: Open): boolean {
    if (!sameShape(node.shape, this.#whole)) return false;
    if (node.kind !== 'gather') return true;
    const { axis, mode } = this.#gather;
    const isOneAxis = this.#editor.node(node.inputs[1]!).shape.length === 1;
    const isSameAxis = node.axis === axis && mode !== 'raiseFromStart';
    return !this.#isLine && isOneAxis && (isSameAxis || this.#isPlane(node));
  }

  /** Whether a node takes along the axis beside the one of the places: the two are one axis of its array. */
  #isPlane(node: Open): node is GraphNodeOf<'gather'> {
    if (node.kind !== 'gather' || this.#isLine) return false;
    const { axis } = this.#gather;
    const isCounted = ({ mode, within }: GraphNodeOf<'gather'>): boolean =>
      within === undefined && mode !== 'raiseFromStart' && mode !== 'raiseStarts';
    const isOneAxis = this.#editor.node(node.inputs[1]!).shape.length === 1;
    return isOneAxis && Math.abs(node.axis - axis) === 1 && isCounted(node) && isCounted(this.#gather);
  }

  /** Whether a gather reads an operand where it lies, or computes it of fewer elements. */
  #isReadable(operand: GraphNode): boolean {
    let node = operand;
    while (node.kind === 'view' && (!this.#isLine || node.view.type === 'reshape'))
      node = this.#editor.node(node.inputs[0]!);
    if (isOpen(node)) return 2 * sizeOfShape(node.shape) <= sizeOfShape(this.#whole);
    return (
      node.kind !== 'view' &&
      node.kind !== 'join' &&
      (node.kind !== 'iota' || node === operand) &&
      !isUnrolled(node)
    );
  }

  #readingOf(operand: GraphNode): Reading | undefined {
    const { shape } = operand;
    const whole = this.#whole;
    const lead = whole.length - shape.length;
    if (sizeOfShape(shape) === 1) return SAME;
    if (!this.#isLine) return (shape[this.#gather.axis - lead] ?? 1) === 1 ? SAME : ALONG;
    if (sameShape(shape, whole)) return ALONG;
    // In other modes places are counted from the end of the line, or around it.
    if (this.#gather.mode !== 'clip') return undefined;
    const wide = [...whole.keys()].filter((axis) => (shape[axis - lead] ?? 1) > 1);
    const thin = [...whole.keys()].filter((axis) => whole[axis]! > 1 && (shape[axis - lead] ?? 1) === 1);
    if (thin.length === 0) return ALONG;
    if (wide.at(-1)! < thin[0]!) return { kind: 'each', count: sizeOfShape(whole.slice(thin[0])) };
    return thin.at(-1)! < wide[0]! ? { kind: 'every', count: sizeOfShape(whole.slice(wide[0])) } : undefined;
  }

  /** Bytes of memory that an operand takes at the places. */
  #bytesAt({ dtype, shape }: { readonly dtype: DType; readonly shape: Shape }, { kind }: Reading): number {
    const [size, bytes] = [sizeOfShape(shape), byteLengthOf(dtype)];
    const places = sizeOfShape(this.#places.shape);
    if (this.#isLine)
      return (
        places * (size * bytes <= CACHED_BYTES || kind !== 'along' ? bytes : Math.max(bytes, GATHER_COST))
      );
    const axis = this.#gather.axis - (this.#whole.length - shape.length);
    const run = sizeOfShape(shape.slice(axis + 1));
    const count = (size / shape[axis]!) * places;
    return count * (size * bytes <= CACHED_BYTES ? bytes : Math.max(bytes, GATHER_COST / run));
  }

  /** The value of a node at the places. Recursion is as deep as the search, which is bounded. */
  valueOf(id: number): number {
    const node = this.#operand(id);
    const known = this.#values.get(node.id);
    if (known !== undefined) return known;
    const made = isOpen(node) && this.#isComputed(node) ? this.#computed(node) : this.#read(node);
    this.#values.set(node.id, made);
    return made;
  }

  #computed(node: Open): number {
    const { shape } = this.#gather;
    const { id: _, ...content } = node;
    if (this.#isPlane(node)) return this.#inPlane(node);
    if (content.kind === 'gather') {
      const [array, index] = node.inputs as readonly [number, number];
      return this.#editor.add({ ...content, shape, inputs: [array, this.#taken(index, 0)] });
    }
    const inputs = node.inputs.map((input) => {
      const isWhole = sameShape(this.#editor.node(input).shape, this.#whole);
      return isWhole ? this.#editor.broadcast(this.valueOf(input), shape) : this.valueOf(input);
    });
    return this.#editor.add({ ...content, shape, inputs });
  }

  /** The places in a plane of rows and columns, as places in the line of all its elements. */
  #inPlane({ axis, dtype, mode, inputs: [array, index] }: GraphNodeOf<'gather'>): number {
    const editor = this.#editor;
    const gather = this.#gather;
    const isOfRows = axis < gather.axis;
    const { shape, kind } = editor.node(array!);
    const first = Math.min(axis, gather.axis);
    const [height, width] = [shape[first]!, shape[first + 1]!];
    const sizeOf = (along: number): number => (along === first ? height : width);
    const own = inRange(index!, sizeOf(axis), mode, editor);
    const other = inRange(this.#places.id, sizeOf(gather.axis), gather.mode, editor);
    const [rows, columns] = isOfRows ? [own, other] : [other, own];
    const [ofRows, ofColumns] = [editor.node(rows).shape, editor.node(columns).shape];
    const of = (op: 'multiply' | 'add', x: number, y: number, size: Shape): number =>
      editor.add({ kind: 'map', op, dtype: 'int64', shape: size, inputs: [x, y] });
    const begins = of('multiply', rows, editor.constant(BigInt(width), 'int64'), ofRows);
    const apart = editor.reshape(begins, [...ofRows, ...ofColumns.map(() => 1)]);
    const places = of('add', apart, columns, [...ofRows, ...ofColumns]);
    const line = editor.reshape(array!, [
      ...shape.slice(0, first),
      height * width,
      ...shape.slice(first + 2),
    ]);
    // Maps whose operands have one value for each row or column are read at places that are clipped.
    const isMap = kind === 'map' || kind === 'cast';
    return editor.add({
      kind: 'gather',
      axis: first,
      mode: isMap ? 'clip' : 'inRange',
      dtype,
      shape: gather.shape,
      inputs: [line, places],
    });
  }

  #taken(array: number, axis: number, places = this.#places): number {
    const { shape, dtype } = this.#editor.node(array);
    const { mode } = this.#gather;
    const result = [...shape.slice(0, axis), ...places.shape, ...shape.slice(axis + 1)];
    return this.#editor.add({ kind: 'gather', axis, mode, dtype, shape: result, inputs: [array, places.id] });
  }

  /** An operand that is read at the places. */
  #read(node: GraphNode): number {
    const { id, shape } = node;
    const reading = this.#readingOf(node)!;
    const editor = this.#editor;
    if (this.#isLine) {
      if (reading.kind === 'same') return editor.reshape(id, []);
      const line = editor.reshape(id, [sizeOfShape(shape)]);
      return this.#taken(line, 0, 'count' in reading ? this.#placesIn(reading) : this.#places);
    }
    const axis = this.#gather.axis - (this.#whole.length - shape.length);
    if (reading.kind === 'along') return this.#taken(id, axis);
    const ones = this.#places.shape.map(() => 1);
    return axis < 0 ? id : editor.reshape(id, [...shape.slice(0, axis), ...ones, ...shape.slice(axis + 1)]);
  }

  /** The places in an operand of fewer elements than the line. */
  #placesIn({ kind, count }: Extract<Reading, { readonly count: number }>): GraphNode {
    const { id, shape } = this.#places;
    const editor = this.#editor;
    const map = (op: 'maximum' | 'minimum' | 'floorDivide' | 'remainder', x: number, y: number): number => {
      const inputs = [x, editor.constant(BigInt(y), 'int64')];
      return editor.add({ kind: 'map', op, dtype: 'int64', shape, inputs });
    };
    const within = map('minimum', map('maximum', id, 0), sizeOfShape(this.#whole) - 1);
    return editor.node(map(kind === 'each' ? 'floorDivide' : 'remainder', within, count));
  }
}
