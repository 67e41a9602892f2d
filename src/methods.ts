/**
 * The methods of Lazy that come from the tables, with their documentation. Written by scripts/make-functions.mjs: do not
 * edit. `fluent.ts` makes them; `lazy.ts` takes this interface.
 */
import type { Fluent } from './fluent.js';

export interface Methods {
  /** Absolute value; for complex numbers their modulus, as a float. */
  readonly abs: Fluent['abs'];
  /** Inverse cosine, in radians. */
  readonly acos: Fluent['acos'];
  /** Inverse hyperbolic cosine. */
  readonly acosh: Fluent['acosh'];
  /** Sum of two arrays; for booleans, their disjunction. */
  readonly add: Fluent['add'];
  /** Whether all elements are true (not 0). */
  readonly all: Fluent['all'];
  /** Whether any element is true (not 0). */
  readonly any: Fluent['any'];
  /** Index of the first largest element; of the first NaN if there is one. */
  readonly argmax: Fluent['argmax'];
  /** Index of the first smallest element; of the first NaN if there is one. */
  readonly argmin: Fluent['argmin'];
  /** Inverse sine, in radians. */
  readonly asin: Fluent['asin'];
  /** Inverse hyperbolic sine. */
  readonly asinh: Fluent['asinh'];
  /**
   * The elements in another dtype. Floats become integers towards zero, saturate at the ends, and NaN gives 0; integers
   * wrap; complex numbers lose their imaginary part; bool is whether an element is not 0. The same array for its dtype.
   */
  readonly astype: Fluent['astype'];
  /** Inverse tangent, in radians. */
  readonly atan: Fluent['atan'];
  /** Angle of the point (second, first) in radians, in all four quadrants. */
  readonly atan2: Fluent['atan2'];
  /** Inverse hyperbolic tangent. */
  readonly atanh: Fluent['atanh'];
  /** Bitwise and. */
  readonly bitwiseAnd: Fluent['bitwiseAnd'];
  /** All bits flipped; for booleans, negation. */
  readonly bitwiseInvert: Fluent['bitwiseInvert'];
  /** Bits of the first moved left by the second; 0 once the shift reaches the width (or is negative). */
  readonly bitwiseLeftShift: Fluent['bitwiseLeftShift'];
  /** Bitwise or. */
  readonly bitwiseOr: Fluent['bitwiseOr'];
  /** Bits of the first moved right by the second, keeping the sign; 0 or -1 once the shift reaches the width. */
  readonly bitwiseRightShift: Fluent['bitwiseRightShift'];
  /** Bitwise exclusive or. */
  readonly bitwiseXor: Fluent['bitwiseXor'];
  /** NumPy broadcasting to a shape. Throws a ShapeError where `x` does not broadcast to it. */
  readonly broadcastTo: Fluent['broadcastTo'];
  /** Cube root. */
  readonly cbrt: Fluent['cbrt'];
  /** Smallest integer not below. */
  readonly ceil: Fluent['ceil'];
  /**
   * Values limited to the interval from `min` to `max`, which broadcast; null or nothing leaves a side open. NaN stays.
   * The dtype is that of the arrays together; numbers beyond an integer dtype limit nothing.
   */
  readonly clip: Fluent['clip'];
  /** Complex conjugate. */
  readonly conj: Fluent['conj'];
  /** Magnitude of the first with the sign of the second. */
  readonly copysign: Fluent['copysign'];
  /** Cosine of an angle in radians. */
  readonly cos: Fluent['cos'];
  /** Hyperbolic cosine. */
  readonly cosh: Fluent['cosh'];
  /** Number of elements that are not 0, as int64. */
  readonly countNonzero: Fluent['countNonzero'];
  /**
   * Differences of neighbours along an axis (the last), `n` times (once): each time the axis is one shorter. Booleans give
   * whether neighbours differ. Throws a ShapeError for an array without axes or a negative count.
   */
  readonly diff: Fluent['diff'];
  /** Quotient of two arrays; integers are divided in float64. */
  readonly div: Fluent['div'];
  /** Quotient of two arrays; integers are divided in float64. */
  readonly divide: Fluent['divide'];
  /**
   * NumPy's dot: the inner product of vectors, the matrix product of matrices, else the sum over the last axis of the first
   * and the second last of the second; a scalar multiplies.
   */
  readonly dot: Fluent['dot'];
  /** Whether two values are equal. */
  readonly equal: Fluent['equal'];
  /** Error function. */
  readonly erf: Fluent['erf'];
  /** 1 - erf(x), accurate where erf is near 1. */
  readonly erfc: Fluent['erfc'];
  /** e raised to each element. */
  readonly exp: Fluent['exp'];
  /** 2 raised to each element. */
  readonly exp2: Fluent['exp2'];
  /** New axes of size 1 at these places of the result. */
  readonly expandDims: Fluent['expandDims'];
  /** exp(x) - 1, accurate near zero. */
  readonly expm1: Fluent['expm1'];
  /** The elements in C order along one axis. */
  readonly flatten: Fluent['flatten'];
  /** The elements in reverse order along these axes; along all without axes. */
  readonly flip: Fluent['flip'];
  /** Largest integer not above. */
  readonly floor: Fluent['floor'];
  /** Largest integer not above the quotient; an integer divided by zero gives 0. */
  readonly floorDivide: Fluent['floorDivide'];
  /**
   * Gaussian error linear unit, x·Φ(x) (Hendrycks and Gimpel, 2016). `approximate: 'none'` computes Φ with erf, `'tanh'`
   * the paper's ½x(1 + tanh(√(2/π)(x + 0.044715x³))).
   */
  readonly gelu: Fluent['gelu'];
  /** Whether the first is above the second. */
  readonly greater: Fluent['greater'];
  /** Whether the first is above or equal to the second. */
  readonly greaterEqual: Fluent['greaterEqual'];
  /** sqrt(x² + y²) without overflow on the way. */
  readonly hypot: Fluent['hypot'];
  /** Imaginary part; 0 for real arrays. */
  readonly imag: Fluent['imag'];
  /** Whether |a - b| <= atol + rtol·|b|, as NumPy's isclose (rtol 1e-5, atol 1e-8); equal infinities are close. */
  readonly isclose: Fluent['isclose'];
  /** Whether a value is neither NaN nor an infinity. */
  readonly isfinite: Fluent['isfinite'];
  /** Whether a value is an infinity. */
  readonly isinf: Fluent['isinf'];
  /** Whether a value is NaN. */
  readonly isnan: Fluent['isnan'];
  /**
   * Layer normalisation (Ba, Kiros and Hinton, 2016): (x - mean) / sqrt(var + epsilon) over the last axes, those of
   * `weight` (or the last one), then times weight, plus bias. Both broadcast against x; epsilon is 1e-5 by default.
   */
  readonly layerNorm: Fluent['layerNorm'];
  /** Whether the first is below the second. */
  readonly less: Fluent['less'];
  /** Whether the first is below or equal to the second. */
  readonly lessEqual: Fluent['lessEqual'];
  /** Logarithm of the absolute value of the gamma function. */
  readonly lgamma: Fluent['lgamma'];
  /** Natural logarithm. */
  readonly log: Fluent['log'];
  /** Base-10 logarithm. */
  readonly log10: Fluent['log10'];
  /** log(1 + x), accurate near zero. */
  readonly log1p: Fluent['log1p'];
  /** Base-2 logarithm. */
  readonly log2: Fluent['log2'];
  /** Logarithm of the softmax, x - logsumexp(x), without losing small probabilities. */
  readonly logSoftmax: Fluent['logSoftmax'];
  /** log(exp(x) + exp(y)) without overflow. */
  readonly logaddexp: Fluent['logaddexp'];
  /** Conjunction; numbers count as true unless they are 0. */
  readonly logicalAnd: Fluent['logicalAnd'];
  /** Negation; numbers count as true unless they are 0. */
  readonly logicalNot: Fluent['logicalNot'];
  /** Disjunction; numbers count as true unless they are 0. */
  readonly logicalOr: Fluent['logicalOr'];
  /** Exclusive or; numbers count as true unless they are 0. */
  readonly logicalXor: Fluent['logicalXor'];
  /** log(Σ exp(x)) without overflow; the accumulator is (maximum, Σ exp(x - maximum)). */
  readonly logsumexp: Fluent['logsumexp'];
  /**
   * Matrix product over the last two axes; axes before them are stacks and broadcast. A vector on the left is a row, on
   * the right a column, and that axis is absent from the result. (…, m, k) · (…, k, n) is (…, m, n). The dtype is the
   * promoted one. Throws a ShapeError where the inner sizes differ, an argument is a scalar, or stacks do not broadcast.
   */
  readonly matmul: Fluent['matmul'];
  /** The last two axes exchanged: the transposes of a stack of matrices. Throws a ShapeError below two axes. */
  readonly matrixTranspose: Fluent['matrixTranspose'];
  /** Largest element; NaN if any is NaN. */
  readonly max: Fluent['max'];
  /** Larger of two values; NaN if either is NaN. */
  readonly maximum: Fluent['maximum'];
  /**
   * Arithmetic mean; NaN of no elements. Integers and booleans are averaged in float64, floats in their dtype (halves in
   * float32), or in `dtype`.
   */
  readonly mean: Fluent['mean'];
  /** Smallest element; NaN if any is NaN. */
  readonly min: Fluent['min'];
  /** Smaller of two values; NaN if either is NaN. */
  readonly minimum: Fluent['minimum'];
  /** Axes moved from the places `source` to the places `destination`; the others keep their order. */
  readonly moveaxis: Fluent['moveaxis'];
  /** Product of two arrays; for booleans, their conjunction. */
  readonly mul: Fluent['mul'];
  /** Product of two arrays; for booleans, their conjunction. */
  readonly multiply: Fluent['multiply'];
  /** Negated values. */
  readonly neg: Fluent['neg'];
  /** Negated values. */
  readonly negative: Fluent['negative'];
  /** The next value after the first, towards the second; float32 and float64 only. */
  readonly nextafter: Fluent['nextafter'];
  /**
   * Vector norm over the axes together: (Σ|x|^p)^(1/p), the largest or smallest |x| for ±Infinity, the count of nonzeros
   * for 0. Integers are taken in float64; complex numbers give a float. `x.norm(2, 0)`, `x.norm({ ord: 1, axis: 0 })`.
   */
  readonly norm: Fluent['norm'];
  /** Whether two values differ. */
  readonly notEqual: Fluent['notEqual'];
  /** Products of all pairs of elements: shape (a.size, b.size). Arrays are flattened. */
  readonly outer: Fluent['outer'];
  /**
   * The array with a border of one value, 0 if none is given. Widths are 0 or more; the dtype stays.
   * Throws a ShapeError for negative or missing widths.
   */
  readonly pad: Fluent['pad'];
  /** Output axis k is input axis `axes[k]`; without axes their order is reversed. `axes` names every axis once. */
  readonly permuteDims: Fluent['permuteDims'];
  /** The values themselves. */
  readonly positive: Fluent['positive'];
  /** First array to the power of the second. A negative integer power of an integer is 0, or ±1 for a base of ±1. */
  readonly pow: Fluent['pow'];
  /** Product of the elements. */
  readonly prod: Fluent['prod'];
  /** Range of the values: largest minus smallest. Real numbers only. */
  readonly ptp: Fluent['ptp'];
  /** The elements in C order along one axis; the same as `flatten`. */
  readonly ravel: Fluent['ravel'];
  /** Real part. */
  readonly real: Fluent['real'];
  /** 1 / x; for integers, 0 but for ±1. */
  readonly reciprocal: Fluent['reciprocal'];
  /** The larger of x and 0. */
  readonly relu: Fluent['relu'];
  /** Remainder with the divisor's sign; an integer divided by zero gives 0. */
  readonly remainder: Fluent['remainder'];
  /** Every element repeated `repeats` times along an axis; without an axis the array is flattened first. */
  readonly repeat: Fluent['repeat'];
  /**
   * The same elements in C order in another shape. One size may be -1: it follows from the others.
   * Throws a ShapeError where the sizes differ. `x.reshape(2, -1)` or `x.reshape([2, -1])`.
   */
  readonly reshape: Fluent['reshape'];
  /**
   * Elements moved by `shift` places along axes, those that leave coming back at the other end. Without axes the array is
   * rolled as one flat line. Several axes take one shift for all or one for each.
   */
  readonly roll: Fluent['roll'];
  /** Nearest integer, halves to even; of complex numbers both parts. */
  readonly round: Fluent['round'];
  /** 1 / sqrt(x). */
  readonly rsqrt: Fluent['rsqrt'];
  /** 1 / (1 + exp(-x)). */
  readonly sigmoid: Fluent['sigmoid'];
  /** -1, 0 or 1 by the sign, NaN for NaN; for complex numbers z / |z|. */
  readonly sign: Fluent['sign'];
  /** Whether the sign bit is set: true for -0 and for negative NaNs. */
  readonly signbit: Fluent['signbit'];
  /** x · sigmoid(x). */
  readonly silu: Fluent['silu'];
  /** Sine of an angle in radians. */
  readonly sin: Fluent['sin'];
  /** Hyperbolic sine. */
  readonly sinh: Fluent['sinh'];
  /**
   * Part of an array: one selector for each axis, from the first; axes without one are taken whole. An index out of
   * range is a ShapeError, ranges are clipped. `x.slice([1, 10, 2], -1)`, `x.slice('1:10:2, -1')`.
   */
  readonly slice: Fluent['slice'];
  /** exp(x) over its sum along the axes (the last by default), with the maximum taken off first. Integers in float64. */
  readonly softmax: Fluent['softmax'];
  /** log(1 + exp(x)), computed as max(x, 0) + log1p(exp(-|x|)): without overflow, and exact far from 0. */
  readonly softplus: Fluent['softplus'];
  /** Square root. */
  readonly sqrt: Fluent['sqrt'];
  /** The square of each element. */
  readonly square: Fluent['square'];
  /**
   * Sum of squared deviations from the mean, Σ|x - mean|²: variance without its divisor. The accumulator is
   * (count, mean, M2), combined as in Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for
   * computing sample variances" (1979).
   */
  readonly squaredDeviations: Fluent['squaredDeviations'];
  /** Axes of size 1 taken away: those named, or all. Throws a ShapeError where a named axis has another size. */
  readonly squeeze: Fluent['squeeze'];
  /** (x - mean) / std along the axes; all of them by default. Integers in float64. */
  readonly standardize: Fluent['standardize'];
  /** Standard deviation: the square root of the variance, with the same options. */
  readonly std: Fluent['std'];
  /** Difference of two arrays. */
  readonly sub: Fluent['sub'];
  /** Difference of two arrays. */
  readonly subtract: Fluent['subtract'];
  /** Sum of the elements. */
  readonly sum: Fluent['sum'];
  /** Two axes exchanged. */
  readonly swapaxes: Fluent['swapaxes'];
  /** Tangent of an angle in radians. */
  readonly tan: Fluent['tan'];
  /** Hyperbolic tangent. */
  readonly tanh: Fluent['tanh'];
  /**
   * Sum over pairs of axes: the last `axes` of the first with the first `axes` of the second (2 by default), or those named
   * as `[axes of the first, axes of the second]`.
   */
  readonly tensordot: Fluent['tensordot'];
  /** The array repeated `repetitions[k]` times along axis k; the shorter of shape and repetitions is filled with ones in front. */
  readonly tile: Fluent['tile'];
  /** Output axis k is input axis `axes[k]`; without axes their order is reversed. The same as `permuteDims`. */
  readonly transpose: Fluent['transpose'];
  /** Matrices with the elements above diagonal `k` set to 0; diagonals above the main one are positive. */
  readonly tril: Fluent['tril'];
  /** Matrices with the elements below diagonal `k` set to 0; diagonals above the main one are positive. */
  readonly triu: Fluent['triu'];
  /** Integer part, towards zero. */
  readonly trunc: Fluent['trunc'];
  /**
   * Variance: the sum of squared deviations over n - correction (0 by default), computed as in Chan, Golub and LeVeque
   * (1979), so that it neither cancels nor needs a second look. NaN where n is not above the correction. Integers in
   * float64, complex numbers give a float.
   */
  readonly variance: Fluent['variance'];
  /**
   * Variance: the sum of squared deviations over n - correction (0 by default), computed as in Chan, Golub and LeVeque
   * (1979), so that it neither cancels nor needs a second look. NaN where n is not above the correction. Integers in
   * float64, complex numbers give a float.
   */
  readonly var: Fluent['var'];
  /** Σ conj(a)·b along an axis (the last by default) of arrays that broadcast. */
  readonly vecdot: Fluent['vecdot'];
  /** The second where the first is true, else the third. */
  readonly where: Fluent['where'];
}
