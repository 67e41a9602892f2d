/**
 * CUDA C of compaction: each thread has an element of a line of running counts, and writes one element of the result.
 * Where the count grows, that is its place, at the position that the count before says; behind all of these, the last
 * place of the line. Launches are made by `exec/calls/compact.ts`.
 */
export const COMPACT_NAME = 'weft_compact';
export const COMPACT_THREADS = 256;

export const printCompact = (): string => `extern "C" __global__ void __launch_bounds__(${COMPACT_THREADS})
${COMPACT_NAME}(unsigned int first_x, const long long* counts, long long* places, long long n) {
  const long long at = ((long long)blockIdx.x + first_x) * ${COMPACT_THREADS} + threadIdx.x;
  if (at >= n) return;
  const long long before = at == 0 ? 0 : counts[at - 1];
  if (counts[at] != before) places[before] = at;
  if (at >= counts[n - 1]) places[at] = n - 1;
}
`;
