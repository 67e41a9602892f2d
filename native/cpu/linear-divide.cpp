// Eigenvectors of tridiagonal matrices: halves are solved by themselves, and what they leave out, a column
// times its row, is added by the secular equation (Cuppen). Eigenvalues that it leaves where they are go
// without arithmetic; vectors of the others are computed anew from roots, so that they are orthogonal (Gu and
// Eisenstat).
//
//     T = diag(T1, T2) + rho u uᵀ = Q (D + rho z zᵀ) Qᵀ = Q U Λ Uᵀ Qᵀ     two products: rows of T1, rows of
//     T2
#include <numeric>

#include "cpu/linear-secular.h"
#include "cpu/linear-tridiagonal.h"

namespace weft::cpu {
namespace {

// Rows that are not divided.
constexpr int64_t kLeaf = 32;
// Roots, and rows, of a task.
constexpr int64_t kTask = 16;

// Which rows a column of Q has elements in: those of the first half, of both, of the second.
enum Rows : int8_t { kFirst, kBoth, kSecond };

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
    if (count <= kLeaf) return solveLeaf(first, count);
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
    deflate(halves, q, d, z.data(), 2 * halves.rho);
    if (!kept_.empty()) combine(halves, q, d, z.data(), 2 * halves.rho);
  }

