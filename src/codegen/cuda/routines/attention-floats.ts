/**
 * CUDA C of attention over float32, in full precision: a block of 16 × 16 threads has rows of Q and passes over tiles of
 * K and V as the kernel for halves does (`attention-halves.ts`). A thread has the scores of some rows and every 16th
 * column; exponentials go through shared memory, where the 16 threads of a row, half a warp, read them again.
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

export interface FloatsTile {
  /** Rows of Q that a thread has, and columns of scores. */
  readonly rows: number;
  readonly columns: number;
  readonly blocks: number;
  /**
   * The part of a row of K that has a place of its own, to which it is copied while the product with V is computed; the rest
   * takes turns with exponentials in one place, and is copied while scores of the first part are computed.
   */
  readonly ahead: 1 | 0.25;
}

const SIDE = 16;
export const FLOATS_THREADS = SIDE * SIDE;

const chunksOf = (width: number): number => Math.ceil(width / 4);
/** Chunks of 4 numbers from row to row in shared memory: an odd number, so that 8 rows lie in different banks. */
const pitchOf = (width: number): number => chunksOf(width) | 1;

/** Neighbouring columns of the result that a thread has, and how often. */
function resultColumns(width: number): { readonly vector: 1 | 2 | 4; readonly times: number } {
  const vector = width > 32 ? 4 : width > 16 ? 2 : 1;
  return { vector, times: Math.ceil(width / (SIDE * vector)) };
}

const paddedWidth = (width: number): number => {
  const { vector, times } = resultColumns(width);
  return SIDE * vector * times;
};

/** Elements of a row of K from which on parts of it are worth places of their own. */
const LEAST_APART = 32;
/** Beyond, threads of 8 × 8 scores have no registers for their columns of the result. */
const MOST_APART = 64;

/** The fastest first, as measured on an H100 and an H200. */
export function floatsTiles(inner: number, width: number): readonly FloatsTile[] {
  const small = [
    { rows: 4, columns: 2, blocks: 1, ahead: 1 },
    { rows: 2, columns: 1, blocks: 1, ahead: 1 },
    { rows: 1, columns: 1, blocks: 1, ahead: 1 },
  ] as const;
  if (Math.max(inner, width) > 128) return small;
  const large = { rows: 8, columns: 8, blocks: 1, ahead: 0.25 } as const;
  const isWorth = inner >= LEAST_APART && Math.max(inner, width) <= MOST_APART;
  return [...(isWorth ? [large] : []), { ...large, columns: 4, ahead: 1 }, ...small];
}

export const floatsRows = ({ rows }: FloatsTile): number => SIDE * rows;
export const floatsColumns = ({ columns }: FloatsTile): number => SIDE * columns;

export function floatsSharedBytes({ inner, width }: AttentionForm, tile: FloatsTile): number {
  const [rows, columns] = [floatsRows(tile), floatsColumns(tile)];
  const { ahead, rest } = keyParts(inner, tile);
  const shared = Math.max(rows * pitchOf(columns), columns * rest.pitch);
  const chunks = rows * pitchOf(inner) + columns * ahead.pitch + columns * (paddedWidth(width) / 4) + shared;
  return 16 * chunks;
}

/** Chunks of a row of K that are copied ahead, and the others; from row to row of both in shared memory. */
function keyParts(inner: number, tile: FloatsTile) {
  const all = chunksOf(inner);
  const first = Math.ceil(all * tile.ahead);
  const part = (chunks: number) => ({ chunks, pitch: chunks === 0 ? 0 : chunks | 1 });
  return { ahead: part(first), rest: part(all - first) };
}

/** Chunks of rows of so many numbers that are copied, and from row to row of the copies. */
interface CopiedRows {
  readonly width: number;
  readonly rows: number;
  readonly first?: number;
  readonly chunks: number;
  readonly pitch: number;
}

/** Copies rows to shared memory, those beyond the last one, and columns beyond the last one, as zeros. */
function copyFunction(
  form: AttentionForm,
  name: string,
  { width, rows, first = 0, chunks, pitch }: CopiedRows,
): string {
  const fromRow = pitchText(form, width);
  const isPartial = (rows * chunks) % FLOATS_THREADS !== 0;
  const head = `__device__ __forceinline__ void ${name}(weft_chunk* to, const float* __restrict__ from, int first, int count${pitchParameter(form)}) {
#pragma unroll
  for (int i = 0; i < ${rows * chunks}; i += ${FLOATS_THREADS}) {
    const int k = i + (int)threadIdx.x, row = k / ${chunks}, chunk = k % ${chunks}, at = first + row;
${isPartial ? `    if (k >= ${rows * chunks}) break;\n` : ''}`;
  const column = first === 0 ? 'chunk * 4' : `${first * 4} + chunk * 4`;
  const copy =
    width % 4 === 0
      ? `    const bool is_there = at < count${(first + chunks) * 4 > width ? ` && ${column} < ${width}` : ''};
    weft_copy_chunk(to + row * ${pitch} + chunk, from + (is_there ? (long long)at * ${fromRow} + ${column} : 0), is_there);
`
      : `    float* const place = (float*)(to + row * ${pitch} + chunk);
#pragma unroll
    for (int j = 0; j < 4; j++)
      place[j] = at < count && ${column} + j < ${width} ? from[(long long)at * ${fromRow} + ${column} + j] : 0.0f;
`;
  return `${head}${copy}  }
}
`;
}

