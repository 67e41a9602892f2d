/**
 * Elementwise functions of two sparse matrices of one shape: of the elements that either has stored, or that both have.
 * Keys of both are sorted together, by a stable sort; runs of two equal ones are elements that meet.
 */
import { placesWhere } from './compaction.js';
import type { Expr } from './expr.js';
import { upToBound } from './extent.js';
import { cast, constant, iota, map, meetingDType } from './infer.js';
import { concat } from './joins.js';
import type { OpName } from './ops.js';
import { argsort } from './sorting.js';
import {
  at,
  boundOf,
  canonical,
  emptyMatrix,
  inRows,
  isExact,
  keysOf,
  rowBoundOf,
  runSums,
  runsOf,
  type SparseParts,
} from './sparse.js';
import { isStored, kept } from './sparse-slices.js';
import { broadcast } from './view-nodes.js';

/** An op of the elements that either matrix has stored, whose value for two zeros is 0. */
export function ofEither(op: string, by: OpName, a: SparseParts, b: SparseParts): SparseParts {
  const [x, y] = [canonical(a, op), canonical(b, op)];
  const dtype = meetingDType(op, [x.values, y.values]);
  const zeros = (count: number): Expr => broadcast(constant(0, dtype), [count]);
  const [own, others] = [x, y].map(({ values }) => cast(upToBound(values), dtype)) as [Expr, Expr];
  const none = map(by, [zeros(0), zeros(0)]);
  if (boundOf(x) + boundOf(y) === 0) return emptyMatrix(a.shape, none.dtype);
  const keys = concat([keysOf(x, op), keysOf(y, op)]);
  const order = argsort(keys, 0);
  const sorted = at(keys, order);
  const { places, starts, runs } = runsOf(sorted);
  const sides = [concat([own, zeros(boundOf(y))]), concat([zeros(boundOf(x)), others])];
  const values = map(
    by,
    sides.map((side) => runSums(starts, at(side, order))),
  );
  const parts = inRows(a.shape, at(sorted, places), values, true, runs);
  return { ...parts, rowBound: rowBoundOf(x) + rowBoundOf(y) };
}

/** An op of the elements that both matrices have stored. */
export function ofBoth(op: string, by: OpName, a: SparseParts, b: SparseParts): SparseParts {
  const [x, y] = [canonical(a, op), canonical(b, op)];
  const dtype = meetingDType(op, [x.values, y.values]);
  if (boundOf(x) * boundOf(y) === 0) return emptyMatrix(a.shape, dtype);
  const keys = concat([keysOf(x, op), keysOf(y, op)]);
  const values = concat([x, y].map((each) => cast(upToBound(each.values), dtype)));
  const order = argsort(keys, 0);
  const sorted = at(keys, order);
  const size = keys.shape[0]!;
  const next = map('add', [iota(size), 1n]);
  const isPair = map('logicalAnd', [
    map('logicalAnd', [map('equal', [sorted, at(sorted, next)]), map('less', [next, BigInt(size)])]),
    map('less', [sorted, BigInt(a.shape[0] * a.shape[1])]),
  ]);
  const chosen = placesWhere(op, isPair);
  const places = upToBound(chosen);
  const ofPlace = (index: Expr): Expr => at(values, at(order, index));
  const met = map(by, [ofPlace(places), ofPlace(map('add', [places, 1n]))]);
  const parts = inRows(a.shape, at(sorted, places), met, true, chosen.extent!.length);
  return { ...parts, rowBound: Math.min(rowBoundOf(x), rowBoundOf(y)) };
}

/** The matrix without stored zeros. */
export function withoutZeros(op: string, matrix: SparseParts): SparseParts {
  if (boundOf(matrix) === 0) return matrix;
  const isOne = map('notEqual', [upToBound(matrix.values), 0]);
  const mask = isExact(matrix) && !matrix.isGiven ? isOne : map('logicalAnd', [isStored(matrix, op), isOne]);
  return kept(op, matrix, mask);
}
