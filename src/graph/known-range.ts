/**
 * Between which numbers the elements of an array lie, as far as its nodes say. Called for indices, which need not be looked
 * at where they cannot be out of range.
 *
 *     x.clip(0, 9).astype('int32')   →   0 … 9
 */
import { isInteger } from './dtype.js';
import type { CheckedIndices, Expr, ExprOf } from './expr.js';
import { integerRange } from './scalar.js';

/** Both ends belong to it. Of floats: unless an element is NaN. */
export interface KnownRange {
  readonly low: number;
  readonly high: number;
}

const ANY: KnownRange = { low: Number.NEGATIVE_INFINITY, high: Number.POSITIVE_INFINITY };
const BOOL: KnownRange = { low: 0, high: 1 };

/** Nodes that are looked at on one path: what lies deeper is as its dtype says. */
const DEEPEST = 24;

export const knownRange = (x: Expr): KnownRange => rangeOf(x, DEEPEST, new Map());

/** Whether some of such indices may be out of range. */
export function mayBeOut({ indices, from, size }: CheckedIndices): boolean {
  const { low, high } = knownRange(indices);
  return low < from || high >= size;
}

/** `known`: ranges of nodes that were looked at, since a graph has many more paths than nodes. */
function rangeOf(x: Expr, depth: number, known: Map<Expr, KnownRange>): KnownRange {
  if (depth === 0) return ofDType(x);
  let range = known.get(x);
  if (range === undefined) {
    range = ofNode(x, (k) => rangeOf(x.inputs[k]!, depth - 1, known));
    known.set(x, range);
  }
  return range;
}

/** Range of an input. */
type Below = (k: number) => KnownRange;

function ofNode(x: Expr, below: Below): KnownRange {
  const any = ofDType(x);
  switch (x.kind) {
    case 'const':
      return ofConstant(x, any);
    case 'source':
      return x.source.type === 'iota' ? { low: 0, high: x.shape[0]! - 1 } : any;
    case 'cast':
      return ofCast(x, below(0), any);
    case 'view':
      return x.view.type === 'pad' && x.view.fold === undefined ? hull(below(0), NOTHING) : below(0);
    case 'join':
      return x.inputs.map((_, k) => below(k)).reduce(hull);
    case 'gather':
      return below(0);
    case 'reduce':
      return ofReduction(x, below, any);
    case 'call':
      return ofCall(x) ?? any;
    case 'map':
      return ofMap(x, below, any);
    case 'contract':
    case 'loop':
    case 'repeat':
    case 'function':
      return any;
  }
}

/** Places without an element of a padded array have 0. */
const NOTHING: KnownRange = { low: 0, high: 0 };

const hull = (a: KnownRange, b: KnownRange): KnownRange => ({
  low: Math.min(a.low, b.low),
  high: Math.max(a.high, b.high),
});

/** A range of integers; what a dtype has where some of them may be outside of it, so that they wrap. */
const unlessWrapped = (range: KnownRange, any: KnownRange): KnownRange =>
  Number.isSafeInteger(range.low) &&
  Number.isSafeInteger(range.high) &&
  range.low >= any.low &&
  range.high <= any.high
    ? range
    : any;

function ofDType({ dtype }: Expr): KnownRange {
  if (dtype === 'bool') return BOOL;
  if (!isInteger(dtype)) return ANY;
  const { min, max } = integerRange(dtype);
  return { low: Number(min), high: Number(max) };
}

function ofConstant({ value }: ExprOf<'const'>, any: KnownRange): KnownRange {
  if (typeof value === 'object' || Number.isNaN(value)) return any;
  const number = Number(value);
  // A bigint between two numbers lies between the next ones.
  return Number.isSafeInteger(number) || typeof value === 'number' ? { low: number, high: number } : any;
}

