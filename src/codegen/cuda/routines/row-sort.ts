/**
 * CUDA C of sorting rows that fit the registers of a block: a bitonic network (Batcher, 1968) in the form whose
 * comparisons all go the same way, the first of each merge between mirrored places. Each thread has neighbouring
 * elements in registers; lanes of a warp exchange theirs by shuffles, warps of a longer row through shared memory.
 * Launches are made by `exec/calls/sort.ts`.
 *
 * An element is its key, and its position where positions are wanted, so that equal elements keep their order.
 */
import { byteLengthOf, isComplex } from '../../../graph/dtype.js';
import { movedBytes, printKeys, type SortForm } from './sort-keys.js';

export const ROW_SORT_NAME = 'weft_sort_rows';
export const ROW_SORT_THREADS = 256;

/** Most elements of a thread: up to 64 registers. */
function mostItems(form: SortForm): number {
  const bytes = movedBytes(form);
  return bytes <= 4 ? 32 : bytes <= 8 ? 16 : bytes <= 16 ? 8 : 4;
}

/** Elements of the longest rows, a power of two. */
export const rowCapacity = (form: SortForm): number => Math.min(4096, ROW_SORT_THREADS * mostItems(form));

/** How rows of a length, up to a power of two, lie in a block. */
interface RowForm {
  readonly padded: number;
  readonly items: number;
  /** Threads of a row. */
  readonly threads: number;
}

function rowForm(form: SortForm, padded: number): RowForm {
  const items = Math.max(1, Math.min(mostItems(form), padded / 32));
  return { padded, items, threads: padded / items };
}

/** Comparisons of a row in a block: of each thread one after the other, and of all, of filled up rows. */
export function comparisonsOfRow(
  form: SortForm,
  length: number,
): { byThread: number; all: number } | undefined {
  if (length > rowCapacity(form)) return undefined;
  const merges = Math.max(1, Math.ceil(Math.log2(length)));
  const { padded, items } = rowForm(form, 2 ** merges);
  const rounds = (merges * (merges + 1)) / 2;
  return { byThread: items * rounds, all: padded * rounds };
}

/** Rows of a block. */
export const rowsPerBlock = (form: SortForm, padded: number): number =>
  ROW_SORT_THREADS / rowForm(form, padded).threads;

/** Whether a key and a position are one number of 64 bits. */
const isPacked = ({ dtype, indexBytes }: SortForm): boolean =>
  indexBytes > 0 && !isComplex(dtype) && byteLengthOf(dtype) <= 4;

/** Bytes of an item, with those that align it. */
function itemBytes(form: SortForm): number {
  if (form.indexBytes === 0) return byteLengthOf(form.dtype);
  if (isPacked(form) || !isComplex(form.dtype)) return byteLengthOf(form.dtype) <= 4 ? 8 : 16;
  return byteLengthOf(form.dtype) + (form.dtype === 'complex64' ? 4 : 8);
}

