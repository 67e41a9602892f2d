/**
 * Sums of products: matmul, dot, vecdot, tensordot and outer. Every export is also a method of Lazy and a
 * free function (`lazy.ts`). All end in one contract node (`einsum.ts`).
 */
import { ArgumentError, expected, ShapeError } from '../host/errors.js';
import { isComplex } from './dtype.js';
import { sumOfProducts } from './einsum.js';
import type { Expr } from './expr.js';
import { needSizes } from './extent.js';
import { formatShape, formatValue } from './format.js';
import { map, type Operand, toExpr } from './infer.js';
import { reducedPrecision } from './precision.js';
import { libraryFor, type ProductOptions, productOptions } from './product-options.js';
import { checkInteger, checkShape, normalizeAxes, normalizeAxis } from './shape.js';
import { reshape } from './view-nodes.js';

/**
 * Matrix product over the last two axes; axes before them are stacks and broadcast. A vector on the left is a
 * row, on the right a column, and that axis is absent from the result. (…, m, k) · (…, k, n) is (…, m, n).
 * The dtype is the promoted one. Throws a ShapeError where the inner sizes differ, an argument is a scalar,
 * or stacks do not broadcast; a DTypeError for a precision (`{ precision: 'tf32' }`) of other dtypes than
 * float32, and for a library (`{ library: 'cutensor' }`) of others than floats and complex numbers.
 *
 * @example
 * await lazy([[1, 2], [3, 4]]).matmul([[1, 0], [1, 1]]).compute()
 * //=> [[3. 2.]
 * //=>  [7. 4.]]
 */
export function matmul(x: Expr, other: Operand, options?: ProductOptions): Expr {
  const settings = productOptions('matmul', options);
  const b = toExpr('matmul', other);
  if (x.shape.length === 0 || b.shape.length === 0) {
    throw new ShapeError(
      expected('matmul', 'arrays of one axis or more', `${formatShape(x.shape)} and ${formatShape(b.shape)}`),
    );
  }
  const inner = x.shape.at(-1)!;
  const outer = b.shape.at(b.shape.length === 1 ? 0 : -2)!;
  if (inner !== outer) {
    const message = `the last axis of a ${formatShape(x.shape)} to match the ${b.shape.length === 1 ? 'only' : 'second last'} axis of b ${formatShape(b.shape)}`;
    throw new ShapeError(expected('matmul', message, `${inner} against ${outer}`));
  }
  const rows = x.shape.length > 1;
  const columns = b.shape.length > 1;
  const stacks = Math.max(x.shape.length - 2, b.shape.length - 2, 0);
  // Labels: 0 … stacks - 1 for the stacks, then row, inner, column.
  const [row, middle, column] = [stacks, stacks + 1, stacks + 2];
  const stackOf = (operand: Expr): number[] => {
    const count = Math.max(operand.shape.length - 2, 0);
    return Array.from({ length: count }, (_, k) => stacks - count + k);
  };
  const left = rows ? [...stackOf(x), row, middle] : [middle];
  const right = columns ? [...stackOf(b), middle, column] : [middle];
  const output = [...Array(stacks).keys(), ...(rows ? [row] : []), ...(columns ? [column] : [])];
  return sumOfProducts('matmul', [left, right], output, [x, b], settings);
}

/**
 * NumPy's dot: the inner product of vectors, the matrix product of matrices, else the sum over the last axis
 * of the first and the second last of the second; a scalar multiplies. `{ precision, library }` as for `matmul`.
 *
 * @example
 * await lazy([1, 2, 3]).dot([4, 5, 6]).compute()
 * //=> 32.0
 */
export function dot(x: Expr, other: Operand, options?: ProductOptions): Expr {
  const settings = productOptions('dot', options);
  const b = toExpr('dot', other);
  if (x.shape.length === 0 || b.shape.length === 0) {
    const product = map('multiply', [x, other]);
    reducedPrecision('dot', settings.precision, product.dtype);
    libraryFor('dot', settings.library, product.dtype);
    return product;
  }
  return contracted('dot', x, b, [x.shape.length - 1], [Math.max(b.shape.length - 2, 0)], settings);
}

/**
 * Σ conj(a)·b along an axis (the last by default) of arrays that broadcast. `{ precision, library }` as for `matmul`.
 *
 * @example
 * await lazy([[1, 2], [3, 4]]).vecdot([[1, 1], [2, 2]]).compute()
 * //=> [ 3. 14.]
 */
export function vecdot(x: Expr, other: Operand, axis?: number, options?: ProductOptions): Expr {
  const settings = productOptions('vecdot', options);
  const along = axis === undefined ? -1 : axis;
  const b = toExpr('vecdot', other);
  const first = isComplex(x.dtype) ? map('conj', [x]) : x;
  const ndim = Math.min(x.shape.length, b.shape.length);
  const fromEnd = normalizeAxis('vecdot', along, ndim) - ndim;
  if (x.shape.at(fromEnd) !== b.shape.at(fromEnd)) {
    throw new ShapeError(
      expected(
        'vecdot',
        'one length along the axis',
        `${formatShape(x.shape)} and ${formatShape(b.shape)}, axis ${along}`,
      ),
    );
  }
  const most = Math.max(x.shape.length, b.shape.length);
  const labels = [x, b].map((each) => each.shape.map((_, k) => most - each.shape.length + k));
  const output = Array.from({ length: most }, (_, k) => k).filter((k) => k !== most + fromEnd);
  return sumOfProducts('vecdot', labels, output, [first, b], settings);
}

