/**
 * CUDA C of the keys that elements are sorted by: unsigned integers whose order is that of the elements, NaN last.
 * Used by the sort of short rows (`row-sort.ts`), the radix sort (`radix-sort.ts`) and selection (`select.ts`).
 */
import { byteLengthOf, type DType, isComplex, isFloat } from '../../../graph/dtype.js';

export interface SortForm {
  readonly dtype: DType;
  readonly descending: boolean;
  /** Whether positions are wanted, and of how many bytes they are while they are moved. */
  readonly indexBytes: 0 | 4 | 8;
}

export const UNSIGNED: Readonly<Record<number, string>> = {
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
export const movedBytes = ({ dtype, indexBytes }: SortForm): number => byteLengthOf(dtype) + indexBytes;

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
