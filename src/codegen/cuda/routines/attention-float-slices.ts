/**
 * CUDA C of attention over float32 in full precision, in heads of up to 128: a warp has rows of Q by itself, a block's tiles
 * of K and V pass through shared memory in slices, two at a time. The 32 threads of a warp are 4 by 8, of which each has
 * some rows and columns: such that neighbours of a lane load what it does, and a load of 16 bytes is one pass for half of a
 * warp. Q, K and exponentials lie transposed: a step of a product needs a column of either operand.
 */
import { InternalError } from '../../../host/errors.js';
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

export interface SlicesTile {
  /** Rows of Q that a thread has, and columns of scores: multiples of 4. */
  readonly rows: 4 | 8;
  readonly columns: 4 | 8;
  readonly warps: number;
  /** Blocks that should fit a multiprocessor, which bounds registers. */
  readonly blocks: number;
}

/** Threads of a warp that have other rows, and that have other columns. */
const DOWN = 4;
const RIGHT = 8;
const KEY_SLICES: readonly number[] = [32, 16, 8];
/** The cost of a slice beside its products, in those of so many numbers of a row. */
const SLICE_COST = 4;
/** The fewest rows of V in a slice. */
const VALUE_SLICE = 16;

/** The most elements of a row of Q or V. */
const MOST_WIDTH = 128;

/** Blocks of 128 rows that each have a multiprocessor of an H200 by themselves, where half as many rows do better. */
const FEW_BLOCKS = 132;

/** The fastest first, as measured on an H200. */
export function slicesTiles(
  { inner, width }: AttentionForm,
  { batch, m }: { readonly batch: number; readonly m: number },
): readonly SlicesTile[] {
  if (Math.max(inner, width) > MOST_WIDTH) return [];
  const large: SlicesTile = { rows: 8, columns: 8, warps: 4, blocks: 2 };
  const isFew = batch * Math.ceil(m / slicesRows(large)) <= FEW_BLOCKS;
  return [
    isFew ? { ...large, rows: 4 } : large,
    { rows: 4, columns: 8, warps: 8, blocks: 1 },
    { rows: 4, columns: 8, warps: 4, blocks: 1 },
  ];
}

const roundUp = (count: number, multiple: number): number => Math.ceil(count / multiple) * multiple;

export const slicesThreads = ({ warps }: SlicesTile): number => warps * DOWN * RIGHT;
export const slicesRows = ({ rows, warps }: SlicesTile): number => warps * DOWN * rows;
export const slicesColumns = ({ columns }: SlicesTile): number => RIGHT * columns;

/** Numbers of rows of K in a slice: few are left over, and few slices, of which each costs a barrier. */
function keyRowsOf(inner: number): number {
  const costOf = (rows: number): number => Math.ceil(inner / rows) * (rows + SLICE_COST);
  return KEY_SLICES.reduce((best, rows) => (costOf(rows) < costOf(best) ? rows : best));
}

/** How operands lie in shared memory, in numbers. */
function layoutOf({ inner, width }: Pick<AttentionForm, 'inner' | 'width'>, tile: SlicesTile) {
  const [rows, columns] = [slicesRows(tile), slicesColumns(tile)];
  /** Neighbouring columns of the result that a thread has, and how often. */
  const vector = width > 16 ? 4 : width > 8 ? 2 : 1;
  const times = Math.ceil(width / (RIGHT * vector));
  const padded = RIGHT * vector * times;
  const keyRows = keyRowsOf(inner);
  const innerRows = roundUp(inner, keyRows);
  const keySlices = innerRows / keyRows;
  // Copies write 4 columns of 8 rows of Kᵀ at a time, which lie in different banks.
  const pitch = columns + 4;
  let valueRows = VALUE_SLICE;
  while (2 * valueRows <= columns && 2 * valueRows * padded <= keyRows * pitch) valueRows *= 2;
  const slice = Math.max(keyRows * pitch, valueRows * padded);
  return { rows, columns, vector, times, padded, keySlices, keyRows, pitch, valueRows, slice, innerRows };
}

export function slicesSharedBytes(form: AttentionForm, tile: SlicesTile): number {
  const { rows, columns, innerRows, slice } = layoutOf(form, tile);
  return 4 * ((innerRows + columns) * rows + 2 * slice);
}

/** Copies numbers of rows in memory as columns in shared memory. */
interface TransposedCopy {
  readonly name: string;
  /** Numbers of a row that there is room for. */
  readonly innerRows: number;
  /** Of the copy, which begins at some number of some row. */
  readonly rows: number;
  readonly columns: number;
  readonly pitch: number;
  readonly warps: number;
}

