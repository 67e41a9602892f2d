/**
 * Histograms as nodes: counts and edges of one or several dimensions. Called by `api/histograms.ts`.
 *
 * In one dimension a routine finds the bin of each element and counts, so that elements are read once. In several
 * the bin along each is found by kernels, and the routine counts the bins' numbers.
 */

import { ArgumentError, DTypeError, expected, RangeArgumentError, ShapeError } from '../host/errors.js';
import { checkOptions } from './arguments.js';
import { binsBy, checkCount } from './bin-arguments.js';
import { type Binning, countsIn, sumsIn } from './binning.js';
import { type DType, isComplex, isFloat, isHalf, promote } from './dtype.js';
import { spacedFrom } from './even-spacing.js';
import type { Expr } from './expr.js';
import { meetingExtent, needSizes, upToBound } from './extent.js';
import { formatShape, formatValue } from './format.js';
import { denseStrides, sizeOfShape } from './graph.js';
import { cast, constant, hostArray, iota, map, type Operand, reduce, toExpr, withinLength } from './infer.js';
import { reductionRow } from './reductions.js';
import { searchsorted } from './searching.js';
import { sameShape } from './shape.js';
import { slice } from './slicing.js';
import { reshape } from './view-nodes.js';
import { flatten } from './views.js';

/** From where to where bins go. */
export type HistogramRange = readonly [first: number, last: number];
/** A number of equally wide bins, or their edges in ascending order. */
export type BinsGiven = number | readonly number[] | Expr;

export interface HistogramSettings<Range> {
  readonly range: Range | undefined;
  readonly weights: Operand | undefined;
  readonly density: boolean;
}

/** The edges of bins along one dimension, and the elements in a dtype that they are compared in. */
interface Edges {
  readonly elements: Expr;
  /** In that dtype. */
  readonly edges: Expr;
  readonly areEqual: boolean;
  readonly count: number;
}

/** The counts of elements between edges, or the sums of their weights, and the edges. */
export function histogramOf(
  op: string,
  x: Expr,
  bins: BinsGiven,
  { range, weights, density }: HistogramSettings<HistogramRange>,
): [counts: Expr, edges: Expr] {
  const given = x.extent === undefined ? flatten(x) : x;
  const { elements, edges, areEqual, count } = edgesOf(op, given, bins, range);
  const keys = flatten(
    elements.extent === undefined ? elements : withinLength(asFloats(elements), Number.NaN),
  );
  const counts = gathered(op, { asked: op, count, keys, by: { edges, areEqual } }, weights, x);
  if (!density) return [counts, edges];
  return [densityOf(counts, [edges]), edges];
}

/** Elements as they are compared with edges: there is a NaN, which no bin holds. */
const asFloats = (x: Expr): Expr => (isFloat(x.dtype) ? x : cast(x, 'float64'));

/**
 * The float64 counts of samples in the boxes between edges along each dimension, or the sums of their weights,
 * and those edges; a line of places for each dimension.
 */
export function histogramOfLines(
  op: string,
  lines: readonly Expr[],
  bins: readonly BinsGiven[],
  { range, weights, density }: HistogramSettings<readonly (HistogramRange | undefined)[]>,
): [counts: Expr, edges: Expr[]] {
  meetingExtent(op, lines, lines[0]!.shape);
  const along = lines.map((line, k) => edgesOf(op, line, bins[k]!, range?.[k]));
  const shape = along.map(({ count }) => count);
  const strides = denseStrides(shape);
  let flat: Expr = constant(0, 'int64');
  let isInside: Expr = constant(true, 'bool');
  for (const [k, { elements, edges, count }] of along.entries()) {
    const isLast = map('equal', [elements, slice(edges, -1)]);
    const behind = map('where', [isLast, count, searchsorted(edges, elements, null, { side: 'right' })]);
    const inRange = map('logicalAnd', [map('greater', [behind, 0]), map('lessEqual', [behind, count])]);
    isInside = map('logicalAnd', [isInside, inRange]);
    flat = map('add', [flat, map('multiply', [map('subtract', [behind, 1]), strides[k]!])]);
  }
  const keys = map('where', [isInside, flat, -1]);
  const counts = gathered(op, binsBy(op, sizeOfShape(shape), keys, 'within'), weights, keys);
  const edges = along.map((each) => each.edges);
  const result = cast(reshape(counts, shape), isComplex(counts.dtype) ? counts.dtype : 'float64');
  return [density ? densityOf(result, edges) : result, edges];
}

/** Counts, or sums of weights of the elements' shape. */
function gathered(op: string, binning: Binning, weights: Operand | undefined, elements: Expr): Expr {
  if (weights === undefined) return countsIn(binning);
  const given = toExpr(op, weights);
  if (!sameShape(given.shape, elements.shape)) {
    const wanted = `weights of shape ${formatShape(elements.shape)}`;
    throw new ShapeError(expected(op, wanted, formatShape(given.shape)));
  }
  meetingExtent(op, [elements, given], given.shape);
  const summed = cast(flatten(upToBound(given)), reductionRow('sum').dtype(given.dtype)!.result);
  return sumsIn(binning, summed, 1, 'positive');
}

/** Counts over their sum and the size of their bins. */
function densityOf(counts: Expr, edges: readonly Expr[]): Expr {
  const ndim = counts.shape.length;
  const total = reduce('sum', counts, [...counts.shape.keys()]);
  return edges.reduce(
    (result, line, k) => {
      const widths = map('subtract', [slice(line, [1, null]), slice(line, [null, -1])]);
      const shape = counts.shape.map((size, axis) => (axis === k ? size : 1));
      return map('divide', [result, reshape(cast(widths, 'float64'), ndim === 1 ? [shape[0]!] : shape)]);
    },
    map('divide', [cast(counts, isComplex(counts.dtype) ? counts.dtype : 'float64'), total]),
  );
}

