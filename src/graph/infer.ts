/**
 * The constructors of nodes: each finds dtype and shape of its result now, inserts the casts an op's signature asks
 * for, and throws where the user wrote what cannot be. Nothing else makes an Expr.
 *
 * Inputs of a map broadcast implicitly: no node is made for it. JavaScript scalars become constants of the dtype they
 * are used in (`scalar.ts`).
 */

import { DTypeError, expected, InternalError, ShapeError } from '../errors.js';
import { currentSite } from '../site.js';
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
import type { DeviceBuffer, Expr, ExprOf, HostSource, Shape, Source, View } from './expr.js';
import { formatShape, formatValue } from './format.js';
import { type MapRow, type OpName, opRow } from './ops.js';
import { type ReductionName, reductionRow } from './reductions.js';
import {
  castScalar,
  convertScalar,
  inRange,
  isScalar,
  refuseOperand,
  weakDType,
  weakValue,
} from './scalar.js';
import { broadcastShapes } from './shape.js';
import { signatureOf } from './signatures.js';

/** What an op takes beside arrays: a scalar whose dtype follows the arrays'. */
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
  };
}

/** Elements in host memory. The caller has checked the layout (`host-array.ts`). */
export function hostArray(source: HostSource, dtype: DType, shape: Shape): ExprOf<'source'> {
  return sourceArray(source, dtype, shape);
}

/** Elements of any source. The caller has checked that they are there. */
export function sourceArray(source: Source, dtype: DType, shape: Shape): ExprOf<'source'> {
  return { kind: 'source', source, dtype, shape, inputs: NONE, site: currentSite(), depth: 0 };
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
  return { kind: 'cast', dtype, shape: x.shape, inputs, site: currentSite(), depth: depthOf(inputs) };
}

/** An array operand as it is, a scalar as a constant of the dtype it has alone. */
export function toExpr(op: string, operand: Operand): Expr {
  if (isExpr(operand)) return operand;
  if (!isScalar(operand)) return refuseOperand(op, operand);
  return constant(operand, weakDType(op, operand, undefined));
}

/** The dtype in which operands meet, scalars being weak. */
export function meetingDType(op: string, operands: readonly Operand[]): DType {
  const strong = strongDType(operands, 0);
  let met = strong;
  for (const operand of operands) {
    if (isExpr(operand)) continue;
    if (!isScalar(operand)) return refuseOperand(op, operand);
    const dtype = weakDType(op, operand, strong);
    met = met === undefined ? dtype : promote(met, dtype);
  }
  if (met === undefined) throw new InternalError(`[${op}] without operands`);
  return met;
}

function strongDType(operands: readonly Operand[], from: number): DType | undefined {
  let strong: DType | undefined;
  for (let k = from; k < operands.length; k++) {
    const operand = operands[k]!;
    if (isExpr(operand)) strong = strong === undefined ? operand.dtype : promote(strong, operand.dtype);
  }
  return strong;
}

/**
 * An op of the table over operands that broadcast; errors name `asked`, the function that the user called. Loops, not
 * callbacks: this is called for most nodes of a graph.
 */