/** A warp copies 8 numbers of 4 rows at a time, 32 bytes in a row; what is beyond the ends is zero. */
function transposedCopy(form: AttentionForm, copy: TransposedCopy): string {
  const { name, innerRows, rows, columns, pitch, warps } = copy;
  const { inner } = form;
  const fromRow = pitchText(form, inner);
  const groups = rows / 8;
  const units = (groups * columns) / 4;
  if (warps % groups !== 0 || units % warps !== 0)
    throw new InternalError('warps that copy no whole columns');
  const isWithin = innerRows > inner ? `first_number + row < ${inner}` : 'true';
  const step = (4 * warps) / groups;
  const loop = (unroll: string, isThere: string): string => `#pragma unroll ${unroll}
    for (int i = 0; i < ${columns}; i += ${step}) {
      const bool is_there = ${isThere};
      weft_copy_number(to + i, ${isThere === 'true' ? `place + i * ${fromRow}` : `is_there ? place + i * ${fromRow} : from`}, is_there);
    }
`;
  return `__device__ __forceinline__ void ${name}(float* to, const float* __restrict__ from, int first, int first_number, int count${pitchParameter(form)}) {
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const int row = warp % ${groups} * 8 + (lane & 7), column = warp / ${groups} * 4 + (lane >> 3);
  const float* const place = from + (long long)(first + column) * ${fromRow} + first_number + row;
  to += row * ${pitch} + column;
  if (first + ${columns} <= count) {
${loop('', isWithin)}  } else {
${loop('1', `first + column + i < count && ${isWithin}`)}  }
}
`;
}

/** Copies rows of a slice of V. */
function valueCopy(form: AttentionForm, padded: number, rows: number, threads: number): string {
  const { width } = form;
  const fromRow = pitchText(form, width);
  const chunk = width % 4 === 0 ? 4 : 1;
  const chunks = padded / chunk;
  const units = rows * chunks;
  const isWhole = padded === width && threads % chunks === 0;
  const copy = (at: string, place: string, isThere: string): string =>
    chunk === 4
      ? `weft_copy_chunk((weft_chunk*)to + ${at}, ${place}, ${isThere});`
      : `weft_copy_number(to + ${at}, ${place}, ${isThere});`;
  const each = `#pragma unroll 1
    for (int k = threadIdx.x; k < ${units}; k += ${threads}) {
      const int row = k / ${chunks}, column = k % ${chunks} * ${chunk};
      const bool is_there = first + row < count && column < ${width};
      ${copy('k', `from + (is_there ? (long long)(first + row) * ${fromRow} + column : 0)`, 'is_there')}
    }
`;
  const whole = `  if (first + ${rows} <= count) {
    const int row = threadIdx.x / ${chunks}, column = threadIdx.x % ${chunks} * ${chunk};
    const float* const place = from + (long long)(first + row) * ${fromRow} + column;
#pragma unroll
    for (int i = 0; i < ${rows}; i += ${threads / chunks}) ${copy(`i * ${chunks} + (int)threadIdx.x`, `place + i * ${fromRow}`, 'true')}
  } else {
${each}  }
`;
  return `__device__ __forceinline__ void weft_copy_v(float* to, const float* __restrict__ from, int first, int count${pitchParameter(form)}) {
${isWhole ? whole : each}}
`;
}

/** Combines numbers of a thread's rows over the 8 threads that have these: a thread gets that of row x · rows / 8. */
function acrossText(name: string, rows: number, combine: (a: string, b: string) => string): string {
  const steps: string[] = [];
  let [bit, half] = [RIGHT, rows / 2];
  for (; half >= 1; half /= 2, bit /= 2)
    steps.push(`  {
    const bool is_upper = (lane & ${bit}) != 0;
#pragma unroll
    for (int r = 0; r < ${half}; r++) {
      const float mine = is_upper ? a[r + ${half}] : a[r], other = is_upper ? a[r] : a[r + ${half}];
      a[r] = ${combine('mine', `weft_across(other, ${bit})`)};
    }
  }
`);
  for (; bit > 1; bit /= 2) steps.push(`  a[0] = ${combine('a[0]', `weft_across(a[0], ${bit})`)};\n`);
  return `__device__ __forceinline__ float ${name}(float (&a)[${rows}], int lane) {
${steps.join('')}  return a[0];
}
`;
}

/** The number of a row that the thread has which `acrossText` gives it to. */
const ofRow = (value: string, rows: number): string =>
  `weft_of_lane(${value}, (lane & 17) | r * ${(2 * RIGHT) / rows})`;

