/**
 * The free functions of the tables, one export each. Written by scripts/make-functions.mjs: do not edit.
 *
 * `exp(x)` is `lazy(x).exp()`: the first argument is a Lazy or anything `lazy()` takes; scalars are weak.
 */
import { free } from './lazy.js';

/** Absolute value; for complex numbers their modulus, as a float. */
export const abs = free.abs;
/** Inverse cosine, in radians. */
export const acos = free.acos;
/** Inverse hyperbolic cosine. */
export const acosh = free.acosh;
/** Sum of two arrays; for booleans, their disjunction. */
export const add = free.add;
/** Whether all elements are true (not 0). */
export const all = free.all;
/** Whether all elements are close, as NumPy's allclose: `isclose` with its options, of every element. */
export const allclose = free.allclose;
/** Whether any element is true (not 0). */
export const any = free.any;
/** Index of the first largest element; of the first NaN if there is one. */
export const argmax = free.argmax;
/** Index of the first smallest element; of the first NaN if there is one. */
export const argmin = free.argmin;
/**
 * The int64 positions along an axis (the last one by default; null: in all, as one line) of the elements in
 * ascending order, as NumPy's `argsort` with `stable=True`: equal elements keep their order, NaN is last.
 * `{ descending: true }` gives the largest first, equal elements in their order still. Throws a
 * RangeArgumentError for an axis that is not there.
 */
export const argsort = free.argsort;
/**
 * Whether two arrays have the same shape and equal elements, as NumPy's array_equal; `{ equalNan: true }` takes NaN
 * for equal to NaN.
 */
export const arrayEqual = free.arrayEqual;
/** Inverse sine, in radians. */
export const asin = free.asin;
/** Inverse hyperbolic sine. */
export const asinh = free.asinh;
/**
 * The elements in another dtype. Floats become integers towards zero, saturate at the ends, and NaN gives 0;
 * integers wrap; complex numbers lose their imaginary part; bool is whether an element is not 0. The same
 * array for its dtype.
 */
export const astype = free.astype;
/** Inverse tangent, in radians. */
export const atan = free.atan;
/** Angle of the point (second, first) in radians, in all four quadrants. */
export const atan2 = free.atan2;
/** Inverse hyperbolic tangent. */
export const atanh = free.atanh;
/**
 * The weighted mean Σ w x / Σ w along axes (all by default). Weights have the shape of the array, or the sizes
 * of the axes in their order; none are equal weights, as of `mean`. Where weights sum to 0, the result is NaN or
 * an infinity. Integers in float64. `x.average(weights, 0, { keepdims: true })`. Throws a ShapeError for weights
 * of another shape.
 */
export const average = free.average;
/** Bitwise and. */
export const bitwiseAnd = free.bitwiseAnd;
/** All bits flipped; for booleans, negation. */
export const bitwiseInvert = free.bitwiseInvert;
/** Bits of the first moved left by the second; 0 once the shift reaches the width (or is negative). */
export const bitwiseLeftShift = free.bitwiseLeftShift;
/** Bitwise or. */
export const bitwiseOr = free.bitwiseOr;
/**
 * Bits of the first moved right by the second, keeping the sign; 0 or -1 once the shift reaches the width.
 */
export const bitwiseRightShift = free.bitwiseRightShift;
/** Bitwise exclusive or. */
export const bitwiseXor = free.bitwiseXor;
/** NumPy broadcasting to a shape. Throws a ShapeError where `x` does not broadcast to it. */
export const broadcastTo = free.broadcastTo;
/** Cube root. */
export const cbrt = free.cbrt;
/** Smallest integer not below. */
export const ceil = free.ceil;
/**
 * Values limited to the interval from `min` to `max`, which broadcast; null or nothing leaves a side open.
 * NaN stays. The dtype is that of the arrays together; numbers beyond an integer dtype limit nothing.
 */
export const clip = free.clip;
/** Complex conjugate. */
export const conj = free.conj;
/** Magnitude of the first with the sign of the second. */
export const copysign = free.copysign;
/**
 * The correlation coefficients of variables in rows, whose observations are along the last axis: `cov` over the
 * standard deviations of both variables, those of real numbers within -1 and 1; NaN of a variable that does not
 * vary. `other` has further variables with as many observations. One variable gives a 0-d array. The dtype is
 * that of `mean`. Throws a ShapeError as `cov` does.
 */
