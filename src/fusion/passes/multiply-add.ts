/**
 * Writes sums with a product as operations that round once, as a GPU has them:
 *
 *     x * 2 + y   →   multiplyAdd x 2 y         x² - y   →   multiplySubtract x x y         y - x * 2   →   subtractProduct x 2 y
 *
 * Kernels are compiled without contraction, so that these are all there are, and a result has the bits that it has alone: a
 * sum is written so for what its expression is, never for who else reads the product. A product stays what it is for others,
 * and for a sum where that is better:
 *
 * - of two different arrays that are given, x y + z, it may be in memory, and is less to read than both;
 * - it is smaller than the sum, as a row is that all rows are added to;
 * - it is added to what is smaller than the sum and computed, p - max p, or is computed of the product, p - pᵀ, p - floor p or
 *   p - cumulativeMax p, which needs the product, too: a difference of equal numbers is 0, and a fraction is not negative;
 * - both are products. Then one with a scalar is taken, the second of two, where the two cannot cancel: in a difference that have
 *   no factor in common, in a sum not x by two scalars or by y and -y; else of squares in a sum the second.
 *
 * Sums of products for all pairs of rows, as Σk (x[i, k] - y[j, k])², are of a `termProduct`, which joins them by a multiply-add.
 * A sum of slices of products reads their factors where they are one array that is given and scalars, as windows of x² do.
 * Steps of loops of elements, whose values are all in registers, are written so wherever there is a product that what is added
 * to it is not computed of.
 */
import type { DType } from '../../graph/dtype.js';
import { loopWith, stepWith } from '../../graph/element-loop.js';
import { type GraphNode, type GraphNodeOf, type MutableGraph, sizeOfShape } from '../../graph/graph.js';
import type { ElementLoop, StepValue } from '../../graph/loop-step.js';
import type { OpName } from '../../graph/ops.js';
import { SHORT_REDUCTION } from '../../graph/reductions.js';
import { sameShape } from '../../graph/shape.js';
import type { Slices } from '../../host/slices.js';
import { isConstant } from './constant-of.js';
import { isUnrolled, lengthOf } from './element-cost.js';
import { isOfPairs } from './pair-values.js';
import { type Editor, type Rule, rewriteInOneWalk } from './rewrite.js';

type Op = GraphNodeOf<'map'>;

export function* multiplyAdds(graph: MutableGraph): Slices<void> {
  const loops = new LoopWriter();
  const ofLoop: Rule = (node, editor) => {
    if (node.kind !== 'repeat') return undefined;
    const loop = loops.written(node.loop);
    return loop === node.loop ? undefined : editor.add({ ...node, loop });
  };
  yield* rewriteInOneWalk(graph, { map: [written], reduce: [ofPairs], repeat: [ofLoop] });
}

/** Nodes of an expression that are looked at. */
const MOST_NODES = 128;
/** Nodes between a product and what is added to it, where they are more than views. */
const MOST_BETWEEN = 16;

/**
 * A sum of products that are there for every pair of rows takes them up unrounded; a short one in turn, which does so with
 * squares. Parts of one read slices of the products (`unroll-reductions.ts`).
 */
const ofPairs: Rule = (node, editor) => {
  const pairs = pairsOf(node, editor);
  if (pairs === undefined) return undefined;
  const { map, read, views } = pairs;
  const [a, b] = map.inputs as readonly [number, number?];
  const { dtype, shape } = map;
  const inputs = [a, b ?? a].map((id) =>
    views.length === 0 ? id : inViews(editor.broadcast(id, shape), views, editor),
  );
  const term = editor.add({ kind: 'map', op: 'termProduct', dtype, shape: read.shape, inputs });
  return editor.add({ ...(node as GraphNodeOf<'reduce'>), inputs: [term] });
};

