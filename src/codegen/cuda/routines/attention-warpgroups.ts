/**
 * CUDA C of attention over halves by warpgroups of compute capability 9.0, after FlashAttention-3 (Shah et al., 2024).
 * The last warpgroup of a block copies tiles of K and V to rings in shared memory; each of the others has 64 rows of Q.
 * While the scores of a tile become exponentials, the product of the tile before with V is computed.
 */
import {
  ATTENTION_NAME,
  type AttentionForm,
  attentionHead,
  attentionPlace,
  attentionTiles,
  pitchArgument,
  resultPitch,
  type ScorePlaces,
  scoreText,
  wholeScoreText,
} from './attention-form.js';
import { copyFunction, productFunctions, softmaxFunctions } from './attention-warpgroup-functions.js';
import {
  ALIGNMENT,
  BARRIER_BYTES,
  GROUP,
  GROUP_ROWS,
  PANEL_ROW,
  placesOf,
  registersOf,
  type WarpgroupsTile,
  warpgroupsRows,
  warpgroupsThreads,
} from './attention-warpgroup-tile.js';

const scorePlaces = (columns: number): ScorePlaces => ({
  loop: `#pragma unroll
      for (int i = 0; i < ${columns / 2}; i++)`,
  row: 'own_row + (i >> 1 & 1) * 8',
  column: 'first_column + (i >> 2) * 8 + t * 2 + (i & 1)',
  score: 's[i]',
});

/** A tile after the first: its scores, while the exponentials of the tile before are multiplied. */
function tileText(form: AttentionForm, tile: WarpgroupsTile, scores: string): string {
  const { columns, stages } = tile;
  const { key, value } = placesOf(form, tile);
  return `      const int first_column = tile * ${columns};
      weft_barrier_wait(keys_full + stage * 8, phase);
      weft_keep(s);
      weft_keep(sums);
      weft_products_begin();
      weft_begin_scores(s, matrix_q, weft_matrix(keys + stage * ${key}, 16));
      weft_barrier_wait(values_full + stage_v * 8, phase_v);
      weft_begin_values(sums, p, weft_matrix(values + stage_v * ${value}, ${columns * PANEL_ROW}));
      weft_products_wait<1>();
      weft_keep(s);
      if (lane == 0) weft_barrier_arrive(keys_free + stage * 8);
${scores}      weft_exponentials(s, rows, scale);
      weft_keep(s);
      // Has ended: the loop keeps the wait for products behind exponentials.
      weft_barrier_wait(values_full + stage_v * 8, phase_v);
      weft_products_wait<0>();
      weft_keep(sums);
      if (lane == 0) weft_barrier_arrive(values_free + stage_v * 8);
      if (__any_sync(0xffffffffu, rows.factor[0] != 1.0f || rows.factor[1] != 1.0f)) {
#pragma unroll
        for (int i = 0; i < ${form.width / 2}; i++) sums[i] *= rows.factor[i >> 1 & 1];
      }
      weft_keep(sums);
      weft_round(p, s);
      if (++stage == ${stages}) stage = 0, phase ^= 1;
      if (++stage_v == ${stages}) stage_v = 0, phase_v ^= 1;
`;
}

