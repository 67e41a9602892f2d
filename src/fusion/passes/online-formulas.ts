/**
 * Formulas that are written out become the reductions that read their elements once, where rows are too long to stay
 * on a chip, so that the elements would be read again.
 *
 *     Σ (x - mean x)²                       →   squaredDeviations x
 *     mean(x²) - (mean x)², Σx² - (Σx)²/n   →   squaredDeviations x / n, squaredDeviations x
 *     Σ exp(x - max x)                      →   sumexp x
 *     Σ (x / ‖x‖) · (y / ‖y‖)               →   Σ x · y / ‖x‖ / ‖y‖
 *     Σij f(x, max_j x), of short rows      →   Σi Σj f(x, max_j x)
 *
 * Floating-point values change by rounding; each form is at least as exact as the formula. NaN and infinities come out
 * as of the formula. `exact: true` leaves this pass out. Shorter rows are one kernel of several walks as they are
 * written, but for sums over the rows as well, which are taken in two steps.
 */
import { byteLengthOf, isComplex } from '../../graph/dtype.js';
import type { Shape } from '../../graph/expr.js';
import { type GraphNode, type GraphNodeOf, type MutableGraph, sizeOfShape } from '../../graph/graph.js';
import type { OpName } from '../../graph/ops.js';
import type { ReductionName } from '../../graph/reductions.js';
import { sameShape } from '../../graph/shape.js';
import type { Slices } from '../../host/slices.js';
import { sameNumbers } from '../kernel/kernel.js';
import { rowsProblem } from '../partition/merge-limits.js';
import { isConstant, isConstantThat, isOneOf } from './constant-of.js';
import { isElementwise } from './element-cost.js';
import { type Editor, type Rule, rewrite } from './rewrite.js';
import { belowBroadcasts, inputOf, isAlong, type RowValue, withoutAxes } from './row-values.js';

export function* onlineFormulas(graph: MutableGraph): Slices<void> {
  if (!graph.nodes.some((node) => node?.kind === 'reduce')) return;
  yield* rewrite(graph, {
    reduce: [deviations, exponentials, normsTakenOut, sumOfRows],
    map: [momentsDifference],
  });
}

type Reduce = GraphNodeOf<'reduce'>;

/** Numbers whose written formulas have the bits of no other dtype in between. */
const isTaken = ({ dtype }: GraphNode): boolean =>
  ['float32', 'float64', 'complex64', 'complex128'].includes(dtype);

/** Whether a kernel that needs a reduction of the rows of x and then the rows would read them again. */
function isReadAgain({ shape, dtype }: GraphNode, axes: readonly number[]): boolean {
  const length = axes.reduce((count, axis) => count * shape[axis]!, 1);
  const inner = shape.findLastIndex((size) => size !== 1);
  const rows = length === 0 ? 0 : sizeOfShape(shape) / length;
  return rowsProblem(rows, length, length * byteLengthOf(dtype), axes.includes(inner)) !== undefined;
}

/** The inputs of a map of this op. */
function argumentsOf(id: number, op: OpName, editor: Editor): readonly number[] | undefined {
  const node = editor.node(id);
  return node.kind === 'map' && node.op === op ? node.inputs : undefined;
}

/** The value whose square a node is: of a complex one, of its modulus. */
function squareRoot(id: number, editor: Editor): number | undefined {
  const { dtype } = editor.node(id);
  if (isComplex(dtype)) return undefined;
  const twice = argumentsOf(id, 'multiply', editor);
  const root =
    argumentsOf(id, 'square', editor)?.[0] ??
    (twice !== undefined && twice[0] === twice[1] ? twice[0] : undefined);
  if (root !== undefined) return argumentsOf(root, 'abs', editor)?.[0] ?? root;
  const parts = argumentsOf(id, 'add', editor)?.map((part) => argumentsOf(part, 'square', editor)?.[0]);
  const [re, im] = parts ?? [];
  const z = re === undefined ? undefined : argumentsOf(re, 'real', editor)?.[0];
  return z !== undefined && im !== undefined && argumentsOf(im, 'imag', editor)?.[0] === z ? z : undefined;
}

const countOf = ({ shape }: GraphNode, axes: readonly number[]): number =>
  axes.reduce((count, axis) => count * shape[axis]!, 1);

