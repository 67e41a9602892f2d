/**
 * CUDA C of QR factors of matrices that a block has in registers, and of Q: eight lanes have a column and those that lie as many
 * columns further as there are such groups, so that dot products of several columns wait for one another's shuffles together.
 * Launches are made by `exec/calls/block-matrices.ts`.
 */
import { byteLengthOf, type DType } from '../../../graph/dtype.js';
import { realDType } from '../../../graph/matrices.js';
import { type BlockMatrix, SHARED_NUMBERS } from './block-matrices.js';
import { printNumber, WARP } from './small-numbers.js';

export const BLOCK_QR_NAME = 'weft_block_qr';
export const BLOCK_Q_NAME = 'weft_block_q';

/** Lanes of a column, which have every eighth row of it. */
const LANES = 8;

/** Squares between these neither overflow in sums nor lose digits. */
const SAFE_SQUARES: Readonly<Record<string, readonly [string, string]>> = {
  float32: ['1e-24f', '1e30f'],
  float64: ['1e-250', '1e280'],
};

const GROUP_SUMS = `__device__ __forceinline__ weft_real weft_group_sum(weft_real a) {
  for (int apart = 1; apart < ${LANES}; apart *= 2) a += __shfl_sync(0xffffffffu, a, (threadIdx.x & ${WARP - 1}) ^ apart);
  return a;
}
__device__ __forceinline__ weft_number weft_group_total(weft_number a) {
  for (int apart = 1; apart < ${LANES}; apart *= 2) a = a + weft_of_lane(a, (threadIdx.x & ${WARP - 1}) ^ apart);
  return a;
}
`;

/** Bytes of a lane's columns in registers. */
const MOST_BYTES = 256;

interface Places {
  /** Columns of a lane's group, and rows of each that it has. */
  readonly ownColumns: number;
  readonly ownRows: number;
  readonly groups: number;
}

const placesOf = ({ columns, rows, threads }: BlockMatrix): Places => {
  const groups = threads / LANES;
  return { groups, ownColumns: Math.ceil(columns / groups), ownRows: Math.ceil(rows / LANES) };
};

/** Those of columns of Q, which may be so many that a block has them in several turns. */
function placesOfQ(dtype: DType, { rows, threads }: BlockMatrix, wanted: number): Places {
  const places = placesOf({ columns: wanted, rows, threads });
  const most = Math.max(1, Math.floor(MOST_BYTES / byteLengthOf(dtype) / places.ownRows));
  return { ...places, ownColumns: Math.min(places.ownColumns, most) };
}

const PLACES = `  const long long matrix = (long long)blockIdx.x + first_x;
  const int lane = threadIdx.x % ${LANES}, group = threadIdx.x / ${LANES};
`;

/** Text for each of a lane's rows, of which the last may lie behind the matrix. */
const eachRow = ({ ownRows }: Places, text: string): string => `#pragma unroll
      for (int q = 0; q < ${ownRows}; q++) ${text}
`;

const eachColumn = ({ ownColumns, groups }: Places, text: string): string => `#pragma unroll
    for (int c = 0; c < ${ownColumns}; c++) {
      const int column = group + ${groups} * c;
${text}    }
`;

/** x less what the reflector v takes of it: `factor` v vᴴ x. Of v, which is 1 in row k, rows above are 0. */
const printReflected = (places: Places): string => `      weft_number part = weft_from(0, 0);
${eachRow(places, 'part = part + weft_conjugate(v[q]) * x[c][q];')}      const weft_number taken = factor * weft_group_total(part);
${eachRow(places, 'x[c][q] = weft_less(x[c][q], taken, v[q]);')}`;

/**
 * The reflector of column k, `y` in the rows of its lanes, as LAPACK's larfg has it; all groups of the warp make one, for they
 * shuffle together. Where squares would overflow or lose digits, numbers are scaled by the largest.
 */
function printReflector(dtype: DType, { rows }: BlockMatrix, places: Places): string {
  const [least, most] = SAFE_SQUARES[realDType(dtype)]!;
  const squaresOf = (value: string): string =>
    `${eachRow(places, `if (lane + ${LANES} * q >= k) squares += weft_squared(${value});`)}      squares = weft_group_sum(squares);\n`;
  return `    const auto reflect = [&](int k) {
      weft_number y[${places.ownRows}], first = weft_from(0, 0);
${eachRow(places, 'y[q] = x[0][q];')}#pragma unroll
      for (int c = 1; c < ${places.ownColumns}; c++)
        if (group + ${places.groups} * c == k) {
${eachRow(places, 'y[q] = x[c][q];')}        }
      bool has_rest = false;
${eachRow(
  places,
  `{
        if (lane + ${LANES} * q == k) first = y[q];
        has_rest = has_rest || lane + ${LANES} * q > k && !weft_is_zero(y[q]);
      }`,
)}      first = weft_of_lane(first, (threadIdx.x & ${WARP - LANES}) + k % ${LANES});
      const unsigned int rests = __ballot_sync(0xffffffffu, has_rest) >> (threadIdx.x & ${WARP - LANES}) & ${2 ** LANES - 1}u;
      weft_real squares = 0, scale = 1;
${squaresOf('y[q]')}      const bool is_safe = squares > ${least} && squares < ${most};
      if (__ballot_sync(0xffffffffu, !is_safe) != 0) {
        weft_real largest = 0;
${eachRow(places, `if (lane + ${LANES} * q >= k) largest = weft_larger(largest, weft_part(y[q]));`)}        for (int apart = 1; apart < ${LANES}; apart *= 2)
          largest = weft_larger(largest, __shfl_sync(0xffffffffu, largest, (threadIdx.x & ${WARP - 1}) ^ apart));
        scale = is_safe || largest == 0 ? 1 : largest;
        squares = 0;
${squaresOf('weft_parted(y[q], scale)')}      }
      const weft_real length = sqrt(squares);
      const bool is_none = rests == 0 && weft_is_real(first);
      // Of scaled numbers, as quotients of denormal ones have few digits.
      const weft_number scaled = weft_parted(first, scale);
      const weft_real turned = weft_re(scaled) > 0 ? -length : length, beta = is_none ? weft_re(first) : scale * turned;
      const weft_number below = scaled - weft_from(turned, 0), inverse = weft_over(weft_from(1, 0), below);
      const weft_number tau = is_none ? weft_number{} : weft_parted(weft_from(turned, 0) - scaled, turned);
      if (group == k % ${places.groups}) {
${eachRow(
  places,
  `{
        const int row = lane + ${LANES} * q;
        weft_number own = weft_from(0, 0);
        if (row > k && !is_none) own = is_safe ? y[q] * inverse : weft_parted(y[q], scale) * inverse;
        if (row < ${rows}) factors[(long long)k * ${rows} + row] = row < k ? y[q] : row == k ? weft_from(beta, 0) : own;
        reflectors[k % 2][row] = row == k ? weft_from(1, 0) : own;
      }`,
)}        if (lane == 0) taus[k] = current[k % 2] = tau;
      }
    };
`;
}

