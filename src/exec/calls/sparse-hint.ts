/** The way to compute a product whose second matrix does not fit, for errors. */
export const WHOLE_SECOND =
  'the second matrix of a product is held as a whole: add products with rows of it, as a.columns(0, 1000).matmul(b.rows(0, 1000))';