export const corrcoef = free.corrcoef;
/** Cosine of an angle in radians. */
export const cos = free.cos;
/** Hyperbolic cosine. */
export const cosh = free.cosh;
/** Number of elements that are not 0, as int64. */
export const countNonzero = free.countNonzero;
/**
 * The covariance matrix of variables in rows, whose observations are along the last axis: element (i, j) is the
 * sum of (xᵢ - mean xᵢ) · conj(xⱼ - mean xⱼ) over n - `correction` (1 by default), or NaN or an infinity where
 * that is not above 0. One variable gives its variance as a 0-d array; `other` has further variables with as
 * many observations. The dtype is that of `mean`. Throws a ShapeError for arrays of more than two axes or of
 * none, and for other counts of observations.
 */
export const cov = free.cov;
/**
 * The largest of the elements along an axis up to each place, as NumPy's `maximum.accumulate`: NaN from the
 * first NaN on. The axis may be left out where there is only one; null takes all elements as one line. `{
 * reverse: true }` goes from the end. Throws a DTypeError for complex numbers.
 */
export const cumulativeMax = free.cumulativeMax;
/**
 * The least of the elements along an axis up to each place, as NumPy's `minimum.accumulate`: NaN from the first
 * NaN on. The axis may be left out where there is only one; null takes all elements as one line. `{ reverse:
 * true }` goes from the end. Throws a DTypeError for complex numbers.
 */
export const cumulativeMin = free.cumulativeMin;
/**
 * The products of the elements along an axis up to each place, as NumPy's `cumulative_prod`: the axis may be
 * left out where there is only one, and null takes all elements as one line. Integers and booleans are
 * multiplied in 64 bits and wrap, float32 in float64, rounded once, halves by way of float32. `{ dtype,
 * includeInitial, exclusive, reverse }`. Throws a ShapeError for an axis that is not there, an ArgumentError
 * where one has to be named.
 */
export const cumulativeProd = free.cumulativeProd;
/**
 * The sums of the elements along an axis up to each place, as NumPy's `cumulative_sum`: the axis may be left
 * out where there is only one, and null takes all elements as one line. Integers and booleans are summed in 64
 * bits and wrap, float32 in float64, rounded once, halves by way of float32. `{ dtype, includeInitial,
 * exclusive, reverse }`. Throws a ShapeError for an axis that is not there, an ArgumentError where one has to be
 * named.
 */
export const cumulativeSum = free.cumulativeSum;
/**
 * Of one axis, the matrix with these elements on its diagonal and zeros elsewhere; of two, the diagonal, as NumPy's
 * `diag`. `offset` 0 is the main diagonal, those above it are positive. Throws a ShapeError for other arrays.
 */
export const diag = free.diag;
/**
 * The diagonals of the matrices along the last two axes, as an array of one axis less: `offset` 0 is the main
 * one, those above it are positive. A diagonal outside of the matrix has no elements. Throws a ShapeError for
 * arrays of less than two axes.
 */
export const diagonal = free.diagonal;
/**
 * Differences of neighbours along an axis (the last), `n` times (once): each time the axis is one shorter.
 * Booleans give whether neighbours differ. Throws a ShapeError for an array without axes or a negative count.
 */
export const diff = free.diff;
/**
 * The int64 number of the bin that each element is in, as NumPy's `digitize`: `edges` has one axis, in
 * ascending or in descending order, without which results are unspecified. Bin k of ascending edges holds
 * `edges[k - 1] <= x < edges[k]`, of descending ones `edges[k - 1] > x >= edges[k]`; with `{ right: true }`
 * the equality is at the other end. 0 lies before all edges, their number behind them; NaN is greater than all.
 * Throws a ShapeError for edges of other than one axis, a DTypeError for complex arrays.
 */
export const digitize = free.digitize;
/** Quotient of two arrays; integers are divided in float64. */
export const div = free.div;
/** Quotient of two arrays; integers are divided in float64. */
export const divide = free.divide;
/**
 * NumPy's dot: the inner product of vectors, the matrix product of matrices, else the sum over the last axis
 * of the first and the second last of the second; a scalar multiplies.
 */
