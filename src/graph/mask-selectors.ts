/**
 * Masks as selectors of `slice`: the axes that a mask has the sizes of become one axis, of which it selects the places
 * where it is true.
 */
import { expected, ShapeError } from '../host/errors.js';
import { placesWhere } from './compaction.js';
import type { Expr } from './expr.js';
import { formatShape } from './format.js';
import { sizeOfShape } from './graph.js';
import { isExpr } from './infer.js';
import type { Parsed } from './selectors.js';
import { sameShape } from './shape.js';

/** The places that masks select, as selectors of one axis in the place of those that each mask has. */
export function withoutMasks(
  op: string,
  shape: readonly number[],
  parsed: readonly Parsed[],
): { readonly shape: readonly number[]; readonly parts: readonly Parsed[] } {
  if (!parsed.some(isMask)) return { shape, parts: parsed };
  const axesOf = (part: Parsed): number =>
    isMask(part) ? part.shape.length : part === '...' || part === 'newaxis' ? 0 : 1;
  const count = parsed.reduce<number>((sum, part) => sum + axesOf(part), 0);
  if (count > shape.length)
    throw new ShapeError(
      expected(op, `selectors of at most ${shape.length} axes for ${formatShape(shape)}`, `${count}`),
    );
  const merged = [...shape];
  let axis = 0;
  const parts = parsed.map((part): Parsed => {
    const first = axis;
    axis +=
      part === '...'
        ? merged.length - countAfter(parsed, part, axesOf) - axis
        : isMask(part)
          ? 1
          : axesOf(part);
    if (!isMask(part)) return part;
    const sizes = merged.slice(first, first + part.shape.length);
    if (part.shape.length === 0 || !sameShape(sizes, part.shape)) {
      const wanted = `a mask of the sizes of axes from ${first} of ${formatShape(shape)} on`;
      throw new ShapeError(expected(op, wanted, formatShape(part.shape)));
    }
    merged.splice(first, sizes.length, sizeOfShape(sizes));
    return { places: placesWhere(op, part) };
  });
  return { shape: merged, parts };
}

/** Axes that the parts behind one select from. */
function countAfter(parsed: readonly Parsed[], part: Parsed, axesOf: (part: Parsed) => number): number {
  return parsed.slice(parsed.indexOf(part) + 1).reduce<number>((sum, each) => sum + axesOf(each), 0);
}

const isMask = (part: Parsed): part is Expr => isExpr(part) && part.dtype === 'bool';
