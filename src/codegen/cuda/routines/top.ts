/**
 * CUDA C of the first elements of rows in their order, with their positions. A row is read once, where that is enough:
 *
 *     sample some of the row, in groups: the best one of each
 *     first   the k-th best group: k elements at least are not behind its best one, which every block finds by itself
 *             elements that are not behind that are candidates; blocks go through the row by tiles, which they take by turns
 *             of the candidates, in the block that ends last, those up to a bound that leaves few, which are sorted
 *
 * In a row without an order candidates are few. Where they are more than there is room for, because many elements are equal
 * or the first ones stand together, as in a sorted row, blocks stop, the row is selected from digit by digit (`select.ts`), and
 * the elements up to the last one are collected and sorted. The results are the same in both ways. Launches are made by
 * `exec/calls/top.ts`.
 */
import { byteLengthOf } from '../../../graph/dtype.js';
import { BINS, printSelection, ROW, type SelectForm } from './select.js';

export interface TopForm extends SelectForm {
  /** A power of two that has room for the elements that are wanted, and for some more where it can. */
  readonly padded: number;
  /** Neighbouring lanes that are a group of the sample; undefined: rows are too short for one. */
  readonly groupLanes: 8 | 32 | undefined;
}

export const SAMPLE_NAME = 'weft_top_sample';
export const FIRST_NAME = 'weft_top_first';
export const ORDER_NAME = 'weft_top_order';
/** Threads of a block: a multiprocessor holds one that has registers for much to be under way. */
export const TOP_THREADS = 1024;
/** Packs of 16 bytes that a thread reads at once, and how often it does so for a tile. */
const PACK = 16;
const PACKS = 4;
const STEPS = 2;
/** Values that a thread holds while they are narrowed down. */
const HELD = 8;
/** Bytes of a tile. */
export const TOP_TILE_BYTES = TOP_THREADS * PACK * PACKS * STEPS;

/** A bound of the best of groups may leave so many times fewer more than are wanted. */
const SLACK = 8;

/** Rows whose candidates are few are done. */
const ENDS = '  if (counters->few <= room) return;\n';

/**
 * A bound of values that a block narrows down to those not above it. Few enough values are read once, and held: each further
 * reading takes a block about a microsecond, so that the first ones of 6,000 candidates took an H200 18 when all were read again.
 */
