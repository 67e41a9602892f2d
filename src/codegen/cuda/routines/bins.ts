/**
 * CUDA C of bins: rows are gathered by atomic operations on integers, or on floats as the integers that have
 * their order, whose results depend on no order. Where all bins fit a block's shared memory, a block has the
 * rows of a unit, and as many copies of the bins as there is room for, so that lanes of a warp with equal keys
 * do not wait for one another; else many blocks have a unit, and the bins are in device memory. Launches are
 * made by `exec/calls/bins.ts`.
 */

import { CUDA_TYPE } from '../../../graph/cuda-expressions.js';
import { byteLengthOf } from '../../../graph/dtype.js';
import { BIN_THREADS, type BinForm, FLIGHT, findBin, hasEdges, hasValues, pitchOf } from './bin-form.js';
import { printKey } from './bin-keys.js';
import { identityOf, printPut } from './bin-puts.js';
import { keyAt, keysParameter, mapParameters, printRowMaps, valueAt, valuesParameter } from './bin-rows.js';
import { hasRuns, printAddRuns, printRuns } from './bin-runs.js';

export const BINS_NAME = 'weft_bins';
export const FILL_NAME = 'weft_bins_fill';
/** Bytes of shared memory for bins and their copies. */
const SHARED = 32768;
const MOST_COPIES = 32;

/** Whether a block has room for so many bytes of bins. */
export const fitsShared = (bytes: number): boolean => bytes <= SHARED;

/** One element: `s` is its place among bins · width. */
function printElement(form: BinForm, at: (part: number) => string): string {
  switch (form.op) {
    case 'count':
      return `weft_put(${at(0)});`;
    case 'last':
      return `weft_put(${at(0)}, (weft_result)(row + e));`;
    case 'fixed': {
      const adds = Array.from(
        { length: form.parts },
        (_, part) => `weft_add((unsigned long long*)${at(part)}, p[${part}]);`,
      );
      return `unsigned long long p[2];\n      weft_fix((double)v[j], scales[s], p);\n      ${adds.join('\n      ')}`;
    }
    case 'exact':
      return `long long number;
      const int window = weft_window(v[j], &number);
      weft_add_window(own, ${pitchOf(form)}, s, window, number);`;
    default:
      return `weft_put(${at(0)}, v[j]);`;
  }
}

/** Goes through elements [0, count) of rows from `row` on, `FLIGHT` at a time, `stride` apart. */
function printWalk(form: BinForm, stride: string, start: string, at: (part: number) => string): string {
  const { width } = form;
  const key = width === 1 ? 'e' : `e / ${width}ll`;
  const place = width === 1 ? 'bin' : `bin * ${width}ll + e % ${width}ll`;
  const valued = hasValues(form);
  return `  for (long long from = ${start}; from < count; from += (long long)${FLIGHT} * ${stride}) {
    weft_key k[${FLIGHT}];
${valued ? `    weft_value v[${FLIGHT}];\n` : ''}    #pragma unroll
    for (int j = 0; j < ${FLIGHT}; ++j) {
      const long long e = from + (long long)j * ${stride};
      if (e < count) {
        k[j] = ${keyAt(form, `row + ${key}`)};
${valued ? `        v[j] = ${valueAt(form, `row * ${width}ll + e`)};\n` : ''}      }
    }
    #pragma unroll
    for (int j = 0; j < ${FLIGHT}; ++j) {
      const long long e = from + (long long)j * ${stride};
      if (e >= count) break;
      const long long bin = ${findBin(form)};
      if (bin < 0) continue;
      const long long s = ${place};
      ${printElement(form, at)}
    }
  }
`;
}

/** Bytes that a thread reads at once, and such packs that it has in flight. */
const PACK = 16;
const PACKS = 2;

/** Whether nothing but keys is read, from memory, each for one element. */
const hasPacks = ({ op, width, sharedBins, rows }: BinForm): boolean =>
  op === 'count' && width === 1 && sharedBins !== undefined && rows?.keys === undefined;

/**
 * Threads of a block. Those that count in shared memory have few registers, and twice as many that wait for memory: 256 bins
 * of 2^28 float32 took 0.248 ms on an H200 for 0.277.
 */
export const binThreads = (form: BinForm): number => (hasPacks(form) ? COUNT_THREADS : BIN_THREADS);
const COUNT_THREADS = 1024;
/** Blocks of those that a multiprocessor holds at once: 32 registers a thread. */
const RESIDENT = 2;

