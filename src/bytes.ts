/**
 * Sizes as the user writes them: numbers of bytes, or text with a unit. Called by `config.ts` and `exec/evaluate.ts`.
 */
import { ArgumentError, expected, RangeArgumentError } from './errors.js';
import { formatValue } from './graph/format.js';

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

/**
 * A size in bytes: a number, or text such as `'2GiB'`, `'512 MB'` (KB, MB, GB, TB are powers of 1000; KiB … powers of 1024).
 * Throws `ArgumentError` for anything else and `RangeArgumentError` for a size that is not positive.
 */
export function parseBytes(op: string, size: unknown): number {
  const bytes = typeof size === 'string' ? bytesOfText(size) : size;
  if (typeof bytes !== 'number' || Number.isNaN(bytes))
    throw new ArgumentError(expected(op, "a size in bytes, or text such as '2GiB'", formatValue(size)));
  if (bytes <= 0) throw new RangeArgumentError(expected(op, 'a size above 0', formatValue(size)));
  return Number.isFinite(bytes) ? Math.floor(bytes) : bytes;
}

function bytesOfText(text: string): number | undefined {
  const match = PATTERN.exec(text);
  const unit = match === null ? undefined : UNITS[match[2]!.toLowerCase()];
  return unit === undefined ? undefined : Number(match![1]) * unit;
}
