// Matrices to bidiagonal ones by reflectors from both sides, in panels of columns: what a panel takes from
// the columns behind it is one product (Dongarra, Hammarling, Sorensen; LAPACK's labrd), so that a column
// reads the rest twice and writes none of it.
//
//     A = Q B Pᴴ     of a panel: A - V Yᴴ - X Uᴴ, V and U its reflectors, yᴴ = conj(τ) vᴴ A, x = τ A u
#include "cpu/linear-bidiagonal.h"
#include "cpu/linear-reflectors.h"

namespace weft::cpu {
namespace {

// Columns of a panel.
constexpr int64_t kPanel = kBidiagonalPanel;
// Columns, and rows, of a task.
constexpr int64_t kTaskColumns = 32;
constexpr int64_t kTaskRows = 512;

// Of the panel: X and V, and Y and U, side by side for the product.
template <typename T>
struct Panel {
  MatrixView<T> left, right;
  MatrixView<T> x() const { return left.part(0, 0, left.rows, kPanel); }
  MatrixView<T> y() const { return right.part(0, kPanel, right.rows, kPanel); }
};

// y += Σ -conj(row[k]) x_k of `count` columns x_k, from row `first` on.
template <typename T>
void takeOffRow(const MatrixView<T>& x, int64_t first, int64_t count, const T* row, int64_t stride, T* y) {
  T factors[kPanel];
  for (int64_t k = 0; k < count; k++) factors[k] = -conjugate(row[k * stride]);
  linearKernels<T>().addColumns(x.rows - first, count, factors, &x.at(first, 0), x.columnStride, y);
}

// y -= x (zᴴ v): rows of z from `from` on, of x from `to` on, `count` columns of each.
template <typename T>
void takeOffProduct(const MatrixView<T>& x, int64_t to, const MatrixView<T>& z, int64_t from, int64_t count,
                    const T* v, T* y) {
  const LinearKernels<T>& kernels = linearKernels<T>();
  T sums[kPanel];
  kernels.dots(z.rows - from, count, &z.at(from, 0), z.columnStride, v, sums);
  for (int64_t k = 0; k < count; k++) sums[k] = -sums[k];
  kernels.addColumns(x.rows - to, count, sums, &x.at(to, 0), x.columnStride, y);
}

// products = Aᴴ v, and A v.
template <typename T>
void multiplyAdjoint(const MatrixView<T>& a, const T* v, T* products, const LinearWork& work) {
  work.pool.parallelFor((a.columns + kTaskColumns - 1) / kTaskColumns, [&](int64_t task, int) {
    const int64_t first = task * kTaskColumns, count = std::min(kTaskColumns, a.columns - first);
    linearKernels<T>().dots(a.rows, count, &a.at(0, first), a.columnStride, v, products + first);
  });
}
template <typename T>
void multiply(const MatrixView<T>& a, const T* v, T* products, const LinearWork& work) {
  work.pool.parallelFor((a.rows + kTaskRows - 1) / kTaskRows, [&](int64_t task, int) {
    const int64_t first = task * kTaskRows, count = std::min(kTaskRows, a.rows - first);
    std::fill_n(products + first, count, T{});
    linearKernels<T>().addColumns(count, a.columns, v, &a.at(first, 0), a.columnStride, products + first);
  });
}

template <typename T>
void scale(int64_t n, T factor, T* x) {
  for (int64_t i = 0; i < n; i++) x[i] = factor * x[i];
}

template <typename T>
class BidiagonalForm {
 public:
  BidiagonalForm(const MatrixView<T>& a, const MatrixView<T>& p, const BidiagonalOf<T>& to, T* memory,
                 const LinearWork& work)
      : a_(a),
        p_(p),
        to_(to),
        panel_{columnMajor(memory, a.rows, 2 * kPanel),
               columnMajor(memory + 2 * kPanel * a.rows, a.columns, 2 * kPanel)},
        work_(work) {}

