/**
 * CUDA C of LU factors of square matrices that a block has in shared memory, and of what triangles solve: lanes have rows, warps
 * columns or right sides. Matrices are in column-major order. Launches are made by `exec/calls/block-matrices.ts`.
 */
import type { DType } from '../../../graph/dtype.js';
import { realDType } from '../../../graph/matrices.js';
import type { SmallForm } from './small-matrices.js';
import { printNumber, WARP } from './small-numbers.js';

export const BLOCK_LU_NAME = 'weft_block_lu';
export const BLOCK_TRIANGLE_NAME = 'weft_block_triangle';

/** A matrix, and threads of the block that has it. */
export interface BlockMatrix {
  readonly columns: number;
  readonly rows: number;
  readonly threads: number;
}

/** A matrix in shared memory. */
export interface SharedMatrix extends BlockMatrix {
  /** Elements from column to column. */
  readonly pitch: number;
}

/** Dynamic shared memory as numbers. */
export const SHARED_NUMBERS = `  extern __shared__ __align__(16) unsigned char weft_shared[];
  weft_number* const a = (weft_number*)weft_shared;
`;

/** Lanes of a warp have these rows: `lane + 32 r`. */
const rowsOfLane = (n: number): number => Math.ceil(n / WARP);

/** Sizes have no sign, so that their bits are in their order, and those of NaN above all others. */
const bitsOf = (dtype: DType): string =>
  realDType(dtype) === 'float32'
    ? '(unsigned int)__float_as_int(size)'
    : '(unsigned long long)__double_as_longlong(size)';

/** The first row from k on with the largest size in column k, found by one warp. */
const printPivot = (dtype: DType, { columns: n, pitch }: SharedMatrix): string => {
  const bits = realDType(dtype) === 'float32' ? 'unsigned int' : 'unsigned long long';
  return `__device__ __forceinline__ int weft_pivot(const weft_number* a, int k, int lane) {
  ${bits} most = 0;
  int at = ${n};
  for (int row = k + (lane - k & ${WARP - 1}); row < ${n}; row += ${WARP}) {
    const weft_real size = weft_size(a[k * ${pitch} + row]);
    const ${bits} own = ${bitsOf(dtype)};
    if (own > most || at == ${n}) {
      most = own;
      at = row;
    }
  }
  for (int apart = ${WARP / 2}; apart > 0; apart /= 2) {
    const ${bits} other = __shfl_sync(0xffffffffu, most, lane ^ apart);
    const int place = __shfl_sync(0xffffffffu, at, lane ^ apart);
    if (place < ${n} && (at == ${n} || other > most || other == most && place < at)) {
      most = other;
      at = place;
    }
  }
  return at;
}
`;
};

/**
 * Factors with partial pivoting, the first of equal pivots. The warp that has updated the next column looks for its pivot at once,
 * and factors of a column are stored behind the barrier, where their rows go: two barriers a column.
 */
export function printBlockLu(dtype: DType, shape: SharedMatrix): string {
  const { columns: n, pitch, threads } = shape;
  const rows = rowsOfLane(n);
  return `${printNumber(dtype)}${printPivot(dtype, shape)}extern "C" __global__ void __launch_bounds__(${threads})
${BLOCK_LU_NAME}(unsigned int first_x, const weft_number* given, weft_number* lu, long long* pivots) {
${SHARED_NUMBERS}  __shared__ int next;
  const long long matrix = (long long)blockIdx.x + first_x;
  const int lane = threadIdx.x % ${WARP}, warp = threadIdx.x / ${WARP};
  given += matrix * ${n * n};
  lu += matrix * ${n * n};
  pivots += matrix * ${n};
  for (int i = threadIdx.x; i < ${n * n}; i += ${threads}) a[i / ${n} * ${pitch} + i % ${n}] = given[i];
  __syncthreads();
  if (warp == 0) {
    const int at = weft_pivot(a, 0, lane);
    if (lane == 0) next = at;
  }
  __syncthreads();
  // The factors of the column before, in the rows of a lane.
  weft_number below[${rows}];
  for (int k = 0; k < ${n}; k++) {
    const int at = next;
    if (threadIdx.x == 0) pivots[k] = at + 1;
    if (at != k)
      for (int j = threadIdx.x; j < ${n}; j += ${threads}) {
        if (j == k - 1) continue;
        const weft_number upper = a[j * ${pitch} + k];
        a[j * ${pitch} + k] = a[j * ${pitch} + at];
        a[j * ${pitch} + at] = upper;
      }
    if (k > 0 && warp == ${threads / WARP - 1}) {
#pragma unroll
      for (int r = 0; r < ${rows}; r++) {
        const int row = lane + ${WARP} * r;
        if (row >= k && row < ${n}) a[(k - 1) * ${pitch} + (row == k ? at : row == at ? k : row)] = below[r];
      }
    }
    __syncthreads();
    const weft_number pivot = a[k * ${pitch} + k];
    const bool is_zero = weft_is_zero(pivot);
#pragma unroll
    for (int r = 0; r < ${rows}; r++) {
      const int row = lane + ${WARP} * r;
      if (row <= k || row >= ${n}) continue;
      below[r] = a[k * ${pitch} + row];
      if (!is_zero) below[r] = weft_over(below[r], pivot);
    }
    for (int j = k + 1 + warp; j < ${n}; j += ${threads / WARP}) {
      const weft_number above = a[j * ${pitch} + k];
      if (!is_zero) {
#pragma unroll
        for (int r = 0; r < ${rows}; r++) {
          const int row = lane + ${WARP} * r;
          if (row > k && row < ${n}) a[j * ${pitch} + row] = weft_less(a[j * ${pitch} + row], below[r], above);
        }
      }
      if (j == k + 1) {
        __syncwarp();
        const int found = weft_pivot(a, j, lane);
        if (lane == 0) next = found;
      }
    }
    __syncthreads();
  }
  for (int i = threadIdx.x; i < ${n * n}; i += ${threads}) lu[i] = a[i / ${n} * ${pitch} + i % ${n}];
}
`;
}

