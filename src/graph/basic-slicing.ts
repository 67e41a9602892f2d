/**
 * Basic slicing: ranges, numbers, new axes and an ellipsis become one slice view and one reshape. Called by `slice`
 * (`slicing.ts`), and by what cuts arrays into parts.
 */
import type { Expr } from './expr.js';
import { type Pick, parsedSelectors, placed, type Range } from './selectors.js';
import { reshape, view } from './view-nodes.js';

/** Part of an array by ranges and numbers, as the user's `slice` gives it. */
export const slice = (x: Expr, ...selectors: readonly (number | null | Range | '...')[]): Expr =>
  sliced(x, placed('slice', x.shape, parsedSelectors('slice', selectors).parsed));

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
