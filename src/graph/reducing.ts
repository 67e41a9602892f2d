/**
 * Reductions as the user calls them: axis, keepdims and dtype on top of the reduce node. The methods for the
 * rows of REDUCTIONS are `reduceBy`; the composites in `statistics.ts` use the rest.
 */
import { ArgumentError, expected, ShapeError } from '../host/errors.js';
import { type AxisOr, reduceArguments, type SumOptions } from './arguments.js';
import { DTYPE_INFO, type DType, isComplex, isHalf, isInteger } from './dtype.js';
import type { Expr } from './expr.js';
import { meetingExtent } from './extent.js';
import { formatShape, formatValue } from './format.js';
import { cast, checkDType, map, meetingDType, type Operand, reduce } from './infer.js';
import { lineOf } from './lines.js';
import { REDUCTIONS, type ReductionName, reductionRow } from './reductions.js';
import { ascendingAxes, sameShape } from './shape.js';
import { reshape } from './view-nodes.js';
import { permuteDims } from './views.js';

/** Gives reduced axes back with size 1. */
export const keepAxes = (reduced: Expr, x: Expr, axes: readonly number[]): Expr =>
  reshape(
    reduced,
    x.shape.map((size, k) => (axes.includes(k) ? 1 : size)),
  );

/**
 * Weights or places beside an array, with its axes: `given` has its shape, or the sizes of `axes` in their
 * order, and gets size 1 along the others. Throws a ShapeError that names `op` and `what` for another shape, or where
 * sizes depend on data and nothing says that they agree.
 */
export function alongAxes(op: string, what: string, given: Expr, x: Expr, axes: readonly number[]): Expr {
  const placed = beside(op, what, given, x, axes);
  meetingExtent(op, [x, placed], x.shape);
  return placed;
}

function beside(op: string, what: string, given: Expr, x: Expr, axes: readonly number[]): Expr {
  if (sameShape(given.shape, x.shape)) return given;
  const sizes = axes.map((axis) => x.shape[axis]!);
  if (!sameShape(given.shape, sizes)) {
    const either = `${what} of shape ${formatShape(x.shape)} or ${formatShape(sizes)}`;
    throw new ShapeError(expected(op, either, formatShape(given.shape)));
  }
  const ascending = [...axes.keys()].sort((a, b) => axes[a]! - axes[b]!);
  return reshape(
    permuteDims(given, ascending),
    x.shape.map((size, k) => (axes.includes(k) ? size : 1)),
  );
}

/** Reduces `axes` (ascending); `op` names the user's call in errors. */
export function reduceAlong(
  op: string,
  reduction: ReductionName,
  x: Expr,
  axes: readonly number[],
  keepdims = false,
): Expr {
  // An index in C order counts the elements that are there.
  const isInLine = x.extent !== undefined && reductionRow(reduction).indexed && axes.length > 1;
  const reduced = isInLine ? reduce(reduction, lineOf(x), [0], op) : reduce(reduction, x, axes, op);
  return keepdims ? keepAxes(reduced, x, axes) : reduced;
}

const TAKES_DTYPE: readonly ReductionName[] = ['sum', 'prod'];

/** A row of REDUCTIONS as a method: `x.sum(0, { keepdims: true })`, `x.argmax({ axis: 1 })`. */
export function reduceBy(
  name: ReductionName,
  x: Expr,
  axis?: AxisOr<SumOptions>,
  options?: SumOptions,
): Expr {
  const given = reduceArguments<SumOptions>(name, axis, options, TAKES_DTYPE.includes(name) ? ['dtype'] : []);
  if (reductionRow(name).indexed && typeof given.axis === 'object' && given.axis !== null) {
    throw new ArgumentError(expected(name, 'one axis or none', formatValue(given.axis)));
  }
  const axes = ascendingAxes(name, given.axis, x.shape.length);
  if (given.dtype === undefined) return reduceAlong(name, name, x, axes, given.keepdims);
  const dtype = checkDType(name, given.dtype);
  return cast(reduceAlong(name, name, cast(x, dtype), axes, given.keepdims), dtype);
}

/** Elements that a reduction over `axes` combines, as a number beside real parts of x. */
export function countAlong(x: Expr, axes: readonly number[]): Operand {
  const { extent, dtype } = x;
  const count = (known: readonly number[]): number => known.reduce((n, axis) => n * x.shape[axis]!, 1);
  if (extent === undefined || !axes.includes(extent.axis)) return count(axes);
  const others = count(axes.filter((axis) => axis !== extent.axis));
  return map('multiply', [cast(extent.length, DTYPE_INFO[dtype].component), others]);
}

/**
 * Computes halves in float32 and rounds once at the end: `compute` gets an array of float32 in place of one
 * of halves, and its result goes back to `result`.
 */
export function throughFloat32(x: Expr, compute: (x: Expr) => Expr, result: DType = x.dtype): Expr {
  return isHalf(x.dtype) ? cast(compute(cast(x, 'float32')), result) : compute(x);
}

/** float64 for integers and booleans, as NumPy's means; else the dtype itself. */
export const meanDType = (dtype: DType): DType => (isInteger(dtype) || dtype === 'bool' ? 'float64' : dtype);

/** The dtype in which means of arrays meet. */
export const meetingMeanDType = (op: string, arrays: readonly Expr[]): DType =>
  meetingDType(
    op,
    arrays.map((array) => cast(array, meanDType(array.dtype))),
  );

/** |x|² without the square root in between. */
export function squaredModulus(x: Expr): Expr {
  if (!isComplex(x.dtype)) return map('square', [x]);
  return map('add', [map('square', [map('real', [x])]), map('square', [map('imag', [x])])]);
}

/** The reductions that are methods and functions. */
export const REDUCTION_NAMES = (Object.keys(REDUCTIONS) as readonly ReductionName[]).filter(
  (name) => reductionRow(name).isInternal !== true,
);
