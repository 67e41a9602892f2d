/**
 * Sparse matrices made of several: stacked, side by side, and their Kronecker product. Called by `api/sparse.ts`.
 */

import type { Expr } from './expr.js';
import { upToBound } from './extent.js';
import { cast, iota, map } from './infer.js';
import { concat } from './joins.js';
import {
  at,
  boundOf,
  columnsOf,
  constantLine,
  fromKeys,
  indexDType,
  isExact,
  rowBoundOf,
  rowsOf,
  type SparseParts,
} from './sparse.js';
import { broadcast, reshape } from './view-nodes.js';

/** The matrices one above another, of as many columns. */
export function stacked(op: string, matrices: readonly SparseParts[], columns: number): SparseParts {
  const rows = matrices.reduce((sum, { shape }) => sum + shape[0], 0);
  if (matrices.every(isExact)) return above(matrices, [rows, columns]);
  const before = matrices.map((_, k) => matrices.slice(0, k).reduce((sum, { shape }) => sum + shape[0], 0));
  return joined(op, matrices, [rows, columns], (k) => [before[k]!, 0]);
}

/** The same where all lines are stored: they follow one another. */
function above(matrices: readonly SparseParts[], shape: SparseParts['shape']): SparseParts {
  const counts = matrices.map(boundOf);
  const index = indexDType(
    Math.max(
      shape[1],
      counts.reduce((sum, count) => sum + count, 0),
    ),
  );
  let before = 0n;
  const starts = matrices.map(({ starts: own }, k) => {
    const begins = map('add', [cast(at(own, iota(own.shape[0]! - 1)), 'int64'), before]);
    before += BigInt(counts[k]!);
    return begins;
  });
  return {
    shape,
    starts: cast(concat([...starts, constantLine(before)]), index),
    places: concat(matrices.map(({ places }) => cast(places, index))),
    values: concat(matrices.map(({ values }) => values)),
    isCanonical: matrices.every(({ isCanonical }) => isCanonical),
    isGiven: matrices.some(({ isGiven }) => isGiven),
    rowBound: Math.max(...matrices.map(rowBoundOf)),
  };
}

/** Matrices in one, each at rows and columns from some on, at places that no two of them have. */
export function joined(
  op: string,
  matrices: readonly SparseParts[],
  shape: SparseParts['shape'],
  from: (k: number) => readonly [row: number, column: number],
): SparseParts {
  const [rows, columns] = shape;
  const keys = matrices.map((each, k) => {
    const [row, column] = from(k);
    const own = rowsOf(each, op);
    const place = map('add', [columnsOf(each, op), BigInt(column)]);
    const key = map('add', [map('multiply', [map('add', [own, BigInt(row)]), BigInt(columns)]), place]);
    return map('where', [map('less', [own, BigInt(each.shape[0])]), key, BigInt(rows * columns)]);
  });
  const equal = matrices.every(({ isCanonical }) => isCanonical) ? 'none' : 'kept';
  const values = concat(matrices.map((each) => upToBound(each.values)));
  const parts = fromKeys(shape, concat(keys), values, { equal, areStored: matrices.every(isExact) });
  return { ...parts, rowBound: matrices.reduce((sum, each) => sum + rowBoundOf(each), 0) };
}

/** The Kronecker product. */
export function kronecker(
  op: string,
  a: SparseParts,
  b: SparseParts,
  shape: SparseParts['shape'],
): SparseParts {
  const [n, m] = [boundOf(a), boundOf(b)];
  const [pair, size] = [[n, m], [n * m]];
  const ofA = (line: Expr): Expr => reshape(broadcast(reshape(line, [n, 1]), pair), size);
  const ofB = (line: Expr): Expr => reshape(broadcast(reshape(line, [1, m]), pair), size);
  const [rowA, rowB] = [ofA(rowsOf(a, op)), ofB(rowsOf(b, op))];
  const row = map('add', [map('multiply', [rowA, BigInt(b.shape[0])]), rowB]);
  const columnA = map('multiply', [ofA(columnsOf(a, op)), BigInt(b.shape[1])]);
  const column = map('add', [columnA, ofB(columnsOf(b, op))]);
  const isStored = map('logicalAnd', [
    map('less', [rowA, BigInt(a.shape[0])]),
    map('less', [rowB, BigInt(b.shape[0])]),
  ]);
  const key = map('add', [map('multiply', [row, BigInt(shape[1])]), column]);
  const keys = map('where', [isStored, key, BigInt(shape[0] * shape[1])]);
  const values = map('multiply', [ofA(upToBound(a.values)), ofB(upToBound(b.values))]);
  const equal = a.isCanonical && b.isCanonical ? 'none' : 'kept';
  const parts = fromKeys(shape, keys, values, { equal, areStored: isExact(a) && isExact(b) });
  return { ...parts, rowBound: rowBoundOf(a) * rowBoundOf(b) };
}
