// Several shifts at once (Braman, Byers, Mathias): bulges follow each other through a window of rows, which
// stays in the cache, and an orthogonal matrix collects their reflectors; what is beside the window is
// multiplied by it.
#pragma once
#include "cpu/linear-schur-steps.h"

namespace weft::cpu::schur {

// Rows of a chain's window.
inline constexpr int64_t kChainWindow = 72;

// Rows [first, last].
struct Block {
  int64_t first, last;
};

// h and z beside the diagonal block from row `top` on, turned by an orthogonal matrix U: columns of the block
// above it, rows of it behind, columns of z. Where no z is wanted, of the block that has eigenvalues alone.
// `copies` has as many elements as `rows` columns of h.
template <typename T>
void turnOthers(const Turned<T>& t, int64_t top, int64_t rows, Block block, const MatrixView<T>& u, T* copies,
                const LinearWork& work) {
  const int64_t behind = top + rows;
  // Products are taken off: the first factor is -x.
  const auto fromRight = [&](const MatrixView<T>& x) {
    if (x.rows == 0) return;
    const MatrixView<T> own = columnMajor(copies, x.rows, rows);
    for (int64_t j = 0; j < rows; j++)
      for (int64_t i = 0; i < x.rows; i++) {
        own.at(i, j) = -x.at(i, j);
        x.at(i, j) = T{};
      }
    subtractProduct(x, own, u, false, work);
  };
  const auto fromLeft = [&](const MatrixView<T>& x) {
    if (x.columns == 0) return;
    const MatrixView<T> own = columnMajor(copies, rows, x.columns);
    for (int64_t j = 0; j < x.columns; j++)
      for (int64_t i = 0; i < rows; i++) {
        own.at(i, j) = -x.at(i, j);
        x.at(i, j) = T{};
      }
    subtractProduct(x.transposed(), own.transposed(), u, kIsComplex<T>, work);
  };
  const int64_t above = t.isWhole() ? 0 : block.first, end = t.isWhole() ? t.h.columns : block.last + 1;
  fromRight(t.h.part(above, top, top - above, rows));
  fromLeft(t.h.part(top, behind, rows, end - behind));
  if (t.isWhole()) fromRight(t.z.part(0, top, t.z.rows, rows));
}

// The shifts of a bulge: two of a real matrix, one of a complex one.
template <typename T>
struct Shifts {
  Complex<RealOf<T>> one, other;
};

// Rows [first, last] of h; memory: a square of the window, and as many columns of h.
template <typename T>
class BulgeChain {
 public:
  static constexpr int64_t kSize = kIsComplex<T> ? 2 : 3;
  // Bulges of a chain, each of a complex matrix with one shift, of a real one with two. Products beside the
  // window are w² / (b (w - s b)) for each of b bulges of s rows in w rows: the least with a chain of half
  // the window, of complex ones 8.1 instead of 11.6 with 8.
  static constexpr int64_t kBulges = kIsComplex<T> ? 16 : 8;
  BulgeChain(const Turned<T>& t, int64_t first, int64_t last, T* memory, const LinearWork& work)
      : t_(t), first_(first), last_(last), memory_(memory), work_(work) {}

  // At most kBulges.
  void run(const Shifts<T>* shifts, int64_t count) {
    int64_t at[kBulges];
    std::fill_n(at, count, first_);
    while (at[count - 1] < last_ && !work_.cancelled()) {
      const int64_t start = at[count - 1], end = std::min(last_ + 1, start + kChainWindow),
                    rows = end - start;
      const MatrixView<T> u = columnMajor(memory_, rows, rows);
      for (int64_t j = 0; j < rows; j++)
        for (int64_t i = 0; i < rows; i++) u.at(i, j) = ofReal<T>(i == j ? 1 : 0);
      for (int64_t k = 0; k < count; k++) {
        // As far as the window, and the rows that the bulge before it touches next.
        int64_t limit = end == last_ + 1 ? last_ : end - kSize - 1;
        if (k > 0 && at[k - 1] < last_) limit = std::min(limit, at[k - 1] - kSize);
        for (; at[k] < limit; at[k]++) step(shifts[k], at[k], start, end, u);
      }
      turnOthers(t_, start, rows, {first_, last_}, u, memory_ + rows * rows, work_);
    }
  }

 private:
  // The reflector of rows from k on, within the window.
  void step(const Shifts<T>& shifts, int64_t k, int64_t start, int64_t end, const MatrixView<T>& u) {
    const MatrixView<T>& h = t_.h;
    const int64_t size = std::min(kSize, last_ - k + 1);
    T v[kSize];
    if (k == first_) {
      if constexpr (kIsComplex<T>)
        firstOfBulge(h, k, shifts.one, v);
      else
        firstOfBulge(h, k, shifts.one.re, shifts.other.re, shifts.one.im, v);
    } else {
      std::copy_n(&h.at(k, k - 1), size, v);
    }
    const T tau = makeReflector(size, v);
    if (k > first_) {
      h.at(k, k - 1) = v[0];
      for (int64_t i = 1; i < size; i++) h.at(k + i, k - 1) = T{};
    }
    v[0] = ofReal<T>(1);
    if (tau == T{}) return;
    const auto reflectLeft = size == 3 ? reflectColumns<3, T> : reflectColumns<2, T>;
    reflectLeft(v, tau, &h.at(k, k), h.columnStride, end - k);
    const ReflectionKernel<T> reflect = linearKernels<T>().reflect;
    const int64_t bottom = std::min(k + kSize, last_) + 1;
    reflect(bottom - start, size, v, tau, &h.at(start, k), h.columnStride);
    reflect(end - start, size, v, tau, &u.at(0, k - start), u.columnStride);
  }

  const Turned<T>& t_;
  int64_t first_, last_;
  T* memory_;
  const LinearWork& work_;
};

}  // namespace weft::cpu::schur
