/**
 * Makes one node of several that differ by where slices begin alone, with a first axis for which of them:
 *
 *     exp x[0], exp x[1], exp x[2]   →   exp x        of shape (3, …)
 *
 * Called by `batch-slices.ts`.
 */
import type { Shape, View } from '../../graph/expr.js';
import type { GraphNode, GraphNodeOf } from '../../graph/graph.js';
import { isExactReduction } from '../../graph/reductions.js';
import { InternalError } from '../../host/errors.js';
import type { Editor } from './rewrite.js';
import type { SliceClasses } from './slice-classes.js';

/** Nodes of one class, in the order of their slices. */
type Members = readonly number[];

/** The node that several are together. */
interface Batched {
  readonly id: number;
  /** Whether it has an axis for them; else they are one node. */
  readonly hasAxis: boolean;
}

type SliceView = Extract<View, { readonly type: 'slice' }>;

function sliceOf(node: GraphNode): SliceView {
  if (node.kind !== 'view' || node.view.type !== 'slice')
    throw new InternalError(`node ${node.id} is no slice`);
  return node.view;
}

const keyOf = (members: Members): string => members.join();

export class NodeBatcher {
  readonly classes: SliceClasses;
  readonly #editor: Editor;
  readonly #known = new Map<string, Batched | undefined>();
  /** The reductions whose order counts, of those that were asked for last. */
  #ordered: { readonly member: number; readonly batch: number }[] = [];
  #visited: number[] = [];
  /** One of the members that each node of the last one's expression takes the place of, and that node. */
  #made: { readonly member: number; readonly batch: number }[] = [];

  constructor(editor: Editor, classes: SliceClasses) {
    this.#editor = editor;
    this.classes = classes;
  }

  /** Reductions whose order counts that the last node is computed of: one of the members, and the batch of them. */
  get ordered(): readonly { readonly member: number; readonly batch: number }[] {
    return this.#ordered;
  }

  /** The nodes that the last one is computed of, and it, with one of the members of each. */
  get made(): readonly { readonly member: number; readonly batch: number }[] {
    return this.#made;
  }

  /** The members that the last node takes the place of, and those that these are computed of. */
  get visited(): readonly number[] {
    return this.#visited;
  }

  /**
   * One node of so many; undefined: their slices do not follow each other at one distance. Iterative: maps may be in long
   * chains.
   */
  batch(members: Members): number | undefined {
    this.#ordered = [];
    this.#visited = [];
    this.#made = [];
    const seen = new Set<string>();
    const stack = [members];
    for (let at = stack.at(-1); at !== undefined; at = stack.at(-1)) {
      const inputs = this.#inputsOf(at);
      const open = inputs.filter((each) => !seen.has(keyOf(each)));
      if (open.length > 0) {
        stack.push(...open);
        continue;
      }
      stack.pop();
      const key = keyOf(at);
      if (seen.has(key)) continue;
      seen.add(key);
      if (!this.#known.has(key)) this.#known.set(key, this.#make(at, inputs));
      const made = this.#known.get(key);
      if (made === undefined) return undefined;
      if (made.hasAxis) this.#note(at, made.id);
    }
    return this.#known.get(keyOf(members))!.id;
  }

  #note(members: Members, batch: number): void {
    this.#visited.push(...members);
    this.#made.push({ member: members[0]!, batch });
    const node = this.#editor.node(batch);
    if (node.kind === 'reduce' && node.batch !== undefined)
      this.#ordered.push({ member: members[0]!, batch });
  }

  /** The inputs of members, position by position; none of slices and of what all have. */
  #inputsOf(members: Members): Members[] {
    const [first] = members as readonly [number];
    if (this.classes.isSlice(first) || members.every((id) => id === first)) return [];
    return this.#editor
      .node(first)
      .inputs.map((_, position) => members.map((id) => this.#editor.node(id).inputs[position]!));
  }

  #make(members: Members, inputs: readonly Members[]): Batched | undefined {
    const [first] = members as readonly [number];
    if (members.every((id) => id === first)) return { id: first, hasAxis: false };
    const id = this.classes.isSlice(first)
      ? this.#slices(members)
      : this.#computed(
          this.#editor.node(first),
          members.length,
          inputs.map((each) => this.#known.get(keyOf(each))!),
        );
    return id === undefined ? undefined : { id, hasAxis: true };
  }

