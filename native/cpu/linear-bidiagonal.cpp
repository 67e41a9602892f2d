// Singular vectors of bidiagonal matrices by the method of linear-divide.cpp: without its middle row a matrix
// is two, the first with a column more than rows, and that row times their right vectors is a row z:
//
//     B = (B1; α β; B2) = U M Vᵀ, M with z in one row and the singular values of B1 and B2 on its diagonal
//
// The squares of M's singular values are the roots of a secular equation of the squares of its diagonal.
#include "cpu/linear-bidiagonal.h"

#include "cpu/linear-bidiagonal-qr.h"
#include "cpu/linear-divide.h"
#include "cpu/linear-secular.h"

namespace weft::cpu {
namespace {

// Rows from `first` on, of which `half` are before the middle one; `extra` columns more than rows, 0 or 1.
struct Middle {
  int64_t first, count, extra, half;
};

template <typename R>
class BidiagonalDivision {
 public:
  BidiagonalDivision(R* d, R* e, const MatrixView<R>& u, const MatrixView<R>& v, R* memory,
                     const LinearWork& work)
      : d_(d), e_(e), u_(u), v_(v), memory_(memory), work_(work) {}

  bool solve(int64_t first, int64_t count, int64_t extra) {
    if (count <= kDividedLeaf) return solveLeaf(first, count, extra);
    const int64_t half = count / 2;
    if (!solve(first, half, 1) || !solve(first + half + 1, count - half - 1, extra)) return false;
    if (!work_.cancelled()) merge({first, count, extra, half});
    return true;
  }

 private:
  bool solveLeaf(int64_t first, int64_t count, int64_t extra) {
    const MatrixView<R> u = u_.part(first, first, count, count),
                        v = v_.part(first, first, count + extra, count + extra);
    for (int64_t k = 0; k < count; k++) u.at(k, k) = 1;
    for (int64_t k = 0; k < v.columns; k++) v.at(k, k) = 1;
    Rotations<R> left(u.data, u.rows, u.columnStride, work_), right(v.data, v.rows, v.columnStride, work_);
    R *const d = d_ + first, *const e = e_ + first;
    if (extra == 1) {
      // The last column goes to the columns before it.
      R rest = e[count - 1];
      for (int64_t j = count - 1; j >= 0 && rest != 0; j--) {
        const auto [c, s, length] = rotationOf(d[j], rest);
        d[j] = length;
        right.turn(j, count, c, s);
        if (j == 0) break;
        rest = -s * e[j - 1];
        e[j - 1] = c * e[j - 1];
      }
    }
    return Bidiagonal<R>(count, d, e, left, right).solve();
  }

  void merge(const Middle& m) {
    const int64_t n = m.count, middle = m.half;
    const MatrixView<R> u = u_.part(m.first, m.first, n, n),
                        v = v_.part(m.first, m.first, n + m.extra, n + m.extra);
    R* const d = d_ + m.first;
    const R alpha = d[middle], beta = e_[m.first + middle];
    u.at(middle, middle) = 1;
    std::vector<R> z(static_cast<size_t>(n));
    for (int64_t k = 0; k < n; k++)
      z[static_cast<size_t>(k)] = k <= middle ? alpha * v.at(middle, k) : beta * v.at(middle + 1, k);
    // The middle column stands before the second half's.
    DividedColumns<R> columns(n, middle + 1);
    if (m.extra == 1) {
      const R first = z[static_cast<size_t>(middle)], last = beta * v.at(middle + 1, n);
      if (last != 0) {
        const auto [c, s, length] = rotationOf(first, last);
        turnColumns(v, middle, n, c, s);
        z[static_cast<size_t>(middle)] = length;
      }
      columns.spread(middle);
    }
    d[middle] = 0;
    const R tolerance = toleranceOf(d, n, alpha, beta);
    deflate(columns, middle, u, v, d, z.data(), tolerance);
    const int64_t k = columns.keptCount();
    const MatrixView<R> ofU = columnMajor(memory_, k, k), ofV = columnMajor(memory_ + k * k, k, k);
    std::vector<R> values = solveSecular(columns, d, z.data(), tolerance, ofU, ofV);
    for (const int64_t column : columns.stays) values.push_back(d[column]);
    R* const packed = memory_ + 2 * k * k;
    columns.combine(u, middle + 1, ofU, packed, work_);
    columns.combine(v.part(0, 0, v.rows, n), middle + 1, ofV, packed, work_);
    std::copy(values.begin(), values.end(), d);
  }

  static R toleranceOf(const R* d, int64_t n, R alpha, R beta) {
    // Of the whole matrix the largest element is about 1. Where a part is small, differences of squares as
    // small as (4 ε)⁴ of its largest square are not to vanish: of 10⁻⁷ in single precision they did, and with
    // them columns of U.
    constexpr R kEpsilon = std::numeric_limits<R>::epsilon();
    R most = std::max({std::abs(alpha), std::abs(beta), std::sqrt(kEpsilon)});
    for (int64_t k = 0; k < n; k++) most = std::max(most, std::abs(d[k]));
    return 4 * kEpsilon * most;
  }