/** The warpgroup that copies: K of a tile before V of the one before, as they are needed. */
function copyingText(form: AttentionForm, tile: WarpgroupsTile): string {
  const { groups, columns, stages } = tile;
  const { key, value } = placesOf(form, tile);
  return `    weft_fewer_registers<${registersOf(groups).copying}>();
    if (tiles == 0) return;
    // The barrier of the copies before, which are awaited while the next ones are on their way.
    unsigned int before = 0, stage = 0, phase = 1, stage_v = 0, phase_v = 1;
#pragma unroll 1
    for (int tile = 0; tile <= tiles; tile++) {
      if (tile < tiles) {
        weft_barrier_wait(keys_free + stage * 8, phase);
        weft_copy_k(keys + stage * ${key}, k, tile * ${columns}, n${pitchArgument(form, 'k')});
        weft_wait_groups<1>();
        if (tile > 0) weft_barrier_arrive(before);
        before = keys_full + stage * 8;
        if (++stage == ${stages}) stage = 0, phase ^= 1;
      }
      if (tile > 0) {
        weft_barrier_wait(values_free + stage_v * 8, phase_v);
        weft_copy_v(values + stage_v * ${value}, v, (tile - 1) * ${columns}, n${pitchArgument(form, 'v')});
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

/** The tiles that rows of a warpgroup have, and how many of them need no look at the ends of rows. */
function ownTiles(form: AttentionForm, columns: number): string {
  const row = `const int group_row = first_row + group * ${GROUP_ROWS};\n`;
  const tiles = attentionTiles(form, GROUP_ROWS, columns, { row: 'group_row', tiles: 'group_tiles' });
  const whole = form.isCausal
    ? `  const long long all = group_row + 1 + (long long)offset;
  const int own = group_row < m ? group_tiles : 0, whole = (int)(all < 0 ? 0 : all < n ? all : n) / ${columns};
`
    : `  const int own = group_row < m ? group_tiles : 0, whole = n / ${columns};
`;
  return `  ${row}${tiles}${whole}`;
}

/** Barriers begin; the last warpgroup copies K and V, the others Q. */
function beginningText(form: AttentionForm, tile: WarpgroupsTile): string {
  const { groups, stages } = tile;
  const registers = registersOf(groups);
  const { query } = placesOf(form, tile);
  return `  if (threadIdx.x == 0) {
    for (int stage = 0; stage < ${stages}; stage++) {
      weft_barrier_begin(keys_full + stage * 8, ${GROUP});
      weft_barrier_begin(values_full + stage * 8, ${GROUP});
      weft_barrier_begin(keys_free + stage * 8, ${groups * 4});
      weft_barrier_begin(values_free + stage * 8, ${groups * 4});
    }
  }
  __syncthreads();
  if (group == ${groups}) {
${copyingText(form, tile)}  }
  weft_more_registers<${registers.computing}>();
  weft_copy_q(queries + group * ${query}, q, first_row + group * ${GROUP_ROWS}, m${pitchArgument(form, 'q')});
  weft_wait_groups<0>();
  weft_group_wait(1 + group);
`;
}

/** The tiles of a warpgroup that computes. */
function computingText(form: AttentionForm, tile: WarpgroupsTile): string {
  const { width } = form;
  const { columns, stages } = tile;
  const { query, value } = placesOf(form, tile);
  const places = scorePlaces(columns);
  return `  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, g = lane >> 2, t = lane & 3;
  const int own_row = first_row + warp * 16 + g;
${ownTiles(form, columns)}  const unsigned long long matrix_q = weft_matrix(queries + group * ${query}, 16);
  float s[${columns / 2}], sums[${width / 2}] = {};
  unsigned int p[${columns / 16}][4];
  weft_rows rows = {{-weft_infinity(), -weft_infinity()}, {}, {}};
  // Of the next tile of K and the next of V: its place in the ring, and the parity of the phase that brings it.
  unsigned int stage = 0, phase = 0, stage_v = 0, phase_v = 0;
  if (own > 0) {
    const int first_column = 0;
    weft_barrier_wait(keys_full, 0);
    weft_products_begin();
    weft_begin_scores(s, matrix_q, weft_matrix(keys, 16));
    weft_products_wait<0>();
    weft_keep(s);
    if (lane == 0) weft_barrier_arrive(keys_free);
${scoreText(form, columns, places)}    weft_exponentials(s, rows, scale);
    weft_round(p, s);
    if (++stage == ${stages}) stage = 0, phase ^= 1;
    int tile = 1;
#pragma unroll 1
    for (; tile < whole; tile++) {
${tileText(form, tile, wholeScoreText(form, places))}    }
#pragma unroll 1
    for (; tile < own; tile++) {
${tileText(form, tile, scoreText(form, columns, places))}    }
    weft_barrier_wait(values_full + stage_v * 8, phase_v);
    weft_keep(sums);
    weft_products_begin();
    weft_begin_values(sums, p, weft_matrix(values + stage_v * ${value}, ${columns * PANEL_ROW}));
    weft_products_wait<0>();
    weft_keep(sums);
    if (lane == 0) weft_barrier_arrive(values_free + stage_v * 8);
    if (++stage_v == ${stages}) stage_v = 0, phase_v ^= 1;
  }
`;
}

/** Sums are divided by those of exponentials, and stored; tiles that other warpgroups alone need pass. */
const endingText = (form: AttentionForm, stages: number): string => `#pragma unroll
  for (int h = 0; h < 2; h++) {
    float sum = rows.total[h];
    sum += weft_across(sum, 1);
    sum += weft_across(sum, 2);
    const float inverse = 1.0f / sum;
    const int row = own_row + h * 8;
    if (row >= m) continue;
#pragma unroll
    for (int c = 0; c < ${form.width / 8}; c++)
      *(unsigned int*)(out + (long long)row * ${resultPitch(form)} + c * 8 + t * 2) = weft_pair(sums[4 * c + 2 * h] * inverse, sums[4 * c + 2 * h + 1] * inverse, weft_element());
  }
#pragma unroll 1
  for (int tile = own; tile < tiles; tile++) {
    weft_barrier_wait(keys_full + stage * 8, phase);
    weft_barrier_wait(values_full + stage_v * 8, phase_v);
    __syncwarp();
    if (lane == 0) {
      weft_barrier_arrive(keys_free + stage * 8);
      weft_barrier_arrive(values_free + stage_v * 8);
    }
    if (++stage == ${stages}) stage = 0, phase ^= 1;
    if (++stage_v == ${stages}) stage_v = 0, phase_v ^= 1;
  }
`;

export function printWarpgroups(form: AttentionForm, tile: WarpgroupsTile): string {
  const { inner, width, dtype } = form;
  const { columns, stages } = tile;
  const [rows, threads] = [warpgroupsRows(tile), warpgroupsThreads(tile)];
  const { keys, values, barriers } = placesOf(form, tile);
  const element = dtype === 'float16' ? 'weft_half' : 'weft_bfloat';
  const ring = stages * BARRIER_BYTES;
  return `typedef ${element} weft_element;
${copyFunction(form, 'weft_copy_q', inner, GROUP_ROWS)}${copyFunction(form, 'weft_copy_k', inner, columns)}${copyFunction(form, 'weft_copy_v', width, columns)}${productFunctions(form, tile)}${softmaxFunctions(tile)}extern "C" __global__ void __launch_bounds__(${threads}, 1)
${ATTENTION_NAME}(${attentionHead(form, 'weft_element')}) {
  extern __shared__ weft_chunk shared[];
  const unsigned int queries = ((unsigned int)__cvta_generic_to_shared(shared) + ${ALIGNMENT - 1}) & ~${ALIGNMENT - 1}u;
  const unsigned int keys = queries + ${keys}, values = queries + ${values};
  const unsigned int keys_full = queries + ${barriers}, values_full = keys_full + ${ring};
  const unsigned int keys_free = keys_full + ${2 * ring}, values_free = keys_full + ${3 * ring};
${attentionPlace(form, rows)}${attentionTiles(form, rows, columns)}  const int group = __shfl_sync(0xffffffffu, (int)threadIdx.x >> 7, 0);
${beginningText(form, tile)}${computingText(form, tile)}${endingText(form, stages)}}
`;
}
