/**
 * CUDA C of LU factors of small square matrices, and of what they solve: a warp has a matrix, a lane a row, which stays in
 * its registers. Matrices are in column-major order. Launches are made by `exec/calls/small-matrices.ts`.
 */
import type { DType } from '../../../graph/dtype.js';
import { realDType } from '../../../graph/matrices.js';
import { printNumber, WARP } from './small-numbers.js';

export const SMALL_LU_NAME = 'weft_small_lu';
export const SMALL_SOLVE_NAME = 'weft_small_solve';
export const SMALL_SYSTEM_NAME = 'weft_small_system';

/**
 * The first of the lanes that are `asked` with the largest size, which has no sign: bits of such numbers are in their order,
 * and those of NaN are above all others. A maximum of a warp's words is one instruction since compute capability 8.0.
 */
export const firstLargest = (
  dtype: DType,
  lanes = WARP,
): string => `__device__ __forceinline__ unsigned int weft_most(unsigned int a) {
#if __CUDA_ARCH__ >= 800 && ${lanes} == ${WARP}
  return __reduce_max_sync(0xffffffffu, a);
#else
  for (int apart = ${lanes / 2}; apart > 0; apart /= 2) {
    const unsigned int other = __shfl_sync(0xffffffffu, a, (threadIdx.x & ${WARP - 1}) ^ apart);
    a = other > a ? other : a;
  }
  return a;
#endif
}
__device__ __forceinline__ int weft_first_largest(weft_real size, bool is_asked) {
${realWords(dtype)
  .map(
    (word) => `  {
    const unsigned int word = ${word};
    const unsigned int most = weft_most(is_asked ? word : 0u);
    is_asked = is_asked && word == most;
  }
`,
  )
  .join(
    '',
  )}  const unsigned int found = __ballot_sync(0xffffffffu, is_asked)${lanes === WARP ? '' : ` >> (threadIdx.x & ${WARP - lanes}) & ${2 ** lanes - 1}u`};
  return __popc((found & -found) - 1u);
}
`;

/** The words of a size, the upper one first. */
const realWords = (dtype: DType): readonly string[] =>
  realDType(dtype) === 'float32'
    ? ['(unsigned int)__float_as_int(size)']
    : ['(unsigned int)(__double_as_longlong(size) >> 32)', '(unsigned int)__double_as_longlong(size)'];

/** Lanes of a matrix: of few rows, of which a warp has several. */
export const lanesOf = (n: number): number =>
  n > WARP / 2 ? WARP : 2 ** Math.ceil(Math.log2(Math.max(2, n)));
const WARPS_OF_TINY = 4;
/** Of several matrices in a warp a block has some warps: 2^17 blocks of one take longer than their matrices of 8 rows. */
export const matricesOfBlock = (n: number): number =>
  lanesOf(n) === WARP ? 1 : (WARPS_OF_TINY * WARP) / lanesOf(n);

/** Factors with partial pivoting, the first of equal pivots. Where all are 0, the column is left as it is. */
export function printSmallLu(dtype: DType, n: number): string {
  const [lanes, together] = [lanesOf(n), matricesOfBlock(n)];
  const ofLane = (value: string, lane: string): string =>
    lanes === WARP ? `weft_of_lane(${value}, ${lane})` : `weft_of_lane(${value}, first + ${lane})`;
  return `${printNumber(dtype)}${firstLargest(dtype, lanes)}extern "C" __global__ void __launch_bounds__(${together * lanes})
${SMALL_LU_NAME}(unsigned int first_x, const weft_number* given, weft_number* lu, long long* pivots, long long count) {
  const long long matrix = ((long long)blockIdx.x + first_x) * ${together} + threadIdx.x / ${lanes};
  const int lane = threadIdx.x % ${lanes}${lanes === WARP ? '' : `, first = threadIdx.x % ${WARP} - lane`};
  const bool is_row = lane < ${n}, is_there = matrix < count;
  given += matrix * ${n * n};
  lu += matrix * ${n * n};
  pivots += matrix * ${n};
  weft_number row[${n}];
#pragma unroll
  for (int j = 0; j < ${n}; j++) row[j] = is_row && is_there ? given[j * ${n} + lane] : weft_number{};
  int pivoted = 0;
#pragma unroll
  for (int k = 0; k < ${n}; k++) {
    const int at = weft_first_largest(weft_size(row[k]), lane >= k && is_row);
    if (lane == k) pivoted = at + 1;
    const int source = lane == k ? at : lane == at ? k : lane;
#pragma unroll
    for (int j = 0; j < ${n}; j++) row[j] = ${ofLane('row[j]', 'source')};
    const weft_number pivot = ${ofLane('row[k]', 'k')};
    const bool is_below = lane > k && !weft_is_zero(pivot);
    if (is_below) row[k] = weft_over(row[k], pivot);
#pragma unroll
    for (int j = k + 1; j < ${n}; j++) {
      const weft_number above = ${ofLane('row[j]', 'k')};
      if (is_below) row[j] = weft_less(row[j], row[k], above);
    }
  }
  if (!is_row || !is_there) return;
  pivots[lane] = pivoted;
#pragma unroll
  for (int j = 0; j < ${n}; j++) lu[j * ${n} + lane] = row[j];
}
`;
}

