/**
 * The expression of a reduction down to values in memory, with the short reductions in it that it takes up: written out as ops, so
 * that they need no memory. Asked by `unroll-reductions.ts`, which says what that gives.
 */
import type { Shape } from '../../graph/expr.js';
import {
  type GraphNode,
  type GraphNodeOf,
  type MutableGraph,
  nodeOf,
  sizeOfShape,
} from '../../graph/graph.js';
import { COMBINING_OPS, SHORT_REDUCTION } from '../../graph/reductions.js';
import { type ElementCosts, isComputed, isUnrolled, lengthOf } from './element-cost.js';
import { isOfPairs } from './pair-values.js';
import type { Editor } from './rewrite.js';
import {
  areFewOps,
  areShared,
  isShortPlace,
  MOST_ALONG,
  type RowResults,
  readsColumns,
  rowResultsOf,
  valuesOfRow,
} from './row-results.js';

/** The most that the terms of a reduction that is written out may cost together. */
export const MAX_UNROLLED_COST = 512;
/** Nodes of an expression that are searched for short reductions. */
export const MAX_NODES = 128;
/** Terms of a short reduction for each pair of rows. */
export const MAX_PAIR_TERMS = 4;

/** Whether a reduction is short, and not written out. */
export const isShortReduction = (graph: MutableGraph, node: GraphNode): node is GraphNodeOf<'reduce'> =>
  node.kind === 'reduce' &&
  node.unrolled !== true &&
  node.monoid === undefined &&
  COMBINING_OPS[node.reduction] !== undefined &&
  lengthOf(node, nodeOf(graph, node.inputs[0]!)) <= SHORT_REDUCTION;

/** The axes of more than one element that a reduction keeps. */
const keptAxes = ({ axes }: Pick<GraphNodeOf<'reduce'>, 'axes'>, shape: Shape): number[] =>
  shape.flatMap((size, axis) => (size === 1 || axes.includes(axis) ? [] : [axis]));

/**
 * A reduction that keeps a short axis, the last or the only one, as the join of a reduction for each of its elements, which are
 * one kernel: the distance of a pair is computed once for all coordinates, and what there is of a row once for all columns.
 */
function inParts(id: number, editor: Editor): number {
  const { id: _, ...node } = keptLast(editor.node(id) as GraphNodeOf<'reduce'>, editor);
  const input = editor.node(node.inputs[0]!);
  const last = input.shape.length - 1;
  const length = input.shape[last]!;
  if (node.axes.includes(last) || length > MAX_PAIR_TERMS || length === 1 || node.inputs.length > 1)
    return id;
  const own = node.shape.length - 1;
  const parts = Array.from({ length }, (_, k) => {
    const starts = input.shape.map((_, axis) => (axis === last ? k : 0));
    const part = editor.view(
      input.id,
      { type: 'slice', starts, steps: input.shape.map(() => 1) },
      input.shape.with(last, 1),
    );
    return editor.add({ ...node, shape: node.shape.with(own, 1), inputs: [part] });
  });
  return editor.add({ kind: 'join', axis: own, dtype: node.dtype, shape: node.shape, inputs: parts });
}

/** A reduction whose only kept axis is the last one of what it reads: parts along it are columns, which are not batched again. */
function keptLast(node: GraphNodeOf<'reduce'>, editor: Editor): GraphNodeOf<'reduce'> {
  const { shape } = editor.node(node.inputs[0]!);
  const kept = keptAxes(node, shape);
  const last = shape.length - 1;
  if (kept.length !== 1 || kept[0] === last || node.shape.length !== 1 || node.inputs.length > 1) return node;
  const order = [...shape.keys()].filter((axis) => axis !== kept[0]).concat(kept);
  const turned = editor.view(
    node.inputs[0]!,
    { type: 'permute', order },
    order.map((axis) => shape[axis]!),
  );
  return { ...node, inputs: [turned], axes: Array.from({ length: last }, (_, axis) => axis) };
}

type Ids = Pick<ReadonlySet<number>, 'has'>;

/** Which nodes have several readers, and which reductions alone read. */
export interface Readers {
  readonly shared: Ids;
  readonly reducedOnly: Ids;
  readonly reducedAlike: Ids;
}

/** The part of an expression that is a reduction's own, or that of other reductions. */
interface Found {
  readonly nodes: Set<number>;
  /** The short reductions in it. */
  readonly short: Set<number>;
  /** Whether one of them is there for every pair of rows. */
  hasPairs: boolean;
  /** Whether one is there for each row of which there are few results, written out here or before. */
  hasRows: boolean;
  /** Whether one was taken up because it is one of rows. */
  tookRows: boolean;
}

