/**
 * Basic slicing: ranges, numbers, new axes and an ellipsis become one slice view and one reshape. Called by `slice`
 * (`slicing.ts`), and by what cuts arrays into parts.
 */
import type { Expr } from './expr.js';
import { rangeWithin } from './ranges-within.js';
import { indexOf, type Parsed, type Pick, parsedSelectors, placed, type Range } from './selectors.js';
import { taken } from './taking.js';
import { reshape, view } from './view-nodes.js';

/** Part of an array by ranges and numbers, as the user's `slice` gives it. */
export function slice(x: Expr, ...selectors: readonly (number | null | Range | '...')[]): Expr {
  const { source, others } = withoutOwn('slice', x, parsedSelectors('slice', selectors).parsed);
  return sliced(source, placed('slice', source.shape, others));
}

/**
 * Selectors without the one for the axis whose size depends on data, and the array of the elements that it chooses, where
 * it is a number or a range: all of that axis is taken then, or its only element.
 */
export function withoutOwn(
  op: string,
  x: Expr,
  parsed: readonly Parsed[],
): { readonly source: Expr; readonly others: readonly Parsed[] } {
  const at = x.extent === undefined ? -1 : selectorOf(parsed, x.shape.length, x.extent.axis);
  const part = parsed[at];
  if (typeof part === 'number') {
    const { axis } = x.extent!;
    indexOf(op, part, x.shape, axis);
    return { source: taken(op, x, [part], axis), others: parsed.with(at, 0) };
  }
  return Array.isArray(part)
    ? { source: rangeWithin(op, x, part as Range), others: parsed.with(at, null) }
    : { source: x, others: parsed };
}

/** Which selector is for an axis, where each is for one; -1: none. */
function selectorOf(parsed: readonly Parsed[], ndim: number, axis: number): number {
  const count = parsed.filter((part) => part !== '...' && part !== 'newaxis').length;
  let next = 0;
  for (const [k, part] of parsed.entries()) {
    if (part === '...') next += ndim - count;
    else if (part !== 'newaxis' && next++ === axis) return k;
  }
  return -1;
}

/** Picks of all axes in order, none of them indices. */
export function sliced(x: Expr, picks: readonly Pick[]): Expr {
  const ndim = x.shape.length;
  const starts = new Array<number>(ndim).fill(0);
  const steps = new Array<number>(ndim).fill(1);
  const kept = [...x.shape]; // shape of the slice, all axes kept
  const shape: number[] = []; // of the result
  for (const pick of picks) {
    if (pick.kind === 'newaxis') shape.push(1);
    else if (pick.kind === 'at') {
      starts[pick.axis] = pick.index;
      kept[pick.axis] = 1;
    } else if (pick.kind === 'range') {
      const { axis, start, step, size } = pick;
      shape.push(size);
      starts[axis] = size === 0 ? 0 : start;
      steps[axis] = step;
      kept[axis] = size;
    }
  }
  const whole = steps.every((step, k) => step === 1 && kept[k] === x.shape[k]);
  return reshape(whole ? x : view(x, { type: 'slice', starts, steps }, kept), shape);
}
