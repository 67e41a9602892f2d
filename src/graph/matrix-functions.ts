/** Norms, powers and products of matrices, made of other nodes. Called by `api/linalg.ts`. */
import { ArgumentError, DTypeError, expected, ShapeError } from '../host/errors.js';
import { slice } from './basic-slicing.js';
import { singularValues } from './decompositions.js';
import { sumOfProducts } from './einsum.js';
import type { Expr } from './expr.js';
import { formatShape, formatValue } from './format.js';
import { sizeOfShape } from './graph.js';
import { cast, map, meetingDType, reduce } from './infer.js';
import { concat } from './joins.js';
import { inverse, solved } from './linear-solves.js';
import { identities, isEmpty, leadOf, matrices, squares } from './matrices.js';
import { matmul } from './products.js';
import { keepAxes } from './reducing.js';
import { checkInteger, normalizeAxes } from './shape.js';
import { norm as vectorNorm } from './statistics.js';
import { reshape } from './view-nodes.js';
import { moveaxis } from './views.js';

/** Which norm of a matrix: of its rows or columns, of its singular values, or of all of its elements. */
export type MatrixNormOrder = 'fro' | 'nuc' | 1 | -1 | 2 | -2 | typeof Infinity;

const isMatrixOrder = (ord: unknown): ord is MatrixNormOrder =>
  ord === 'fro' || ord === 'nuc' || [1, -1, 2, -2, Infinity, -Infinity].includes(ord as number);

/** The norms of the matrices along two axes. */
export function matrixNormOf(
  op: string,
  x: Expr,
  axes: readonly number[],
  ord: unknown,
  keepdims: boolean,
): Expr {
  const places = normalizeAxes(op, axes, x.shape.length);
  if (places.length !== 2) throw new ShapeError(expected(op, 'two axes', `${places.length}`));
  if (!isMatrixOrder(ord))
    throw new ArgumentError(
      expected(op, "'fro', 'nuc', 1, -1, 2, -2, Infinity or -Infinity", formatValue(ord)),
    );
  const last = [x.shape.length - 2, x.shape.length - 1];
  const norms = lastNorms(op, matrices(op, moveaxis(x, places, last)), ord);
  return keepdims
    ? keepAxes(
        norms,
        x,
        [...places].sort((a, b) => a - b),
      )
    : norms;
}

function lastNorms(op: string, a: Expr, ord: MatrixNormOrder): Expr {
  if (ord === 'fro') return vectorNorm(a, { ord: 2, axis: [-2, -1] });
  const end = a.shape.length;
  if (ord === 'nuc') return reduce('sum', singularValues(op, a), [end - 2]);
  if (ord === 2 || ord === -2) {
    const values = singularValues(op, a);
    if (values.shape.at(-1) === 0)
      throw new ShapeError(expected(op, 'matrices with elements', formatShape(a.shape)));
    const place = ord === 2 ? 0 : values.shape.at(-1)! - 1;
    return reshape(slice(values, '...', [place, place + 1]), leadOf(a));
  }
  // Sums of columns for 1, of rows for Infinity.
  const sums = reduce('sum', map('abs', [a]), [Math.abs(ord) === 1 ? end - 2 : end - 1], op);
  return reduce(ord > 0 ? 'max' : 'min', sums, [end - 2], op);
}

/** The condition of matrices: the product of the norms of a matrix and of its inverse. */
export function conditionOf(op: string, x: Expr, p: unknown): Expr {
  const a = matrices(op, x);
  if (isEmpty(a)) throw new ShapeError(expected(op, 'matrices with elements', formatShape(a.shape)));
  if (p === undefined || p === 2 || p === -2) {
    const s = singularValues(op, a);
    const count = s.shape.at(-1)!;
    const [most, least] = [slice(s, '...', [0, 1]), slice(s, '...', [count - 1, count])];
    return reshape(map('divide', p === -2 ? [least, most] : [most, least]), leadOf(a));
  }
  const square = squares(op, a);
  const normOf = (each: Expr): Expr => matrixNormOf(op, each, [-2, -1], p, false);
  const condition = map('multiply', [normOf(square), normOf(inverse(op, square, false))]);
  // Of a singular matrix infinite, as NumPy has it.
  const hasNaN = reduce('any', map('isnan', [square]), [square.shape.length - 2, square.shape.length - 1]);
  const isSingular = map('logicalAnd', [map('isnan', [condition]), map('logicalNot', [hasNaN])]);
  return map('where', [isSingular, Infinity, condition]);
}

