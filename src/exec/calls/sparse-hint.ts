/** The way to compute what no plan cuts, for errors: where the rows of a result lie depends on all before them. */
export const ROWS_BY_ROWS =
  'compute rows of the matrices, as a.rows(0, 1000).matmul(b), and put them together with sparse.vstack';