/** Adds the products of some chunks of rows of Q and K to scores. */
function scoresText(
  { rows: R, columns: C }: FloatsTile,
  key: string,
  first: number,
  chunks: number,
  pitchQ: number,
  pitchK: number,
): string {
  return `#pragma unroll ${C === 4 ? 8 : 4}
    for (int step = 0; step < ${chunks}; step++) {
      weft_four b[${C}];
#pragma unroll
      for (int c = 0; c < ${C}; c++) b[c] = ${key}[c * ${SIDE * pitchK} + step];
#pragma unroll
      for (int r = 0; r < ${R}; r++) {
        const weft_four a = thread_q[r * ${SIDE * pitchQ} + ${first === 0 ? '' : `${first} + `}step];
#pragma unroll
        for (int e = 0; e < 4; e++)
#pragma unroll
          for (int c = 0; c < ${C}; c++) s[r][c] = fmaf(a.v[e], b[c].v[e], s[r][c]);
      }
    }
`;
}

export function printFloats(form: AttentionForm, tile: FloatsTile): string {
  const { inner, width } = form;
  const { rows: R, columns: C, blocks } = tile;
  const [rows, columns] = [floatsRows(tile), floatsColumns(tile)];
  const { vector, times } = resultColumns(width);
  const E = paddedWidth(width);
  const [pitchD, pitchP] = [pitchOf(inner), pitchOf(columns)];
  const { ahead, rest } = keyParts(inner, tile);
  const isApart = rest.chunks === 0;
  const putText = `((float*)(thread_p + r * ${SIDE * pitchP}))[x + c * ${SIDE}] = power;`;
  return `struct __align__(16) weft_four {
  float v[4];
};
struct __align__(${4 * vector}) weft_some {
  float v[${vector}];
};
${copyFunction(form, 'weft_copy_q', { width: inner, rows, chunks: chunksOf(inner), pitch: pitchD })}${copyFunction(form, 'weft_copy_k', { width: inner, rows: columns, ...ahead })}${rest.chunks > 0 ? copyFunction(form, 'weft_copy_rest', { width: inner, rows: columns, first: ahead.chunks, ...rest }) : ''}${copyFunction(form, 'weft_copy_v', { width, rows: columns, chunks: E / 4, pitch: E / 4 })}extern "C" __global__ void __launch_bounds__(${FLOATS_THREADS}, ${blocks})
${ATTENTION_NAME}(${attentionHead(form, 'float')}) {
  extern __shared__ weft_chunk shared[];
  weft_chunk* const shared_q = shared;
  weft_chunk* const shared_k = shared_q + ${rows * pitchD};
  weft_chunk* const shared_v = shared_k + ${columns * ahead.pitch};
  weft_chunk* const shared_p = shared_v + ${columns * (E / 4)};
${attentionPlace(form, rows)}  const int x = threadIdx.x & 15, y = threadIdx.x >> 4;
  const weft_four* const thread_q = (const weft_four*)shared_q + y * ${pitchD};
  const weft_four* const thread_k = (const weft_four*)shared_k + x * ${ahead.pitch};${
    isApart
      ? ''
      : `
  const weft_four* const thread_rest = (const weft_four*)shared_p + x * ${rest.pitch};`
  }
  const weft_some* const thread_v = (const weft_some*)shared_v + x;
  weft_four* const thread_p = (weft_four*)shared_p + y * ${pitchP};
  float sums[${R}][${times}][${vector}] = {}, most[${R}], total[${R}] = {};
  for (int r = 0; r < ${R}; r++) most[r] = -weft_infinity();
${attentionTiles(form, rows, columns)}  weft_copy_q(shared_q, q, first_row, m${pitchArgument(form, 'q')});
  weft_copy_k(shared_k, k, 0, n${pitchArgument(form, 'k')});
  for (int tile = 0; tile < tiles; tile++) {
    const int first_column = tile * ${columns};
    weft_wait_copies();
    __syncthreads();
    weft_copy_v(shared_v, v, first_column, n${pitchArgument(form, 'v')});
${
  isApart
    ? ''
    : `    weft_copy_rest(shared_p, k, first_column, n${pitchArgument(form, 'k')});
`
}    float s[${R}][${C}] = {};
${scoresText(tile, 'thread_k', 0, ahead.chunks, pitchD, ahead.pitch)}${
  isApart
    ? ''
    : `    weft_wait_copies();
    __syncthreads();
    if (tile + 1 < tiles) weft_copy_k(shared_k, k, first_column + ${columns}, n${pitchArgument(form, 'k')});
${scoresText(tile, 'thread_rest', ahead.chunks, rest.chunks, pitchD, rest.pitch)}`
}${scoreText(form, columns, {
  loop: `#pragma unroll
      for (int r = 0; r < ${R}; r++)
#pragma unroll
        for (int c = 0; c < ${C}; c++)`,
  row: `first_row + y + r * ${SIDE}`,
  column: `first_column + x + c * ${SIDE}`,
  score: 's[r][c]',
})}#pragma unroll
    for (int r = 0; r < ${R}; r++) {
      float largest = s[r][0];
#pragma unroll
      for (int c = 1; c < ${C}; c++) largest = fmaxf(largest, s[r][c]);
#pragma unroll
      for (int apart = 8; apart > 0; apart /= 2) largest = fmaxf(largest, weft_across(largest, apart));
      const float next = fmaxf(most[r], largest * scale);
      // A row of which nothing is there yet: no difference of infinities.
      const float base = next == -weft_infinity() ? 0.0f : next;
      const float factor = weft_power_of_two(most[r] - base);
      most[r] = next;
      float sum = 0.0f;
#pragma unroll
      for (int c = 0; c < ${C}; c++) {
        const float power = weft_power_of_two(fmaf(s[r][c], scale, -base));
        ${isApart ? putText : 's[r][c] = power;'}
        sum += power;
      }
      total[r] = total[r] * factor + sum;
#pragma unroll
      for (int c = 0; c < ${times}; c++)
#pragma unroll
        for (int e = 0; e < ${vector}; e++) sums[r][c][e] *= factor;
    }
    weft_wait_copies();
    __syncthreads();
${
  isApart
    ? `    if (tile + 1 < tiles) weft_copy_k(shared_k, k, first_column + ${columns}, n${pitchArgument(form, 'k')});
`
    : `    // Rows of exponentials are read by the half of a warp that has them.
#pragma unroll
    for (int r = 0; r < ${R}; r++)
#pragma unroll
      for (int c = 0; c < ${C}; c++) {
        const float power = s[r][c];
        ${putText}
      }
    __syncwarp();
`
}#pragma unroll 4
    for (int step = 0; step < ${columns / 4}; step++) {
      weft_some b[4][${times}];
#pragma unroll
      for (int j = 0; j < 4; j++)
#pragma unroll
        for (int c = 0; c < ${times}; c++) b[j][c] = thread_v[(step * 4 + j) * ${E / vector} + c * ${SIDE}];
#pragma unroll
      for (int r = 0; r < ${R}; r++) {
        const weft_four a = thread_p[r * ${SIDE * pitchP} + step];
#pragma unroll
        for (int j = 0; j < 4; j++)
#pragma unroll
          for (int c = 0; c < ${times}; c++)
#pragma unroll
            for (int e = 0; e < ${vector}; e++) sums[r][c][e] = fmaf(a.v[j], b[j][c].v[e], sums[r][c][e]);
      }
    }
  }
  weft_wait_copies();
#pragma unroll
  for (int r = 0; r < ${R}; r++) {
    float sum = total[r];
#pragma unroll
    for (int apart = 8; apart > 0; apart /= 2) sum += weft_across(sum, apart);
    const int row = first_row + y + r * ${SIDE};
    if (row >= m) continue;
#pragma unroll
    for (int c = 0; c < ${times}; c++) {
      const int column = (c * ${SIDE} + x) * ${vector};
${storeText(width, vector, resultPitch(form))}    }
  }
}
`;
}

/** Neighbours of the result, of which a row may lack some. */
function storeText(width: number, vector: number, pitch: string): string {
  if (width % vector !== 0)
    return `#pragma unroll
      for (int e = 0; e < ${vector}; e++)
        if (column + e < ${width}) out[(long long)row * ${pitch} + column + e] = sums[r][c][e] / sum;
`;
  return `      weft_some result;
#pragma unroll
      for (int e = 0; e < ${vector}; e++) result.v[e] = sums[r][c][e] / sum;
      if (column < ${width}) *(weft_some*)(out + (long long)row * ${pitch} + column) = result;
`;
}