/** A value that is a reduction, and its place in an array that it broadcasts to. */
interface Reduced extends RowValue {
  readonly node: Reduce;
}

function asReduced(value: RowValue, reduction: ReductionName): Reduced | undefined {
  const { node } = value;
  return node.kind === 'reduce' && node.reduction === reduction ? { ...value, node } : undefined;
}

/** The sum of which a value is a part in as many as the sum has elements: s / n, or s · (1 / n). */
function sumOfMean(value: RowValue, editor: Editor): Reduced | undefined {
  for (const op of ['divide', 'multiply'] as const) {
    for (const [input, other] of pairsOf(value.node.id, op, editor)) {
      const sum = asReduced(inputOf(value, input, editor), 'sum');
      if (sum === undefined) continue;
      const count = countOf(editor.node(sum.node.inputs[0]!), sum.node.axes);
      const wanted = op === 'divide' ? count : 1 / count;
      if (isConstantThat(other, editor, isOneOf(wanted, Math.fround(wanted)))) return sum;
    }
  }
  return undefined;
}

/** The two inputs of an op; of a commutative one in both orders. */
function pairsOf(id: number, op: OpName, editor: Editor): readonly (readonly [number, number])[] {
  const [a, b] = argumentsOf(id, op, editor) ?? [];
  if (a === undefined || b === undefined) return [];
  return op === 'multiply'
    ? [
        [a, b],
        [b, a],
      ]
    : [[a, b]];
}

/** Whether a value is a reduction of x that has, beside each element, that of the element's row. */
const isBeside = ({ node, labels }: Reduced, x: GraphNode): boolean =>
  node.inputs[0] === x.id && isAlong({ node, labels }, x.shape, node.axes);

/** x and m of x - m, where x has the shape of the difference. */
function difference(id: number, editor: Editor): readonly [GraphNode, RowValue] | undefined {
  const [x, m] = argumentsOf(id, 'subtract', editor) ?? [];
  if (x === undefined || m === undefined) return undefined;
  const node = editor.node(x);
  if (!isTaken(node) || !sameShape(node.shape, editor.node(id).shape)) return undefined;
  return [node, belowBroadcasts(m, node.shape.length, editor)];
}

const isSum = (node: GraphNode): node is Reduce => node.kind === 'reduce' && node.reduction === 'sum';

/** A reduction of x in the place of a sum, or over some of its axes and then the sum over longer others. */
function insteadOf(
  sum: Reduce,
  x: GraphNode,
  reduction: ReductionName,
  axes: readonly number[],
  editor: Editor,
): number {
  const kept = [...x.shape.keys()].filter((axis) => !axes.includes(axis));
  const shape = kept.map((axis) => x.shape[axis]!);
  const { dtype, shape: result } = sum;
  const inner = editor.add({ kind: 'reduce', reduction, axes: [...axes], dtype, shape, inputs: [x.id] });
  const rest = kept.flatMap((axis, k) => (sum.axes.includes(axis) ? [k] : []));
  if (rest.every((axis) => shape[axis] === 1)) return editor.reshape(inner, [...result]);
  return editor.add({
    kind: 'reduce',
    reduction: 'sum',
    axes: rest,
    dtype,
    shape: [...result],
    inputs: [inner],
  });
}

/** Σ (x - mean x)², over the axes of the mean and perhaps others. */
const deviations: Rule = (node, editor) => {
  if (!isSum(node)) return undefined;
  const root = squareRoot(node.inputs[0]!, editor);
  const [x, mean] = (root === undefined ? undefined : difference(root, editor)) ?? [];
  const sum = mean && sumOfMean(mean, editor);
  if (x === undefined || sum === undefined || !isBeside(sum, x)) return undefined;
  const { axes } = sum.node;
  if (!axes.every((axis) => node.axes.includes(axis)) || !isReadAgain(x, axes)) return undefined;
  return insteadOf(node, x, 'squaredDeviations', axes, editor);
};

