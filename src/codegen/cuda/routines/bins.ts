/**
 * CUDA C of bins: rows are gathered by atomic operations on integers, or on floats as the integers that have
 * their order, whose results depend on no order. Where all bins fit a block's shared memory, a block has the
 * rows of a unit, and as many copies of the bins as there is room for, so that lanes of a warp with equal keys
 * do not wait for one another; else many blocks have a unit, and the bins are in device memory. Launches are
 * made by `exec/calls/bins.ts`.
 */
import type { BinMode, BinOp } from '../../../graph/bin-units.js';
import type { DType } from '../../../graph/dtype.js';
import { CUDA_TYPE } from '../../../graph/ops.js';
import { highestLiteral, lowestLiteral } from '../literals.js';

export interface BinForm {
  readonly op: BinOp;
  /** Of the keys, and of the values if there are any. */
  readonly keys: DType;
  readonly values: DType | undefined;
  readonly result: DType;
  /** Which bin a key means, or that edges say so. */
  readonly mode: BinMode | 'edges' | 'equalEdges';
  readonly width: number;
  /** Numbers that a fixed sum is made of, and the bits of their fractions. */
  readonly parts: number;
  readonly bits: number;
  /** Of bins in shared memory, their number. */
  readonly sharedBins: number | undefined;
}

export const BINS_NAME = 'weft_bins';
export const FILL_NAME = 'weft_bins_fill';
export const BIN_THREADS = 512;
/** Bytes of shared memory for bins and their copies. */
const SHARED = 32768;
const MOST_COPIES = 32;
/** Rows that a thread has in flight. */
const FLIGHT = 8;

/** Whether a block has room for so many bytes of bins. */
export const fitsShared = (bytes: number): boolean => bytes <= SHARED;

const hasValues = ({ op }: BinForm): boolean => op !== 'count' && op !== 'last';
const hasEdges = ({ mode }: BinForm): boolean => mode === 'edges' || mode === 'equalEdges';

/** The dtype that keys are compared with edges in. */
const realOf = (keys: DType): 'float32' | 'float64' => (keys === 'float32' ? 'float32' : 'float64');

function printKey(form: BinForm): string {
  if (hasEdges(form)) return printEdges(form);
  const bins = 'bins';
  const signed = !form.keys.startsWith('u');
  const adjusted: Readonly<Record<BinMode, string>> = {
    within: '',
    raise: '',
    fromEnd: signed ? `  if (k < 0) k += ${bins};\n` : '',
    raiseFromEnd: signed ? `  if (k < 0) k += ${bins};\n` : '',
    wrap: signed
      ? `  k %= ${bins};\n  if (k < 0) k += ${bins};\n`
      : `  k = (long long)((unsigned long long)key % (unsigned long long)${bins});\n`,
    clip: signed
      ? `  k = k < 0 ? 0 : k < ${bins} ? k : ${bins} - 1;\n`
      : `  if (k < 0 || k >= ${bins}) k = ${bins} - 1;\n`,
  };
  return `typedef ${CUDA_TYPE[form.keys]} weft_key;
/* The bin of a key; none: -1. */
__device__ __forceinline__ long long weft_bin(weft_key key, long long bins) {
  long long k = (long long)key;
${adjusted[form.mode as BinMode]}  return (unsigned long long)k < (unsigned long long)bins ? k : -1;
}
`;
}

/**
 * Of equally spaced edges, a key's distance from the first one says its bin, but within rounding of an edge,
 * where the edges are asked; of others, a binary search does.
 */
function printEdges(form: BinForm): string {
  const real = realOf(form.keys);
  const type = CUDA_TYPE[real];
  const head = `typedef ${CUDA_TYPE[form.keys]} weft_key;
typedef ${type} weft_real;
`;
  if (form.mode === 'edges')
    return `${head}struct weft_search {
  const weft_real* edges;
  long long bins;
  __device__ __forceinline__ weft_search(const weft_real* e, long long b) : edges(e), bins(b) {}
  __device__ __forceinline__ long long operator()(weft_key key) const {
    const weft_real x = (weft_real)key;
    if (!(x >= edges[0] && x <= edges[bins])) return -1;
    long long low = 0, high = bins;
    while (high - low > 1) {
      const long long middle = low + (high - low) / 2;
      if (x >= edges[middle]) low = middle;
      else high = middle;
    }
    return low;
  }
};
`;
  const epsilon = real === 'float32' ? '1.1920929e-7f' : '2.220446049250313e-16';
  return `${head}struct weft_search {
  const weft_real* edges;
  long long bins;
  weft_real first, last, scale, margin;
  __device__ __forceinline__ weft_search(const weft_real* e, long long b) : edges(e), bins(b) {
    first = edges[0];
    last = edges[bins];
    scale = (weft_real)bins / (last - first);
    const weft_real most = fabs(first) > fabs(last) ? fabs(first) : fabs(last);
    margin = (4 * (weft_real)bins + 4 * most * scale) * ${epsilon};
  }
  __device__ __forceinline__ long long operator()(weft_key key) const {
    const weft_real x = (weft_real)key;
    if (!(x >= first && x <= last)) return -1;
    const weft_real place = (x - first) * scale;
    long long k = place < (weft_real)bins ? (long long)place : bins - 1;
    if (!(fabs(place - rint(place)) >= margin)) {
      while (k > 0 && x < edges[k]) --k;
      while (k < bins - 1 && x >= edges[k + 1]) ++k;
    }
    return k;
  }
};
`;
}

