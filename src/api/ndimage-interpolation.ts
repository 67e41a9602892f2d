/**
 * Arrays zoomed, shifted, turned and read at coordinates, with the names and the meaning of SciPy's `ndimage`, whose
 * rounding of integers is theirs too. Coordinates are float64, weights and sums float32 of float32 and halves. Splines of
 * order 2 to 5 of `'reflect'` go through the elements, where SciPy's miss them slightly in short arrays.
 */
import { checkOptions, finiteNumber, oneOf } from '../graph/arguments.js';
import { slice } from '../graph/basic-slicing.js';
import type { BorderMode } from '../graph/borders.js';
import { type DType, isComplex } from '../graph/dtype.js';
import type { Expr } from '../graph/expr.js';
import { needSizes } from '../graph/extent.js';
import { knownArray, type NestedNumbers, type PerAxis, perAxis } from '../graph/filter-arguments.js';
import { formatShape, formatValue } from '../graph/format.js';
import { sizeOfShape } from '../graph/graph.js';
import { cast, checkDType, constant, map } from '../graph/infer.js';
import {
  INTERPOLATION_MODES,
  type Interpolation,
  type InterpolationMode,
  interpolated,
  splineCoefficients,
} from '../graph/interpolation.js';
import { indexAlong } from '../graph/joins.js';
import { checkInteger, checkShape, normalizeAxis, type ShapeArgument } from '../graph/shape.js';
import { broadcast, reshape } from '../graph/view-nodes.js';
import { ArgumentError, DTypeError, expected, RangeArgumentError, ShapeError } from '../host/errors.js';
import { called } from '../host/site.js';
import type { ArrayLike, DTypeOf } from './fluent-types.js';
import { exprOf, Lazy } from './lazy.js';

/** Options of all interpolation. */
export interface InterpolationOptions<D extends DType = DType> {
  /** The order of the splines: 0 (the nearest element), 1 (linear), to 5. 3 (cubic) is the default. */
  readonly order?: 0 | 1 | 2 | 3 | 4 | 5 | undefined;
  /** The elements outside of the array, `'constant'` by default. */
  readonly mode?: InterpolationMode | undefined;
  /** The value outside of the array with a constant mode; 0 by default. */
  readonly cval?: number | undefined;
  /** False for an array of coefficients that `splineFilter` gave. */
  readonly prefilter?: boolean | undefined;
  /** The dtype of the result; that of the array by default. */
  readonly dtype?: D | undefined;
}

/** Options of `zoom`. */
export interface ZoomOptions<D extends DType = DType> extends InterpolationOptions<D> {
  /** Whether elements are areas that fill the array, not points at its ends. */
  readonly gridMode?: boolean | undefined;
}

/** Options of `rotate`. */
export interface RotateOptions<D extends DType = DType> extends InterpolationOptions<D> {
  /** The plane that is turned: `[1, 0]` by default. */
  readonly axes?: readonly [number, number] | undefined;
  /** Whether the result is as large as the turned array, which is the default, or as the array. */
  readonly reshape?: boolean | undefined;
}

/** Options of `affineTransform`. */
export interface AffineOptions<D extends DType = DType> extends InterpolationOptions<D> {
  /** Added to the coordinates, 0 by default. */
  readonly offset?: PerAxis | undefined;
  /** The shape of the result; that of the array by default. */
  readonly outputShape?: ShapeArgument | undefined;
}

/** Options of `splineFilter`. */
export interface SplineFilterOptions<D extends DType = DType> {
  /** 3 by default. */
  readonly order?: 2 | 3 | 4 | 5 | undefined;
  /** `'mirror'` by default. */
  readonly mode?: Exclude<BorderMode, 'constant'> | undefined;
  /** float64 by default. */
  readonly dtype?: D | undefined;
}

type Result<T extends ArrayLike, D extends DType | undefined> = Lazy<D extends DType ? D : DTypeOf<T>>;

interface Given {
  readonly x: Expr;
  readonly how: Interpolation;
  readonly dtype: DType;
}

const ORDERS = [0, 1, 2, 3, 4, 5] as const;

