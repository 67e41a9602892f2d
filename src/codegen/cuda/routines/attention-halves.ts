/**
 * CUDA C of attention over halves on tensor cores, after FlashAttention-2 (Dao, 2023): a block has rows of Q, a warp 16
 * or 32 of them. It passes over tiles of K and V: scores are sums in registers, exponentials of them become the left
 * operand of the product with V where they are, and what was summed before is scaled when a row's maximum grows. While
 * the scores of a tile are computed, its rows of V are copied to shared memory; while they are multiplied, the next of K.
 */
import {
  ATTENTION_NAME,
  type AttentionForm,
  attentionHead,
  attentionPlace,
  attentionTiles,
  pitchArgument,
  pitchParameter,
  pitchText,
  resultPitch,
  scoreText,
} from './attention-form.js';

export interface HalvesTile {
  readonly warps: number;
  /** Stretches of 16 rows that a warp has. */
  readonly stretches: number;
  /** Rows of K and V of a tile. */
  readonly columns: number;
  /** Blocks that should fit a multiprocessor, which bounds registers. */
  readonly blocks: number;
}

/** Chunks of 8 halves from row to row in shared memory: an odd number, so that 8 rows lie in different banks. */
const pitchOf = (width: number): number => (width / 8) | 1;

const padded = (width: number): number => Math.ceil(width / 16) * 16;

/** The fastest first, as measured on an H100; `blockCount`: how many blocks of 256 rows there are. */
export function halvesTiles(inner: number, width: number, blockCount: number): readonly HalvesTile[] {
  const most = Math.max(padded(inner), padded(width));
  if (most <= 64) return [{ warps: 4, stretches: 2, columns: 64, blocks: 2 }];
  const narrow = { warps: 4, stretches: 2, columns: 32, blocks: 2 };
  if (most <= 128)
    return blockCount < FILLING_BLOCKS
      ? [narrow]
      : [{ warps: 8, stretches: 2, columns: 64, blocks: 1 }, narrow];
  return [
    { warps: 8, stretches: 1, columns: 32, blocks: 1 },
    { warps: 4, stretches: 1, columns: 16, blocks: 1 },
  ];
}

/** As many as fill an H100. */
const FILLING_BLOCKS = 132;

export const halvesRows = ({ warps, stretches }: HalvesTile): number => warps * stretches * 16;

export function halvesSharedBytes({ inner, width }: AttentionForm, tile: HalvesTile): number {
  const chunks =
    (halvesRows(tile) + tile.columns) * pitchOf(padded(inner)) + tile.columns * pitchOf(padded(width));
  return 16 * chunks;
}

/** Copies rows to shared memory, those beyond the last one as zeros. */
function copyFunction(
  form: AttentionForm,
  name: string,
  width: number,
  rows: string,
  threads: number,
): string {
  const fromRow = pitchText(form, width);
  const [chunks, pitch] = [padded(width) / 8, pitchOf(padded(width))];
  const head = `__device__ __forceinline__ void ${name}(weft_chunk* to, const weft_element* __restrict__ from, int first, int count${pitchParameter(form)}) {
#pragma unroll
  for (int i = 0; i < (${rows}) * ${chunks}; i += ${threads}) {
    const int k = i + (int)threadIdx.x, row = k / ${chunks}, chunk = k % ${chunks}, at = first + row;
    if ((${rows}) * ${chunks} % ${threads} != 0 && k >= (${rows}) * ${chunks}) break;
`;
  const copy =
    width % 8 === 0
      ? `    const bool is_there = at < count${width < padded(width) ? ` && chunk < ${width / 8}` : ''};
    weft_copy_chunk(to + row * ${pitch} + chunk, from + (is_there ? (long long)at * ${fromRow} + chunk * 8 : 0), is_there);
`
      : `    weft_chunk found = {};
#pragma unroll
    for (int j = 0; j < 8; j++)
      if (at < count && chunk * 8 + j < ${width}) found.v[j / 2] |= (unsigned int)from[(long long)at * ${fromRow} + chunk * 8 + j].bits << 16 * (j & 1);
    to[row * ${pitch} + chunk] = found;
`;
  return `${head}${copy}  }
}
`;
}