  /** A node over values of all members; inputs without an axis for them are the same for each. */
  #computed(node: GraphNode, count: number, inputs: readonly Batched[]): number {
    const editor = this.#editor;
    const shape = [count, ...node.shape];
    const aligned = (): number[] => inputs.map((input) => this.#aligned(input, node.shape.length));
    switch (node.kind) {
      case 'reduce': {
        const { id: _, ...data } = node;
        const whole = (input: Batched): number =>
          input.hasAxis ? input.id : editor.broadcast(input.id, [count, ...editor.node(input.id).shape]);
        const isExact =
          node.unrolled === true || isExactReduction(node.reduction, editor.node(node.inputs[0]!).dtype);
        return editor.add({
          ...data,
          axes: node.axes.map((axis) => axis + 1),
          batch: isExact ? undefined : count * (node.batch ?? 1),
          shape,
          inputs: inputs.map(whole),
        });
      }
      case 'view':
        return this.#view(node, shape, inputs[0]!, aligned);
      default: {
        const { id: _, ...data } = node;
        return editor.add({ ...data, shape, inputs: aligned() });
      }
    }
  }

  #view(node: GraphNodeOf<'view'>, shape: Shape, input: Batched, aligned: () => number[]): number {
    const { view } = node;
    switch (view.type) {
      case 'reshape':
        return this.#editor.reshape(input.id, shape);
      case 'broadcast':
        return this.#editor.broadcast(aligned()[0]!, shape);
      case 'permute':
        return this.#editor.view(
          input.id,
          { ...view, order: [0, ...view.order.map((axis) => axis + 1)] },
          shape,
        );
      case 'slice':
        return this.#editor.view(
          input.id,
          { ...view, starts: [0, ...view.starts], steps: [1, ...view.steps] },
          shape,
        );
      case 'pad':
        return this.#editor.view(input.id, { ...view, before: [0, ...view.before] }, shape);
    }
  }

  /** An input with its axes at the end of so many, and that of the members before them. */
  #aligned({ id, hasAxis }: Batched, rank: number): number {
    const { shape } = this.#editor.node(id);
    if (!hasAxis || shape.length === rank + 1) return id;
    const [count, ...own] = shape;
    return this.#editor.reshape(id, [count!, ...new Array<number>(rank - own.length).fill(1), ...own]);
  }

  /**
   * Slices that follow each other along their outermost axis as one slice. undefined: they do not; or they overlap, or what
   * lies between them reaches beyond the array, in one that is computed.
   */
  #slices(members: Members): number | undefined {
    const editor = this.#editor;
    const { shape, inputs } = editor.node(members[0]!);
    const views = members.map((id) => sliceOf(editor.node(id)));
    const starts = views.map((view) => view.starts);
    const { steps } = views[0]!;
    const array = editor.node(inputs[0]!);
    const axis = starts[0]!.findIndex((start, k) => starts[1]![k] !== start);
    const distance = starts[1]![axis]! - starts[0]![axis]!;
    const isEven = starts.every((own, n) =>
      own.every((start, k) => start === starts[0]![k]! + (k === axis ? n * distance : 0)),
    );
    if (!isEven || distance <= 0 || shape.slice(0, axis).some((size) => size > 1)) return undefined;
    const [size, step, count] = [shape[axis]!, steps[axis]!, members.length];
    const begin = starts[0]!;
    const cut = (along: number, by: number): number =>
      editor.view(
        array.id,
        { type: 'slice', starts: begin, steps: steps.with(axis, by) },
        shape.with(axis, along),
      );
    if (size === 1) return editor.reshape(cut(count, distance), [count, ...shape]);
    if (distance === size * step) return editor.reshape(cut(count * size, step), [count, ...shape]);
    if (array.kind === 'source') {
      const { kind, input, strides, dtype } = array;
      const offset = begin.reduce((sum, start, k) => sum + start * strides[k]!, array.offset);
      const own = steps.map((by, k) => by * strides[k]!);
      const moved = { offset, strides: [distance * strides[axis]!, ...own] };
      return editor.add({ kind, input, ...moved, dtype, shape: [count, ...shape], inputs: [] });
    }
    if (step !== 1 || distance < size || begin[axis]! + count * distance > array.shape[axis]!)
      return undefined;
    // With what lies between them, which is left out then.
    const rows = [count, ...shape.with(axis, distance)];
    const apart = editor.reshape(cut(count * distance, 1), rows);
    const none = rows.map(() => 0);
    return editor.view(apart, { type: 'slice', starts: none, steps: rows.map(() => 1) }, [count, ...shape]);
  }
}
