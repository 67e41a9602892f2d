/**
 * CUDA C of sorting: the keys that elements are compared by, rows that fit a block, and a stable radix sort
 * of long rows, least significant digit first (Knuth, The Art of Computer Programming 3, 5.2.5). Ranks inside
 * a warp come from ballots on the bits of a digit (Adinets and Merrill, "Onesweep", 2022), so no atomics are
 * needed and the order is fixed. Launches are made by `exec/calls/sort.ts`.
 *
 * A pass of the radix sort is three kernels: digits are counted for each tile, counts are scanned along the
 * tiles, and the elements of a tile, ordered by digit in shared memory, are written behind one another.
 */
import { byteLengthOf, type DType, isComplex, isFloat } from '../../../graph/dtype.js';

export interface SortForm {
  readonly dtype: DType;
  readonly descending: boolean;
  /** Whether positions are wanted, and of how many bytes they are while they are moved. */
  readonly indexBytes: 0 | 4 | 8;
}

export const SORT_THREADS = 256;
const WARPS = SORT_THREADS / 32;
const DIGITS = 256;

const UNSIGNED: Readonly<Record<number, string>> = {
  1: 'unsigned char',
  2: 'unsigned short',
  4: 'unsigned int',
  8: 'unsigned long long',
};
const INFINITIES: Readonly<Record<string, string>> = {
  float16: '0x7c00',
  bfloat16: '0x7f80',
  float32: '0x7f800000',
  float64: '0x7ff0000000000000ull',
};
const QUIET_NANS: Readonly<Record<string, string>> = {
  float16: '0x7e00',
  bfloat16: '0x7fc0',
  float32: '0x7fc00000',
  float64: '0x7ff8000000000000ull',
};

/** The dtype of a complex number's parts; of others, their own. */
const partOf = (dtype: DType): DType =>
  dtype === 'complex64' ? 'float32' : dtype === 'complex128' ? 'float64' : dtype;

/** Bytes of a key, and of a position that is moved with it. */
const movedBytes = ({ dtype, indexBytes }: SortForm): number => byteLengthOf(dtype) + indexBytes;

/** Elements that a block sorts in shared memory, a power of two. */
export const blockCapacity = (form: SortForm): number => (movedBytes(form) > 12 ? 2048 : 4096);

/** Elements of a tile of the radix sort. */
export const tileLength = (form: SortForm): number =>
  SORT_THREADS * (movedBytes(form) > 12 ? 4 : movedBytes(form) > 8 ? 8 : 16);

/** Digits of a key: a complex number has those of its imaginary part, its real part, and its NaNs. */
export const digitsOf = (dtype: DType): number => byteLengthOf(dtype) + (isComplex(dtype) ? 1 : 0);

/** How a part of an element turns into an unsigned integer in the same order, and back. */
function printPart({ dtype, descending, indexBytes }: SortForm): string {
  const part = partOf(dtype);
  const bits = 8 * byteLengthOf(part);
  const type = UNSIGNED[bits / 8]!;
  const sign = `((weft_part)1 << ${bits - 1})`;
  const flip = (key: string): string => (descending ? `(weft_part)~${key}` : key);
  if (!isFloat(part)) {
    const isSigned = part.startsWith('int');
    const shifted = isSigned ? `(weft_part)(a ^ ${sign})` : 'a';
    const back = isSigned ? `(weft_part)(${flip('k')} ^ ${sign})` : flip('k');
    return `typedef ${type} weft_part;
__device__ __forceinline__ weft_part weft_encode(weft_part a) { return ${flip(shifted)}; }
__device__ __forceinline__ weft_part weft_decode(weft_part k) { return ${back}; }
`;
  }
  // Of equal elements the order is that of their positions: -0 is 0.
  const zero = indexBytes > 0 ? `  if (a == ${sign}) a = 0;\n` : '';
  return `typedef ${type} weft_part;
__device__ __forceinline__ weft_part weft_encode(weft_part a) {
  if ((weft_part)(a & (weft_part)~${sign}) > ${INFINITIES[part]}) return (weft_part)~(weft_part)0;
${zero}  const weft_part k = a & ${sign} ? (weft_part)~a : (weft_part)(a | ${sign});
  return ${flip('k')};
}
__device__ __forceinline__ weft_part weft_decode(weft_part k) {
  if (k == (weft_part)~(weft_part)0) return ${QUIET_NANS[part]};
  const weft_part a = ${flip('k')};
  return a & ${sign} ? (weft_part)(a ^ ${sign}) : (weft_part)~a;
}
`;
}