/** A product of columns of transposed operands, which is added to sums. */
interface ProductText {
  readonly steps: number;
  readonly unroll: number;
  /** Four rows, and neighbouring columns, of a step. */
  readonly left: string;
  readonly right: string;
  readonly rows: number;
  readonly sums: string;
  readonly vector: number;
  readonly times: number;
  /** Whether even columns come before odd ones. */
  readonly isWide: boolean;
}

/**
 * Columns one after the other, down and up again: one factor of an instruction is then that of the one before, and the two
 * other operands lie in different banks of registers. Row by row, heads of 128 take an H200 3 % longer.
 */
const productText = ({
  steps,
  unroll,
  left,
  right,
  rows,
  sums,
  vector,
  times,
  isWide,
}: ProductText): string => {
  const type = vector === 4 ? 'weft_four' : 'weft_some';
  const columns = times * vector;
  const column = isWide ? `i < ${columns / 2} ? 2 * i : 2 * (${columns - 1} - i) + 1` : 'i';
  return `#pragma unroll ${unroll}
      for (int step = 0; step < ${steps}; step++) {
        weft_four a[${rows / 4}];
        ${type} b[${times}];
#pragma unroll
        for (int r = 0; r < ${rows / 4}; r++) a[r] = *(const weft_four*)(${left});
#pragma unroll
        for (int c = 0; c < ${times}; c++) b[c] = *(const ${type}*)(${right});
#pragma unroll
        for (int i = 0; i < ${columns}; i++)
#pragma unroll
          for (int j = 0; j < ${rows}; j++) {
            const int c = ${column}, r = i & 1 ? ${rows - 1} - j : j;
            ${sums}[r][c] = fmaf(a[r / 4].v[r % 4], b[c / ${vector}].v[c % ${vector}], ${sums}[r][c]);
          }
      }
`;
};

/** Scores become exponentials, which are stored by columns; what was summed before is scaled where a maximum grew. */
function softmaxText(
  tile: SlicesTile,
  { rows, resultColumns }: { rows: number; resultColumns: number },
): string {
  const { rows: R, columns: C } = tile;
  return `      float each[${R}];
#pragma unroll
      for (int r = 0; r < ${R}; r++) {
        each[r] = s[r][0];
#pragma unroll
        for (int c = 1; c < ${C}; c++) each[r] = fmaxf(each[r], s[r][c]);
      }
      const float next = fmaxf(most, weft_largest(each, lane) * scale);
      // A row of which nothing is there yet: no difference of infinities.
      const float base = next == -weft_infinity() ? 0.0f : next;
      const float factor = weft_power_of_two(most - base);
      most = next;
#pragma unroll
      for (int r = 0; r < ${R}; r++) {
        const float row_base = ${ofRow('base', R)};
        each[r] = 0.0f;
#pragma unroll
        for (int c = 0; c < ${C}; c++) {
          s[r][c] = weft_power_of_two(fmaf(s[r][c], scale, -row_base));
          each[r] += s[r][c];
        }
      }
      total = total * factor + weft_sum(each, lane);
#pragma unroll
      for (int c = 0; c < ${C}; c++)
#pragma unroll
        for (int i = 0; i < ${R / 4}; i++) {
          weft_four powers;
#pragma unroll
          for (int e = 0; e < 4; e++) powers.v[e] = s[i * 4 + e][c];
          *(weft_four*)(shared_p + (c / 4 * 32 + x * 4 + c % 4) * ${rows} + ((warp * ${R} + i * 4 + y) ^ (x & 3) << 1) * 4) = powers;
        }
      if (__ballot_sync(0xffffffffu, factor != 1.0f) != 0) {
#pragma unroll
        for (int r = 0; r < ${R}; r++) {
          const float row_factor = ${ofRow('factor', R)};
#pragma unroll
          for (int c = 0; c < ${resultColumns}; c++) sums[r][c] *= row_factor;
        }
      }
`;
}

