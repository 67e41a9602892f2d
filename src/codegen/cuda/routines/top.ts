/**
 * CUDA C of the first elements of rows in their order, with their positions. A row is read once, where that is enough:
 *
 *     sample some of the row, in groups ─→ the k-th best group: k elements at least are not behind its best one
 *     read the row: elements that are not behind that are candidates ─→ select among those in a block ─→ sort
 *
 * In a row without an order candidates are few. Where they are more than there is room for, because many elements are
 * equal or the first ones stand together, as in a sorted row, the row is selected from digit by digit (`select.ts`), and
 * the elements up to the last one are collected. The results are the same in both ways. Launches are made by
 * `exec/calls/top.ts`.
 */
import { byteLengthOf } from '../../../graph/dtype.js';
import {
  BINS,
  DIGIT_BITS,
  eachElement,
  HEAD,
  printFindShared,
  printSelection,
  ROW,
  type SelectForm,
} from './select.js';

export interface TopForm extends SelectForm {
  /** A power of two that has room for the elements that are wanted. */
  readonly padded: number;
  /** Neighbouring lanes that are a group of the sample; undefined: rows are too short for one. */
  readonly groupLanes: 8 | 32 | undefined;
}

export const SAMPLE_NAME = 'weft_top_sample';
export const FILTER_NAME = 'weft_top_filter';
export const COLLECT_NAME = 'weft_top_collect';
export const ORDER_NAME = 'weft_top_order';
/** Threads of a block that samples, and of one that orders. */
export const SAMPLE_THREADS = 256;
export const ORDER_THREADS = 1024;

const bitsOf = ({ dtype }: TopForm): number => 8 * byteLengthOf(dtype);

/** A row's counters in the workspace. */
const OWN = '  weft_row* counters = (weft_row*)(work + rows_at) + row;\n';
/** A row's candidates. */
const candidates = (
  qualifier: '' | 'const ',
): string => `  ${qualifier}weft_key* some_keys = (${qualifier}weft_key*)(work + keys_at) + row * room;
  ${qualifier}long long* some_places = (${qualifier}long long*)(work + places_at) + row * room;
`;

/**
 * Finds the digits of the key, or position, at a rank among `count` values in a block; `value` of the i-th one, which
 * `matches`. Gives `digits`, and `rank` and `equals` among those that have all of them.
 */
const printDigits = (
  bits: string,
  {
    threads,
    count,
    value,
    matches,
  }: Readonly<Record<'count' | 'value' | 'matches', string>> & { threads: number },
): string => `    for (int high = ${bits}; high > 0; high -= ${DIGIT_BITS}) {
      const int low = high > ${DIGIT_BITS} ? high - ${DIGIT_BITS} : 0;
      for (int i = (int)threadIdx.x; i < ${BINS}; i += ${threads}) counts[i] = 0u;
      __syncthreads();
      #pragma unroll 4
      for (unsigned int i = threadIdx.x; i < ${count}; i += ${threads}) {
        const unsigned long long value = ${value};
        if (${matches}weft_equal_above(value, digits, high, ${bits})) atomicAdd(&counts[(unsigned int)(value >> low) & ((1u << (high - low)) - 1u)], 1u);
      }
      __syncthreads();
      const weft_found found = weft_find<${threads}>(find_sums, &find_bin, counts, rank);
      digits |= (unsigned long long)found.bin << low;
      rank = found.rank;
      equals = found.count;
    }
`;

/** The best key of each group of a sample; the last block finds the one that `rank` groups come before. */
function printSample(form: TopForm, groupLanes: number): string {
  const groups = SAMPLE_THREADS / groupLanes;
  return `extern "C" __global__ void __launch_bounds__(${SAMPLE_THREADS})
${SAMPLE_NAME}(unsigned int first_x, const weft_key* __restrict__ in, char* work, long long rows_at, long long limits_at, long long bests_at, long long n, long long blocks, int each, unsigned long long rank) {
${ROW}${OWN}  volatile weft_key* bests = (volatile weft_key*)(work + bests_at) + row * blocks * ${groups};
  const long long warps = blocks * ${SAMPLE_THREADS / 32};
  const weft_key* at = in + row * n + n / warps * (block * ${SAMPLE_THREADS / 32} + threadIdx.x / 32) + threadIdx.x % 32;
${printFindShared(SAMPLE_THREADS)}  __shared__ unsigned int counts[${BINS}];
  __shared__ unsigned int begun;
  weft_key best = weft_last();
  #pragma unroll 8
  for (int j = 0; j < each; ++j) {
    const weft_key key = weft_key_of(at[32 * j]);
    if (key < best) best = key;
  }
  #pragma unroll
  for (unsigned int lanes = 1; lanes < ${groupLanes}; lanes *= 2) {
    const weft_key other = (weft_key)__shfl_sync(0xffffffffu, best, (int)(threadIdx.x % 32 ^ lanes));
    if (other < best) best = other;
  }
  if (threadIdx.x % ${groupLanes} == 0) bests[block * ${groups} + threadIdx.x / ${groupLanes}] = best;
  if (!weft_last_block(&begun, &counters->sampled, blocks)) return;
  unsigned long long digits = 0, equals = 0;
${printDigits(`${bitsOf(form)}`, { threads: SAMPLE_THREADS, count: `(unsigned int)blocks * ${groups}u`, value: 'bests[i]', matches: '' })}  if (threadIdx.x == 0 && equals > 0) ((unsigned long long*)(work + limits_at))[row] = digits;
}
${HEAD}${FILTER_NAME}(unsigned int first_x, const weft_key* __restrict__ in, char* work, long long rows_at, long long limits_at, long long keys_at, long long places_at, long long n, long long blocks, long long room) {
${ROW}${OWN}${candidates('')}  const weft_key limit = (weft_key)((const unsigned long long*)(work + limits_at))[row];
  in += row * n;
${eachElement(
  form,
  `      if (key <= limit) {
        const unsigned int to = atomicAdd(&counters->few, 1u);
        if (to >= room) return;
        some_keys[to] = key;
        some_places[to] = i;
      }
`,
)}}
`;
}

