/**
 * CUDA C of attention over float32, in full precision, in heads of more than 128 and where there is little shared memory
 * (else `attention-float-slices.ts`): a block of 16 × 16 threads has rows of Q and passes over tiles of
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
  scoreText,
  storeResult,
} from './attention-form.js';

export interface FloatsTile {
  /** Rows of Q that a thread has, and columns of scores. */
  readonly rows: number;
  readonly columns: number;
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

/** The fastest first, of heads that slices do not have (`attention-float-slices.ts`) or devices without room for these. */
export const FLOATS_TILES: readonly FloatsTile[] = [
  { rows: 4, columns: 2 },
  { rows: 2, columns: 1 },
  { rows: 1, columns: 1 },
];

export const floatsRows = ({ rows }: FloatsTile): number => SIDE * rows;
export const floatsColumns = ({ columns }: FloatsTile): number => SIDE * columns;

export function floatsSharedBytes({ inner, width }: AttentionForm, tile: FloatsTile): number {
  const [rows, columns] = [floatsRows(tile), floatsColumns(tile)];
  const chunks =
    (rows + columns) * pitchOf(inner) + columns * (paddedWidth(width) / 4) + rows * pitchOf(columns);
  return 16 * chunks;
}

/** Copies rows to shared memory, those beyond the last one, and columns beyond the last one, as zeros. */
function copyFunction(
  form: AttentionForm,
  name: string,
  width: number,
  chunks: number,
  pitch: number,
  rows: number,
): string {
  const fromRow = pitchText(form, width);
  const isPartial = (rows * chunks) % FLOATS_THREADS !== 0;
  const head = `__device__ __forceinline__ void ${name}(weft_chunk* to, const float* __restrict__ from, int first, int count${pitchParameter(form)}) {
#pragma unroll
  for (int i = 0; i < ${rows * chunks}; i += ${FLOATS_THREADS}) {
    const int k = i + (int)threadIdx.x, row = k / ${chunks}, chunk = k % ${chunks}, at = first + row;
${isPartial ? `    if (k >= ${rows * chunks}) break;\n` : ''}`;
  const copy =
    width % 4 === 0
      ? `    const bool is_there = at < count${chunks * 4 > width ? ` && chunk < ${width / 4}` : ''};
    weft_copy_chunk(to + row * ${pitch} + chunk, from + (is_there ? (long long)at * ${fromRow} + chunk * 4 : 0), is_there);
`
      : `    float* const place = (float*)(to + row * ${pitch} + chunk);
#pragma unroll
    for (int j = 0; j < 4; j++)
      place[j] = at < count && chunk * 4 + j < ${width} ? from[(long long)at * ${fromRow} + chunk * 4 + j] : 0.0f;
`;
  return `${head}${copy}  }
}
`;
}

export function printFloats(form: AttentionForm, tile: FloatsTile): string {
  const { inner, width } = form;
  const { rows: R, columns: C } = tile;
  const [rows, columns] = [floatsRows(tile), floatsColumns(tile)];
  const { vector, times } = resultColumns(width);
  const E = paddedWidth(width);
  const [pitchD, pitchP] = [pitchOf(inner), pitchOf(columns)];
  return `struct __align__(16) weft_four {
  float v[4];
};
struct __align__(${4 * vector}) weft_some {
  float v[${vector}];
};
${copyFunction(form, 'weft_copy_q', inner, chunksOf(inner), pitchD, rows)}${copyFunction(form, 'weft_copy_k', inner, chunksOf(inner), pitchD, columns)}${copyFunction(form, 'weft_copy_v', width, E / 4, E / 4, columns)}extern "C" __global__ void __launch_bounds__(${FLOATS_THREADS}, 1)
${ATTENTION_NAME}(${attentionHead(form, 'float')}) {
  extern __shared__ weft_chunk shared[];
  weft_chunk* const shared_q = shared;
  weft_chunk* const shared_k = shared_q + ${rows * pitchD};
  weft_chunk* const shared_v = shared_k + ${columns * pitchD};
${attentionPlace(form, rows)}  const int x = threadIdx.x & 15, y = threadIdx.x >> 4;
  const weft_four* const thread_q = (const weft_four*)shared_q + y * ${pitchD};
  const weft_four* const thread_k = (const weft_four*)shared_k + x * ${pitchD};
  const weft_some* const thread_v = (const weft_some*)shared_v + x;
  weft_four* const thread_p = (weft_four*)(shared_v + ${columns * (E / 4)}) + y * ${pitchP};
  float sums[${R}][${times}][${vector}] = {}, most[${R}], total[${R}] = {};
  for (int r = 0; r < ${R}; r++) most[r] = -weft_infinity();
${attentionTiles(form, rows, columns)}  weft_copy_q(shared_q, q, first_row, m${pitchArgument(form, 'q')});
  weft_copy_k(shared_k, k, 0, n${pitchArgument(form, 'k')});
  for (int tile = 0; tile < tiles; tile++) {
    const int first_column = tile * ${columns};
    weft_wait_copies();
    __syncthreads();
    weft_copy_v(shared_v, v, first_column, n${pitchArgument(form, 'v')});
    float s[${R}][${C}] = {};
#pragma unroll 4
    for (int step = 0; step < ${chunksOf(inner)}; step++) {
      weft_four b[${C}];
#pragma unroll
      for (int c = 0; c < ${C}; c++) b[c] = thread_k[c * ${SIDE * pitchD} + step];
#pragma unroll
      for (int r = 0; r < ${R}; r++) {
        const weft_four a = thread_q[r * ${SIDE * pitchD} + step];
#pragma unroll
        for (int e = 0; e < 4; e++)
#pragma unroll
          for (int c = 0; c < ${C}; c++) s[r][c] = fmaf(a.v[e], b[c].v[e], s[r][c]);
      }
    }
${scoreText(form, columns, {
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
        ((float*)(thread_p + r * ${SIDE * pitchP}))[x + c * ${SIDE}] = power;
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
    if (tile + 1 < tiles) weft_copy_k(shared_k, k, first_column + ${columns}, n${pitchArgument(form, 'k')});
#pragma unroll 2
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
${storeResult(form, vector, 'sums[r][c][e] / sum')}    }
  }
}
`;
}
