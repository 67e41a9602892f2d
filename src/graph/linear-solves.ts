/**
 * Systems of linear equations as nodes: factors (`lu`, `cholesky`), what they solve, and inverses. The
 * calls have matrices in column-major order, which a transpose in the graph makes: a copy that is fused with what
 * makes the matrix, or none, where one triangle is read as the other of the transpose, or the factors of a matrix in C
 * order are asked for.
 *
 *     solve(a, b)   →   luFactors of a, luSolve of bᵀ;   inv(a)   →   luFactors of a, inverse
 *
 * Called by `api/linalg.ts`.
 */
import { expected, ShapeError } from '../host/errors.js';
import { slice } from './basic-slicing.js';
import { call } from './calls.js';
import { diagonal } from './diagonals.js';
import { isComplex } from './dtype.js';
import type { Expr } from './expr.js';
import { formatShape } from './format.js';
import { sizeOfShape } from './graph.js';
import { takeAlongAxis } from './indexing.js';
import { cast, iota, map, reduce } from './infer.js';
import { indexAlong, padTo } from './joins.js';
import { SMALL_ROWS } from './linear-routines.js';
import { tril, triu } from './masks.js';
import {
  besideStacks,
  identities,
  isEmpty,
  leadOf,
  matrices,
  met,
  realDType,
  squares,
  stacked,
  transposed,
  unstacked,
  zerosOf,
} from './matrices.js';
import { broadcastShapes, sameShape } from './shape.js';
import { firstZero } from './statuses.js';
import { broadcast, reshape } from './view-nodes.js';

/** Factors in one array and pivots counted from 0, as SciPy's `lu_factor`. */
export interface Factored {
  readonly lu: Expr;
  readonly pivots: Expr;
}

/** Which matrix is solved with: itself, its transpose, the conjugate of that. */
export const TRANSPOSES = ['N', 'T', 'C'] as const;
export type Transpose = (typeof TRANSPOSES)[number];

// ---------------------------------------------------------------- LU

/** The factors and pivots of a stack that has elements. */
export function factors(a: Expr): readonly [lu: Expr, pivots: Expr] {
  const [lu, pivots] = call('luFactors', [], [stacked(a)]);
  return [lu!, pivots!];
}

/** The same, and statuses, of matrices [count, rows, columns] as a GPU has them: `luFactors` there. */
export function factorsByLibrary(a: Expr): readonly Expr[] {
  const [lu, pivots] = call('lu', [], [transposed(a)]);
  // cuSOLVER takes NaN for 0.
  const hasNaN = reduce('any', map('isnan', [a]), [1, 2]);
  const nan = map('where', [hasNaN, Number.NaN, 0]);
  const factored = map('add', [lu!, cast(reshape(nan, [...nan.shape, 1, 1]), a.dtype)]);
  return [factored, pivots!, cast(firstZero(diagonal(factored)), 'int32')];
}

export function luFactor(op: string, x: Expr): Factored {
  const a = matrices(op, x);
  const least = Math.min(a.shape.at(-1)!, a.shape.at(-2)!);
  if (isEmpty(a)) return { lu: a, pivots: zerosOf('int64', [...leadOf(a), least]) };
  const [lu, pivots] = factors(a);
  return {
    lu: transposed(unstacked(leadOf(a), lu)),
    pivots: unstacked(leadOf(a), map('subtract', [pivots, 1])),
  };
}

/** P, L and U of A = P L U, P as a matrix or as the places of its ones by rows. */
export function luParts(op: string, x: Expr, asIndices: boolean): readonly [p: Expr, l: Expr, u: Expr] {
  const a = matrices(op, x);
  const [lead, m] = [leadOf(a), a.shape.at(-2)!];
  if (isEmpty(a)) return partsOf(a, ordered(lead, m), asIndices);
  const parts = call('luParts', [asIndices ? 1 : 0], factors(a));
  return parts.map((part) => unstacked(lead, part)) as [Expr, Expr, Expr];
}

/** The same of factors in C order and the order of A's rows in L U. */
function partsOf(lu: Expr, order: Expr, asIndices: boolean): readonly [p: Expr, l: Expr, u: Expr] {
  const [lead, m, n] = [leadOf(lu), lu.shape.at(-2)!, lu.shape.at(-1)!];
  const least = Math.min(m, n);
  const lower = tril(cut(lu, m, least), -1);
  const l = map('add', [lower, padded(identities(lu.dtype, [], least), m)]);
  // Row i of L U is row `order[i]` of A; A[r] is row i with order[i] = r.
  const isOn = map('equal', [reshape(order, [...lead, 1, m]), indexAlong(0, m, 2)]);
  const places = (): Expr => (m === 0 ? order : reduce('argmax', isOn, [lead.length + 1]));
  const p = asIndices ? places() : cast(isOn, realDType(lu.dtype));
  return [p, l, triu(cut(lu, least, n))];
}