/** As `printWalk` by a block that counts keys in shared memory: packs of them, where they lie so, then the rest. */
function printPacks(form: BinForm, at: (part: number) => string): string {
  const perPack = PACK / byteLengthOf(form.keys);
  const one = (key: string): string => `const int s = (int)${findBin(form, key)};
        if (s >= 0) ${printElement(form, at)}
`;
  return `  struct __align__(${PACK}) weft_pack {
    weft_key k[${perPack}];
  };
  const bool isPacked = (unsigned long long)(keys + row) % ${PACK} == 0;
  /* Packs of turns in which each thread has as many: those of a unit are a small part of memory. */
  const int whole = isPacked ? (int)(count / ${perPack * PACKS * COUNT_THREADS}) * ${PACKS * COUNT_THREADS} : 0;
  const weft_pack* from_packs = (const weft_pack*)(keys + row);
  for (int from = threadIdx.x; from < whole; from += ${PACKS * COUNT_THREADS}) {
    weft_pack pack[${PACKS}];
    #pragma unroll
    for (int j = 0; j < ${PACKS}; ++j) pack[j] = from_packs[from + j * ${COUNT_THREADS}];
    #pragma unroll
    for (int j = 0; j < ${PACKS}; ++j) {
      #pragma unroll
      for (int q = 0; q < ${perPack}; ++q) {
        ${one('pack[j].k[q]')}      }
    }
  }
  #pragma unroll 4
  for (long long e = (long long)whole * ${perPack} + threadIdx.x; e < count; e += ${COUNT_THREADS}) {
        ${one('keys[row + e]')}  }
`;
}

const parametersOf = (form: BinForm): string =>
  [
    ...keysParameter(form),
    ...(hasEdges(form) ? ['const weft_real* __restrict__ edges'] : []),
    ...(hasValues(form) ? valuesParameter(form) : []),
    ...(form.op === 'fixed' ? ['const int* __restrict__ scales'] : []),
    'weft_result* out',
    SIZES,
    ...(form.isWindowed === true ? [WINDOW_SIZES] : []),
  ].join(', ') + mapParameters(form);

const SIZES = 'long long rows, long long unit_rows, long long unit_blocks, long long bins';
const WINDOW_SIZES = 'long long windows, long long row_windows, long long pitch';

const printTypes = (form: BinForm): string => `typedef ${CUDA_TYPE[form.result]} weft_result;
${form.values === undefined ? '' : `typedef ${CUDA_TYPE[form.values]} weft_value;\n`}`;

/** A unit a block. */
function printShared(form: BinForm, sharedBins: number): string {
  const threads = binThreads(form);
  const slots = sharedBins * form.width * form.parts;
  const bytes =
    slots * (form.result === 'int64' || form.result === 'uint64' || form.result === 'float64' ? 8 : 4);
  let copies = MOST_COPIES;
  while (copies > 1 && copies * bytes > SHARED) copies /= 2;
  const edges = hasEdges(form) && (sharedBins + 1) * 8 <= SHARED / 4;
  const perPart = sharedBins * form.width;
  const at = (part: number): string =>
    `&own[(s${part === 0 ? '' : ` + ${part * perPart}`}) * ${copies} + copy]`;
  const searched = edges
    ? `  __shared__ weft_real held[${sharedBins + 1}];
  for (int i = threadIdx.x; i < ${sharedBins + 1}; i += ${threads}) held[i] = edges[i];
`
    : '';
  const merged =
    copies === 1
      ? `out[block * ${slots} + i] = own[i];`
      : // Lanes begin with different copies, which lie in different banks.
        `weft_result all = own[i * ${copies} + i % ${copies}];
    for (int c = 1; c < ${copies}; ++c) all = weft_merge(all, own[i * ${copies} + (i + c) % ${copies}]);
    out[block * ${slots} + i] = all;`;
  return `${copies === 1 ? '' : printMerge(form)}
extern "C" __global__ void __launch_bounds__(${threads}${hasPacks(form) ? `, ${RESIDENT}` : ''})
${BINS_NAME}(unsigned int first_x, ${parametersOf(form)}) {
  __shared__ weft_result own[${slots * copies}];
${searched}  const long long block = (long long)blockIdx.x + first_x;
  const unsigned int copy = threadIdx.x % ${copies};
  for (int i = threadIdx.x; i < ${slots * copies}; i += ${threads}) own[i] = ${identityOf(form)};
  __syncthreads();
${hasEdges(form) ? `  const weft_search search(${edges ? 'held' : 'edges'}, bins);\n` : ''}  const long long row = block * unit_rows;
  const long long count = (rows - row < unit_rows ? rows - row : unit_rows) * ${form.width}ll;
${hasPacks(form) ? printPacks(form, at) : printWalk(form, `${threads}`, 'threadIdx.x', at)}  __syncthreads();
  for (int i = threadIdx.x; i < ${slots}; i += ${threads}) {
    ${merged}
  }
}
`;
}

/** The combination of two copies of a bin. */
function printMerge({ op, result }: BinForm): string {
  const isFloat = result === 'float32' || result === 'float64';
  const better = op === 'min' ? '<' : '>';
  const body =
    op === 'count' || op === 'sum' || op === 'fixed'
      ? 'return (weft_result)((unsigned long long)a + (unsigned long long)b);'
      : isFloat
        ? // By the bits, so that -0 is less than 0.
          `if (a != a) return a;
  if (b != b) return b;
  if (a == b) return signbit(a) ${op === 'min' ? '' : '== 0 '}? a : b;
  return b ${better} a ? b : a;`
        : `return b ${better} a ? b : a;`;
  return `__device__ __forceinline__ weft_result weft_merge(weft_result a, weft_result b) {
  ${body}
}
`;
}

