/**
 * Prelude pieces for complex numbers. Products and quotients are rounded step by step, without contraction,
 * as NumPy rounds them. Special values follow C99 where that costs little; `design.md` promises no more.
 */
import { type Piece, piece } from './prelude-piece.js';

export const COMPLEX_PIECES: readonly Piece[] = [
  piece(`
template <class T>
struct __align__(2 * sizeof(T)) weft_complex {
  T re;
  T im;
};
typedef weft_complex<float> weft_c64;
typedef weft_complex<double> weft_c128;
__device__ __forceinline__ float weft_product(float a, float b) { return __fmul_rn(a, b); }
__device__ __forceinline__ double weft_product(double a, double b) { return __dmul_rn(a, b); }
template <class T>
__device__ __forceinline__ weft_complex<T> operator+(weft_complex<T> a, weft_complex<T> b) {
  return {a.re + b.re, a.im + b.im};
}
template <class T>
__device__ __forceinline__ weft_complex<T> operator-(weft_complex<T> a, weft_complex<T> b) {
  return {a.re - b.re, a.im - b.im};
}
template <class T>
__device__ __forceinline__ weft_complex<T> operator-(weft_complex<T> a) {
  return {-a.re, -a.im};
}
template <class T>
__device__ __forceinline__ weft_complex<T> operator*(weft_complex<T> a, weft_complex<T> b) {
  return {weft_product(a.re, b.re) - weft_product(a.im, b.im), weft_product(a.re, b.im) + weft_product(a.im, b.re)};
}
template <class T>
__device__ __forceinline__ weft_complex<T> operator*(weft_complex<T> a, T s) {
  return {a.re * s, a.im * s};
}
/* Smith, "Algorithm 116: Complex division" (1962). */
template <class T>
inline __device__ weft_complex<T> operator/(weft_complex<T> a, weft_complex<T> b) {
  if (fabs(b.re) >= fabs(b.im)) {
    if (b.re == (T)0 && b.im == (T)0) return {a.re / fabs(b.re), a.im / fabs(b.re)};
    const T ratio = b.im / b.re;
    const T scale = (T)1 / (b.re + weft_product(b.im, ratio));
    return {(a.re + weft_product(a.im, ratio)) * scale, (a.im - weft_product(a.re, ratio)) * scale};
  }
  const T ratio = b.re / b.im;
  const T scale = (T)1 / (b.im + weft_product(b.re, ratio));
  return {(weft_product(a.re, ratio) + a.im) * scale, (weft_product(a.im, ratio) - a.re) * scale};
}
template <class T>
__device__ __forceinline__ bool operator==(weft_complex<T> a, weft_complex<T> b) {
  return a.re == b.re && a.im == b.im;
}
template <class T>
__device__ __forceinline__ bool operator!=(weft_complex<T> a, weft_complex<T> b) {
  return a.re != b.re || a.im != b.im;
}`),
  piece(`
template <class T>
__device__ __forceinline__ T weft_square_of(weft_complex<T> a) {
  return a.re * a.re + a.im * a.im;
}
template <class T>
__device__ __forceinline__ weft_complex<T> weft_scaled(weft_complex<T> a, T s) {
  return {a.re * s, a.im * s};
}
template <class T>
__device__ __forceinline__ T weft_product_of(weft_complex<T> a, weft_complex<T> b) {
  return a.re * b.re + a.im * b.im;
}
template <class T>
__device__ __forceinline__ T weft_undefined_of(weft_complex<T> a) {
  return (a.re - a.re) + (a.im - a.im);
}`),
  piece(`
template <class T>
__device__ __forceinline__ bool weft_isnan(weft_complex<T> a) {
  return a.re != a.re || a.im != a.im;
}`),
  piece(`
template <class T>
__device__ __forceinline__ bool weft_isinf(weft_complex<T> a) {
  return weft_isinf(a.re) || weft_isinf(a.im);
}`),
  piece(`
template <class T>
__device__ __forceinline__ bool weft_isfinite(weft_complex<T> a) {
  return weft_isfinite(a.re) && weft_isfinite(a.im);
}`),
  piece(`
template <class T>
__device__ __forceinline__ weft_complex<T> weft_conj(weft_complex<T> a) {
  return {a.re, -a.im};
}`),
  piece(`
template <class T>
__device__ __forceinline__ weft_complex<T> weft_rint(weft_complex<T> a) {
  return {rint(a.re), rint(a.im)};
}`),
  piece(`
template <class T>
__device__ __forceinline__ T weft_abs(weft_complex<T> a) {
  return hypot(a.re, a.im);
}`),
  piece(`
template <class T>
inline __device__ weft_complex<T> weft_reciprocal(weft_complex<T> a) {
  return weft_complex<T>{(T)1, (T)0} / a;
}`),
  piece(`
/* z / |z|; 0 for 0, and along an axis for one infinite part. */
template <class T>
inline __device__ weft_complex<T> weft_sign(weft_complex<T> a) {
  const T size = hypot(a.re, a.im);
  if (size == (T)0) return {(T)0, (T)0};
  if (weft_isinf(size) && weft_isinf(a.re) != weft_isinf(a.im)) {
    if (weft_isinf(a.re)) return {copysign((T)1, a.re), (T)0};
    return {(T)0, copysign((T)1, a.im)};
  }
  return {a.re / size, a.im / size};
}`),
  piece(`
/* sin and cos at once; exact for 0, so that a real argument gives a real result. */
__device__ __forceinline__ void weft_sincos(float a, float* s, float* c) { sincosf(a, s, c); }
__device__ __forceinline__ void weft_sincos(double a, double* s, double* c) { sincos(a, s, c); }`),
  piece(`
template <class T>
inline __device__ weft_complex<T> weft_exp(weft_complex<T> a) {
  if (a.im == (T)0) return {exp(a.re), a.im};
  if (weft_isinf(a.re) && !weft_isfinite(a.im)) return a.re < (T)0 ? weft_complex<T>{(T)0, (T)0} : weft_complex<T>{a.re, a.im - a.im};
  T s, c;
  weft_sincos(a.im, &s, &c);
  /* In two factors, since exp(re) alone may overflow where the result does not. */
  const T half = exp(a.re * (T)0.5);
  const T whole = exp(a.re);
  if (weft_isfinite(whole) || weft_isinf(a.re)) return {whole * c, whole * s};
  return {half * c * half, half * s * half};
}`),
  piece(`
template <class T>
inline __device__ weft_complex<T> weft_expm1(weft_complex<T> a) {
  if (a.im == (T)0) return {expm1(a.re), a.im};
  if (!weft_isfinite(exp(a.re)) || !weft_isfinite(a.re) || !weft_isfinite(a.im)) {
    const weft_complex<T> e = weft_exp(a);
    return {e.re - (T)1, e.im};
  }
  T s, c, t, u;
  weft_sincos(a.im, &s, &c);
  weft_sincos(a.im * (T)0.5, &t, &u);
  return {expm1(a.re) * c - (T)2 * t * t, exp(a.re) * s};
}`),
  piece(`
/* log|z|, by log1p near the unit circle. */
template <class T>
inline __device__ T weft_log_abs(T x, T y) {
  x = fabs(x);
  y = fabs(y);
  const T most = x > y ? x : y;
  const T least = x > y ? y : x;
  if (most > (T)0.5 && most < (T)2) return (T)0.5 * log1p((most - (T)1) * (most + (T)1) + least * least);
  return log(hypot(x, y));
}
template <class T>
inline __device__ weft_complex<T> weft_log(weft_complex<T> a) {
  return {weft_log_abs(a.re, a.im), atan2(a.im, a.re)};
}`),
  piece(`
template <class T>
inline __device__ weft_complex<T> weft_log1p(weft_complex<T> a) {
  if (a.im == (T)0 && a.re > (T)-1) return {log1p(a.re), a.im};
  const T arg = atan2(a.im, a.re + (T)1);
  if (fabs(a.re) < (T)0.5 && fabs(a.im) < (T)0.5) return {(T)0.5 * log1p(a.re * ((T)2 + a.re) + a.im * a.im), arg};
  return {weft_log_abs(a.re + (T)1, a.im), arg};
}`),
  piece(`
template <class T>
inline __device__ weft_complex<T> weft_log2(weft_complex<T> a) {
  return weft_log(a) * (T)1.44269504088896340736;
}`),
  piece(`
template <class T>
inline __device__ weft_complex<T> weft_log10(weft_complex<T> a) {
  return weft_log(a) * (T)0.434294481903251827651;
}`),
  piece(`
/* sqrt by the half angle, on the larger part; scaled where |z| would overflow or lose digits. */
template <class T>
inline __device__ weft_complex<T> weft_sqrt(weft_complex<T> a) {
  if (a.re == (T)0 && a.im == (T)0) return {(T)0, a.im};
  if (weft_isinf(a.im)) return {fabs(a.im), a.im};
  if (weft_isinf(a.re)) {
    if (a.re > (T)0) return {a.re, a.im == a.im ? copysign((T)0, a.im) : a.im};
    return {a.im == a.im ? (T)0 : a.im, copysign(-a.re, a.im)};
  }
  const T most = fabs(a.re) > fabs(a.im) ? fabs(a.re) : fabs(a.im);
  const T tiny = (T)1e-30;
  const T up = most < tiny ? (T)1.329227995784915872903807060280344576e36 : most > (T)1e30 ? (T)0.0625 : (T)1;
  const T down = most < tiny ? (T)8.67361737988403547205962240695953369140625e-19 : most > (T)1e30 ? (T)4 : (T)1;
  const T x = a.re * up;
  const T y = a.im * up;
  const T t = sqrt((fabs(x) + hypot(x, y)) * (T)0.5);
  const T other = fabs(y) / ((T)2 * t);
  return x >= (T)0 ? weft_complex<T>{t * down, copysign(other, y) * down} : weft_complex<T>{other * down, copysign(t, y) * down};
}`),
  piece(`
template <class T>
inline __device__ weft_complex<T> weft_sinh(weft_complex<T> a) {
  T s, c;
  weft_sincos(a.im, &s, &c);
  if (a.im == (T)0) return {sinh(a.re), a.im};
  if (a.re == (T)0) return {copysign((T)0, a.re), s};
  return {sinh(a.re) * c, cosh(a.re) * s};
}
template <class T>
inline __device__ weft_complex<T> weft_cosh(weft_complex<T> a) {
  T s, c;
  weft_sincos(a.im, &s, &c);
  if (a.im == (T)0) return {cosh(a.re), copysign((T)0, a.re) * a.im};
  if (a.re == (T)0) return {c, a.re * s};
  return {cosh(a.re) * c, sinh(a.re) * s};
}
/* Kahan, "Branch cuts for complex elementary functions" (1987). */
template <class T>
inline __device__ weft_complex<T> weft_tanh(weft_complex<T> a) {
  if (a.im == (T)0) return {tanh(a.re), a.im};
  if (a.re == (T)0) return {a.re, tan(a.im)};
  if (fabs(a.re) > (T)22) {
    T s, c;
    weft_sincos(weft_isfinite(a.im) ? a.im : (T)0, &s, &c);
    const T e = exp(-fabs(a.re));
    return {copysign((T)1, a.re), (T)4 * s * c * e * e};
  }
  const T t = tan(a.im);
  const T beta = (T)1 + t * t;
  const T s = sinh(a.re);
  const T rho = sqrt((T)1 + s * s);
  const T d = (T)1 + beta * s * s;
  return {beta * rho * s / d, t / d};
}`),
  piece(`
template <class T>
inline __device__ weft_complex<T> weft_sin(weft_complex<T> a) {
  const weft_complex<T> r = weft_sinh(weft_complex<T>{-a.im, a.re});
  return {r.im, -r.re};
}`),
  piece(`
template <class T>
inline __device__ weft_complex<T> weft_cos(weft_complex<T> a) {
  return weft_cosh(weft_complex<T>{-a.im, a.re});
}`),
  piece(`
template <class T>
inline __device__ weft_complex<T> weft_tan(weft_complex<T> a) {
  const weft_complex<T> r = weft_tanh(weft_complex<T>{-a.im, a.re});
  return {r.im, -r.re};
}`),
  piece(`
/* Hull, Fairgrieve and Tang, "Implementing the complex arcsine and arccosine functions" (1997): the angle whose sine is
   the real part and the size of the imaginary part, for the point (x, y) with x and y not negative. */
template <class T>
inline __device__ void weft_arc(T x, T y, T* sine, T* cosine, T* size) {
  const T huge = sizeof(T) == 4 ? (T)1e15 : (T)1e150;
  if (x > huge || y > huge) {
    *sine = atan2(x, y);
    *cosine = atan2(y, x);
    *size = (T)0.693147180559945309417 + weft_log_abs(x, y);
    return;
  }
  const T r = hypot(x + (T)1, y);
  const T s = hypot(x - (T)1, y);
  const T a = (T)0.5 * (r + s);
  const T b = x / a;
  if (b <= (T)0.6417) {
    *sine = asin(b);
    *cosine = acos(b);
  } else {
    const T ax = a + x;
    const T root = x <= (T)1 ? sqrt((T)0.5 * ax * (y * y / (r + x + (T)1) + (s + ((T)1 - x))))
                             : y * sqrt((T)0.5 * (ax / (r + x + (T)1) + ax / (s + (x - (T)1))));
    *sine = atan2(x, root);
    *cosine = atan2(root, x);
  }
  if (a <= (T)1.5) {
    const T left = y == (T)0 ? (T)0 : y * y / (r + (x + (T)1));
    const T right = x < (T)1 ? (y == (T)0 ? (T)0 : y * y / (s + ((T)1 - x))) : s + (x - (T)1);
    const T m = (T)0.5 * (left + right);
    *size = log1p(m + sqrt(m * (a + (T)1)));
  } else {
    *size = log(a + sqrt(a * a - (T)1));
  }
}
template <class T>
inline __device__ weft_complex<T> weft_asin(weft_complex<T> a) {
  T sine, cosine, size;
  weft_arc(fabs(a.re), fabs(a.im), &sine, &cosine, &size);
  return {copysign(sine, a.re), copysign(size, a.im)};
}
template <class T>
inline __device__ weft_complex<T> weft_acos(weft_complex<T> a) {
  T sine, cosine, size;
  weft_arc(fabs(a.re), fabs(a.im), &sine, &cosine, &size);
  return {signbit(a.re) ? (T)3.14159265358979323846 - cosine : cosine, signbit(a.im) ? size : -size};
}`),
  piece(`
template <class T>
inline __device__ weft_complex<T> weft_asinh(weft_complex<T> a) {
  const weft_complex<T> r = weft_asin(weft_complex<T>{-a.im, a.re});
  return {r.im, -r.re};
}`),
  piece(`
template <class T>
inline __device__ weft_complex<T> weft_acosh(weft_complex<T> a) {
  const weft_complex<T> r = weft_acos(a);
  return {fabs(r.im), copysign(r.re, a.im)};
}`),
  piece(`
template <class T>
inline __device__ weft_complex<T> weft_atanh(weft_complex<T> a) {
  const T x = fabs(a.re);
  const T y = fabs(a.im);
  const T huge = sizeof(T) == 4 ? (T)1e15 : (T)1e150;
  if (x > huge || y > huge) {
    const T d = hypot(x * (T)0.5, y * (T)0.5);
    return {copysign(weft_isinf(d) ? (T)0 : x * (T)0.25 / d / d, a.re), copysign((T)1.57079632679489661923, a.im)};
  }
  const T left = (T)1 - x;
  const T re = (T)0.25 * log1p((T)4 * x / (left * left + y * y));
  const T im = (T)0.5 * atan2((T)2 * y, left * ((T)1 + x) - y * y);
  return {copysign(re, a.re), copysign(im, a.im)};
}`),
  piece(`
template <class T>
inline __device__ weft_complex<T> weft_atan(weft_complex<T> a) {
  const weft_complex<T> r = weft_atanh(weft_complex<T>{-a.im, a.re});
  return {r.im, -r.re};
}`),
  piece(`
/* Small whole powers by multiplication, as NumPy. */
template <class T>
inline __device__ weft_complex<T> weft_pow(weft_complex<T> a, weft_complex<T> b) {
  if (b.re == (T)0 && b.im == (T)0) return {(T)1, (T)0};
  if (a.re == (T)0 && a.im == (T)0) {
    if (b.re > (T)0) return {(T)0, (T)0};
    const T nan = a.re / a.re;
    return {nan, nan};
  }
  if (b.im == (T)0 && b.re == floor(b.re) && fabs(b.re) <= (T)100) {
    weft_complex<T> base = a;
    weft_complex<T> power = {(T)1, (T)0};
    for (int n = (int)fabs(b.re); n != 0; n >>= 1) {
      if (n & 1) power = power * base;
      base = base * base;
    }
    return b.re < (T)0 ? weft_complex<T>{(T)1, (T)0} / power : power;
  }
  return weft_exp(b * weft_log(a));
}`),
];