const printNarrow = ({
  dtype,
}: TopForm): string => `typedef ${byteLengthOf(dtype) <= 4 ? 'unsigned int' : 'unsigned long long'} weft_value;
/* A value at a rank or behind it, how many values are up to it, and the rank in the last bin of those. */
struct weft_bound {
  unsigned long long value, rank;
  unsigned int count;
};
struct weft_narrowing {
  unsigned long long sums[${TOP_THREADS / 32}], ends[${TOP_THREADS / 16}];
  weft_found found;
  unsigned int counts[${BINS}];
};
/* So many values, of which value_at gives one, or says that it is left out. */
template <class V, class F> struct weft_values {
  const F& value_at;
  const unsigned int count;
  V held[${HELD}];
  unsigned int there = 0u;
  __device__ __forceinline__ weft_values(unsigned int count, const F& value_at) : value_at(value_at), count(count) {
    #pragma unroll
    for (int j = 0; j < ${HELD}; ++j)
      if (count <= ${HELD * TOP_THREADS}u && threadIdx.x + j * ${TOP_THREADS}u < count && value_at(threadIdx.x + j * ${TOP_THREADS}u, held[j])) there |= 1u << j;
  }
  /* Calls use with each value of a thread and its number. */
  template <class G> __device__ __forceinline__ void each(const G& use) const {
    if (count <= ${HELD * TOP_THREADS}u) {
      #pragma unroll
      for (int j = 0; j < ${HELD}; ++j)
        if ((there >> j & 1u) != 0) use(held[j], threadIdx.x + j * ${TOP_THREADS}u);
      return;
    }
    #pragma unroll 4
    for (unsigned int i = threadIdx.x; i < count; i += ${TOP_THREADS}) {
      V value;
      if (value_at(i, value)) use(value, i);
    }
  }
};
template <class V, class F> __device__ __forceinline__ void weft_ends(weft_narrowing& shared, const weft_values<V, F>& values, V& low, V& high) {
  V least = (V)~(V)0, greatest = 0;
  values.each([&](V value, unsigned int) {
    least = value < least ? value : least;
    greatest = value > greatest ? value : greatest;
  });
  #pragma unroll
  for (int turn = 0; turn < 2; ++turn) {
    #pragma unroll
    for (unsigned int lanes = 16; lanes > 0; lanes /= 2) {
      const V other_least = __shfl_sync(0xffffffffu, least, (int)(threadIdx.x % 32 ^ lanes));
      const V other_greatest = __shfl_sync(0xffffffffu, greatest, (int)(threadIdx.x % 32 ^ lanes));
      least = other_least < least ? other_least : least;
      greatest = other_greatest > greatest ? other_greatest : greatest;
    }
    if (turn > 0) break;
    if (threadIdx.x % 32 == 0) {
      shared.ends[threadIdx.x / 32] = least;
      shared.ends[${TOP_THREADS / 32} + threadIdx.x / 32] = greatest;
    }
    __syncthreads();
    least = (V)shared.ends[threadIdx.x % ${TOP_THREADS / 32}];
    greatest = (V)shared.ends[${TOP_THREADS / 32} + threadIdx.x % ${TOP_THREADS / 32}];
  }
  low = least;
  high = greatest;
}
/* A bound that the value at a rank is not above, and no more than so many (most) values, if they are not equal: as few digits as that
   takes of their distance from low. None is above high; some may be below low where that is_open. */
template <class V, class F> __device__ __forceinline__ weft_bound weft_narrow(weft_narrowing& shared, const weft_values<V, F>& values, V low, V high, bool is_open, unsigned long long rank, unsigned int most) {
  V range = high - low;
  unsigned int before = 0;
  for (bool is_first = true;; is_first = false) {
    int shift = 0;
    while (range >> shift >= ${BINS}) ++shift;
    for (int i = (int)threadIdx.x; i < ${BINS}; i += ${TOP_THREADS}) shared.counts[i] = 0u;
    __syncthreads();
    values.each([&](V value, unsigned int) {
      const V distance = is_first && value < low ? (V)0 : (V)(value - low);
      if (distance <= range) atomicAdd(&shared.counts[(unsigned int)(distance >> shift)], 1u);
    });
    __syncthreads();
    const weft_found found = weft_find<${TOP_THREADS}>(shared.sums, &shared.found, shared.counts, rank);
    const bool is_below = is_first && is_open && found.bin == 0u;
    low += (V)((V)found.bin << shift);
    range = (V)(((V)1 << shift) - 1);
    before += (unsigned int)(rank - found.rank);
    rank = found.rank;
    const unsigned int up_to = before + (unsigned int)found.count;
    const V last = high - low < range ? high : (V)(low + range);
    if ((shift == 0 && !is_below) || up_to <= most) return weft_bound{(unsigned long long)last, rank, up_to};
    if (is_below) {
      range = last;
      low = 0;
    }
  }
}
`;

/**
 * Whether any of the elements that a thread has read is a candidate: of floats by the greatest of them, or the least. Of NaN,
 * which no bound of numbers reaches, there is no such; a bound of NaN, or between infinity and it, is reached by all.
 */