function givenOf(
  op: string,
  value: ArrayLike,
  options: InterpolationOptions | undefined,
  more: readonly string[] = [],
): Given {
  checkOptions(op, options, ['order', 'mode', 'cval', 'prefilter', 'dtype', ...more]);
  const x = exprOf(op, value);
  needSizes(op, x);
  const { order = 3, mode = 'constant', cval = 0, prefilter = true, dtype } = options ?? {};
  if (!ORDERS.includes(order))
    throw new RangeArgumentError(expected(op, 'an order from 0 to 5', formatValue(order)));
  if (typeof prefilter !== 'boolean')
    throw new ArgumentError(expected(op, 'prefilter to be true or false', formatValue(prefilter)));
  const how: Interpolation = {
    order,
    mode: oneOf(op, 'a mode', INTERPOLATION_MODES, mode),
    value: finiteNumber(op, 'cval', cval),
    prefilter,
  };
  return { x, how, dtype: dtype === undefined ? x.dtype : checkDType(op, dtype) };
}

/** The result of a shape by coordinates for each axis of the array. */
function result(
  { x, how, dtype }: Given,
  shape: readonly number[],
  coordinates: () => readonly Expr[],
): Lazy<never> {
  if (shape.includes(0)) return new Lazy(broadcast(constant(0, dtype), shape)) as Lazy<never>;
  if (sizeOfShape(x.shape) === 0)
    return new Lazy(broadcast(cast(constant(how.value, 'float64'), dtype), shape)) as Lazy<never>;
  if (x.shape.length === 0) return new Lazy(broadcast(cast(x, dtype), shape)) as Lazy<never>;
  return new Lazy(interpolated(x, coordinates(), shape, how, dtype)) as Lazy<never>;
}

/** The indices along an axis of a shape, in float64. */
const places = (axis: number, shape: readonly number[]): Expr =>
  cast(indexAlong(axis, shape[axis]!, shape.length), 'float64');

/**
 * The array with `factor` times as many elements along each axis, one factor for all or one for each, as SciPy's `zoom`:
 * the first and the last element stay where they are, and those between are interpolated.
 *
 * @example
 * await ndimage.zoom([0, 1, 4], 2, { order: 1 }).compute()
 * //=> [0.  0.4 0.8 1.6 2.8 4. ]
 */
export function zoom<T extends ArrayLike, D extends DType | undefined = undefined>(
  x: T,
  factor: PerAxis,
  options?: ZoomOptions & { readonly dtype?: D },
): Result<T, D> {
  return called(zoom, () => {
    const op = 'ndimage.zoom';
    const given = givenOf(op, x, options, ['gridMode']);
    const factors = perAxis(op, 'a factor', factor, given.x, undefined, 1);
    for (const each of factors)
      if (each < 0) throw new RangeArgumentError(expected(op, 'factors of at least 0', `${each}`));
    const from = given.x.shape;
    const shape = checkShape(
      op,
      from.map((n, k) => roundedHalfEven(n * factors[k]!)),
    );
    const isGrid = options?.gridMode === true;
    const steps = from.map((n, k) => {
      const [least, whole] = isGrid ? [n, shape[k]!] : [n - 1, shape[k]! - 1];
      return whole === 0 ? 1 : least / whole;
    });
    return result(given, shape, () =>
      shape.map((_, axis) => {
        const at = places(axis, shape);
        if (!isGrid) return map('multiply', [at, steps[axis]!]);
        return map('subtract', [map('multiply', [map('add', [at, 0.5]), steps[axis]!]), 0.5]);
      }),
    );
  });
}

/** The nearest integer, of two the even one. */
function roundedHalfEven(value: number): number {
  const low = Math.floor(value);
  if (value - low !== 0.5) return Math.round(value);
  return low % 2 === 0 ? low : low + 1;
}

/**
 * The array moved by so many elements along each axis, which need not be whole, as SciPy's `shift`.
 *
 * @example
 * await ndimage.shift([1, 2, 3, 4], 1.5, { order: 1 }).compute()
 * //=> [0.  0.  1.5 2.5]
 */
export function shift<T extends ArrayLike, D extends DType | undefined = undefined>(
  x: T,
  by: PerAxis,
  options?: InterpolationOptions & { readonly dtype?: D },
): Result<T, D> {
  return called(shift, () => {
    const op = 'ndimage.shift';
    const given = givenOf(op, x, options);
    const moved = perAxis(op, 'a shift', by, given.x, undefined, 0);
    const { shape } = given.x;
    return result(given, shape, () =>
      shape.map((_, axis) => map('subtract', [places(axis, shape), moved[axis]!])),
    );
  });
}

/**
 * The array turned in the plane of two axes by an angle in degrees, as SciPy's `rotate`.
 *
 * @example
 * await ndimage.rotate([[1, 2], [3, 4]], 90, { order: 1 }).compute()
 * //=> [[2. 4.]
 * //=>  [1. 3.]]
 */