export const dot = free.dot;
/** Whether two values are equal. */
export const equal = free.equal;
/** Error function. */
export const erf = free.erf;
/** 1 - erf(x), accurate where erf is near 1. */
export const erfc = free.erfc;
/** e raised to each element. */
export const exp = free.exp;
/** 2 raised to each element. */
export const exp2 = free.exp2;
/** New axes of size 1 at these places of the result. */
export const expandDims = free.expandDims;
/** exp(x) - 1, accurate near zero. */
export const expm1 = free.expm1;
/** The elements in C order along one axis. */
export const flatten = free.flatten;
/** The elements in reverse order along these axes; along all without axes. */
export const flip = free.flip;
/** Largest integer not above. */
export const floor = free.floor;
/** Largest integer not above the quotient; an integer divided by zero gives 0. */
export const floorDivide = free.floorDivide;
/**
 * Gaussian error linear unit, x·Φ(x) (Hendrycks and Gimpel, 2016). `approximate: 'none'` computes Φ with erf,
 * `'tanh'` the paper's ½x(1 + tanh(√(2/π)(x + 0.044715x³))).
 */
export const gelu = free.gelu;
/**
 * The derivative along an axis, in the shape of the array, as NumPy's `gradient`: central differences of second
 * order, one-sided ones at the ends. `spacing` is the distance of neighbours (1) or has the places of the
 * elements, an array of one axis; then interior values are the slopes of the parabola through three neighbours
 * (B. Fornberg, Mathematics of Computation 51, 1988). Integers in float64. `y.gradient(0.1)`,
 * `z.gradient(heights, { axis: 0, edgeOrder: 2 })`. Throws a ShapeError for fewer elements than the
 * differences need and for places of another size, an ArgumentError for an array of several axes without
 * `axis`, where NumPy gives a list.
 */
export const gradient = free.gradient;
/** Whether the first is above the second. */
export const greater = free.greater;
/** Whether the first is above or equal to the second. */
export const greaterEqual = free.greaterEqual;
/** sqrt(x² + y²) without overflow on the way. */
export const hypot = free.hypot;
/** Imaginary part; 0 for real arrays. */
export const imag = free.imag;
/**
 * Linear interpolation, as NumPy's `interp`: the value at each element of x of the function that goes through
 * the points (`places`, `heights`), both of one axis and as long. Places are in ascending order, without
 * which results are unspecified; at NaN it is NaN. Integers in float64.
 * `x.interp(places, heights, { left: 0, right: NaN })`. Throws a ShapeError for no points and for places and
 * heights of other shapes, a DTypeError for complex arrays.
 */
export const interp = free.interp;
/**
 * Whether |a - b| <= atol + rtol·|b|, as NumPy's isclose (rtol 1e-5, atol 1e-8); equal infinities are close.
 */
export const isclose = free.isclose;
/** Whether a value is neither NaN nor an infinity. */
export const isfinite = free.isfinite;
/**
 * Whether each element is one of `test`, an array of any shape, as NumPy's `isin`: NaN is equal to nothing.
 * With `{ invert: true }`, whether it is none of them. Throws a DTypeError for complex arrays.
 */
export const isin = free.isin;
/** Whether a value is an infinity. */
export const isinf = free.isinf;
/** Whether a value is NaN. */
export const isnan = free.isnan;
/**
 * Layer normalisation (Ba, Kiros and Hinton, 2016): (x - mean) / sqrt(var + epsilon) over the last axes,
 * those of `weight` (or the last one), then times weight, plus bias. Both broadcast against x; epsilon is
 * 1e-5 by default.
 */
export const layerNorm = free.layerNorm;
/** Whether the first is below the second. */
export const less = free.less;
/** Whether the first is below or equal to the second. */
export const lessEqual = free.lessEqual;
/** Logarithm of the absolute value of the gamma function. */
export const lgamma = free.lgamma;
/** Natural logarithm. */
export const log = free.log;
/** Base-10 logarithm. */
export const log10 = free.log10;
/** log(1 + x), accurate near zero. */
export const log1p = free.log1p;
/** Base-2 logarithm. */
export const log2 = free.log2;
/**
 * Logarithm of the softmax, x - logsumexp(x), without losing small probabilities. Integers give the float of
 * `exp`.
 */
