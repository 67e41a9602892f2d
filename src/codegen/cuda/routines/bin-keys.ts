/** CUDA C of the bin of a key: by a number, or by edges that it lies between. Used by `bins.ts`. */
import type { BinMode } from '../../../graph/bin-units.js';
import type { DType } from '../../../graph/dtype.js';
import { CUDA_TYPE } from '../../../graph/ops.js';
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

/** The bin by a distance, and the condition that this is near an edge. */
const FAR = `    long long k = place < (weft_real)bins ? (long long)place : bins - 1;
    if (!(fabs(place - rint(place)) >= margin)) {
`;
/** The same of few bins: a sum with 2^23 has the nearest whole number in its low bits, sooner than a conversion. */
const NEAR = `    const float shifted = place + 8388608.0f;
    const float over = place - (shifted - 8388608.0f);
    int k = (__float_as_int(shifted) & 0x7fffff) - (over < 0.0f ? 1 : 0);
    if (k >= (int)bins) k = (int)bins - 1;
    if (!(fabs(over) >= margin)) {
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
  __device__ __forceinline__ ${isNear ? 'int' : 'long long'} operator()(weft_key key) const {
    const weft_real x = (weft_real)key;
    if (!(x >= first && x <= last)) return -1;
    const weft_real place = (x - first) * scale;
${isNear ? NEAR : FAR}      while (k > 0 && x < edges[k]) --k;
      while (k < bins - 1 && x >= edges[k + 1]) ++k;
    }
    return k;
  }
};
`;
}
