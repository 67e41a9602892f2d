/**
 * CUDA C of the product of two sparse matrices, row by row: some lanes of a warp have a row, go through the first matrix's
 * row in order and gather products in a hash table in shared memory, each lane those of another column of the second
 * one's row; so a sum has the order of the first row, and needs no atomic addition (Deveci, Trott and Rajamanickam,
 * "Multithreaded sparse matrix-matrix multiplication for many-core and GPU architectures", 2018). Rows with more elements
 * than a small table holds are listed, and gathered by a warp each in a large one; where that is too small as well, in
 * dense lines of so many columns, one stretch of columns after another. Launches are made by
 * `exec/calls/sparse-matmul.ts`.
 */

import { CUDA_TYPE } from '../../../graph/cuda-expressions.js';
import { byteLengthOf, type DType, isComplex, isFloat } from '../../../graph/dtype.js';
import { carriedDType } from '../../../graph/scan-tiles.js';
import { printNumbers } from './scan-numbers.js';
import { printSparseTail, SPARSE_UNIT } from './sparse-units.js';

export const MATMUL_NAME = 'weft_sparse_matmul';
export const MATMUL_LONG_NAME = 'weft_sparse_matmul_long';
export const MATMUL_CLEAR_NAME = 'weft_sparse_matmul_clear';
/** Bytes of the number of a unit's listed rows, before them. */
export const LISTED_AT = 256;

export interface MatmulForm {
  /** Of the elements; undefined: they are counted. */
  readonly dtype?: DType | undefined;
  readonly indexDType: DType;
  /** Of the product's columns. */
  readonly placeDType: DType;
  /** Lanes that have a row. */
  readonly lanes: number;
  /** Slots of a row's table. */
  readonly slots: number;
  /** Whether rows may have more elements than its table holds. */
  readonly hasLong: boolean;
}

/** Bytes of shared memory that a block may have. */
const SHARED = 48 * 1024;
/** Bytes of a slot: a key, its place in the order, and a sum. */
const slotBytes = ({ dtype, placeDType }: Pick<MatmulForm, 'dtype' | 'placeDType'>): number =>
  (dtype === undefined ? 0 : byteLengthOf(carriedDType('sum', dtype))) + byteLengthOf(placeDType) + 2;

/** Threads of a block: fewer of large tables. */
export const matmulThreads = (form: MatmulForm): number =>
  (128 / form.lanes) * form.slots * slotBytes(form) <= SHARED ? 128 : 64;

/** Slots of a table that are used: with those that the lanes of a step add, there is one free still. */
const usedOf = (slots: number): number => (slots * 3) / 4;

/**
 * The table for rows of up to so many elements, by lanes that are as many as a row of the second matrix has elements. Where
 * a table that holds any row takes half the threads of a block, it is worth them; beside a list of long rows it is small.
 */
export function matmulTable(
  elements: number,
  rowLength: number,
  types: Pick<MatmulForm, 'dtype' | 'placeDType'>,
): Pick<MatmulForm, 'lanes' | 'slots' | 'hasLong'> {
  const lanes = Math.min(32, Math.max(4, powerFrom(rowLength)));
  const most = lanes * Math.min(32, powerUpTo(SHARED / 64 / slotBytes(types)));
  const wanted = Math.max(4 * lanes, powerFrom((elements * 4) / 3 + 1));
  const slots = wanted <= most ? wanted : most / 2;
  return { lanes, slots, hasLong: elements > usedOf(slots) };
}

const powerUpTo = (size: number): number => 2 ** Math.floor(Math.log2(size));
const powerFrom = (size: number): number => 2 ** Math.ceil(Math.log2(Math.max(1, size)));

/** Slots of a long row's table. */
const longSlots = (form: MatmulForm): number => Math.min(2048, powerUpTo(SHARED / slotBytes(form)));

const timesOf = (dtype: DType): string => {
  if (isComplex(dtype))
    return `  return weft_wide{__dmul_rn(a.re, b.re) - __dmul_rn(a.im, b.im), __dmul_rn(a.re, b.im) + __dmul_rn(a.im, b.re)};`;
  return `  return ${isFloat(dtype) ? '__dmul_rn(a, b)' : 'a * b'};`;
};

const ALL = '0xffffffffu';

