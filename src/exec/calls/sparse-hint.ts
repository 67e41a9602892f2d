/** The way to compute a product whose second matrix does not fit, for errors. */
export const WHOLE_SECOND =
  'a block of rows needs those of the second matrix between its least and largest column: add products with rows of it, as a.columns(0, 1000).matmul(b.rows(0, 1000))';