  void make() {
    const int64_t n = a_.columns;
    for (int64_t first = 0; first < n; first += kPanel) {
      if (work_.cancelled()) return;
      const int64_t columns = std::min(kPanel, n - first);
      for (int64_t j = 0; j < columns; j++) step(first, j);
      takeOffPanel(first + columns);
    }
  }

 private:
  // Column k = first + j of the matrix, and row k.
  void step(int64_t first, int64_t j) {
    const int64_t m = a_.rows, n = a_.columns, k = first + j, rest = n - k - 1, rows = m - k - 1;
    const MatrixView<T> v = a_.part(0, first, m, j + 1), u = p_.part(0, first, n, j + 1), x = panel_.x(),
                        y = panel_.y();
    T* const column = &a_.at(k, k);
    takeOffRow(v, k, j, &y.at(k, 0), y.columnStride, column);
    takeOffRow(x, k, j, &u.at(k, 0), u.columnStride, column);
    const T tau = to_.tausOfQ[k] = makeReflector(m - k, column);
    to_.d[k] = realPart(*column);
    to_.e[k] = 0;
    *column = ofReal<T>(1);
    if (rest == 0) return;

    T* const ofColumn = &y.at(k + 1, j);
    multiplyAdjoint(a_.part(k, k + 1, m - k, rest), column, ofColumn, work_);
    takeOffProduct(y, k + 1, v, k, j, column, ofColumn);
    takeOffProduct(u, k + 1, x, k, j, column, ofColumn);
    scale(rest, tau, ofColumn);

    T* const row = &p_.at(k + 1, k);
    for (int64_t i = 0; i < rest; i++) row[i] = conjugate(a_.at(k, k + 1 + i));
    takeOffRow(y, k + 1, j + 1, &v.at(k, 0), v.columnStride, row);
    takeOffRow(u, k + 1, j, &x.at(k, 0), x.columnStride, row);
    const T turn = to_.tausOfP[k] = makeReflector(rest, row);
    to_.e[k] = realPart(*row);
    *row = ofReal<T>(1);

    T* const ofRow = &x.at(k + 1, j);
    multiply(a_.part(k + 1, k + 1, rows, rest), row, ofRow, work_);
    takeOffProduct(v, k + 1, y, k + 1, j + 1, row, ofRow);
    takeOffProduct(x, k + 1, u, k + 1, j, row, ofRow);
    scale(rows, turn, ofRow);
  }

  // Takes a whole panel off the rows and columns from `next` on.
  void takeOffPanel(int64_t next) {
    const int64_t m = a_.rows, n = a_.columns, rows = m - next, columns = n - next;
    if (columns == 0) return;
    const auto& [left, right] = panel_;
    for (int64_t j = 0; j < kPanel; j++) {
      std::copy_n(&a_.at(next, next - kPanel + j), rows, &left.at(next, kPanel + j));
      std::copy_n(&p_.at(next, next - kPanel + j), columns, &right.at(next, j));
    }
    subtractProduct(a_.part(next, next, rows, columns), left.part(next, 0, rows, 2 * kPanel),
                    right.part(next, 0, columns, 2 * kPanel).transposed(), kIsComplex<T>, work_);
  }

  const MatrixView<T>&a_, &p_;
  const BidiagonalOf<T>& to_;
  Panel<T> panel_;
  const LinearWork& work_;
};

}  // namespace

template <typename T>
void makeBidiagonal(const MatrixView<T>& a, const MatrixView<T>& p, const BidiagonalOf<T>& to, T* memory,
                    const LinearWork& work) {
  BidiagonalForm<T>(a, p, to, memory, work).make();
}

#define WEFT_INSTANTIATE(T)                                                                               \
  template void makeBidiagonal<T>(const MatrixView<T>&, const MatrixView<T>&, const BidiagonalOf<T>&, T*, \
                                  const LinearWork&);
WEFT_LINEAR_TYPES(WEFT_INSTANTIATE)
#undef WEFT_INSTANTIATE

}  // namespace weft::cpu