export function printSlices(form: AttentionForm, tile: SlicesTile): string {
  const { rows: R, columns: C, warps, blocks } = tile;
  const layout = layoutOf(form, tile);
  const { rows, columns, vector, times, padded, keySlices, keyRows, pitch, valueRows, slice, innerRows } =
    layout;
  const threads = slicesThreads(tile);
  const copies = [
    { name: 'weft_copy_q', columns: rows, pitch: rows },
    { name: 'weft_copy_k', columns, pitch },
  ].map((each) => transposedCopy(form, { ...each, rows: keyRows, innerRows, warps }));
  const resultColumns = times * vector;
  const isWide = resultColumns > 8;
  return `struct __align__(16) weft_four {
  float v[4];
};
struct __align__(${4 * vector}) weft_some {
  float v[${vector}];
};
${copies.join('')}${valueCopy(form, padded, valueRows, threads)}${acrossText('weft_largest', R, (a, b) => `fmaxf(${a}, ${b})`)}${acrossText('weft_sum', R, (a, b) => `${a} + ${b}`)}extern "C" __global__ void __launch_bounds__(${threads}, ${blocks})
${ATTENTION_NAME}(${attentionHead(form, 'float')}) {
  extern __shared__ weft_chunk shared[];
  float* const shared_q = (float*)shared;
  float* const shared_p = shared_q + ${innerRows * rows};
  float* const slices = shared_p + ${columns * rows};
${attentionPlace(form, rows)}  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const int x = lane >> 1 & 7, y = (lane & 1) | lane >> 4 << 1;
  const int own_row = first_row + warp * ${DOWN * R} + y * 4;
  float sums[${R}][${resultColumns}] = {};
  // Of the row that this thread has of those of its place.
  float most = -weft_infinity(), total = 0.0f;
${attentionTiles(form, rows, columns)}#pragma unroll 1
  for (int part = 0; part < ${keySlices}; part++)
    weft_copy_q(shared_q + part * ${keyRows * rows}, q, first_row, part * ${keyRows}, m${pitchArgument(form, 'q')});
  weft_copy_k(slices, k, 0, 0, n${pitchArgument(form, 'k')});
  int slice = 0;
#pragma unroll 1
  for (int tile = 0; tile < tiles; tile++) {
    const int first_column = tile * ${columns};
    {
      float s[${R}][${C}] = {};
#pragma unroll 1
      for (int part = 0; part < ${keySlices}; part++) {
        weft_wait_copies();
        __syncthreads();
        const float* const slice_k = slices + slice * ${slice} + x * 4;
        const float* const slice_q = shared_q + part * ${keyRows * rows} + warp * ${DOWN * R} + y * 4;
        slice ^= 1;
        if (part + 1 < ${keySlices}) weft_copy_k(slices + slice * ${slice}, k, first_column, (part + 1) * ${keyRows}, n${pitchArgument(form, 'k')});
        else weft_copy_v(slices + slice * ${slice}, v, first_column, n${pitchArgument(form, 'v')});
${productText({
  steps: keyRows,
  unroll: isWide ? 16 : 8,
  left: `slice_q + step * ${rows} + r * 16`,
  right: `slice_k + step * ${pitch} + c * 32`,
  rows: R,
  sums: 's',
  vector: 4,
  times: C / 4,
  isWide: false,
})}      }
${scoreText(form, columns, {
  loop: `#pragma unroll
      for (int r = 0; r < ${R}; r++)
#pragma unroll
        for (int c = 0; c < ${C}; c++)`,
  row: 'own_row + r / 4 * 16 + r % 4',
  column: 'first_column + c / 4 * 32 + x * 4 + c % 4',
  score: 's[r][c]',
})}${softmaxText(tile, { rows, resultColumns })}    }
#pragma unroll 1
    for (int part = 0; part < ${columns / valueRows}; part++) {
      weft_wait_copies();
      // Exponentials are those of the warp itself.
      __syncthreads();
      const float* const slice_v = slices + slice * ${slice} + x * ${vector};
      const float* const slice_p = shared_p + part * ${valueRows * rows};
      slice ^= 1;
      if (part + 1 < ${columns / valueRows}) weft_copy_v(slices + slice * ${slice}, v, first_column + (part + 1) * ${valueRows}, n${pitchArgument(form, 'v')});
      else if (tile + 1 < tiles) weft_copy_k(slices + slice * ${slice}, k, first_column + ${columns}, 0, n${pitchArgument(form, 'k')});
${productText({
  steps: valueRows,
  unroll: 8,
  left: `slice_p + step * ${rows} + ((warp * ${R} + r * 4 + y) ^ (step / 4 & 3) << 1) * 4`,
  right: `slice_v + step * ${padded} + c * ${RIGHT * vector}`,
  rows: R,
  sums: 'sums',
  vector,
  times,
  isWide,
})}    }
  }
  weft_wait_copies();
#pragma unroll
  for (int r = 0; r < ${R}; r++) {
    const float inverse = 1.0f / ${ofRow('total', R)};
    const int row = own_row + r / 4 * 16 + r % 4;
    if (row >= m) continue;
#pragma unroll
    for (int c = 0; c < ${times}; c++) {
      const int column = (c * ${RIGHT} + x) * ${vector};
${storeResult(form, vector, `sums[r][c * ${vector} + e] * inverse`)}    }
  }
}
`;
}
