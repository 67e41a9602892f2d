/**
 * How an array lies in a file: dtype, shape, order, byte order, and where its first byte is. Every reader
 * gives one and every writer takes one; the size checks that they share and the node of such an array are
 * here, too.
 */
import { endianness } from 'node:os';
import { byteLengthOf, DTYPE_INFO, type DType } from '../graph/dtype.js';
import type { Expr, FileRegion, RegionChecksum, Shape, Source } from '../graph/expr.js';
import { formatShape } from '../graph/format.js';
import { denseStrides, sizeOfShape } from '../graph/graph.js';
import { cast, sourceArray } from '../graph/infer.js';
import type { DataFile, Refuse } from './data-file.js';

/** `'C'`: the last axis is contiguous; `'F'`: the first is. */
export type Order = 'C' | 'F';
/** Which byte of an element comes first: the least or the most significant. */
export type ByteOrder = 'little' | 'big';

export interface ArrayLayout {
  readonly dtype: DType;
  readonly shape: Shape;
  readonly order: Order;
  readonly byteOrder: ByteOrder;
  /** Of the first element, from the file's (or the archive member's) beginning. */
  readonly byteOffset: number;
}

/** More axes than any array has; NumPy's own limit is 64. */
const MAX_AXES = 64;

export const HOST_BYTE_ORDER: ByteOrder = endianness() === 'LE' ? 'little' : 'big';

/** Bytes that are swapped as one: a complex element is two values. */
export const wordByteLength = (dtype: DType): number => byteLengthOf(DTYPE_INFO[dtype].component);

export const isSwapped = ({ dtype, byteOrder }: Pick<ArrayLayout, 'dtype' | 'byteOrder'>): boolean =>
  wordByteLength(dtype) > 1 && byteOrder !== HOST_BYTE_ORDER;

/** Strides in elements. */
export const stridesOf = (shape: Shape, order: Order): number[] =>
  order === 'C' ? denseStrides(shape) : denseStrides([...shape].reverse()).reverse();

export const bytesOf = ({ dtype, shape }: Pick<ArrayLayout, 'dtype' | 'shape'>): number =>
  sizeOfShape(shape) * byteLengthOf(dtype);

/** Refuses shapes that no array has: negative or inexact sizes, more bytes than can be counted. */
export function checkFileShape(refuse: Refuse, shape: readonly number[], dtype: DType): readonly number[] {
  if (shape.length > MAX_AXES) refuse(`at most ${MAX_AXES} axes`, `${shape.length}`);
  if (!shape.every((n) => Number.isSafeInteger(n) && n >= 0)) {
    refuse('a shape of integers that are not negative', formatShape(shape));
  }
  // The sizes beside a 0 count too: strides are made of them.
  const bytes = sizeOfShape(shape.map((n) => Math.max(n, 1))) * byteLengthOf(dtype);
  if (!Number.isSafeInteger(bytes))
    refuse('at most 2^53 - 1 bytes', `shape ${formatShape(shape)} of ${dtype}`);
  return shape;
}

/** Refuses a file that ends before its array does. */
export function checkLength(refuse: Refuse, layout: ArrayLayout, byteLength: number): void {
  const end = layout.byteOffset + bytesOf(layout);
  if (end > byteLength) {
    const what = `${layout.dtype} ${formatShape(layout.shape)} from byte ${layout.byteOffset}`;
    refuse(`at least ${end} bytes for ${what}`, `${byteLength} bytes`);
  }
}

/**
 * Refuses a member of an archive that is not exactly its header and its array: then its checksum is of other
 * bytes, too.
 */
export function checkMember(refuse: Refuse, layout: ArrayLayout, byteLength: number): void {
  checkLength(refuse, layout, byteLength);
  const end = layout.byteOffset + bytesOf(layout);
  if (end < byteLength) refuse(`a member of ${end} bytes`, `${byteLength}`);
}

/** The part of a file that an array of this layout takes. */
function regionOf(file: DataFile, layout: ArrayLayout, checksum?: RegionChecksum): FileRegion {
  return {
    path: file.path,
    byteOffset: layout.byteOffset,
    byteLength: bytesOf(layout),
    swapped: isSwapped(layout),
    stamp: file.stamp,
    checksum,
  };
}

type Strided = { readonly offset: number; readonly strides: readonly number[] };

/**
 * An array of a file as a node; nothing is read. Bytes of a bool array are whatever the file holds: they are
 * read as numbers, and true where they are not 0.
 */
export function layoutExpr(layout: ArrayLayout, source: (strided: Strided) => Source): Expr {
  const strided = source({ offset: 0, strides: stridesOf(layout.shape, layout.order) });
  const held = layout.dtype === 'bool' ? 'uint8' : layout.dtype;
  return cast(sourceArray(strided, held, layout.shape), layout.dtype);
}

export const fileExpr = (file: DataFile, layout: ArrayLayout, checksum?: RegionChecksum): Expr =>
  layoutExpr(layout, (strided) => ({ type: 'file', region: regionOf(file, layout, checksum), ...strided }));