/** Integers wrap; floats are cut towards 0 and end at the ends of the dtype, and NaN is 0. */
function ofCast({ dtype, inputs: [x] }: Expr, from: KnownRange, any: KnownRange): KnownRange {
  if (!isInteger(dtype)) return any;
  if (isInteger(x!.dtype) || x!.dtype === 'bool') return unlessWrapped(from, any);
  const cut = (end: number): number => Math.min(Math.max(Math.trunc(end), any.low), any.high);
  return hull({ low: cut(from.low), high: cut(from.high) }, NOTHING);
}

function ofReduction(
  { reduction, axes, inputs: [x] }: ExprOf<'reduce'>,
  below: Below,
  any: KnownRange,
): KnownRange {
  if (reduction === 'argmax' || reduction === 'argmin')
    return { low: 0, high: axes.reduce((n, axis) => n * x!.shape[axis]!, 1) - 1 };
  return reduction === 'max' || reduction === 'min' ? below(0) : any;
}

/** Routines that give places of their rows' elements, by which of their results. */
const PLACES: ReadonlyMap<string, number> = new Map([
  ['argsort', 0],
  ['top', 1],
]);

function ofCall({ routine, result, inputs }: ExprOf<'call'>): KnownRange | undefined {
  const size = inputs[0]?.shape.at(-1);
  if (PLACES.get(routine) === result) return { low: 0, high: size! - 1 };
  if (routine !== 'compact' || inputs.length > 1) return undefined;
  return { low: 0, high: result === 0 ? size! - 1 : size! };
}

function ofMap(x: ExprOf<'map'>, below: Below, any: KnownRange): KnownRange {
  switch (x.op) {
    case 'minimum':
      return merged(below(0), below(1), Math.min);
    case 'maximum':
      return merged(below(0), below(1), Math.max);
    case 'where':
      return hull(below(1), below(2));
    case 'floor':
    case 'ceil':
    case 'trunc':
      return ends(below(0), Math[x.op]);
    case 'round':
      return { low: Math.floor(below(0).low), high: Math.ceil(below(0).high) };
    default:
      return isInteger(x.dtype) ? ofIntegers(x, below, any) : any;
  }
}

const merged = (a: KnownRange, b: KnownRange, one: (a: number, b: number) => number): KnownRange => ({
  low: one(a.low, b.low),
  high: one(a.high, b.high),
});

const ends = ({ low, high }: KnownRange, of: (end: number) => number): KnownRange => ({
  low: of(low),
  high: of(high),
});

/** Results of arithmetic that wraps where they may be outside of the dtype. */
function ofIntegers({ op }: ExprOf<'map'>, below: Below, any: KnownRange): KnownRange {
  switch (op) {
    case 'add':
      return unlessWrapped(
        merged(below(0), below(1), (a, b) => a + b),
        any,
      );
    case 'subtract': {
      const { low, high } = below(1);
      return unlessWrapped(
        merged(below(0), { low: high, high: low }, (a, b) => a - b),
        any,
      );
    }
    case 'multiply': {
      const [a, b] = [below(0), below(1)];
      const all = [a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high];
      return unlessWrapped({ low: Math.min(...all), high: Math.max(...all) }, any);
    }
    case 'remainder': {
      const [a, b] = [below(0), below(1)];
      return b.low > 0 ? { low: 0, high: Math.min(b.high - 1, a.low < 0 ? any.high : a.high) } : any;
    }
    case 'floorDivide': {
      const [a, b] = [below(0), below(1)];
      const high = Math.floor(a.high / b.low);
      // A quotient of more than 53 bits may have been rounded down.
      return b.low > 0 && a.low >= 0 ? { low: 0, high: Number.isSafeInteger(high) ? high : any.high } : any;
    }
    case 'bitwiseAnd': {
      const masks = [below(0), below(1)].filter(({ low }) => low >= 0);
      return masks.length > 0 ? { low: 0, high: Math.min(...masks.map(({ high }) => high)) } : any;
    }
    default:
      return any;
  }
}