/** Types, and what a row's lanes share. Counted elements have no values: their sums are left out by `hasSums`. */
const printHead = ({ dtype, indexDType, placeDType }: MatmulForm): string => {
  const key = placeDType === 'int32' ? 'unsigned int' : 'unsigned long long';
  const numbers =
    dtype === undefined
      ? 'typedef char weft_element;\n'
      : `${printNumbers({ dtype, op: 'sum' })}__device__ __forceinline__ weft_wide weft_times(weft_wide a, weft_wide b) {\n${timesOf(dtype)}\n}\n`;
  return `${numbers}typedef ${CUDA_TYPE[indexDType]} weft_index;
typedef ${CUDA_TYPE[placeDType]} weft_place;
typedef ${key} weft_key;
typedef ${indexDType === 'int32' ? 'unsigned int' : 'long long'} weft_at;
#define WEFT_NONE ((weft_key)-1)
struct weft_line {
  const weft_index* starts;
  const weft_index* places;
  const weft_element* values;
  weft_at rows, stored;
};
/* Of int32 lines places take 32 bits, with those of the lanes beyond an end. */
__device__ __forceinline__ weft_at weft_within(weft_index at, weft_at size) {
  return at < 0 ? (weft_at)0 : (weft_at)at < size ? (weft_at)at : size;
}
/* The listed rows of a unit: how many, and which. */
struct weft_list {
  unsigned long long* count;
  long long* rows;
};
__device__ __forceinline__ weft_list weft_list_of(char* work, long long unit, long long unit_rows) {
  char* own = work + unit * (${LISTED_AT} + 8 * unit_rows);
  return {(unsigned long long*)own, (long long*)(own + ${LISTED_AT})};
}
${SPARSE_UNIT}__device__ __forceinline__ bool weft_any(bool is) { return __ballot_sync(${ALL}, is) != 0; }
`;
};

/**
 * Goes through the products of a row, by lanes [base, base + lanes) of the warp. `step` sees one product a lane, and may end
 * the row; lanes of all rows of the warp take part in each step.
 */
const printProducts = (
  lanes: number,
  hasSums: boolean,
  { begin, inner }: { readonly begin: string; readonly inner: string },
): string => `  for (weft_at chunk = first; weft_any(chunk < last && !full); chunk += ${lanes}) {
    const weft_at k = chunk + lane;
    weft_at own_begin = 0, own_end = 0;
${hasSums ? '    weft_wide own_factor = {};\n' : ''}    if (k < last) {
      const weft_at place = weft_within(a.places[k], b.rows - 1);
      own_begin = weft_within(b.starts[place], b.stored);
      own_end = weft_within(b.starts[place + 1], b.stored);
${hasSums ? '      own_factor = weft_widen(a.values[k]);\n' : ''}${begin}    }
    for (int j = 0; j < ${lanes} && weft_any(chunk + j < last && !full); ++j) {
      const weft_at from = __shfl_sync(${ALL}, own_begin, (int)base + j), to = __shfl_sync(${ALL}, own_end, (int)base + j);
${hasSums ? '      const weft_wide factor = weft_of_lane(own_factor, (int)base + j);\n' : ''}      for (weft_at i = from + lane; weft_any(i < to && !full); i += ${lanes}) {
${inner}      }
    }
  }
`;

/** Gathers a row in a table; gives how many elements it has, or more than are used of the table. */
function printGather(name: string, lanes: number, used: number, hasSums: boolean): string {
  const sums = hasSums ? ', weft_wide* sums' : '';
  const product = hasSums
    ? '          const weft_wide product = weft_times(factor, weft_widen(b.values[i]));\n'
    : '';
  const inner = `        bool is_new = false;
        unsigned int slot = 0;
        if (i < to && !full) {
          const weft_key column = (weft_key)b.places[i];
${product}          slot = (unsigned int)(column * 2654435761u >> 7) & slots - 1u;
          for (;;) {
            const weft_key there = atomicCAS(keys + slot, WEFT_NONE, column);
            is_new = there == WEFT_NONE;
            if (is_new || there == column) break;
            slot = slot + 1u & slots - 1u;
          }
${hasSums ? '          sums[slot] = weft_combine(is_new ? weft_wide{} : sums[slot], product);\n' : ''}        }
        const unsigned int those = __ballot_sync(${ALL}, is_new) >> base & ${lanes === 32 ? ALL : `${2 ** lanes - 1}u`};
        if (is_new) order[found + __popc(those & ((1u << lane) - 1u))] = (unsigned short)slot;
        found += __popc(those);
        full = found > ${used}u;
        __syncwarp();
`;
  return `
__device__ __forceinline__ unsigned int ${name}(const weft_line& a, const weft_line& b, weft_at first, weft_at last,
    unsigned int base, unsigned int lane, unsigned int slots, weft_key* keys, unsigned short* order${sums}) {
  for (unsigned int slot = lane; slot < slots; slot += ${lanes}u) keys[slot] = WEFT_NONE;
  __syncwarp();
  unsigned int found = 0;
  bool full = false;
${printProducts(lanes, hasSums, { begin: '', inner })}  return found;
}
`;
}

