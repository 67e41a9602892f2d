/**
 * Arguments of the functions that gather elements in bins or groups: their number, keys, and what becomes of keys
 * that are none.
 */
import { ArgumentError, expected } from '../host/errors.js';
import { oneOf } from './arguments.js';
import type { BinMode } from './bin-units.js';
import type { Expr } from './expr.js';
import { formatValue } from './format.js';
import { integers } from './index-lists.js';
import { cast } from './infer.js';
import { checkInteger } from './shape.js';

/**
 * The treatment of numbers that are no bin: an error (`'raise'`), bin k modulo their number (`'wrap'`), the
 * nearest bin (`'clip'`), or nothing (`'drop'`).
 */
export type OutOfRange = 'raise' | 'wrap' | 'clip' | 'drop';
const OUT_OF_RANGE: readonly OutOfRange[] = ['raise', 'wrap', 'clip', 'drop'];

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