/** The products that a sum takes up unrounded, as it reads them, by views, outermost first. */
function pairsOf(
  node: GraphNode,
  editor: Editor,
):
  | { readonly map: Op; readonly read: GraphNode; readonly views: readonly GraphNodeOf<'view'>[] }
  | undefined {
  if (node.kind !== 'reduce' || node.reduction !== 'sum' || !isFull(node.dtype)) return undefined;
  const views: GraphNodeOf<'view'>[] = [];
  const read = editor.node(node.inputs[0]!);
  let map = read;
  while (map.kind === 'view' && (map.view.type === 'slice' || map.view.type === 'permute')) {
    views.push(map);
    map = editor.node(map.inputs[0]!);
  }
  if (map.kind !== 'map' || !isProduct(map.op) || !isFull(map.dtype)) return undefined;
  const [a, b] = map.inputs as readonly [number, number?];
  const isShort = isUnrolled(node) || lengthOf(node, read) <= SHORT_REDUCTION;
  return (isShort && (b ?? a) !== a) || !areOfPairs(map, editor) ? undefined : { map, read, views };
}

/** An array by some views, outermost first. */
const inViews = (array: number, views: readonly GraphNodeOf<'view'>[], editor: Editor): number =>
  views.reduceRight((id, { view, shape }) => editor.view(id, view, shape), array);

/** Whether products are there for every pair of rows, whoever else reads short reductions that they are computed of. */
function areOfPairs({ id, shape }: Op, editor: Editor): boolean {
  const isShort = (node: GraphNode): boolean =>
    node.kind === 'reduce' &&
    node.monoid === undefined &&
    lengthOf(node, editor.node(node.inputs[0]!)) <= SHORT_REDUCTION;
  return isOfPairs(id, sizeOfShape(shape), (at) => editor.node(at), isShort);
}

const isSum = (op: OpName): op is 'add' | 'subtract' => op === 'add' || op === 'subtract';
const isProduct = (op: OpName): boolean => op === 'multiply' || op === 'square';
/** Halves are rounded after every op, complex numbers by parts. */
const isFull = (dtype: DType): boolean => dtype === 'float32' || dtype === 'float64';

/** The op of a sum whose product, the first or the second of its two, is not rounded. */
const opOfSum = (sum: 'add' | 'subtract', isSecond: boolean): OpName =>
  sum === 'add' ? 'multiplyAdd' : isSecond ? 'subtractProduct' : 'multiplySubtract';

/** A product that a sum reads, perhaps by slices. */
interface Product {
  readonly map: Op;
  readonly factors: readonly [number, number];
  /** Its slices, outermost first. */
  readonly slices: readonly GraphNodeOf<'view'>[];
}

const written: Rule = (node, editor) => {
  const isSecond = writtenWithSecond(node, editor);
  if (isSecond === undefined) return undefined;
  const sum = node as Op;
  const product = productAt(sum.inputs[isSecond ? 1 : 0]!, editor)!;
  const inputs = [...factorsOf(product, editor), sum.inputs[isSecond ? 0 : 1]!];
  return editor.add({ ...sum, op: opOfSum(sum.op as 'add' | 'subtract', isSecond), inputs });
};

/** Whether a sum is written with the second of what it reads, not the first; undefined: with neither. */
function writtenWithSecond(node: GraphNode, editor: Editor): boolean | undefined {
  if (node.kind !== 'map' || !isSum(node.op) || !isFull(node.dtype)) return undefined;
  const [first, second] = node.inputs.map((id) => productAt(id, editor));
  return isSecondTaken(node, first, second, editor);
}

/** Whether two nodes would have products unrounded alike: what slices are computed of by themselves, and at once for all. */
export function areWrittenAlike(one: number, other: number, editor: Editor): boolean {
  const [a, b] = [one, other].map((id) => editor.node(id)) as [GraphNode, GraphNode];
  return (
    writtenWithSecond(a, editor) === writtenWithSecond(b, editor) &&
    (pairsOf(a, editor) === undefined) === (pairsOf(b, editor) === undefined)
  );
}

