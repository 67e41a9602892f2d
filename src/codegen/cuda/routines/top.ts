/**
 * CUDA C of the first elements of rows in their order, with their positions. A row is read once, where that is enough:
 *
 *     sample some of the row, in groups ─→ the k-th best group: k elements at least are not behind its best one
 *     filter the row: elements that are not behind that are candidates
 *     order: of the candidates, in a block, those up to a bound that leaves few, which are sorted
 *
 * In a row without an order candidates are few. Where they are more than there is room for, because many elements are
 * equal or the first ones stand together, as in a sorted row, the row is selected from digit by digit (`select.ts`), and
 * the elements up to the last one are collected. The results are the same in both ways. Launches are made by
 * `exec/calls/top.ts`.
 */
import { BINS, eachElement, HEAD, printSelection, ROW, SELECT_THREADS, type SelectForm } from './select.js';

export interface TopForm extends SelectForm {
  /** A power of two that has room for the elements that are wanted, and for some more where it can. */
  readonly padded: number;
  /** Neighbouring lanes that are a group of the sample; undefined: rows are too short for one. */
  readonly groupLanes: 8 | 32 | undefined;
}

export const SAMPLE_NAME = 'weft_top_sample';
export const FILTER_NAME = 'weft_top_filter';
export const ORDER_NAME = 'weft_top_order';
/** Threads of a block that samples, the same as of one that selects, and of one that orders. */
export const SAMPLE_THREADS = SELECT_THREADS;
export const ORDER_THREADS = 1024;

/** A bound of the best of groups may leave so many times fewer more than are wanted. */
const SLACK = 8;

/** A row's counters in the workspace. */
const OWN = '  weft_row* counters = (weft_row*)(work + rows_at) + row;\n';
/** A row's candidates. */
const candidates = (
  qualifier: '' | 'const ',
): string => `  ${qualifier}weft_key* some_keys = (${qualifier}weft_key*)(work + keys_at) + row * room;
  ${qualifier}long long* some_places = (${qualifier}long long*)(work + places_at) + row * room;
`;

/** A bound of values that a block narrows down to those not above it. */
const NARROW = `/* The greatest value up to a bound, how many values are up to it, and the rank of the last one in its bin. */
struct weft_bound {
  unsigned long long value, rank;
  unsigned int count;
};
template <int THREADS> struct weft_narrowing {
  unsigned long long sums[THREADS / 32], ends[2 * THREADS / 32];
  weft_found found;
  unsigned int counts[${BINS}];
};
/* A bound that the value at a rank is not above, and no more than so many (most) values, if they are not equal: as few digits as that
   takes of their distance from the least one. Of so many values value_at gives one, or says that it is left out. */
template <int THREADS, class V> __device__ __forceinline__ weft_bound weft_narrow(weft_narrowing<THREADS>& shared, unsigned int count, unsigned long long rank, unsigned int most, const V& value_at) {
  unsigned long long value, least = ~0ull, greatest = 0;
  #pragma unroll 4
  for (unsigned int i = threadIdx.x; i < count; i += THREADS) {
    if (!value_at(i, value)) continue;
    least = value < least ? value : least;
    greatest = value > greatest ? value : greatest;
  }
  #pragma unroll
  for (unsigned int lanes = 16; lanes > 0; lanes /= 2) {
    const unsigned long long other_least = __shfl_sync(0xffffffffu, least, (int)(threadIdx.x % 32 ^ lanes));
    const unsigned long long other_greatest = __shfl_sync(0xffffffffu, greatest, (int)(threadIdx.x % 32 ^ lanes));
    least = other_least < least ? other_least : least;
    greatest = other_greatest > greatest ? other_greatest : greatest;
  }
  if (threadIdx.x % 32 == 0) {
    shared.ends[threadIdx.x / 32] = least;
    shared.ends[THREADS / 32 + threadIdx.x / 32] = greatest;
  }
  __syncthreads();
  #pragma unroll
  for (int warp = 0; warp < THREADS / 32; ++warp) {
    const unsigned long long other_least = shared.ends[warp], other_greatest = shared.ends[THREADS / 32 + warp];
    least = other_least < least ? other_least : least;
    greatest = other_greatest > greatest ? other_greatest : greatest;
  }
  unsigned long long low = least, range = greatest - least;
  unsigned int before = 0;
  for (;;) {
    int shift = 0;
    while (range >> shift >= ${BINS}ull) ++shift;
    for (int i = (int)threadIdx.x; i < ${BINS}; i += THREADS) shared.counts[i] = 0u;
    __syncthreads();
    #pragma unroll 4
    for (unsigned int i = threadIdx.x; i < count; i += THREADS)
      if (value_at(i, value) && value - low <= range) atomicAdd(&shared.counts[(unsigned int)((value - low) >> shift)], 1u);
    __syncthreads();
    const weft_found found = weft_find<THREADS>(shared.sums, &shared.found, shared.counts, rank);
    low += (unsigned long long)found.bin << shift;
    before += (unsigned int)(rank - found.rank);
    rank = found.rank;
    range = (1ull << shift) - 1ull;
    const unsigned int up_to = before + (unsigned int)found.count;
    if (shift == 0 || up_to <= most) return weft_bound{greatest - low < range ? greatest : low + range, rank, up_to};
  }
}
`;

