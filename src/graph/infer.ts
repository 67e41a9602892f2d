/**
 * The constructors of nodes: each finds dtype and shape of its result now, inserts the casts an op's
 * signature asks for, and throws where the user wrote what cannot be. Nothing else makes an Expr.
 *
 * Inputs of a map broadcast implicitly: no node is made for it. JavaScript scalars become constants of the
 * dtype they are used in (`scalar.ts`).
 */

import { DTypeError, expected, InternalError, ShapeError } from '../host/errors.js';
import { currentSite } from '../host/site.js';
import {
  answerBelow,
  answerOutOfRange,
  type Comparison,
  isComparison,
  type Side,
  signedBesideUint64,
} from './comparing.js';
import { depthOf } from './depth.js';
import {
  DTYPES,
  type DType,
  type DTypeKind,
  isComplex,
  isDType,
  isInteger,
  kindOf,
  promote,
  type Scalar,
} from './dtype.js';
import type { DeviceBuffer, Expr, ExprOf, HostSource, ProductLibrary, Shape, Source } from './expr.js';
import { meetingExtent, unknownSize, upToBound, withExtent } from './extent.js';
import { formatShape, formatValue } from './format.js';
import type { MapRow } from './op-row.js';
import { type OpName, opRow } from './ops.js';
import { type ProductPrecision, reducedPrecision } from './precision.js';
import { libraryFor } from './product-options.js';
import { type ReductionName, reductionRow } from './reductions.js';
import {
  castScalar,
  convertScalar,
  integerRange,
  isScalar,
  refuseOperand,
  weakArrayDType,
  weakDType,
  weakValue,
} from './scalar.js';
import { broadcastShapes, sameShape } from './shape.js';
import { signatureOf } from './signatures.js';
import { broadcast, RESHAPE, reshape, view } from './view-nodes.js';

/** An operand of an op: an array, or a scalar whose dtype follows the arrays'. */
export type Operand = Expr | Scalar;

const NONE: readonly Expr[] = Object.freeze([]);
const SCALAR_SHAPE: Shape = Object.freeze([]);

export const isExpr = (value: unknown): value is Expr =>
  typeof value === 'object' && value !== null && 'kind' in value && 'inputs' in value;

// ---------------------------------------------------------------- leaves

/** A constant of a dtype; its shape is []. */
export function constant(value: Scalar, dtype: DType): ExprOf<'const'> {
  const held = convertScalar(value, dtype);
  return {
    kind: 'const',
    value: held,
    dtype,
    shape: SCALAR_SHAPE,
    inputs: NONE,
    site: currentSite(),
    depth: 0,
    weak: false,
  };
}

/** Elements in host memory. The caller has checked the layout (`host-array.ts`). */
export function hostArray(source: HostSource, dtype: DType, shape: Shape): ExprOf<'source'> {
  return sourceArray(source, dtype, shape);
}

/** Elements of any source. The caller has checked that they are there. */
export function sourceArray(source: Source, dtype: DType, shape: Shape): ExprOf<'source'> {
  return { kind: 'source', source, dtype, shape, inputs: NONE, site: currentSite(), depth: 0, weak: false };
}

/** A buffer on a device, contiguous. */
export function deviceArray(buffer: DeviceBuffer, dtype: DType, shape: Shape): ExprOf<'source'> {
  return {
    kind: 'source',
    source: { type: 'device', buffer },
    dtype,
    shape,
    inputs: NONE,
    site: currentSite(),
    depth: 0,
    weak: false,
  };
}

/** The integers 0 … n - 1 as int64. */
export function iota(n: number): ExprOf<'source'> {
  return {
    kind: 'source',
    source: { type: 'iota' },
    dtype: 'int64',
    shape: [n],
    inputs: NONE,
    site: currentSite(),
    depth: 0,
    weak: false,
  };
}

// ---------------------------------------------------------------- map and cast

