// Eigenvectors of tridiagonal matrices: halves are solved by themselves, and what they leave out, a column
// times its row, is added by the secular equation (Cuppen). Eigenvalues that it leaves where they are go
// without arithmetic; vectors of the others are computed anew from roots, so that they are orthogonal (Gu and
// Eisenstat).
//
//     T = diag(T1, T2) + rho u uᵀ = Q (D + rho z zᵀ) Qᵀ = Q U Λ Uᵀ Qᵀ     two products: rows of T1, rows of
//     T2
#include "cpu/linear-divide.h"

#include "cpu/linear-secular.h"
#include "cpu/linear-tridiagonal.h"

namespace weft::cpu {
namespace {

template <typename R>
struct Halves {
  int64_t first, count, half;
  R rho;
  bool isNegative;
};

template <typename R>
class Division {
 public:
  Division(R* d, R* e, const MatrixView<R>& z, R* memory, const LinearWork& work)
      : d_(d), e_(e), q_(z), memory_(memory), work_(work) {}

  bool solve(int64_t first, int64_t count) {
    if (count <= kDividedLeaf) return solveLeaf(first, count);
    const int64_t half = count / 2, at = first + half;
    const R beside = e_[at - 1], rho = std::abs(beside);
    d_[at - 1] -= rho;
    d_[at] -= rho;
    if (!solve(first, half) || !solve(at, count - half)) return false;
    if (work_.cancelled()) return true;
    merge({first, count, half, rho, beside < 0});
    return true;
  }

 private:
  bool solveLeaf(int64_t first, int64_t count) {
    const MatrixView<R> q = q_.part(first, first, count, count);
    for (int64_t k = 0; k < count; k++) q.at(k, k) = 1;
    Rotations<R> rotations(q.data, count, q.columnStride, work_);
    return makeDiagonal(count, d_ + first, e_ + first, rotations);
  }

  void merge(const Halves<R>& halves) {
    const int64_t n = halves.count;
    const MatrixView<R> q = q_.part(halves.first, halves.first, n, n);
    R* const d = d_ + halves.first;
    // The column that is added, of length 1.
    std::vector<R> z(static_cast<size_t>(n));
    const R unit = std::sqrt(R{0.5});
    for (int64_t k = 0; k < n; k++) {
      const R element = k < halves.half ? q.at(halves.half - 1, k) : q.at(halves.half, k);
      z[static_cast<size_t>(k)] = (k >= halves.half && halves.isNegative ? -element : element) * unit;
    }
    DividedColumns<R> columns(n, halves.half);
    deflate(columns, q, d, z.data(), 2 * halves.rho);
    if (columns.kept.empty()) return;
    const MatrixView<R> u = columnMajor(memory_, columns.keptCount(), columns.keptCount());
    std::vector<R> values = solveSecular(columns, d, z.data(), 2 * halves.rho, u);
    for (const int64_t column : columns.stays) values.push_back(d[column]);
    columns.combine(q, halves.half, u, memory_ + u.rows * u.rows, work_);
    std::copy(values.begin(), values.end(), d);
  }

  // Divides columns in those that stay, which are then eigenvectors, and those of the secular equation.
  static void deflate(DividedColumns<R>& columns, const MatrixView<R>& q, R* d, R* z, R rho) {
    const int64_t n = q.columns;
    std::vector<int64_t> order(static_cast<size_t>(n));
    std::iota(order.begin(), order.end(), int64_t{0});
    std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) { return d[i] < d[j]; });
    R most = 0;
    for (int64_t k = 0; k < n; k++) most = std::max({most, std::abs(d[k]), std::abs(z[k])});
    const R tolerance = 4 * std::numeric_limits<R>::epsilon() * most;
    int64_t before = -1;
    for (const int64_t k : order) {
      if (rho * std::abs(z[k]) <= tolerance) {
        columns.stays.push_back(k);
        continue;
      }
      if (before >= 0 && !turnAway(columns, q, d, z, before, k, tolerance)) columns.kept.push_back(before);
      before = k;
    }
    if (before >= 0) columns.kept.push_back(before);
  }

  // Turns two columns with nearly equal values so that the first one's element of z is 0, if that changes
  // nothing else.
  static bool turnAway(DividedColumns<R>& columns, const MatrixView<R>& q, R* d, R* z, int64_t i, int64_t k,
                       R tolerance) {
    const R length = std::hypot(z[k], z[i]), c = z[k] / length, s = -z[i] / length;
    if (std::abs((d[k] - d[i]) * c * s) > tolerance) return false;
    z[k] = length;
    z[i] = 0;
    turnColumns(q, i, k, c, s);
    const R first = d[i], second = d[k];
    d[i] = first * c * c + second * s * s;
    d[k] = first * s * s + second * c * c;
    columns.join(i, k);
    columns.stays.push_back(i);
    return true;
  }

  // The eigenvalues, and the negatives of eigenvectors.
  std::vector<R> solveSecular(DividedColumns<R>& columns, const R* d, const R* z, R rho,
                              const MatrixView<R>& u) {
    const int64_t k = u.rows;
    std::vector<R> poles, given, exact(static_cast<size_t>(k)), values(static_cast<size_t>(k));
    for (const int64_t column : columns.kept) {
      poles.push_back(d[column]);
      given.push_back(z[column]);
    }
    eachStretch(k, work_, [&](int64_t first, int64_t last) {
      for (int64_t j = first; j < last; j++)
        values[static_cast<size_t>(j)] = secularRoot(j, k, poles.data(), given.data(), rho, &u.at(0, j));
    });
    const R* const pole = poles.data();
    exactColumn(u, given, exact, work_, [&](int64_t i, int64_t j) { return pole[i] - pole[j]; });
    columns.placeRows();
    eachStretch(k, work_, [&](int64_t first, int64_t last) {
      std::vector<R> vector(static_cast<size_t>(k));
      for (int64_t j = first; j < last; j++) {
        R squares = 0;
        for (int64_t i = 0; i < k; i++) {
          const R element = exact[static_cast<size_t>(i)] / u.at(i, j);
          vector[static_cast<size_t>(i)] = element;
          squares += element * element;
        }
        const R scale = -1 / std::sqrt(squares);
        for (int64_t i = 0; i < k; i++) u.at(columns.place(i), j) = vector[static_cast<size_t>(i)] * scale;
      }
    });
    return values;
  }

  R *d_, *e_;
  MatrixView<R> q_;
  R* memory_;
  const LinearWork& work_;
};

}  // namespace

int64_t divideElements(int64_t n) { return n <= kDividedLeaf ? 0 : 2 * n * n; }

template <typename R>
bool tridiagonalVectors(int64_t n, R* d, R* e, const MatrixView<R>& z, R* memory, const LinearWork& work) {
  std::fill_n(z.data, n * n, R{0});
  return Division<R>(d, e, z, memory, work).solve(0, n);
}

template bool tridiagonalVectors<float>(int64_t, float*, float*, const MatrixView<float>&, float*,
                                        const LinearWork&);
template bool tridiagonalVectors<double>(int64_t, double*, double*, const MatrixView<double>&, double*,
                                         const LinearWork&);

}  // namespace weft::cpu