/** The exchanged values and their comparison. */
function printItem(form: SortForm): string {
  if (isPacked(form))
    return `typedef unsigned long long weft_item;
__device__ __forceinline__ weft_item weft_item_of(weft_key k, unsigned int at) { return (weft_item)k << 32 | at; }
__device__ __forceinline__ bool weft_is_less(weft_item a, weft_item b) { return a < b; }
__device__ __forceinline__ weft_item weft_of_lane(weft_item a, unsigned int lane) {
  return __shfl_sync(0xffffffffu, a, (int)lane);
}
__device__ __forceinline__ long long weft_result_of(weft_item a) { return (long long)(a & 0xffffffffull); }
`;
  const isPair = isComplex(form.dtype);
  const lane = (name: string): string =>
    isPair
      ? `weft_key{(weft_part)__shfl_sync(0xffffffffu, ${name}.re, (int)lane), (weft_part)__shfl_sync(0xffffffffu, ${name}.im, (int)lane)}`
      : `(weft_key)__shfl_sync(0xffffffffu, ${name}, (int)lane)`;
  if (form.indexBytes === 0)
    return `typedef weft_key weft_item;
__device__ __forceinline__ weft_item weft_item_of(weft_key k, unsigned int) { return k; }
__device__ __forceinline__ bool weft_is_less(weft_item a, weft_item b) { return weft_less(a, b); }
__device__ __forceinline__ weft_item weft_of_lane(weft_item a, unsigned int lane) { return ${lane('a')}; }
__device__ __forceinline__ weft_key weft_result_of(weft_item a) { return weft_element_of(a); }
`;
  return `struct weft_item {
  weft_key key;
  unsigned int at;
};
__device__ __forceinline__ weft_item weft_item_of(weft_key k, unsigned int at) { return weft_item{k, at}; }
__device__ __forceinline__ bool weft_is_less(weft_item a, weft_item b) {
  return weft_less(a.key, b.key) || (!weft_less(b.key, a.key) && a.at < b.at);
}
__device__ __forceinline__ weft_item weft_of_lane(weft_item a, unsigned int lane) {
  return weft_item{${lane('a.key')}, __shfl_sync(0xffffffffu, a.at, (int)lane)};
}
__device__ __forceinline__ long long weft_result_of(weft_item a) { return (long long)a.at; }
`;
}

const compared = (items: number, distance: number, other: string): string => `  #pragma unroll
  for (int i = 0; i < ${items}; ++i)
    if ((i & ${distance}) == 0) weft_order(v[i], v[${other}]);
`;

/** The comparisons of a bitonic sequence of so many of a thread's elements. */
function printMerged(items: number, width: number): string {
  let text = '';
  for (let far = width / 2; far >= 1; far /= 2) text += compared(items, far, `i + ${far}`);
  return text;
}

/** Merges and sorts of a thread's own elements. */
function printOwn(items: number): string {
  let sorted = '';
  for (let size = 2; size <= items; size *= 2)
    sorted += compared(items, size / 2, `i ^ ${size - 1}`) + printMerged(items, size / 2);
  return `
__device__ __forceinline__ void weft_order(weft_item& a, weft_item& b) {
  const weft_item low = a;
  const bool isBehind = weft_is_less(b, a);
  a = isBehind ? b : a;
  b = isBehind ? low : b;
}
__device__ __forceinline__ void weft_keep(weft_item& a, weft_item other, bool isLower) {
  if (weft_is_less(other, a) == isLower) a = other;
}
__device__ __forceinline__ void weft_merge_own(weft_item* v) {
${printMerged(items, items)}}
__device__ __forceinline__ void weft_sort_own(weft_item* v) {
${sorted}}
`;
}

