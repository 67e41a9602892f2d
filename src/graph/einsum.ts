/**
 * Einsum, and the contraction that all products share: labels name axes, labels missing from the result are
 * summed. An axis of size 1 that broadcasts is dropped before its operand enters the node, where every label
 * has one size.
 *
 * Called by the free functions `einsum` and `einsumPath` and by `products.ts`.
 */
import { ArgumentError, expected, RangeArgumentError, ShapeError } from '../host/errors.js';
import { checkOptions } from './arguments.js';
import type { Expr } from './expr.js';
import { formatShape, formatValue } from './format.js';
import { cast, contract, meetingDType } from './infer.js';
import { reducedPrecision } from './precision.js';
import { checkProductOptions, libraryFor, type ProductOptions } from './product-options.js';
import { reduceAlong } from './reducing.js';
import { type Expression, type Label, labelAxes, readLists, readSubscripts } from './subscripts.js';
import { reshape, view } from './view-nodes.js';
import { permuteDims } from './views.js';

/** Options of `einsum` and `einsumPath`. */
export interface EinsumOptions extends ProductOptions {
  /**
   * The most bytes of an intermediate: of all orders that keep to it the one with the least work is taken, and
   * where none does, labels are summed in parts. No less than the largest operand and the result count.
   */
  readonly memoryLimit?: number | undefined;
}

/** Settings of a contraction beside its operands. */
interface ContractionOptions extends EinsumOptions {
  /** The expression that the user wrote, and the name of each label in it, for errors. */
  readonly written?: { readonly expression: Expression; readonly names: readonly Label[] };
}

/**
 * The contract node for operands whose axes of size 1 may broadcast: such axes are dropped from the operand,
 * and a label that only ever has size 1 stays on one operand.
 */
export function sumOfProducts(
  op: string,
  labels: readonly (readonly number[])[],
  output: readonly number[],
  operands: readonly Expr[],
  options: ContractionOptions = {},
): Expr {
  const sizes = sizesOf(op, labels, operands, options);
  const kept = labels.map((list, k) => {
    const { shape } = operands[k]!;
    return list.every((label, axis) => shape[axis] === sizes.get(label))
      ? list
      : list.filter((label, axis) => shape[axis] === sizes.get(label));
  });
  const reshaped = operands.map((operand, k) =>
    kept[k] === labels[k]
      ? operand
      : reshape(
          operand,
          kept[k]!.map((label) => sizes.get(label)!),
        ),
  );
  return contract(op, kept, output, reshaped, options);
}

/** The size of each label. Throws a ShapeError for sizes that neither agree nor broadcast. */
function sizesOf(
  op: string,
  labels: readonly (readonly number[])[],
  operands: readonly Expr[],
  { written }: ContractionOptions,
): ReadonlyMap<number, number> {
  const sizes = new Map<number, number>();
  for (const [k, list] of labels.entries()) {
    for (const [axis, label] of list.entries()) {
      const size = operands[k]!.shape[axis]!;
      const known = sizes.get(label) ?? 1;
      if (known !== size && known !== 1 && size !== 1) {
        const received = operands.map((operand) => formatShape(operand.shape)).join(' and ');
        const name = written?.names[label];
        const wanted =
          name === undefined ? 'shapes that agree or broadcast' : `one size, or 1, for ${quoted(name)}`;
        const marks = name === undefined ? '' : written!.expression.marked(name);
        throw new ShapeError(`${expected(op, wanted, received, `${known} against ${size}`)}${marks}`);
      }
      if (known === 1) sizes.set(label, size);
    }
  }
  return sizes;
}

/** A label as users write it. */
const quoted = (label: Label): string => `'${label.startsWith('...') ? '...' : label}'`;

/** A call of einsum: what is summed, the arrays, and the options. */
export interface EinsumCall {
  readonly expression: Expression;
  readonly arrays: readonly unknown[];
  readonly options: EinsumOptions;
}

/**
 * Takes the arguments of einsum apart: subscripts and arrays, or arrays and their lists of axes by turns, and
 * at last the options.
 */
export function einsumArguments(op: string, given: readonly unknown[]): EinsumCall {
  const last = given.at(-1);
  const options = isOptions(last) ? last : {};
  checkOptions(op, options, ['precision', 'library', 'memoryLimit']);
  checkProductOptions(op, options);
  const limit: unknown = options.memoryLimit;
  if (limit !== undefined && typeof limit !== 'number')
    throw new ArgumentError(expected(op, 'memoryLimit to be a number of bytes', formatValue(limit)));
  if (limit !== undefined && !(limit > 0))
    throw new RangeArgumentError(expected(op, 'memoryLimit above 0', formatValue(limit)));
  const rest = isOptions(last) ? given.slice(0, -1) : given;
  const [first] = rest;
  if (typeof first === 'string' || rest.length < 2)
    return { expression: readSubscripts(first), arrays: rest.slice(1), options };
  const even = rest.slice(0, rest.length - (rest.length % 2));
  const result = rest.length % 2 === 0 ? undefined : rest.at(-1);
  return {
    expression: readLists(
      even.filter((_, k) => k % 2 === 1),
      result,
    ),
    arrays: even.filter((_, k) => k % 2 === 0),
    options,
  };
}

