/**
 * CUDA C of Cholesky and QR factors of matrices that a block has in shared memory, and of Q: lanes have rows, warps columns. The
 * warp that has updated the next column goes on with it at once, so that a column takes one barrier. Launches are made by
 * `exec/calls/block-matrices.ts`.
 */
import type { DType } from '../../../graph/dtype.js';
import { type BlockShape, rowsOfLane, SHARED_NUMBERS } from './block-matrices.js';
import { printReflector } from './small-factors.js';
import { printNumber, WARP, WARP_FOLDS } from './small-numbers.js';

export const BLOCK_CHOLESKY_NAME = 'weft_block_cholesky';
export const BLOCK_QR_NAME = 'weft_block_qr';
export const BLOCK_Q_NAME = 'weft_block_q';

/** Of a block of several warps. */
const PLACES = `  const long long matrix = (long long)blockIdx.x + first_x;
  const int lane = threadIdx.x % ${WARP}, warp = threadIdx.x / ${WARP};
`;

/** Rows of a lane from row `first` on. */
const eachRow = (rows: number, first: string, text: string): string => `#pragma unroll
      for (int r = 0; r < ${rowsOfLane(rows)}; r++) {
        const int row = lane + ${WARP} * r;
        if (row >= ${first} && row < ${rows}) ${text}
      }
`;

/** As `printSmallCholesky`. A column of L is stored behind the barrier, when nobody reads what it was. */
export function printBlockCholesky(
  dtype: DType,
  { n, pitch, threads }: BlockShape,
  isUpper: boolean,
): string {
  const at = isUpper ? `column * ${n} + row` : `row * ${n} + column`;
  const read = isUpper ? `weft_conjugate(given[${at}])` : `given[${at}]`;
  const eachElement = (text: string): string => `  for (int i = threadIdx.x; i < ${n * n}; i += ${threads}) {
    const int row = ${isUpper ? `i % ${n}, column = i / ${n}` : `i / ${n}, column = i % ${n}`};
    ${text}
  }
`;
  return `${printNumber(dtype)}extern "C" __global__ void __launch_bounds__(${threads})
${BLOCK_CHOLESKY_NAME}(unsigned int first_x, const weft_number* given, weft_number* factor, int* status) {
${SHARED_NUMBERS}${PLACES}  given += matrix * ${n * n};
  factor += matrix * ${n * n};
${eachElement(`if (column <= row) a[column * ${pitch} + row] = ${read};`)}  __syncthreads();
  int failed = 0;
  for (int k = 0; k < ${n}; k++) {
    const weft_real pivot = weft_re(a[k * ${pitch} + k]);
    if (pivot <= 0) {
      failed = k + 1;
      break;
    }
    const weft_real root = sqrt(pivot), inverse = 1 / root;
    // Column k of L, in the rows of a lane.
    weft_number own[${rowsOfLane(n)}];
${eachRow(n, 'k', `own[r] = row == k ? weft_from(root, 0) : inverse * a[k * ${pitch} + row];`)}    for (int j = k + 1 + warp; j < ${n}; j += ${threads / WARP}) {
      const weft_number other = weft_conjugate(inverse * a[k * ${pitch} + j]);
${eachRow(n, 'j', `a[j * ${pitch} + row] = weft_less(a[j * ${pitch} + row], own[r], other);`)}    }
    __syncthreads();
    if (warp == 0) {
${eachRow(n, 'k', `a[k * ${pitch} + row] = own[r];`)}    }
  }
  __syncthreads();
${eachElement(`factor[${at}] = column <= row ? ${isUpper ? 'weft_conjugate' : ''}(a[column * ${pitch} + row]) : given[${at}];`)}  if (threadIdx.x == 0) status[matrix] = failed;
}
`;
}

/** A matrix of so many rows, each column of which lies so far behind the one before. */
export interface BlockColumns {
  readonly columns: number;
  readonly rows: number;
  readonly pitch: number;
  readonly threads: number;
}