/** The results of `luParts` as a GPU has them. */
export function luPartsByKernels(
  [lu, pivots]: readonly Expr[],
  [asIndices]: readonly number[],
): readonly Expr[] {
  const [order] = call('pivotOrder', [lu!.shape[2]!, 0], [pivots!]);
  return partsOf(transposed(lu!), order!, asIndices === 1);
}

const ordered = (lead: readonly number[], n: number): Expr => broadcast(iota(n), [...lead, n]);

/** The first rows and columns. */
const cut = (x: Expr, rows: number, columns: number): Expr => slice(x, '...', [0, rows], [0, columns]);

/** Zeros below, up to so many rows. */
const padded = (x: Expr, rows: number): Expr => padTo(x, [0, 0], [rows, x.shape[1]!]);

// ---------------------------------------------------------------- solutions

/** A and B that fit each other, in one dtype; B as columns, also where it is one vector. */
interface System {
  readonly a: Expr;
  readonly b: Expr;
  /** Of the result. */
  readonly shape: readonly number[];
}

export function systemOf(op: string, x: Expr, right: Expr): System {
  const isVector = right.shape.length === 1;
  const [left, given] = met(op, x, right);
  const columns = isVector ? reshape(given, [given.shape[0]!, 1]) : matrices(op, given);
  const square = squares(op, left);
  const n = square.shape.at(-1)!;
  if (columns.shape.at(-2) !== n) {
    const received = `${formatShape(x.shape)} and ${formatShape(right.shape)}`;
    throw new ShapeError(expected(op, `as many rows on the right as on the left, ${n}`, received));
  }
  const [a, b] = sizeOfShape(leadOf(square)) === 1 ? [square, columns] : besideStacks(op, square, columns);
  const lead = a === square ? broadcastShapes(op, [leadOf(square), leadOf(columns)]) : leadOf(b);
  return { a, b, shape: isVector ? [...lead, n] : [...lead, n, columns.shape.at(-1)!] };
}

/**
 * The right sides in column-major order, [count, sides, n]: those of one matrix all together. And what makes a result
 * of the solutions.
 */
function sidesOf({ a, b, shape }: System): readonly [sides: Expr, result: (x: Expr) => Expr] {
  const n = a.shape.at(-1)!;
  const count = sizeOfShape(leadOf(a));
  const sidesShape = [count, sizeOfShape(b.shape) / count / n, n];
  // One column lies in either order alike.
  if (b.shape.at(-1) === 1) return [reshape(b, sidesShape), (x) => reshape(x, shape)];
  const turned = transposed(b);
  const sides = reshape(turned, sidesShape);
  return [sides, (x) => reshape(transposed(reshape(x, turned.shape)), shape)];
}

/** Whether a matrix is factored anew for each system, in C order. */
const isSmall = (a: Expr): boolean => a.shape.at(-1)! <= SMALL_ROWS;

/** `isChecked`: whether a singular matrix is an error, and not infinities and NaN. */
export function solved(op: string, x: Expr, right: Expr, isChecked = true): Expr {
  const system = systemOf(op, x, right);
  const { a, b, shape } = system;
  if (isEmpty(b)) return zerosOf(b.dtype, shape);
  const asked = isChecked ? op : undefined;
  if (isSmall(a) && sameShape(leadOf(a), leadOf(b)))
    return reshape(call('solve', [], [stacked(a), stacked(b)], asked)[0]!, shape);
  const [sides, result] = sidesOf(system);
  return result(call('luSolve', [0], [sides, ...factors(a)], asked)[0]!);
}

/**
 * The result of `luSolve` as a GPU has it: solutions by both triangles, and rows as the pivots exchange them, before or,
 * of A's transpose, behind. One side of 4,096 rows takes cuSOLVER's own call 1.23 ms, and both triangles 0.43 (float32, H200).
 */
