// Deflation by windows (Braman, Byers, Mathias): the last rows of a Hessenberg matrix are made triangular by
// themselves, which leaves a row of small elements beside them, a spike. Eigenvalues behind those that
// vanish are found; the others are good shifts, and their rows become Hessenberg again.
#pragma once
#include "cpu/linear-bulge-chain.h"

namespace weft::cpu::schur {

// Rows of a window at most.
inline constexpr int64_t kMostWindow = 128;

// Rows [first, last] of h, and memory: two squares of the window, and as many columns of h.
template <typename T>
class Deflation {
 public:
  using R = RealOf<T>;
  Deflation(const Turned<T>& t, int64_t first, int64_t last, int64_t rows, T* memory, const LinearWork& work)
      : t_(t),
        first_(first),
        top_(last - rows + 1),
        rows_(rows),
        triangle_(columnMajor(memory, rows, rows)),
        vectors_(columnMajor(memory + rows * rows, rows, rows)),
        copies_(memory + 2 * rows * rows),
        work_(work) {}

  // How many eigenvalues were found, the last ones; values of the rows before, up to the window's first, are
  // shifts. `solve` makes a window triangular: triangle, vectors, values; false: it does not converge.
  template <typename Solve>
  int64_t run(Complex<R>* values, const Solve& solve) {
    for (int64_t j = 0; j < rows_; j++)
      for (int64_t i = 0; i < rows_; i++) {
        triangle_.at(i, j) = i <= j + 1 ? t_.h.at(top_ + i, top_ + j) : T{};
        vectors_.at(i, j) = ofReal<T>(i == j ? 1 : 0);
      }
    if (!solve(Turned<T>{triangle_, vectors_}, values + top_)) return -1;
    const T beside = top_ == first_ ? T{} : t_.h.at(top_, top_ - 1);
    const int64_t kept = keep(beside);
    readValues(values + top_);
    if (kept == rows_ && beside != T{}) return 0;
    if (kept > 1 && beside != T{}) turnSpike(kept);
    if (top_ > first_) t_.h.at(top_, top_ - 1) = kept == 0 ? T{} : beside * conjugate(vectors_.at(0, 0));
    for (int64_t j = 0; j < rows_; j++)
      for (int64_t i = 0; i <= std::min(rows_ - 1, j + 1); i++)
        t_.h.at(top_ + i, top_ + j) = triangle_.at(i, j);
    turnOthers(t_, top_, rows_, {first_, top_ + rows_ - 1}, vectors_, copies_, work_);
    return rows_ - kept;
  }

 private:
  bool isPair(int64_t last) const {
    if constexpr (kIsComplex<T>) return false;
    return last > 0 && triangle_.at(last, last - 1) != T{};
  }

  // Exchanges eigenvalues so that those that are not found come first; gives how many those are.
  int64_t keep(T beside) {
    const R tiny = kTiny<R> * (static_cast<R>(t_.h.rows) / kUlp<R>);
    int64_t kept = rows_;
    for (int64_t checked = 0; checked < kept;) {
      const int64_t last = kept - 1, size = isPair(last) ? 2 : 1;
      R weight = sumOfParts(triangle_.at(last, last));
      if (size == 2)
        weight += std::sqrt(sumOfParts(triangle_.at(last, last - 1))) *
                  std::sqrt(sumOfParts(triangle_.at(last - 1, last)));
      if (weight == 0) weight = sumOfParts(beside);
      R spike = 0;
      for (int64_t k = kept - size; k < kept; k++)
        spike = std::max(spike, sumOfParts(beside) * sumOfParts(vectors_.at(0, k)));
      if (spike <= std::max(tiny, kUlp<R> * weight)) {
        kept -= size;
      } else {
        if (!move(kept - size, size, checked)) return kept;
        checked += size;
      }
    }
    return kept;
  }

  // Brings a block of so many rows up.
  bool move(int64_t from, int64_t size, int64_t to) {
    while (from > to) {
      const int64_t before = from - 2 >= to && isPair(from - 1) ? 2 : 1;
      if (!exchange(from - before, before, size)) return false;
      from -= before;
      // A pair may have become two real values.
      if (size == 2 && !isPair(from + 1)) return false;
    }
    return true;
  }

