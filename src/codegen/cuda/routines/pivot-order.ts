/**
 * CUDA C of the order of rows after exchanges: a thread makes those of one matrix, one after the other. Launches are
 * made by `exec/calls/pivot-order.ts`.
 */
export const PIVOT_ORDER_NAME = 'weft_pivot_order';
export const PIVOT_ORDER_THREADS = 64;

export const printPivotOrder =
  (): string => `extern "C" __global__ void __launch_bounds__(${PIVOT_ORDER_THREADS})
${PIVOT_ORDER_NAME}(unsigned int first_x, const long long* pivots, long long* order, long long count, long long exchanges,
    long long n) {
  const long long matrix = ((long long)blockIdx.x + first_x) * ${PIVOT_ORDER_THREADS} + threadIdx.x;
  if (matrix >= count) return;
  pivots += matrix * exchanges;
  order += matrix * n;
  for (long long k = 0; k < n; k++) order[k] = k;
  for (long long k = 0; k < exchanges; k++) {
    const long long other = pivots[k] - 1, held = order[k];
    order[k] = order[other];
    order[other] = held;
  }
}
`;