/** Refuses what is not the name of a dtype. */
export function checkDType(op: string, dtype: unknown): DType {
  if (isDType(dtype)) return dtype;
  throw new DTypeError(expected(op, `a dtype (${DTYPES.join(', ')})`, formatValue(dtype)));
}

/** The elements in another dtype. Constants are converted now. */
export function cast(x: Expr, dtype: DType): Expr {
  if (x.dtype === dtype) return x;
  if (x.kind === 'const') return constant(castScalar(x.value, x.dtype, dtype), dtype);
  const inputs = [x];
  const made: Expr = {
    kind: 'cast',
    dtype,
    shape: x.shape,
    inputs,
    site: currentSite(),
    depth: depthOf(inputs),
    weak: false,
  };
  return x.extent === undefined ? made : { ...made, extent: x.extent };
}

/** The elements in a dtype that the user asks for: what was weak is not any more. */
export const astype = (x: Expr, dtype: DType): Expr =>
  x.weak && x.dtype === dtype ? { ...view(x, RESHAPE, x.shape), weak: false } : cast(x, dtype);

/** An array operand as it is, a scalar as a constant of the dtype it has alone. */
export function toExpr(op: string, operand: Operand): Expr {
  if (isExpr(operand)) return operand;
  if (!isScalar(operand)) return refuseOperand(op, operand);
  return constant(operand, weakDType(op, operand, undefined));
}

/** The dtype in which operands meet, scalars being weak. */
export function meetingDType(op: string, operands: readonly Operand[]): DType {
  const strong = dtypeOfAll(operands, 0, false);
  const beside = strong ?? dtypeOfAll(operands, 0, true);
  let met = beside;
  for (const operand of operands) {
    const dtype = dtypeBeside(op, operand, strong, beside);
    met = met === undefined ? dtype : promote(met, dtype);
  }
  if (met === undefined) throw new InternalError(`[${op}] without operands`);
  return met;
}

/** An operand as an array beside one of this dtype, in the dtype that it has there. */
export function besideArray(op: string, operand: Operand, dtype: DType): Expr {
  const held = dtypeBeside(op, operand, dtype, dtype);
  return isExpr(operand) ? cast(operand, held) : constant(weakValue(op, operand, held), held);
}

const RANKS = { bool: 0, int: 1, uint: 1, float: 2, complex: 3 } as const;

/** Values in a dtype. Throws a DTypeError where it cannot hold their kind. */
export function inDType(op: string, values: Operand, dtype: DType): Expr {
  const given = besideArray(op, values, dtype);
  if (RANKS[kindOf(given.dtype)] > RANKS[kindOf(dtype)])
    throw new DTypeError(
      expected(op, `values that ${dtype} holds`, given.dtype, `cast them: .astype('${dtype}')`),
    );
  return cast(given, dtype);
}

/** The dtype in which the arrays among operands meet that are weak, or those that are not. */
function dtypeOfAll(operands: readonly Operand[], from: number, weak: boolean): DType | undefined {
  let met: DType | undefined;
  for (let k = from; k < operands.length; k++) {
    const operand = operands[k]!;
    if (isExpr(operand) && operand.weak === weak)
      met = met === undefined ? operand.dtype : promote(met, operand.dtype);
  }
  return met;
}

/**
 * The dtype of an operand among others: `strong` is that of the arrays that are not weak. A scalar gives way
 * to weak arrays, too, so that its `beside` is theirs where all arrays are weak.
 */
function dtypeBeside(
  op: string,
  operand: Operand,
  strong: DType | undefined,
  beside: DType | undefined,
): DType {
  if (isExpr(operand))
    return operand.weak && strong !== undefined ? weakArrayDType(operand.dtype, strong) : operand.dtype;
  return isScalar(operand) ? weakDType(op, operand, beside) : refuseOperand(op, operand);
}

/**
 * An op of the table over operands that broadcast; errors name `asked`, the function that the user called.
 * Loops, not callbacks: this is called for most nodes of a graph.
 */
