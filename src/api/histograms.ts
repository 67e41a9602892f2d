/** Histograms, which give counts and edges: histogram, histogram2d, histogramdd. */
import { refuseMore } from '../graph/arguments.js';
import type { Expr } from '../graph/expr.js';
import { formatShape, formatValue } from '../graph/format.js';
import {
  type BinsGiven,
  type HistogramRange,
  type HistogramSettings,
  histogramOf,
  histogramOfLines,
  histogramSettings,
} from '../graph/histograms.js';
import { slice } from '../graph/slicing.js';
import { ArgumentError, expected, ShapeError } from '../host/errors.js';
import { called } from '../host/site.js';
import type { ArrayLike } from './fluent-types.js';
import { exprOf, Lazy } from './lazy.js';

/** A number of equally wide bins, or their edges in ascending order. */
export type Bins = number | readonly number[] | ArrayLike;

/** Options of `histogram`. */
export interface HistogramOptions {
  /** Where the first bin begins and the last one ends; from the least to the largest element by default. */
  readonly range?: HistogramRange | undefined;
  /** A number for each element, which is added up in place of 1. */
  readonly weights?: ArrayLike | undefined;
  /** Divides by the sum of all and by the bins' widths, so that the integral is 1. */
  readonly density?: boolean | undefined;
}

/** Options of `histogram2d` and `histogramdd`. */
export interface HistogramsOptions extends Omit<HistogramOptions, 'range'> {
  /** For each dimension, where bins begin and end; null or undefined: from the least to the largest place. */
  readonly range?: readonly (HistogramRange | null | undefined)[] | undefined;
}

/**
 * How many elements lie in each bin, and the bins' edges, as NumPy's `histogram`: `const [counts, edges] =
 * histogram(x, 256, { range: [0, 1] })`. `bins` (10) is a number of equally wide ones, or their edges. Bin k holds
 * `edges[k] <= x < edges[k + 1]`, the last one its upper edge too; what lies outside, and NaN, is left out.
 * Counts are int64; with `weights`, of the elements' shape, they are the weights' sums, of the dtype that `sum`
 * gives, rounded once. Edges have the dtype of floats, else float64. A range that is not given is that of the
 * elements, which are then read twice; where one of them is not finite, no bin holds any (NumPy refuses that).
 * Throws a RangeArgumentError for a range that is none and for listed edges that do not ascend (of an array they
 * are not looked at), a DTypeError for complex elements, a ShapeError for weights of another shape.
 *
 * @example
 * const [counts, edges] = histogram([0, 0.1, 0.6, 1], 2, { range: [0, 1] })
 * await counts.compute()
 * //=> [2 2]
 * await edges.compute()
 * //=> [0.  0.5 1. ]
 */
export function histogram(
  x: ArrayLike,
  bins: Bins = 10,
  options?: HistogramOptions,
  ...more: readonly unknown[]
): [counts: Lazy, edges: Lazy] {
  const op = 'histogram';
  return called(histogram, () => {
    refuseMore(op, 3, [x, bins, options, ...more]);
    const settings = withWeights(op, options, histogramSettings<HistogramRange>(op, options));
    const [counts, edges] = histogramOf(op, exprOf(op, x), binsOf(op, bins), settings);
    return [new Lazy(counts), new Lazy(edges)];
  });
}

/**
 * How many points (x, y) lie in each box of a grid, and the edges along both axes, as NumPy's `histogram2d`:
 * `const [counts, xEdges, yEdges] = histogram2d(x, y, [64, 32])`. `bins` (10) is for both, or one of a list each;
 * a list of more than two numbers, or an array, has the edges of both. Counts are float64, of shape (bins along x,
 * bins along y). Bins, options and errors are those of `histogram`, with a ShapeError for other than two lines of
 * equal length.
 *
 * @example
 * const [counts] = histogram2d([0, 0, 1], [0, 1, 1], 2)
 * await counts.compute()
 * //=> [[1. 1.]
 * //=>  [0. 1.]]
 */