/** An object that holds options, rather than an array, data, or a complex number. */
const isOptions = (value: unknown): value is EinsumOptions =>
  typeof value === 'object' &&
  value !== null &&
  Object.getPrototypeOf(value) === Object.prototype &&
  !['re', 'data', 'inputs'].some((key) => key in value);

/** An einsum's operands, with the diagonals of repeated labels taken, and numbers for the labels. */
export interface EinsumTerms {
  readonly operands: readonly Expr[];
  readonly labels: readonly (readonly number[])[];
  readonly output: readonly number[];
  /** By number. */
  readonly names: readonly Label[];
}

export function einsumTerms(expression: Expression, arrays: readonly Expr[]): EinsumTerms {
  const parsed = labelAxes(
    expression,
    arrays.map(({ shape }) => shape),
  );
  const operands = arrays.map((x, k) => diagonal(x, parsed.inputs[k]!, expression));
  const names = [...new Set([...parsed.output, ...parsed.inputs.flat()])];
  const numbers = (labels: readonly Label[]): number[] => labels.map((label) => names.indexOf(label));
  return {
    operands: operands.map(({ x }) => x),
    labels: operands.map(({ labels }) => numbers(labels)),
    output: numbers(parsed.output),
    names,
  };
}

/**
 * Einstein summation: letters name axes; those missing after the arrow are summed. A letter twice in one
 * operand takes its diagonal; '...' stands for the axes without a letter, which broadcast. Without an arrow
 * the result has the axes of '...', then the letters that occur once, in alphabetical order. Axes of size 1
 * broadcast.
 */
export function einsum(expression: Expression, arrays: readonly Expr[], options: EinsumOptions = {}): Expr {
  const { operands, labels, output, names } = einsumTerms(expression, arrays);
  checkDType(expression, arrays, options);
  if (operands.length > 1)
    return sumOfProducts('einsum', labels, output, operands, { ...options, written: { expression, names } });
  const [x] = operands as readonly [Expr];
  const [own] = labels as readonly [readonly number[]];
  const summed = own.flatMap((label, axis) => (output.includes(label) ? [] : [axis]));
  const left = own.filter((label) => output.includes(label));
  const order = output.map((label) => left.indexOf(label));
  const sum = summed.length === 0 ? x : cast(reduceAlong('einsum', 'sum', x, summed), x.dtype);
  return permuteDims(sum, order);
}

/** Throws a DTypeError for a precision or library that the dtype of the operands lacks; it marks those of that dtype. */
function checkDType(
  expression: Expression,
  arrays: readonly Expr[],
  { precision, library }: EinsumOptions,
): void {
  if (precision === undefined && library === undefined) return;
  const dtype = meetingDType('einsum', arrays);
  const marks = expression.markedOperands(arrays.flatMap((x, k) => (x.dtype === dtype ? [k] : [])));
  reducedPrecision('einsum', precision, dtype, marks);
  libraryFor('einsum', library, dtype, marks);
}

interface Labelled {
  readonly x: Expr;
  readonly labels: readonly Label[];
}

/** An operand whose labels all differ: the diagonals of axes that share one. */
function diagonal(x: Expr, labels: readonly Label[], expression: Expression): Labelled {
  const second = labels.findIndex((label, axis) => labels.indexOf(label) < axis);
  if (second < 0) return { x, labels };
  const label = labels[second]!;
  const first = labels.indexOf(label);
  const size = x.shape[first]!;
  if (x.shape[second] !== size)
    throw new ShapeError(
      `${expected('einsum', `axes of one size for ${quoted(label)}`, formatShape(x.shape))}${expression.marked(label)}`,
    );
  const rest = x.shape.flatMap((_, axis) => (axis === first || axis === second ? [] : [axis]));
  const sizes = rest.map((axis) => x.shape[axis]!);
  // Every (size + 1)-th element of the two axes as one.
  const line = reshape(permuteDims(x, [...rest, first, second]), [...sizes, size * size]);
  const starts = [...sizes.map(() => 0), 0];
  const steps = [...sizes.map(() => 1), size + 1];
  const taken = view(line, { type: 'slice', starts, steps }, [...sizes, size]);
  return diagonal(taken, [...rest.map((axis) => labels[axis]!), label], expression);
}