  // Divides columns in those that stay, which are then eigenvectors, and those that the secular equation has.
  void deflate(const Halves<R>& halves, const MatrixView<R>& q, R* d, R* z, R rho) {
    const int64_t n = halves.count;
    std::vector<int64_t> order(static_cast<size_t>(n));
    std::iota(order.begin(), order.end(), int64_t{0});
    std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) { return d[i] < d[j]; });
    rows_.assign(static_cast<size_t>(n), kFirst);
    std::fill(rows_.begin() + halves.half, rows_.end(), kSecond);
    R most = 0;
    for (int64_t k = 0; k < n; k++) most = std::max({most, std::abs(d[k]), std::abs(z[k])});
    const R tolerance = 4 * std::numeric_limits<R>::epsilon() * most;
    kept_.clear();
    stays_.clear();
    int64_t before = -1;
    for (const int64_t k : order) {
      if (rho * std::abs(z[k]) <= tolerance) {
        stays_.push_back(k);
        continue;
      }
      if (before >= 0 && !turnAway(q, d, z, before, k, tolerance)) kept_.push_back(before);
      before = k;
    }
    if (before >= 0) kept_.push_back(before);
  }

  // Turns two columns with nearly equal values so that the first one's element of z is 0, if that changes
  // nothing else.
  bool turnAway(const MatrixView<R>& q, R* d, R* z, int64_t i, int64_t k, R tolerance) {
    const R length = std::hypot(z[k], z[i]), c = z[k] / length, s = -z[i] / length;
    if (std::abs((d[k] - d[i]) * c * s) > tolerance) return false;
    z[k] = length;
    z[i] = 0;
    for (int64_t row = 0; row < q.rows; row++) {
      const R x = q.at(row, i), y = q.at(row, k);
      q.at(row, i) = c * x + s * y;
      q.at(row, k) = c * y - s * x;
    }
    const R first = d[i], second = d[k];
    d[i] = first * c * c + second * s * s;
    d[k] = first * s * s + second * c * c;
    if (rowsOf(i) != rowsOf(k)) rowsOf(i) = rowsOf(k) = kBoth;
    stays_.push_back(i);
    return true;
  }

  Rows& rowsOf(int64_t k) { return rows_[static_cast<size_t>(k)]; }

  // Columns of Q that are kept become those times the eigenvectors of D + rho z zᵀ.
  void combine(const Halves<R>& halves, const MatrixView<R>& q, R* d, const R* z, R rho) {
    const int64_t n = halves.count, k = static_cast<int64_t>(kept_.size()), half = halves.half;
    const MatrixView<R> u = columnMajor(memory_, k, k);
    R* const packed = memory_ + k * k;
    std::vector<R> values(static_cast<size_t>(n));
    solveSecular(d, z, rho, u, values.data());
    if (work_.cancelled()) return;
    // Copies of the columns: the upper and the lower rows of those that have any, then those that stay.
    int64_t counts[3] = {};
    for (const int64_t column : kept_) counts[rowsOf(column)]++;
    const int64_t upper = counts[kFirst] + counts[kBoth], lower = counts[kBoth] + counts[kSecond];
    const MatrixView<R> top = columnMajor(packed, half, upper),
                        bottom = columnMajor(packed + half * upper, n - half, lower),
                        rest = columnMajor(packed + half * upper + (n - half) * lower, n, n - k);
    for (int64_t j = 0; j < k; j++) {
      const int64_t column = kept_[static_cast<size_t>(j)], place = places_[static_cast<size_t>(j)];
      if (place < upper) std::copy_n(&q.at(0, column), half, &top.at(0, place));
      if (place >= counts[kFirst])
        std::copy_n(&q.at(half, column), n - half, &bottom.at(0, place - counts[kFirst]));
    }
    for (int64_t j = 0; j < n - k; j++) {
      const int64_t column = stays_[static_cast<size_t>(j)];
      values[static_cast<size_t>(k + j)] = d[column];
      std::copy_n(&q.at(0, column), n, &rest.at(0, j));
    }
    for (int64_t j = 0; j < n; j++) {
      if (j < k)
        std::fill_n(&q.at(0, j), n, R{0});
      else
        std::copy_n(&rest.at(0, j - k), n, &q.at(0, j));
      d[j] = values[static_cast<size_t>(j)];
    }
    subtractProduct(q.part(0, 0, half, k), top, u.part(0, 0, upper, k), false, work_);
    subtractProduct(q.part(half, 0, n - half, k), bottom, u.part(counts[kFirst], 0, lower, k), false, work_);
  }

  // The eigenvalues, and the negatives of eigenvectors, rows in the order of their columns' `Rows`.
  void solveSecular(const R* d, const R* z, R rho, const MatrixView<R>& u, R* values) {
    const int64_t k = u.rows, tasks = (k + kTask - 1) / kTask;
    std::vector<R> poles(static_cast<size_t>(k)), given(static_cast<size_t>(k)),
        exact(static_cast<size_t>(k));
    for (int64_t j = 0; j < k; j++) {
      poles[static_cast<size_t>(j)] = d[kept_[static_cast<size_t>(j)]];
      given[static_cast<size_t>(j)] = z[kept_[static_cast<size_t>(j)]];
    }
    const auto eachTask = [&](const auto& run) {
      work_.pool.parallelFor(tasks,
                             [&](int64_t task, int) { run(task * kTask, std::min(k, (task + 1) * kTask)); });
    };
    eachTask([&](int64_t first, int64_t last) {
      for (int64_t j = first; j < last; j++)
        values[j] = secularRoot(j, k, poles.data(), given.data(), rho, &u.at(0, j));
    });
    // The column for which the roots are exact (Löwner's formula).
    eachTask([&](int64_t first, int64_t last) {
      R* const w = exact.data();
      for (int64_t i = first; i < last; i++) w[i] = u.at(i, i);
      for (int64_t j = 0; j < k; j++)
        for (int64_t i = first; i < last; i++)
          if (i != j) w[i] *= u.at(i, j) / (poles[static_cast<size_t>(i)] - poles[static_cast<size_t>(j)]);
      for (int64_t i = first; i < last; i++)
        w[i] = std::copysign(std::sqrt(std::max(R{0}, -w[i])), given[static_cast<size_t>(i)]);
    });
    placeRows();
    eachTask([&](int64_t first, int64_t last) {
      std::vector<R> column(static_cast<size_t>(k));
      for (int64_t j = first; j < last; j++) {
        R squares = 0;
        for (int64_t i = 0; i < k; i++) {
          const R element = exact[static_cast<size_t>(i)] / u.at(i, j);
          column[static_cast<size_t>(i)] = element;
          squares += element * element;
        }
        const R scale = -1 / std::sqrt(squares);
        for (int64_t i = 0; i < k; i++)
          u.at(places_[static_cast<size_t>(i)], j) = column[static_cast<size_t>(i)] * scale;
      }
    });
  }

  // Where the rows of U are: those of columns of the first half, of both, of the second.
  void placeRows() {
    places_.resize(kept_.size());
    int64_t next = 0;
    for (const Rows rows : {kFirst, kBoth, kSecond})
      for (size_t j = 0; j < kept_.size(); j++)
        if (rowsOf(kept_[j]) == rows) places_[j] = next++;
  }

  R *d_, *e_;
  MatrixView<R> q_;
  R* memory_;
  const LinearWork& work_;
  std::vector<Rows> rows_;
  std::vector<int64_t> kept_, stays_, places_;
};

}  // namespace

int64_t divideElements(int64_t n) { return n <= kLeaf ? 0 : 2 * n * n; }

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