export function rotate<T extends ArrayLike, D extends DType | undefined = undefined>(
  x: T,
  angle: number,
  options?: RotateOptions & { readonly dtype?: D },
): Result<T, D> {
  return called(rotate, () => {
    const op = 'ndimage.rotate';
    const given = givenOf(op, x, options, ['axes', 'reshape']);
    const ndim = given.x.shape.length;
    const [first, second] = (options?.axes ?? [1, 0])
      .map((axis) => normalizeAxis(op, axis, ndim))
      .sort((a, b) => a - b) as [number, number];
    if (first === second || second === undefined)
      throw new ShapeError(expected(op, 'two axes', formatValue(options?.axes)));
    const turn = turnBy(finiteNumber(op, 'an angle', angle));
    const plane = [given.x.shape[first]!, given.x.shape[second]!] as const;
    const turned = options?.reshape === false ? plane : turnedSize(turn, plane);
    const shape = given.x.shape.with(first, turned[0]).with(second, turned[1]);
    const centre = applied(turn, [(turned[0] - 1) / 2, (turned[1] - 1) / 2]);
    const offset = plane.map((n, k) => (n - 1) / 2 - centre[k]!);
    return result(given, shape, () => {
      const at = [places(first, shape), places(second, shape)] as const;
      return shape.map((_, axis) => {
        if (axis !== first && axis !== second) return places(axis, shape);
        const row = axis === first ? 0 : 1;
        return linear(turn[row]!, at, offset[row]!);
      });
    });
  });
}

type Plane = readonly [number, number];
type Turn = readonly [Plane, Plane];

/** The matrix of a turn, exact at right angles. */
function turnBy(degrees: number): Turn {
  const quarter = ((degrees % 360) + 360) % 360;
  const radians = (quarter * Math.PI) / 180;
  const isRight = quarter % 90 === 0;
  const [c, s] = isRight
    ? [[1, 0, -1, 0][quarter / 90]!, [0, 1, 0, -1][quarter / 90]!]
    : [Math.cos(radians), Math.sin(radians)];
  return [
    [c, s],
    [-s + 0, c],
  ];
}

const applied = (turn: Turn, [a, b]: Plane): [number, number] => [
  turn[0][0] * a + turn[0][1] * b,
  turn[1][0] * a + turn[1][1] * b,
];

/** The sizes of the box around a turned plane. */
function turnedSize(turn: Turn, [rows, columns]: Plane): [number, number] {
  const corners = (
    [
      [0, 0],
      [0, columns],
      [rows, 0],
      [rows, columns],
    ] as const
  ).map((corner) => applied(turn, corner));
  const span = (k: 0 | 1): number => {
    const values = corners.map((corner) => corner[k]);
    return Math.trunc(Math.max(...values) - Math.min(...values) + 0.5);
  };
  return [span(0), span(1)];
}

/** Σ factors[k] at[k] + offset, without the terms of factor 0. */
function linear(factors: readonly number[], at: readonly Expr[], offset: number): Expr {
  const terms = factors.flatMap((factor, k) => {
    if (factor === 0) return [];
    return [factor === 1 ? at[k]! : map('multiply', [at[k]!, factor])];
  });
  const sum = terms.reduce<Expr | undefined>(
    (all, term) => (all === undefined ? term : map('add', [all, term])),
    undefined,
  );
  if (sum === undefined)
    return reshape(
      constant(offset, 'float64'),
      at[0]!.shape.map(() => 1),
    );
  return offset === 0 ? sum : map('add', [sum, offset]);
}

/**
 * The array read at matrix · index + offset for each index of the result, as SciPy's `affine_transform`. The matrix is
 * of as many rows and columns as the array has axes, its diagonal alone, or of homogeneous coordinates with the offset
 * in its last column.
 *
 * @example
 * await ndimage.affineTransform([[1, 2], [3, 4]], [[0, 1], [1, 0]], { order: 1 }).compute()
 * //=> [[1. 3.]
 * //=>  [2. 4.]]
 */
export function affineTransform<T extends ArrayLike, D extends DType | undefined = undefined>(
  x: T,
  matrix: NestedNumbers,
  options?: AffineOptions & { readonly dtype?: D },
): Result<T, D> {
  return called(affineTransform, () => {
    const op = 'ndimage.affineTransform';
    const given = givenOf(op, x, options, ['offset', 'outputShape']);
    const ndim = given.x.shape.length;
    const { rows, offset } = affineOf(op, given.x, matrix, options?.offset ?? 0);
    const shape = options?.outputShape === undefined ? given.x.shape : checkShape(op, options.outputShape);
    if (shape.length !== ndim)
      throw new ShapeError(expected(op, `an outputShape of ${ndim} axes`, formatShape(shape)));
    return result(given, shape, () => {
      const at = shape.map((_, axis) => places(axis, shape));
      return rows.map((row, axis) => linear(row, at, offset[axis]!));
    });
  });
}