/** Elements up to the last one, of rows without candidates. */
const printCollect = (
  form: TopForm,
): string => `${HEAD}${COLLECT_NAME}(unsigned int first_x, const weft_key* __restrict__ in, char* work, long long rows_at, long long found_at, long long n, long long blocks, long long room, long long k) {
${ROW}${OWN}${form.groupLanes === undefined ? '' : '  if (counters->few <= room) return;\n'}  long long* found = (long long*)(work + found_at) + row * k;
  const weft_state last = ((const weft_state*)work)[row];
  in += row * n;
${eachElement(
  form,
  `      if (key < last.key || (key == last.key && (unsigned long long)i <= last.place))
        found[atomicAdd(&counters->taken, 1u)] = i;
`,
)}}
`;

/** The first ones of a row's candidates, found by their digits. */
const printChosen = (
  form: TopForm,
): string => `${printFindShared(ORDER_THREADS)}  __shared__ unsigned int counts[${BINS}];
  __shared__ unsigned int taken;
  const unsigned int few = counters->few;
  if (few <= room) {
    if (threadIdx.x == 0) taken = 0u;
    unsigned long long digits = 0, equals = 0, rank = (unsigned long long)(k - 1);
${printDigits(`${bitsOf(form)}`, { threads: ORDER_THREADS, count: 'few', value: 'some_keys[i]', matches: '' })}    const weft_key last = (weft_key)digits;
    unsigned long long place = ~0ull;
    if (rank + 1 < equals) {
      digits = 0;
${printDigits('place_bits', { threads: ORDER_THREADS, count: 'few', value: '(unsigned long long)some_places[i]', matches: 'some_keys[i] == last && ' })}      place = digits;
    }
    for (unsigned int i = threadIdx.x; i < few; i += ${ORDER_THREADS}) {
      const weft_key key = some_keys[i];
      if (key > last || (key == last && (unsigned long long)some_places[i] > place)) continue;
      const unsigned int to = atomicAdd(&taken, 1u);
      keys[to] = key;
      at[to] = some_places[i];
    }
  } else
`;

/** Sorts the first ones by a bitonic network. */
function printOrder(form: TopForm): string {
  const { padded, groupLanes } = form;
  return `extern "C" __global__ void __launch_bounds__(${ORDER_THREADS})
${ORDER_NAME}(unsigned int first_x, const weft_key* in, const char* work, long long rows_at, long long found_at, long long keys_at, long long places_at, weft_key* values, long long* indices, long long n, long long room, int k, int place_bits) {
  const long long row = (long long)blockIdx.x + first_x;
  __shared__ weft_key keys[${padded}];
  __shared__ long long at[${padded}];
  const weft_row* counters = (const weft_row*)(work + rows_at) + row;
  const long long* found = (const long long*)(work + found_at) + row * k;
  in += row * n;
${groupLanes === undefined ? '' : candidates('const ') + printChosen(form)}  for (int i = (int)threadIdx.x; i < k; i += ${ORDER_THREADS}) {
    at[i] = found[i];
    keys[i] = weft_key_of(in[at[i]]);
  }
  for (int i = k + (int)threadIdx.x; i < ${padded}; i += ${ORDER_THREADS}) {
    at[i] = 0x7fffffffffffffffll;
    keys[i] = weft_last();
  }
  for (unsigned int size = 2; size <= ${padded}; size *= 2) {
    for (unsigned int stride = size / 2; stride > 0; stride /= 2) {
      __syncthreads();
      for (unsigned int pair = threadIdx.x; pair < ${padded / 2}; pair += ${ORDER_THREADS}) {
        const unsigned int low = pair / stride * 2 * stride + pair % stride;
        const bool isUp = (low & size) == 0;
        const unsigned int i = isUp ? low : low + stride;
        const unsigned int j = isUp ? low + stride : low;
        if (keys[j] < keys[i] || (keys[i] == keys[j] && at[j] < at[i])) {
          const weft_key key = keys[i];
          keys[i] = keys[j];
          keys[j] = key;
          const long long place = at[i];
          at[i] = at[j];
          at[j] = place;
        }
      }
    }
  }
  __syncthreads();
  for (int i = (int)threadIdx.x; i < k; i += ${ORDER_THREADS}) {
    values[row * k + i] = in[at[i]];
    indices[row * k + i] = at[i];
  }
}
`;
}

export function printTop(form: TopForm): string {
  const { groupLanes } = form;
  const isSampled = groupLanes !== undefined;
  return [
    printSelection(form, isSampled ? '  if (counters->few <= room) return;\n' : ''),
    isSampled ? printSample(form, groupLanes) : '',
    printCollect(form),
    printOrder(form),
  ].join('');
}
