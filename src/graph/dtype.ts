/**
 * The element types: names, sizes, host array types, and NumPy 2's promotion.
 *
 * JavaScript numbers, bigints and booleans that meet an array are *weak*: they take the array's dtype
 * unless their kind is higher (`int32 * 0.5` is float64, `float32 * 2` stays float32).
 */
import { DTYPE_BYTES, DTYPES } from '../shared/layout.js';

export { DTYPES } from '../shared/layout.js';
/** The name of a dtype: one of `DTYPES`. */
export type DType = (typeof DTYPES)[number];

/** A complex number as JavaScript data. */
export interface Complex {
  readonly re: number;
  readonly im: number;
}

/** One element as JavaScript data: 64-bit integers are bigints, complex values are `{ re, im }`. */
export type Scalar = number | bigint | boolean | Complex;

export type DTypeKind = 'bool' | 'int' | 'uint' | 'float' | 'complex';

interface DTypeInfo {
  readonly kind: DTypeKind;
  /** Bytes of one element. */
  readonly byteLength: number;
  /** The dtype of one component: itself, but for complex the float of half the size. */
  readonly component: DType;
}

const KINDS: Readonly<Record<DType, Omit<DTypeInfo, 'byteLength'>>> = {
  bool: { kind: 'bool', component: 'bool' },
  int8: { kind: 'int', component: 'int8' },
  int16: { kind: 'int', component: 'int16' },
  int32: { kind: 'int', component: 'int32' },
  int64: { kind: 'int', component: 'int64' },
  uint8: { kind: 'uint', component: 'uint8' },
  uint16: { kind: 'uint', component: 'uint16' },
  uint32: { kind: 'uint', component: 'uint32' },
  uint64: { kind: 'uint', component: 'uint64' },
  float16: { kind: 'float', component: 'float16' },
  bfloat16: { kind: 'float', component: 'bfloat16' },
  float32: { kind: 'float', component: 'float32' },
  float64: { kind: 'float', component: 'float64' },
  complex64: { kind: 'complex', component: 'float32' },
  complex128: { kind: 'complex', component: 'float64' },
};

export const DTYPE_INFO = Object.fromEntries(
  DTYPES.map((dtype, code) => [dtype, { ...KINDS[dtype], byteLength: DTYPE_BYTES[code]! }]),
) as unknown as Readonly<Record<DType, DTypeInfo>>;

export const byteLengthOf = (dtype: DType): number => DTYPE_INFO[dtype].byteLength;
export const kindOf = (dtype: DType): DTypeKind => DTYPE_INFO[dtype].kind;
export const isComplex = (dtype: DType): boolean => DTYPE_INFO[dtype].kind === 'complex';
export const isFloat = (dtype: DType): boolean => DTYPE_INFO[dtype].kind === 'float';
export const isInteger = (dtype: DType): boolean =>
  DTYPE_INFO[dtype].kind === 'int' || DTYPE_INFO[dtype].kind === 'uint';
export const isHalf = (dtype: DType): boolean => dtype === 'float16' || dtype === 'bfloat16';
export const isDType = (value: unknown): value is DType =>
  typeof value === 'string' && Object.hasOwn(DTYPE_INFO, value);

// Promotion, one row per dtype in the order of DTYPES; letters as in CODE below. NumPy's result_type, with
// bfloat16 beside float16: the two meet in float32, and integers of 16 bits and more take both to a wider
// float.
const CODE = 'bahiqBHILeEfdFD';
const PROMOTION = [
  // columns  bahiqBHILeEfdFD
  /* b */ 'bahiqBHILeEfdFD',
  /* a */ 'aahiqhiqdeEfdFD',
  /* h */ 'hhhiqhiqdfffdFD',
  /* i */ 'iiiiqiiqdddddDD',
  /* q */ 'qqqqqqqqdddddDD',
  /* B */ 'BhhiqBHILeEfdFD',
  /* H */ 'HiiiqHHILfffdFD',
  /* I */ 'IqqqqIIILddddDD',
  /* L */ 'LddddLLLLddddDD',
  /* e */ 'eefddefddeffdFD',
  /* E */ 'EEfddEfddfEfdFD',
  /* f */ 'fffddffddfffdFD',
  /* d */ 'dddddddddddddDD',
  /* F */ 'FFFDDFFDDFFFDFD',
  /* D */ 'DDDDDDDDDDDDDDD',
] as const;
/** The promotions as types (`dtype-types.ts`). */
export type PromotionRows = typeof PROMOTION;
const INDEX = Object.fromEntries(DTYPES.map((dtype, i) => [dtype, i])) as Record<DType, number>;

/** The position of a dtype in `DTYPES`, which is its code on the native side. */
export const dtypeCode = (dtype: DType): number => INDEX[dtype];

/** The dtype in which values of `a` and `b` meet, as NumPy 2's `result_type(a, b)`. */
export function promote(a: DType, b: DType): DType {
  if (a === b) return a;
  return DTYPES[CODE.indexOf(PROMOTION[INDEX[a]]![INDEX[b]]!)]!;
}
