/** The LU factors of a sparse matrix, and orders of its unknowns, as nodes; called by `api/sparse-direct.ts`. */
import { call } from './calls.js';
import type { Expr } from './expr.js';
import { SPARSE_ORDERS } from './sparse-routines.js';

export type SparseOrder = (typeof SPARSE_ORDERS)[number];

/** The lines of a square matrix, by columns or by rows. */
export interface MatrixLines {
  readonly starts: Expr;
  readonly places: Expr;
  readonly values: Expr;
}

/** The order of the unknowns [n], int64, and how many elements the Cholesky factor of the pattern of A + Aᵀ has then. */
export function eliminationOrder(
  op: string,
  { starts, places }: MatrixLines,
  order: SparseOrder,
): [Expr, Expr] {
  return call('sparseOrder', [SPARSE_ORDERS.indexOf(order)], [starts, places], op) as [Expr, Expr];
}

/** The results of `sparseLu`, by name. */
export interface LuLines {
  readonly rows: Expr;
  readonly columns: Expr;
  readonly lower: MatrixLines;
  readonly upper: MatrixLines;
  readonly status: Expr;
}

/** How pivots are chosen, and whether columns stay in their order. */
export interface Pivoting {
  readonly threshold: number;
  readonly keepsOrder: boolean;
}

/** The factors, by rows, of a matrix by columns, in an order of these, each of up to so many elements. */
export function luFactors(
  op: string,
  { starts, places, values }: MatrixLines,
  order: Expr,
  bound: number,
  { threshold, keepsOrder }: Pivoting,
): LuLines {
  const parameters = [bound, Math.round(threshold * 1e6), keepsOrder ? 1 : 0];
  const [rows, columns, startsL, placesL, valuesL, startsU, placesU, valuesU, status] = call(
    'sparseLu',
    parameters,
    [starts, places, values, order],
    op,
  ) as [Expr, Expr, Expr, Expr, Expr, Expr, Expr, Expr, Expr];
  return {
    rows,
    columns,
    lower: { starts: startsL, places: placesL, values: valuesL },
    upper: { starts: startsU, places: placesU, values: valuesU },
    status,
  };
}
