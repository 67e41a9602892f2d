/**
 * Takes a slice of a node by what it needs of the joins below, through maps and views:
 *
 *     rows 2 … 3 of exp(join [a, b]), a of 2 rows   →   exp(b)
 *
 * Slices are from cut to cut: of whole parts. Called by `split-joins.ts`.
 */
import type { Shape, View } from '../../graph/expr.js';
import type { GraphNode, GraphNodeOf } from '../../graph/graph.js';
import { sameShape } from '../../graph/shape.js';
import { sameNumbers } from '../kernel/kernel.js';
import { type JoinCuts, type Slice, unitReshapeAxes } from './join-cuts.js';
import type { Editor } from './rewrite.js';

/** A slice that is wanted of a node. */
interface Wanted {
  readonly id: number;
  readonly slice: Slice;
  /** How it is made, once that is known. */
  made: Made | undefined;
}

const wantedOf = (id: number, slice: Slice): Wanted => ({
  id,
  slice,
  made: undefined,
});

/** The nodes that slices are, by what they are taken of: few of one node. */
class TakenSlices {
  readonly #byNode = new Map<number, { readonly slice: Slice; readonly node: number }[]>();

  of({ id, slice }: Wanted): number | undefined {
    return this.#byNode.get(id)?.find((taken) => isSameSlice(taken.slice, slice))?.node;
  }

  set({ id, slice }: Wanted, node: number): void {
    const known = this.#byNode.get(id);
    if (known === undefined) this.#byNode.set(id, [{ slice, node }]);
    else known.push({ slice, node });
  }
}

const isSameSlice = (a: Slice, b: Slice): boolean =>
  sameNumbers(a.sizes, b.sizes) && sameNumbers(a.starts, b.starts) && sameNumbers(a.steps, b.steps);

/** The slices that a wanted one is made of, and how. */
interface Made {
  readonly needs: readonly Wanted[];
  readonly make: (inputs: readonly number[]) => number;
}

export class SliceTaker {
  readonly editor: Editor;
  readonly #cuts: JoinCuts;
  /** The nodes that slices were taken of through. */
  readonly #sliced: Set<number>;
  readonly #taken = new TakenSlices();

  constructor(editor: Editor, cuts: JoinCuts, sliced: Set<number>) {
    this.editor = editor;
    this.#cuts = cuts;
    this.#sliced = sliced;
  }

