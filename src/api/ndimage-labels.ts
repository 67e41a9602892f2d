/** Connected components and what is computed of them, with the names and the meaning of SciPy's `ndimage`. */
import { checkOptions } from '../graph/arguments.js';
import { isComplex, isInteger } from '../graph/dtype.js';
import type { Expr } from '../graph/expr.js';
import { needSizes } from '../graph/extent.js';
import { knownArray, type NestedNumbers } from '../graph/filter-arguments.js';
import { formatShape, formatValue } from '../graph/format.js';
import { sizeOfShape } from '../graph/graph.js';
import { cast, map, reduce } from '../graph/infer.js';
import { indexAlong, stack } from '../graph/joins.js';
import { labelled, neighboursBefore } from '../graph/labels.js';
import { binaryStructure } from '../graph/morphology.js';
import { segmentSum } from '../graph/segment-reductions.js';
import { checkInteger, sameShape } from '../graph/shape.js';
import { taken } from '../graph/taking.js';
import { broadcast, reshape } from '../graph/view-nodes.js';
import { ArgumentError, DTypeError, expected, RangeArgumentError, ShapeError } from '../host/errors.js';
import { called } from '../host/site.js';
import type { ArrayLike } from './fluent-types.js';
import { exprOf, Lazy } from './lazy.js';
import { NDArray } from './ndarray.js';

/** Options of `label`. */
export interface LabelOptions {
  /**
   * Which neighbours of an element belong to it: three elements along each axis, the same from both sides; those that
   * differ in one coordinate by default.
   */
  readonly structure?: NestedNumbers | undefined;
}

/** The result of `label`. */
export interface Labels {
  /** The label of each element, from 1, and 0 where the array is 0. */
  readonly labels: Lazy<'int32' | 'int64'>;
  /** How many there are, of shape (). */
  readonly count: Lazy<'int32' | 'int64'>;
}

/**
 * The connected components of the elements that are not 0, numbered from 1 in the order in which a scan in C order meets
 * them, as SciPy's `label`: int32, and int64 of 2³¹ elements and more. The number of components is an array without axes,
 * so that nothing waits for it. Components are found by union-find with the least place as root, on a GPU over elements,
 * on the CPU over runs of rows, in a few passes over memory. Throws a ShapeError for a structure that has not three elements along each axis, an
 * ArgumentError for one that is not symmetric.
 *
 * @example
 * const { labels, count } = ndimage.label([[1, 1, 0], [0, 0, 0], [0, 1, 1]])
 * await labels.compute()
 * //=> [[1 1 0]
 * //=>  [0 0 0]
 * //=>  [0 2 2]]
 * await count.compute()
 * //=> 2
 */
export function label(x: ArrayLike, options?: LabelOptions): Labels {
  return called(label, () => {
    const op = 'ndimage.label';
    checkOptions(op, options, ['structure']);
    const given = exprOf(op, x);
    needSizes(op, given);
    const isLine = given.shape.length === 0;
    const mask = cast(isLine ? reshape(given, [1]) : given, 'bool');
    const structure =
      options?.structure === undefined
        ? binaryStructure(mask.shape.length, 1)
        : knownArray(op, 'a structure', options.structure);
    if (structure.shape.length !== mask.shape.length || structure.shape.some((n) => n !== 3)) {
      const wanted = `a structure of 3 elements along each axis of ${formatShape(given.shape)}`;
      throw new ShapeError(expected(op, wanted, formatShape(structure.shape)));
    }
    const neighbours = neighboursBefore(structure);
    if (neighbours === undefined)
      throw new ArgumentError(expected(op, 'a symmetric structure', formatValue(options?.structure)));
    const { labels, count } = labelled(mask, neighbours);
    return {
      labels: new Lazy(reshape(labels, given.shape)) as Labels['labels'],
      count: new Lazy(count) as Labels['count'],
    };
  });
}

/**
 * A structure of three elements along each axis with those of which at most `connectivity` coordinates differ from the
 * middle, as SciPy's `generate_binary_structure`.
 *
 * @example
 * ndimage.generateBinaryStructure(2, 1)
 * //=> [[False  True False]
 * //=>  [ True  True  True]
 * //=>  [False  True False]]
 */
