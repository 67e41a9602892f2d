/**
 * CUDA C of eigenvalues of small Hermitian matrices and of singular values, by Jacobi's rotations: a warp has a matrix in
 * shared memory. In each round all columns are in pairs (a tournament), and a few lanes have a pair each:
 *
 *     16 columns:  8 pairs of 4 lanes, 15 rounds a sweep, sweeps until nothing turns
 *
 * Singular values by rotations from one side, which make columns orthogonal (Hestenes), so that small ones are as exact
 * as large ones. Launches are made by `exec/calls/small-matrices.ts`.
 */
import { DTYPE_INFO, type DType } from '../../../graph/dtype.js';
import { pitchOf } from './small-factors.js';
import { printNumber, WARP, WARP_FOLDS } from './small-numbers.js';

export const SMALL_EIGH_NAME = 'weft_small_eigh';
export const SMALL_SVD_NAME = 'weft_small_svd';
/** Sweeps after which a matrix counts as one that does not converge. */
const MOST_SWEEPS = 40;

/** The precision, and between which sizes squares of elements neither overflow nor vanish. */
function printLimits(dtype: DType): string {
  const isSingle = DTYPE_INFO[dtype].component === 'float32';
  const [epsilon, least, most] = isSingle
    ? ['1.1920929e-7f', '1e-10f', '1e14f']
    : ['2.220446049250313e-16', '1e-140', '1e140'];
  return `#define WEFT_EPSILON ${epsilon}
#define WEFT_LEAST ${least}
#define WEFT_MOST ${most}
`;
}

/** Pairs of a round, and lanes of each. */
function pairing(n: number): { readonly players: number; readonly lanes: number } {
  const players = n + (n % 2);
  let lanes = WARP;
  while (lanes * (players / 2) > WARP) lanes /= 2;
  return { players, lanes: Math.max(1, lanes) };
}

/**
 * A rotation of columns x and y, of squared lengths (or diagonal elements) `first` and `second` and the product `product`:
 * x becomes c x - s conj(phase) y, y becomes s x + c conj(phase) y.
 */
const ROTATION = `struct weft_rotation {
  weft_real c, s;
  weft_number phase;
};
__device__ __forceinline__ weft_rotation weft_rotated(weft_real first, weft_real second, weft_number product, weft_real size) {
  const weft_real zeta = (second - first) / (2 * size);
  const weft_real t = (zeta >= 0 ? 1 : -1) / (fabs(zeta) + sqrt(1 + zeta * zeta));
  const weft_real c = 1 / sqrt(1 + t * t);
  return weft_rotation{c, c * t, weft_parted(product, size)};
}
__device__ __forceinline__ void weft_turn(weft_rotation r, weft_number* x, weft_number* y) {
  const weft_number a = *x, b = weft_conjugate(r.phase) * *y;
  *x = r.c * a - r.s * b;
  *y = r.s * a + r.c * b;
}
`;

/** The columns p < q of this lane's pair in a round; none: q is `n` or more. */
const printPair = (n: number): string => {
  const { players, lanes } = pairing(n);
  return `      const int pair = lane / ${lanes}, part = lane % ${lanes};
      const int one = pair == 0 ? ${players - 1} : (round + pair) % ${players - 1}, other = (round + ${players - 1} - pair) % ${players - 1};
      const int p = one < other ? one : other, q = one < other ? other : one;
      const bool is_pair = pair < ${players / 2} && q < ${n};
`;
};

/** Reads a matrix in column-major order, divided by `scale`; `nothing` is 0, or NaN where it is not finite. */
const printLoad = (
  rows: number,
  columns: number,
  element: string,
): string => `  weft_real size = 0, nothing = 0;
  for (int k = lane; k < ${rows * columns}; k += ${WARP}) {
    const int i = k % ${rows}, j = k / ${rows};
    const weft_number x = ${element};
    a[j * ${pitchOf(rows)} + i] = x;
    size = fmax(size, weft_part(x));
    nothing += weft_part(x - x);
  }
  size = weft_warp_max(size);
  nothing = weft_warp_sum(nothing);
  const bool is_finite = nothing == 0;
  const weft_real scale = size == 0 || !is_finite || (size > WEFT_LEAST && size < WEFT_MOST) ? (weft_real)1 : size;
  __syncwarp();
  if (scale != 1)
    for (int k = lane; k < ${columns * pitchOf(rows)}; k += ${WARP})
      if (k % ${pitchOf(rows)} < ${rows}) a[k] = weft_parted(a[k], scale);
`;

const printIdentity = (n: number): string => `  for (int k = lane; k < ${n * n}; k += ${WARP})
    v[k / ${n} * ${pitchOf(n)} + k % ${n}] = weft_from(k / ${n} == k % ${n}, 0);
`;