/** Σ exp(x - max x). */
const exponentials: Rule = (node, editor) => {
  const exponent = isSum(node) ? argumentsOf(node.inputs[0]!, 'exp', editor)?.[0] : undefined;
  const [x, shift] = (exponent === undefined ? undefined : difference(exponent, editor)) ?? [];
  const most = shift && asReduced(shift, 'max');
  if (!isSum(node) || x === undefined || most === undefined || !isBeside(most, x)) return undefined;
  if (!sameNumbers(most.node.axes, node.axes) || !isReadAgain(x, node.axes)) return undefined;
  return insteadOf(node, x, 'sumexp', node.axes, editor);
};

/** mean(x²) - (mean x)² and Σx² - (Σx)²/n, of real numbers. */
const momentsDifference: Rule = (node, editor) => {
  const [first, second] = argumentsOf(node.id, 'subtract', editor) ?? [];
  if (first === undefined || second === undefined || !['float32', 'float64'].includes(node.dtype))
    return undefined;
  const [left, right] = [first, second].map((id) => belowBroadcasts(id, node.shape.length, editor));
  const whole = asReduced(left!, 'sum');
  const squares = whole ?? sumOfMean(left!, editor);
  const sums = whole === undefined ? sumOfSquaredMean(right!, editor) : sumOfSquareByCount(right!, editor);
  if (squares === undefined || sums === undefined || !isOfOnePlace(squares, sums)) return undefined;
  const x = squareRoot(squares.node.inputs[0]!, editor);
  const { axes, dtype } = squares.node;
  const shape = [...squares.node.shape];
  if (x === undefined || x !== sums.node.inputs[0] || sizeOfShape(shape) !== sizeOfShape(node.shape))
    return undefined;
  if (!isReadAgain(editor.node(x), axes)) return undefined;
  const spread = insteadOf(squares.node, editor.node(x), 'squaredDeviations', axes, editor);
  const count = editor.constant(countOf(editor.node(x), axes), dtype);
  const variance =
    whole === undefined
      ? editor.add({ kind: 'map', op: 'divide', dtype, shape, inputs: [spread, count] })
      : spread;
  return editor.reshape(variance, [...node.shape]);
};

/** Σx of (Σx / n)². */
function sumOfSquaredMean(value: RowValue, editor: Editor): Reduced | undefined {
  const root = squareRoot(value.node.id, editor);
  return root === undefined ? undefined : sumOfMean(inputOf(value, root, editor), editor);
}

/** Σx of (Σx)² / n. */
function sumOfSquareByCount(value: RowValue, editor: Editor): Reduced | undefined {
  const [square, divisor] = argumentsOf(value.node.id, 'divide', editor) ?? [];
  if (square === undefined || divisor === undefined) return undefined;
  const below = inputOf(value, square, editor);
  const root = squareRoot(below.node.id, editor);
  const sum = root === undefined ? undefined : asReduced(inputOf(below, root, editor), 'sum');
  if (sum === undefined) return undefined;
  const count = countOf(editor.node(sum.node.inputs[0]!), sum.node.axes);
  return isConstantThat(divisor, editor, isOneOf(count, Math.fround(count))) ? sum : undefined;
}

const isOfOnePlace = (a: Reduced, b: Reduced): boolean =>
  sameNumbers(a.node.axes, b.node.axes) &&
  a.labels.length === b.labels.length &&
  a.labels.every((axis, k) => axis === b.labels[k]);

/** The most factors of a product that are looked at. */
const MOST_FACTORS = 8;

/** The x of (x / ‖x‖) · (y / ‖y‖) …, each with its norm; undefined where there are other factors. */
function normalized(id: number, editor: Editor): (readonly [number, number])[] | undefined {
  const found: (readonly [number, number])[] = [];
  const waiting = [id];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const factors = argumentsOf(next, 'multiply', editor);
    const [x, norm] = argumentsOf(next, 'divide', editor) ?? [];
    if (factors !== undefined) waiting.push(...factors.toReversed());
    else if (x === undefined || norm === undefined || !isNormOf(norm, x, editor)) return undefined;
    else found.push([x, norm]);
    if (found.length + waiting.length > MOST_FACTORS) return undefined;
  }
  return found;
}