/** Forms of a matrix: as it is, transposed, transposed and conjugated. */
export type SmallForm = 0 | 1 | 2;

/** Right sides, a column after the other, solved by factors. */
export function printSmallSolve(dtype: DType, n: number, form: SmallForm): string {
  const turned = (i: string, j: string): string =>
    form === 2 ? `weft_conjugate(factors[${i} * ${n} + ${j}])` : `factors[${i} * ${n} + ${j}]`;
  const at = (i: string, j: string): string => (form === 0 ? `factors[${j} * ${n} + ${i}]` : turned(i, j));
  const divided = `      if (lane == k) x = weft_over(x, ${at('k', 'k')});\n`;
  const forward = `    for (int k = 0; k < ${n}; k++) {
${form === 0 ? '' : divided}      const weft_number found = weft_of_lane(x, k);
      if (lane > k && is_row) x = weft_less(x, ${at('lane', 'k')}, found);
    }
`;
  const backward = `    for (int k = ${n - 1}; k >= 0; k--) {
${form === 0 ? divided : ''}      const weft_number found = weft_of_lane(x, k);
      if (lane < k) x = weft_less(x, ${at('lane', 'k')}, found);
    }
`;
  return `${printNumber(dtype)}extern "C" __global__ void __launch_bounds__(${WARP})
${SMALL_SOLVE_NAME}(unsigned int first_x, const weft_number* given, const weft_number* lu, const long long* pivots,
    weft_number* out, long long sides) {
  __shared__ weft_number factors[${n * n}];
  const long long matrix = (long long)blockIdx.x + first_x;
  const int lane = threadIdx.x;
  const bool is_row = lane < ${n};
  given += matrix * sides * ${n};
  out += matrix * sides * ${n};
  for (int k = lane; k < ${n * n}; k += ${WARP}) factors[k] = lu[matrix * ${n * n} + k];
  __syncwarp();
  // The row that the exchanges bring here. Pivots of users may be none.
  int from = lane;
  for (int k = 0; k < ${n}; k++) {
    const long long other = pivots[matrix * ${n} + k] - 1;
    if (other < 0 || other >= ${n}) continue;
    from = __shfl_sync(0xffffffffu, from, lane == k ? (int)other : lane == other ? k : lane);
  }
  for (long long side = 0; side < sides; side++) {
    weft_number x = is_row ? given[side * ${n} + ${form === 0 ? 'from' : 'lane'}] : weft_number{};
${forward}${backward}    if (is_row) out[side * ${n} + ${form === 0 ? 'lane' : 'from'}] = x;
  }
}
`;
}

/**
 * X of A X = B in C order. Rows stay in their lanes; `place` says the step in which a lane's row was the pivot's. The
 * factors of elimination take the places of the zeros that they make, for the second and further right sides.
 */
export const printSmallSystem = (
  dtype: DType,
  n: number,
): string => `${printNumber(dtype)}${firstLargest(dtype)}extern "C" __global__ void __launch_bounds__(${WARP})
${SMALL_SYSTEM_NAME}(unsigned int first_x, const weft_number* given, const weft_number* right, weft_number* out,
    int* status, long long sides) {
  const long long matrix = (long long)blockIdx.x + first_x;
  const int lane = threadIdx.x;
  const bool is_row = lane < ${n};
  given += matrix * ${n * n};
  right += matrix * sides * ${n};
  out += matrix * sides * ${n};
  weft_number row[${n}];
#pragma unroll
  for (int j = 0; j < ${n}; j++) row[j] = is_row ? given[lane * ${n} + j] : weft_number{};
  int place = is_row ? ${n} : -1, failed = 0;
  unsigned char pivots[${n}];
#pragma unroll
  for (int k = 0; k < ${n}; k++) {
    const int at = weft_first_largest(weft_size(row[k]), place == ${n});
    pivots[k] = at;
    if (lane == at) place = k;
    const weft_number pivot = weft_of_lane(row[k], at);
    if (weft_is_zero(pivot)) {
      if (failed == 0) failed = k + 1;
      continue;
    }
    const bool is_left = place == ${n};
    if (is_left) row[k] = weft_over(row[k], pivot);
#pragma unroll
    for (int j = k + 1; j < ${n}; j++) {
      const weft_number above = weft_of_lane(row[j], at);
      if (is_left) row[j] = weft_less(row[j], row[k], above);
    }
  }
  if (lane == 0) status[matrix] = failed;
  for (long long side = 0; side < sides; side++) {
    weft_number x = is_row ? right[lane * sides + side] : weft_number{};
#pragma unroll
    for (int k = 0; k < ${n}; k++) {
      const weft_number found = weft_of_lane(x, pivots[k]);
      if (place > k) x = weft_less(x, row[k], found);
    }
#pragma unroll
    for (int k = ${n - 1}; k >= 0; k--) {
      if (place == k) {
        x = weft_over(x, row[k]);
        out[k * sides + side] = x;
      }
      const weft_number found = weft_of_lane(x, pivots[k]);
      if (place < k) x = weft_less(x, row[k], found);
    }
  }
}
`;
