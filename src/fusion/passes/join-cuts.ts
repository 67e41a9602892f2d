/**
 * Cuts: the places along the axes of a node where parts of joins begin, through maps and views:
 *
 *     exp(join along 0 [a, b]), a of 2 rows, b of 3   →   0, 2, 5 along axis 0
 *
 * Called by `split-joins.ts` and `take-slices.ts`.
 */
import type { Shape } from '../../graph/expr.js';
import { type GraphNode, type MutableGraph, nodeOf, orderOf } from '../../graph/graph.js';
import type { Slices } from '../../host/slices.js';

/** Elements starts[k] + i * steps[k] along axis k, sizes[k] of them. */
export interface Slice {
  readonly starts: readonly number[];
  readonly steps: readonly number[];
  readonly sizes: Shape;
}

/** Whether a node computes each element from those of its inputs, which broadcast. */
export const isElementwise = ({ kind }: GraphNode): boolean =>
  kind === 'map' || kind === 'cast' || kind === 'repeat' || kind === 'function';

/** An axis of an input. */
interface InputAxis {
  readonly id: number;
  readonly axis: number;
}

/** By axis, the places where parts of joins below begin, and the end; undefined: there are none. */
type Cuts = readonly (readonly number[] | undefined)[];

const NO_CUTS: Cuts = [];

/** Nodes between pauses: each takes some 0.5 µs. */
const NODES_OF_SLICE = 1024;

/**
 * Where nodes are joined of parts, through maps and views: the cuts of an axis are those of all joins below. Slices
 * are only taken from cut to cut, so that parts stay values that several places share.
 */
export class JoinCuts {
  readonly #graph: MutableGraph;
  readonly #known: Cuts[];

  private constructor(graph: MutableGraph) {
    this.#graph = graph;
    this.#known = new Array<Cuts>(graph.nodes.length);
  }

  static *of(graph: MutableGraph): Slices<JoinCuts> {
    const cuts = new JoinCuts(graph);
    for (const [k, id] of orderOf(graph).entries()) {
      cuts.of(id);
      if (k % NODES_OF_SLICE === 0) yield;
    }
    return cuts;
  }

  /** The cuts of a node; those of the inputs of nodes that a pass makes are known when these are asked for. */
  of(id: number): Cuts {
    let found = this.#known[id];
    if (found === undefined) {
      found = this.#find(nodeOf(this.#graph, id));
      this.#known[id] = found;
    }
    return found;
  }

  #find(node: GraphNode): Cuts {
    let isOpen = node.kind === 'join';
    for (let k = 0; k < node.inputs.length; k++) if (this.of(node.inputs[k]!).length > 0) isOpen = true;
    if (!isOpen) return NO_CUTS;
    const cuts = node.shape.map((_, axis) => this.#along(node, axis));
    return cuts.some((each) => each !== undefined) ? cuts : NO_CUTS;
  }

  /** The axes of a node along which it has cuts. */
  axesOf(id: number): number[] {
    return this.of(id).flatMap((cuts, axis) => (cuts === undefined ? [] : [axis]));
  }

  #along(node: GraphNode, axis: number): readonly number[] | undefined {
    if (node.kind === 'join' && node.axis === axis) {
      let end = 0;
      return [0, ...node.inputs.map((id) => (end += nodeOf(this.#graph, id).shape[axis]!))];
    }
    let common: readonly number[] | undefined;
    for (const input of this.below(node, axis)) {
      const below = this.of(input.id)[input.axis];
      const own = below && cutsThrough(node, axis, below);
      if (own !== undefined) common = common?.filter((cut) => own.includes(cut)) ?? own;
    }
    return common !== undefined && common.length > 2 ? common : undefined;
  }

  /** The axes of a node's inputs that are an axis of the node, where slices of it can be taken of the inputs. */
  below(node: GraphNode, axis: number): InputAxis[] {
    const below: InputAxis[] = [];
    for (let k = 0; k < node.inputs.length; k++) {
      const id = node.inputs[k]!;
      const { shape } = nodeOf(this.#graph, id);
      const own = inputAxis(node, shape, axis);
      if (own >= 0 && shape[own] !== 1) below.push({ id, axis: own });
    }
    return below;
  }

  /** Whether a slice of a node leaves out elements along an axis that has cuts. */
  narrows(id: number, { sizes }: Slice): boolean {
    const { shape } = nodeOf(this.#graph, id);
    return this.of(id).some((cuts, axis) => cuts !== undefined && sizes[axis]! < shape[axis]!);
  }

  /** A slice of a node along those axes alone along which it goes from cut to cut; undefined: along none. */
  ofParts(id: number, { starts, steps, sizes }: Slice): Slice | undefined {
    const cuts = this.of(id);
    if (cuts.length === 0) return undefined;
    const { shape } = nodeOf(this.#graph, id);
    const isTaken = shape.map((size, axis) => {
      const [start, end] = [starts[axis]!, starts[axis]! + sizes[axis]!];
      const isRange = sizes[axis]! < size && (steps[axis] === 1 || sizes[axis] === 1);
      return isRange && cuts[axis]?.includes(start) === true && cuts[axis].includes(end);
    });
    if (!isTaken.includes(true)) return undefined;
    return {
      starts: shape.map((_, axis) => (isTaken[axis] ? starts[axis]! : 0)),
      steps: shape.map(() => 1),
      sizes: shape.map((size, axis) => (isTaken[axis] ? sizes[axis]! : size)),
    };
  }
}

/** The cuts of a node along an axis by those of an input, along the axis there. */
function cutsThrough(node: GraphNode, axis: number, below: readonly number[]): readonly number[] | undefined {
  if (node.kind !== 'view' || node.view.type !== 'slice') return below;
  const [start, size] = [node.view.starts[axis]!, node.shape[axis]!];
  const isOfParts = node.view.steps[axis] === 1 && below.includes(start) && below.includes(start + size);
  return isOfParts ? below.map((cut) => cut - start).filter((cut) => cut >= 0 && cut <= size) : undefined;
}

/** The axis of an input that is an axis of the node; -1: none is, or it may be broadcast. */
function inputAxis(node: GraphNode, input: Shape, axis: number): number {
  if (isElementwise(node)) return axis - (node.shape.length - input.length);
  if (node.kind === 'join') return axis;
  if (node.kind !== 'view') return -1;
  switch (node.view.type) {
    case 'permute':
      return node.view.order[axis]!;
    case 'broadcast':
      return axis - (node.shape.length - input.length);
    case 'slice':
      return axis;
    case 'reshape':
      return unitReshapeAxes(node.shape, input)?.[axis] ?? -1;
    case 'pad':
      return -1;
  }
}

/** Of a reshape that adds and drops axes of one element, the axis of the input that each axis is, or -1. */
export function unitReshapeAxes(shape: Shape, input: Shape): number[] | undefined {
  const wide = (sizes: Shape): number[] => [...sizes.keys()].filter((axis) => sizes[axis] !== 1);
  const [to, from] = [wide(shape), wide(input)];
  if (to.length !== from.length || to.some((axis, k) => shape[axis] !== input[from[k]!])) return undefined;
  return [...shape.keys()].map((axis) => from[to.indexOf(axis)] ?? -1);
}
