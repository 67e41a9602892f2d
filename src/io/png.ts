/**
 * Arrays as PNG files (W3C, "Portable Network Graphics Specification"): 8 bits a channel, grey, with a palette, RGB or
 * RGBA. A graph makes the rows (`graph/pixels.ts`); zlib's threads compress them. `NDArray.toPNG` makes a file in memory,
 * `savePng` writes one whose image may be larger than memory.
 */
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createDeflate } from 'node:zlib';
import { arrayOf } from '../exec/native/held-elements.js';
import type { ComputeOptions } from '../exec/run/compute-options.js';
import { evaluate, evaluateIntoFiles } from '../exec/run/evaluate.js';
import { checkOptions } from '../graph/arguments.js';
import { isComplex, isFloat } from '../graph/dtype.js';
import type { Expr, Shape } from '../graph/expr.js';
import { formatShape, formatValue } from '../graph/format.js';
import { sizeOfShape } from '../graph/graph.js';
import { filteredRows, type PixelRange, pixelBytes } from '../graph/pixels.js';
import { reshape } from '../graph/view-nodes.js';
import { ArgumentError, DTypeError, expected, ShapeError } from '../host/errors.js';
import { COLOR_MAPS, type Color, type ColorMap, paletteOf } from './color-maps.js';
import { crc32 } from './decoding/crc32.js';
import { OutputFile } from './output-file.js';

/** Options of `NDArray.toPNG` and `savePng`. */
export interface PngOptions {
  /**
   * The elements that are black and white, or the first and the last colour; `'minmax'` takes the least and the largest
   * finite one. Without it [0, 1] for floats and booleans, [0, 255] for uint8.
   */
  readonly range?: PixelRange | undefined;
  /**
   * For arrays of two axes, the colours of elements from the low end of the range to the high end: the name of a map,
   * or a list of [red, green, blue] from 0 to 255, evenly spaced, with straight lines between them. Without it greys.
   */
  readonly colors?: ColorMap | readonly Color[] | undefined;
  /** How hard to compress: from 0, not at all, to 9; 6 without it. */
  readonly level?: number | undefined;
}

export const PNG_OPTIONS = ['range', 'colors', 'level'];

const MOST = 2 ** 31 - 1;
const SIGNATURE = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
/** Bytes that are handed to zlib at once, of memory and of a file, and bytes of a chunk of the file. */
const PIECE = 2 ** 26;
const READ_BYTES = 2 ** 20;
const CHUNK_BYTES = 2 ** 18;

/** Colour types by channels; 3 is grey with a palette. */
const COLOR_TYPES: Readonly<Record<number, number>> = { 1: 0, 3: 2, 4: 6 };
const PALETTE = 3;

function channelsOf(op: string, shape: Shape): number {
  const [height = 0, width = 0, channels = 1] = shape;
  const isImage = (shape.length === 2 || shape.length === 3) && channels in COLOR_TYPES;
  if (!isImage || height < 1 || width < 1 || Math.max(height, width) > MOST) {
    const wanted = 'a shape (h, w), (h, w, 3) or (h, w, 4) of at least one pixel';
    throw new ShapeError(expected(op, wanted, formatShape(shape)));
  }
  return channels;
}

function rangeOf(op: string, { dtype }: Expr, given: unknown): PixelRange {
  if (isComplex(dtype)) throw new DTypeError(expected(op, 'real numbers or booleans', dtype, 'x.abs()'));
  if (given === undefined) {
    if (isFloat(dtype) || dtype === 'bool') return [0, 1];
    if (dtype === 'uint8') return [0, 255];
    throw new ArgumentError(expected(op, `a range for ${dtype}`, 'none', "{ range: 'minmax' }"));
  }
  if (given === 'minmax') return given;
  const isPair = Array.isArray(given) && given.length === 2 && given.every(Number.isFinite);
  if (!isPair || given[0] === given[1])
    throw new ArgumentError(expected(op, "a range [low, high] or 'minmax'", formatValue(given)));
  return given as [number, number];
}

function coloursOf(op: string, { shape }: Expr, given: unknown): readonly Color[] | undefined {
  if (given === undefined) return undefined;
  if (shape.length !== 2)
    throw new ArgumentError(expected(op, 'no colors for an image that has its own', formatShape(shape)));
  const isByte = (value: unknown): boolean =>
    Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 255;
  const isColor = (color: unknown): boolean =>
    Array.isArray(color) && color.length === 3 && color.every(isByte);
  if (typeof given === 'string' && Object.hasOwn(COLOR_MAPS, given)) return COLOR_MAPS[given as ColorMap];
  if (Array.isArray(given) && given.length >= 2 && given.every(isColor)) return given as Color[];
  const names = Object.keys(COLOR_MAPS).map((name) => `'${name}'`);
  const wanted = `colors ${names.join(', ')}, or a list of at least two [red, green, blue] from 0 to 255`;
  throw new ArgumentError(expected(op, wanted, formatValue(given)));
}