function productAt(id: number, editor: Editor): Product | undefined {
  const slices: GraphNodeOf<'view'>[] = [];
  let map = editor.node(id);
  while (map.kind === 'view' && map.view.type === 'slice') {
    slices.push(map);
    map = editor.node(map.inputs[0]!);
  }
  if (map.kind !== 'map' || !isProduct(map.op)) return undefined;
  const [a, b] = map.inputs as readonly [number, number?];
  return { map, factors: [a, b ?? a], slices };
}

/** Which of the two that a sum reads is a product that it is written with: whether that is the second. */
function isSecondTaken(
  sum: Op,
  first: Product | undefined,
  second: Product | undefined,
  editor: Editor,
): boolean | undefined {
  const takes = (product: Product | undefined, other: number): boolean =>
    product !== undefined && isTaken(product, sum, editor) && mayBeAdded(other, product, sum, editor);
  const [a, b] = sum.inputs as readonly [number, number];
  if (first === undefined || second === undefined) {
    if (takes(second, a)) return true;
    return takes(first, b) ? false : undefined;
  }
  const isScalarAt = (id: number): boolean => isScalar(editor.node(id));
  const isNegated = (id: number, of: number): boolean => {
    const node = editor.node(id);
    return node.kind === 'map' && node.op === 'negative' && node.inputs[0] === of;
  };
  const mayBeZero = mayCancel(sum.op, first.factors, second.factors, isScalarAt, isNegated);
  if (first.map.id === second.map.id || mayBeZero) return undefined;
  const isWanted = sum.op === 'subtract' ? [hasScalar] : [hasScalar, isSquare];
  for (const test of isWanted) {
    if (test(second, editor) && takes(second, a)) return true;
    if (test(first, editor) && takes(first, b)) return false;
  }
  return undefined;
}

/**
 * Whether two products with a factor in common may be equal in a difference, or opposite in a sum: x by two scalars, 3 x + -3 x,
 * or by a value and its negation. Their sum is 0 then, not the rounding of one.
 */
function mayCancel(
  op: OpName,
  first: readonly number[],
  second: readonly number[],
  isScalarAt: (id: number) => boolean,
  isNegated: (id: number, of: number) => boolean,
): boolean {
  const areOpposite = (a: number, b: number): boolean =>
    (isScalarAt(a) && isScalarAt(b)) || isNegated(a, b) || isNegated(b, a);
  return first.some((one, i) =>
    second.some((two, k) => one === two && (op === 'subtract' || areOpposite(first[1 - i]!, second[1 - k]!))),
  );
}

const isSquare = ({ factors: [a, b] }: Product): boolean => a === b;
const hasScalar = ({ factors }: Product, editor: Editor): boolean =>
  factors.some((id) => isScalar(editor.node(id)));
const isScalar = ({ shape }: GraphNode): boolean => sizeOfShape(shape) === 1;

/** Whether a sum reads the factors of a product as soon as the product. */
function isTaken({ map, factors: [a, b], slices }: Product, sum: Op, editor: Editor): boolean {
  const whole = slices[0] ?? map;
  if (sizeOfShape(whole.shape) !== sizeOfShape(sum.shape)) return false;
  const isWhole = (id: number): boolean => sameShape(editor.node(id).shape, map.shape);
  if (slices.length > 0) {
    const arrays = [...new Set([a, b])].filter((id) => !isScalar(editor.node(id)));
    return arrays.length === 1 && isWhole(arrays[0]!) && isGiven(arrays[0]!, editor);
  }
  return a === b || !isWhole(a) || !isWhole(b) || !isGiven(a, editor) || !isGiven(b, editor);
}

/** Whether what a product is added to tells nothing of it, and is as large as the sum, or given. */
function mayBeAdded(id: number, product: Product, sum: Op, editor: Editor): boolean {
  // Windows of squares add slices of one product.
  if (isRead(product.map.id, id, product.slices.length > 0 ? 0 : MOST_BETWEEN, editor)) return false;
  const isSmaller = sizeOfShape(editor.node(id).shape) < sizeOfShape(sum.shape);
  return !isSmaller || isGiven(id, editor) || isConstant(id, editor);
}