/** The rows of a square matrix and the offset of each. */
function affineOf(
  op: string,
  x: Expr,
  matrix: NestedNumbers,
  offset: PerAxis,
): { readonly rows: readonly (readonly number[])[]; readonly offset: readonly number[] } {
  const { shape, values } = knownArray(op, 'a matrix', matrix);
  const n = x.shape.length;
  const given = perAxis(op, 'an offset', offset, x, undefined, 0);
  if (shape.length === 1 && shape[0] === n)
    return { rows: values.map((value, k) => values.map((_, j) => (j === k ? value : 0))), offset: given };
  const [height, width] = shape;
  const isHomogeneous = width === n + 1 && (height === n || height === n + 1);
  if (shape.length !== 2 || !(isHomogeneous || (height === n && width === n))) {
    const wanted = `a matrix of ${n} or ${n + 1} columns for ${formatShape(x.shape)}`;
    throw new ShapeError(expected(op, wanted, formatShape(shape)));
  }
  const row = (k: number): readonly number[] => values.slice(k * width!, k * width! + n);
  const rows = x.shape.map((_, k) => row(k));
  return { rows, offset: isHomogeneous ? rows.map((_, k) => values[k * width! + n]!) : given };
}

/**
 * The values of the array at coordinates: an array whose first axis has a row of coordinates for each axis of x, as
 * SciPy's `map_coordinates`. The result has the shape of the others.
 *
 * @example
 * await ndimage.mapCoordinates([[1, 2], [3, 4]], [[0.5, 1], [0.5, 0]], { order: 1 }).compute()
 * //=> [2.5 3. ]
 */
export function mapCoordinates<T extends ArrayLike, D extends DType | undefined = undefined>(
  x: T,
  coordinates: ArrayLike,
  options?: InterpolationOptions & { readonly dtype?: D },
): Result<T, D> {
  return called(mapCoordinates, () => {
    const op = 'ndimage.mapCoordinates';
    const given = givenOf(op, x, options);
    const at = exprOf(op, coordinates);
    needSizes(op, at);
    if (isComplex(at.dtype)) throw new DTypeError(expected(op, 'real coordinates', at.dtype));
    const ndim = given.x.shape.length;
    if (at.shape[0] !== ndim || at.shape.length === 0)
      throw new ShapeError(expected(op, `coordinates of ${ndim} rows`, formatShape(at.shape)));
    const shape = at.shape.slice(1);
    const flat = cast(at, 'float64');
    return result(given, shape, () => given.x.shape.map((_, axis) => slice(flat, axis)));
  });
}

/**
 * The coefficients of the splines whose values are the elements, as SciPy's `spline_filter`: what interpolation of order
 * 2 to 5 computes first, and need not again with `{ prefilter: false }`.
 *
 * @example
 * await ndimage.splineFilter([0, 0, 1, 0, 0]).compute()
 * //=> [ 0.25 -0.5   1.75 -0.5   0.25]
 */
export function splineFilter<D extends DType = 'float64'>(
  x: ArrayLike,
  options?: SplineFilterOptions & { readonly dtype?: D },
): Lazy<D> {
  return called(splineFilter, () => {
    const op = 'ndimage.splineFilter';
    checkOptions(op, options, ['order', 'mode', 'dtype']);
    const given = exprOf(op, x);
    needSizes(op, given);
    const order = checkInteger(op, 'an order', options?.order ?? 3);
    if (order < 2 || order > 5)
      throw new RangeArgumentError(expected(op, 'an order from 2 to 5', `${order}`));
    const mode = oneOf(
      op,
      'a mode',
      ['mirror', 'reflect', 'wrap', 'nearest'] as const,
      options?.mode ?? 'mirror',
    );
    const dtype = options?.dtype === undefined ? 'float64' : checkDType(op, options.dtype);
    const fold = mode === 'nearest' ? 'reflect' : mode;
    const work = isComplex(given.dtype) ? 'complex128' : 'float64';
    return new Lazy(cast(splineCoefficients(given, order, fold, work), dtype)) as Lazy<never>;
  });
}