export function map(op: OpName, operands: readonly Operand[], asked: string = op): Expr {
  const compared = compareExactly(op, operands);
  if (compared !== undefined) return compared;
  const first = op === 'where' ? 1 : 0; // a condition does not meet the values
  const strong = dtypeOfAll(operands, first, false);
  const beside = strong ?? dtypeOfAll(operands, first, true);
  const dtypes = new Array<DType>(operands.length);
  let weak = false;
  for (let k = 0; k < operands.length; k++) {
    const operand = operands[k]!;
    const meets = k >= first;
    dtypes[k] = dtypeBeside(asked, operand, meets ? strong : undefined, meets ? beside : undefined);
    weak ||= strong === undefined && isExpr(operand) && operand.weak;
  }
  const signature = signatureOf(op, dtypes);
  if (signature === undefined)
    throw new DTypeError(expected(asked, acceptedBy(opRow(op)), dtypes.join(' and ')));
  const inputs = new Array<Expr>(operands.length);
  for (let k = 0; k < operands.length; k++) {
    const operand = operands[k]!;
    const dtype = signature.args[k]!;
    inputs[k] = isExpr(operand) ? cast(operand, dtype) : constant(weakValue(asked, operand, dtype), dtype);
  }
  const shape = meetingShape(asked, inputs);
  const extent = hasExtent(inputs) ? meetingExtent(asked, inputs, shape) : undefined;
  const made: Expr = {
    kind: 'map',
    op,
    dtype: signature.result,
    shape,
    inputs,
    site: currentSite(),
    depth: depthOf(inputs),
    weak,
  };
  return extent === undefined ? made : { ...made, extent };
}

/**
 * A node that computes element by element, with other inputs of the same dtypes, which broadcast. Throws a
 * ShapeError where they do not.
 */
export function elementwiseOf(asked: string, node: Expr, inputs: readonly Expr[]): Expr {
  const shape = meetingShape(asked, inputs);
  const made: Expr = { ...node, shape, inputs, site: currentSite(), depth: depthOf(inputs), weak: false };
  return hasExtent(inputs) ? { ...made, extent: meetingExtent(asked, inputs, shape) } : made;
}

/** An array in the shape that some arrays broadcast to. */
export function broadcastLike(asked: string, x: Expr, arrays: readonly Expr[]): Expr {
  if (arrays.length === 0) return x;
  const shape = meetingShape(asked, arrays);
  if (sameShape(x.shape, shape)) return x;
  const spread = broadcast(x, shape);
  return hasExtent(arrays) ? { ...spread, extent: meetingExtent(asked, arrays, shape) } : spread;
}

function hasExtent(inputs: readonly Expr[]): boolean {
  for (let k = 0; k < inputs.length; k++) if (inputs[k]!.extent !== undefined) return true;
  return false;
}

/** A comparison of integers that no dtype holds together; `undefined`: another op, or one dtype does. */
function compareExactly(op: OpName, operands: readonly Operand[]): Expr | undefined {
  if (!isComparison(op)) return undefined;
  const [a, b] = operands as readonly [Operand, Operand];
  if (isExpr(a) && isExpr(b)) {
    // A weak operand takes the dtype of the other.
    const order = a.weak || b.weak ? undefined : signedBesideUint64(a.dtype, b.dtype);
    if (order === undefined) return undefined;
    const [signed, unsigned] = order === 'first' ? [a, b] : [b, a];
    const isNegative = map('less', [signed, 0]);
    const whole = cast(signed, 'uint64');
    const inOrder = map(op, order === 'first' ? [whole, unsigned] : [unsigned, whole]);
    const side = order === 'first' ? 'first' : 'second';
    return map(answerBelow(op, side) ? 'logicalOr' : 'logicalAnd', [
      answerBelow(op, side) ? isNegative : map('logicalNot', [isNegative]),
      inOrder,
    ]);
  }
  if (isExpr(a) && isScalar(b)) return comparedOutOfRange(op, a, b, 'second');
  return isExpr(b) && isScalar(a) ? comparedOutOfRange(op, b, a, 'first') : undefined;
}

