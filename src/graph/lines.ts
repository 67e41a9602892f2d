/**
 * Arrays as one line of their elements in C order, and such lines in the shape of their arrays, also where an axis has a
 * size that depends on data (`extent.ts`). Where that is not the first axis, elements behind the length lie between those
 * that are there: a place of the line reads the place up to the bound that it stands for, or the other way round.
 */
import type { Expr } from './expr.js';
import { upToBound, withExtent } from './extent.js';
import { sizeOfShape } from './graph.js';
import { iota, map, withinLength } from './infer.js';
import { scaleLength } from './lengths.js';
import { gather, reshape, view } from './view-nodes.js';

/** The elements in C order along one axis. */
export function lineOf(x: Expr): Expr {
  const size = sizeOfShape(x.shape);
  const whole = reshape(upToBound(x), [size]);
  if (x.extent === undefined || size === 0) return whole;
  const { outer, bound, row } = rowsUpTo(x);
  const count = scaleLength(row, outer);
  if (outer === 1) return withExtent(whole, 0, count);
  const place = iota(size);
  const before = map('floorDivide', [place, map('maximum', [row, 1])]);
  const at = map('add', [place, map('multiply', [before, map('subtract', [bound, row])])]);
  return withExtent(gather(whole, at, 0, 'clip', [size]), 0, count);
}

/** Elements in the order of the line of an array, in its shape. */
export function inShapeOf(x: Expr, line: Expr): Expr {
  if (x.extent === undefined) return reshape(line, x.shape);
  const { outer, bound, row } = rowsUpTo(x);
  const { axis, length } = x.extent;
  const size = sizeOfShape(x.shape);
  if (outer === 1 || size === 0) return withExtent(reshape(upToBound(line), x.shape), axis, length);
  const place = iota(size);
  const before = map('floorDivide', [place, bound]);
  const at = map('subtract', [place, map('multiply', [before, map('subtract', [bound, row])])]);
  return withExtent(reshape(gather(upToBound(line), at, 0, 'clip', [size]), x.shape), axis, length);
}

/** The elements from one index before the axis to the next: how many there are, up to the bound and up to the length. */
function rowsUpTo({ shape, extent }: Expr): {
  readonly outer: number;
  readonly bound: number;
  readonly row: Expr;
} {
  const { axis, length } = extent!;
  const inner = sizeOfShape(shape.slice(axis + 1));
  return {
    outer: sizeOfShape(shape.slice(0, axis)),
    bound: shape[axis]! * inner,
    row: scaleLength(length, inner),
  };
}

/** The elements up to the length, and behind it again the first one: an element that is there, or there is none. */
export function firstBehind(x: Expr): Expr {
  if (x.extent === undefined) return x;
  const { shape, extent } = x;
  const starts = shape.map(() => 0);
  const steps = shape.map(() => 1);
  const first = view(upToBound(x), { type: 'slice', starts, steps }, shape.with(extent.axis, 1));
  return withinLength(x, first);
}