  /** A node that is the slice. Iterative: maps may be in long chains. */
  take(id: number, slice: Slice): number {
    const first = wantedOf(id, slice);
    const stack = [first];
    for (let wanted = stack.at(-1); wanted !== undefined; wanted = stack.at(-1)) {
      wanted.made ??= this.#plan(wanted);
      const { needs, make } = wanted.made;
      const missing = needs.filter((need) => this.#taken.of(need) === undefined);
      if (missing.length > 0) {
        stack.push(...missing.reverse());
        continue;
      }
      stack.pop();
      if (this.#taken.of(wanted) === undefined)
        this.#taken.set(wanted, make(needs.map((need) => this.#taken.of(need)!)));
    }
    return this.#taken.of(first)!;
  }

  #plan({ id, slice }: Wanted): Made {
    const { editor } = this;
    const node = editor.node(id);
    if (!this.#cuts.narrows(id, slice) || (node.kind === 'join' && !this.#isOfParts(node, slice)))
      return { needs: [], make: () => this.#view(node, slice) };
    this.#sliced.add(id);
    const { sizes } = slice;
    if (node.kind === 'join') return this.#ofJoin(node, slice);
    if (node.kind === 'view') {
      const input = editor.node(node.inputs[0]!);
      return {
        needs: [wantedOf(input.id, sliceBelow(node.view, node.shape, input.shape, slice))],
        make: ([x]) => (node.view.type === 'slice' ? x! : this.#again(x!, node.view, sizes)),
      };
    }
    const { id: _, ...data } = node;
    const needs = node.inputs.map((input) =>
      wantedOf(input, broadcastSlice(slice, editor.node(input).shape)),
    );
    return { needs, make: (inputs) => editor.add({ ...data, shape: sizes, inputs }) };
  }

  /** A slice of a node as a view of it, or of what it is a slice of; the node where it is whole. */
  #view(node: GraphNode, slice: Slice): number {
    const { starts, steps, sizes } = slice;
    const isWhole = sameShape(sizes, node.shape) && steps.every((step, k) => step === 1 || sizes[k] === 1);
    if (isWhole) return node.id;
    if (node.kind === 'view' && node.view.type === 'slice') {
      const { starts: from, steps: by } = composed(node.view, slice);
      return this.editor.view(node.inputs[0]!, { type: 'slice', starts: from, steps: by }, sizes);
    }
    return this.editor.view(node.id, { type: 'slice', starts, steps }, sizes);
  }

  #again(x: number, view: View, sizes: Shape): number {
    return view.type === 'permute' || !sameShape(this.editor.node(x).shape, sizes)
      ? this.editor.view(x, view, sizes)
      : x;
  }

  /**
   * Whether a slice of a join is of whole parts. Not where a view that is sliced for the parts of another axis reads
   * this one in an order of its own, or in part.
   */
  #isOfParts({ id, axis }: GraphNodeOf<'join'>, { starts, steps, sizes }: Slice): boolean {
    const [start, size] = [starts[axis]!, sizes[axis]!];
    const cuts = this.#cuts.of(id)[axis];
    if (cuts === undefined || size === 0 || (steps[axis] !== 1 && size !== 1)) return false;
    return cuts.includes(start) && cuts.includes(start + size);
  }

  /** The parts that a slice takes. */
  #ofJoin({ axis, inputs, dtype }: GraphNodeOf<'join'>, slice: Slice): Made {
    const { starts, sizes } = slice;
    let begin = 0;
    const needs = inputs.flatMap((id): Wanted[] => {
      const size = this.editor.node(id).shape[axis]!;
      const at = begin - starts[axis]!;
      begin += size;
      if (at < 0 || at >= sizes[axis]!) return [];
      return [wantedOf(id, { ...slice, starts: starts.with(axis, 0), sizes: sizes.with(axis, size) })];
    });
    const make = (parts: readonly number[]): number =>
      parts.length === 1
        ? parts[0]!
        : this.editor.add({ kind: 'join', axis, dtype, shape: sizes, inputs: parts });
    return { needs, make };
  }
}

/** The slice of an input that a slice of a node which it broadcasts to needs. */
function broadcastSlice({ starts, steps, sizes }: Slice, input: Shape): Slice {
  const lead = sizes.length - input.length;
  return {
    starts: input.map((n, k) => (n === 1 ? 0 : starts[lead + k]!)),
    steps: input.map((n, k) => (n === 1 ? 1 : steps[lead + k]!)),
    sizes: input.map((n, k) => (n === 1 ? 1 : sizes[lead + k]!)),
  };
}

function composed({ starts, steps }: Pick<Slice, 'starts' | 'steps'>, outer: Slice): Slice {
  return {
    starts: starts.map((start, k) => start + outer.starts[k]! * steps[k]!),
    steps: steps.map((step, k) => step * outer.steps[k]!),
    sizes: outer.sizes,
  };
}

/** The slice of a view's input that a slice of the view needs. */
function sliceBelow(view: View, shape: Shape, input: Shape, slice: Slice): Slice {
  switch (view.type) {
    case 'slice':
      return composed(view, slice);
    case 'permute': {
      const at = input.map((_, axis) => view.order.indexOf(axis));
      return {
        starts: at.map((k) => slice.starts[k]!),
        steps: at.map((k) => slice.steps[k]!),
        sizes: at.map((k) => slice.sizes[k]!),
      };
    }
    case 'reshape': {
      // Of axes that both have; others have one element.
      const axes = unitReshapeAxes(shape, input)!;
      const at = input.map((_, axis) => axes.indexOf(axis));
      return {
        starts: at.map((k) => slice.starts[k] ?? 0),
        steps: at.map((k) => slice.steps[k] ?? 1),
        sizes: at.map((k) => slice.sizes[k] ?? 1),
      };
    }
    default:
      return broadcastSlice(slice, input);
  }
}