/** Adding 64 bits in shared memory: two halves, for which there is an instruction. */
const ADD_SHARED = `__device__ __forceinline__ void weft_add(unsigned long long* at, unsigned long long value) {
  unsigned int* half = (unsigned int*)at;
  const unsigned int low = (unsigned int)value;
  const unsigned int before = atomicAdd(half, low);
  const unsigned int high = (unsigned int)(value >> 32) + (before + low < low ? 1u : 0u);
  if (high != 0) atomicAdd(half + 1, high);
}
`;
const ADD_GLOBAL = `__device__ __forceinline__ void weft_add(unsigned long long* at, unsigned long long value) {
  if (value != 0) atomicAdd(at, value);
}
`;

/** The extreme of floats, as integers of their order: those of negative numbers go the other way. */
function printFloatExtreme(op: 'min' | 'max', dtype: 'float32' | 'float64'): string {
  const [signed, unsigned, bits] =
    dtype === 'float32'
      ? ['int', 'unsigned int', '__float_as_int']
      : ['long long', 'unsigned long long', '__double_as_longlong'];
  const [ahead, back] = op === 'max' ? ['Max', 'Min'] : ['Min', 'Max'];
  // A NaN of the sign that wins over all numbers.
  const nan =
    dtype === 'float32'
      ? op === 'max'
        ? '0x7fc00000'
        : '(int)0xffc00000u'
      : op === 'max'
        ? '0x7ff8000000000000ll'
        : '(long long)0xfff8000000000000ull';
  return `__device__ __forceinline__ void weft_put(weft_result* at, weft_value value) {
  const ${signed} v = value != value ? ${nan} : ${bits}(value);
  if (v >= 0) atomic${ahead}((${signed}*)at, v);
  else atomic${back}((${unsigned}*)at, (${unsigned})v);
}
`;
}

/** The exponent that a fixed sum is scaled by; see `fixed-sums.ts`. */
const SCALE = `__device__ __forceinline__ int weft_scale(double value) {
  if (value != value) return 8192;
  const long long word = __double_as_longlong(value);
  const int exponent = (int)(word >> 52 & 2047);
  if (exponent == 2047) return 4096;
  return word == (long long)0x8000000000000000ull ? 0 : exponent + 1;
}
`;

/** The parts of a value in units of its bin's scale. */
function printFixed({ bits, parts }: BinForm): string {
  const rest =
    parts === 1
      ? ''
      : `  v[1] = scale < 4096 ? (unsigned long long)(long long)rint((scaled - whole) * weft_power(${bits})) : minus;\n`;
  const infinite = parts === 1 ? 'minus << 32 | plus' : 'plus';
  return `__device__ __forceinline__ double weft_power(int e) {
  return __longlong_as_double((long long)(e + 1023) << 52);
}
__device__ __forceinline__ void weft_fix(double value, int scale, unsigned long long* v) {
  const int shift = ${bits + 1022} - (scale < 2 ? 1 : scale - 1);
  const double scaled = scale < 4096 ? value * weft_power(shift / 2) * weft_power(shift - shift / 2) : 0.0;
  const double whole = rint(scaled);
  const unsigned long long plus = scale == 4096 && value == ${highestLiteral('float64')} ? 1ull : 0ull;
  const unsigned long long minus = scale == 4096 && value == ${lowestLiteral('float64')} ? 1ull : 0ull;
  v[0] = scale < 4096 ? (unsigned long long)(long long)whole : ${infinite};
${rest}}
`;
}

function identityOf({ op, result }: BinForm): string {
  if (op === 'last') return '-1';
  if (op === 'min') return highestLiteral(result);
  return op === 'max' ? lowestLiteral(result) : '0';
}

/** How a value is put into a bin; in device memory, where most change nothing, extremes are looked at before. */
function printPut(form: BinForm): string {
  const { op, result, sharedBins } = form;
  const isShared = sharedBins !== undefined;
  const extreme = (name: string, value: string): string =>
    `__device__ __forceinline__ void weft_put(weft_result* at, weft_value value) {
  const weft_result v = ${value};
  ${isShared ? '' : `if (__ldcg(at) ${name === 'Max' ? '<' : '>'} v) `}atomic${name}(at, v);
}
`;
  switch (op) {
    case 'count':
      return '__device__ __forceinline__ void weft_put(weft_result* at) { atomicAdd(at, 1u); }\n';
    case 'last':
      return `typedef weft_result weft_value;\n${extreme('Max', 'value')}`;
    case 'sum':
      return `${isShared ? ADD_SHARED : ADD_GLOBAL}__device__ __forceinline__ void weft_put(weft_result* at, weft_value value) {
  weft_add((unsigned long long*)at, (unsigned long long)value);
}
`;
    case 'scale':
      return `${SCALE}${extreme('Max', 'weft_scale((double)value)')}`;
    case 'fixed':
      return `${isShared ? ADD_SHARED : ADD_GLOBAL}${printFixed(form)}`;
    case 'min':
    case 'max':
      if (result === 'float32' || result === 'float64') return printFloatExtreme(op, result);
      return extreme(op === 'min' ? 'Min' : 'Max', 'value');
  }
}

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
    default:
      return `weft_put(${at(0)}, v[j]);`;
  }
}

