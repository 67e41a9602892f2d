/**
 * Writing by index: an array with some elements set, or combined with values. Called by `updates.ts` and, for
 * `x.at(…)`, by `api/updates.ts`.
 *
 * Selectors mean the elements that `slice` takes by them: the same selection of an array's own numbers says which.
 * Values then are rows in bins, of which each element of the array is one.
 *
 *     x.at(i, [1, 3]).add(v)   →   x + sums of v in bins (0 … size - 1 of x's shape).slice(i, [1, 3])
 *
 * Numbers and ranges of neighbours select a box, which needs no bins (`box-updates.ts`), nor does a mask:
 * what the selectors beside it take is updated where it is true, and written back.
 *
 *     x.at(i, mask).add(v)   →   x.at(i).set(where(mask, y + v, y)) with y = x.slice(i)
 */
import { DTypeError, expected, ShapeError } from '../host/errors.js';
import { binMode, binsBy, type OutOfRange } from './bin-arguments.js';
import { productsIn } from './bin-products.js';
import type { BinMode } from './bin-units.js';
import { extremesIn, lastIn, sumsIn } from './binning.js';
import { COMBINING, isOfManyBoxes, selectedBox, type Update, updatedBox } from './box-updates.js';
import { type DType, isComplex, kindOf } from './dtype.js';
import type { Expr, Extent } from './expr.js';
import { meetingExtent, throughBound, unknownSize, upToBound, withExtent } from './extent.js';
import { formatShape } from './format.js';
import { sizeOfShape } from './graph.js';
import { int64Array, listed } from './index-lists.js';
import { cast, inDType, iota, isExpr, map, type Operand } from './infer.js';
import { isMask, type MaskAmong, maskAmong } from './mask-selectors.js';
import { reductionRow } from './reductions.js';
import { selected } from './selecting.js';
import { parsedSelectors, type Selector, type SliceOptions } from './selectors.js';
import { broadcastShapes, checkIndex, noElements, sameShape } from './shape.js';
import { broadcast, gather, reshape } from './view-nodes.js';
import { flatten, moveaxis } from './views.js';

/** Options of updates, after the selectors. */
export interface UpdateOptions {
  /**
   * Of indices out of range; `'raise'` by default; `'drop'` leaves their values out.
   */
  readonly mode?: OutOfRange | undefined;
}

/** An array whose elements at some selectors are updated; of equal places, all count, or the last one is set. */
export function updatedAt(
  update: Update,
  x: Expr,
  selectors: readonly (Selector | UpdateOptions)[],
  values: Operand,
): Expr {
  const op = `at.${update}`;
  const given = valuesFor(op, update, x, values);
  // Values of as many elements as a mask selects are for its true places.
  const isForPlaces = given.extent !== undefined && given.extent.length !== x.extent?.length;
  const masked = isForPlaces ? undefined : maskedOf(op, x, selectors);
  if (masked !== undefined) return updatedWhere(op, update, x, masked, given);
  const isSized = x.extent === undefined && given.extent === undefined && !isOptions(selectors.at(-1));
  const box = isSized && !isOfManyBoxes(x) ? selectedBox(op, x, selectors as readonly Selector[]) : undefined;
  if (box !== undefined) return updatedBox(op, update, x, box, spread(op, given, box));
  return throughBound(x, (bound) => updatedAtPlaces(op, update, bound, x.extent, selectors, given));
}

/** The same where an array of places says which elements; `extent` is that of the array, which is given up to its bound. */
function updatedAtPlaces(
  op: string,
  update: Update,
  x: Expr,
  extent: Extent | undefined,
  selectors: readonly (Selector | UpdateOptions)[],
  values: Expr,
): Expr {
  const size = sizeOfShape(x.shape);
  const { mode, rows } = rowsOf(op, x, selectors);
  if (rows !== undefined && x.shape.length > 0 && extent?.axis !== 0) {
    const shape = [...rows.shape, ...x.shape.slice(1)];
    const own = extent === undefined ? undefined : { ...extent, axis: extent.axis + rows.shape.length - 1 };
    if (own !== undefined && rows.extent !== undefined) throw unknownSize(op, { shape: x.shape, extent });
    return updatedIn(op, update, x, rows, mode, spread(op, values, { shape, extent: rows.extent ?? own }));
  }
  const numbers = { ...reshape(iota(size), x.shape), extent };
  const places = selected(op, numbers, readingSelectors(selectors));
  const line = reshape(x, [size]);
  return reshape(updatedIn(op, update, line, places, 'within', spread(op, values, places)), x.shape);
}