export function map(op: OpName, operands: readonly Operand[], asked: string = op): Expr {
  const choosing = op === 'where'; // its condition does not meet the values
  const strong = strongDType(operands, choosing ? 1 : 0);
  const dtypes = new Array<DType>(operands.length);
  for (let k = 0; k < operands.length; k++) {
    const operand = operands[k]!;
    if (isExpr(operand)) dtypes[k] = operand.dtype;
    else if (isScalar(operand))
      dtypes[k] = weakDType(asked, operand, choosing && k === 0 ? undefined : strong);
    else refuseOperand(asked, operand);
  }
  const signature = signatureOf(op, dtypes);
  if (signature === undefined)
    throw new DTypeError(expected(asked, acceptedBy(opRow(op)), dtypes.join(' and ')));
  const known = comparedOutOfRange(op, operands, signature.args);
  if (known !== undefined) return known;
  const inputs = new Array<Expr>(operands.length);
  for (let k = 0; k < operands.length; k++) {
    const operand = operands[k]!;
    const dtype = signature.args[k]!;
    inputs[k] = isExpr(operand) ? cast(operand, dtype) : constant(weakValue(asked, operand, dtype), dtype);
  }
  return {
    kind: 'map',
    op,
    dtype: signature.result,
    shape: meetingShape(asked, inputs),
    inputs,
    site: currentSite(),
    depth: depthOf(inputs),
  };
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

/** Whether a comparison holds when its second argument is larger (+1) or smaller (-1) than every first one. */
const COMPARED: Readonly<Record<string, (sign: 1 | -1) => boolean>> = {
  equal: () => false,
  notEqual: () => true,
  less: (sign) => sign === 1,
  lessEqual: (sign) => sign === 1,
  greater: (sign) => sign === -1,
  greaterEqual: (sign) => sign === -1,
};

/** A comparison of integers with a scalar that their dtype cannot hold has one answer, as in NumPy 2. */
function comparedOutOfRange(
  op: OpName,
  operands: readonly Operand[],
  args: readonly DType[],
): Expr | undefined {
  const answer = COMPARED[op];
  if (answer === undefined || !isInteger(args[0]!)) return undefined;
  for (const k of [0, 1] as const) {
    const scalar = operands[k]!;
    const other = operands[1 - k]!;
    if ((typeof scalar !== 'number' && typeof scalar !== 'bigint') || !isExpr(other)) continue;
    if (inRange(scalar, args[k]!)) continue;
    const sign = scalar > 0 === (k === 1) ? 1 : -1;
    return broadcast(constant(answer(sign), 'bool'), other.shape);
  }
  return undefined;
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
  const inputs = [cast(x, signature.arg)];
  return {
    kind: 'reduce',
    reduction,
    axes,
    dtype: signature.result,
    shape,
    inputs,
    site: currentSite(),
    depth: depthOf(inputs),
  };
}

// ---------------------------------------------------------------- views

/** A view whose shape and parameters the caller has worked out. */
export function view(x: Expr, view: View, shape: Shape): Expr {
  const inputs = [x];
  return { kind: 'view', view, dtype: x.dtype, shape, inputs, site: currentSite(), depth: depthOf(inputs) };
}

const RESHAPE: View = Object.freeze({ type: 'reshape' });
const BROADCAST: View = Object.freeze({ type: 'broadcast' });

function sameShape(a: Shape, b: Shape): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let k = 0; k < a.length; k++) if (a[k] !== b[k]) return false;
  return true;
}

/** The same elements in another shape of the same size. */
export const reshape = (x: Expr, shape: Shape): Expr =>
  sameShape(x.shape, shape) ? x : view(x, RESHAPE, shape);

/** Broadcasts to a shape that `x` is known to broadcast to. */
export const broadcast = (x: Expr, shape: Shape): Expr =>
  sameShape(x.shape, shape) ? x : view(x, BROADCAST, shape);

// ---------------------------------------------------------------- contract

/** Sum of products over the labels that `output` lacks. Every label has one size; dtypes are promoted. */
export function contract(
  op: string,
  labels: readonly (readonly number[])[],
  output: readonly number[],
  operands: readonly Expr[],
): Expr {
  const dtype = meetingDType(op, operands);
  const sizes = new Map<number, number>();
  labels.forEach((list, k) => {
    list.forEach((label, axis) => {
      sizes.set(label, operands[k]!.shape[axis]!);
    });
  });
  const shape = output.map((label) => sizes.get(label)!);
  const inputs = operands.map((operand) => cast(operand, dtype));
  return {
    kind: 'contract',
    labels,
    output,
    dtype,
    shape,
    inputs,
    site: currentSite(),
    depth: depthOf(inputs),
  };
}
