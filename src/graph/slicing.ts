/**
 * Basic slicing, as NumPy's `x[1:10:2, ..., -1, newaxis]`: selectors become one slice view and one reshape.
 * Called by the method and free function `slice` (every export is one).
 */
import { ArgumentError, expected, ShapeError } from '../host/errors.js';
import type { Expr } from './expr.js';
import { formatShape, formatValue } from './format.js';
import { checkInteger, clippedInteger } from './shape.js';
import { reshape, view } from './view-nodes.js';

/** Start, stop (not included) and step; what is missing, null or undefined takes Python's default. */
export type Range = readonly (number | null | undefined)[];

/**
 * A selector of one axis in `slice`: an index (the axis goes away), `[start, stop, step]`, null for all of
 * it, `'...'` for as many whole axes as are left, `'newaxis'` for a new axis of size 1, or NumPy's text, with
 * commas for several axes: `'1:10:2, ::-1'`.
 */
export type Selector = number | null | undefined | Range | string;

type Parsed = number | null | Range | '...' | 'newaxis';

/**
 * Part of an array: one selector for each axis, from the first; axes without one are taken whole. An index
 * out of range is a ShapeError, ranges are clipped (so that Infinity is the end). `x.slice([1, 10, 2], -1)`,
 * `x.slice('1:10:2, -1')`.
 */
export function slice(x: Expr, ...selectors: Selector[]): Expr {
  const parsed = selectors.flatMap(parse);
  const count = parsed.filter((part) => part !== '...' && part !== 'newaxis').length;
  const ndim = x.shape.length;
  if (count > ndim) {
    throw new ShapeError(
      expected('slice', `at most ${ndim} selectors for ${formatShape(x.shape)}`, `${count}`),
    );
  }
  if (parsed.indexOf('...') !== parsed.lastIndexOf('...')) {
    throw new ArgumentError(expected('slice', "'...' once", 'two of them'));
  }
  if (!parsed.includes('...')) parsed.push('...');

  const starts = new Array<number>(ndim);
  const steps = new Array<number>(ndim);
  const sliced = new Array<number>(ndim); // shape of the slice, all axes kept
  const shape: number[] = []; // of the result
  let axis = 0;
  const take = (start: number, step: number, size: number): void => {
    starts[axis] = size === 0 ? 0 : start;
    steps[axis] = step;
    sliced[axis++] = size;
  };
  for (const part of parsed) {
    if (part === 'newaxis') {
      shape.push(1);
    } else if (part === '...') {
      for (let left = ndim - count; left > 0; left--) {
        const size = x.shape[axis]!;
        shape.push(size);
        take(0, 1, size);
      }
    } else if (typeof part === 'number') {
      take(indexOf(part, x, axis), 1, 1);
    } else {
      const { start, step, size } = rangeOf(part ?? [], x.shape[axis]!);
      shape.push(size);
      take(start, step, size);
    }
  }
  const whole = steps.every((step, k) => step === 1 && sliced[k] === x.shape[k]);
  return reshape(whole ? x : view(x, { type: 'slice', starts, steps }, sliced), shape);
}

function indexOf(index: number, x: Expr, axis: number): number {
  const size = x.shape[axis]!;
  const at = checkInteger('slice', 'an index', index);
  if (at < -size || at >= size) {
    throw new ShapeError(expected('slice', `an index into axis ${axis} of ${formatShape(x.shape)}`, `${at}`));
  }
  return at < 0 ? at + size : at;
}

/** Python's rules: negative bounds count from the end, and bounds are clipped to the axis. */
function rangeOf(range: Range, length: number): { start: number; step: number; size: number } {
  // A step over more than the axis takes one element, a bound beyond it is the axis' end.
  const most = 2 * length + 1;
  const [from, to, by] = range.map((bound) =>
    bound === null || bound === undefined
      ? undefined
      : clippedInteger('slice', 'a bound', bound, -most, most),
  );
  const step = by ?? 1;
  if (step === 0) throw new ShapeError(expected('slice', 'a step other than 0', '0'));
  const first = step > 0 ? 0 : -1;
  const last = step > 0 ? length : length - 1;
  const clip = (bound: number): number => Math.min(Math.max(bound < 0 ? bound + length : bound, first), last);
  const start = from === undefined ? (step > 0 ? first : last) : clip(from);
  const stop = to === undefined ? (step > 0 ? last : first) : clip(to);
  return { start, step, size: Math.max(0, Math.ceil((stop - start) / step)) };
}

function parse(selector: Selector): Parsed[] {
  if (selector === null || selector === undefined) return [null];
  if (typeof selector === 'number') return [selector];
  if (Array.isArray(selector) && selector.length <= 3) return [selector as Range];
  if (typeof selector === 'string') return selector.split(',').map(parseText);
  throw new ArgumentError(
    expected('slice', 'an index, [start, stop, step], null or text', formatValue(selector)),
  );
}

function parseText(text: string): Parsed {
  const word = text.trim();
  if (word === '...' || word === 'newaxis') return word;
  if (/^[+-]?\d+$/.test(word)) return Number(word);
  if (/^([+-]?\d+)?\s*:\s*([+-]?\d+)?\s*(:\s*([+-]?\d+)?)?$/.test(word)) {
    return word.split(':').map((bound) => (bound.trim() === '' ? null : Number(bound)));
  }
  throw new ArgumentError(
    expected('slice', "text such as '1:10:2, ::-1, ..., 3, newaxis'", formatValue(text)),
  );
}