/**
 * The expression of a reduction as far as it is its own, or that of other reductions, down to values in memory and those
 * that are needed for more.
 */
export class OwnExpression {
  readonly #root: GraphNodeOf<'reduce'>;
  readonly #editor: Editor;
  readonly #costs: ElementCosts;
  readonly #graph: MutableGraph;
  #found: Found;
  /** The results that share what is computed of a row; undefined: none does. */
  readonly #rows: RowResults | undefined;
  /** The marks of the short ones. */
  #mark: Pick<GraphNodeOf<'reduce'>, 'unrolled' | 'together'> = { unrolled: true };
  readonly #made = new Map<number, number>();

  constructor(
    root: GraphNodeOf<'reduce'>,
    editor: Editor,
    costs: ElementCosts,
    graph: MutableGraph,
    readers: Readers,
  ) {
    this.#root = root;
    this.#editor = editor;
    this.#costs = costs;
    this.#graph = graph;
    const rows = rowResultsOf(root, editor.node(root.inputs[0]!).shape);
    this.#found = this.#search(readers, rows);
    if (rows !== undefined && this.#takesRows(rows)) {
      this.#rows = rows;
    } else if (this.#found.tookRows) {
      this.#found = this.#search(readers, undefined);
      this.#made.clear();
    }
  }