/** Selectors that give -1 for indices whose values are left out. */
function readingSelectors(
  selectors: readonly (Selector | UpdateOptions)[],
): readonly (Selector | SliceOptions)[] {
  const options = selectors.at(-1);
  return isOptions(options) && options.mode === 'drop'
    ? [...(selectors.slice(0, -1) as Selector[]), { mode: 'fill', fillValue: -1 }]
    : (selectors as readonly (Selector | SliceOptions)[]);
}

/** Rows of x that the only selector names, where it is an array, or lists, of integers. */
function rowsOf(
  op: string,
  x: Expr,
  selectors: readonly (Selector | UpdateOptions)[],
): {
  readonly rows: Expr | undefined;
  readonly mode: BinMode;
} {
  const [first, options, ...more] = selectors;
  const isAlone = more.length === 0 && (options === undefined || isOptions(options));
  const mode = binMode('at', isOptions(options) ? options.mode : undefined, 'raiseFromEnd');
  if (isAlone && isExpr(first)) return { rows: isWhole(first.dtype) ? first : undefined, mode };
  if (!isAlone || !Array.isArray(first) || x.shape.length === 0) return { rows: undefined, mode };
  return { rows: undefined, mode, ...listedRows(op, x, first, mode) };
}

/** Rows that lists name, which are looked at here alone. */
function listedRows(
  op: string,
  x: Expr,
  selector: Selector,
  mode: BinMode,
): { readonly rows: Expr; readonly mode: BinMode } | undefined {
  const [part, ...others] = parsedSelectors(op, [selector]).parsed;
  if (others.length > 0 || typeof part !== 'object' || part === null || !('lists' in part)) return undefined;
  const { flat, shape } = listed(op, part.lists);
  const rows = int64Array(flat, shape);
  if (mode !== 'raiseFromEnd') return { rows, mode };
  for (const value of flat) checkIndex(op, value, 0, x.shape[0]!);
  return { rows, mode: 'fromEnd' };
}

const isWhole = (dtype: DType): boolean => kindOf(dtype) === 'int' || kindOf(dtype) === 'uint';

const isOptions = (value: unknown): value is UpdateOptions =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !isExpr(value);

/** The rows of x along its first axis, updated at `keys` by as many rows of values, up to the length of both. */
export function updatedIn(op: string, update: Update, x: Expr, keys: Expr, by: BinMode, values: Expr): Expr {
  const rest = x.shape.slice(1);
  const width = sizeOfShape(rest);
  const count = x.shape[0]!;
  if (sizeOfShape(values.shape) === 0) return x;
  if (count === 0) {
    const isLeftOut = by === 'within' || by === 'fromEnd' || keys.extent !== undefined;
    if (isLeftOut) return x;
    throw new ShapeError(noElements(op, 0));
  }
  const bins = binsBy(op, count, keys, by);
  const rows = flatten(upToBound(values));
  const inPlace = (line: Expr): Expr => reshape(line, x.shape);
  if (update === 'set') {
    const last = reshape(lastIn(bins), [count, ...rest.map(() => 1)]);
    const table = reshape(rows, [bins.keys.shape[0]!, width]);
    const chosen = gather(table, flatten(map('maximum', [last, 0])), 0, 'clip', [count, width]);
    return map('where', [map('greaterEqual', [last, 0]), inPlace(chosen), x]);
  }
  if (update === 'multiply' && x.dtype === 'bool') return updatedIn(op, 'min', x, keys, by, values);
  if (update === 'multiply') {
    const factors = cast(rows, reductionRow('prod').dtype(x.dtype)!.result);
    return map('multiply', [x, cast(inPlace(productsIn(bins, factors, width)), x.dtype)]);
  }
  if (update === 'min' || update === 'max') {
    const ends = inPlace(extremesIn(bins, update, rows, width));
    return map(update === 'min' ? 'minimum' : 'maximum', [x, ends]);
  }
  const summed = update === 'subtract' ? map('negative', [rows]) : rows;
  if (isZeros(x)) return cast(inPlace(sumsIn(bins, summed, width, 'positive')), x.dtype);
  return cast(map('add', [x, inPlace(sumsIn(bins, summed, width, -0))]), x.dtype);
}

