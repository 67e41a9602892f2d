/**
 * CUDA C of attention over halves by warpgroups of compute capability 9.0, after FlashAttention-3 (Shah et al., 2024).
 * The last warpgroup of a block copies tiles of K and V to rings in shared memory; each of the others has 64 rows of Q.
 * While the scores of a tile become exponentials, the product of the tile before with V is computed, and while one
 * warpgroup computes exponentials, another one's products are: they take turns.
 */
import {
  ATTENTION_NAME,
  type AttentionForm,
  attentionHead,
  attentionPlace,
  attentionTiles,
  type ScorePlaces,
  scoreText,
  wholeScoreText,
} from './attention-form.js';
import { printWarpgroupProduct } from './wgmma.js';

export interface WarpgroupsTile {
  /** Warpgroups that compute. */
  readonly groups: number;
  /** Rows of K and V of a tile. */
  readonly columns: number;
  /** Tiles of K, and of V, that are in shared memory at a time. */
  readonly stages: number;
  /** Registers of a thread that computes, and of one that copies. */
  readonly registers: readonly [computing: number, copying: number];
}

const GROUP = 128;
const GROUP_ROWS = 64;
/** Bytes of a row of a panel (`prelude-warpgroup.ts`), and of 8 of them, at whose multiples panels begin. */
const PANEL_ROW = 128;
const ALIGNMENT = 1024;
const BARRIER_BYTES = 8;

const HEAD_SIZES: readonly number[] = [64, 128];

/** Whether there is such a kernel of a form. */
export const isForWarpgroups = ({ inner, width }: AttentionForm): boolean =>
  HEAD_SIZES.includes(inner) && HEAD_SIZES.includes(width);

export function warpgroupsTile({ inner, width }: AttentionForm): WarpgroupsTile {
  const stages = inner + width > 128 ? 2 : 3;
  return { groups: 2, columns: 128, stages, registers: [232, 40] };
}

export const warpgroupsRows = ({ groups }: WarpgroupsTile): number => groups * GROUP_ROWS;
export const warpgroupsThreads = ({ groups }: WarpgroupsTile): number => (groups + 1) * GROUP;

/** Where parts of shared memory begin, in bytes. */
function placesOf({ inner, width }: AttentionForm, { groups, columns, stages }: WarpgroupsTile) {
  const [query, key, value] = [2 * GROUP_ROWS * inner, 2 * columns * inner, 2 * columns * width];
  const keys = groups * query;
  const values = keys + stages * key;
  const barriers = values + stages * value;
  return { query, key, value, keys, values, barriers, end: barriers + 4 * stages * BARRIER_BYTES };
}

export const warpgroupsSharedBytes = (form: AttentionForm, tile: WarpgroupsTile): number =>
  ALIGNMENT + placesOf(form, tile).end;

/** Copies rows of an operand to panels in shared memory by a warpgroup, those beyond the last one as zeros. */
function copyFunction(name: string, width: number, rows: number): string {
  const [step, panels] = [GROUP / 8, width / 64];
  const place = `to + weft_swizzled(row, chunk) + i * ${step * PANEL_ROW} + panel * ${rows * PANEL_ROW}`;
  const source = `at + i * ${step * width} + panel * 64`;
  const loop = `for (int i = 0; i < ${rows / step}; i++)
#pragma unroll
      for (int panel = 0; panel < ${panels}; panel++)`;
  return `__device__ __forceinline__ void ${name}(unsigned int to, const weft_element* __restrict__ from, int first, int count) {
  const int row = (threadIdx.x & ${GROUP - 1}) >> 3, chunk = threadIdx.x & 7;
  const weft_element* const at = from + (long long)(first + row) * ${width} + chunk * 8;
  if (first + ${rows} <= count) {
#pragma unroll
    ${loop} weft_copy_row_part(${place}, ${source}, true);
  } else {
#pragma unroll 1
    ${loop} {
        const bool is_there = first + row + i * ${step} < count;
        weft_copy_row_part(${place}, is_there ? ${source} : from, is_there);
      }
  }
  weft_end_group();
}
`;
}