/** Eigenvalues ascending; a matrix that is not finite has NaN. */
export function printSmallEigh(dtype: DType, n: number, isUpper: boolean, hasVectors: boolean): string {
  const { players, lanes } = pairing(n);
  const pitch = pitchOf(n);
  const isGiven = isUpper ? 'i < j' : 'i > j';
  const element = `i == j ? weft_from(weft_re(given[k]), 0) : ${isGiven} ? given[k] : weft_conjugate(given[i * ${n} + j])`;
  return `${printNumber(dtype)}${printLimits(dtype)}${WARP_FOLDS}${ROTATION}extern "C" __global__ void __launch_bounds__(${WARP})
${SMALL_EIGH_NAME}(unsigned int first_x, const weft_number* given, weft_real* values, int* status${hasVectors ? ', weft_number* vectors' : ''}) {
  __shared__ weft_number a[${n * pitch}];
${hasVectors ? `  __shared__ weft_number v[${n * pitch}];\n` : ''}  __shared__ weft_real found[${n}];
  const long long matrix = (long long)blockIdx.x + first_x;
  const int lane = threadIdx.x;
  given += matrix * ${n * n};
${printLoad(n, n, element)}${hasVectors ? printIdentity(n) : ''}  __syncwarp();
  weft_real squares = 0;
  for (int k = lane; k < ${n * pitch}; k += ${WARP})
    if (k % ${pitch} < ${n}) squares += weft_squared(a[k]);
  const weft_real least = sqrt(weft_warp_sum(squares)) * (WEFT_EPSILON / ${4 * n});
  __syncwarp();
  bool is_done = !is_finite;
  int sweep = 0;
  for (; !is_done && sweep < ${MOST_SWEEPS}; sweep++) {
    bool is_still = true;
    for (int round = 0; round < ${players - 1}; round++) {
${printPair(n)}      const weft_number beside = is_pair ? a[q * ${pitch} + p] : weft_number{};
      const weft_real apart = weft_modulus(beside);
      const bool turns = is_pair && apart > least;
      is_still = is_still && !turns;
      const weft_rotation r = turns ? weft_rotated(weft_re(a[p * ${pitch} + p]), weft_re(a[q * ${pitch} + q]), beside, apart)
                                    : weft_rotation{1, 0, weft_from(1, 0)};
      __syncwarp();
      if (turns)
        for (int i = part; i < ${n}; i += ${lanes}) {
          weft_turn(r, a + p * ${pitch} + i, a + q * ${pitch} + i);
${hasVectors ? `          weft_turn(r, v + p * ${pitch} + i, v + q * ${pitch} + i);\n` : ''}        }
      __syncwarp();
      // From the left by the adjoint.
      const weft_rotation adjoint{r.c, r.s, weft_conjugate(r.phase)};
      if (turns)
        for (int j = part; j < ${n}; j += ${lanes}) weft_turn(adjoint, a + j * ${pitch} + p, a + j * ${pitch} + q);
      __syncwarp();
      if (turns && part == 0) {
        a[q * ${pitch} + p] = a[p * ${pitch} + q] = weft_number{};
        a[p * ${pitch} + p] = weft_from(weft_re(a[p * ${pitch} + p]), 0);
        a[q * ${pitch} + q] = weft_from(weft_re(a[q * ${pitch} + q]), 0);
      }
      __syncwarp();
    }
    is_done = __all_sync(0xffffffffu, is_still);
  }
  if (lane == 0) status[matrix] = is_done ? 0 : 1;
  for (int k = lane; k < ${n}; k += ${WARP}) found[k] = weft_re(a[k * ${pitch} + k]);
  __syncwarp();
  for (int j = 0; j < ${n}; j++) {
    int place = 0;
    for (int k = 0; k < ${n}; k++) place += found[k] < found[j] || (found[k] == found[j] && k < j);
    if (!is_finite) place = j;
    if (lane == 0) values[matrix * ${n} + place] = found[j] * scale + nothing;
${
  hasVectors
    ? `    for (int i = lane; i < ${n}; i += ${WARP})
      vectors[(matrix * ${n} + place) * ${n} + i] = v[j * ${pitch} + i] + weft_from(nothing, 0);
`
    : ''
}  }
}
`;
}

/**
 * The columns from `first` on of U in global memory, orthonormal to those before: unit vectors less what the others span,
 * each as far as it is not short.
 */
const printCompletion = (m: number, columns: number): string => `  int unit = 0;
  for (int k = 0; k < ${columns}; k++) {
    if (k < ranks) continue;
    weft_number* const own = u + k * ${m};
    for (bool is_found = false; !is_found && unit < ${m}; unit++) {
      for (int i = lane; i < ${m}; i += ${WARP}) own[i] = weft_from(i == unit, 0);
      __syncwarp();
      for (int pass = 0; pass < 2; pass++) {
        for (int j = 0; j < k; j++) {
          weft_number sum = weft_number{};
          for (int i = lane; i < ${m}; i += ${WARP}) sum = sum + weft_conjugate(u[j * ${m} + i]) * own[i];
          sum = weft_warp_total(sum);
          for (int i = lane; i < ${m}; i += ${WARP}) own[i] = weft_less(own[i], sum, u[j * ${m} + i]);
          __syncwarp();
        }
      }
      weft_real rest = 0;
      for (int i = lane; i < ${m}; i += ${WARP}) rest += weft_squared(own[i]);
      rest = sqrt(weft_warp_sum(rest));
      is_found = rest > (weft_real)${0.05 / Math.sqrt(m)};
      if (is_found)
        for (int i = lane; i < ${m}; i += ${WARP}) own[i] = weft_parted(own[i], rest);
      __syncwarp();
    }
  }
`;

