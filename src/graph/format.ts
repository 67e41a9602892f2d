/**
 * One way to write values: scalars (NaN, infinities, −0 and bigints included), shapes and lists. Printers,
 * keys and golden files all use it.
 */
import { ignoreRejections } from '../host/refused-promises.js';
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

export const formatShape = (shape: Shape): string => tupleOf(shape.map(String));

/** A shape with an axis whose size is a bound. */
export const formatBounded = (shape: Shape, axis: number | undefined): string =>
  tupleOf(shape.map((size, k) => (k === axis ? `≤${size}` : `${size}`)));

const tupleOf = (sizes: readonly string[]): string =>
  sizes.length === 1 ? `(${sizes[0]},)` : `(${sizes.join(', ')})`;

const SHOWN_TEXT = 80;
const SHOWN_PARTS = 8;

/**
 * A value of the user's in an error message: what it is, in few words, whatever it is. The error refuses the
 * value, so the rejections of promises in it are marked as handled.
 */
export function formatValue(value: unknown): string {
  ignoreRejections(value);
  return described(value);
}

function described(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return value.length > SHOWN_TEXT ? `'${value.slice(0, SHOWN_TEXT)}…'` : `'${value}'`;
    case 'number':
    case 'bigint':
      return formatScalar(value);
    case 'function':
      return 'a function';
    case 'object':
      return value === null ? 'null' : formatObject(value);
    default:
      return String(value);
  }
}

function formatObject(value: object): string {
  try {
    return describeObject(value);
  } catch {
    return 'an object that cannot be read'; // a getter or a proxy of the user's throws
  }
}

function describeObject(value: object): string {
  if (Array.isArray(value)) return `[${listed(value.map(described))}]`;
  if (ArrayBuffer.isView(value) && 'length' in value) return `${nameOf(value)}(${value.length})`;
  if ('dtype' in value && 'shape' in value && Array.isArray(value.shape))
    return `an array of ${value.dtype} ${formatShape(value.shape)}`;
  const name = nameOf(value);
  return name === undefined || name === 'Object'
    ? `{ ${listed(Object.keys(value))} }`.replace('{  }', '{}')
    : `an object (${name})`;
}

const nameOf = (value: object): string | undefined => value.constructor?.name;

const listed = (parts: readonly string[]): string =>
  [...parts.slice(0, SHOWN_PARTS), ...(parts.length > SHOWN_PARTS ? ['…'] : [])].join(', ');

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

/** The power of 1024 that bytes are printed in. */
function unitOf(bytes: number): number {
  let unit = 0;
  for (let value = bytes; value >= 1024 && unit < UNITS.length - 1; unit++) value /= 1024;
  return unit;
}

/** Bytes for people: `1.50 GiB`. */
export function formatBytes(bytes: number): string {
  const unit = unitOf(bytes);
  return unit === 0 ? `${bytes} B` : `${(bytes / 1024 ** unit).toFixed(2)} ${UNITS[unit]}`;
}

/** Seconds in microseconds, as `8.9 µs`. */
export const formatMicroseconds = (seconds: number): string => `${Number((seconds * 1e6).toPrecision(3))} µs`;

/**
 * The least size from so many bytes on that `formatBytes` says exactly: as a budget, the text is enough for
 * them.
 */
export function formattedUp(bytes: number): number {
  const unit = 1024 ** unitOf(bytes);
  return unit === 1 ? Math.ceil(bytes) : Math.floor((Math.ceil((bytes / unit) * 100) / 100) * unit);
}