function productFunctions({ inner, width, dtype }: AttentionForm, { columns }: WarpgroupsTile): string {
  const product = (right: number, isRightInRows: boolean) => ({ dtype, columns: right, isRightInRows });
  const panelStep = (rows: number): string => `((i >> 2) * ${rows * PANEL_ROW} + (i & 3) * 32 >> 4)`;
  return `${printWarpgroupProduct({ ...product(columns, false), name: 'weft_add_scores', isLeftHeld: false })}${printWarpgroupProduct({ ...product(width, true), name: 'weft_add_values', isLeftHeld: true })}/* Begins the scores of a tile. */
__device__ __forceinline__ void weft_begin_scores(float (&s)[${columns / 2}], unsigned long long q, unsigned long long k) {
#pragma unroll
  for (int i = 0; i < ${inner / 16}; i++) weft_add_scores(s, q + ${panelStep(GROUP_ROWS)}, k + ${panelStep(columns)}, i > 0);
  weft_products_group();
}
/* Begins to add the exponentials' product with a tile of V. */
__device__ __forceinline__ void weft_begin_values(float (&sums)[${width / 2}], const unsigned int (&p)[${columns / 16}][4], unsigned long long v) {
#pragma unroll
  for (int i = 0; i < ${columns / 16}; i++) weft_add_values(sums, p[i], v + (i * ${16 * PANEL_ROW} >> 4), true);
  weft_products_group();
}
`;
}

/** Scores become exponentials; \`factor\`: by what sums of before are scaled. */
const softmaxFunctions = ({ columns }: WarpgroupsTile): string => `struct weft_rows {
  float most[2], total[2], factor[2];
};
__device__ __forceinline__ void weft_exponentials(float (&s)[${columns / 2}], weft_rows& rows, float scale) {
#pragma unroll
  for (int h = 0; h < 2; h++) {
    float largest = s[2 * h], other = s[2 * h + 1];
#pragma unroll
    for (int c = 1; c < ${columns / 8}; c++) {
      largest = fmaxf(largest, s[4 * c + 2 * h]);
      other = fmaxf(other, s[4 * c + 2 * h + 1]);
    }
    largest = fmaxf(largest, other);
    largest = fmaxf(largest, weft_across(largest, 1));
    largest = fmaxf(largest, weft_across(largest, 2));
    const float next = fmaxf(rows.most[h], largest * scale);
    // A row of which nothing is there yet: no difference of infinities.
    const float base = next == -weft_infinity() ? 0.0f : next;
    rows.factor[h] = weft_power_of_two(rows.most[h] - base);
    rows.most[h] = next;
    float even = 0.0f, odd = 0.0f;
#pragma unroll
    for (int c = 0; c < ${columns / 8}; c++) {
      float &a = s[4 * c + 2 * h], &b = s[4 * c + 2 * h + 1];
      a = weft_power_of_two(fmaf(a, scale, -base));
      b = weft_power_of_two(fmaf(b, scale, -base));
      even += a;
      odd += b;
    }
    rows.total[h] = rows.total[h] * rows.factor[h] + (even + odd);
  }
}
__device__ __forceinline__ void weft_round(unsigned int (&p)[${columns / 16}][4], const float (&s)[${columns / 2}]) {
#pragma unroll
  for (int i = 0; i < ${columns / 4}; i++) p[i >> 2][i & 3] = weft_pair(s[2 * i], s[2 * i + 1], weft_element());
}
`;

const scorePlaces = (columns: number): ScorePlaces => ({
  loop: `#pragma unroll
      for (int i = 0; i < ${columns / 2}; i++)`,
  row: 'own_row + (i >> 1 & 1) * 8',
  column: 'first_column + (i >> 2) * 8 + t * 2 + (i & 1)',
  score: 's[i]',
});