/** Writes the elements of a table in the order of their columns: ranks of few, a bitonic sort of the slots of more. */
function printWrite(name: string, lanes: number): string {
  return `
__device__ __forceinline__ void ${name}(unsigned int found, unsigned int lane, const weft_key* keys, unsigned short* order,
    const weft_wide* sums, weft_place* places, weft_element* values) {
  if (weft_any(found > 64u)) {
    unsigned int size = 2;
    while (weft_any(size < found)) size *= 2;
    for (unsigned int at = found + lane; at < size; at += ${lanes}u) order[at] = 0xffffu;
    __syncwarp();
    for (unsigned int k = 2; k <= size; k *= 2)
      for (unsigned int j = k / 2; j > 0; j /= 2) {
        for (unsigned int pair = lane; pair < size / 2; pair += ${lanes}u) {
          const unsigned int i = 2 * pair - (pair & (j - 1)), other = i + j;
          const unsigned short x = order[i], y = order[other];
          const weft_key one = x == 0xffffu ? WEFT_NONE : keys[x], two = y == 0xffffu ? WEFT_NONE : keys[y];
          if ((i & k) == 0 ? one > two : one < two) {
            order[i] = y;
            order[other] = x;
          }
        }
        __syncwarp();
      }
    for (unsigned int at = lane; at < found; at += ${lanes}u) {
      places[at] = (weft_place)keys[order[at]];
      values[at] = weft_round(sums[order[at]]);
    }
    return;
  }
  for (unsigned int at = lane; at < found; at += ${lanes}u) {
    const weft_key column = keys[order[at]];
    unsigned int rank = 0;
    for (unsigned int k = 0; k < found; ++k) rank += keys[order[k]] < column ? 1u : 0u;
    places[rank] = (weft_place)column;
    values[rank] = weft_round(sums[order[at]]);
  }
}
`;
}

/** Gathers a long row in dense lines of so many columns; the next one begins at the first column that is left. */
function printStretches(slots: number, hasSums: boolean): string {
  const begin = `      for (weft_at end = own_end; own_begin < end;) {
        const weft_at half = own_begin + (end - own_begin) / 2;
        if ((long long)b.places[half] < window) own_begin = half + 1;
        else end = half;
      }
`;
  const inner = `        bool is_behind = false;
        if (i < to) {
          const long long at = (long long)b.places[i] - window;
          is_behind = at >= ${slots};
          if (is_behind) {
            next = at + window < next ? at + window : next;
          } else {
${hasSums ? '            sums[at] = weft_combine(keys[at] ? sums[at] : weft_wide{}, weft_times(factor, weft_widen(b.values[i])));\n' : ''}            keys[at] = 1;
          }
        }
        __syncwarp();
        if (weft_any(is_behind)) break;
`;
  return `
__device__ __forceinline__ unsigned long long weft_stretches(const weft_line& a, const weft_line& b, weft_at first, weft_at last,
    unsigned int lane, long long columns, weft_key* keys${hasSums ? ', weft_wide* sums, weft_place* places, weft_element* values' : ''}) {
  const unsigned int base = 0;
  const bool full = false;
  unsigned long long found = 0;
  for (long long window = 0; window < columns;) {
    for (unsigned int at = lane; at < ${slots}u; at += 32u) keys[at] = 0;
    __syncwarp();
    long long next = columns;
${printProducts(32, hasSums, { begin, inner })}    for (int far = 16; far > 0; far /= 2) {
      const long long other = __shfl_sync(${ALL}, next, (int)lane ^ far);
      next = other < next ? other : next;
    }
    for (unsigned int at = lane; at < ${slots}u; at += 32u) {
      const unsigned int those = __ballot_sync(${ALL}, keys[at] != 0);
${
  hasSums
    ? `      if (keys[at] != 0) {
        const unsigned long long to = found + __popc(those & ((1u << lane) - 1u));
        places[to] = (weft_place)(window + at);
        values[to] = weft_round(sums[at]);
      }
`
    : ''
}      found += __popc(those);
    }
    __syncwarp();
    window = next;
  }
  return found;
}
`;
}