/** A comparison of integers with a number that their dtype cannot hold has one answer. */
function comparedOutOfRange(op: Comparison, x: Expr, scalar: Scalar, side: Side): Expr | undefined {
  const answer = isInteger(x.dtype) ? answerOutOfRange(op, scalar, x.dtype, side) : undefined;
  if (answer === undefined) return undefined;
  const all = broadcast(constant(answer, 'bool'), x.shape);
  return x.extent === undefined ? all : { ...all, extent: x.extent };
}

/** The shape that inputs broadcast to: mostly that of the first, as a loop's arrays and scalars have it. */
function meetingShape(op: string, inputs: readonly Expr[]): Shape {
  const { shape } = inputs[0]!;
  for (let k = 1; k < inputs.length; k++) {
    const other = inputs[k]!.shape;
    if (other.length > 0 && !sameShape(shape, other)) return broadcastShapes(op, inputs.map(shapeOf));
  }
  return shape;
}

const shapeOf = (x: Expr): Shape => x.shape;

const KIND_NAMES: Readonly<Record<DTypeKind, string>> = {
  bool: 'booleans',
  int: 'signed integers',
  uint: 'unsigned integers',
  float: 'floats',
  complex: 'complex numbers',
};

/** The kinds of dtypes an op takes, in words; of a kind that it takes in part, the dtypes. */
function acceptedBy(row: MapRow): string {
  const isAccepted = (dtype: DType): boolean => row.dtype(Array<DType>(row.arity).fill(dtype)) !== undefined;
  const words = Object.entries(KIND_NAMES)
    .flatMap(([kind, name]) => {
      const dtypes = DTYPES.filter((dtype) => kindOf(dtype) === kind);
      return dtypes.every(isAccepted) ? [name] : dtypes.filter(isAccepted);
    })
    .join(', ')
    .replace('signed integers, unsigned integers', 'integers');
  return words.replace(/, ([^,]*)$/, ' or $1');
}

// ---------------------------------------------------------------- reduce

/**
 * Reduces `axes` (ascending) away. With no axes every element is reduced by itself, as in NumPy.
 * Throws a ShapeError where a reduction without identity has no elements.
 */
export function reduce(
  reduction: ReductionName,
  x: Expr,
  axes: readonly number[],
  op: string = reduction,
): Expr {
  const row = reductionRow(reduction);
  const signature = row.dtype(x.dtype);
  if (signature === undefined) {
    const accepted = DTYPES.some((dtype) => isComplex(dtype) && row.dtype(dtype) !== undefined);
    throw new DTypeError(
      expected(op, accepted ? 'numbers or booleans' : 'real numbers or booleans', x.dtype),
    );
  }
  if (row.identity === undefined && axes.some((axis) => x.shape[axis] === 0)) {
    throw new ShapeError(
      expected(
        op,
        'at least one element to reduce',
        `shape ${formatShape(x.shape)}, axes [${axes.join(', ')}]`,
      ),
    );
  }
  if (axes.length === 0) return reduce(reduction, reshape(x, [...x.shape, 1]), [x.shape.length], op);
  const shape = x.shape.filter((_, axis) => !axes.includes(axis));
  const { extent } = x;
  const isWithin = extent !== undefined && axes.includes(extent.axis);
  const argument = cast(x, signature.arg);
  const inputs = [isWithin ? withinLength(argument, neutral(reduction, argument, op)) : argument];
  const made: Expr = {
    kind: 'reduce',
    reduction,
    axes,
    dtype: signature.result,
    shape,
    inputs,
    site: currentSite(),
    depth: depthOf(inputs),
    weak: false,
  };
  if (extent === undefined || isWithin) return made;
  return withExtent(made, extent.axis - axes.filter((axis) => axis < extent.axis).length, extent.length);
}

