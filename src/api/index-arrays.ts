/**
 * Arrays made of indices: indices, fromfunction, trilIndices, triuIndices. No element is stored: indices are
 * numbers in kernels.
 */
import { checkOptions, refuseMore } from '../graph/arguments.js';
import type { DType } from '../graph/dtype.js';
import { formatValue } from '../graph/format.js';
import { cast, iota, map } from '../graph/infer.js';
import { indexAlong } from '../graph/joins.js';
import { cumulativeSum } from '../graph/scans.js';
import { searchsorted } from '../graph/searching.js';
import { checkShape, clippedInteger, type ShapeArgument } from '../graph/shape.js';
import { broadcast, gather } from '../graph/view-nodes.js';
import { ArgumentError, expected } from '../host/errors.js';
import { called, outsideCall } from '../host/site.js';
import { type Asked, type DTypeArgument, dtypeOf } from './creation.js';
import type { ArrayLike, DTypeOf } from './fluent-types.js';
import { exprOf, Lazy } from './lazy.js';

const LISTED = 'a shape is one list: [2, 3]';

/**
 * The index along each axis of a shape, an array of that shape for each: int64 unless a dtype is given.
 *
 * @example
 * const [rows, columns] = indices([2, 2])
 * await rows!.compute()
 * //=> [[0 0]
 * //=>  [1 1]]
 */
export function indices<A extends DTypeArgument | undefined = undefined>(
  shape: ShapeArgument,
  dtype?: A,
): Lazy<Asked<A, 'int64'>>[];
export function indices(shape: ShapeArgument, dtype?: DTypeArgument, ...more: readonly unknown[]): Lazy[] {
  return called(indices, () => {
    refuseMore('indices', 2, [shape, dtype, ...more], LISTED);
    return indexArrays('indices', shape, dtypeOf('indices', dtype) ?? 'int64');
  });
}

function indexArrays(op: string, shape: ShapeArgument, dtype: DType): Lazy[] {
  const sizes = checkShape(op, shape);
  return sizes.map((size, k) => new Lazy(broadcast(cast(indexAlong(k, size, sizes.length), dtype), sizes)));
}

/**
 * The array whose element at each index is a function of it: `fromfunction((i, j) => i.add(j), [3, 4])`. The
 * function is called once, with an array of indices for each axis, as NumPy's `fromfunction`; they are float64
 * unless a dtype is given. Throws an ArgumentError for what is no function; what the function throws.
 *
 * @example
 * await fromfunction((i, j) => i.mul(10).add(j), [2, 3]).compute()
 * //=> [[ 0.  1.  2.]
 * //=>  [10. 11. 12.]]
 */
export function fromfunction<T extends ArrayLike, A extends DTypeArgument | undefined = undefined>(
  element: (...indices: Lazy<Asked<A, 'float64'>>[]) => T,
  shape: ShapeArgument,
  dtype?: A,
): Lazy<DTypeOf<T>>;
export function fromfunction(
  element: (...indices: Lazy[]) => ArrayLike,
  shape: ShapeArgument,
  dtype?: DTypeArgument,
  ...more: readonly unknown[]
): Lazy {
  return called(fromfunction, () => {
    refuseMore('fromfunction', 3, [element, shape, dtype, ...more], LISTED);
    if (typeof element !== 'function')
      throw new ArgumentError(expected('fromfunction', 'a function of indices', formatValue(element)));
    const at = indexArrays('fromfunction', shape, dtypeOf('fromfunction', dtype) ?? 'float64');
    return new Lazy(
      exprOf(
        'fromfunction',
        outsideCall(() => element(...at)),
      ),
    );
  });
}

/** Options of `trilIndices` and `triuIndices`. */
export interface TriangleOptions {
  /** The last diagonal of the lower triangle, or the first one of the upper: 0 is the main one, above it positive. */
  readonly k?: number | undefined;
}

/**
 * The rows and the columns of the elements of a (rows, columns) matrix in its lower triangle, up to diagonal `k`, in
 * C order: int64, as NumPy's `tril_indices`. Square for one size.
 *
 * @example
 * const [rows, columns] = trilIndices(2)
 * await columns.compute()
 * //=> [0 0 1]
 */
export function trilIndices(
  rows: number,
  columns?: number | null,
  options?: TriangleOptions,
): [rows: Lazy<'int64'>, columns: Lazy<'int64'>];
export function trilIndices(
  rows: number,
  columns?: number | null,
  options?: TriangleOptions,
  ...more: readonly unknown[]
): Lazy[] {
  return called(trilIndices, () => {
    refuseMore('trilIndices', 3, [rows, columns, options, ...more]);
    return triangleOf('trilIndices', rows, columns, options, false);
  });
}

/**
 * The rows and the columns of the elements of a (rows, columns) matrix in its upper triangle, from diagonal `k` on,
 * in C order: int64, as NumPy's `triu_indices`. Square for one size.
 *
 * @example
 * const [rows, columns] = triuIndices(2)
 * await columns.compute()
 * //=> [0 1 1]
 */
export function triuIndices(
  rows: number,
  columns?: number | null,
  options?: TriangleOptions,
): [rows: Lazy<'int64'>, columns: Lazy<'int64'>];
export function triuIndices(
  rows: number,
  columns?: number | null,
  options?: TriangleOptions,
  ...more: readonly unknown[]
): Lazy[] {
  return called(triuIndices, () => {
    refuseMore('triuIndices', 3, [rows, columns, options, ...more]);
    return triangleOf('triuIndices', rows, columns, options, true);
  });
}

/**
 * The places of a triangle's elements: element e of them is in the first row whose elements end behind it. Row i has
 * clip(i + k + 1, 0, columns) elements in the lower triangle, and the upper one those from clip(i + k, 0, columns)
 * on.
 */
function triangleOf(
  op: string,
  rows: number,
  columns: number | null | undefined,
  options: TriangleOptions | undefined,
  isUpper: boolean,
): Lazy[] {
  checkOptions(op, options, ['k']);
  const [n, m] = checkShape(op, [rows, columns ?? rows]) as [number, number];
  const k = clippedInteger(op, 'a diagonal', options?.k ?? 0, -n, m);
  // Elements of each row before the triangle's edge.
  const shift = isUpper ? k : k + 1;
  const toEdge = map('minimum', [map('maximum', [map('add', [iota(n), shift]), 0]), m]);
  const lengths = isUpper ? map('subtract', [m, toEdge]) : toEdge;
  const before = sumOfEdges(n, m, shift);
  const total = isUpper ? n * m - before : before;
  if (total === 0) return [0, 1].map(() => new Lazy(cast(iota(0), 'int64')));
  const ends = cumulativeSum(lengths);
  const at = iota(total);
  const row = searchsorted(ends, at, null, { side: 'right' });
  const read = (line: typeof ends): typeof ends => gather(line, row, 0, 'clip', [total]);
  const fromEnd = map('subtract', [read(ends), at]); // 1 for the last of its row
  const end = isUpper ? m : read(toEdge);
  return [new Lazy(row), new Lazy(map('subtract', [end, fromEnd]))];
}

/** Σ clip(i + shift, 0, m) over rows i of 0 … n - 1. */
function sumOfEdges(n: number, m: number, shift: number): number {
  const first = Math.min(n, Math.max(0, -shift)); // rows before it have none
  const full = Math.min(n, Math.max(first, m - shift)); // rows from it on have m
  const rising = full - first;
  return rising * (first + shift) + (rising * (rising - 1)) / 2 + (n - full) * m;
}
