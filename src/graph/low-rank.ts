/**
 * The largest singular values by products with random columns (Halko, Martinsson and Tropp, "Finding structure with
 * randomness", 2011, algorithms 4.4 and 5.1), so that a matrix larger than a device passes through it a few times by rows:
 *
 *     Y = A Ω ─→ Q ─→ twice for each power: Q of A (Q of Aᴴ Q) ─→ B = Qᴴ A, small ─→ its singular values
 *
 * Called by `api/linalg-low-rank.ts`.
 */
import { slice } from './basic-slicing.js';
import { type Svd, svdOf } from './decompositions.js';
import { isComplex } from './dtype.js';
import type { Expr } from './expr.js';
import { cast, constant, map, reduce } from './infer.js';
import { adjoint, matrices, realDType } from './matrices.js';
import { matmul } from './products.js';
import { qrOf } from './qr.js';
import { standardNormal } from './random.js';
import type { KeyBits } from './random-bits.js';
import { reshape } from './view-nodes.js';

/** Parameters of the random search: how many values, columns beside them, powers, and the key of the columns. */
export interface Search {
  readonly count: number;
  readonly oversampling: number;
  readonly powers: number;
  readonly key: KeyBits;
}

/** A matrix as products: with columns, and of its adjoint. */
interface Operator {
  readonly shape: readonly [rows: number, columns: number];
  readonly dtype: Expr['dtype'];
  readonly times: (x: Expr) => Expr;
  readonly adjointTimes: (x: Expr) => Expr;
}

const operatorOf = (a: Expr): Operator => ({
  shape: a.shape as unknown as readonly [number, number],
  dtype: a.dtype,
  times: (x) => matmul(a, x),
  adjointTimes: (x) => matmul(adjoint(a), x),
});

/** The matrix less a row of means, whose products are those of the matrix less products of the row. */
function centredOf(a: Expr, mean: Expr): Operator {
  const [rows, columns] = a.shape as readonly [number, number];
  const row = reshape(mean, [1, columns]);
  const plain = operatorOf(a);
  const sums = (x: Expr): Expr => reshape(reduce('sum', x, [0]), [1, x.shape[1]!]);
  return {
    ...plain,
    shape: [rows, columns],
    times: (x) => map('subtract', [plain.times(x), matmul(row, x)]),
    adjointTimes: (x) => map('subtract', [plain.adjointTimes(x), matmul(adjoint(row), sums(x))]),
  };
}

function searched(op: string, a: Operator, { count, oversampling, powers, key }: Search): Svd {
  const width = Math.min(count + oversampling, ...a.shape);
  const orthonormal = (x: Expr): Expr => qrOf(op, x, 'reduced').q!;
  const start = cast(standardNormal(key, [a.shape[1], width], realDType(a.dtype)), a.dtype);
  let q = orthonormal(a.times(start));
  for (let power = 0; power < powers; power++) q = orthonormal(a.times(orthonormal(a.adjointTimes(q))));
  // Of Bᴴ = Aᴴ Q = V S Uᴴ, which is tall as its factor in columns is.
  const { u: v, s, vh } = svdOf(op, a.adjointTimes(q), false);
  const first = (x: Expr): Expr => slice(x, '...', [0, count]);
  return { u: matmul(q, first(adjoint(vh))), s: first(s), vh: adjoint(first(v)) };
}

export const largestSingular = (op: string, x: Expr, search: Search): Svd =>
  searched(op, operatorOf(matrices(op, x)), search);

export interface Principal {
  readonly components: Expr;
  readonly scores: Expr;
  readonly explainedVariance: Expr;
  readonly explainedVarianceRatio: Expr;
  readonly singularValues: Expr;
  readonly mean: Expr;
}

/** Principal components of rows: right singular vectors of the rows less their mean. */
export function principal(op: string, x: Expr, search: Search): Principal {
  const a = matrices(op, x);
  const rows = a.shape[0]!;
  const mean = map('divide', [reduce('sum', a, [0]), rows]);
  const { u, s, vh } = searched(op, centredOf(a, mean), search);
  // Of each component the element of the largest modulus in `vh` is positive.
  const sign = signsOf(vh);
  const explainedVariance = map('divide', [map('square', [s]), rows - 1]);
  const centred = map('subtract', [a, mean]);
  const squares = map('square', [map('abs', [centred])]);
  const total = map('divide', [reduce('sum', squares, [0, 1]), rows - 1]);
  return {
    components: map('multiply', [vh, reshape(map('conj', [sign]), [search.count, 1])]),
    scores: map('multiply', [u, map('multiply', [sign, cast(s, u.dtype)])]),
    explainedVariance,
    explainedVarianceRatio: map('divide', [explainedVariance, total]),
    singularValues: s,
    mean,
  };
}

/** For each row the sign of its largest element: a number of modulus 1. */
function signsOf(rows: Expr): Expr {
  const moduli = map('abs', [rows]);
  const most = reduce('max', moduli, [1]);
  const isMost = map('equal', [moduli, reshape(most, [rows.shape[0]!, 1])]);
  const largest = reduce('sum', map('where', [isMost, rows, constant(0, rows.dtype)]), [1]);
  const sign = map('sign', [largest]);
  return isComplex(rows.dtype) ? sign : map('where', [map('less', [sign, 0]), -1, constant(1, rows.dtype)]);
}
