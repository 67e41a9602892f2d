/**
 * Prelude pieces of reductions: the accumulators that are tuples, with `weft_combine` of two and `weft_push`
 * of one more element, and the exchange of any accumulator between the lanes of a warp.
 */
import { type Piece, piece } from './prelude-piece.js';

export const REDUCTION_PIECES: readonly Piece[] = [
  piece(`
/* The value that lane (lane ^ mask) holds. */
template <class T>
__device__ __forceinline__ T weft_exchange(T a, int mask) {
  union {
    T value;
    unsigned int words[(sizeof(T) + 3) / 4];
  } mine, other;
  mine.words[(sizeof(T) + 3) / 4 - 1] = 0;
  mine.value = a;
#pragma unroll
  for (int k = 0; k < (int)((sizeof(T) + 3) / 4); ++k) other.words[k] = __shfl_xor_sync(0xffffffffu, mine.words[k], mask);
  return other.value;
}`),
  piece(`
/* A value and where it stands. */
template <class T, class I>
struct weft_best {
  T value;
  I index;
};
/* Whether a comes before b among candidates for the least: NaN first, then by value, then by index. */
template <class T, class I>
__device__ __forceinline__ bool weft_precedes(T a, I i, T b, I j) {
  if (a != a) return b == b || i < j;
  return a < b || (a == b && i < j);
}
template <class T, class I>
__device__ __forceinline__ bool weft_exceeds(T a, I i, T b, I j) {
  if (a != a) return b == b || i < j;
  return a > b || (a == b && i < j);
}
template <class T, class I>
__device__ __forceinline__ weft_best<T, I> weft_first_least(weft_best<T, I> a, weft_best<T, I> b) {
  return weft_precedes(b.value, b.index, a.value, a.index) ? b : a;
}
template <class T, class I>
__device__ __forceinline__ weft_best<T, I> weft_first_greatest(weft_best<T, I> a, weft_best<T, I> b) {
  return weft_exceeds(b.value, b.index, a.value, a.index) ? b : a;
}`),
  piece(`
/* Count, mean and sum of squared deviations (Chan, Golub and LeVeque, 1979). D is the type of a squared deviation.
   Where deviations overflow, the mean no longer counts and is 0: a difference of two infinities would be NaN. */
template <class T, class D>
struct weft_moments {
  D count;
  T mean;
  D deviations;
};
__device__ __forceinline__ float weft_square_of(float a) { return a * a; }
__device__ __forceinline__ double weft_square_of(double a) { return a * a; }
__device__ __forceinline__ float weft_scaled(float a, float s) { return a * s; }
__device__ __forceinline__ double weft_scaled(double a, double s) { return a * s; }
__device__ __forceinline__ float weft_product_of(float a, float b) { return a * b; }
__device__ __forceinline__ double weft_product_of(double a, double b) { return a * b; }
/* A sum with a product: of real numbers one operation, since kernels are compiled without contraction. */
template <class T, class S>
__device__ __forceinline__ T weft_added_scaled(T sum, T a, S s) { return sum + weft_scaled(a, s); }
__device__ __forceinline__ float weft_added_scaled(float sum, float a, float s) { return fmaf(a, s, sum); }
__device__ __forceinline__ double weft_added_scaled(double sum, double a, double s) { return fma(a, s, sum); }
template <class T, class D>
__device__ __forceinline__ D weft_added_product(D sum, T a, T b) { return sum + weft_product_of(a, b); }
__device__ __forceinline__ float weft_added_product(float sum, float a, float b) { return fmaf(a, b, sum); }
__device__ __forceinline__ double weft_added_product(double sum, double a, double b) { return fma(a, b, sum); }
template <class T, class D>
__device__ __forceinline__ D weft_added_square(D sum, T a) { return sum + weft_square_of(a); }
__device__ __forceinline__ float weft_added_square(float sum, float a) { return fmaf(a, a, sum); }
__device__ __forceinline__ double weft_added_square(double sum, double a) { return fma(a, a, sum); }
/* 0, but NaN for what is not finite. */
__device__ __forceinline__ float weft_undefined_of(float a) { return a - a; }
__device__ __forceinline__ double weft_undefined_of(double a) { return a - a; }
/* The share of a count in a larger one: its last bits only weigh the difference of two means. */
__device__ __forceinline__ float weft_share(float part, float whole) { return __fdividef(part, whole); }
__device__ __forceinline__ double weft_share(double part, double whole) { return part / whole; }
template <class T, class D>
__device__ __forceinline__ weft_moments<T, D> weft_combine(weft_moments<T, D> a, weft_moments<T, D> b) {
  const D count = a.count + b.count;
  const D share = count == (D)0 ? (D)0 : weft_share(b.count, count);
  const T delta = b.mean - a.mean;
  weft_moments<T, D> r;
  r.count = count;
  /* Weighed before it is squared: an empty side must not meet an infinity. */
  r.deviations = weft_added_product(a.deviations + b.deviations, weft_scaled(delta, a.count * share), delta);
  r.mean = r.deviations - r.deviations == (D)0 ? weft_added_scaled(a.mean, delta, share) : T();
  return r;
}
/* The moments of a few values: two passes over registers. */
template <class T, class D, int N>
__device__ __forceinline__ weft_moments<T, D> weft_moments_of(const T (&x)[N]) {
  /* Scaled first, by a power of two, since the sum may overflow. */
  T mean = weft_scaled(x[0], (D)1 / (D)N);
#pragma unroll
  for (int k = 1; k < N; ++k) mean = weft_added_scaled(mean, x[k], (D)1 / (D)N);
  weft_moments<T, D> r;
  r.count = (D)N;
  r.mean = mean;
  r.deviations = weft_square_of(x[0] - r.mean);
#pragma unroll
  for (int k = 1; k < N; ++k) r.deviations = weft_added_square(r.deviations, x[k] - r.mean);
  if (!(r.deviations - r.deviations == (D)0)) r.mean = T();
  return r;
}`),
  piece(`
/* The greatest value and the sum of exp(x - greatest). */
template <class T>
struct weft_logsum {
  T greatest;
  T sum;
};
__device__ __forceinline__ float weft_exp_of(float a) { return expf(a); }
__device__ __forceinline__ double weft_exp_of(double a) { return exp(a); }
/* exp(-|a - b|), but 1 where the two are the same infinity. */
template <class T>
__device__ __forceinline__ T weft_ratio(T a, T b) {
  return a == b ? (T)1 : weft_exp_of(-fabs(a - b));
}
template <class T>
__device__ __forceinline__ weft_logsum<T> weft_push(weft_logsum<T> a, T x) {
  const T e = weft_ratio(a.greatest, x);
  const bool above = x > a.greatest;
  weft_logsum<T> r;
  r.sum = above ? a.sum * e + (T)1 : a.sum + e;
  r.greatest = above ? x : a.greatest;
  return r;
}
template <class T>
__device__ __forceinline__ weft_logsum<T> weft_combine(weft_logsum<T> a, weft_logsum<T> b) {
  const T e = weft_ratio(a.greatest, b.greatest);
  const bool above = b.greatest > a.greatest;
  weft_logsum<T> r;
  r.sum = above ? a.sum * e + b.sum : a.sum + b.sum * e;
  r.greatest = above ? b.greatest : a.greatest;
  return r;
}
__device__ __forceinline__ float weft_log_of(weft_logsum<float> a) {
  return fabsf(a.greatest) == __int_as_float(0x7f800000) && a.sum == a.sum ? a.greatest : a.greatest + logf(a.sum);
}
__device__ __forceinline__ double weft_log_of(weft_logsum<double> a) {
  return fabs(a.greatest) == __longlong_as_double(0x7ff0000000000000ll) && a.sum == a.sum ? a.greatest : a.greatest + log(a.sum);
}`),
];