/** Keys: their order, their digits, and what they are made of. */
export function printKeys(form: SortForm): string {
  const bytes = byteLengthOf(partOf(form.dtype));
  if (!isComplex(form.dtype))
    return `${printPart(form)}typedef weft_part weft_key;
__device__ __forceinline__ weft_key weft_key_of(weft_key a) { return weft_encode(a); }
__device__ __forceinline__ weft_key weft_element_of(weft_key k) { return weft_decode(k); }
__device__ __forceinline__ weft_key weft_last() { return (weft_key)~(weft_key)0; }
__device__ __forceinline__ bool weft_less(weft_key a, weft_key b) { return a < b; }
__device__ __forceinline__ unsigned int weft_digit(weft_key k, int pass) {
  return (unsigned int)(k >> (8 * pass)) & 255u;
}
`;
  return `${printPart(form)}struct weft_key {
  weft_part re, im;
};
__device__ __forceinline__ weft_key weft_key_of(weft_key a) {
  return weft_key{weft_encode(a.re), weft_encode(a.im)};
}
__device__ __forceinline__ weft_key weft_element_of(weft_key k) {
  return weft_key{weft_decode(k.re), weft_decode(k.im)};
}
__device__ __forceinline__ weft_key weft_last() {
  return weft_key{(weft_part)~(weft_part)0, (weft_part)~(weft_part)0};
}
/* First numbers, then those whose imaginary part, real part, or both are NaN. */
__device__ __forceinline__ unsigned int weft_class(weft_key k) {
  return (k.re == (weft_part)~(weft_part)0 ? 2u : 0u) + (k.im == (weft_part)~(weft_part)0 ? 1u : 0u);
}
__device__ __forceinline__ bool weft_less(weft_key a, weft_key b) {
  const unsigned int x = weft_class(a), y = weft_class(b);
  if (x != y) return x < y;
  return a.re != b.re ? a.re < b.re : a.im < b.im;
}
__device__ __forceinline__ unsigned int weft_digit(weft_key k, int pass) {
  if (pass < ${bytes}) return (unsigned int)(k.im >> (8 * pass)) & 255u;
  if (pass < ${2 * bytes}) return (unsigned int)(k.re >> (8 * (pass - ${bytes}))) & 255u;
  return weft_class(k);
}
`;
}

export const BLOCK_SORT = 'weft_sort_block';

/**
 * Rows that fit a block: a bitonic network (Batcher, 1968) over keys, and positions where those are wanted,
 * so that equal elements keep their order. `padded`: the length of a row, up to a power of two.
 */
