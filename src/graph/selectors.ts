/**
 * Selectors of `slice`: how the user writes them, and the axes of an array that they are for. The selection is
 * in `slicing.ts`.
 */
import { ArgumentError, expected, ShapeError } from '../host/errors.js';
import { checkOptions } from './arguments.js';
import type { Expr } from './expr.js';
import { READ_OPTIONS, type ReadOptions } from './filling.js';
import { formatShape, formatValue } from './format.js';
import { type IndexList, integers, listed } from './index-lists.js';
import { isExpr } from './infer.js';
import { checkInteger, clippedInteger } from './shape.js';

/** Start, stop (not included) and step; what is missing, null or undefined takes Python's default. */
export type Range = readonly (number | null | undefined)[];

/**
 * A selector of one axis in `slice`: an index (the axis goes away), `[start, stop, step]`, null for all of
 * it, an array of integers, as a typed array, a Lazy or lists in a list, an array of
 * booleans, of the sizes of one axis or several, `'...'` for as many whole axes as are left,
 * `'newaxis'` for a new axis of size 1, or NumPy's text, with commas for several axes: `'1:10:2, ::-1'`.
 */
export type Selector = number | null | undefined | Range | readonly IndexList[] | Expr | string;

/** Options of `slice`, after its selectors: those of `take`. */
export type SliceOptions = ReadOptions;

/** A selector with the axis of the array that it is for. */
export type Pick =
  | { readonly kind: 'newaxis' }
  /** Between selectors, in the place of an ellipsis. */
  | { readonly kind: 'gap' }
  | { readonly kind: 'at'; readonly axis: number; readonly index: number }
  | Stretch
  | IndexPick;
/** Elements start, start + step … of an axis, `size` of them. */
export interface Stretch {
  readonly kind: 'range';
  readonly axis: number;
  readonly start: number;
  readonly step: number;
  readonly size: number;
}
/** The elements of an axis at an array of indices. */
export interface IndexPick {
  readonly kind: 'indices';
  readonly axis: number;
  readonly indices: Expr | IndexList;
  readonly shape: readonly number[];
  /** Whether they are known to be from 0 to the end of the axis: the places of a mask. */
  readonly isInRange: boolean;
}

/** A selector as it was read; `places` are those of a mask. */
export type Parsed =
  | number
  | null
  | Range
  | '...'
  | 'newaxis'
  | Expr
  | { readonly lists: IndexList }
  | { readonly places: Expr };

/** Selectors in order, and options, as the user gives them. */
export function parsedSelectors(
  op: string,
  given: readonly (Selector | SliceOptions)[],
): { readonly parsed: readonly Parsed[]; readonly options: ReadOptions | undefined } {
  const last = given.at(-1);
  const hasOptions = isOptions(last);
  if (hasOptions) checkOptions(op, last, READ_OPTIONS);
  const parsed: Parsed[] = [];
  const count = hasOptions ? given.length - 1 : given.length;
  for (let k = 0; k < count; k++) parse(op, given[k], parsed);
  return { parsed, options: hasOptions ? last : undefined };
}

const isOptions = (value: unknown): value is SliceOptions =>
  typeof value === 'object' &&
  value !== null &&
  !Array.isArray(value) &&
  !isExpr(value) &&
  Object.keys(value).length > 0;

/** Selectors with their axes; axes without one are taken whole. */
export function placed(op: string, shape: readonly number[], parsed: readonly Parsed[]): Pick[] {
  const count = parsed.filter((part) => part !== '...' && part !== 'newaxis').length;
  const ndim = shape.length;
  if (count > ndim)
    throw new ShapeError(expected(op, `at most ${ndim} selectors for ${formatShape(shape)}`, `${count}`));
  if (parsed.indexOf('...') !== parsed.lastIndexOf('...'))
    throw new ArgumentError(expected(op, "'...' once", 'two of them'));
  const picks: Pick[] = [];
  let axis = 0;
  for (const part of parsed.includes('...') ? parsed : [...parsed, '...' as const]) {
    if (part === 'newaxis') picks.push({ kind: 'newaxis' });
    else if (part === '...') {
      picks.push({ kind: 'gap' });
      for (let left = ndim - count; left > 0; left--, axis++)
        picks.push({ kind: 'range', axis, start: 0, step: 1, size: shape[axis]! });
    } else picks.push(pickOf(op, part, shape, axis++));
  }
  return picks;
}

