// Steps of the shifted QR method on Hessenberg matrices, as LAPACK's lahqr: a reflector of three rows (two of
// a complex matrix) makes a bulge below the subdiagonal, the following ones chase it down.
#pragma once
#include <array>
#include <complex>

#include "cpu/linear-schur.h"

namespace weft::cpu::schur {

template <typename R>
constexpr R kUlp = std::numeric_limits<R>::epsilon();
template <typename R>
constexpr R kTiny = std::numeric_limits<R>::min();

// The Hessenberg matrix, and the matrix that collects the same transformations; without rows if none is
// wanted.
template <typename T>
struct Turned {
  MatrixView<T> h, z;
  bool isWhole() const { return z.rows > 0; }
};

// The first row from below, not before `first`, whose element left of the diagonal counts as 0 (Ahues and
// Tisseur's criterion).
template <typename T>
int64_t blockStart(const MatrixView<T>& h, int64_t first, int64_t last) {
  using R = RealOf<T>;
  for (int64_t k = last; k > first; k--) {
    const R below = sumOfParts(h.at(k, k - 1));
    if (below <= kTiny<R> * (R{1} / kUlp<R>)*static_cast<R>(h.rows)) return k;
    R scale = sumOfParts(h.at(k - 1, k - 1)) + sumOfParts(h.at(k, k));
    if (scale == 0) {
      if (k - 2 >= first) scale += sumOfParts(h.at(k - 1, k - 2));
      if (k + 1 <= last) scale += sumOfParts(h.at(k + 1, k));
    }
    if (below > kUlp<R> * scale) continue;
    const R above = sumOfParts(h.at(k - 1, k)), own = sumOfParts(h.at(k, k)),
            apart = sumOfParts(h.at(k - 1, k - 1) - h.at(k, k));
    const R more = std::max(below, above), less = std::min(below, above), wide = std::max(own, apart),
            narrow = std::min(own, apart), sum = wide + more;
    if (less * (more / sum) <= std::max(kTiny<R>, kUlp<R> * (narrow * (wide / sum)))) return k;
  }
  return first;
}

// I - conj(tau) v vᴴ times columns of N elements.
template <int N, typename T>
void reflectColumns(const T* v, T tau, T* x, int64_t stride, int64_t count) {
  std::array<T, N> own;
  std::copy_n(v, N, own.begin());
  const T factor = conjugate(tau);
  for (int64_t j = 0; j < count; j++, x += stride) {
    T sum{};
    for (int i = 0; i < N; i++) sum = sum + conjugate(own[i]) * x[i];
    sum = factor * sum;
    for (int i = 0; i < N; i++) x[i] = x[i] - sum * own[i];
  }
}

// H, of `size` rows from `row` on, as Hᴴ from the left of columns [first, last) and as H from the right of
// rows [top, bottom), and of all of z.
template <typename T>
void turn(const Turned<T>& t, const T* v, T tau, int64_t size, int64_t row, int64_t first, int64_t last,
          int64_t top, int64_t bottom) {
  const auto reflectLeft = size == 3 ? reflectColumns<3, T> : reflectColumns<2, T>;
  reflectLeft(v, tau, &t.h.at(row, first), t.h.columnStride, last - first);
  const ReflectionKernel<T> reflect = linearKernels<T>().reflect;
  reflect(bottom - top, size, v, tau, &t.h.at(top, row), t.h.columnStride);
  if (t.isWhole()) reflect(t.z.rows, size, v, tau, &t.z.at(0, row), t.z.columnStride);
}

// The first column of (H - s1)(H - s2) for eigenvalues re1 + i im and re2 - i im, im 0 or re1 = re2. 0, which
// turns nothing, behind an element that vanished since the block was found.
template <typename R>
void firstOfBulge(const MatrixView<R>& h, int64_t first, R re1, R re2, R im, R* v) {
  const R p = h.at(first, first), q = h.at(first + 1, first + 1), below = h.at(first + 1, first);
  const R size = std::abs(p - re2) + std::abs(im) + std::abs(below);
  std::fill_n(v, 3, R{0});
  if (size == 0) return;
  const R near = below / size;
  v[0] = near * h.at(first, first + 1) + (p - re1) * ((p - re2) / size) + im * (im / size);
  v[1] = near * (p + q - re1 - re2);
  v[2] = near * h.at(first + 2, first + 1);
  const R sum = std::abs(v[0]) + std::abs(v[1]) + std::abs(v[2]);
  if (sum == 0) return;
  for (int k = 0; k < 3; k++) v[k] /= sum;
}

// The same for the eigenvalues of the last two rows; of `strange`, made up ones.
template <typename R>
void firstOfBulge(const MatrixView<R>& h, int64_t first, int64_t last, int strange, R* v) {
  R a = h.at(last - 1, last - 1), b = h.at(last - 1, last), c = h.at(last, last - 1), d = h.at(last, last);
  if (strange != 0) {
    const R size = strange == 1 ? std::abs(h.at(first + 1, first)) + std::abs(h.at(first + 2, first + 1))
                                : std::abs(c) + std::abs(h.at(last - 1, last - 2));
    a = d = R{0.75} * size + (strange == 1 ? h.at(first, first) : d);
    b = R{-0.4375} * size;
    c = size;
  }
  const R scale = std::abs(a) + std::abs(b) + std::abs(c) + std::abs(d);
  R re1 = 0, re2 = 0, im = 0;
  if (scale != 0) {
    a /= scale, b /= scale, c /= scale, d /= scale;
    const R middle = (a + d) / 2, determinant = (a - middle) * (d - middle) - b * c,
            root = std::sqrt(std::abs(determinant));
    if (determinant >= 0) {
      re1 = re2 = middle * scale;
      im = root * scale;
    } else {
      const R up = middle + root, down = middle - root;
      re1 = re2 = scale * (std::abs(up - d) <= std::abs(down - d) ? up : down);
    }
  }
  firstOfBulge(h, first, re1, re2, im, v);
}

// The first column of H - s.
template <typename R>
void firstOfBulge(const MatrixView<Complex<R>>& h, int64_t first, Complex<R> shift, Complex<R>* v) {
  const Complex<R> a = h.at(first, first) - shift, b = h.at(first + 1, first);
  const R size = modulus(a) + modulus(b);
  std::fill_n(v, 2, Complex<R>{});
  if (size == 0) return;
  v[0] = a / size;
  v[1] = b / size;
}

// The same for the eigenvalue of the last two rows that is nearer to the last element; of `strange`, a made
// up one.
template <typename R>
void firstOfBulge(const MatrixView<Complex<R>>& h, int64_t first, int64_t last, int strange, Complex<R>* v) {
  using C = std::complex<R>;
  const auto at = [&](int64_t i, int64_t j) { return C(h.at(i, j).re, h.at(i, j).im); };
  C shift = at(last, last);
  if (strange == 1) {
    shift = at(first, first) + R{0.75} * std::abs(at(first + 1, first));
  } else if (strange == 2) {
    shift += R{0.75} * std::abs(at(last, last - 1));
  } else if (const C u = std::sqrt(at(last - 1, last)) * std::sqrt(at(last, last - 1)); u != C{}) {
    const C x = (at(last - 1, last - 1) - shift) / R{2};
    const R scale = std::max(std::abs(u), std::abs(x));
    // On the side of x: x + root is not 0.
    const C own = x / scale, beside = u / scale;
    C root = std::sqrt(own * own + beside * beside);
    if (own.real() * root.real() + own.imag() * root.imag() < 0) root = -root;
    shift -= u * (u / (x + scale * root));
  }
  firstOfBulge(h, first, Complex<R>{shift.real(), shift.imag()}, v);
}

// Chases a bulge from row `first` to row `last`.
template <typename T>
void chase(const Turned<T>& t, int64_t first, int64_t last, int strange) {
  constexpr int64_t kSize = kIsComplex<T> ? 2 : 3;
  const MatrixView<T>& h = t.h;
  T v[kSize];
  firstOfBulge(h, first, last, strange, v);
  for (int64_t k = first; k < last; k++) {
    const int64_t size = std::min(kSize, last - k + 1);
    if (k > first) std::copy_n(&h.at(k, k - 1), size, v);
    const T tau = makeReflector(size, v);
    if (k > first) {
      h.at(k, k - 1) = v[0];
      for (int64_t i = 1; i < size; i++) h.at(k + i, k - 1) = T{};
    }
    v[0] = ofReal<T>(1);
    if (tau == T{}) continue;
    turn(t, v, tau, size, k, k, t.isWhole() ? h.columns : last + 1, t.isWhole() ? 0 : first,
         std::min(k + kSize, last) + 1);
  }
}

// A block of two rows turned so that it is triangular, or has equal elements on its diagonal (LAPACK's
// lanv2).
template <typename R>
struct Standard {
  R a, b, c, d, cosine = 1, sine = 0;

