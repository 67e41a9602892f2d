/** Pixels of `sharp`, and those of a canvas, in and out: `fromImage`, `toImage`. */
import { lazy } from '../api/creation.js';
import type { ArrayLike } from '../api/fluent-types.js';
import { exprOf, type Lazy } from '../api/lazy.js';
import { typedArrayOver } from '../exec/native/host-memory.js';
import { refuseMore } from '../graph/arguments.js';
import { byteLengthOf, type DType } from '../graph/dtype.js';
import type { TypedArray } from '../graph/expr.js';
import { formatShape, formatValue } from '../graph/format.js';
import { isTypedArray, nativeDType } from '../host/elements.js';
import { ArgumentError, DTypeError, expected, ShapeError } from '../host/errors.js';
import { called, calledAsync } from '../host/site.js';
import { resultOf, typeOf } from './results.js';

/** The size of an image, and the type of its pixels' components, as sharp names it; `uchar` if it is not given. */
export interface ImageInfo {
  readonly width: number;
  readonly height: number;
  readonly channels?: number | undefined;
  readonly depth?: string | undefined;
}

/** A result of `sharp(…).raw().toBuffer({ resolveWithObject: true })`. */
export interface RawImage {
  readonly data: TypedArray;
  readonly info: ImageInfo;
}

/** An `ImageData` of a canvas: four channels of bytes. */
export interface CanvasImage extends ImageInfo {
  readonly data: TypedArray;
}

/** Pixels in memory, and what `sharp(data, { raw })` has to know of them. */
export interface ImagePixels {
  readonly data: TypedArray;
  readonly raw: { readonly width: number; readonly height: number; readonly channels: 1 | 2 | 3 | 4 };
}

/** Dtypes by sharp's names. */
const DEPTHS: Readonly<Record<string, DType>> = {
  uchar: 'uint8',
  char: 'int8',
  ushort: 'uint16',
  short: 'int16',
  uint: 'uint32',
  int: 'int32',
  float: 'float32',
  double: 'float64',
};
const TYPES = Object.fromEntries(Object.values(DEPTHS).map((dtype) => [dtype, dtype])) as Partial<
  Record<DType, DType>
>;

const isSize = (size: unknown): size is number => Number.isSafeInteger(size) && (size as number) >= 0;

/**
 * An image as an array of shape (height, width, channels): of sharp, `await sharp(file).raw().toBuffer({
 * resolveWithObject: true })`, or a canvas's `ImageData`. Pixels are not copied, unless they begin at an address that
 * is no multiple of their size. Of images of `raw({ depth })` the dtype is that of the depth.
 *
 * Throws a ShapeError for pixels of another number than width, height and channels say, a DTypeError for other depths.
 *
 * @example
 * const info = { width: 2, height: 1, channels: 3 }
 * await fromImage({ data: Buffer.from([255, 0, 0, 0, 0, 255]), info }).mean(-1).compute()
 * //=> [[85. 85.]]
 */
export function fromImage(image: RawImage | CanvasImage): Lazy;
export function fromImage(image: RawImage | CanvasImage, ...more: readonly unknown[]): Lazy {
  return called(fromImage, () => {
    refuseMore('fromImage', 1, [image, ...more]);
    const given = (typeof image === 'object' && image !== null ? image : {}) as Partial<
      RawImage & CanvasImage
    >;
    const { data } = given;
    const { width, height, channels, depth } = given.info ?? given;
    if (!isTypedArray(data) || !isSize(width) || !isSize(height)) {
      const wanted = 'an image of sharp, { data, info: { width, height, channels } }, or an ImageData';
      throw new ArgumentError(expected('fromImage', wanted, formatValue(image)));
    }
    const shape = [height, width, channels ?? 4];
    const pixels = componentsOf(data, depth);
    const count = shape.reduce((product, size) => product * size);
    if (pixels.length !== count) {
      const wanted = `${count} values for ${height} rows of ${width} pixels of ${shape[2]} channels`;
      throw new ShapeError(expected('fromImage', wanted, `${pixels.length}`));
    }
    return lazy(pixels, { shape });
  });
}

/** Bytes as what the depth says; other arrays are what they are. */
function componentsOf(data: TypedArray, depth = 'uchar'): TypedArray {
  const dtype = DEPTHS[depth];
  if (dtype === undefined || !Object.hasOwn(DEPTHS, depth))
    throw new DTypeError(
      expected('fromImage', `a depth of ${Object.keys(DEPTHS).join(', ')}`, formatValue(depth)),
    );
  if (nativeDType(data) !== 'uint8' || dtype === 'uint8') return data;
  const unit = byteLengthOf(dtype);
  if (data.byteLength % unit !== 0)
    throw new ShapeError(expected('fromImage', `whole values of ${dtype}`, `${data.byteLength} bytes`));
  const aligned = data.byteOffset % unit === 0 ? data : new Uint8Array(data as Uint8Array);
  const { buffer, byteOffset, byteLength } = aligned;
  return typedArrayOver(buffer, dtype, byteOffset, byteLength / unit);
}

/**
 * An array of shape (height, width) or (height, width, channels), of one to four channels, as pixels for sharp:
 * `const { data, raw } = await toImage(x)`, then `sharp(data, { raw })`. Results go out without a copy, other arrays
 * are computed first.
 *
 * Rejects with a ShapeError for other shapes, with a DTypeError for dtypes that sharp does not have: `bool`, 64-bit
 * integers, halves, complex numbers.
 *
 * @example
 * const { data, raw } = await toImage(zeros([2, 4, 3], 'uint8'))
 * console.log(data.length, raw)
 * //=> 24 { width: 4, height: 2, channels: 3 }
 */
export function toImage(x: ArrayLike): Promise<ImagePixels>;
export async function toImage(x: ArrayLike, ...more: readonly unknown[]): Promise<ImagePixels> {
  return await calledAsync(toImage, async () => {
    refuseMore('toImage', 1, [x, ...more]);
    const { shape, dtype } = exprOf('toImage', x);
    typeOf('toImage', 'sharp', TYPES, dtype);
    const [height = 0, width = 0, channels = 1] = shape;
    const isImage = (shape.length === 2 || shape.length === 3) && channels >= 1 && channels <= 4;
    if (!isImage || height === 0 || width === 0) {
      const wanted = 'an image of shape (height, width) or (height, width, channels), of 1 to 4 channels';
      throw new ShapeError(expected('toImage', wanted, formatShape(shape)));
    }
    const { data } = await resultOf('toImage', x);
    return { data, raw: { width, height, channels: channels as 1 | 2 | 3 | 4 } };
  });
}
