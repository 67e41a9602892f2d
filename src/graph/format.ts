/**
 * One way to write values: scalars (NaN, infinities, −0 and bigints included), shapes and lists. Printers, keys and
 * golden files all use it.
 */
import type { Scalar } from './dtype.js';
import type { Shape } from './expr.js';

export function formatNumber(value: number): string {
  return Object.is(value, -0) ? '-0' : String(value);
}

export function formatScalar(value: Scalar): string {
  switch (typeof value) {
    case 'number':
      return formatNumber(value);
    case 'bigint':
      return `${value}n`;
    case 'boolean':
      return String(value);
    default:
      return `(${formatNumber(value.re)},${formatNumber(value.im)})`;
  }
}

export const formatShape = (shape: Shape): string =>
  shape.length === 1 ? `(${shape[0]},)` : `(${shape.join(', ')})`;

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

/** Bytes for people: `1.50 GiB`. */
export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  return unit === 0 ? `${bytes} B` : `${value.toFixed(2)} ${UNITS[unit]}`;
}