/** Merges of the elements of two halves of `threads` threads, a step of which is within a warp or among warps. */
function printMerges({ items, threads }: RowForm): string {
  const mirrored = (value: (k: string) => string): string => `#pragma unroll
      for (int i = 0; i < ${Math.ceil(items / 2)}; ++i) {
        const weft_item a = ${value(`${items - 1} - i`)}, b = ${value('i')};
        weft_keep(v[i], a, isLower);
${items > 1 ? `        weft_keep(v[${items - 1} - i], b, isLower);\n` : ''}      }`;
  const straight = (value: (k: string) => string): string => `#pragma unroll
      for (int i = 0; i < ${items}; ++i) weft_keep(v[i], ${value('i')}, isLower);`;
  const byLane = (k: string): string => `weft_of_lane(v[${k}], other)`;
  const within = (first: string): string => `    for (unsigned int far = ${first}; far > 0; far /= 2) {
      const unsigned int other = lane ^ far;
      const bool isLower = (lane & far) == 0;
      ${straight(byLane)}
    }
    weft_merge_own(v);
`;
  const lanes = Math.min(threads, 32);
  const warps = `  for (unsigned int size = 2; size <= ${lanes}; size *= 2) {
    {
      const unsigned int other = lane ^ (size - 1);
      const bool isLower = (lane & size / 2) == 0;
      ${mirrored(byLane)}
    }
${within('size / 4')}  }
`;
  if (threads <= 32) return warps;
  const stored = `      __syncthreads();
      #pragma unroll
      for (int i = 0; i < ${items}; ++i) exchanged[i * ${ROW_SORT_THREADS} + threadIdx.x] = v[i];
      __syncthreads();
`;
  const byThread = (k: string): string => `exchanged[(${k}) * ${ROW_SORT_THREADS} + other]`;
  return `${warps}  for (unsigned int size = 64; size <= ${threads}; size *= 2) {
    {
${stored}      const unsigned int other = threadIdx.x ^ (size - 1);
      const bool isLower = (threadIdx.x & size / 2) == 0;
      ${mirrored(byThread)}
    }
    for (unsigned int far = size / 4; far >= 32; far /= 2) {
${stored}      const unsigned int other = threadIdx.x ^ far;
      const bool isLower = (threadIdx.x & far) == 0;
      ${straight(byThread)}
    }
${within('16')}  }
`;
}

/** Rows of up to `padded` elements, a power of two. */
export function printRowSort(form: SortForm, padded: number): string {
  const rows = rowForm(form, padded);
  const { items, threads } = rows;
  const hasIndex = form.indexBytes > 0;
  const result = hasIndex ? 'long long' : 'weft_key';
  const held = hasIndex ? 'unsigned int' : 'weft_key';
  const perBlock = ROW_SORT_THREADS / threads;
  const size = perBlock * padded;
  const bytes = Math.max(
    threads > 32 ? size * itemBytes(form) : 0,
    (size + size / 32) * (hasIndex ? 4 : byteLengthOf(form.dtype)),
  );
  // A place in shared memory that threads with neighbouring elements find in other banks.
  return `${printKeys(form)}${printItem(form)}${printOwn(items)}
#define WEFT_PLACE(k) ((k) + (k) / 32)
struct __align__(16) weft_held {
  unsigned int words[4];
};
extern "C" __global__ void __launch_bounds__(${ROW_SORT_THREADS})
${ROW_SORT_NAME}(unsigned int first_x, const weft_key* __restrict__ in, ${result}* __restrict__ out, long long rows, unsigned int n) {
  __shared__ weft_held shared[${Math.ceil(bytes / 16)}];
  ${held}* sorted = (${held}*)shared;
${threads > 32 ? '  weft_item* exchanged = (weft_item*)shared;\n' : ''}  const unsigned int lane = threadIdx.x % 32;
  const unsigned int own = threadIdx.x % ${threads};
  const long long first = (long long)(blockIdx.x + first_x) * ${perBlock};
  const long long row = first + threadIdx.x / ${threads};
  weft_item v[${items}];
  #pragma unroll
  for (int i = 0; i < ${items}; ++i) {
    const unsigned int k = i * ${threads} + own;
    v[i] = weft_item_of(row < rows && k < n ? weft_key_of(in[row * n + k]) : weft_last(), k);
  }
  weft_sort_own(v);
${printMerges(rows)}${threads > 32 ? '  __syncthreads();\n' : ''}  #pragma unroll
  for (int i = 0; i < ${items}; ++i)
    sorted[WEFT_PLACE(threadIdx.x * ${items} + i)] = ${hasIndex ? '(unsigned int)weft_result_of(v[i])' : 'weft_result_of(v[i])'};
  __syncthreads();
  #pragma unroll
  for (int i = 0; i < ${items}; ++i) {
    const unsigned int k = i * ${threads} + own;
    if (row < rows && k < n) out[row * n + k] = ${hasIndex ? '(long long)' : ''}sorted[WEFT_PLACE(threadIdx.x / ${threads} * ${padded} + k)];
  }
}
`;
}