  // Exchanges the blocks of p and of q rows from row j on: A X - X B = C says how B's invariant space lies,
  // [-X; I] (Bai, Demmel). False, with nothing changed, where rounding would be seen or X overflows.
  bool exchange(int64_t j, int64_t p, int64_t q) {
    const int64_t m = p + q;
    T space[4 * 2] = {};
    if (!solveSylvester(j, p, q, space)) return false;
    for (int64_t k = 0; k < q; k++) space[k * 4 + p + k] = ofReal<T>(1);
    T turn[4 * 4] = {};
    for (int64_t i = 0; i < m; i++) turn[i * 4 + i] = ofReal<T>(1);
    for (int64_t k = 0; k < q; k++) {
      T* const v = space + k * 4 + k;
      const T tau = makeReflector(m - k, v);
      *v = ofReal<T>(1);
      for (int64_t c = k + 1; c < q; c++) reflectOne(m - k, v, conjugate(tau), space + c * 4 + k, 1);
      for (int64_t i = 0; i < m; i++) reflectRow(m - k, v, tau, turn + k * 4 + i, 4);
    }
    T block[4 * 4];
    R most = 0;
    for (int64_t c = 0; c < m; c++)
      for (int64_t i = 0; i < m; i++) {
        T sum{};
        for (int64_t k = 0; k < m; k++)
          for (int64_t l = 0; l < m; l++)
            sum = sum + conjugate(turn[i * 4 + k]) * triangle_.at(j + k, j + l) * turn[c * 4 + l];
        block[c * 4 + i] = sum;
        most = std::max(most, sumOfParts(triangle_.at(j + i, j + c)));
      }
    for (int64_t c = 0; c < q; c++)
      for (int64_t i = q; i < m; i++)
        if (!(sumOfParts(block[c * 4 + i]) <= 10 * kUlp<R> * most)) return false;
    apply(j, m, turn);
    for (int64_t c = 0; c < q; c++)
      for (int64_t i = q; i < m; i++) triangle_.at(j + i, j + c) = T{};
    if constexpr (!kIsComplex<T>) {
      Complex<R> values[kMostWindow + 1];
      const Turned<T> own{triangle_, vectors_};
      if (q == 2) takeTwo(own, j + 1, values);
      if (p == 2) takeTwo(own, j + m - 1, values);
    }
    return true;
  }

  // -X, by elimination with the largest pivot of all.
  bool solveSylvester(int64_t j, int64_t p, int64_t q, T* space) {
    const int64_t n = p * q;
    T a[4][5] = {};
    R most = 0;
    for (int64_t c = 0; c < q; c++)
      for (int64_t i = 0; i < p; i++) {
        T* const row = a[c * p + i];
        for (int64_t k = 0; k < p; k++) row[c * p + k] = row[c * p + k] + triangle_.at(j + i, j + k);
        for (int64_t k = 0; k < q; k++) row[k * p + i] = row[k * p + i] - triangle_.at(j + p + k, j + p + c);
        row[n] = -triangle_.at(j + i, j + p + c);
        for (int64_t k = 0; k < n; k++) most = std::max(most, sumOfParts(row[k]));
      }
    int64_t order[4] = {0, 1, 2, 3};
    for (int64_t k = 0; k < n; k++) {
      int64_t row = k, column = k;
      for (int64_t i = k; i < n; i++)
        for (int64_t c = k; c < n; c++)
          if (sumOfParts(a[i][c]) > sumOfParts(a[row][column])) row = i, column = c;
      if (sumOfParts(a[row][column]) <= kUlp<R> * most) return false;
      for (int64_t c = 0; c <= n; c++) std::swap(a[k][c], a[row][c]);
      for (int64_t i = 0; i < n; i++) std::swap(a[i][k], a[i][column]);
      std::swap(order[k], order[column]);
      for (int64_t i = 0; i < n; i++) {
        if (i == k) continue;
        const T factor = a[i][k] / a[k][k];
        for (int64_t c = k; c <= n; c++) a[i][c] = a[i][c] - factor * a[k][c];
      }
    }
    for (int64_t k = 0; k < n; k++) space[order[k] / p * 4 + order[k] % p] = a[k][n] / a[k][k];
    return true;
  }