export const logSoftmax = free.logSoftmax;
/** log(exp(x) + exp(y)) without overflow. */
export const logaddexp = free.logaddexp;
/** Conjunction; numbers count as true unless they are 0. */
export const logicalAnd = free.logicalAnd;
/** Negation; numbers count as true unless they are 0. */
export const logicalNot = free.logicalNot;
/** Disjunction; numbers count as true unless they are 0. */
export const logicalOr = free.logicalOr;
/** Exclusive or; numbers count as true unless they are 0. */
export const logicalXor = free.logicalXor;
/** log(Σ exp(x)) without overflow; the accumulator is (maximum, Σ exp(x - maximum)). */
export const logsumexp = free.logsumexp;
/**
 * Matrix product over the last two axes; axes before them are stacks and broadcast. A vector on the left is a
 * row, on the right a column, and that axis is absent from the result. (…, m, k) · (…, k, n) is (…, m, n).
 * The dtype is the promoted one. Throws a ShapeError where the inner sizes differ, an argument is a scalar,
 * or stacks do not broadcast.
 */
export const matmul = free.matmul;
/** The last two axes exchanged: the transposes of a stack of matrices. Throws a ShapeError below two axes. */
export const matrixTranspose = free.matrixTranspose;
/** Largest element; NaN if any is NaN. */
export const max = free.max;
/** Larger of two values; NaN if either is NaN. */
export const maximum = free.maximum;
/**
 * Arithmetic mean; NaN of no elements. Integers and booleans are averaged in float64, floats in their dtype
 * (halves in float32), or in `dtype`.
 */
export const mean = free.mean;
/**
 * The median of the elements along axes (all by default): the one in the middle of them, or the mean of the two;
 * NaN where one of them is NaN. Integers and booleans give float64. `x.median(0, { keepdims: true })`. Throws an
 * ArgumentError for no elements, a DTypeError for complex numbers.
 */
export const median = free.median;
/** Smallest element; NaN if any is NaN. */
export const min = free.min;
/** Smaller of two values; NaN if either is NaN. */
export const minimum = free.minimum;
/** Axes moved from the places `source` to the places `destination`; the others keep their order. */
export const moveaxis = free.moveaxis;
/** Product of two arrays; for booleans, their conjunction. */
export const mul = free.mul;
/** Product of two arrays; for booleans, their conjunction. */
export const multiply = free.multiply;
/**
 * Index of the first largest element that is not NaN; 0 where all are, where NumPy raises an error. One axis or
 * none.
 */
export const nanArgmax = free.nanArgmax;
/**
 * Index of the first smallest element that is not NaN; 0 where all are, where NumPy raises an error. One axis
 * or none.
 */
export const nanArgmin = free.nanArgmin;
/** Largest element that is not NaN; NaN where all are. Real numbers only. */
export const nanMax = free.nanMax;
/**
 * Arithmetic mean of the elements that are not NaN; NaN of none. Integers and booleans are averaged in float64,
 * floats in their dtype (halves in float32), or in `dtype`.
 */
export const nanMean = free.nanMean;
/** Smallest element that is not NaN; NaN where all are. Real numbers only. */
export const nanMin = free.nanMin;
/** Product of the elements that are not NaN; 1 of none. */
export const nanProd = free.nanProd;
/** Standard deviation of the elements that are not NaN: the square root of `nanVar`, with the same options. */
export const nanStd = free.nanStd;
/** Sum of the elements that are not NaN; 0 of none. */
export const nanSum = free.nanSum;
/**
 * Variance of the elements that are not NaN: the sum of |x - mean|² over n - correction (0 by default), n being
 * their number; NaN where n is not above the correction. Integers in float64, complex numbers give a float.
 */
export const nanVar = free.nanVar;
/** Negated values. */
export const neg = free.neg;
/** Negated values. */
export const negative = free.negative;
/** The next value after the first, towards the second; float32 and float64 only. */
export const nextafter = free.nextafter;
/**
 * Vector norm over the axes together: (Σ|x|^p)^(1/p), the largest or smallest |x| for ±Infinity, the count of
 * nonzeros for 0. Integers are taken in float64; complex numbers give a float. `x.norm(2, 0)`, `x.norm({ ord:
 * 1, axis: 0 })`.
 */