export function histogram2d(
  x: ArrayLike,
  y: ArrayLike,
  bins: Bins | readonly [Bins, Bins] = 10,
  options?: HistogramsOptions,
  ...more: readonly unknown[]
): [counts: Lazy, xEdges: Lazy, yEdges: Lazy] {
  const op = 'histogram2d';
  return called(histogram2d, () => {
    refuseMore(op, 4, [x, y, bins, options, ...more]);
    const [counts, edges] = histogramsOf(op, [exprOf(op, x), exprOf(op, y)], bins, options);
    return [counts, edges[0]!, edges[1]!];
  });
}

/**
 * How many samples, the rows of an array (samples, dimensions), lie in each box of a grid, and the edges along
 * each dimension, as NumPy's `histogramdd`: `const [counts, edges] = histogramdd(samples, [8, 8, 4])`. `bins` (10)
 * is for all dimensions, or a list has one for each. Counts are float64. Bins, options and errors are those of
 * `histogram`, with a ShapeError for samples of other than two axes.
 *
 * @example
 * const [counts, edges] = histogramdd([[0, 0], [0, 1], [1, 1]], [2, 2])
 * await counts.compute()
 * //=> [[1. 1.]
 * //=>  [0. 1.]]
 */
export function histogramdd(
  samples: ArrayLike,
  bins: Bins | readonly Bins[] = 10,
  options?: HistogramsOptions,
  ...more: readonly unknown[]
): [counts: Lazy, edges: Lazy[]] {
  const op = 'histogramdd';
  return called(histogramdd, () => {
    refuseMore(op, 3, [samples, bins, options, ...more]);
    const points = exprOf(op, samples);
    if (points.shape.length !== 2 || points.shape[1] === 0) {
      const wanted = 'samples of shape (samples, dimensions)';
      throw new ShapeError(expected(op, wanted, formatShape(points.shape)));
    }
    const lines = Array.from({ length: points.shape[1]! }, (_, k) => slice(points, null, k));
    return histogramsOf(op, lines, bins, options);
  });
}

function histogramsOf(
  op: string,
  lines: readonly Expr[],
  bins: Bins | readonly Bins[],
  options: HistogramsOptions | undefined,
): [counts: Lazy, edges: Lazy[]] {
  const [first] = lines as readonly [Expr];
  const wrong = lines.find(({ shape }) => shape.length !== 1 || shape[0] !== first.shape[0]);
  if (wrong !== undefined) {
    const wanted = 'lines of places of equal length';
    throw new ShapeError(expected(op, wanted, lines.map(({ shape }) => formatShape(shape)).join(' and ')));
  }
  const { range, ...others } = histogramSettings(op, options);
  if (range !== undefined && (!Array.isArray(range) || range.length !== lines.length))
    throw new ArgumentError(
      expected(op, `a range for each of ${lines.length} dimensions`, formatValue(range)),
    );
  const ranges = range?.map((each) => each ?? undefined);
  const settings = withWeights(op, options, { range: ranges, ...others });
  const [counts, edges] = histogramOfLines(op, lines, binsAlong(op, bins, lines.length), settings);
  return [new Lazy(counts), edges.map((line) => new Lazy(line))];
}

/** Bins for each dimension: a list of so many is one for each; of two numbers, two numbers of bins. */
function binsAlong(op: string, bins: Bins | readonly Bins[], dimensions: number): BinsGiven[] {
  if (Array.isArray(bins) && (bins.length === dimensions || bins.some((part) => typeof part !== 'number'))) {
    if (bins.length !== dimensions)
      throw new ArgumentError(expected(op, `bins for each of ${dimensions} dimensions`, `${bins.length}`));
    return (bins as readonly Bins[]).map((part) => binsOf(op, part));
  }
  const same = binsOf(op, bins as Bins);
  return Array.from({ length: dimensions }, () => same);
}

const binsOf = (op: string, bins: Bins): BinsGiven =>
  typeof bins === 'number' || (Array.isArray(bins) && bins.every((edge) => typeof edge === 'number'))
    ? (bins as number | readonly number[])
    : exprOf(op, bins as ArrayLike);

const withWeights = <Range>(
  op: string,
  options: { readonly weights?: ArrayLike | undefined } | undefined,
  settings: Omit<HistogramSettings<Range>, 'weights'>,
): HistogramSettings<Range> => {
  const weights = options?.weights;
  return { ...settings, weights: weights === undefined ? undefined : exprOf(op, weights) };
};