/** Singular values in descending order; a matrix that is not finite has NaN, and a status. */
export function printSmallSvd(dtype: DType, n: number, m: number, hasVectors: boolean): string {
  const { players, lanes } = pairing(n);
  const [pitch, vPitch] = [pitchOf(m), pitchOf(n)];
  return `${printNumber(dtype)}${printLimits(dtype)}${WARP_FOLDS}${ROTATION}extern "C" __global__ void __launch_bounds__(${WARP})
${SMALL_SVD_NAME}(unsigned int first_x, const weft_number* given, weft_real* values, int* status${hasVectors ? ', weft_number* u, weft_number* out_v' : ''}) {
  __shared__ weft_number a[${n * pitch}];
${hasVectors ? `  __shared__ weft_number v[${n * vPitch}];\n` : ''}  __shared__ weft_real found[${n}];
  const long long matrix = (long long)blockIdx.x + first_x;
  const int lane = threadIdx.x;
  given += matrix * ${n * m};
${hasVectors ? `  u += matrix * ${n * m};\n  out_v += matrix * ${n * n};\n` : ''}${printLoad(m, n, 'given[k]')}${hasVectors ? printIdentity(n) : ''}  __syncwarp();
  weft_real squares = 0;
  for (int k = lane; k < ${n * pitch}; k += ${WARP})
    if (k % ${pitch} < ${m}) squares += weft_squared(a[k]);
  // Columns up to this length are zeros.
  const weft_real least = sqrt(weft_warp_sum(squares)) * (WEFT_EPSILON / 4), least_squared = least * least;
  __syncwarp();
  bool is_done = !is_finite;
  for (int sweep = 0; !is_done && sweep < ${MOST_SWEEPS}; sweep++) {
    bool is_still = true;
    for (int round = 0; round < ${players - 1}; round++) {
${printPair(n)}      weft_real first = 0, second = 0;
      weft_number product = weft_number{};
      if (is_pair)
        for (int i = part; i < ${m}; i += ${lanes}) {
          const weft_number x = a[p * ${pitch} + i], y = a[q * ${pitch} + i];
          first += weft_squared(x);
          second += weft_squared(y);
          product = product + weft_conjugate(x) * y;
        }
      for (int apart = ${lanes / 2}; apart > 0; apart /= 2) {
        first += __shfl_sync(0xffffffffu, first, lane ^ apart);
        second += __shfl_sync(0xffffffffu, second, lane ^ apart);
        product = product + weft_of_lane(product, lane ^ apart);
      }
      const weft_real size = weft_modulus(product);
      const bool turns = is_pair && first > least_squared && second > least_squared && size > WEFT_EPSILON * (weft_real)${Math.sqrt(m)} * sqrt(first) * sqrt(second);
      is_still = is_still && !turns;
      if (turns) {
        const weft_rotation r = weft_rotated(first, second, product, size);
        for (int i = part; i < ${m}; i += ${lanes}) weft_turn(r, a + p * ${pitch} + i, a + q * ${pitch} + i);
${hasVectors ? `        for (int i = part; i < ${n}; i += ${lanes}) weft_turn(r, v + p * ${vPitch} + i, v + q * ${vPitch} + i);\n` : ''}      }
      __syncwarp();
    }
    is_done = __all_sync(0xffffffffu, is_still);
  }
  if (lane == 0) status[matrix] = is_done && is_finite ? 0 : 1;
  for (int k = lane; k < ${n}; k += ${WARP}) {
    weft_real sum = 0;
    for (int i = 0; i < ${m}; i++) sum += weft_squared(a[k * ${pitch} + i]);
    found[k] = sqrt(sum);
  }
  __syncwarp();
  int ranks = 0;
  for (int j = 0; j < ${n}; j++) {
    const weft_real length = found[j];
    int place = 0;
    for (int k = 0; k < ${n}; k++) place += found[k] > length || (found[k] == length && k < j);
    if (!is_finite) place = j;
    const bool is_counted = !is_finite || length > least;
    ranks += is_counted;
    if (lane == 0) values[matrix * ${n} + place] = length * scale + nothing;
${
  hasVectors
    ? `    if (is_counted)
      for (int i = lane; i < ${m}; i += ${WARP}) u[place * ${m} + i] = weft_parted(a[j * ${pitch} + i], length) + weft_from(nothing, 0);
    for (int i = lane; i < ${n}; i += ${WARP})
      out_v[place * ${n} + i] = v[j * ${vPitch} + i] + weft_from(nothing, 0);
`
    : ''
}  }
${hasVectors ? `  __syncwarp();\n${printCompletion(m, n)}` : ''}}
`;
}