function levelOf(op: string, level: unknown): number {
  if (level === undefined) return 6;
  if (Number.isInteger(level) && Number(level) >= 0 && Number(level) <= 9) return Number(level);
  throw new ArgumentError(expected(op, 'a level from 0 to 9', formatValue(level)));
}

/** A chunk: length, type, data and the checksum of the last two. */
function chunk(type: string, data: Uint8Array): Buffer {
  const out = Buffer.alloc(12 + data.length);
  out.writeUInt32BE(data.length, 0);
  out.write(type, 4, 'latin1');
  out.set(data, 8);
  out.writeUInt32BE(crc32(out.subarray(4, -4)), 8 + data.length);
  return out;
}

function* piecesOf(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += PIECE) yield bytes.subarray(at, at + PIECE);
}

/** The compressed rows, a chunk of the file for each piece that zlib gives. */
async function* compressed(
  rows: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  level: number,
  signal?: AbortSignal,
): AsyncGenerator<Buffer, void, void> {
  const deflate = createDeflate({ level, chunkSize: CHUNK_BYTES });
  // An error, or an early end, destroys both streams, and is thrown to the reader.
  const piped = pipeline(Readable.from(rows, { signal }), deflate);
  piped.catch(() => undefined);
  for await (const data of deflate) yield chunk('IDAT', data as Uint8Array);
  await piped;
}

/** An image before it is computed. */
interface Png {
  /** The file before the rows, and after them. */
  readonly head: Buffer;
  readonly end: Buffer;
  /** Bytes of shape (height, 1 + width · channels), to be compressed. */
  readonly rows: Expr;
  readonly level: number;
}

function pngOf(op: string, image: Expr, options: PngOptions): Png {
  const channels = channelsOf(op, image.shape);
  const range = rangeOf(op, image, options.range);
  const colors = coloursOf(op, image, options.colors);
  const level = levelOf(op, options.level);
  const [height, width] = image.shape as [number, number];
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, colors === undefined ? COLOR_TYPES[channels]! : PALETTE], 8);
  const palette = colors === undefined ? [] : [chunk('PLTE', paletteOf(colors))];
  const bytes = reshape(pixelBytes(image, range), [height, width * channels]);
  return {
    head: Buffer.concat([SIGNATURE, chunk('IHDR', header), ...palette]),
    end: chunk('IEND', new Uint8Array(0)),
    rows: filteredRows(bytes, channels),
    level,
  };
}

/** The file of an image. Throws and rejects as `NDArray.toPNG` says. */
export function encodePng(op: string, image: Expr, options: PngOptions = {}): Promise<Uint8Array> {
  checkOptions(op, options, PNG_OPTIONS);
  return encode(pngOf(op, image, options));
}

async function encode({ head, end, rows: expr, level }: Png): Promise<Uint8Array> {
  const [rows] = await evaluate([expr], { device: 'cpu' });
  const data = arrayOf(rows!.data);
  const parts = [head];
  for await (const part of compressed(piecesOf(data as Uint8Array), level)) parts.push(part);
  const file = Buffer.concat([...parts, end]);
  return new Uint8Array(file.buffer, file.byteOffset, file.length);
}

/**
 * Writes the file of an image that may be larger than memory. Where each byte of a compressed file goes is not known
 * before the ones in front of it are there, so tiles cannot be written in their places: the rows go to a temporary file
 * beside it, which is compressed from the first to the last. Throws and rejects as `savePng` says.
 */
export async function writePng(
  op: string,
  path: string,
  image: Expr,
  options: PngOptions,
  running: ComputeOptions,
): Promise<void> {
  const { head, end, rows, level } = pngOf(op, image, options);
  const { signal } = running;
  signal?.throwIfAborted();
  const file = await OutputFile.create(op, path);
  const stored = await OutputFile.createFor(op, file.path).catch(async (error: unknown) => {
    await file.discard();
    throw error;
  });
  try {
    const byteLength = sizeOfShape(rows.shape);
    await stored.reserve(byteLength);
    await evaluateIntoFiles([rows], [{ fd: stored.fd, path: file.path, byteOffset: 0, swap: 0 }], running);
    let at = 0;
    const write = async (bytes: Uint8Array): Promise<void> => {
      signal?.throwIfAborted();
      await file.write(bytes, at);
      at += bytes.length;
    };
    await write(head);
    const pieces = stored.pieces(byteLength, READ_BYTES);
    for await (const part of compressed(pieces, level, signal)) await write(part);
    await write(end);
    await file.complete(at);
    signal?.throwIfAborted();
    await file.publish();
  } finally {
    await file.discard();
    await stored.discard();
  }
}
