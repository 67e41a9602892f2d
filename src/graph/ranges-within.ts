/**
 * Ranges of an axis whose size depends on data, as Python's slices of its true size: another such axis. Called by
 * `basic-slicing.ts` and `selecting.ts`, and by `flip`.
 *
 *     x[1:]  of n elements, at most b   →   x[1:b], of max(n - 1, 0) elements
 *     x[::-1]                           →   gather x at n - 1 - (0 … b - 1), of n elements
 */
import type { Expr, Shape } from './expr.js';
import { upToBound, withExtent } from './extent.js';
import { sizeOfShape } from './graph.js';
import { constant, iota, map, type Operand } from './infer.js';
import { lengthByRule, lengthInSteps, lengthWithout } from './lengths.js';
import { boundsOf, type Range } from './selectors.js';
import { broadcast, gather, view } from './view-nodes.js';

/** A place between the elements of an axis, so many of them from its start or its end, but not beyond the other one. */
interface Cut {
  readonly isFromEnd: boolean;
  readonly at: number;
}
const START: Cut = { isFromEnd: false, at: 0 };
const END: Cut = { isFromEnd: true, at: 0 };

/** The elements of the axis whose size depends on data that a range says. */
export function rangeWithin(op: string, x: Expr, range: Range): Expr {
  const { axis, length } = x.extent!;
  const bound = x.shape[axis]!;
  const { from, to, step } = boundsOf(op, range, bound);
  const ascends = step > 0;
  const cut = (place: number | undefined, otherwise: Cut): Cut =>
    place === undefined ? otherwise : clipped(place < 0, Math.abs(place), bound);
  // Behind an element, where a range descends.
  const behind = (place: number | undefined, otherwise: Cut): Cut =>
    place === undefined ? otherwise : clipped(place < 0, Math.abs(place + 1), bound);
  const first = ascends ? cut(from, START) : behind(to, START);
  const last = ascends ? cut(to, END) : behind(from, END);
  if (step === 1 && isAt(first, START) && isAt(last, END)) return x;
  const { most, count } = between(length, bound, first, last);
  const size = Math.ceil(most / Math.abs(step));
  const shape = x.shape.with(axis, size === 1 ? 2 : size);
  if (size === 0) return partOf(upToBound(x), 0, 1, shape);
  return withExtent(elements(), axis, lengthInSteps(count(), Math.abs(step)));

  function elements(): Expr {
    const whole = upToBound(x);
    if (sizeOfShape(shape) === 0) return broadcast(constant(0, x.dtype), shape);
    if (ascends && !first.isFromEnd) {
      // An axis of 1 would be one that broadcasts.
      return broadcast(partOf(whole, first.at, step, x.shape.with(axis, size)), shape);
    }
    const begin = ascends ? placeOf(first, length) : map('subtract', [placeOf(last, length), 1]);
    const places = map('add', [map('multiply', [iota(shape[axis]!), step]), begin]);
    return gather(whole, places, axis, 'clip', shape, op);
  }

  function partOf(whole: Expr, start: number, by: number, part: Shape): Expr {
    const starts = part.map((_, k) => (k === axis ? start : 0));
    const steps = part.map((_, k) => (k === axis ? by : 1));
    return view(whole, { type: 'slice', starts, steps }, part);
  }
}

/** A place beyond the bound is the other end. */
const clipped = (isFromEnd: boolean, at: number, bound: number): Cut =>
  at < bound ? { isFromEnd, at } : isFromEnd ? START : END;

const isAt = (a: Cut, b: Cut): boolean => a.isFromEnd === b.isFromEnd && a.at === b.at;

/** How many elements are between two places: at most, and as a length, which is the same node for equal ones. */
function between(
  length: Expr,
  bound: number,
  first: Cut,
  last: Cut,
): { readonly most: number; readonly count: () => Expr } {
  if (first.isFromEnd && !last.isFromEnd) {
    const count = (): Expr =>
      map('maximum', [map('subtract', [placeOf(last, length), placeOf(first, length)]), 0]);
    const most = Math.min(first.at, last.at);
    return { most, count: () => lengthByRule(length, `from -${first.at} to ${last.at}`, count) };
  }
  const cut = first.isFromEnd ? last.at : first.at + (last.isFromEnd ? last.at : 0);
  const most = first.isFromEnd
    ? first.at - last.at
    : last.isFromEnd
      ? Number.POSITIVE_INFINITY
      : last.at - first.at;
  return {
    most: Math.max(0, Math.min(bound - cut, most)),
    count: () => lengthWithout(length, cut, most),
  };
}

/** A place from the start. */
function placeOf({ isFromEnd, at }: Cut, length: Expr): Expr {
  const place = (operand: Operand): Operand[] => [length, operand];
  if (!isFromEnd) return map('minimum', place(at));
  return at === 0 ? length : map('maximum', [map('subtract', place(at)), 0]);
}