/**
 * Whether a value is computed of another one, within so many nodes, as by maps and scans, or reads it as it is, by views and
 * joins.
 */
function isRead(value: number, reader: number, mostBetween: number, editor: Editor): boolean {
  const seen = new Set([reader]);
  // A set's walk meets what is added to it meanwhile.
  for (const id of seen) {
    if (id === value) return true;
    const { kind, inputs } = editor.node(id);
    const most = kind === 'view' || kind === 'join' ? MOST_NODES : mostBetween;
    if (seen.size + inputs.length <= most) for (const input of inputs) seen.add(input);
  }
  return false;
}

/** Whether elements are those of an array that is given. */
function isGiven(id: number, editor: Editor): boolean {
  let node = editor.node(id);
  while (node.kind === 'view' && node.view.type !== 'pad') node = editor.node(node.inputs[0]!);
  return node.kind === 'source';
}

/** The factors of a product, sliced as it is. */
const factorsOf = ({ factors, slices }: Product, editor: Editor): number[] =>
  factors.map((factor) => (isScalar(editor.node(factor)) ? factor : inViews(factor, slices, editor)));

/** Loops of elements, each written once. */
class LoopWriter {
  readonly #loops = new Map<string, ElementLoop>();

  written(loop: ElementLoop): ElementLoop {
    const known = this.#loops.get(loop.key);
    if (known !== undefined) return known;
    const values = loop.values.map((value) => this.#value(value, loop));
    const isChanged = values.some((value, k) => value !== loop.values[k]);
    const made = isChanged
      ? loopWith(stepWith(loop.arguments, values, loop.next), loop.condition, loop.conditionLength)
      : loop;
    this.#loops.set(loop.key, made).set(made.key, made);
    return made;
  }

  #value(value: StepValue, loop: ElementLoop): StepValue {
    if (value.kind === 'repeat') {
      const inner = this.written(value.loop);
      return inner === value.loop ? value : { ...value, loop: inner };
    }
    if (value.kind !== 'map' || !isSum(value.op) || !isFull(value.dtype)) return value;
    const [a, b] = value.args as readonly [number, number];
    const [first, second] = [a, b].map((at) => stepProduct(at, loop));
    const madeAt = (at: number): StepValue | undefined => loop.values[at - loop.arguments.length];
    const isConst = (at: number): boolean => madeAt(at)?.kind === 'const';
    const isNegated = (at: number, of: number): boolean => {
      const made = madeAt(at);
      return made?.kind === 'map' && made.op === 'negative' && made.args[0] === of;
    };
    if (a === b || mayCancel(value.op, first ?? [], second ?? [], isConst, isNegated)) return value;
    if (second !== undefined && !isReadInStep(b, a, loop))
      return { ...value, op: opOfSum(value.op, true), args: [...second, a] };
    if (first !== undefined && !isReadInStep(a, b, loop))
      return { ...value, op: opOfSum(value.op, false), args: [...first, b] };
    return value;
  }
}

/** Whether a value of a step is computed of another one, within so many values. */
function isReadInStep(value: number, reader: number, { values, arguments: given }: ElementLoop): boolean {
  const seen = new Set([reader]);
  // A set's walk meets what is added to it meanwhile. Values come behind those that they are computed of.
  for (const at of seen) {
    if (at === value) return true;
    const made = values[at - given.length];
    if (at > value && made !== undefined && 'args' in made && seen.size + made.args.length <= MOST_NODES)
      for (const arg of made.args) seen.add(arg);
  }
  return false;
}

/** The factors of a product of a step, by position. */
function stepProduct(at: number, loop: ElementLoop): readonly number[] | undefined {
  const value = loop.values[at - loop.arguments.length];
  if (value?.kind !== 'map' || !isProduct(value.op)) return undefined;
  const [a, b] = value.args;
  return [a!, b ?? a!];
}