/** Whether every element is +0, as those of `zeros`: sums then are the result, but that none of them is -0. */
function isZeros(x: Expr): boolean {
  let from = x;
  while (from.kind === 'view') from = from.inputs[0]!;
  return from.kind === 'const' && (Object.is(from.value, 0) || from.value === 0n);
}

/** The mask among selectors and what stands beside it, unless those are indices. */
function maskedOf(
  op: string,
  x: Expr,
  selectors: readonly (Selector | UpdateOptions)[],
): MaskAmong | undefined {
  if (!selectors.some(isMask)) return undefined;
  const options = selectors.at(-1);
  if (isOptions(options)) binMode('at', options.mode, 'raiseFromEnd');
  const given = (isOptions(options) ? selectors.slice(0, -1) : selectors) as readonly Selector[];
  return maskAmong(op, x.shape, parsedSelectors(op, given).parsed);
}

/** Where a mask is true, of what the selectors beside it take. */
function updatedWhere(
  op: string,
  update: Update,
  x: Expr,
  { mask, others, first, firstOfValues }: MaskAmong,
  values: Expr,
): Expr {
  const own = mask.shape.map((_, k) => first + k);
  const ofValues = mask.shape.map((_, k) => firstOfValues + k);
  const taken = moveaxis(selected(op, x, others), own, ofValues);
  const around = taken.shape.map((_, k) => mask.shape[k - firstOfValues] ?? 1);
  // NumPy has one axis for all of a mask: values of axes before it would meet others here.
  const behind = taken.shape.length - firstOfValues - mask.shape.length;
  const ndim = values.shape.length;
  if (firstOfValues > 0 && mask.shape.length > 1 && ndim > behind && ndim < taken.shape.length) {
    const wanted = `values of at most ${behind} axes, or of all ${taken.shape.length}`;
    throw new ShapeError(expected(op, wanted, formatShape(values.shape)));
  }
  if (sizeOfShape(taken.shape) === 0 && sizeOfShape(values.shape) === 0) return x;
  const given = spread(op, values, taken);
  const updated = update === 'set' ? given : map(COMBINING[update], [taken, given], op);
  const all = moveaxis(map('where', [reshape(mask, around), updated, taken], op), ofValues, own);
  return others.every((part) => part === null || part === '...') ? all : updatedAt('set', x, others, all);
}

/** Values in the dtype of x. Throws a DTypeError where that cannot hold their kind, or has no such operation. */
export function valuesFor(op: string, update: Update, x: Expr, values: Operand): Expr {
  const given = inDType(op, values, x.dtype);
  if ((update === 'min' || update === 'max') && isComplex(x.dtype))
    throw new DTypeError(expected(op, 'real numbers or booleans', x.dtype));
  if (update === 'subtract' && x.dtype === 'bool')
    throw new DTypeError(expected(op, 'numbers', x.dtype, "'logicalXor' says where booleans differ"));
  return given;
}

/** Values broadcast to the shape of what they are written to. */
export function spread(op: string, values: Expr, to: Pick<Expr, 'shape' | 'extent'>): Expr {
  const { shape } = to;
  if (!sameShape(broadcastShapes(op, [values.shape, shape]), shape)) {
    const wanted = `values that broadcast to ${formatShape(shape)}`;
    throw new ShapeError(expected(op, wanted, formatShape(values.shape)));
  }
  const extent = meetingExtent(op, [values, to], shape);
  const all = broadcast(values, shape);
  return extent === undefined ? all : withExtent(all, extent.axis, extent.length);
}

/** A mode of the user's for keys of bins. */
export const modeOf = (op: string, mode: OutOfRange | undefined): BinMode =>
  binMode(op, mode, 'raiseFromEnd');