/** A warp's column x, in the rows of its lanes, less what the reflector v takes of it: `tau` v vᴴ x. */
const printReflected = (
  rows: number,
  x: string,
  v: string,
): string => `      weft_number part = weft_from(0, 0);
${eachRow(rows, 'k', `part = part + (row == k ? ${x} : weft_conjugate(${v}) * ${x});`)}      const weft_number taken = factor * weft_warp_total(part);
${eachRow(rows, 'k', `${x} = row == k ? ${x} - taken : weft_less(${x}, taken, ${v});`)}`;

export function printBlockQr(dtype: DType, { columns, rows, pitch, threads }: BlockColumns): string {
  const least = Math.min(columns, rows);
  return `${printNumber(dtype)}${WARP_FOLDS}extern "C" __global__ void __launch_bounds__(${threads})
${BLOCK_QR_NAME}(unsigned int first_x, const weft_number* given, weft_number* factors, weft_number* taus) {
${SHARED_NUMBERS}  // Of the columns with even and with odd numbers.
  __shared__ weft_number current[2];
${PLACES}  given += matrix * ${columns * rows};
  factors += matrix * ${columns * rows};
  taus += matrix * ${least};
  for (int i = threadIdx.x; i < ${columns * rows}; i += ${threads}) a[i / ${rows} * ${pitch} + i % ${rows}] = given[i];
  __syncthreads();
  const auto reflect = [&](int k) {
${printReflector(rows, pitch)}    if (lane == 0) {
      taus[k] = tau;
      current[k % 2] = tau;
    }
  };
  if (warp == 0) reflect(0);
  __syncthreads();
  for (int k = 0; k < ${least}; k++) {
    const weft_number factor = weft_conjugate(current[k % 2]);
    const weft_number* const v = a + k * ${pitch};
    for (int j = k + 1 + warp; j < ${columns}; j += ${threads / WARP}) {
      weft_number* const x = a + j * ${pitch};
${printReflected(rows, 'x[row]', 'v[row]')}      __syncwarp();
      if (j == k + 1 && j < ${least}) reflect(j);
    }
    __syncthreads();
  }
  for (int i = threadIdx.x; i < ${columns * rows}; i += ${threads}) factors[i] = a[i / ${rows} * ${pitch} + i % ${rows}];
}
`;
}

/** The first `wanted` columns of Q: the reflectors, the last one first, of columns of the identity. */
export function printBlockQ(
  dtype: DType,
  { columns, rows, pitch, threads }: BlockColumns,
  wanted: number,
): string {
  const least = Math.min(columns, rows);
  return `${printNumber(dtype)}${WARP_FOLDS}extern "C" __global__ void __launch_bounds__(${threads})
${BLOCK_Q_NAME}(unsigned int first_x, const weft_number* factors, const weft_number* taus, weft_number* out) {
${SHARED_NUMBERS}${PLACES}  factors += matrix * ${columns * rows};
  taus += matrix * ${least};
  out += matrix * ${wanted * rows};
  for (int i = threadIdx.x; i < ${least * rows}; i += ${threads}) a[i / ${rows} * ${pitch} + i % ${rows}] = factors[i];
  __syncthreads();
  for (int j = warp; j < ${wanted}; j += ${threads / WARP}) {
    weft_number x[${rowsOfLane(rows)}];
#pragma unroll
    for (int r = 0; r < ${rowsOfLane(rows)}; r++) x[r] = weft_from(lane + ${WARP} * r == j, 0);
    // Reflectors behind column j leave it as it is.
    for (int k = j < ${least} ? j : ${least - 1}; k >= 0; k--) {
      const weft_number factor = taus[k];
      const weft_number* const v = a + k * ${pitch};
${printReflected(rows, 'x[r]', 'v[row]')}    }
#pragma unroll
    for (int r = 0; r < ${rowsOfLane(rows)}; r++) {
      const int row = lane + ${WARP} * r;
      if (row < ${rows}) out[(long long)j * ${rows} + row] = x[r];
    }
  }
}
`;
}