/** The elements up to the length of their axis, and others of their dtype behind it, as an array of the bound. */
export function withinLength(x: Expr, behind: Scalar | Expr): Expr {
  const { axis, length } = x.extent!;
  const index = reshape(
    iota(x.shape[axis]!),
    x.shape.map((size, k) => (k === axis ? size : 1)),
  );
  return map('where', [
    map('less', [index, length]),
    upToBound(x),
    isExpr(behind) ? behind : constant(behind, x.dtype),
  ]);
}

/** A value that changes no result of a reduction. */
export function neutral(reduction: ReductionName, { dtype, ...x }: Expr, op: string): Scalar {
  const isLeast = reduction === 'max' || reduction === 'argmax';
  if (isLeast || reduction === 'min' || reduction === 'argmin') {
    if (dtype === 'bool') return !isLeast;
    if (!isInteger(dtype)) return isLeast ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
    const { min, max } = integerRange(dtype);
    return isLeast ? min : max;
  }
  const { identity } = reductionRow(reduction);
  if (identity === undefined || reduction === 'squaredDeviations') throw unknownSize(op, x);
  if (reduction === 'sum' && !isInteger(dtype)) return -0;
  return identity;
}

// ---------------------------------------------------------------- contract

/**
 * Sum of products over the labels that `output` lacks. Every label has one size; dtypes are promoted.
 * Throws a DTypeError for a precision or a library that the promoted dtype lacks.
 */
export function contract(
  op: string,
  labels: readonly (readonly number[])[],
  output: readonly number[],
  operands: readonly Expr[],
  settings: {
    readonly precision?: ProductPrecision | undefined;
    readonly library?: ProductLibrary | undefined;
    readonly memoryLimit?: number | undefined;
  } = {},
): Expr {
  const dtype = meetingDType(op, operands);
  const sizes = new Map<number, number>();
  labels.forEach((list, k) => {
    list.forEach((label, axis) => {
      sizes.set(label, operands[k]!.shape[axis]!);
    });
  });
  const shape = output.map((label) => sizes.get(label)!);
  const lengths = lengthsOfLabels(op, labels, operands);
  const kept = output.filter((label) => lengths.has(label));
  if (kept.length > 1) throw unknownSize(op, operands.findLast(({ extent }) => extent !== undefined)!);
  const inputs = operands.map((operand, k) => {
    const given = cast(operand, dtype);
    const isSummed = given.extent !== undefined && !output.includes(labels[k]![given.extent.axis]!);
    return isSummed ? withinLength(given, 0) : upToBound(given);
  });
  const made: Expr = {
    kind: 'contract',
    labels,
    output,
    precision: reducedPrecision(op, settings.precision, dtype),
    memoryLimit: settings.memoryLimit,
    library: libraryFor(op, settings.library, dtype),
    dtype,
    shape,
    inputs,
    site: currentSite(),
    depth: depthOf(inputs),
    weak: false,
  };
  const [label] = kept;
  return label === undefined ? made : withExtent(made, output.indexOf(label), lengths.get(label)!);
}

/** The lengths of labels whose size depends on data: all operands that have such a label have that length. */
function lengthsOfLabels(
  op: string,
  labels: readonly (readonly number[])[],
  operands: readonly Expr[],
): ReadonlyMap<number, Expr> {
  if (!hasExtent(operands)) return NO_LENGTHS;
  const lengths = new Map<number, Expr>();
  for (const [k, { extent }] of operands.entries())
    if (extent !== undefined) lengths.set(labels[k]![extent.axis]!, extent.length);
  for (const [k, { shape, extent }] of operands.entries()) {
    for (const [axis, label] of labels[k]!.entries()) {
      const length = lengths.get(label);
      const isMet = length === undefined || (extent?.axis === axis && extent.length === length);
      if (!isMet) throw unknownSize(op, { shape, extent: { axis, length } });
    }
  }
  return lengths;
}
const NO_LENGTHS: ReadonlyMap<number, Expr> = new Map();