export interface Triangle {
  readonly isUpper: boolean;
  readonly form: SmallForm;
  readonly hasUnitDiagonal: boolean;
}

/** Threads of a block that has a matrix of so many rows. */
export const threadsOf = (rows: number): number => (rows > 2 * WARP ? 256 : 128);
/** Right sides of a warp at most, which share the copy of a matrix into shared memory. */
const SIDES_OF_WARP = 4;
/** Blocks that share the right sides of a triangle of `n` columns. */
export const blocksOfSides = (n: number, sides: number): number =>
  Math.ceil((sides * WARP) / (threadsOf(n) * SIDES_OF_WARP));
/** Right sides that a warp of those solves one after the other. */
export const sidesOfWarp = (n: number, sides: number): number =>
  Math.ceil((sides * WARP) / (blocksOfSides(n, sides) * threadsOf(n)));

/** A warp's right side, `x[r]` in row `lane + 32 r`, solved with a triangle in shared memory. */
function printSubstitution(
  { isUpper, form, hasUnitDiagonal }: Triangle,
  { columns: n, pitch }: SharedMatrix,
): string {
  const turned = (i: string, j: string): string =>
    form === 2 ? `weft_conjugate(a[${i} * ${pitch} + ${j}])` : `a[${i} * ${pitch} + ${j}]`;
  const at = (i: string, j: string): string => (form === 0 ? `a[${j} * ${pitch} + ${i}]` : turned(i, j));
  const isForward = isUpper === (form !== 0);
  const rows = rowsOfLane(n);
  const step = (q: number): string => {
    const last = Math.min(n, WARP * (q + 1));
    const loop = isForward
      ? `for (int k = ${WARP * q}; k < ${last}; k++)`
      : `for (int k = ${last - 1}; k >= ${WARP * q}; k--)`;
    const divided = hasUnitDiagonal
      ? ''
      : `      if (lane == k - ${WARP * q}) x[${q}] = weft_over(x[${q}], ${at('k', 'k')});\n`;
    const others = Array.from({ length: rows }, (_, r) => r).filter((r) => (isForward ? r >= q : r <= q));
    return `    ${loop} {
${divided}      const weft_number found = weft_of_lane(x[${q}], k - ${WARP * q});
${others
  .map((r) => {
    const row = `lane + ${WARP * r}`;
    const inside = WARP * (r + 1) > n ? ` && ${row} < ${n}` : '';
    const beside = r === q ? (isForward ? `${row} > k` : `${row} < k`) : 'true';
    return `      if (${beside}${inside}) x[${r}] = weft_less(x[${r}], ${at(`(${row})`, 'k')}, found);\n`;
  })
  .join('')}    }
`;
  };
  const order = Array.from({ length: rows }, (_, q) => (isForward ? q : rows - 1 - q));
  return order.map(step).join('');
}

/** Right sides, a column after the other, solved with a triangle: by turns of the warps of all blocks of a matrix. */
export function printBlockTriangle(dtype: DType, shape: SharedMatrix, triangle: Triangle): string {
  const { columns: n, pitch, threads } = shape;
  const rows = rowsOfLane(n);
  return `${printNumber(dtype)}extern "C" __global__ void __launch_bounds__(${threads})
${BLOCK_TRIANGLE_NAME}(unsigned int first_x, const weft_number* given, const weft_number* triangle, weft_number* out,
    long long sides, long long parts) {
${SHARED_NUMBERS}  const long long block = (long long)blockIdx.x + first_x, matrix = block / parts, part = block % parts;
  const int lane = threadIdx.x % ${WARP}, warp = threadIdx.x / ${WARP};
  given += matrix * sides * ${n};
  out += matrix * sides * ${n};
  triangle += matrix * ${n * n};
  for (int i = threadIdx.x; i < ${n * n}; i += ${threads}) a[i / ${n} * ${pitch} + i % ${n}] = triangle[i];
  __syncthreads();
  for (long long side = part * ${threads / WARP} + warp; side < sides; side += parts * ${threads / WARP}) {
    weft_number x[${rows}];
#pragma unroll
    for (int r = 0; r < ${rows}; r++) {
      const int row = lane + ${WARP} * r;
      x[r] = row < ${n} ? given[side * ${n} + row] : weft_number{};
    }
${printSubstitution(triangle, shape)}#pragma unroll
    for (int r = 0; r < ${rows}; r++) {
      const int row = lane + ${WARP} * r;
      if (row < ${n}) out[side * ${n} + row] = x[r];
    }
  }
}
`;
}