function edgesOf(op: string, x: Expr, bins: BinsGiven, range: HistogramRange | undefined): Edges {
  if (isComplex(x.dtype)) throw new DTypeError(expected(op, 'real numbers or booleans', x.dtype));
  const plain = isHalf(x.dtype) ? cast(x, 'float32') : x.dtype === 'bool' ? cast(x, 'uint8') : x;
  const dtype = plain.dtype === 'float32' ? 'float32' : 'float64';
  const line = isFloat(plain.dtype) ? cast(plain, dtype) : plain;
  if (typeof bins === 'number') {
    const count = checkCount(op, 'number of bins', bins);
    if (count === 0) throw new RangeArgumentError(expected(op, 'one bin or more', '0'));
    const edges =
      range === undefined ? edgesBetweenEnds(line, count, dtype) : evenEdges(op, range, count, dtype);
    return { elements: line, edges, areEqual: true, count };
  }
  return givenEdges(op, line, bins, dtype);
}

/** Edges that the user gives. Lists are in the dtype of the elements, as numbers beside arrays are. */
function givenEdges(
  op: string,
  line: Expr,
  bins: readonly number[] | Expr,
  dtype: 'float32' | 'float64',
): Edges {
  const isList = Array.isArray(bins);
  if (isList) checkAscending(op, bins);
  const given = isList ? toLine(bins, dtype) : (bins as Expr);
  needSizes(op, given);
  if (isComplex(given.dtype)) throw new DTypeError(expected(op, 'real edges', given.dtype));
  if (given.shape.length !== 1 || given.shape[0]! < 2) {
    const wanted = 'a number of bins, or two edges or more in a line';
    throw new ShapeError(expected(op, wanted, `edges of shape ${formatShape(given.shape)}`));
  }
  const met = promote(given.dtype, dtype) === 'float32' ? 'float32' : 'float64';
  const elements = isFloat(line.dtype) ? cast(line, met) : line;
  const edges = cast(given, isFloat(line.dtype) ? met : 'float64');
  return { elements, edges, areEqual: false, count: edges.shape[0]! - 1 };
}

function checkAscending(op: string, edges: readonly number[]): void {
  for (const [k, edge] of edges.entries()) {
    if (typeof edge !== 'number')
      throw new ArgumentError(expected(op, 'numbers as edges', formatValue(edge)));
    if (k > 0 && !(edges[k - 1]! <= edge))
      throw new RangeArgumentError(expected(op, 'edges in ascending order', formatValue(edges)));
  }
}

const toLine = (values: readonly number[], dtype: 'float32' | 'float64'): Expr => {
  const data = dtype === 'float32' ? Float32Array.from(values) : Float64Array.from(values);
  return hostArray({ type: 'host', data, offset: 0, strides: [1] }, dtype, [values.length]);
};

/** Edges of equally wide bins in a range, as NumPy's `linspace` has them. */
function evenEdges(op: string, range: HistogramRange, count: number, dtype: 'float32' | 'float64'): Expr {
  const isRange = Array.isArray(range) && range.length === 2 && range.every((end) => Number.isFinite(end));
  if (!isRange || range[0] > range[1]) {
    const wanted = 'a range of two finite numbers, [first, last]';
    throw new RangeArgumentError(expected(op, wanted, formatValue(range)));
  }
  const isPoint = range[0] === range[1];
  const [first, last] = isPoint ? [range[0] - 0.5, range[1] + 0.5] : range;
  const step = (last - first) / count;
  const edges = Array.from({ length: count + 1 }, (_, k) => (k === count ? last : k * step + first));
  return toLine(edges, dtype);
}

/** Edges of equally wide bins from the least element to the largest; of none, from 0 to 1. */
function edgesBetweenEnds(x: Expr, count: number, dtype: DType): Expr {
  if (sizeOfShape(x.shape) === 0)
    return evenEdges('histogram', [0, 1], count, dtype as 'float32' | 'float64');
  const end = (side: 'min' | 'max', ofNone: number): Expr => {
    const found = cast(reduce(side, x, [...x.shape.keys()]), dtype);
    return x.extent === undefined ? found : map('where', [map('equal', [x.extent.length, 0]), ofNone, found]);
  };
  const [least, most] = [end('min', 0), end('max', 1)];
  const isPoint = map('equal', [least, most]);
  const first = map('where', [isPoint, map('subtract', [least, 0.5]), least]);
  const last = map('where', [isPoint, map('add', [most, 0.5]), most]);
  const step = map('divide', [map('subtract', [last, first]), count]);
  const place = iota(count + 1);
  const between = spacedFrom(first, map('multiply', [cast(place, dtype), step]));
  return map('where', [map('equal', [place, count]), last, between]);
}

/** Options of histograms as they are given. */
export function histogramSettings<Range>(
  op: string,
  options:
    | {
        readonly range?: Range | undefined;
        readonly weights?: unknown;
        readonly density?: boolean | undefined;
      }
    | undefined,
): Omit<HistogramSettings<Range>, 'weights'> {
  checkOptions(op, options, ['range', 'weights', 'density']);
  const density = options?.density ?? false;
  if (typeof density !== 'boolean')
    throw new ArgumentError(expected(op, 'density to be true or false', formatValue(density)));
  return { range: options?.range, density };
}
