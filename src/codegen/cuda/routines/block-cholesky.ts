/**
 * CUDA C of Cholesky factors of matrices that a block has in shared memory, by panels of 16 columns: one warp factors the panel's
 * square in registers, a thread each row below it, and threads take what the panel contributes from tiles of the rest, so that
 * a panel takes three barriers. Launches are made by `exec/calls/block-matrices.ts`.
 */
import { byteLengthOf, type DType } from '../../../graph/dtype.js';
import { SHARED_NUMBERS, type SharedMatrix } from './block-matrices.js';
import { printNumber, WARP } from './small-numbers.js';

export const BLOCK_CHOLESKY_NAME = 'weft_block_cholesky';

/** Columns of a panel: a lane has its row of the square in registers. */
const PANEL = 16;

/** Rows, and columns, of a thread's tile: of numbers of 16 bytes fewer fit its registers. */
const tileOf = (dtype: DType): number => (byteLengthOf(dtype) === 16 ? 2 : 4);

/** Elements of a thread that are on their way to or from memory at a time. */
const MOVED = 16;

/** Bytes that are loaded at once: a column begins at a multiple of them. */
const LOAD = 16;

/**
 * Bytes of shared memory of a matrix whose columns lie so far apart, the rows of the last column's last tile among them. Tiles of
 * other columns reach into the ones behind them, into places above the diagonal, which nothing reads.
 */
export const choleskyBytes = (dtype: DType, n: number, pitch: number): number =>
  ((n - 1) * pitch + Math.ceil(n / tileOf(dtype)) * tileOf(dtype)) * byteLengthOf(dtype);

/** Elements from column to column, best first: an odd number of loads, so that lanes with a column each meet different banks. */
export function choleskyPitches(dtype: DType, n: number): readonly number[] {
  const each = LOAD / byteLengthOf(dtype);
  const loads = Math.ceil(n / each);
  return [loads + 1 - (loads % 2), loads].map((all) => all * each);
}

/** The square of a panel, by one warp: `own` is the row of a lane, whose root only later columns wait for. */
const printSquare = (pitch: number): string => `    if (threadIdx.x < ${WARP}) {
      const int lane = threadIdx.x;
      weft_number own[${PANEL}];
#pragma unroll
      for (int j = 0; j < ${PANEL}; j++) own[j] = j <= lane && lane < wide ? a[(from + j) * ${pitch} + from + lane] : weft_number{};
      int undefined = 0;
#pragma unroll
      for (int k = 0; k < ${PANEL}; k++) {
        if (k >= wide || undefined > 0) continue;
        const weft_real pivot = weft_re(weft_of_lane(own[k], k));
        if (pivot <= 0) {
          undefined = from + k + 1;
          continue;
        }
        const weft_real inverse = rsqrt(pivot);
        if (lane == 0) inverses[k] = inverse;
        own[k] = lane == k ? weft_from(sqrt(pivot), 0) : inverse * own[k];
#pragma unroll
        for (int j = k + 1; j < ${PANEL}; j++)
          own[j] = weft_less(own[j], own[k], weft_conjugate(weft_of_lane(own[k], j)));
      }
#pragma unroll
      for (int j = 0; j < ${PANEL}; j++)
        if (j <= lane && lane < wide) a[(from + j) * ${pitch} + from + lane] = own[j];
      if (lane == 0) failed = undefined;
    }
`;

/** Rows below a panel's square, one of a thread. */
const printRows = (
  n: number,
  pitch: number,
  threads: number,
): string => `    for (int row = from + ${PANEL} + threadIdx.x; row < ${n}; row += ${threads}) {
      weft_number own[${PANEL}];
#pragma unroll
      for (int k = 0; k < ${PANEL}; k++) own[k] = a[(from + k) * ${pitch} + row];
#pragma unroll
      for (int k = 0; k < ${PANEL}; k++) {
        own[k] = inverses[k] * own[k];
#pragma unroll
        for (int j = k + 1; j < ${PANEL}; j++)
          own[j] = weft_less(own[j], own[k], weft_conjugate(a[(from + k) * ${pitch} + from + j]));
      }
#pragma unroll
      for (int k = 0; k < ${PANEL}; k++) a[(from + k) * ${pitch} + row] = own[k];
    }
`;

