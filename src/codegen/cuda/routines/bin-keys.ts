/** CUDA C of the bin of a key: by a number, or by edges that it lies between. Used by `bins.ts`. */
import type { BinMode } from '../../../graph/bin-units.js';
import { CUDA_TYPE } from '../../../graph/cuda-expressions.js';
import type { DType } from '../../../graph/dtype.js';
import { type BinForm, hasEdges } from './bin-form.js';

/** The dtype that keys are compared with edges in. */
const realOf = (keys: DType): 'float32' | 'float64' => (keys === 'float32' ? 'float32' : 'float64');

export function printKey(form: BinForm): string {
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

/** The bin that a distance from the first edge is near, from which comparisons lead to the one of a key. */
const BY_EDGES = `    while (k > 0 && x < edges[k]) --k;
    while (k < bins - 1 && x >= edges[k + 1]) ++k;
`;

const FAR = `  __device__ __forceinline__ long long operator()(weft_key key) const {
    const weft_real x = (weft_real)key;
    if (!(x >= first && x <= last)) return -1;
    const weft_real place = (x - first) * scale;
    long long k = place < (weft_real)bins ? (long long)place : bins - 1;
    if (fabs(place - rint(place)) >= margin) return k;
${BY_EDGES}    return k;
  }
`;
/**
 * The same of few bins: a distance half a bin less is rounded down by a sum with 1.5 · 2^23, whose low bits are the bin. What
 * is beyond the ends and far from them means no bin by its number.
 */
const NEAR = `  __device__ __forceinline__ int operator()(weft_key key) const {
    const float place = fmaf(key, scale, -first * scale - 0.5f);
    const float shifted = place + 12582912.0f;
    if (!(fabs(place - (shifted - 12582912.0f)) < 0.5f - 2 * margin)) return beside(key);
    const unsigned int k = (unsigned int)__float_as_int(shifted) - 0x4b400000u;
    return k < (unsigned int)bins ? (int)k : -1;
  }
  __device__ __forceinline__ int beside(float x) const {
    if (!(x >= first && x <= last)) return -1;
    const float place = (x - first) * scale;
    int k = place < (float)bins ? (int)place : (int)bins - 1;
${BY_EDGES}    return k;
  }
`;

/**
 * Between equally spaced edges the bin follows from a key's distance from the first one, and within rounding of an edge
 * from a comparison with the edge itself; between others a binary search finds it.
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
  const isNear = real === 'float32' && form.sharedBins !== undefined;
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
${isNear ? NEAR : FAR}};
`;
}