  // Divides columns in those that stay, which are then singular vectors, and those of the secular equation,
  // the middle one first.
  static void deflate(DividedColumns<R>& columns, int64_t middle, const MatrixView<R>& u,
                      const MatrixView<R>& v, const R* d, R* z, R tolerance) {
    std::vector<int64_t> order(static_cast<size_t>(u.columns));
    std::iota(order.begin(), order.end(), int64_t{0});
    order.erase(order.begin() + middle);
    std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) { return d[i] < d[j]; });
    if (std::abs(z[middle]) <= tolerance) z[middle] = tolerance;
    columns.kept.push_back(middle);
    int64_t before = -1;
    for (const int64_t k : order) {
      if (std::abs(z[k]) <= tolerance) {
        columns.stays.push_back(k);
        continue;
      }
      if (before >= 0 && d[k] - d[before] <= tolerance) {
        const R length = std::hypot(z[k], z[before]), c = z[k] / length, s = -z[before] / length;
        z[k] = length;
        turnColumns(u, before, k, c, s);
        turnColumns(v, before, k, c, s);
        columns.join(before, k);
        columns.stays.push_back(before);
      } else if (before >= 0) {
        columns.kept.push_back(before);
      }
      before = k;
    }
    if (before >= 0) columns.kept.push_back(before);
  }

  // The singular values, and the negatives of vectors.
  std::vector<R> solveSecular(DividedColumns<R>& columns, const R* d, const R* z, R tolerance,
                              const MatrixView<R>& u, const MatrixView<R>& v) {
    const int64_t k = u.rows;
    std::vector<R> poles, given, exact(static_cast<size_t>(k)), values(static_cast<size_t>(k));
    for (const int64_t column : columns.kept) {
      poles.push_back(d[column]);
      given.push_back(z[column]);
    }
    // Poles differ, also from the middle one's, 0.
    if (k > 1) poles[1] = std::max(poles[1], tolerance / 2);
    eachStretch(k, work_, [&](int64_t first, int64_t last) {
      for (int64_t j = first; j < last; j++)
        values[static_cast<size_t>(j)] = singularRoot(j, k, poles.data(), given.data(), &v.at(0, j));
    });
    const R* const pole = poles.data();
    exactColumn(v, given, exact, work_,
                [&](int64_t i, int64_t j) { return (pole[i] - pole[j]) * (pole[i] + pole[j]); });
    columns.placeRows();
    eachStretch(k, work_, [&](int64_t first, int64_t last) {
      std::vector<R> right(static_cast<size_t>(k));
      for (int64_t j = first; j < last; j++) {
        R squares = 0, leftSquares = 1;
        for (int64_t i = 0; i < k; i++) {
          const R element = exact[static_cast<size_t>(i)] / v.at(i, j), other = pole[i] * element;
          right[static_cast<size_t>(i)] = element;
          squares += element * element;
          leftSquares += other * other;
        }
        const R scale = -1 / std::sqrt(squares), leftScale = -1 / std::sqrt(leftSquares);
        for (int64_t i = 0; i < k; i++) {
          const R element = right[static_cast<size_t>(i)];
          v.at(columns.place(i), j) = element * scale;
          u.at(columns.place(i), j) = (i == 0 ? -1 : pole[i] * element) * leftScale;
        }
      }
    });
    return values;
  }

  R *d_, *e_;
  MatrixView<R> u_, v_;
  R* memory_;
  const LinearWork& work_;
};

}  // namespace

template <typename R>
bool bidiagonalValues(int64_t n, R* d, R* e, const LinearWork& work) {
  Rotations<R> left(nullptr, n, n, work), right(nullptr, n, n, work);
  return Bidiagonal<R>(n, d, e, left, right).solve();
}

int64_t bidiagonalElements(int64_t n) { return n <= kDividedLeaf ? 0 : 3 * n * n; }

template <typename R>
bool bidiagonalVectors(int64_t n, R* d, R* e, const MatrixView<R>& u, const MatrixView<R>& v, R* memory,
                       const LinearWork& work) {
  std::fill_n(u.data, n * n, R{0});
  std::fill_n(v.data, n * n, R{0});
  if (std::all_of(d, d + n, [](R x) { return x == 0; }) &&
      std::all_of(e, e + n, [](R x) { return x == 0; })) {
    // Values that are 0, where the secular equation would have tiny ones.
    for (int64_t k = 0; k < n; k++) u.at(k, k) = v.at(k, k) = 1;
    return true;
  }
  return BidiagonalDivision<R>(d, e, u, v, memory, work).solve(0, n, 0);
}

#define WEFT_INSTANTIATE(R)                                                                           \
  template bool bidiagonalValues<R>(int64_t, R*, R*, const LinearWork&);                              \
  template bool bidiagonalVectors<R>(int64_t, R*, R*, const MatrixView<R>&, const MatrixView<R>&, R*, \
                                     const LinearWork&);
WEFT_INSTANTIATE(float)
WEFT_INSTANTIATE(double)
#undef WEFT_INSTANTIATE

}  // namespace weft::cpu