  /** Whether values of rows are there that one kernel may compute. */
  #takesRows(rows: RowResults): boolean {
    const computed = this.#found.hasRows ? this.#computed() : undefined;
    if (computed === undefined || !areFewOps(computed, rows, this.#editor)) return false;
    if (rows.results <= MOST_ALONG) return true;
    const written = this.#rewrite(this.#root.inputs[0]!);
    return readsColumns(written, this.#root.axes.at(-1)!, rows, this.#graph);
  }

  /** All that a kernel computes which takes up the short ones, whatever is stored for others; undefined: too much. */
  #computed(): ReadonlySet<number> | undefined {
    const found = new Set<number>();
    const open = [...this.#root.inputs];
    for (let id = open.pop(); id !== undefined; id = open.pop()) {
      const node = this.#editor.node(id);
      if (found.has(id) || !(this.#found.short.has(id) || isComputed(node))) continue;
      if (found.size === MAX_NODES) return undefined;
      found.add(id);
      open.push(...computedInputs(node));
    }
    return found;
  }

  /** Whether a kernel computes values of rows for what it reduces. */
  get hasRows(): boolean {
    return this.#rows !== undefined;
  }

  /** Whether several results share values of a row. */
  get isTogether(): boolean {
    return this.#rows !== undefined && this.#rows.results > 1;
  }

  /** The rows that it reduces, where results share values of these. */
  get rowCount(): number {
    return this.#rows!.rows;
  }

  /** The nodes that are computed with it. */
  get nodes(): readonly number[] {
    return [...this.#found.nodes];
  }

  /** The same where nobody reads its parts but itself. */
  asAlone(): OwnExpression {
    const seen = new Set<number>();
    const shared = new Set<number>();
    const open = [...this.#root.inputs];
    for (let id = open.pop(); id !== undefined; id = open.pop()) {
      if (seen.has(id)) {
        shared.add(id);
        continue;
      }
      seen.add(id);
      const node = this.#editor.node(id);
      if (seen.size <= MAX_NODES && (isShortReduction(this.#graph, node) || isComputed(node)))
        open.push(...computedInputs(node));
    }
    return new OwnExpression(this.#root, this.#editor, this.#costs, this.#graph, {
      shared,
      reducedOnly: seen,
      reducedAlike: { has: () => false },
    });
  }

  /** Whether both write the same short ones out. */
  isLike(other: OwnExpression): boolean {
    const [{ short, hasPairs }, found] = [this.#found, other.#found];
    const isSame = short.size === found.short.size && [...short].every((id) => found.short.has(id));
    return isSame && hasPairs === found.hasPairs && this.hasRows === other.hasRows;
  }

  /** `rows`: with the short reductions of rows that so many results share. */
  #search({ shared, reducedOnly, reducedAlike }: Readers, rows: RowResults | undefined): Found {
    const found: Found = {
      nodes: new Set(),
      short: new Set(),
      hasPairs: false,
      hasRows: false,
      tookRows: false,
    };
    const open = this.#root.inputs.map((id) => ({ id, isOwn: true }));
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      const { id } = at;
      const isOwn = at.isOwn && !shared.has(id);
      const isTaken = isOwn || reducedOnly.has(id) || reducedAlike.has(id);
      if (!isTaken || found.nodes.has(id)) continue;
      if (found.nodes.size === MAX_NODES) {
        found.short.clear();
        found.hasRows = false;
        break;
      }
      const node = this.#editor.node(id);
      const isShort =
        this.#isOfRows(node, rows, found) || this.#isShort(node, isOwn || reducedAlike.has(id), found);
      if (!isShort && !isComputed(node)) continue;
      found.nodes.add(id);
      if (isShort) found.short.add(id);
      for (const input of computedInputs(node)) open.push({ id: input, isOwn });
    }
    return found;
  }

  #isShort(node: GraphNode, isOwn: boolean, found: Found): boolean {
    if (!isShortReduction(this.#graph, node)) return false;
    const input = this.#editor.node(node.inputs[0]!);
    const { shape } = this.#editor.node(this.#root.inputs[0]!);
    // One of fewer elements than its reader has, as a row's mean, is computed once for all of them.
    const isLarge = isOwn && sizeOfShape(input.shape) > sizeOfShape(shape);
    const isOfPairs = this.#isOfPairs(node, input);
    if (!isLarge && !isOfPairs) return false;
    found.hasPairs ||= isOfPairs;
    return lengthOf(node, input) * (this.#costs.at(input.id) + 1) <= MAX_UNROLLED_COST;
  }

  /** Whether a short reduction is one of each row; notes whether results share it, or one that is written out. */
  #isOfRows(node: GraphNode, rows: RowResults | undefined, found: Found): boolean {
    if (rows === undefined || node.kind !== 'reduce') return false;
    const count = valuesOfRow(node, rows);
    const isWritten = isUnrolled(node);
    const isPlace = isShortPlace(node, this.#editor.node(node.inputs[0]!));
    const isShort = isPlace || isShortReduction(this.#graph, node);
    if (count === 0 || !(isWritten || isShort)) return false;
    if (areShared(count, rows)) found.hasRows = true;
    found.tookRows ||= !isWritten;
    return !isWritten;
  }

  /** Whether a short reduction has far more elements than what it is computed from. */
  #isOfPairs(node: GraphNodeOf<'reduce'>, input: GraphNode): boolean {
    if (lengthOf(node, input) > MAX_PAIR_TERMS) return false;
    return isOfPairs(input.id, sizeOfShape(node.shape), (id) => this.#editor.node(id));
  }

  /** The reduction as it is best written, in parts where its coordinates share distances. */
  written(): number {
    const unrolled = this.unrolled();
    if (this.isTogether) {
      const { id: _, ...reduction } = this.#editor.node(unrolled) as GraphNodeOf<'reduce'>;
      return this.#editor.add({ ...reduction, together: true });
    }
    return this.#found.hasPairs && this.#found.short.size > 0 ? inParts(unrolled, this.#editor) : unrolled;
  }

  /** The reduction of values that are computed with the short ones unrolled; itself where there are none. */
  unrolled(): number {
    const { id, ...root } = this.#root;
    if (this.#found.short.size === 0) return id;
    return this.#editor.add({ ...root, inputs: root.inputs.map((id) => this.#rewrite(id)) });
  }

  /** The only input, computed with the short ones unrolled, whatever of it is stored for others. */
  writtenInput(): number {
    this.#mark = { unrolled: true, together: true };
    return this.#rewrite(this.#root.inputs[0]!);
  }

  /** Recursion is as deep as the search, which is bounded. */
  #rewrite(id: number): number {
    if (!this.#found.nodes.has(id)) return id;
    const known = this.#made.get(id);
    if (known !== undefined) return known;
    const made = this.#remade(id);
    this.#made.set(id, made);
    return made;
  }

  #remade(id: number): number {
    const { id: _, ...node } = this.#editor.node(id);
    const isOne = this.#found.short.has(id);
    const inputs = node.inputs.map((input) => this.#rewrite(input));
    if (!isOne && inputs.every((input, k) => input === node.inputs[k])) return id;
    const made = this.#editor.add({ ...node, ...(isOne ? this.#mark : {}), inputs } as typeof node);
    this.#costs.note(this.#editor.node(made), this.#graph);
    return made;
  }
}

/** The inputs of a node that a kernel computes with it: the array that a gather reads is in memory. */
const computedInputs = ({ kind, inputs }: GraphNode): readonly number[] =>
  kind === 'gather' ? inputs.slice(1) : inputs;
