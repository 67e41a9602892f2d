/** Erosion and dilation, of grey values and of masks, as SciPy has them. Called by `api/ndimage.ts`. */
import { type Border, type Offset, taps } from './borders.js';
import type { DType } from './dtype.js';
import type { Expr } from './expr.js';
import { type KnownArray, offsetsOf, type Window } from './filter-arguments.js';
import { cast, constant, map, reduce } from './infer.js';
import { argumentLike, loop } from './loops.js';
import { castBack, combined, sumDType } from './stencils.js';

/** The window that a dilation looks at where an erosion looks at this one: turned around its middle. */
export const turned = ({ shape, first, footprint }: Window): Window => ({
  shape,
  first: first.map((by, k) => 1 - by - shape[k]!),
  footprint: footprint && [...footprint].reverse(),
});

/** The least of x - heights over a window, or the greatest of x + heights. */
export function withHeights(
  x: Expr,
  window: Window,
  heights: readonly number[],
  border: Border,
  op: 'minimum' | 'maximum',
  dtype: DType = x.dtype,
): Expr {
  if (x.shape.includes(0)) return cast(x, dtype);
  const used = window.footprint === undefined ? heights : heights.filter((_, k) => window.footprint![k]);
  const values = taps(x, offsetsOf(window), border, sumDType(x.dtype)).map((value, k) =>
    map(op === 'minimum' ? 'subtract' : 'add', [value, used[k]!]),
  );
  return castBack(combined(op, values), dtype);
}

/** The elements of a structure that touch its middle: those of which at most `connectivity` coordinates differ. */
export function binaryStructure(ndim: number, connectivity: number): KnownArray {
  const shape = Array.from({ length: ndim }, () => 3);
  const offsets = offsetsOf({ shape, first: shape.map(() => -1), footprint: undefined });
  const distance = (offset: Offset): number => offset.reduce((sum, by) => sum + Math.abs(by), 0);
  return { shape, values: offsets.map((offset) => (distance(offset) <= Math.max(1, connectivity) ? 1 : 0)) };
}

/** The parameters of an erosion or dilation of masks. */
export interface BinaryStep {
  readonly window: Window;
  readonly border: Border;
  readonly op: 'logicalAnd' | 'logicalOr';
  /** Elements that may change; undefined: all. */
  readonly mask: Expr | undefined;
}

/** So many erosions or dilations, one after the other; below one as many as change something. */
export function repeatedBinary(x: Expr, step: BinaryStep, iterations: number): Expr {
  const start = cast(x, 'bool');
  if (start.shape.includes(0)) return start;
  if (iterations >= 1 && iterations <= MOST_UNROLLED) {
    let result = start;
    for (let k = 0; k < iterations; k++) result = onceBinary(result, step);
    return result;
  }
  const state = argumentLike(start, 0);
  if (iterations >= 1) {
    const count = { steps: iterations, condition: undefined, every: undefined };
    return loop([start], [state], [onceBinary(state, step)], count, 1)[0]!;
  }
  const changes = constant(true, 'bool');
  const changed = argumentLike(changes, 1);
  const next = onceBinary(state, step);
  const differs = reduce('any', map('notEqual', [next, state]), [...start.shape.keys()]);
  const count = { steps: Number.MAX_SAFE_INTEGER, condition: 1, every: undefined };
  return loop([start, changes], [state, changed], [next, differs], count, 1)[0]!;
}

/** Steps that are written one after the other. */
const MOST_UNROLLED = 4;

function onceBinary(x: Expr, { window, border, op, mask }: BinaryStep): Expr {
  const values = taps(x, offsetsOf(window), border, 'bool');
  const result = values.reduce((all, value) => map(op, [all, value]));
  return mask === undefined ? result : map('where', [mask, result, x]);
}