/** The n-th power of square matrices by repeated squaring. */
export function powerOf(op: string, x: Expr, exponent: unknown): Expr {
  const n = checkInteger(op, 'an exponent', exponent);
  if (x.shape.length < 2 || x.shape.at(-1) !== x.shape.at(-2))
    throw new ShapeError(expected(op, 'square matrices', formatShape(x.shape)));
  if (n === 0) return identities(x.dtype, leadOf(x), x.shape.at(-1)!);
  let base = n < 0 ? inverse(op, x) : x;
  let result: Expr | undefined;
  for (let rest = Math.abs(n); ; ) {
    if (rest % 2 === 1) result = result === undefined ? base : matmul(result, base);
    rest = Math.floor(rest / 2);
    if (rest === 0) return result!;
    base = matmul(base, base);
  }
}

/** The product of arrays in a row, the first and the last of which may be vectors: one contraction, whose path is sought. */
export function chainOf(op: string, arrays: readonly Expr[]): Expr {
  if (arrays.length < 2) throw new ArgumentError(expected(op, 'two arrays or more', `${arrays.length}`));
  const last = arrays.length - 1;
  for (const [k, { shape }] of arrays.entries()) {
    const isEnd = k === 0 || k === last;
    if (shape.length !== 2 && !(isEnd && shape.length === 1))
      throw new ShapeError(expected(op, isEnd ? 'a matrix or a vector' : 'a matrix', formatShape(shape)));
    const before = arrays[k - 1]?.shape.at(-1);
    if (before !== undefined && before !== shape[0])
      throw new ShapeError(
        expected(op, `as many rows as the array before has columns, ${before}`, formatShape(shape)),
      );
  }
  // Label k lies between array k - 1 and array k.
  const labels = arrays.map(({ shape }, k) => (shape.length === 2 ? [k, k + 1] : k === 0 ? [1] : [k]));
  const output = [
    ...(arrays[0]!.shape.length === 2 ? [0] : []),
    ...(arrays[last]!.shape.length === 2 ? [last + 1] : []),
  ];
  return sumOfProducts(op, labels, output, arrays);
}

/** Cross products of vectors of three elements, or of two, along an axis. */
export function crossOf(op: string, first: Expr, second: Expr, axis: unknown): Expr {
  const dtype = meetingDType(op, [first, second]);
  if (dtype === 'bool') throw new DTypeError(expected(op, 'numbers', dtype));
  const turned = [first, second].map((x) => {
    const [at] = normalizeAxes(op, checkInteger(op, 'an axis', axis ?? -1), x.shape.length) as [number];
    if (x.shape[at] !== 3)
      throw new ShapeError(expected(op, 'three elements along the axis', formatShape(x.shape)));
    return moveaxis(cast(x, dtype), at, x.shape.length - 1);
  }) as [Expr, Expr];
  const part = (x: Expr, k: number): Expr => slice(x, '...', [k, k + 1]);
  const [a, b] = turned;
  const parts = [0, 1, 2].map((k) => {
    const [i, j] = [(k + 1) % 3, (k + 2) % 3];
    const left = map('multiply', [part(a, i), part(b, j)], op);
    return map('subtract', [left, map('multiply', [part(a, j), part(b, i)], op)]);
  });
  const result = concat(parts, -1);
  return moveaxis(result, result.shape.length - 1, checkInteger(op, 'an axis', axis ?? -1));
}

/** x of Σ a x = b over the last axes of a, as many as lead from the axes of b to the shape of a. */
export function tensorSolved(op: string, a: Expr, b: Expr): Expr {
  const rest = a.shape.slice(b.shape.length);
  const size = sizeOfShape(b.shape);
  if (size !== sizeOfShape(rest) || size !== sizeOfShape(a.shape.slice(0, b.shape.length)))
    throw new ShapeError(
      expected(
        op,
        'as many elements along the last axes as the right side has',
        `${formatShape(a.shape)} and ${formatShape(b.shape)}`,
      ),
    );
  return reshape(solved(op, reshape(a, [size, size]), reshape(b, [size])), rest);
}

/** The inverse of an array as a map of its last axes to the first `ind` ones. */
export function tensorInverse(op: string, a: Expr, ind: unknown): Expr {
  const count = checkInteger(op, 'ind', ind ?? 2);
  const [first, last] = [a.shape.slice(0, count), a.shape.slice(count)];
  const size = sizeOfShape(first);
  if (count < 1 || size !== sizeOfShape(last))
    throw new ShapeError(
      expected(op, 'as many elements along the first axes as along the others', formatShape(a.shape)),
    );
  return reshape(inverse(op, reshape(a, [size, size])), [...last, ...first]);
}
