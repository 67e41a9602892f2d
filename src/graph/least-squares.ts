/**
 * Least squares as nodes: a routine of the CPU (LAPACK's `gelsd`, or Weft's own), of which the passes make singular vectors
 * and products for a GPU:
 *
 *     x, s, rank of a, b   →   leastSquares aᵀ bᵀ, in C order   or   V S⁺ (Uᴴ b) of the svd of a
 *
 * A matrix of so many rows that it is factored by blocks is decomposed everywhere. Called by `api/linalg.ts`;
 * `leastSquaresByVectors` by `fusion/passes/both-ways.ts`.
 */
import { expected, ShapeError } from '../host/errors.js';
import { call } from './calls.js';
import { counting, decomposition, epsilonOf, usualTolerance } from './decompositions.js';
import type { Expr } from './expr.js';
import { formatShape } from './format.js';
import { sizeOfShape } from './graph.js';
import { cast, constant, map, reduce } from './infer.js';
import { adjoint, isEmpty, leadOf, matrices, met, stacked, transposed, zerosOf } from './matrices.js';
import { matmul } from './products.js';
import { isByBlocks } from './qr.js';
import { broadcastShapes, sameShape } from './shape.js';
import { reshape } from './view-nodes.js';

interface Solution {
  readonly x: Expr;
  readonly rank: Expr;
  readonly s: Expr;
}

export interface LeastSquares extends Solution {
  readonly residuals: Expr;
}

/** The solution of least norm among those of least squares, as LAPACK's `gelsd`. */
export function leastSquares(op: string, left: Expr, right: Expr, rcond: number | undefined): LeastSquares {
  const isVector = right.shape.length === 1;
  const [first, given] = met(op, left, right);
  const a = matrices(op, first);
  const b = isVector ? reshape(given, [given.shape[0]!, 1]) : matrices(op, given);
  const [m, n] = [a.shape.at(-2)!, a.shape.at(-1)!];
  if (b.shape.at(-2) !== m)
    throw new ShapeError(
      expected(
        op,
        `as many rows on the right as on the left, ${m}`,
        `${formatShape(left.shape)} and ${formatShape(right.shape)}`,
      ),
    );
  // A negative one is the precision, as NumPy has it.
  const part = rcond === undefined ? usualTolerance(a) : rcond < 0 ? epsilonOf(a) : rcond;
  const { x, rank, s } = solution(op, a, b, part);
  const errors = map('subtract', [b, matmul(a, x)]);
  const squared = map('square', [map('abs', [errors])]);
  const residuals = reduce('sum', squared, [squared.shape.length - 2]);
  const flat = (each: Expr): Expr => (isVector ? reshape(each, each.shape.slice(0, -1)) : each);
  return {
    x: flat(x),
    residuals: m > n ? flat(residuals) : flat(zerosOf(residuals.dtype, residuals.shape)),
    rank,
    s,
  };
}

function solution(op: string, a: Expr, b: Expr, part: number): Solution {
  const count = sizeOfShape(leadOf(a));
  const isOneCall = count === 1 || sameShape(leadOf(a), leadOf(b));
  if (!isOneCall || isEmpty(a) || isEmpty(b) || isByBlocks(a)) return bySingularVectors(op, a, b, part, op);
  const [m, n, columns] = [a.shape.at(-2)!, a.shape.at(-1)!, b.shape.at(-1)!];
  const lead = broadcastShapes(op, [leadOf(a), leadOf(b)]);
  // Right sides of one matrix all together.
  const sides = reshape(transposed(b), [count, sizeOfShape(b.shape) / count / m, m]);
  const given = [stacked(transposed(a)), sides];
  const [s, , rank, x] = call('leastSquares', [part], given, op) as [Expr, Expr, Expr, Expr];
  return {
    x: transposed(reshape(x, [...lead, columns, n])),
    rank: reshape(rank, leadOf(a)),
    s: reshape(s, [...leadOf(a), Math.min(m, n)]),
  };
}

/** The results of `leastSquares` as a GPU has them. */
export function leastSquaresByVectors(
  [turned, sides]: readonly Expr[],
  [part]: readonly number[],
): readonly Expr[] {
  const [count, n, m] = turned!.shape as readonly [number, number, number];
  // One matrix by itself, whose products are no batches.
  const alone = (x: Expr): Expr => (count === 1 ? reshape(x, x.shape.slice(1)) : x);
  const stack = (x: Expr, shape: readonly number[]): Expr => reshape(x, [count, ...shape]);
  const [a, b] = [alone(transposed(turned!)), alone(transposed(sides!))];
  const { x, rank, s, statuses } = bySingularVectors('leastSquares', a, b, part!, undefined);
  return [stack(s, [Math.min(m, n)]), statuses, stack(rank, []), stack(transposed(x), [sides!.shape[1]!, n])];
}

/** `asked` as of `decomposition`. */
function bySingularVectors(
  op: string,
  a: Expr,
  b: Expr,
  part: number,
  asked: string | undefined,
): Solution & { readonly statuses: Expr } {
  const { u, s, vh, statuses } = decomposition(op, a, false, asked);
  const isKept = isEmpty(a) ? constant(false, 'bool') : counting(s, part);
  const inverses = map('where', [isKept, map('divide', [1, s]), 0]);
  const inner = matmul(adjoint(u), b);
  const column = cast(reshape(inverses, [...inverses.shape, 1]), inner.dtype);
  const rank = isEmpty(a)
    ? zerosOf('int64', leadOf(a))
    : reduce('sum', cast(isKept, 'int64'), [s.shape.length - 1]);
  return { x: matmul(adjoint(vh), map('multiply', [inner, column])), rank, s, statuses };
}