const LINES = `const weft_index* __restrict__ starts_a, const weft_index* __restrict__ places_a`;
const OTHERS = `const weft_index* __restrict__ starts_b, const weft_index* __restrict__ places_b`;
const SIZES =
  'long long rows, long long stored_a, long long inner, long long stored_b, long long columns, long long bound, long long unit_rows, long long unit_blocks';

const parametersOf = (hasSums: boolean, hasLong: boolean): string => {
  const work = hasLong ? 'char* work, ' : '';
  return hasSums
    ? `unsigned int first_x, ${LINES}, const weft_element* __restrict__ values_a, ${OTHERS}, const weft_element* __restrict__ values_b,
    const long long* __restrict__ begins, weft_place* out_places, weft_element* out_values, ${work}${SIZES}`
    : `unsigned int first_x, ${LINES}, ${OTHERS}, long long* counts, ${work}${SIZES}`;
};

const matrices = (
  hasSums: boolean,
): string => `  const weft_line a{starts_a, places_a, ${hasSums ? 'values_a' : 'nullptr'}, (weft_at)rows, (weft_at)stored_a};
  const weft_line b{starts_b, places_b, ${hasSums ? 'values_b' : 'nullptr'}, (weft_at)inner, (weft_at)stored_b};
`;

const ROW = `const weft_at first = is_there ? weft_within(starts_a[row], (weft_at)stored_a) : 0;
  const weft_at last = is_there ? weft_within(starts_a[row + 1], (weft_at)stored_a) : 0;
`;

/** Rows that fit the small table; others are listed, in any order. */
function printShortRows(form: MatmulForm): string {
  const { dtype, lanes, slots, hasLong } = form;
  const hasSums = dtype !== undefined;
  const threads = matmulThreads(form);
  const groups = threads / lanes;
  const list = (condition: string): string =>
    hasLong
      ? `  if (lane == 0 && is_there && ${condition}) {
    const weft_list list = weft_list_of(work, unit, unit_rows);
    list.rows[atomicAdd(list.count, 1ull)] = row;
  }
`
      : '';
  const shared = `  __shared__ weft_key all_keys[${groups * slots}];
  __shared__ unsigned short all_order[${groups * slots}];
${hasSums ? `  __shared__ weft_wide all_sums[${groups * slots}];\n` : ''}`;
  const own = `all_keys + group * ${slots}u, all_order + group * ${slots}u${hasSums ? `, all_sums + group * ${slots}u` : ''}`;
  const gather = `weft_gather(a, b, first, last, base, lane, ${slots}u, ${own})`;
  const counted = `  const unsigned int found = ${gather};
  if (lane == 0 && is_there${hasLong ? ` && found <= ${usedOf(slots)}u` : ''}) counts[row] = found;
${list(`found > ${usedOf(slots)}u`)}`;
  // A row that ends behind the bound, since rows of A overlap, has no room: it is left out.
  const filled = `  const bool has_room = is_there && begins[row + 1] <= bound;
  const long long begin = has_room ? begins[row] : 0;
${hasLong ? `  const bool is_long = has_room && begins[row + 1] - begin > ${usedOf(slots)};\n${list('is_long')}` : ''}  if (${hasLong ? 'is_long || ' : ''}!has_room) last = first;
  const unsigned int found = ${gather};
  weft_write(found, lane, ${own}, out_places + begin, out_values + begin);
`;
  return `
extern "C" __global__ void __launch_bounds__(${threads})
${MATMUL_NAME}(${parametersOf(hasSums, hasLong)}) {
${shared}  const unsigned int lane = threadIdx.x % ${lanes}u, group = threadIdx.x / ${lanes}u, base = threadIdx.x % 32u - lane;
  const long long block = (long long)blockIdx.x + first_x, unit = weft_unit(block, unit_blocks);
  const long long in_unit = (block - unit * unit_blocks) * ${groups} + group, row = unit * unit_rows + in_unit;
  const bool is_there = in_unit < unit_rows && row < rows;
${matrices(hasSums)}  ${hasSums ? ROW.replace('  const weft_at last', '  weft_at last') : ROW}${hasSums ? filled : counted}}
`;
}

