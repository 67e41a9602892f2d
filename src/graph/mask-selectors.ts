/**
 * Masks as selectors. Of `slice`: the axes that a mask has the sizes of become one axis, of which it selects the places
 * where it is true. Of updates: what the selectors beside it take, all of its axes in its place.
 */
import { expected, ShapeError } from '../host/errors.js';
import { placesWhere } from './compaction.js';
import type { Expr } from './expr.js';
import { meetingExtent, upToBound } from './extent.js';
import { formatShape } from './format.js';
import { sizeOfShape } from './graph.js';
import { isExpr } from './infer.js';
import type { Parsed, Range } from './selectors.js';
import { sameShape } from './shape.js';
import { reshape } from './view-nodes.js';

/** The places that masks select, as selectors of one axis in the place of those that each mask has. */
export function withoutMasks(
  op: string,
  x: Expr,
  parsed: readonly Parsed[],
): { readonly source: Expr; readonly parts: readonly Parsed[] } {
  if (!parsed.some(isMask)) return { source: x, parts: parsed };
  const firsts = firstAxes(op, x.shape, parsed);
  const merged = [...x.shape];
  let isMasked = false;
  for (let k = parsed.length - 1; k >= 0; k--) {
    const part = parsed[k]!;
    if (!isMask(part)) continue;
    merged.splice(firsts[k]!, part.shape.length, sizeOfShape(part.shape));
    if (meetsMask(op, x, part, firsts[k]!)) isMasked = true;
  }
  const parts = parsed.map((part): Parsed => (isMask(part) ? { places: placesWhere(part) } : part));
  return { source: reshape(isMasked ? upToBound(x) : x, merged), parts };
}

/** Whether a mask of axes from `first` on has one whose size depends on data: the axis of the array, else it is refused. */
function meetsMask(op: string, { shape, extent }: Expr, mask: Expr, first: number): boolean {
  const end = first + mask.shape.length;
  const isWithin = extent !== undefined && extent.axis >= first && extent.axis < end;
  const own = isWithin ? { axis: extent.axis - first, length: extent.length } : undefined;
  return meetingExtent(op, [{ shape: shape.slice(first, end), extent: own }, mask], mask.shape) !== undefined;
}

/** The first axis of each part; throws a ShapeError where masks have other sizes than their axes. */
function firstAxes(op: string, shape: readonly number[], parsed: readonly Parsed[]): number[] {
  const axesOf = (part: Parsed): number =>
    isMask(part) ? part.shape.length : part === '...' || part === 'newaxis' ? 0 : 1;
  const count = parsed.reduce<number>((sum, part) => sum + axesOf(part), 0);
  if (count > shape.length)
    throw new ShapeError(
      expected(op, `selectors of at most ${shape.length} axes for ${formatShape(shape)}`, `${count}`),
    );
  let axis = 0;
  return parsed.map((part) => {
    const first = axis;
    axis += part === '...' ? shape.length - count : axesOf(part);
    if (!isMask(part)) return first;
    const sizes = shape.slice(first, axis);
    if (part.shape.length > 0 && sameShape(sizes, part.shape)) return first;
    const wanted = `a mask of the sizes of axes from ${first} of ${formatShape(shape)} on`;
    throw new ShapeError(expected(op, wanted, formatShape(part.shape)));
  });
}

/** A selector that takes a stretch of an axis, one place of it or a new axis. */
type Basic = number | null | Range | '...' | 'newaxis';

/** A mask among selectors, as what those beside it take. */
export interface MaskAmong {
  readonly mask: Expr;
  /** The selectors, with all of its axes in its place. */
  readonly others: readonly Basic[];
  /** The first of its axes in what those take. */
  readonly first: number;
  /** The same where values meet it: in front, as NumPy has it, where ranges stand between it and a number. */
  readonly firstOfValues: number;
}

/** The mask of some axes of an array where numbers and ranges alone stand beside it. */
export function maskAmong(
  op: string,
  shape: readonly number[],
  parsed: readonly Parsed[],
): MaskAmong | undefined {
  const place = parsed.findIndex(isMask);
  const mask = parsed[place];
  if (!isMask(mask)) return undefined;
  const beside: Basic[] = [];
  for (const [k, part] of parsed.entries()) {
    if (k === place) beside.push(...mask.shape.map(() => null));
    else if (isBasic(part)) beside.push(part);
    else return undefined;
  }
  // One of no axes is for all elements.
  if (mask.shape.length > 0) firstAxes(op, shape, parsed);
  const taken = beside.filter((part) => part !== '...' && part !== 'newaxis').length;
  const first = beside.slice(0, place).reduce<number>((sum, part) => {
    if (part === '...') return sum + shape.length - taken;
    return typeof part === 'number' ? sum : sum + 1;
  }, 0);
  const advanced = parsed.flatMap((part, k) => (k === place || typeof part === 'number' ? [k] : []));
  const isTogether = advanced.at(-1)! - advanced[0]! === advanced.length - 1;
  return { mask, others: beside, first, firstOfValues: isTogether ? first : 0 };
}

const isBasic = (part: Parsed): part is Basic =>
  part === null || typeof part !== 'object' || Array.isArray(part);

export const isMask = (part: unknown): part is Expr => isExpr(part) && part.dtype === 'bool';