/** The rows of many blocks a unit, or a tile. */
const printRows = (form: BinForm): string =>
  hasRuns(form)
    ? printRuns(form)
    : printWalk(
        form,
        `unit_blocks * ${BIN_THREADS}`,
        `block % unit_blocks * ${BIN_THREADS} + threadIdx.x`,
        placeOf(form),
      );

/** Many blocks a unit. */
function printGlobal(form: BinForm): string {
  return `${hasRuns(form) ? printAddRuns(form) : ''}
extern "C" __global__ void __launch_bounds__(${BIN_THREADS})
${FILL_NAME}(unsigned int first_x, weft_result* out, long long unit_blocks, long long slots) {
  const long long block = (long long)blockIdx.x + first_x;
  weft_result* own = out + block / unit_blocks * slots;
  for (long long i = block % unit_blocks * ${BIN_THREADS} + threadIdx.x; i < slots; i += unit_blocks * ${BIN_THREADS})
    own[i] = ${identityOf(form)};
}

extern "C" __global__ void __launch_bounds__(${BIN_THREADS})
${BINS_NAME}(unsigned int first_x, ${parametersOf(form)}) {
  const long long block = (long long)blockIdx.x + first_x;
  const long long unit = block / unit_blocks;
  weft_result* own = out + unit * bins * ${form.width * form.parts}ll;
${hasEdges(form) ? '  const weft_search search(edges, bins);\n' : ''}  const long long row = unit * unit_rows;
  const long long count = (rows - row < unit_rows ? rows - row : unit_rows) * ${form.width}ll;
${printRows(form)}}
`;
}

/** The place of a part of element `s` among bins · width. */
const placeOf =
  (form: BinForm) =>
  (part: number): string =>
    part === 0 ? '&own[s]' : `&own[s + ${part}ll * ${pitchOf(form)}]`;

/** A part of a unit's rows and a window of the bins: tiles go through the parts of the rows for each window. */
const TILE = `struct weft_tile {
  long long unit, row, last, low, high;
  bool is_first;
  __device__ __forceinline__ weft_tile(long long tile, long long rows, long long unit_rows, long long bins,
                                       long long windows, long long row_windows) {
    const long long window = tile / row_windows % windows, part = tile % row_windows;
    unit = tile / (windows * row_windows);
    low = bins * window / windows;
    high = bins * (window + 1) / windows;
    const long long begin = unit * unit_rows;
    const long long size = rows - begin < unit_rows ? rows - begin : unit_rows;
    row = begin + size * part / row_windows;
    last = begin + size * (part + 1) / row_windows;
    is_first = part == 0;
  }
  __device__ __forceinline__ long long within(long long bin) const { return bin >= low && bin < high ? bin : -1; }
};
`;

/** Many blocks a tile; the first tile of a window fills it. */
function printWindowed(form: BinForm): string {
  const { width, parts } = form;
  const begin = `  const long long block = (long long)blockIdx.x + first_x;
  const weft_tile tile(block / unit_blocks, rows, unit_rows, bins, windows, row_windows);
`;
  return `${TILE}${hasRuns(form) ? printAddRuns(form) : ''}
extern "C" __global__ void __launch_bounds__(${BIN_THREADS})
${FILL_NAME}(unsigned int first_x, weft_result* out, ${SIZES}, ${WINDOW_SIZES}) {
${begin}  if (!tile.is_first) return;
  weft_result* own = out + tile.unit * pitch * ${parts}ll + tile.low * ${width}ll;
  const long long size = (tile.high - tile.low) * ${width}ll;
  for (long long i = block % unit_blocks * ${BIN_THREADS} + threadIdx.x; i < size * ${parts}ll; i += unit_blocks * ${BIN_THREADS})
    own[i / size * pitch + i % size] = ${identityOf(form)};
}

extern "C" __global__ void __launch_bounds__(${BIN_THREADS})
${BINS_NAME}(unsigned int first_x, ${parametersOf(form)}) {
${begin}  weft_result* own = out + tile.unit * pitch * ${parts}ll;
${hasEdges(form) ? '  const weft_search search(edges, bins);\n' : ''}  const long long row = tile.row;
  const long long count = (tile.last - tile.row) * ${width}ll;
${printRows(form)}}
`;
}

/** The kernels of a form. */
export function printBins(form: BinForm): string {
  const kernels =
    form.isWindowed === true
      ? printWindowed(form)
      : form.sharedBins === undefined
        ? printGlobal(form)
        : printShared(form, form.sharedBins);
  return `${printRowMaps(form)}${printTypes(form)}${printKey(form)}${printPut(form)}${kernels}`;
}
