/**
 * The precision of products: an option of `matmul`, `dot`, `vecdot`, `tensordot` and `einsum`. Called by
 * `product-options.ts`, `einsum.ts` and `infer.ts`.
 */
import { DTypeError, expected } from '../host/errors.js';
import { oneOf } from './arguments.js';
import type { DType } from './dtype.js';
import type { Precision } from './expr.js';

const PRECISIONS = ['float32', 'tf32', 'tf32x3'] as const;

/**
 * How float32 factors are multiplied. `'float32'`: as they are, the default. `'tf32'`: rounded to 10 bits of
 * mantissa, summed in float32. `'tf32x3'`: split into two such parts, hi + lo, of which hi·hi + hi·lo + lo·hi
 * is summed in float32. A device without units for TF32 multiplies in full.
 */
export type ProductPrecision = (typeof PRECISIONS)[number];

export const checkPrecision = (op: string, precision: unknown): ProductPrecision | undefined =>
  precision === undefined ? undefined : oneOf(op, 'a precision', PRECISIONS, precision);

/** The dtypes whose products have a precision. */
const DTYPES: Readonly<Record<ProductPrecision | Precision, readonly DType[]>> = {
  float32: ['float32'],
  tf32: ['float32', 'complex64'],
  tf32x3: ['float32'],
  'tf32-stretched': ['float32'],
};

export const hasPrecision = (dtype: DType, precision: ProductPrecision | Precision): boolean =>
  DTYPES[precision].includes(dtype);

/**
 * Less than the dtype's own precision, if anything. Throws a DTypeError for one that the dtype lacks; `marks`: the
 * user's expression with the operands of that dtype marked.
 */
export function reducedPrecision(
  op: string,
  precision: ProductPrecision | undefined,
  dtype: DType,
  marks = '',
): Precision | undefined {
  if (precision === undefined) return undefined;
  if (!hasPrecision(dtype, precision))
    throw new DTypeError(
      `${expected(op, `${DTYPES[precision].join(' or ')} for precision '${precision}'`, dtype)}${marks}`,
    );
  return precision === 'float32' ? undefined : precision;
}