/** A tile after the first: its scores, while the exponentials of the tile before are multiplied. */
function tileText(form: AttentionForm, tile: WarpgroupsTile, scores: string): string {
  const { groups, stages } = tile;
  const { key, value } = placesOf(form, tile);
  const { columns } = tile;
  const own = groups > 1 ? `      weft_turn_wait(${groups + 1} + group);\n` : '';
  const next =
    groups > 1
      ? `      if (group < ${groups - 1} || tile + 1 < tiles) weft_turn_give(group + 1 == ${groups} ? ${groups + 1} : ${groups + 2} + group);\n`
      : '';
  return `      const int first_column = tile * ${columns};
      weft_barrier_wait(keys_full + stage * 8, phase);
${own}      weft_keep(s);
      weft_keep(sums);
      weft_products_begin();
      weft_begin_scores(s, matrix_q, weft_matrix(keys + stage * ${key}, 16));
      weft_barrier_wait(values_full + stage_v * 8, phase_v);
      weft_begin_values(sums, p, weft_matrix(values + stage_v * ${value}, ${columns * PANEL_ROW}));
${next}      weft_products_wait<1>();
      weft_keep(s);
      if (lane == 0) weft_barrier_arrive(keys_free + stage * 8);
${scores}      weft_exponentials(s, rows, scale);
      weft_keep(s);
      if (__any_sync(0xffffffffu, rows.factor[0] != 1.0f || rows.factor[1] != 1.0f)) {
        weft_products_wait<0>();
        weft_keep(sums);
#pragma unroll
        for (int i = 0; i < ${form.width / 2}; i++) sums[i] *= rows.factor[i >> 1 & 1];
        weft_keep(sums);
      }
      weft_products_wait<0>();
      weft_keep(sums);
      if (lane == 0) weft_barrier_arrive(values_free + stage_v * 8);
      weft_round(p, s);
      if (++stage == ${stages}) stage = 0, phase ^= 1;
      if (++stage_v == ${stages}) stage_v = 0, phase_v ^= 1;
`;
}

/** The warpgroup that copies: K of a tile before V of the one before, as they are needed. */
function copyingText(form: AttentionForm, tile: WarpgroupsTile): string {
  const { columns, stages, registers } = tile;
  const { key, value } = placesOf(form, tile);
  return `    weft_fewer_registers<${registers[1]}>();
    if (tiles == 0) return;
    // The barrier of the copies before, which are awaited while the next ones are on their way.
    unsigned int before = 0, stage = 0, phase = 1, stage_v = 0, phase_v = 1;
#pragma unroll 1
    for (int tile = 0; tile <= tiles; tile++) {
      if (tile < tiles) {
        weft_barrier_wait(keys_free + stage * 8, phase);
        weft_copy_k(keys + stage * ${key}, k, tile * ${columns}, n);
        weft_wait_groups<1>();
        if (tile > 0) weft_barrier_arrive(before);
        before = keys_full + stage * 8;
        if (++stage == ${stages}) stage = 0, phase ^= 1;
      }
      if (tile > 0) {
        weft_barrier_wait(values_free + stage_v * 8, phase_v);
        weft_copy_v(values + stage_v * ${value}, v, (tile - 1) * ${columns}, n);
        weft_wait_groups<1>();
        weft_barrier_arrive(before);
        before = values_full + stage_v * 8;
        if (++stage_v == ${stages}) stage_v = 0, phase_v ^= 1;
      }
    }
    weft_wait_groups<0>();
    weft_barrier_arrive(before);
    return;
`;
}

/** How many tiles need no look at the ends of rows. */
const wholeTiles = ({ isCausal }: AttentionForm, columns: number): string =>
  isCausal
    ? `    const long long all = first_row + group * ${GROUP_ROWS} + 1 + (long long)offset;
    const int whole = (int)(all < 0 ? 0 : all < n ? all : n) / ${columns};
`
    : `    const int whole = n / ${columns};
`;