/** Slots of a table for so many elements. */
const printSlots = (most: number): string => `
__device__ __forceinline__ unsigned int weft_slots(weft_at elements) {
  unsigned int slots = 128;
  while (slots < ${most}u && slots / 4 * 3 < elements) slots *= 2;
  return slots;
}
`;

/** The listed rows, a warp each. */
function printLongRows(form: MatmulForm): string {
  const hasSums = form.dtype !== undefined;
  const slots = longSlots(form);
  const shared = `  __shared__ weft_key keys[${slots}];
  __shared__ unsigned short order[${slots}];
${hasSums ? `  __shared__ weft_wide sums[${slots}];\n` : ''}`;
  const gather = `weft_gather_long(a, b, first, last, 0u, lane, slots, keys, order${hasSums ? ', sums' : ''})`;
  const counted = `    weft_at products = 0;
    for (weft_at k = first + lane; k < last; k += 32) {
      const weft_at place = weft_within(places_a[k], b.rows - 1);
      const weft_at begin = weft_within(starts_b[place], b.stored), end = weft_within(starts_b[place + 1], b.stored);
      if (begin < end) products += end - begin < ${slots} ? end - begin : ${slots};
    }
    for (int far = 16; far > 0; far /= 2) {
      products = products < ${slots} ? products : ${slots};
      products += __shfl_sync(${ALL}, products, (int)lane ^ far);
    }
    const unsigned int slots = weft_slots(products);
    unsigned long long found = ${gather};
    __syncwarp();
    if (found > ${usedOf(slots)}u) found = weft_stretches(a, b, first, last, lane, columns, keys);
    if (lane == 0) counts[row] = (long long)found;
`;
  const filled = `    const long long begin = begins[row];
    if (begins[row + 1] - begin > ${usedOf(slots)}) {
      weft_stretches(a, b, first, last, lane, columns, keys, sums, out_places + begin, out_values + begin);
    } else {
      const unsigned int slots = weft_slots((weft_at)(begins[row + 1] - begin));
      const unsigned int found = ${gather};
      weft_write_long(found, lane, keys, order, sums, out_places + begin, out_values + begin);
    }
`;
  return `
extern "C" __global__ void __launch_bounds__(32)
${MATMUL_LONG_NAME}(${parametersOf(hasSums, true)}) {
${shared}  const unsigned int lane = threadIdx.x;
${matrices(hasSums)}  const long long block = (long long)blockIdx.x + first_x, unit = weft_unit(block, unit_blocks);
  const weft_list list = weft_list_of(work, unit, unit_rows);
  const long long listed = (long long)*list.count;
  const bool is_there = true;
  for (long long at = block - unit * unit_blocks; at < listed; at += unit_blocks) {
    const long long row = list.rows[at];
    ${ROW.replace('\n  ', '\n    ')}${hasSums ? filled : counted}    __syncwarp();
  }
}
`;
}

/** No row is listed yet: a block of one thread for each unit. */
const CLEAR = `
extern "C" __global__ void ${MATMUL_CLEAR_NAME}(unsigned int first_x, char* work, long long unit_rows) {
  *weft_list_of(work, (long long)blockIdx.x + first_x, unit_rows).count = 0ull;
}
`;

export function printSparseMatmul(form: MatmulForm): string {
  const { dtype, lanes, slots, hasLong } = form;
  const hasSums = dtype !== undefined;
  const parts = [printHead(form), printGather('weft_gather', lanes, usedOf(slots), hasSums)];
  if (hasSums) parts.push(printWrite('weft_write', lanes), printSparseTail(['weft_place', 'weft_element']));
  parts.push(printShortRows(form));
  if (!hasLong) return parts.join('');
  parts.push(CLEAR, printGather('weft_gather_long', 32, usedOf(longSlots(form)), hasSums));
  if (hasSums) parts.push(printWrite('weft_write_long', 32));
  parts.push(printSlots(longSlots(form)), printStretches(longSlots(form), hasSums), printLongRows(form));
  return parts.join('');
}