/** Tiles on and below the diagonal behind a panel: rows i and q - 1 - i of them, of an even q, have q + 1 together. */
function printRest(dtype: DType, { columns: n, pitch, threads }: SharedMatrix): string {
  const tile = tileOf(dtype);
  const each = (text: string): string => `#pragma unroll
      for (int c = 0; c < ${tile}; c++) ${text}
`;
  return `    const int first = from + ${PANEL}, tiles = (${n} - first + ${tile - 1}) / ${tile}, even = tiles + tiles % 2;
    for (int t = threadIdx.x; t < even / 2 * (even + 1); t += ${threads}) {
      const int near = t / (even + 1), place = t % (even + 1), is_near = place <= near;
      const int i = is_near ? near : even - 1 - near, j = is_near ? place : place - near - 1;
      if (i >= tiles) continue;
      weft_number* const rest = a + (first + ${tile} * j) * ${pitch} + first + ${tile} * i;
      weft_tile sums[${tile}];
${each(`if (first + ${tile} * j + c < ${n}) sums[c] = *(weft_tile*)(rest + c * ${pitch});`)}#pragma unroll ${tile}
      for (int k = 0; k < ${PANEL}; k++) {
        const weft_number* const column = a + (from + k) * ${pitch} + first;
        const weft_tile left = *(const weft_tile*)(column + ${tile} * i), right = *(const weft_tile*)(column + ${tile} * j);
${each(`{
        const weft_number other = weft_conjugate(right.of[c]);
#pragma unroll
        for (int r = 0; r < ${tile}; r++) sums[c].of[r] = weft_less(sums[c].of[r], left.of[r], other);
      }`)}      }
${each(`if (first + ${tile} * j + c < ${n}) *(weft_tile*)(rest + c * ${pitch}) = sums[c];`)}    }
`;
}

/** As `printSmallCholesky`. */
export function printBlockCholesky(dtype: DType, shape: SharedMatrix, isUpper: boolean): string {
  const { columns: n, pitch, threads } = shape;
  const tile = tileOf(dtype);
  const at = isUpper ? `column * ${n} + row` : `row * ${n} + column`;
  const read = isUpper ? `weft_conjugate(given[${at}])` : `given[${at}]`;
  const eachElement = (text: string): string => `#pragma unroll ${MOVED}
  for (int i = threadIdx.x; i < ${n * n}; i += ${threads}) {
    const int row = ${isUpper ? `i % ${n}, column = i / ${n}` : `i / ${n}, column = i % ${n}`};
    ${text}
  }
`;
  return `${printNumber(dtype)}struct __align__(${LOAD}) weft_tile {
  weft_number of[${tile}];
};
extern "C" __global__ void __launch_bounds__(${threads})
${BLOCK_CHOLESKY_NAME}(unsigned int first_x, const weft_number* __restrict__ given, weft_number* __restrict__ factor, int* status) {
${SHARED_NUMBERS}  __shared__ weft_real inverses[${PANEL}];
  __shared__ int failed;
  const long long matrix = (long long)blockIdx.x + first_x;
  given += matrix * ${n * n};
  factor += matrix * ${n * n};
  for (int i = threadIdx.x; i < ${choleskyBytes(dtype, n, pitch) / byteLengthOf(dtype)}; i += ${threads}) a[i] = weft_number{};
  __syncthreads();
${eachElement(`if (column <= row) a[column * ${pitch} + row] = ${read};`)}  __syncthreads();
  for (int from = 0; from < ${n}; from += ${PANEL}) {
    const int wide = ${n} - from < ${PANEL} ? ${n} - from : ${PANEL};
${printSquare(pitch)}    __syncthreads();
    if (failed > 0 || wide < ${PANEL}) break;
${printRows(n, pitch, threads)}    __syncthreads();
${printRest(dtype, shape)}    __syncthreads();
  }
${eachElement(`factor[${at}] = column <= row ? ${isUpper ? 'weft_conjugate' : ''}(a[column * ${pitch} + row]) : given[${at}];`)}  if (threadIdx.x == 0) status[matrix] = failed;
}
`;
}