function printReach({ dtype, descending }: TopForm, items: number, element: string): string {
  const numbers = { float32: '__int_as_float((int)', float64: '__longlong_as_double((long long)' } as const;
  const of = dtype === 'float32' || dtype === 'float64' ? numbers[dtype] : undefined;
  if (of === undefined)
    return `      bool is_any = false;
      #pragma unroll
      for (int item = 0; item < ${items}; ++item) is_any = is_any || weft_key_of(${element}) <= limit;
`;
  const sign = descending ? '' : '-';
  const number = (bits: string): string => `${sign}${of}${bits})`;
  return `      auto best = ${number(element.replaceAll('item', '0'))};
      #pragma unroll
      for (int item = 1; item < ${items}; ++item) best = fmax(best, ${number(element)});
      const auto reached = ${number('weft_element_of(limit)')};
      const bool is_any = best >= reached || reached != reached;
`;
}

/** The bound of a row's candidates by a sample, the candidates, and the first ones of those. */
function printFirst(form: TopForm, groupLanes: number): string {
  const size = byteLengthOf(form.dtype);
  const perPack = PACK / size;
  const items = PACKS * perPack;
  const step = TOP_THREADS * items;
  const groups = TOP_THREADS / groupLanes;
  const element = `own[item / ${perPack}].k[item % ${perPack}]`;
  return `struct __align__(${PACK}) weft_pack {
  weft_key k[${perPack}];
};
/* Packs of a thread that begin at an element of the row, with nothing that matters beyond its end. */
__device__ __forceinline__ void weft_load(weft_pack (&own)[${PACKS}], const weft_key* in, long long first, bool is_whole, long long n) {
  #pragma unroll
  for (int pack = 0; pack < ${PACKS}; ++pack) {
    const long long i = first + pack * ${TOP_THREADS * perPack};
    if (is_whole) {
      own[pack] = *(const weft_pack*)(in + i);
    } else {
      #pragma unroll
      for (int e = 0; e < ${perPack}; ++e) own[pack].k[e] = i + e < n ? in[i + e] : (weft_key)0;
    }
  }
}
/* The best key of each group of a sample; the row has no candidates yet. */
extern "C" __global__ void __launch_bounds__(${TOP_THREADS})
${SAMPLE_NAME}(unsigned int first_x, const weft_key* __restrict__ in, char* work, long long counts_at, long long rows_at, long long bests_at, long long n, long long blocks, int each, long long rank) {
${ROW}  if (block == 0) weft_set_row<${TOP_THREADS}>(work, row, counts_at, rows_at, rank);
  const weft_key* at = in + row * n + n / (blocks * ${TOP_THREADS / 32}) * (block * ${TOP_THREADS / 32} + threadIdx.x / 32) + threadIdx.x % 32;
  weft_key best = weft_last();
  #pragma unroll 16
  for (int j = 0; j < each; ++j) {
    const weft_key key = weft_key_of(at[32 * j]);
    if (key < best) best = key;
  }
  #pragma unroll
  for (unsigned int lanes = 1; lanes < ${groupLanes}; lanes *= 2) {
    const weft_key other = (weft_key)__shfl_sync(0xffffffffu, best, (int)(threadIdx.x % 32 ^ lanes));
    if (other < best) best = other;
  }
  weft_key* bests = (weft_key*)(work + bests_at) + (row * blocks + block) * ${groups};
  if (threadIdx.x % ${groupLanes} == 0) bests[threadIdx.x / ${groupLanes}] = best;
}
extern "C" __global__ void __launch_bounds__(${TOP_THREADS}, 1)
${FIRST_NAME}(unsigned int first_x, const weft_key* __restrict__ in, char* work, long long rows_at, long long bests_at, long long keys_at, long long places_at, weft_key* values, long long* indices, long long n, long long blocks, int sampled, long long room, int k) {
${ROW}  weft_row* counters = (weft_row*)(work + rows_at) + row;
  const volatile weft_row* heard = counters;
  weft_key* some_keys = (weft_key*)(work + keys_at) + row * room;
  long long* some_places = (long long*)(work + places_at) + row * room;
  __shared__ weft_narrowing shared;
  __shared__ unsigned int next[2], word;
  in += row * n;
  const unsigned int tiles = (unsigned int)((n + ${STEPS * step - 1}) / ${STEPS * step});
  const bool is_packed = (unsigned long long)in % ${PACK} == 0;
  /* A block's first tile is its own; the others go by turns. */
  unsigned int tile = (unsigned int)block, done = 0;
  long long from = (long long)tile * ${STEPS * step};
  const long long own_first = threadIdx.x * ${perPack};
  /* The bound is found while the first elements are on their way. */
  weft_pack own[${PACKS}];
  weft_load(own, in, from + own_first, is_packed && from + ${step} <= n, n);
  const weft_key* bests = (const weft_key*)(work + bests_at) + row * sampled;
  const auto best_of = [&](unsigned int group, weft_value& key) {
    key = bests[group];
    return true;
  };
  const weft_values<weft_value, decltype(best_of)> sample((unsigned int)sampled, best_of);
  weft_value least, greatest;
  weft_ends(shared, sample, least, greatest);
  const weft_key limit = (weft_key)weft_narrow(shared, sample, least, greatest, false, (unsigned long long)(k - 1), (unsigned int)k + (unsigned int)(k - 1) / ${SLACK}u).value;
  bool is_full = false;
  while (tile < tiles) {
    if (threadIdx.x == 0) next[done & 1u] = heard->few > room ? ~0u : (unsigned int)blocks + atomicAdd(&counters->parts, 1u);
    #pragma unroll 1
    for (int step = 0; step < ${STEPS}; ++step, from += ${step}) {
      const long long first = from + own_first;
      if (done > 0 || step > 0) weft_load(own, in, first, is_packed && from + ${step} <= n, n);
${printReach(form, items, element)}      if (!is_any || is_full) continue;
      #pragma unroll
      for (int item = 0; item < ${items}; ++item) {
        const long long i = first + item / ${perPack} * ${TOP_THREADS * perPack} + item % ${perPack};
        const weft_key key = weft_key_of(${element});
        if (i >= n || key > limit || is_full) continue;
        const unsigned int to = atomicAdd(&counters->few, 1u);
        is_full = to >= room;
        if (is_full) continue;
        some_keys[to] = key;
        some_places[to] = i;
      }
    }
    __syncthreads();
    tile = next[done & 1u];
    from = (long long)tile * ${STEPS * step};
    ++done;
  }
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) word = done > 0 && atomicAdd(&counters->passed, done) + done == tiles ? 1u : 0u;
  __syncthreads();
  if (word == 0u || heard->few > room) return;
  __threadfence();
  const unsigned int few = heard->few;
  __shared__ weft_key keys[${form.padded}];
  __shared__ long long at[${form.padded}];
  __shared__ unsigned int taken;
${printChosen(form)}${SORTED}}
`;
}