export function printBlockSort(
  form: SortForm,
  padded: number,
  rowsPerBlock: number,
  threads: number,
): string {
  const size = padded * rowsPerBlock;
  const hasIndex = form.indexBytes > 0;
  const result = hasIndex ? 'long long' : 'weft_key';
  const isBehind = hasIndex
    ? 'weft_less(keys[j], keys[i]) || (!weft_less(keys[i], keys[j]) && at[j] < at[i])'
    : 'weft_less(keys[j], keys[i])';
  const exchangeAt = hasIndex
    ? '\n          const unsigned int p = at[i];\n          at[i] = at[j];\n          at[j] = p;'
    : '';
  return `${printKeys(form)}
extern "C" __global__ void __launch_bounds__(${threads})
${BLOCK_SORT}(unsigned int first_x, const weft_key* __restrict__ in, ${result}* __restrict__ out, long long rows, unsigned int n) {
  __shared__ weft_key keys[${size}];
${hasIndex ? `  __shared__ unsigned int at[${size}];\n` : ''}  const long long row = (long long)(blockIdx.x + first_x) * ${rowsPerBlock};
  for (unsigned int i = threadIdx.x; i < ${size}; i += ${threads}) {
    const long long own = row + i / ${padded};
    const unsigned int k = i % ${padded};
    keys[i] = own < rows && k < n ? weft_key_of(in[own * n + k]) : weft_last();
${hasIndex ? '    at[i] = k;\n' : ''}  }
  for (unsigned int size = 2; size <= ${padded}; size *= 2) {
    for (unsigned int stride = size / 2; stride > 0; stride /= 2) {
      __syncthreads();
      for (unsigned int pair = threadIdx.x; pair < ${size / 2}; pair += ${threads}) {
        const unsigned int low = pair / stride * 2 * stride + pair % stride;
        const bool isUp = (low % ${padded} & size) == 0;
        const unsigned int i = isUp ? low : low + stride;
        const unsigned int j = isUp ? low + stride : low;
        if (${isBehind}) {
          const weft_key k = keys[i];
          keys[i] = keys[j];
          keys[j] = k;${exchangeAt}
        }
      }
    }
  }
  __syncthreads();
  for (unsigned int i = threadIdx.x; i < ${size}; i += ${threads}) {
    const long long own = row + i / ${padded};
    const unsigned int k = i % ${padded};
    if (own < rows && k < n) out[own * n + k] = ${hasIndex ? '(long long)at[i]' : 'weft_element_of(keys[i])'};
  }
}
`;
}

/** An array that begins some bytes into a buffer: its two parameters, and the line that makes a pointer of them. */
interface ArrayParameter {
  readonly declared: string;
  readonly pointer: string;
}

function array(name: string, type: string, access: 'in' | 'out'): ArrayParameter {
  const constant = access === 'in' ? 'const ' : '';
  return {
    declared: `${constant}char* __restrict__ ${name}_base, long long ${name}_at`,
    pointer: `  ${constant}${type}* ${name} = (${constant}${type}*)(${name}_base + ${name}_at);\n`,
  };
}

const declared = (arrays: readonly ArrayParameter[]): string => arrays.map((a) => a.declared).join(', ');
const pointers = (arrays: readonly ArrayParameter[]): string => arrays.map((a) => a.pointer).join('');

const KEYS = array('keys', 'weft_key', 'in');
const COUNTS = array('counts', 'unsigned int', 'in');
const COUNTS_OUT = array('counts', 'unsigned int', 'out');
const TOTALS = array('totals', 'long long', 'in');
const TOTALS_OUT = array('totals', 'long long', 'out');

/** Where a pass stands: the first one reads elements, the last one writes the result. */
export interface PassForm {
  readonly isFirst: boolean;
  readonly isLast: boolean;
}

export const countName = ({ isFirst }: PassForm): string =>
  isFirst ? 'weft_sort_count_first' : 'weft_sort_count';
export const SCAN_NAME = 'weft_sort_scan';
export const scatterName = ({ isFirst, isLast }: PassForm): string =>
  `weft_sort_scatter${isFirst ? '_first' : ''}${isLast ? '_last' : ''}`;