export const norm = free.norm;
/** Whether two values differ. */
export const notEqual = free.notEqual;
/** Products of all pairs of elements: shape (a.size, b.size). Arrays are flattened. */
export const outer = free.outer;
/**
 * The array with a border of one value, 0 if none is given. Widths are 0 or more; the dtype stays.
 * Throws a ShapeError for negative or missing widths.
 */
export const pad = free.pad;
/** The quantiles at percentages, from 0 to 100: `x.percentile(99)` is `x.quantile(0.99)`. */
export const percentile = free.percentile;
/**
 * Output axis k is input axis `axes[k]`; without axes their order is reversed. `axes` names every axis once.
 */
export const permuteDims = free.permuteDims;
/** The values themselves. */
export const positive = free.positive;
/**
 * First array to the power of the second. A negative integer power of an integer is 0, or ±1 for a base of
 * ±1.
 */
export const pow = free.pow;
/** Product of the elements. */
export const prod = free.prod;
/** Range of the values: largest minus smallest. Real numbers only. */
export const ptp = free.ptp;
/**
 * The quantiles of the elements along axes (all by default) at the probabilities q, from 0 to 1: a number, or a
 * list of them, whose values are along a new first axis. NaN where one of the elements is NaN. `method` is one of
 * NumPy's 13; by default `'linear'`. Methods that interpolate give float64 of integers. `x.quantile([0.1, 0.9], 0)`.
 * Throws a RangeArgumentError for other probabilities, an ArgumentError for no elements, a DTypeError for complex
 * numbers.
 */
export const quantile = free.quantile;
/** The elements in C order along one axis; the same as `flatten`. */
export const ravel = free.ravel;
/** Real part. */
export const real = free.real;
/** 1 / x; for integers, 0 but for ±1. */
export const reciprocal = free.reciprocal;
/** The larger of x and 0. */
export const relu = free.relu;
/** Remainder with the divisor's sign; an integer divided by zero gives 0. */
export const remainder = free.remainder;
/** Every element repeated `repeats` times along an axis; without an axis the array is flattened first. */
export const repeat = free.repeat;
/**
 * The same elements in C order in another shape. One size may be -1: it follows from the others.
 * Throws a ShapeError where the sizes differ. `x.reshape(2, -1)` or `x.reshape([2, -1])`.
 */
export const reshape = free.reshape;
/**
 * Elements moved by `shift` places along axes, those that leave coming back at the other end. Without axes
 * the array is rolled as one flat line. Several axes take one shift for all or one for each.
 */
export const roll = free.roll;
/** Nearest integer, halves to even; of complex numbers both parts. */
export const round = free.round;
/** 1 / sqrt(x). */
export const rsqrt = free.rsqrt;
/**
 * The int64 positions at which values would go into an array of one axis in ascending order, NaN last, so
 * that it stays in order: as NumPy's `searchsorted`. `edges.searchsorted(x, null, { side: 'right' })`.
 * `sorter` has the positions that sort an array that is not in order, as `argsort` gives them. The positions
 * in an unsorted array are unspecified. Throws a ShapeError for arrays of other than one axis and for a
 * `sorter` of another length, a DTypeError for complex arrays.
 */
export const searchsorted = free.searchsorted;
/** 1 / (1 + exp(-x)). */
export const sigmoid = free.sigmoid;
/** -1, 0 or 1 by the sign, NaN for NaN; for complex numbers z / |z|. */
export const sign = free.sign;
/** Whether the sign bit is set: true for -0 and for negative NaNs. */
export const signbit = free.signbit;
/** x · sigmoid(x). */
export const silu = free.silu;
/** Sine of an angle in radians. */
export const sin = free.sin;
/** Hyperbolic sine. */
export const sinh = free.sinh;
/**
 * Part of an array: one selector for each axis, from the first; axes without one are taken whole. An index
 * out of range is a ShapeError, ranges are clipped (so that Infinity is the end). `x.slice([1, 10, 2], -1)`,
 * `x.slice('1:10:2, -1')`.
 */
export const slice = free.slice;
/**
 * exp(x) over its sum along the axes (the last by default), with the maximum taken off first. Integers give
 * the float of `exp`.
 */