function pickOf(
  op: string,
  part: Exclude<Parsed, '...' | 'newaxis'>,
  shape: readonly number[],
  axis: number,
): Pick {
  if (typeof part === 'number') return { kind: 'at', axis, index: indexOf(op, part, shape, axis) };
  if (part === null || Array.isArray(part))
    return { kind: 'range', axis, ...rangeOf(op, (part ?? []) as Range, shape[axis]!) };
  if (isExpr(part))
    return { kind: 'indices', axis, indices: integers(op, part), shape: part.shape, isInRange: false };
  if ('places' in (part as object)) {
    const { places } = part as { readonly places: Expr };
    return { kind: 'indices', axis, indices: places, shape: places.shape, isInRange: true };
  }
  const { lists } = part as { readonly lists: IndexList };
  return { kind: 'indices', axis, indices: lists, shape: listed(op, lists).shape, isInRange: false };
}

export function indexOf(op: string, index: number, shape: readonly number[], axis: number): number {
  const size = shape[axis]!;
  const at = checkInteger(op, 'an index', index);
  if (at < -size || at >= size) {
    throw new ShapeError(expected(op, `an index into axis ${axis} of ${formatShape(shape)}`, `${at}`));
  }
  return at < 0 ? at + size : at;
}

/** The bounds and the step of a range. A step over more than the axis takes one element, a bound beyond it is the axis' end. */
export function boundsOf(
  op: string,
  range: Range,
  length: number,
): { readonly from: number | undefined; readonly to: number | undefined; readonly step: number } {
  const most = 2 * length + 1;
  const [from, to, by] = range.map((bound) =>
    bound === null || bound === undefined ? undefined : clippedInteger(op, 'a bound', bound, -most, most),
  );
  if (by === 0) throw new ShapeError(expected(op, 'a step other than 0', '0'));
  return { from, to, step: by ?? 1 };
}

/** Python's rules: negative bounds count from the end, and bounds are clipped to the axis. */
function rangeOf(op: string, range: Range, length: number): Omit<Stretch, 'kind' | 'axis'> {
  const { from, to, step } = boundsOf(op, range, length);
  const first = step > 0 ? 0 : -1;
  const last = step > 0 ? length : length - 1;
  const clip = (bound: number): number => Math.min(Math.max(bound < 0 ? bound + length : bound, first), last);
  const start = from === undefined ? (step > 0 ? first : last) : clip(from);
  const stop = to === undefined ? (step > 0 ? last : first) : clip(to);
  return { start, step, size: Math.max(0, Math.ceil((stop - start) / step)) };
}

/** Adds what a selector says: text may say several. */
function parse(op: string, selector: unknown, to: Parsed[]): void {
  if (selector === null || selector === undefined) return void to.push(null);
  if (typeof selector === 'number') return void to.push(selector);
  if (selector === '...' || selector === 'newaxis') return void to.push(selector);
  if (typeof selector === 'string')
    return void to.push(...selector.split(',').map((part) => parseText(op, part)));
  if (isExpr(selector)) return void to.push(selector);
  if (Array.isArray(selector)) {
    if (selector.some(Array.isArray)) return void to.push({ lists: selector as IndexList });
    if (selector.length <= 3) return void to.push(selector as Range);
  }
  const hint = Array.isArray(selector) ? 'indices are a typed array: Int32Array.of(0, 4, 1, 7)' : undefined;
  const wanted = 'an index, [start, stop, step], null, text or an array of indices';
  throw new ArgumentError(expected(op, wanted, formatValue(selector), hint));
}

function parseText(op: string, text: string): Parsed {
  const word = text.trim();
  if (word === '...' || word === 'newaxis') return word;
  if (/^[+-]?\d+$/.test(word)) return Number(word);
  if (/^([+-]?\d+)?\s*:\s*([+-]?\d+)?\s*(:\s*([+-]?\d+)?)?$/.test(word)) {
    return word.split(':').map((bound) => (bound.trim() === '' ? null : Number(bound)));
  }
  throw new ArgumentError(expected(op, "text such as '1:10:2, ::-1, ..., 3, newaxis'", formatValue(text)));
}