export function printWarpgroups(form: AttentionForm, tile: WarpgroupsTile): string {
  const { inner, width, dtype } = form;
  const { groups, columns, stages, registers } = tile;
  const [rows, threads] = [warpgroupsRows(tile), warpgroupsThreads(tile)];
  const { query, key, value, keys, values, barriers } = placesOf(form, tile);
  const element = dtype === 'float16' ? 'weft_half' : 'weft_bfloat';
  const places = scorePlaces(columns);
  const ring = stages * BARRIER_BYTES;
  return `typedef ${element} weft_element;
${copyFunction('weft_copy_q', inner, GROUP_ROWS)}${copyFunction('weft_copy_k', inner, columns)}${copyFunction('weft_copy_v', width, columns)}${productFunctions(form, tile)}${softmaxFunctions(tile)}extern "C" __global__ void __launch_bounds__(${threads}, 1)
${ATTENTION_NAME}(${attentionHead(form, 'weft_element')}) {
  extern __shared__ weft_chunk shared[];
  const unsigned int queries = ((unsigned int)__cvta_generic_to_shared(shared) + ${ALIGNMENT - 1}) & ~${ALIGNMENT - 1}u;
  const unsigned int keys = queries + ${keys}, values = queries + ${values};
  const unsigned int keys_full = queries + ${barriers}, values_full = keys_full + ${ring};
  const unsigned int keys_free = keys_full + ${2 * ring}, values_free = keys_full + ${3 * ring};
${attentionPlace(form, rows)}${attentionTiles(form, rows, columns)}  const int group = __shfl_sync(0xffffffffu, (int)threadIdx.x >> 7, 0);
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < ${stages}; stage++) {
      weft_barrier_begin(keys_full + stage * 8, ${GROUP});
      weft_barrier_begin(values_full + stage * 8, ${GROUP});
      weft_barrier_begin(keys_free + stage * 8, ${groups * 4});
      weft_barrier_begin(values_free + stage * 8, ${groups * 4});
    }
  }
  if (group < ${groups}) weft_copy_q(queries + group * ${query}, q, first_row + group * ${GROUP_ROWS}, m);
  weft_wait_groups<0>();
  __syncthreads();
  if (group == ${groups}) {
${copyingText(form, tile)}  }
  weft_more_registers<${registers[0]}>();
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, g = lane >> 2, t = lane & 3;
  const int own_row = first_row + warp * 16 + g;
  const unsigned long long matrix_q = weft_matrix(queries + group * ${query}, 16);
  float s[${columns / 2}], sums[${width / 2}] = {};
  unsigned int p[${columns / 16}][4];
  weft_rows rows = {{-weft_infinity(), -weft_infinity()}, {}, {}};
  if (tiles > 0) {
    const int first_column = 0;
    weft_barrier_wait(keys_full, 0);
    weft_products_begin();
    weft_begin_scores(s, matrix_q, weft_matrix(keys, 16));
    weft_products_wait<0>();
    weft_keep(s);
    if (lane == 0) weft_barrier_arrive(keys_free);
${scoreText(form, columns, places)}    weft_exponentials(s, rows, scale);
    weft_round(p, s);
    unsigned int stage = ${1 % stages}, phase = ${stages === 1 ? 1 : 0}, stage_v = 0, phase_v = 0;
    int tile = 1;
${wholeTiles(form, columns)}${groups > 1 ? `    if (group == ${groups - 1} && tiles > 1) weft_turn_give(${groups + 1});\n` : ''}#pragma unroll 1
    for (; tile < whole; tile++) {
${tileText(form, tile, wholeScoreText(form, places))}    }
#pragma unroll 1
    for (; tile < tiles; tile++) {
${tileText(form, tile, scoreText(form, columns, places))}    }
    weft_barrier_wait(values_full + stage_v * 8, phase_v);
    weft_keep(sums);
    weft_products_begin();
    weft_begin_values(sums, p, weft_matrix(values + stage_v * ${value}, ${columns * PANEL_ROW}));
    weft_products_wait<0>();
    weft_keep(sums);
  }
#pragma unroll
  for (int h = 0; h < 2; h++) {
    float sum = rows.total[h];
    sum += weft_across(sum, 1);
    sum += weft_across(sum, 2);
    const float inverse = 1.0f / sum;
    const int row = own_row + h * 8;
    if (row >= m) continue;
#pragma unroll
    for (int c = 0; c < ${width / 8}; c++)
      *(unsigned int*)(out + (long long)row * ${width} + c * 8 + t * 2) = weft_pair(sums[4 * c + 2 * h] * inverse, sums[4 * c + 2 * h + 1] * inverse, weft_element());
  }
}
`;
}