export function solvedByTriangles([sides, lu, pivots]: readonly Expr[], form: number): readonly Expr[] {
  const [count, , n] = sides!.shape as readonly [number, number, number];
  const exchanged = (x: Expr): Expr => {
    const [order] = call('pivotOrder', [n, form === 0 ? 0 : 1], [pivots!]);
    return takeAlongAxis(x, reshape(order!, [count, 1, n]), 2, { mode: 'clip' });
  };
  const solve = (x: Expr, isUpper: boolean): Expr =>
    call('triangularSolve', [isUpper ? 1 : 0, form, isUpper ? 0 : 1], [x, lu!])[0]!;
  return [
    form === 0 ? solve(solve(exchanged(sides!), false), true) : exchanged(solve(solve(sides!, true), false)),
  ];
}

export function luSolved(op: string, { lu, pivots }: Factored, right: Expr, trans: Transpose): Expr {
  const system = systemOf(op, lu, right);
  const { a, b, shape } = system;
  if (isEmpty(b)) return zerosOf(b.dtype, shape);
  const n = a.shape.at(-1)!;
  const counted = map('add', [cast(pivots, 'int64'), 1]);
  const exchanged = reshape(broadcast(counted, [...leadOf(a), n]), [sizeOfShape(leadOf(a)), n]);
  const [sides, result] = sidesOf(system);
  const given = [sides, stacked(transposed(a)), exchanged];
  return result(call('luSolve', [TRANSPOSES.indexOf(trans)], given, op)[0]!);
}

export interface Triangle {
  readonly lower: boolean;
  readonly trans: Transpose;
  readonly unitDiagonal: boolean;
}

/**
 * The matrices in C order are their transposes in column-major order, whose other triangle it is; conjugates are
 * taken before.
 */
export function solvedTriangular(op: string, x: Expr, right: Expr, given: Triangle): Expr {
  const system = systemOf(op, x, right);
  const { a, b, shape } = system;
  if (isEmpty(b)) return zerosOf(b.dtype, shape);
  const { lower, trans, unitDiagonal } = given;
  const own = trans === 'C' && isComplex(a.dtype) ? map('conj', [a]) : a;
  const parameters = [lower ? 1 : 0, trans === 'N' ? 1 : 0, unitDiagonal ? 1 : 0];
  const [sides, result] = sidesOf(system);
  const asked = unitDiagonal ? undefined : op;
  return result(call('triangularSolve', parameters, [sides, stacked(own)], asked)[0]!);
}

/** `isChecked` as of `solved`. */
export function inverse(op: string, x: Expr, isChecked = true): Expr {
  const a = squares(op, x);
  if (isEmpty(a)) return a;
  const n = a.shape.at(-1)!;
  if (isSmall(a)) return solved(op, a, identities(a.dtype, leadOf(a), n), isChecked);
  const [inverted] = call('inverse', [], factors(a), isChecked ? op : undefined);
  return unstacked(leadOf(a), inverted!);
}

/**
 * The result of `inverse` as a GPU has it: solutions by both triangles with the rows of the identity as the pivots exchange
 * them. One call for both takes 1.3 times as long for 4,096 rows of float64 (9.3 and 7.2 ms).
 */
export function inverseByTriangles([lu, pivots]: readonly Expr[]): readonly Expr[] {
  const [count, n] = lu!.shape as readonly [number, number, number];
  const [order] = call('pivotOrder', [n, 0], [pivots!]);
  const isOn = map('equal', [reshape(order!, [count, 1, n]), indexAlong(0, n, 2)]);
  const [half] = call('triangularSolve', [0, 0, 1], [cast(isOn, lu!.dtype), lu!]);
  const [inverted] = call('triangularSolve', [1, 0, 0], [half!, lu!]);
  return [transposed(inverted!)];
}

export function choleskyFactor(op: string, x: Expr, upper: boolean): Expr {
  const a = squares(op, x);
  if (isEmpty(a)) return a;
  const [factor] = call('cholesky', [upper ? 1 : 0, 1], [stacked(a)], op);
  return unstacked(leadOf(a), factor!);
}

/** The results of such a call as a GPU has them: a kernel clears the other triangle. */
export function choleskyByLibrary(a: Expr, isUpper: boolean): readonly Expr[] {
  // The library factors the lower triangle in column-major order in a third of the time of the other one.
  const turns = !isUpper && !isSmall(a);
  const given = turns ? transposed(a) : a;
  const [found, statuses] = call('cholesky', [isUpper || turns ? 1 : 0], [given]) as [Expr, Expr];
  const factor = turns ? transposed(found) : found;
  return [isUpper ? triu(factor) : tril(factor), statuses];
}