/** The first ones of a row's candidates, found by as many digits as leave few enough. */
const printChosen = ({ padded }: TopForm): string => `  const unsigned int padded = ${padded};
  if (threadIdx.x == 0) taken = 0u;
  /* Other blocks wrote them. */
  const volatile weft_key* heard_keys = some_keys;
  const volatile long long* heard_places = some_places;
  const auto key_of = [&](unsigned int i, weft_value& key) {
    key = heard_keys[i];
    return true;
  };
  const weft_values<weft_value, decltype(key_of)> candidates(few, key_of);
  const weft_bound bound = weft_narrow(shared, candidates, least, (weft_value)limit, true, (unsigned long long)(k - 1), padded);
  const weft_value last = (weft_value)bound.value;
  unsigned long long place = ~0ull;
  unsigned int count = bound.count;
  if (count > padded) {
    /* Of equal elements the first ones. */
    const auto place_of = [&](unsigned int i, unsigned long long& at_place) {
      at_place = (unsigned long long)heard_places[i];
      return heard_keys[i] == last;
    };
    const unsigned int before = (unsigned int)(k - 1) - (unsigned int)bound.rank;
    const weft_values<unsigned long long, decltype(place_of)> equal(few, place_of);
    unsigned long long first_place, last_place;
    weft_ends(shared, equal, first_place, last_place);
    const weft_bound first = weft_narrow(shared, equal, first_place, last_place, false, bound.rank, padded - before);
    place = first.value;
    count = before + first.count;
  }
  candidates.each([&](weft_value key, unsigned int i) {
    if (key > last) return;
    const long long own_place = heard_places[i];
    if (key == last && (unsigned long long)own_place > place) return;
    const unsigned int to = atomicAdd(&taken, 1u);
    keys[to] = (weft_key)key;
    at[to] = own_place;
  });
`;