export function printBlockQr(dtype: DType, shape: BlockMatrix): string {
  const { columns, rows, threads } = shape;
  const places = placesOf(shape);
  const least = Math.min(columns, rows);
  const isInside = `column < ${columns} && lane + ${LANES} * q < ${rows}`;
  return `${printNumber(dtype)}${GROUP_SUMS}__device__ __forceinline__ weft_real weft_larger(weft_real a, weft_real b) { return a < b || b != b ? b : a; }
extern "C" __global__ void __launch_bounds__(${threads})
${BLOCK_QR_NAME}(unsigned int first_x, const weft_number* given, weft_number* factors, weft_number* taus) {
  // Of the columns with even and with odd numbers.
  __shared__ weft_number reflectors[2][${LANES * places.ownRows}], current[2];
${PLACES}  given += matrix * ${columns * rows};
  factors += matrix * ${columns * rows};
  taus += matrix * ${least};
  weft_number x[${places.ownColumns}][${places.ownRows}];
${eachColumn(places, eachRow(places, `x[c][q] = ${isInside} ? given[column * ${rows} + lane + ${LANES} * q] : weft_number{};`))}${printReflector(dtype, shape, places)}  const int warp = threadIdx.x / ${WARP};
  if (warp == 0) reflect(0);
  __syncthreads();
  for (int k = 0; k < ${least}; k++) {
    const weft_number factor = weft_conjugate(current[k % 2]);
    weft_number v[${places.ownRows}];
${eachRow(places, `v[q] = reflectors[k % 2][lane + ${LANES} * q];`)}${eachColumn(
  places,
  `      if (${places.groups} * c + ${places.groups - 1} <= k) continue;
${printReflected(places)}`,
)}    if (k + 1 < ${least} && warp == (k + 1) % ${places.groups} / ${WARP / LANES}) reflect(k + 1);
    __syncthreads();
  }
${
  columns > least
    ? eachColumn(
        places,
        eachRow(
          places,
          `if (column >= ${least} && ${isInside}) factors[column * ${rows} + lane + ${LANES} * q] = x[c][q];`,
        ),
      )
    : ''
}}
`;
}

/** The first `wanted` columns of Q: the reflectors, the last one first, of columns of the identity. */
export function printBlockQ(dtype: DType, shape: BlockMatrix, wanted: number): string {
  const { columns, rows, threads } = shape;
  const places = placesOfQ(dtype, shape, wanted);
  const least = Math.min(columns, rows);
  return `${printNumber(dtype)}${GROUP_SUMS}extern "C" __global__ void __launch_bounds__(${threads})
${BLOCK_Q_NAME}(unsigned int first_x, const weft_number* factors, const weft_number* taus, weft_number* out) {
${SHARED_NUMBERS}${PLACES}  factors += matrix * ${columns * rows};
  taus += matrix * ${least};
  out += matrix * ${wanted * rows};
  for (int i = threadIdx.x; i < ${least * rows}; i += ${threads}) {
    const int row = i % ${rows}, k = i / ${rows};
    a[i] = row > k ? factors[i] : weft_from(row == k, 0);
  }
  __syncthreads();
  for (int begin = 0; begin < ${wanted}; begin += ${places.groups * places.ownColumns}) {
  weft_number x[${places.ownColumns}][${places.ownRows}];
${eachColumn(places, eachRow(places, `x[c][q] = weft_from(lane + ${LANES} * q == begin + column, 0);`))}  // Reflectors behind a column leave it as it is.
  const int last = begin + ${places.groups * places.ownColumns} < ${least} ? begin + ${places.groups * places.ownColumns - 1} : ${least - 1};
  weft_number factor = taus[last];
  for (int k = last; k >= 0; k--) {
    const weft_number next = taus[k > 0 ? k - 1 : 0];
    weft_number v[${places.ownRows}];
${eachRow(places, `v[q] = lane + ${LANES} * q < ${rows} ? a[k * ${rows} + lane + ${LANES} * q] : weft_number{};`)}${eachColumn(
  places,
  `      if (begin + ${places.groups} * c + ${places.groups - 1} < k) continue;
${printReflected(places)}`,
)}    factor = next;
  }
${eachColumn(
  places,
  eachRow(
    places,
    `if (begin + column < ${wanted} && lane + ${LANES} * q < ${rows}) out[(long long)(begin + column) * ${rows} + lane + ${LANES} * q] = x[c][q];`,
  ),
)}  }
}
`;
}
