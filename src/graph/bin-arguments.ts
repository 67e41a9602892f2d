/**
 * Arguments of the functions that gather elements in bins or groups: their number, keys, and what becomes of keys
 * that are none.
 */
import { ArgumentError, expected } from '../host/errors.js';
import { oneOf } from './arguments.js';
import type { BinMode } from './bin-units.js';
import type { Binning } from './binning.js';
import type { Expr, GatherMode } from './expr.js';
import { upToBound } from './extent.js';
import { formatValue } from './format.js';
import { sizeOfShape } from './graph.js';
import { integers } from './index-lists.js';
import { cast, iota, map, withinLength } from './infer.js';
import { checkInteger } from './shape.js';
import { asInt64 } from './taking.js';
import { gather, reshape } from './view-nodes.js';

/**
 * The treatment of numbers that are no bin: an error (`'raise'`), bin k modulo their number (`'wrap'`), the
 * nearest bin (`'clip'`), or nothing (`'drop'`).
 */
export type OutOfRange = 'raise' | 'wrap' | 'clip' | 'drop';
export const OUT_OF_RANGE: readonly OutOfRange[] = ['raise', 'wrap', 'clip', 'drop'];

/** A number of bins or groups. Throws an ArgumentError where none is given. */
export function checkCount(op: string, what: string, count: unknown): number {
  if (count === undefined || count === null) {
    const hint = 'sizes are known before anything is computed: one more than the largest number';
    throw new ArgumentError(expected(op, `a ${what}`, formatValue(count), hint));
  }
  const given = checkInteger(op, `a ${what}`, count as number);
  if (given < 0) throw new ArgumentError(expected(op, `a ${what} of 0 or more`, `${given}`));
  return given;
}

/** Keys of bins: integers, or booleans as 0 and 1. */
export const keysOf = (op: string, keys: Expr): Expr =>
  keys.dtype === 'bool' ? cast(keys, 'uint8') : integers(op, keys);

/** Which bin a key means by the user's `mode`; `raise` is `'raise'`, or `'raiseFromEnd'`. */
export function binMode(op: string, mode: unknown, raise: 'raise' | 'raiseFromEnd'): BinMode {
  const chosen = oneOf(op, 'a mode', OUT_OF_RANGE, mode ?? 'raise');
  if (chosen === 'raise') return raise;
  if (chosen === 'drop') return raise === 'raise' ? 'within' : 'fromEnd';
  return chosen;
}

/** Rows in `count` bins by their keys, which may be of any shape; those behind a length that depends on data are in none. */
export function binsBy(asked: string, count: number, keys: Expr, by: BinMode): Binning {
  const line = (given: Expr): Expr => reshape(given, [sizeOfShape(given.shape)]);
  if (keys.extent === undefined || count === 0) return { asked, count, keys: line(upToBound(keys)), by };
  const within = withinLength(placesIn(asked, count, keys, by), -1);
  return { asked, count, keys: line(within), by: 'within' };
}

/** How elements of the numbers of bins are taken by keys. */
const TAKEN: Readonly<Partial<Record<BinMode, GatherMode>>> = {
  wrap: 'wrap',
  clip: 'clip',
  raise: 'raiseFromStart',
  raiseFromEnd: 'raise',
};

/** The int64 bin of each key, or a number that is none; keys that are an error are looked at as indices are. */
function placesIn(asked: string, count: number, keys: Expr, by: BinMode): Expr {
  const mode = TAKEN[by];
  const whole = asInt64(keys, mode === 'wrap' ? mode : 'clip', count);
  if (mode !== undefined) return gather(iota(count), whole, 0, mode, keys.shape, asked);
  return by === 'within' ? whole : map('where', [map('less', [whole, 0]), map('add', [whole, count]), whole]);
}