/** Ranks of a tile's elements among those of equal digits before them in their warp, and counts by warp. */
const ranks = (form: SortForm, isFirst: boolean, keeps: boolean): string => {
  const items = tileLength(form) / SORT_THREADS;
  const key = isFirst ? 'weft_key_of(keys[e])' : 'keys[e]';
  return `  const unsigned int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const unsigned int b = blockIdx.x + first_x;
  const unsigned int tile = b % tiles;
  const long long row = b / tiles;
  keys += row * n;
  __shared__ unsigned int counted[${WARPS * DIGITS}];
  for (unsigned int i = threadIdx.x; i < ${WARPS * DIGITS}; i += ${SORT_THREADS}) counted[i] = 0;
  __syncthreads();
${keeps ? `  weft_key own[${items}];\n  unsigned int rank[${items}];\n` : ''}  #pragma unroll
  for (int item = 0; item < ${items}; ++item) {
    const long long e = (long long)tile * ${tileLength(form)} + warp * ${32 * items} + item * 32 + lane;
    const weft_key k = e < n ? ${key} : weft_last();
    const unsigned int d = e < n ? weft_digit(k, pass) : 255u;
    unsigned int peers = 0xffffffffu;
    #pragma unroll
    for (int bit = 0; bit < 8; ++bit) {
      const bool isSet = (d >> bit & 1u) != 0;
      const unsigned int those = __ballot_sync(0xffffffffu, isSet);
      peers &= isSet ? those : ~those;
    }
    const unsigned int before = __popc(peers & ((1u << lane) - 1u));
    const unsigned int known = counted[warp * ${DIGITS} + d];
    __syncwarp();
    if (before == 0) counted[warp * ${DIGITS} + d] = known + __popc(peers);
    __syncwarp();
${keeps ? '    own[item] = k;\n    rank[item] = known + before;\n' : ''}  }
  __syncthreads();
  unsigned int total = 0;
  #pragma unroll
  for (int w = 0; w < ${WARPS}; ++w) {
    const unsigned int count = counted[w * ${DIGITS} + threadIdx.x];
    counted[w * ${DIGITS} + threadIdx.x] = total;
    total += count;
  }
`;
};

function printCount(form: SortForm, pass: PassForm): string {
  return `
extern "C" __global__ void __launch_bounds__(${SORT_THREADS})
${countName(pass)}(unsigned int first_x, ${declared([KEYS, COUNTS_OUT])}, long long n, unsigned int tiles, int pass) {
${pointers([KEYS, COUNTS_OUT])}${ranks(form, pass.isFirst, false)}  const long long rest = n - (long long)tile * ${tileLength(form)};
  if (threadIdx.x == 255 && rest < ${tileLength(form)}) total -= (unsigned int)(${tileLength(form)} - rest);
  counts[(row * ${DIGITS} + threadIdx.x) * tiles + tile] = total;
}
`;
}

/** Values of a thread's neighbours before it, summed: a scan over the block (Hillis and Steele, 1986). */
const SCAN = `
__device__ __forceinline__ unsigned int weft_scan(unsigned int value, unsigned int* sums) {
  const unsigned int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  unsigned int sum = value;
  #pragma unroll
  for (unsigned int far = 1; far < 32; far *= 2) {
    const unsigned int other = __shfl_up_sync(0xffffffffu, sum, far);
    if (lane >= far) sum += other;
  }
  __syncthreads();
  if (lane == 31) sums[warp] = sum;
  __syncthreads();
  unsigned int before = 0;
  #pragma unroll
  for (unsigned int w = 0; w < ${WARPS}; ++w) before += w < warp ? sums[w] : 0;
  return before + sum - value;
}
`;

const SCANNED = 8;

/** Counts of a digit along the tiles become the sums of those before; `totals` gets their sums. */
const SCAN_KERNEL = `
extern "C" __global__ void __launch_bounds__(${SORT_THREADS})
${SCAN_NAME}(unsigned int first_x, ${declared([COUNTS_OUT, TOTALS_OUT])}, unsigned int tiles) {
${pointers([COUNTS_OUT, TOTALS_OUT])}  __shared__ unsigned int sums[${WARPS}];
  __shared__ unsigned int whole;
  const long long line = blockIdx.x + first_x;
  counts += line * tiles;
  unsigned int carry = 0;
  for (unsigned int from = 0; from < tiles; from += ${SORT_THREADS * SCANNED}) {
    const unsigned int first = from + threadIdx.x * ${SCANNED};
    unsigned int own[${SCANNED}];
    unsigned int sum = 0;
    #pragma unroll
    for (unsigned int k = 0; k < ${SCANNED}; ++k) {
      own[k] = first + k < tiles ? counts[first + k] : 0;
      sum += own[k];
    }
    unsigned int before = carry + weft_scan(sum, sums);
    if (threadIdx.x == ${SORT_THREADS - 1}) whole = before + sum;
    #pragma unroll
    for (unsigned int k = 0; k < ${SCANNED}; ++k) {
      if (first + k < tiles) counts[first + k] = before;
      before += own[k];
    }
    __syncthreads();
    carry = whole;
  }
  if (threadIdx.x == 0) totals[line] = carry;
}
`;

