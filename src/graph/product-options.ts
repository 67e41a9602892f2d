/**
 * The options of products: of `matmul`, `dot`, `vecdot`, `tensordot`, and among others of `einsum`. Called by
 * `products.ts` and `einsum.ts`.
 */
import { DTypeError, expected } from '../host/errors.js';
import { checkOptions, oneOf } from './arguments.js';
import { type DType, isComplex, isFloat } from './dtype.js';
import type { ProductLibrary } from './expr.js';
import { checkPrecision, type ProductPrecision } from './precision.js';

const LIBRARIES = ['cutensor', 'cublas', 'weft'] as const satisfies readonly ProductLibrary[];

/** Options of products. */
export interface ProductOptions {
  readonly precision?: ProductPrecision | undefined;
  /**
   * The library that multiplies, whatever would take less time: `'cutensor'` and `'cublas'` on a GPU, `'weft'`
   * for Weft's own kernels on any device. A device without it refuses the compute with a DeviceError. Products
   * that sum nothing are kernels all the same, and those of vectors where cuTENSOR is asked for, which has none.
   */
  readonly library?: ProductLibrary | undefined;
}

/** Checks the options of a product. */
export function productOptions(op: string, options: ProductOptions | undefined): ProductOptions {
  checkOptions(op, options, ['precision', 'library']);
  checkProductOptions(op, options);
  return { precision: options?.precision, library: options?.library };
}

/** Checks the words of options that a product may have. */
export function checkProductOptions(op: string, options: ProductOptions | undefined): void {
  checkPrecision(op, options?.precision);
  if (options?.library !== undefined) oneOf(op, 'a library', LIBRARIES, options.library);
}

/** The library of products of a dtype. Throws a DTypeError for one that does not multiply it, with `marks` behind. */
export function libraryFor(
  op: string,
  library: ProductLibrary | undefined,
  dtype: DType,
  marks = '',
): ProductLibrary | undefined {
  if (library === undefined || library === 'weft' || isFloat(dtype) || isComplex(dtype)) return library;
  throw new DTypeError(
    `${expected(op, `floats or complex numbers for library '${library}'`, dtype)}${marks}`,
  );
}