export const softmax = free.softmax;
/** log(1 + exp(x)), computed as max(x, 0) + log1p(exp(-|x|)): without overflow, and exact far from 0. */
export const softplus = free.softplus;
/**
 * The elements along an axis (the last one by default; null: all, as one line) in ascending order, NaN last,
 * as NumPy's `sort`. Complex numbers are in the order of their real, then their imaginary parts. `{ descending:
 * true }` gives the largest first. Of equal elements, -0 is less than 0. Throws a RangeArgumentError for an
 * axis that is not there.
 */
export const sort = free.sort;
/** Square root. */
export const sqrt = free.sqrt;
/** The square of each element. */
export const square = free.square;
/**
 * Axes of size 1 taken away: those named, or all. Throws a ShapeError where a named axis has another size.
 */
export const squeeze = free.squeeze;
/** (x - mean) / std along the axes; all of them by default. Integers in float64. */
export const standardize = free.standardize;
/** Standard deviation: the square root of the variance, with the same options. */
export const std = free.std;
/** Difference of two arrays. */
export const sub = free.sub;
/** Difference of two arrays. */
export const subtract = free.subtract;
/** Sum of the elements. */
export const sum = free.sum;
/** Two axes exchanged. */
export const swapaxes = free.swapaxes;
/**
 * The elements at some indices of an axis, as NumPy's `take`: the axis becomes the axes of the indices,
 * integers of any dtype or lists. Without an axis, or with null, the array is taken as one line.
 * `table.take(ids, 0)` gives rows. Throws a DTypeError for indices that are no integers, a ShapeError for
 * indices into an axis without elements; an index out of range is a RangeArgumentError: of a list at once, of
 * an array when it is computed, before anything else runs.
 */
export const take = free.take;
/**
 * One element for each index, along an axis (the last one by default): element (…, i, …) is `x[…, indices[…, i,
 * …], …]`, as NumPy's `take_along_axis`. Both have as many axes, whose other sizes agree or are 1:
 * `x.takeAlongAxis(x.argsort(1), 1)` is `x.sort(1)`. Options and errors are those of `take`, with a ShapeError for
 * shapes that do not meet.
 */
export const takeAlongAxis = free.takeAlongAxis;
/** Tangent of an angle in radians. */
export const tan = free.tan;
/** Hyperbolic tangent. */
export const tanh = free.tanh;
/**
 * Sum over pairs of axes: the last `axes` of the first with the first `axes` of the second (2 by default), or
 * those named as `[axes of the first, axes of the second]`.
 */
export const tensordot = free.tensordot;
/**
 * The array repeated `repetitions[k]` times along axis k; the shorter of shape and repetitions is filled with
 * ones in front.
 */
export const tile = free.tile;
/**
 * The sums of the diagonals of the matrices along the last two axes, in the dtype of `sum` or in `dtype`. `{
 * offset, dtype }`. Throws a ShapeError for arrays of less than two axes.
 */
export const trace = free.trace;
/** Output axis k is input axis `axes[k]`; without axes their order is reversed. The same as `permuteDims`. */
export const transpose = free.transpose;
/**
 * The integral by the trapezoidal rule along an axis (the last): the sum of the means of neighbours, times how
 * far apart they are. `at` has the places of the elements, of one axis or of the shape of x; without them,
 * neighbours are `dx` (1) apart. Integers in float64. `y.trapezoid(x)`, `y.trapezoid(null, { dx: 0.1, axis: 0
 * })`. Throws a ShapeError for an array without axes and for places of other sizes, an ArgumentError for places
 * beside `dx`.
 */
export const trapezoid = free.trapezoid;
/** Matrices with the elements above diagonal `k` set to 0; diagonals above the main one are positive. */
export const tril = free.tril;
/** Matrices with the elements below diagonal `k` set to 0; diagonals above the main one are positive. */
export const triu = free.triu;
/** Integer part, towards zero. */
export const trunc = free.trunc;
/**
 * Variance: the sum of squared deviations over n - correction (0 by default), computed as in Chan, Golub and
 * LeVeque (1979), so that it neither cancels nor needs a second look. NaN where n is not above the
 * correction. Integers in float64, complex numbers give a float.
 */
export const variance = free.variance;
/** Σ conj(a)·b along an axis (the last by default) of arrays that broadcast. */
export const vecdot = free.vecdot;
/** The second where the first is true, else the third. */
export const where = free.where;
export { variance as var };