/** Elements of which each is compared with all others: a bitonic network of 256 is 36 steps, which a block waits 7 µs for. */
const MOST_COMPARED = 256;

/**
 * Writes the first ones in their order. Few go where as many are before them as they are compared with, a part of the others a
 * thread; more are sorted by a bitonic network.
 */
const SORTED = `  unsigned int size = 2;
  while (size < count) size *= 2;
  for (unsigned int i = count + threadIdx.x; i < size; i += ${TOP_THREADS}) {
    at[i] = 0x7fffffffffffffffll;
    keys[i] = weft_last();
  }
  if (size <= ${MOST_COMPARED}) {
    __shared__ unsigned int before[${MOST_COMPARED}];
    if (threadIdx.x < ${MOST_COMPARED}) before[threadIdx.x] = 0u;
    __syncthreads();
    const unsigned int i = threadIdx.x % size, parts = ${TOP_THREADS} / size;
    const weft_key own_key = keys[i];
    const long long own_at = at[i];
    const weft_key own_value = threadIdx.x < count ? in[own_at] : (weft_key)0;
    unsigned int ahead = 0u;
    for (unsigned int j = threadIdx.x / size; j < count; j += parts)
      if (keys[j] < own_key || (keys[j] == own_key && at[j] < own_at)) ++ahead;
    atomicAdd(&before[i], ahead);
    __syncthreads();
    const unsigned int to = before[i];
    if (threadIdx.x < count && to < (unsigned int)k) {
      values[row * k + to] = own_value;
      indices[row * k + to] = own_at;
    }
    return;
  }
  for (unsigned int length = 2; length <= size; length *= 2) {
    for (unsigned int apart = length / 2; apart > 0; apart /= 2) {
      __syncthreads();
      for (unsigned int pair = threadIdx.x; pair < size / 2; pair += ${TOP_THREADS}) {
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
  for (int i = (int)threadIdx.x; i < k; i += ${TOP_THREADS}) {
    values[row * k + i] = in[at[i]];
    indices[row * k + i] = at[i];
  }
`;

/** Sorts elements that were selected digit by digit. */
const printOrder = (form: TopForm): string => `extern "C" __global__ void __launch_bounds__(${TOP_THREADS})
${ORDER_NAME}(unsigned int first_x, const weft_key* in, const char* work, long long rows_at, long long taken_at, weft_key* values, long long* indices, long long n, long long room, int k) {
  const long long row = (long long)blockIdx.x + first_x;
  const weft_row* counters = (const weft_row*)(work + rows_at) + row;
${form.groupLanes === undefined ? '' : ENDS}  __shared__ weft_key keys[${form.padded}];
  __shared__ long long at[${form.padded}];
  const long long* found = (const long long*)(work + taken_at) + row * k;
  in += row * n;
  const unsigned int count = (unsigned int)k;
  for (int i = (int)threadIdx.x; i < k; i += ${TOP_THREADS}) {
    at[i] = found[i];
    keys[i] = weft_key_of(in[at[i]]);
  }
${SORTED}}
`;

export function printTop(form: TopForm): string {
  const { groupLanes } = form;
  const isSampled = groupLanes !== undefined;
  return [
    printSelection(form, isSampled ? ENDS : ''),
    isSampled ? printNarrow(form) + printFirst(form, groupLanes) : '',
    printOrder(form),
  ].join('');
}