  // x - (factor vᴴ x) v, and a row x - (x v) factor vᴴ.
  static void reflectOne(int64_t n, const T* v, T factor, T* x, int64_t stride) {
    T sum{};
    for (int64_t i = 0; i < n; i++) sum = sum + conjugate(v[i]) * x[i * stride];
    sum = factor * sum;
    for (int64_t i = 0; i < n; i++) x[i * stride] = x[i * stride] - sum * v[i];
  }
  static void reflectRow(int64_t n, const T* v, T factor, T* x, int64_t stride) {
    T sum{};
    for (int64_t i = 0; i < n; i++) sum = sum + x[i * stride] * v[i];
    sum = sum * factor;
    for (int64_t i = 0; i < n; i++) x[i * stride] = x[i * stride] - sum * conjugate(v[i]);
  }

  // Rows and columns [j, j + m) of the triangle, and columns of the vectors, by an orthogonal matrix.
  void apply(int64_t j, int64_t m, const T* turn) {
    T product[4];
    for (int64_t c = j; c < rows_; c++) {
      for (int64_t i = 0; i < m; i++) {
        product[i] = T{};
        for (int64_t k = 0; k < m; k++)
          product[i] = product[i] + conjugate(turn[i * 4 + k]) * triangle_.at(j + k, c);
      }
      for (int64_t i = 0; i < m; i++) triangle_.at(j + i, c) = product[i];
    }
    const auto fromRight = [&](const MatrixView<T>& x, int64_t count) {
      for (int64_t i = 0; i < count; i++) {
        for (int64_t c = 0; c < m; c++) {
          product[c] = T{};
          for (int64_t k = 0; k < m; k++) product[c] = product[c] + x.at(i, j + k) * turn[c * 4 + k];
        }
        for (int64_t c = 0; c < m; c++) x.at(i, j + c) = product[c];
      }
    };
    fromRight(triangle_, j + m);
    fromRight(vectors_, rows_);
  }

  void readValues(Complex<R>* values) const {
    for (int64_t k = 0; k < rows_; k++) {
      if constexpr (!kIsComplex<T>) {
        if (k + 1 < rows_ && isPair(k + 1)) {
          const R im =
              std::sqrt(std::abs(triangle_.at(k, k + 1))) * std::sqrt(std::abs(triangle_.at(k + 1, k)));
          values[k] = {triangle_.at(k, k), im};
          values[k + 1] = {triangle_.at(k + 1, k + 1), -im};
          k++;
          continue;
        }
      }
      values[k] = complexOf(triangle_.at(k, k));
    }
  }

  // The spike of `kept` elements becomes its first one, and the rows beside it Hessenberg.
  void turnSpike(int64_t kept) {
    T v[kMostWindow];
    for (int64_t k = 0; k < kept; k++) v[k] = conjugate(vectors_.at(0, k));
    T tau = makeReflector(kept, v);
    v[0] = ofReal<T>(1);
    reflectBoth(0, 0, kept, v, tau);
    for (int64_t k = 0; k + 2 < kept; k++) {
      const int64_t rest = kept - k - 1;
      std::copy_n(&triangle_.at(k + 1, k), rest, v);
      tau = makeReflector(rest, v);
      triangle_.at(k + 1, k) = v[0];
      std::fill_n(&triangle_.at(k + 2, k), rest - 1, T{});
      v[0] = ofReal<T>(1);
      reflectBoth(k + 1, k + 1, kept, v, tau);
    }
  }

  // Hᴴ from the left of columns from `column` on, H from the right: rows and columns [row, kept).
  void reflectBoth(int64_t row, int64_t column, int64_t kept, const T* v, T tau) {
    if (tau == T{}) return;
    const int64_t n = kept - row;
    const LinearKernels<T>& kernels = linearKernels<T>();
    for (int64_t j = column; j < rows_; j++) {
      T sum;
      kernels.dots(n, 1, v, 0, &triangle_.at(row, j), &sum);
      const T factor = -(conjugate(tau) * sum);
      kernels.addColumns(n, 1, &factor, v, 0, &triangle_.at(row, j));
    }
    const auto fromRight = [&](const MatrixView<T>& x, int64_t count) {
      T products[kMostWindow] = {};
      kernels.addColumns(count, n, v, &x.at(0, row), x.columnStride, products);
      for (int64_t j = 0; j < n; j++) {
        const T factor = -(tau * conjugate(v[j]));
        kernels.addColumns(count, 1, &factor, products, 0, &x.at(0, row + j));
      }
    };
    fromRight(triangle_, kept);
    fromRight(vectors_, rows_);
  }

  const Turned<T>& t_;
  int64_t first_, top_, rows_;
  MatrixView<T> triangle_, vectors_;
  T* copies_;
  const LinearWork& work_;
};

}  // namespace weft::cpu::schur
