/**
 * Arrays in several pieces: `chunked([a, b, c], shape)`. For more elements than one ArrayBuffer holds, and
 * for data that came in parts. Nothing is copied before a graph runs.
 */

import { refuseMore } from '../graph/arguments.js';
import { byteLengthOf } from '../graph/dtype.js';
import type { TypedArray } from '../graph/expr.js';
import { formatShape, formatValue } from '../graph/format.js';
import { denseStrides, sizeOfShape } from '../graph/graph.js';
import { cast, sourceArray } from '../graph/infer.js';
import { checkShape, type ShapeArgument } from '../graph/shape.js';
import { isTypedArray, memoryOf, nativeDType } from '../host/elements.js';
import { ArgumentError, expected, ShapeError } from '../host/errors.js';
import { checkAlive, heldDType } from '../host/host-array.js';
import { called } from '../host/site.js';
import { type DTypeArgument, dtypeOf } from './creation.js';
import { Lazy } from './lazy.js';

/**
 * One array of the elements of several typed arrays of one type, one after the other, in C order: a line, or
 * `shape`. Where the arrays end and begin has no meaning. `dtype` is as in `lazy()`.
 *
 * The arrays must not be written to while a compute runs. Throws a ShapeError for a shape of another size, a
 * TypeError for arrays of different types.
 *
 * @example
 * const parts = [new Float32Array([1, 2]), new Float32Array([3, 4])]
 * await chunked(parts, [2, 2]).compute()
 * //=> [[1. 2.]
 * //=>  [3. 4.]]
 */
export function chunked(chunks: readonly TypedArray[], shape?: ShapeArgument, dtype?: DTypeArgument): Lazy;
export function chunked(
  chunks: readonly TypedArray[],
  shape?: ShapeArgument,
  dtype?: DTypeArgument,
  ...more: readonly unknown[]
): Lazy {
  return called(chunked, () => {
    refuseMore('chunked', 3, [chunks, shape, dtype, ...more]);
    const [first] = checkChunks(chunks);
    const wanted = dtypeOf('chunked', dtype);
    const held = heldDType('chunked', first, wanted);
    const count = chunks.reduce((sum, chunk) => sum + chunk.byteLength, 0) / byteLengthOf(held);
    if (!Number.isInteger(count)) {
      throw new ShapeError(expected('chunked', `whole elements of ${held}`, `${count} of them`));
    }
    const sizes = shape === undefined ? [count] : checkShape('chunked', shape);
    if (sizeOfShape(sizes) !== count) {
      const what = `${sizeOfShape(sizes)} elements for shape ${formatShape(sizes)}`;
      throw new ShapeError(expected('chunked', what, `${count}`));
    }
    const source = { chunks: chunks.map(memoryOf), offset: 0, strides: denseStrides(sizes) };
    const x = sourceArray({ type: 'chunked', ...source }, held, sizes);
    return new Lazy(wanted === undefined ? x : cast(x, wanted));
  });
}

function checkChunks(chunks: unknown): readonly [TypedArray, ...TypedArray[]] {
  if (!Array.isArray(chunks) || chunks.length === 0 || !chunks.every(isTypedArray)) {
    throw new ArgumentError(expected('chunked', 'a list of typed arrays', formatValue(chunks)));
  }
  const types = new Set(chunks.map(nativeDType));
  if (types.size > 1) {
    throw new ArgumentError(expected('chunked', 'arrays of one type', [...types].join(' and ')));
  }
  for (const chunk of chunks) checkAlive('chunked', chunk);
  return chunks as [TypedArray, ...TypedArray[]];
}
