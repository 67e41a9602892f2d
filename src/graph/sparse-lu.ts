/** The LU factors of a sparse matrix, and orders of its unknowns, as nodes; called by `api/sparse-direct.ts`. */
import { call } from './calls.js';
import type { Expr } from './expr.js';
import { SPARSE_ORDERS } from './routines.js';

export type SparseOrder = (typeof SPARSE_ORDERS)[number];

/** A square matrix by columns. */
export interface ColumnLines {
  readonly starts: Expr;
  readonly places: Expr;
  readonly values: Expr;
}

/** The order of the unknowns [n], int64, and how many elements the Cholesky factor of the pattern of A + Aᵀ has then. */
export function eliminationOrder(
  op: string,
  { starts, places }: ColumnLines,
  order: SparseOrder,
): [Expr, Expr] {
  return call('sparseOrder', [SPARSE_ORDERS.indexOf(order)], [starts, places], op) as [Expr, Expr];
}

/** The results of `sparseLu`, by name. */
export interface LuLines {
  readonly rows: Expr;
  readonly lower: ColumnLines;
  readonly upper: ColumnLines;
  readonly status: Expr;
}

/** The factors of a matrix in the order of its columns, each of up to so many elements. */
export function luFactors(
  op: string,
  { starts, places, values }: ColumnLines,
  order: Expr,
  bound: number,
  threshold: number,
): LuLines {
  const parameters = [bound, Math.round(threshold * 1e6)];
  const [rows, startsL, placesL, valuesL, startsU, placesU, valuesU, status] = call(
    'sparseLu',
    parameters,
    [starts, places, values, order],
    op,
  ) as [Expr, Expr, Expr, Expr, Expr, Expr, Expr, Expr];
  return {
    rows,
    lower: { starts: startsL, places: placesL, values: valuesL },
    upper: { starts: startsU, places: placesU, values: valuesU },
    status,
  };
}