export function printHalves(form: AttentionForm, tile: HalvesTile): string {
  const { inner, width, dtype } = form;
  const { warps, stretches, columns, blocks } = tile;
  const [rows, threads] = [halvesRows(tile), warps * 32];
  const [D, E] = [padded(inner), padded(width)];
  const [pitchD, pitchE] = [pitchOf(D), pitchOf(E)];
  const element = dtype === 'float16' ? 'weft_half' : 'weft_bfloat';
  return `typedef ${element} weft_element;
${copyFunction(form, 'weft_copy_q', inner, `${rows}`, threads)}${copyFunction(form, 'weft_copy_k', inner, `${columns}`, threads)}${copyFunction(form, 'weft_copy_v', width, `${columns}`, threads)}extern "C" __global__ void __launch_bounds__(${threads}, ${blocks})
${ATTENTION_NAME}(${attentionHead(form, 'weft_element')}) {
  extern __shared__ weft_chunk shared[];
  weft_chunk* const shared_q = shared;
  weft_chunk* const shared_k = shared_q + ${rows * pitchD};
  weft_chunk* const shared_v = shared_k + ${columns * pitchD};
${attentionPlace(form, rows)}  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, g = lane >> 2, t = lane & 3;
  const int warp_row = warp * ${stretches * 16};
  // The rows of matrices that this lane says where they are.
  const weft_chunk* const lane_q = shared_q + (warp_row + (lane & 15)) * ${pitchD} + (lane >> 4);
  const weft_chunk* const lane_k = shared_k + ((lane >> 4) * 8 + (lane & 7)) * ${pitchD} + (lane >> 3 & 1);
  const weft_chunk* const lane_v = shared_v + (lane & 15) * ${pitchE} + (lane >> 4);
  float sums[${stretches}][${E / 8}][4] = {}, most[${stretches}][2], total[${stretches}][2] = {};
  for (int r = 0; r < ${stretches}; r++) most[r][0] = most[r][1] = -weft_infinity();
${attentionTiles(form, rows, columns)}  weft_copy_q(shared_q, q, first_row, m${pitchArgument(form, 'q')});
  weft_copy_k(shared_k, k, 0, n${pitchArgument(form, 'k')});
  for (int tile = 0; tile < tiles; tile++) {
    const int first_column = tile * ${columns};
    weft_wait_copies();
    __syncthreads();
    weft_copy_v(shared_v, v, first_column, n${pitchArgument(form, 'v')});
    float s[${stretches}][${columns / 8}][4] = {};
#pragma unroll
    for (int step = 0; step < ${D / 16}; step++) {
      unsigned int a[${stretches}][4];
#pragma unroll
      for (int r = 0; r < ${stretches}; r++) weft_load_matrices(a[r], lane_q + r * ${16 * pitchD} + step * 2);
#pragma unroll
      for (int c = 0; c < ${columns / 16}; c++) {
        unsigned int b[4];
        weft_load_matrices(b, lane_k + c * ${16 * pitchD} + step * 2);
#pragma unroll
        for (int r = 0; r < ${stretches}; r++) {
          weft_multiply_add(s[r][2 * c], a[r], b[0], b[1], weft_element());
          weft_multiply_add(s[r][2 * c + 1], a[r], b[2], b[3], weft_element());
        }
      }
    }
${scoreText(form, columns, {
  loop: `#pragma unroll
      for (int r = 0; r < ${stretches}; r++)
#pragma unroll
        for (int c = 0; c < ${columns / 8}; c++)
#pragma unroll
          for (int e = 0; e < 4; e++)`,
  row: 'first_row + warp_row + r * 16 + g + (e >> 1) * 8',
  column: 'first_column + c * 8 + t * 2 + (e & 1)',
  score: 's[r][c][e]',
})}    weft_wait_copies();
    __syncthreads();
    if (tile + 1 < tiles) weft_copy_k(shared_k, k, first_column + ${columns}, n${pitchArgument(form, 'k')});
#pragma unroll
    for (int r = 0; r < ${stretches}; r++)
#pragma unroll
      for (int h = 0; h < 2; h++) {
        float largest = s[r][0][2 * h];
#pragma unroll
        for (int c = 0; c < ${columns / 8}; c++) largest = fmaxf(largest, fmaxf(s[r][c][2 * h], s[r][c][2 * h + 1]));
        largest = fmaxf(largest, weft_across(largest, 1));
        largest = fmaxf(largest, weft_across(largest, 2));
        const float next = fmaxf(most[r][h], largest * scale);
        // A row of which nothing is there yet: no difference of infinities.
        const float base = next == -weft_infinity() ? 0.0f : next;
        const float factor = weft_power_of_two(most[r][h] - base);
        most[r][h] = next;
        float sum = 0.0f;
#pragma unroll
        for (int c = 0; c < ${columns / 8}; c++)
#pragma unroll
          for (int e = 2 * h; e < 2 * h + 2; e++) {
            s[r][c][e] = weft_power_of_two(fmaf(s[r][c][e], scale, -base));
            sum += s[r][c][e];
          }
        total[r][h] = total[r][h] * factor + sum;
#pragma unroll
        for (int c = 0; c < ${E / 8}; c++) {
          sums[r][c][2 * h] *= factor;
          sums[r][c][2 * h + 1] *= factor;
        }
      }
#pragma unroll
    for (int step = 0; step < ${columns / 16}; step++) {
      unsigned int a[${stretches}][4];
#pragma unroll
      for (int r = 0; r < ${stretches}; r++)
#pragma unroll
        for (int j = 0; j < 4; j++)
          a[r][j] = weft_pair(s[r][2 * step + (j >> 1)][2 * (j & 1)], s[r][2 * step + (j >> 1)][2 * (j & 1) + 1], weft_element());
#pragma unroll
      for (int c = 0; c < ${E / 16}; c++) {
        unsigned int b[4];
        weft_load_transposed(b, lane_v + step * ${16 * pitchE} + c * 2);
#pragma unroll
        for (int r = 0; r < ${stretches}; r++) {
          weft_multiply_add(sums[r][2 * c], a[r], b[0], b[1], weft_element());
          weft_multiply_add(sums[r][2 * c + 1], a[r], b[2], b[3], weft_element());
        }
      }
    }
  }
  weft_wait_copies();
#pragma unroll
  for (int r = 0; r < ${stretches}; r++)
#pragma unroll
    for (int h = 0; h < 2; h++) {
      float sum = total[r][h];
      sum += weft_across(sum, 1);
      sum += weft_across(sum, 2);
      const int row = first_row + warp_row + r * 16 + g + h * 8;
      if (row < m) {
#pragma unroll
        for (int c = 0; c < ${E / 8}; c++) {
          const int column = c * 8 + t * 2;
          const unsigned int pair = weft_pair(sums[r][c][2 * h] / sum, sums[r][c][2 * h + 1] / sum, weft_element());
${storePair(width, resultPitch(form))}        }
      }
    }
}
`;
}

/** Two neighbours of the result, of which a row may lack one or both. */
function storePair(width: number, pitch: string): string {
  if (width % 2 === 0)
    return `          if (${width % 16 === 0 ? 'true' : `column < ${width}`}) *(unsigned int*)(out + (long long)row * ${pitch} + column) = pair;
`;
  return `          if (column < ${width}) out[(long long)row * ${pitch} + column] = weft_element{(unsigned short)pair};
          if (column + 1 < ${width}) out[(long long)row * ${pitch} + column + 1] = weft_element{(unsigned short)(pair >> 16)};
`;
}
