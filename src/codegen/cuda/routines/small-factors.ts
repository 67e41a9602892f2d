/**
 * CUDA C of Cholesky and QR factors of small matrices, and of Q: a warp has a matrix in shared memory, a lane a column (or
 * row) and those that are 32 apart from it. Launches are made by `exec/calls/small-matrices.ts`.
 */
import type { DType } from '../../../graph/dtype.js';
import { printNumber, WARP, WARP_FOLDS } from './small-numbers.js';

export const SMALL_CHOLESKY_NAME = 'weft_small_cholesky';
export const SMALL_QR_NAME = 'weft_small_qr';
export const SMALL_Q_NAME = 'weft_small_q';

/** Elements from column to column in shared memory: odd, so that lanes with columns each meet different banks. */
export const pitchOf = (rows: number): number => rows + 1 - (rows % 2);

/**
 * L of A = L Lᴴ in C order, or U of A = Uᴴ U, whose adjoint is computed. Elements below a minor that is not positive
 * are undefined.
 */
export function printSmallCholesky(dtype: DType, n: number, isUpper: boolean): string {
  const at = isUpper ? `column * ${n} + row` : `row * ${n} + column`;
  const read = isUpper ? `weft_conjugate(given[${at}])` : `given[${at}]`;
  return `${printNumber(dtype)}extern "C" __global__ void __launch_bounds__(${WARP})
${SMALL_CHOLESKY_NAME}(unsigned int first_x, const weft_number* given, weft_number* factor, int* status) {
  // Rows of L.
  __shared__ weft_number l[${n * pitchOf(n)}];
  const long long matrix = (long long)blockIdx.x + first_x;
  const int lane = threadIdx.x;
  given += matrix * ${n * n};
  factor += matrix * ${n * n};
  for (int k = lane; k < ${n * n}; k += ${WARP}) {
    const int row = k / ${n}, column = k % ${n};
    if (column <= row) l[row * ${pitchOf(n)} + column] = ${read};
  }
  __syncwarp();
  int failed = 0;
  for (int k = 0; k < ${n}; k++) {
    const weft_real pivot = weft_re(l[k * ${pitchOf(n)} + k]);
    if (pivot <= 0) {
      failed = k + 1;
      break;
    }
    const weft_real root = sqrt(pivot), inverse = 1 / root;
    __syncwarp();
    for (int row = k + lane; row < ${n}; row += ${WARP}) {
      weft_number* const own = l + row * ${pitchOf(n)};
      own[k] = row == k ? weft_from(root, 0) : inverse * own[k];
    }
    __syncwarp();
    for (int row = k + 1 + lane; row < ${n}; row += ${WARP}) {
      weft_number* const own = l + row * ${pitchOf(n)};
      const weft_number factor = own[k];
      for (int column = k + 1; column <= row; column++)
        own[column] = weft_less(own[column], factor, weft_conjugate(l[column * ${pitchOf(n)} + k]));
    }
    __syncwarp();
  }
  for (int k = lane; k < ${n * n}; k += ${WARP}) {
    const int row = k / ${n}, column = k % ${n};
    if (column <= row) factor[${at}] = ${isUpper ? 'weft_conjugate' : ''}(l[row * ${pitchOf(n)} + column]);
    else factor[${at}] = given[${at}];
  }
  if (lane == 0) status[matrix] = failed;
}
`;
}

/** A reflector of column k of `a`, as LAPACK's larfg has it, made by all lanes of a warp; `tau` and `beta` are theirs all. */
export const printReflector = (
  rows: number,
  pitch: number,
): string => `    weft_number* const v = a + k * ${pitch};
    // Scaled, so that squares neither overflow nor vanish.
    weft_real rest = 0;
    for (int i = k + 1 + lane; i < ${rows}; i += ${WARP}) rest += weft_size(v[i]);
    rest = weft_warp_sum(rest);
    const weft_real scale = rest + weft_size(v[k]);
    weft_real squares = 0;
    for (int i = k + lane; i < ${rows}; i += ${WARP}) squares += weft_squared(weft_parted(v[i], scale));
    const weft_real length = sqrt(weft_warp_sum(squares));
    const bool is_none = rest == 0 && weft_is_real(v[k]);
    // Of scaled numbers, as quotients of denormal ones have few digits.
    const weft_number first = weft_parted(v[k], scale);
    const weft_real turned = weft_re(first) > 0 ? -length : length, beta = is_none ? weft_re(v[k]) : scale * turned;
    const weft_number below = first - weft_from(turned, 0);
    const weft_number tau = is_none ? weft_number{} : weft_parted(weft_from(turned, 0) - first, turned);
    __syncwarp();
    if (!is_none)
      for (int i = k + 1 + lane; i < ${rows}; i += ${WARP}) v[i] = weft_over(weft_parted(v[i], scale), below);
    if (lane == 0) v[k] = weft_from(beta, 0);
    __syncwarp();
`;

