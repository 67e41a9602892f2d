/**
 * Sizes as the user writes them: numbers of bytes, text with a unit, or a share of a device's memory. Called
 * by `config.ts` and `exec/run/budgets.ts`.
 */

import { formatValue } from '../graph/format.js';
import { ArgumentError, expected, RangeArgumentError } from './errors.js';

const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  b: 1,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  tb: 1e12,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
  tib: 2 ** 40,
};

const PATTERN = /^\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*$/i;

const SHARE = /^\s*(\d+(?:\.\d+)?)\s*%\s*$/;

/** Bytes, or a share (up to 1) of a memory that is known later. */
export type Size = number | { readonly share: number };

/**
 * A size: a number of bytes, text such as `'2GiB'`, `'512 MB'` (KB, MB, GB, TB are powers of 1000; KiB …
 * powers of 1024), or a share such as `'50%'`. Throws `ArgumentError` for anything else and
 * `RangeArgumentError` for a size that is not positive, or more than all.
 */
export function parseSize(op: string, size: unknown): Size {
  const share = typeof size === 'string' ? SHARE.exec(size) : null;
  if (share !== null) return parseShare(op, Number(share[1]) / 100, size);
  const bytes = typeof size === 'string' ? bytesOfText(size) : size;
  if (typeof bytes !== 'number' || Number.isNaN(bytes)) {
    const wanted = "a size in bytes, or text such as '2GiB' or '50%'";
    throw new ArgumentError(expected(op, wanted, formatValue(size)));
  }
  if (bytes <= 0) throw new RangeArgumentError(expected(op, 'a size above 0', formatValue(size)));
  return Number.isFinite(bytes) ? Math.floor(bytes) : bytes;
}

function parseShare(op: string, share: number, size: unknown): Size {
  if (share > 0 && share <= 1) return { share };
  throw new RangeArgumentError(expected(op, 'a share above 0% and up to 100%', formatValue(size)));
}

/** A size in bytes, of a memory of so many. */
export const bytesOf = (size: Size, total: number): number =>
  typeof size === 'number' ? size : Math.floor(size.share * total);

function bytesOfText(text: string): number | undefined {
  const match = PATTERN.exec(text);
  const unit = match === null ? undefined : UNITS[match[2]!.toLowerCase()];
  return unit === undefined ? undefined : Number(match![1]) * unit;
}