function printScatter(form: SortForm, pass: PassForm): string {
  const items = tileLength(form) / SORT_THREADS;
  const hasIndex = form.indexBytes > 0;
  const index = UNSIGNED[form.indexBytes];
  const writesKeys = !hasIndex || !pass.isLast;
  const arrays = [
    KEYS,
    ...(hasIndex && !pass.isFirst ? [array('places', index!, 'in')] : []),
    ...(writesKeys ? [array('out', 'weft_key', 'out')] : []),
    ...(hasIndex ? [array('moved', pass.isLast ? 'long long' : index!, 'out')] : []),
    COUNTS,
    TOTALS,
  ];
  const key = pass.isLast ? 'weft_element_of(k)' : 'k';
  const staged = hasIndex
    ? `      const long long e = (long long)tile * ${tileLength(form)} + warp * ${32 * items} + item * 32 + lane;
      if (e < n) at[p] = ${pass.isFirst ? `(${index})e` : 'places[e]'};\n`
    : '';
  return `
extern "C" __global__ void __launch_bounds__(${SORT_THREADS})
${scatterName(pass)}(unsigned int first_x, ${declared(arrays)}, long long n, unsigned int tiles, int pass) {
${pointers(arrays)}${ranks(form, pass.isFirst, true)}${hasIndex && !pass.isFirst ? '  places += row * n;\n' : ''}${writesKeys ? '  out += row * n;\n' : ''}${hasIndex ? '  moved += row * n;\n' : ''}  __shared__ unsigned int sums[${WARPS}];
  __shared__ unsigned int starts[${DIGITS}];
  __shared__ long long places_of[${DIGITS}];
  __shared__ weft_key sorted[${tileLength(form)}];
${hasIndex ? `  __shared__ ${index} at[${tileLength(form)}];\n` : ''}  const unsigned int start = weft_scan(total, sums);
  starts[threadIdx.x] = start;
  places_of[threadIdx.x] = totals[row * ${DIGITS} + threadIdx.x];
  __syncthreads();
  long long begin = 0;
  for (unsigned int d = 0; d < threadIdx.x; ++d) begin += places_of[d];
  __syncthreads();
  places_of[threadIdx.x] = begin + counts[(row * ${DIGITS} + threadIdx.x) * tiles + tile] - start;
  #pragma unroll
  for (int item = 0; item < ${items}; ++item) {
    const long long from = (long long)tile * ${tileLength(form)} + warp * ${32 * items} + item * 32 + lane;
    if (from < n) {
      const weft_key k = own[item];
      const unsigned int d = weft_digit(k, pass);
      const unsigned int p = starts[d] + counted[warp * ${DIGITS} + d] + rank[item];
      sorted[p] = k;
${staged}    }
  }
  __syncthreads();
  const long long rest = n - (long long)tile * ${tileLength(form)};
  const unsigned int size = rest < ${tileLength(form)} ? (unsigned int)rest : ${tileLength(form)}u;
  for (unsigned int i = threadIdx.x; i < size; i += ${SORT_THREADS}) {
    const weft_key k = sorted[i];
    const long long to = places_of[weft_digit(k, pass)] + i;
${writesKeys ? `    out[to] = ${key};\n` : ''}${hasIndex ? `    moved[to] = ${pass.isLast ? '(long long)at[i]' : 'at[i]'};\n` : ''}  }
}
`;
}

/** The passes that differ, for so many digits. */
export function passForms(digits: number): readonly PassForm[] {
  return Array.from({ length: digits }, (_, k) => ({ isFirst: k === 0, isLast: k === digits - 1 }));
}

/** All kernels of a radix sort. */
export function printRadixSort(form: SortForm): string {
  const forms = passForms(digitsOf(form.dtype));
  const counts = new Map(forms.map((pass) => [countName(pass), printCount(form, pass)]));
  const scatters = new Map(forms.map((pass) => [scatterName(pass), printScatter(form, pass)]));
  return [printKeys(form), SCAN, ...counts.values(), SCAN_KERNEL, ...scatters.values()].join('');
}