/** Goes through elements [0, count) of rows from `row` on, `FLIGHT` at a time, `stride` apart. */
function printWalk(form: BinForm, stride: string, start: string, at: (part: number) => string): string {
  const { width } = form;
  const find = hasEdges(form) ? 'search(k[j])' : 'weft_bin(k[j], bins)';
  const key = width === 1 ? 'e' : `e / ${width}ll`;
  const place = width === 1 ? 'bin' : `bin * ${width}ll + e % ${width}ll`;
  const valued = hasValues(form);
  return `  for (long long from = ${start}; from < count; from += (long long)${FLIGHT} * ${stride}) {
    weft_key k[${FLIGHT}];
${valued ? `    weft_value v[${FLIGHT}];\n` : ''}    #pragma unroll
    for (int j = 0; j < ${FLIGHT}; ++j) {
      const long long e = from + (long long)j * ${stride};
      if (e < count) {
        k[j] = keys[row + ${key}];
${valued ? `        v[j] = values[row * ${width}ll + e];\n` : ''}      }
    }
    #pragma unroll
    for (int j = 0; j < ${FLIGHT}; ++j) {
      const long long e = from + (long long)j * ${stride};
      if (e >= count) break;
      const long long bin = ${find};
      if (bin < 0) continue;
      const long long s = ${place};
      ${printElement(form, at)}
    }
  }
`;
}

const parametersOf = (form: BinForm): string =>
  [
    'const weft_key* __restrict__ keys',
    ...(hasEdges(form) ? ['const weft_real* __restrict__ edges'] : []),
    ...(hasValues(form) ? ['const weft_value* __restrict__ values'] : []),
    ...(form.op === 'fixed' ? ['const int* __restrict__ scales'] : []),
    'weft_result* out',
    'long long rows',
    'long long unit_rows',
    'long long unit_blocks',
    'long long bins',
  ].join(', ');

const printTypes = (form: BinForm): string => `typedef ${CUDA_TYPE[form.result]} weft_result;
${form.values === undefined ? '' : `typedef ${CUDA_TYPE[form.values]} weft_value;\n`}`;

/** A unit a block. */
function printShared(form: BinForm, sharedBins: number): string {
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
  for (int i = threadIdx.x; i < ${sharedBins + 1}; i += ${BIN_THREADS}) held[i] = edges[i];
`
    : '';
  const merged =
    copies === 1
      ? `out[block * ${slots} + i] = own[i];`
      : `weft_result all = own[i * ${copies}];
    for (int c = 1; c < ${copies}; ++c) all = weft_merge(all, own[i * ${copies} + c]);
    out[block * ${slots} + i] = all;`;
  return `${copies === 1 ? '' : printMerge(form)}
extern "C" __global__ void __launch_bounds__(${BIN_THREADS})
${BINS_NAME}(unsigned int first_x, ${parametersOf(form)}) {
  __shared__ weft_result own[${slots * copies}];
${searched}  const long long block = (long long)blockIdx.x + first_x;
  const unsigned int copy = threadIdx.x % ${copies};
  for (int i = threadIdx.x; i < ${slots * copies}; i += ${BIN_THREADS}) own[i] = ${identityOf(form)};
  __syncthreads();
${hasEdges(form) ? `  const weft_search search(${edges ? 'held' : 'edges'}, bins);\n` : ''}  const long long row = block * unit_rows;
  const long long count = (rows - row < unit_rows ? rows - row : unit_rows) * ${form.width}ll;
${printWalk(form, `${BIN_THREADS}`, 'threadIdx.x', at)}  __syncthreads();
  for (int i = threadIdx.x; i < ${slots}; i += ${BIN_THREADS}) {
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

/** Many blocks a unit. */
function printGlobal(form: BinForm): string {
  const at = (part: number): string =>
    part === 0 ? '&own[s]' : `&own[s + ${part}ll * bins * ${form.width}ll]`;
  return `
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
${printWalk(form, `unit_blocks * ${BIN_THREADS}`, `block % unit_blocks * ${BIN_THREADS} + threadIdx.x`, at)}}
`;
}

/** The kernels of a form. */
export function printBins(form: BinForm): string {
  const kernels = form.sharedBins === undefined ? printGlobal(form) : printShared(form, form.sharedBins);
  return `${printTypes(form)}${printKey(form)}${printPut(form)}${kernels}`;
}
