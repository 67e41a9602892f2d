/**
 * CUDA C of the order of rows after exchanges: a thread follows one row through all of them, from its place back to where it
 * was, or the other way for the inverse order. No thread waits for another: 4,096 exchanges one after the other would be as
 * many round trips to memory. A block has the rows of several small matrices. Launches are made by
 * `exec/calls/pivot-order.ts`.
 */
export const PIVOT_ORDER_NAME = 'weft_pivot_order';
export const PIVOT_ORDER_THREADS = 64;

export const printPivotOrder =
  (): string => `extern "C" __global__ void __launch_bounds__(${PIVOT_ORDER_THREADS})
${PIVOT_ORDER_NAME}(unsigned int first_x, const long long* __restrict__ pivots, long long* __restrict__ order,
    long long count, long long together, long long exchanges, long long n, long long inverse) {
  const long long block = (long long)blockIdx.x + first_x, blocks = (n + ${PIVOT_ORDER_THREADS - 1}) / ${PIVOT_ORDER_THREADS},
                  at = block % blocks * ${PIVOT_ORDER_THREADS} + threadIdx.x, own = at / n, place = at % n,
                  matrix = block / blocks * together + own;
  if (own >= together || matrix >= count) return;
  pivots += matrix * exchanges;
  const int most = (int)exchanges, step = inverse ? 1 : -1;
  int row = (int)place, k = inverse ? 0 : most - 1;
#pragma unroll 8
  for (int done = 0; done < most; done++, k += step) {
    const int other = (int)pivots[k] - 1;
    row = row == k ? other : row == other ? k : row;
  }
  order[matrix * n + place] = row;
}
`;