  void make() {
    if (c == 0 || (a == d && (b < 0) != (c < 0))) return;
    if (b == 0) {
      cosine = 0;
      sine = 1;
      std::swap(a, d);
      b = -c;
      c = 0;
      return;
    }
    const R apart = a - d, half = apart / 2, most = std::max(std::abs(b), std::abs(c)),
            least = std::copysign(R{1}, b) * std::copysign(R{1}, c) * std::min(std::abs(b), std::abs(c));
    const R scale = std::max(std::abs(half), most), z = (half / scale) * half + (most / scale) * least;
    if (z >= 4 * kUlp<R>) {
      const R root = half + std::copysign(std::sqrt(scale) * std::sqrt(z), half),
              length = std::hypot(c, root);
      a = d + root;
      d -= (most / root) * least;
      cosine = root / length;
      sine = c / length;
      b -= c;
      c = 0;
      return;
    }
    makeEqual(apart, half);
  }

 private:
  // Of complex eigenvalues, or real ones that are nearly equal.
  void makeEqual(R apart, R half) {
    const R sigma = b + c, length = std::hypot(sigma, apart);
    cosine = std::sqrt((1 + std::abs(sigma) / length) / 2);
    sine = -(half / (length * cosine)) * std::copysign(R{1}, sigma);
    const R p = a * cosine + b * sine, q = -a * sine + b * cosine, r = c * cosine + d * sine,
            s = -c * sine + d * cosine;
    a = p * cosine + r * sine;
    b = q * cosine + s * sine;
    c = -p * sine + r * cosine;
    d = -q * sine + s * cosine;
    const R middle = (a + d) / 2;
    a = d = middle;
    if (c == 0) return;
    if (b == 0) {
      b = -c;
      c = 0;
      const R held = cosine;
      cosine = -sine;
      sine = held;
    } else if ((b < 0) == (c < 0)) {
      const R above = std::sqrt(std::abs(b)), below = std::sqrt(std::abs(c)),
              root = std::copysign(above * below, c), scale = 1 / std::sqrt(std::abs(b + c));
      a = middle + root;
      d = middle - root;
      b -= c;
      c = 0;
      const R c1 = above * scale, s1 = below * scale, held = cosine * c1 - sine * s1;
      sine = cosine * s1 + sine * c1;
      cosine = held;
    }
  }
};

// Two eigenvalues, of rows last - 1 and last.
template <typename R>
void takeTwo(const Turned<R>& t, int64_t last, Complex<R>* values) {
  const int64_t k = last - 1;
  const MatrixView<R>& h = t.h;
  Standard<R> s{h.at(k, k), h.at(k, last), h.at(last, k), h.at(last, last)};
  s.make();
  h.at(k, k) = s.a;
  h.at(k, last) = s.b;
  h.at(last, k) = s.c;
  h.at(last, last) = s.d;
  const R im = s.c == 0 ? R{0} : std::sqrt(std::abs(s.b)) * std::sqrt(std::abs(s.c));
  values[k] = {s.a, im};
  values[last] = {s.d, -im};
  if (!t.isWhole()) return;
  const auto turnTwo = [&](R& x, R& y) {
    const R held = s.cosine * x + s.sine * y;
    y = s.cosine * y - s.sine * x;
    x = held;
  };
  for (int64_t j = last + 1; j < h.columns; j++) turnTwo(h.at(k, j), h.at(last, j));
  for (int64_t i = 0; i < k; i++) turnTwo(h.at(i, k), h.at(i, last));
  for (int64_t i = 0; i < t.z.rows; i++) turnTwo(t.z.at(i, k), t.z.at(i, last));
}

template <typename T>
Complex<RealOf<T>> complexOf(T x) {
  return {realPart(x), imaginaryPart(x)};
}

}  // namespace weft::cpu::schur