export const printSmallQr = (
  dtype: DType,
  columns: number,
  rows: number,
): string => `${printNumber(dtype)}${WARP_FOLDS}extern "C" __global__ void __launch_bounds__(${WARP})
${SMALL_QR_NAME}(unsigned int first_x, const weft_number* given, weft_number* factors, weft_number* taus) {
  __shared__ weft_number a[${columns * pitchOf(rows)}];
  const long long matrix = (long long)blockIdx.x + first_x;
  const int lane = threadIdx.x;
  given += matrix * ${columns * rows};
  factors += matrix * ${columns * rows};
  for (int k = lane; k < ${columns * rows}; k += ${WARP}) a[k / ${rows} * ${pitchOf(rows)} + k % ${rows}] = given[k];
  __syncwarp();
  for (int k = 0; k < ${Math.min(columns, rows)}; k++) {
${printReflector(rows, pitchOf(rows))}    if (lane == 0) taus[matrix * ${Math.min(columns, rows)} + k] = tau;
    for (int j = k + 1 + lane; j < ${columns}; j += ${WARP}) {
      weft_number* const x = a + j * ${pitchOf(rows)};
      weft_number sum = x[k];
      for (int i = k + 1; i < ${rows}; i++) sum = sum + weft_conjugate(v[i]) * x[i];
      sum = weft_conjugate(tau) * sum;
      x[k] = x[k] - sum;
      for (int i = k + 1; i < ${rows}; i++) x[i] = weft_less(x[i], sum, v[i]);
    }
    __syncwarp();
  }
  for (int k = lane; k < ${columns * rows}; k += ${WARP}) factors[k] = a[k / ${rows} * ${pitchOf(rows)} + k % ${rows}];
}
`;

/** The first `wanted` columns of Q: the reflectors, the last one first, of columns of the identity. */
export const printSmallQ = (
  dtype: DType,
  columns: number,
  rows: number,
  wanted: number,
): string => `${printNumber(dtype)}extern "C" __global__ void __launch_bounds__(${WARP})
${SMALL_Q_NAME}(unsigned int first_x, const weft_number* factors, const weft_number* taus, weft_number* out) {
  __shared__ weft_number q[${wanted * pitchOf(rows)}];
  const long long matrix = (long long)blockIdx.x + first_x;
  const int lane = threadIdx.x;
  factors += matrix * ${columns * rows};
  taus += matrix * ${Math.min(columns, rows)};
  out += matrix * ${wanted * rows};
  for (int j = lane; j < ${wanted}; j += ${WARP}) {
    weft_number* const x = q + j * ${pitchOf(rows)};
    for (int i = 0; i < ${rows}; i++) x[i] = weft_from(i == j, 0);
    for (int k = ${Math.min(columns, rows) - 1}; k >= 0; k--) {
      const weft_number* const v = factors + k * ${rows};
      weft_number sum = x[k];
      for (int i = k + 1; i < ${rows}; i++) sum = sum + weft_conjugate(v[i]) * x[i];
      sum = taus[k] * sum;
      x[k] = x[k] - sum;
      for (int i = k + 1; i < ${rows}; i++) x[i] = weft_less(x[i], sum, v[i]);
    }
  }
  __syncwarp();
  for (int k = lane; k < ${wanted * rows}; k += ${WARP}) out[k] = q[k / ${rows} * ${pitchOf(rows)} + k % ${rows}];
}
`;