/**
 * Sum over pairs of axes: the last `axes` of the first with the first `axes` of the second (2 by default), or
 * those named as `[axes of the first, axes of the second]`. `{ precision, library }` as for `matmul`.
 *
 * @example
 * const x = arange(6).reshape([2, 3])
 * await x.tensordot(x, [[1], [1]]).compute()
 * //=> [[ 5. 14.]
 * //=>  [14. 50.]]
 */
export function tensordot(
  x: Expr,
  other: Operand,
  axes?: number | readonly [number | readonly number[], number | readonly number[]],
  options?: ProductOptions,
): Expr {
  const settings = productOptions('tensordot', options);
  const b = toExpr('tensordot', other);
  if (axes !== undefined && typeof axes !== 'number' && !(Array.isArray(axes) && axes.length === 2)) {
    throw new ArgumentError(expected('tensordot', 'a count or two lists of axes', formatValue(axes)));
  }
  if (typeof axes === 'object') {
    const [first, second] = axes;
    return contracted(
      'tensordot',
      x,
      b,
      normalizeAxes('tensordot', first, x.shape.length),
      normalizeAxes('tensordot', second, b.shape.length),
      settings,
    );
  }
  const count = checkInteger('tensordot', 'the number of axes', axes ?? 2);
  if (count < 0 || count > Math.min(x.shape.length, b.shape.length)) {
    throw new ShapeError(
      expected(
        'tensordot',
        'axes that both have',
        `${count} of ${formatShape(x.shape)} and ${formatShape(b.shape)}`,
      ),
    );
  }
  const range = Array.from({ length: count }, (_, k) => k);
  return contracted(
    'tensordot',
    x,
    b,
    range.map((k) => x.shape.length - count + k),
    range,
    settings,
  );
}

/**
 * Products of all pairs of elements: shape (a.size, b.size). Arrays are flattened.
 *
 * @example
 * await lazy([1, 2]).outer([10, 20, 30]).compute()
 * //=> [[10. 20. 30.]
 * //=>  [20. 40. 60.]]
 */
export function outer(x: Expr, other: Operand): Expr {
  const b = toExpr('outer', other);
  const size = (each: Expr): number => each.shape.reduce((m, n) => m * n, 1);
  for (const each of [x, b]) if (each.shape.length > 1) needSizes('outer', each);
  return map('multiply', [reshape(x, [size(x), 1]), reshape(b, [1, size(b)])], 'outer');
}

/** Sums `first` axes of `a` against `second` axes of `b`; other axes follow each other in the result. */
function contracted(
  op: string,
  a: Expr,
  b: Expr,
  first: readonly number[],
  second: readonly number[],
  settings: ProductOptions,
): Expr {
  if (first.length !== second.length || first.some((axis, k) => a.shape[axis] !== b.shape[second[k]!])) {
    const received = `axes [${first.join(', ')}] of ${formatShape(a.shape)} and [${second.join(', ')}] of ${formatShape(b.shape)}`;
    throw new ShapeError(expected(op, 'pairs of axes of one size', received));
  }
  const left = a.shape.map((_, k) => k);
  const right = b.shape.map((_, k) => (second.includes(k) ? first[second.indexOf(k)]! : a.shape.length + k));
  const output = [
    ...left.filter((k) => !first.includes(k)),
    ...right.filter((label) => label >= a.shape.length),
  ];
  return sumOfProducts(op, [left, right], output, [a, b], settings);
}

/**
 * The Kronecker product, as NumPy's `kron`: every element of the first times all of the second, in the first's
 * order; the array of less axes is filled with ones in front. The sizes of the result are products of theirs.
 *
 * @example
 * await lazy([1, 10]).kron([[1, 2], [3, 4]]).compute()
 * //=> [[ 1.  2. 10. 20.]
 * //=>  [ 3.  4. 30. 40.]]
 */
export function kron(x: Expr, other: Operand): Expr {
  const b = toExpr('kron', other);
  const ndim = Math.max(x.shape.length, b.shape.length);
  const sizesOf = ({ shape }: Expr): number[] => [...Array<number>(ndim - shape.length).fill(1), ...shape];
  const [m, n] = [sizesOf(x), sizesOf(b)];
  const left = reshape(
    x,
    m.flatMap((size) => [size, 1]),
  );
  const right = reshape(
    b,
    n.flatMap((size) => [1, size]),
  );
  const sizes = checkShape(
    'kron',
    m.map((size, k) => size * n[k]!),
  );
  return reshape(map('multiply', [left, right], 'kron'), sizes);
}