export function generateBinaryStructure(rank: number, connectivity: number): NDArray<'bool'> {
  return called(generateBinaryStructure, () => {
    const op = 'ndimage.generateBinaryStructure';
    const ndim = checkInteger(op, 'a rank', rank);
    if (ndim < 0 || ndim > 12) throw new RangeArgumentError(expected(op, 'a rank from 0 to 12', `${ndim}`));
    const { shape, values } = binaryStructure(ndim, checkInteger(op, 'a connectivity', connectivity));
    return new NDArray(Uint8Array.from(values), shape, 'bool');
  });
}

/** Labels that are looked at: one, a list of them, or all but 0 together. */
export type LabelIndex = number | readonly number[] | undefined;

/**
 * The sums of the elements with each of some labels, in float64 and complex128, as SciPy's `sum_labels`: of a list an
 * array, of one label or of all that are not 0 one number. Throws a ShapeError for labels of another shape, a
 * DTypeError for labels that are no integers.
 *
 * @example
 * await ndimage.sumLabels([1, 2, 3, 4], [1, 1, 0, 2], [1, 2]).compute()
 * //=> [3. 4.]
 */
export function sumLabels(x: ArrayLike, labels?: ArrayLike, index?: number | readonly number[]): Lazy {
  return called(sumLabels, () => {
    const op = 'ndimage.sumLabels';
    const given = exprOf(op, x);
    return new Lazy(
      sums(op, wide(given), labels === undefined ? undefined : labelsOf(op, given, labels), index),
    );
  });
}

/**
 * The centres of mass of the elements with each of some labels, a row of coordinates for each, as SciPy's
 * `center_of_mass`; of one label or of all that are not 0 one row.
 *
 * @example
 * await ndimage.centerOfMass([[1, 1], [0, 2]]).compute()
 * //=> [0.5  0.75]
 */
export function centerOfMass(x: ArrayLike, labels?: ArrayLike, index?: number | readonly number[]): Lazy {
  return called(centerOfMass, () => {
    const op = 'ndimage.centerOfMass';
    const given = exprOf(op, x);
    needSizes(op, given);
    if (isComplex(given.dtype)) throw new DTypeError(expected(op, 'real numbers or booleans', given.dtype));
    const own = labels === undefined ? undefined : labelsOf(op, given, labels);
    const mass = wide(given);
    const total = sums(op, mass, own, index);
    const { shape } = given;
    const moments = shape.map((n, axis) => {
      const weighted = map('multiply', [mass, indexAlong(axis, n, shape.length)]);
      return map('divide', [sums(op, weighted, own, index), total]);
    });
    return new Lazy(stack(moments, total.shape.length));
  });
}

const wide = (x: Expr): Expr => cast(x, isComplex(x.dtype) ? 'complex128' : 'float64');

function labelsOf(op: string, x: Expr, labels: ArrayLike): Expr {
  const own = exprOf(op, labels);
  if (own.dtype !== 'bool' && own.dtype !== 'float64' && !isInteger(own.dtype))
    throw new DTypeError(expected(op, 'labels that are integers', own.dtype));
  if (!sameShape(own.shape, x.shape))
    throw new ShapeError(expected(op, `labels of shape ${formatShape(x.shape)}`, formatShape(own.shape)));
  return cast(own, 'int64');
}

/** Sums of elements by label. */
function sums(op: string, x: Expr, labels: Expr | undefined, index: LabelIndex): Expr {
  needSizes(op, x);
  const axes = [...x.shape.keys()];
  if (labels === undefined) return reduce('sum', x, axes);
  if (index === undefined) return reduce('sum', map('where', [map('greater', [labels, 0]), x, 0]), axes);
  const list = typeof index === 'number' ? [index] : index;
  for (const each of list) checkInteger(op, 'a label', each);
  const most = list.reduce((a, b) => Math.max(a, b), 0);
  const size = sizeOfShape(x.shape);
  const all = segmentSum(reshape(x, [size]), reshape(labels, [size]), most + 1, { mode: 'drop' });
  const isKnown = list.map((each) => each >= 0);
  const found = taken(
    op,
    all,
    list.map((each) => Math.max(0, each)),
    0,
  );
  const kept = isKnown.every(Boolean)
    ? found
    : map('where', [map('greaterEqual', [exprOf(op, list), 0]), found, 0]);
  return typeof index === 'number' ? reshape(kept, []) : broadcast(kept, [list.length]);
}