/** The best key of each group of a sample, and in the last block a bound of the best ones; then the row's elements up to it. */
function printSample(form: TopForm, groupLanes: number): string {
  const groups = SAMPLE_THREADS / groupLanes;
  return `extern "C" __global__ void __launch_bounds__(${SAMPLE_THREADS})
${SAMPLE_NAME}(unsigned int first_x, const weft_key* __restrict__ in, char* work, long long rows_at, long long limits_at, long long bests_at, long long n, long long blocks, int each, int rank) {
${ROW}${OWN}  volatile weft_key* bests = (volatile weft_key*)(work + bests_at) + row * blocks * ${groups};
  const long long warps = blocks * ${SAMPLE_THREADS / 32};
  const weft_key* at = in + row * n + n / warps * (block * ${SAMPLE_THREADS / 32} + threadIdx.x / 32) + threadIdx.x % 32;
  __shared__ weft_narrowing<${SAMPLE_THREADS}> shared;
  __shared__ unsigned int sampled;
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
  if (!weft_last_block(&sampled, &counters->sampled, blocks)) return;
  const auto best_of = [&](unsigned int group, unsigned long long& key) {
    key = bests[group];
    return true;
  };
  const weft_bound bound = weft_narrow(shared, (unsigned int)blocks * ${groups}u, (unsigned long long)rank, (unsigned int)rank + 1u + (unsigned int)rank / ${SLACK}u, best_of);
  if (threadIdx.x == 0) ((unsigned long long*)(work + limits_at))[row] = bound.value;
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
  { mayMatter: (element) => `weft_key_of(${element}) <= limit` },
)}}
`;
}

/** The first ones of a row's candidates, found by as many digits as leave few enough. */
const CHOSEN = `  if (counters->few <= room) {
    const unsigned int few = counters->few;
    if (threadIdx.x == 0) taken = 0u;
    const auto key_of = [&](unsigned int i, unsigned long long& key) {
      key = some_keys[i];
      return true;
    };
    const weft_bound bound = weft_narrow(shared, few, (unsigned long long)(k - 1), padded, key_of);
    const weft_key last = (weft_key)bound.value;
    unsigned long long place = ~0ull;
    count = bound.count;
    if (count > padded) {
      /* Of equal elements the first ones. */
      const auto place_of = [&](unsigned int i, unsigned long long& at_place) {
        at_place = (unsigned long long)some_places[i];
        return some_keys[i] == last;
      };
      const unsigned int before = (unsigned int)(k - 1) - (unsigned int)bound.rank;
      const weft_bound first = weft_narrow(shared, few, bound.rank, padded - before, place_of);
      place = first.value;
      count = before + first.count;
    }
    #pragma unroll 4
    for (unsigned int i = threadIdx.x; i < few; i += ORDER_THREADS) {
      const weft_key key = some_keys[i];
      if (key > last || (key == last && (unsigned long long)some_places[i] > place)) continue;
      const unsigned int to = atomicAdd(&taken, 1u);
      keys[to] = key;
      at[to] = some_places[i];
    }
  } else
`.replaceAll('ORDER_THREADS', `${ORDER_THREADS}`);

/** Sorts the first ones by a bitonic network. */
function printOrder({ padded, groupLanes }: TopForm): string {
  const isSampled = groupLanes !== undefined;
  return `extern "C" __global__ void __launch_bounds__(${ORDER_THREADS})
${ORDER_NAME}(unsigned int first_x, const weft_key* in, const char* work, long long rows_at, long long taken_at, long long keys_at, long long places_at, weft_key* values, long long* indices, long long n, long long room, int k) {
  const long long row = (long long)blockIdx.x + first_x;
  const unsigned int padded = ${padded};
  __shared__ weft_key keys[padded];
  __shared__ long long at[padded];
  const weft_row* counters = (const weft_row*)(work + rows_at) + row;
  const long long* found = (const long long*)(work + taken_at) + row * k;
  in += row * n;
  unsigned int count = (unsigned int)k;
${
  isSampled
    ? `${candidates('const ')}  __shared__ weft_narrowing<${ORDER_THREADS}> shared;
  __shared__ unsigned int taken;
${CHOSEN}`
    : ''
}  for (int i = (int)threadIdx.x; i < k; i += ${ORDER_THREADS}) {
    at[i] = found[i];
    keys[i] = weft_key_of(in[at[i]]);
  }
  unsigned int size = 2;
  while (size < count) size *= 2;
  for (unsigned int i = count + threadIdx.x; i < size; i += ${ORDER_THREADS}) {
    at[i] = 0x7fffffffffffffffll;
    keys[i] = weft_last();
  }
  for (unsigned int length = 2; length <= size; length *= 2) {
    for (unsigned int apart = length / 2; apart > 0; apart /= 2) {
      __syncthreads();
      for (unsigned int pair = threadIdx.x; pair < size / 2; pair += ${ORDER_THREADS}) {
        const unsigned int low = 2 * pair - (pair & (apart - 1));
        const bool isUp = (low & length) == 0;
        const unsigned int i = isUp ? low : low + apart;
        const unsigned int j = isUp ? low + apart : low;
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
    isSampled ? NARROW + printSample(form, groupLanes) : '',
    printOrder(form),
  ].join('');
}