/** Whether a value is √Σx², perhaps with a constant added or as a lower bound, beside the elements of x. */
function isNormOf(id: number, x: number, editor: Editor): boolean {
  const { shape } = editor.node(x);
  let value = belowBroadcasts(id, shape.length, editor);
  for (const op of ['maximum', 'add'] as const) {
    const [a, b] = argumentsOf(value.node.id, op, editor) ?? [];
    if (a !== undefined && b !== undefined && isConstant(b, editor)) value = inputOf(value, a, editor);
  }
  const [square] = argumentsOf(value.node.id, 'sqrt', editor) ?? [];
  const sum = square === undefined ? undefined : asReduced(inputOf(value, square, editor), 'sum');
  if (sum === undefined || squareRoot(sum.node.inputs[0]!, editor) !== x) return false;
  return isAlong(sum, shape, sum.node.axes);
}

/**
 * Σ (x / ‖x‖) · (y / ‖y‖) → Σ x · y / ‖x‖ / ‖y‖. Every factor is over its own norm, so that by Cauchy and Schwarz
 * nothing overflows whose norms do not.
 */
const normsTakenOut: Rule = (node, editor) => {
  if (!isSum(node) || !['float32', 'float64'].includes(node.dtype)) return undefined;
  const input = editor.node(node.inputs[0]!);
  if (!isReadAgain(input, node.axes)) return undefined;
  const factors = normalized(input.id, editor);
  if (factors === undefined) return undefined;
  const { dtype } = node;
  const norms = factors.map(([, norm]) => withoutAxes(norm, input.shape, node.axes, editor));
  if (norms.includes(undefined)) return undefined;
  const [product, ...others] = factors.map(([x]) => editor.broadcast(x, [...input.shape]));
  const elements = others.reduce(
    (sum, x) => editor.add({ kind: 'map', op: 'multiply', dtype, shape: [...input.shape], inputs: [sum, x] }),
    product!,
  );
  const axes = [...node.axes];
  const shape = [...node.shape];
  const sum = editor.add({ kind: 'reduce', reduction: 'sum', axes, dtype, shape, inputs: [elements] });
  return norms.reduce<number>(
    (quotient, norm) => editor.add({ kind: 'map', op: 'divide', dtype, shape, inputs: [quotient, norm!] }),
    sum,
  );
};

/** Nodes of an expression that are searched for reductions of rows. */
const MOST_SEARCHED = 32;

/** The axes over which a value is reduced that has, beside each element of an array, a reduction of the element's row. */
function axesOfRows(value: RowValue, shape: Shape, editor: Editor): readonly number[] | undefined {
  const open = [value];
  for (
    let next = open.pop(), seen = 0;
    next !== undefined && seen < MOST_SEARCHED;
    next = open.pop(), seen++
  ) {
    const { node } = next;
    if (node.kind === 'reduce') {
      const isOfArray = sameShape(editor.node(node.inputs[0]!).shape, shape);
      if (isOfArray && node.unrolled !== true && isAlong(next, shape, node.axes)) return node.axes;
    } else if (isElementwise(node)) {
      for (const input of node.inputs) open.push(inputOf(next, input, editor));
    }
  }
  return undefined;
}

/** Sums over rows and all of them, of elements beside a reduction of their row: a kernel that has the row sums it. */
const sumOfRows: Rule = (node, editor) => {
  if (!isSum(node) || node.monoid !== undefined || node.axes.length < 2) return undefined;
  const x = editor.node(node.inputs[0]!);
  if (!['float32', 'float64'].includes(x.dtype) || x.dtype !== node.dtype) return undefined;
  const open = [x];
  for (
    let next = open.pop(), seen = 0;
    next !== undefined && seen < MOST_SEARCHED;
    next = open.pop(), seen++
  ) {
    if (!isElementwise(next)) continue;
    for (const input of next.inputs) {
      const below = editor.node(input);
      if (sameShape(below.shape, x.shape) && isElementwise(below)) open.push(below);
      const axes = axesOfRows(belowBroadcasts(input, x.shape.length, editor), x.shape, editor);
      const isPart =
        axes?.every((a) => node.axes.includes(a)) === true &&
        node.axes.some((a) => !axes.includes(a) && x.shape[a] !== 1);
      if (isPart && !isReadAgain(x, axes)) return insteadOf(node, x, 'sum', axes, editor);
    }
  }
  return undefined;
};
