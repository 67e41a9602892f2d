/**
 * Convolution and correlation of lines. Every export is also a method of Lazy and a free function (`fluent.ts`).
 *
 * A line is convolved with a short one as a sum of its slices, which are loads of one kernel; with a longer one as
 * a sum over a table of products that no memory holds.
 */
import { expected, ShapeError } from '../host/errors.js';
import { oneOf } from './arguments.js';
import { slice } from './basic-slicing.js';
import { CONVOLVE_MODES, type ConvolveMode } from './convolve-modes.js';
import { isComplex, isHalf } from './dtype.js';
import type { Expr } from './expr.js';
import { formatShape } from './format.js';
import { cast, iota, map, meetingDType, type Operand, reduce, toExpr } from './infer.js';
import { indexAlong, padTo } from './joins.js';
import { broadcast, gather } from './view-nodes.js';
import { flip } from './views.js';

/**
 * The convolution Σⱼ a[k - j] b[j] of two arrays of one axis, as NumPy's `convolve`, in their common dtype; halves
 * are summed in float32. `mode` is `'full'` by default. `x.convolve([0.25, 0.5, 0.25], 'same')`. The sums are
 * direct: n · m products for lines of n and m elements. Throws a ShapeError for other arrays and for empty ones.
 *
 * @example
 * await lazy([1, 2, 3]).convolve([0, 1, 0.5]).compute()
 * //=> [0.  1.  2.5 4.  1.5]
 * await lazy([1, 2, 3]).convolve([0, 1, 0.5], 'same').compute()
 * //=> [1.  2.5 4. ]
 */
export function convolve(x: Expr, other: Operand, mode?: ConvolveMode): Expr {
  const [a, b] = lines('convolve', x, other);
  const [long, short] = a.shape[0]! < b.shape[0]! ? [b, a] : [a, b];
  return windowed('convolve', long, flip(short), mode ?? 'full');
}

/**
 * The cross-correlation Σⱼ a[k + j] conj(b[j]) of two arrays of one axis, as NumPy's `correlate`, in their common
 * dtype; halves are summed in float32. `mode` is `'valid'` by default. The sums are direct. Throws a ShapeError
 * for other arrays and for empty ones.
 *
 * @example
 * await lazy([1, 2, 3]).correlate([0, 1, 0.5]).compute()
 * //=> [3.5]
 */
export function correlate(x: Expr, other: Operand, mode?: ConvolveMode): Expr {
  const [a, b] = lines('correlate', x, other);
  const second = isComplex(b.dtype) ? map('conj', [b]) : b;
  if (a.shape[0]! < b.shape[0]!) return flip(windowed('correlate', second, a, mode ?? 'valid'));
  return windowed('correlate', a, second, mode ?? 'valid');
}

/** Both lines in their common dtype. */
function lines(op: string, x: Expr, other: Operand): readonly [Expr, Expr] {
  const pair = [x, toExpr(op, other)] as const;
  const dtype = meetingDType(op, pair);
  for (const { shape } of pair) {
    if (shape.length !== 1 || shape[0] === 0)
      throw new ShapeError(expected(op, 'arrays of one axis with elements', formatShape(shape)));
  }
  return [cast(pair[0], dtype), cast(pair[1], dtype)];
}

/** Most slices that one kernel sums. */
const MOST_SLICES = 32;

/** The sums of products of the short line with each stretch of the long one. */
function windowed(op: string, long: Expr, short: Expr, asked: ConvolveMode): Expr {
  const mode = oneOf(op, 'a mode', CONVOLVE_MODES, asked);
  const { dtype } = long;
  if (isHalf(dtype)) return cast(windowed(op, cast(long, 'float32'), cast(short, 'float32'), mode), dtype);
  if (dtype === 'bool') return cast(windowed(op, cast(long, 'int64'), cast(short, 'int64'), mode), dtype);
  const [n, m] = [long.shape[0]!, short.shape[0]!];
  // The stretch of place 0 begins so many elements before the line.
  const before = mode === 'full' ? m - 1 : mode === 'same' ? Math.floor(m / 2) : 0;
  const length = mode === 'full' ? n + m - 1 : mode === 'same' ? n : n - m + 1;
  const sum = m <= MOST_SLICES ? sumOfSlices : sumOfTable;
  return sum(long, short, before, length);
}

function sumOfSlices(long: Expr, short: Expr, before: number, length: number): Expr {
  const [n, m] = [long.shape[0]!, short.shape[0]!];
  const terms = Array.from({ length: m }, (_, j) => {
    // Element k is of long[k - before + j].
    const first = Math.max(0, j - before);
    const count = Math.min(n, length + j - before) - first;
    const product = map('multiply', [slice(long, [first, first + count]), slice(short, [j, j + 1])]);
    return padTo(product, [Math.max(0, before - j)], [length]);
  });
  return terms.reduce((sum, term) => map('add', [sum, term]));
}

function sumOfTable(long: Expr, short: Expr, before: number, length: number): Expr {
  const [n, m] = [long.shape[0]!, short.shape[0]!];
  const shape = [length, m];
  const place = map('add', [indexAlong(0, length, 2), map('subtract', [iota(m), before])]);
  const product = map('multiply', [gather(long, broadcast(place, shape), 0, 'clip', shape), short]);
  const isThere = map('logicalAnd', [map('greaterEqual', [place, 0]), map('less', [place, n])]);
  const isWhole = before === 0 && length === n - m + 1;
  return cast(reduce('sum', isWhole ? product : map('where', [isThere, product, 0]), [1]), long.dtype);
}
