/** The operations of scans, their tiles, and the dtypes in which values pass from tile to tile. */
import { byteLengthOf, type DType } from './dtype.js';

/** The operations of scans. */
export const SCAN_OPS = ['sum', 'prod', 'min', 'max', 'logsumexp'] as const;
export type ScanOp = (typeof SCAN_OPS)[number];

/**
 * Elements of a tile along the axis of a scan: with one line of elements as much as a GPU's block holds in
 * shared memory, of columns as much as its threads hold in registers.
 */
export function scanTile(dtype: DType, inner: number): number {
  const size = byteLengthOf(dtype);
  return inner === 1 ? Math.min(8192, 32768 / size) : Math.min(256, 1024 / size);
}

/**
 * The dtype in which values pass from tile to tile: wide enough that a result is rounded once. Sums of
 * exponentials are two float64: the largest exponent, and the sum of the others' exponentials relative to it.
 */
export function carriedDType(op: ScanOp, dtype: DType): DType {
  if (op === 'logsumexp') return 'complex128';
  if (op === 'min' || op === 'max') return dtype;
  return dtype === 'float32' ? 'float64' : dtype === 'complex64' ? 'complex128' : dtype;
}
