/**
 * Updates of a box of an array, by numbers and ranges: the array is joined of the updated box and of what lies around it,
 * so that kernels compute the values where they store them, and slices of the box are the values themselves:
 *
 *     x.at([1, -1], [1, -1]).set(v)   →   rows before the box; columns before it, v, columns behind it; rows behind it
 *
 * Called by `writing.ts`, which updates by bins where selectors are indices or leave elements out between others.
 */
import type { Expr } from './expr.js';
import { map } from './infer.js';
import { concat } from './joins.js';
import { type Pick, parsedSelectors, placed, type Selector, type Stretch } from './selectors.js';
import { reshape, view } from './view-nodes.js';
import { flip } from './views.js';

/** The op by which a value meets one element. */
export const COMBINING = {
  add: 'add',
  subtract: 'subtract',
  multiply: 'multiply',
  min: 'minimum',
  max: 'maximum',
} as const;

/** Updates of boxes, each of the result of the one before: kernels ask for the bounds of all of them for each element. */
const MOST_UPDATES = 24;
/** How many updates of boxes an array is. */
const updates = new WeakMap<Expr, number>();

/** Whether a further box would be looked for among too many. */
export const isOfManyBoxes = (x: Expr): boolean => (updates.get(x) ?? 0) >= MOST_UPDATES;

/** How a value meets an element. */
export type Update = 'set' | keyof typeof COMBINING;

/** The elements start … start + size - 1 along each axis. */
interface Box {
  readonly starts: readonly number[];
  readonly sizes: readonly number[];
}

/** A box as selectors give it: the shape of its values, and the axes along which they run backwards. */
export interface SelectedBox extends Box {
  readonly shape: readonly number[];
  readonly backwards: readonly number[];
}

/** The box that selectors are; undefined: they have indices, masks or steps over elements. */
export function selectedBox(
  op: string,
  { shape }: Expr,
  selectors: readonly Selector[],
): SelectedBox | undefined {
  const { parsed } = parsedSelectors(op, selectors);
  const areBasic = parsed.every((part) => typeof part !== 'object' || part === null || Array.isArray(part));
  if (!areBasic) return undefined;
  const picks = placed(op, shape, parsed);
  if (picks.some((pick) => pick.kind === 'range' && pick.size > 1 && Math.abs(pick.step) > 1))
    return undefined;
  const starts = shape.map(() => 0);
  const sizes = [...shape];
  for (const pick of picks) {
    if (pick.kind === 'at') {
      starts[pick.axis] = pick.index;
      sizes[pick.axis] = 1;
    } else if (pick.kind === 'range') {
      const { axis, start, size } = pick;
      starts[axis] = isBackwards(pick) ? start - size + 1 : start;
      sizes[axis] = size;
    }
  }
  return {
    starts,
    sizes,
    shape: picks.flatMap((pick) => sizeOfPick(pick) ?? []),
    backwards: picks.filter(isBackwards).map(({ axis }) => axis),
  };
}

/** The array with a box updated by values of the box's shape. */
export function updatedBox(op: string, update: Update, x: Expr, box: SelectedBox, values: Expr): Expr {
  if (box.sizes.includes(0)) return x;
  const inBox = reshape(values, box.sizes);
  const ordered = box.backwards.length === 0 ? inBox : flip(inBox, box.backwards);
  return within(x, box, update === 'set' ? ordered : map(COMBINING[update], [cut(x, box), ordered], op));
}

const isBackwards = (pick: Pick): pick is Stretch => pick.kind === 'range' && pick.size > 1 && pick.step < 0;

function sizeOfPick(pick: Pick): number | undefined {
  if (pick.kind === 'newaxis') return 1;
  return pick.kind === 'range' ? pick.size : undefined;
}

const cut = (x: Expr, { starts, sizes }: Box): Expr =>
  view(x, { type: 'slice', starts, steps: starts.map(() => 1) }, sizes);

/** The array with values in place of a box: joined with its neighbours along the last axis first. */
function within(x: Expr, { starts, sizes }: Box, values: Expr): Expr {
  let joined = values;
  for (let axis = x.shape.length - 1; axis >= 0; axis--) {
    const beside = (start: number, size: number): Expr[] =>
      size === 0
        ? []
        : [
            cut(x, {
              starts: starts.map((own, k) => (k < axis ? own : k === axis ? start : 0)),
              sizes: sizes.map((own, k) => (k < axis ? own : k === axis ? size : x.shape[k]!)),
            }),
          ];
    const end = starts[axis]! + sizes[axis]!;
    const parts = [...beside(0, starts[axis]!), joined, ...beside(end, x.shape[axis]! - end)];
    if (parts.length === 1) continue;
    joined = concat(parts, axis);
    updates.set(joined, (updates.get(x) ?? 0) + 1);
  }
  return joined;
}
