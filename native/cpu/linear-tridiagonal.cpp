// Hermitian matrices to tridiagonal ones, in panels of columns, and those to diagonal ones without dividing.
#include "cpu/linear-tridiagonal.h"

namespace weft::cpu {
namespace {

// Steps of an eigenvalue before it counts as one that does not converge.
constexpr int kMostSteps = 60;
// Columns of a panel.
constexpr int64_t kPanel = 32;
// Columns of a task, whose products are a column of their own until they are added.
constexpr int64_t kTaskColumns = 128;
// Columns that are read together.
constexpr int64_t kTogether = 4;

int64_t tasksOf(int64_t n) { return (n + kTaskColumns - 1) / kTaskColumns; }

// The panel's reflectors v and what they take from the matrix, v wᴴ + w vᴴ: V, W, and V once more, so that
// one product takes all of them.
template <typename T>
struct Panel {
  MatrixView<T> v, w, all;
};

// products = A x of the lower triangle of A, x of n elements; `partial` has a column of n for each task.
template <typename T>
void multiplyHermitian(const MatrixView<T>& a, const T* x, T* products, T* partial, const LinearWork& work) {
  const LinearKernels<T>& kernels = linearKernels<T>();
  const int64_t n = a.rows, tasks = tasksOf(n);
  work.pool.parallelFor(tasks, [&](int64_t task, int) {
    const int64_t start = task * kTaskColumns, last = std::min(n, start + kTaskColumns);
    T* const y = partial + task * n;
    std::fill(y + start, y + n, T{});
    for (int64_t j = start; j < last; j += kTogether) {
      const int64_t count = std::min(kTogether, last - j), below = j + count;
      for (int64_t q = j; q < below; q++) {
        y[q] = y[q] + realPart(a.at(q, q)) * x[q];
        for (int64_t p = q + 1; p < below; p++) {
          y[p] = y[p] + a.at(p, q) * x[q];
          y[q] = y[q] + conjugate(a.at(p, q)) * x[p];
        }
      }
      if (below == n) continue;
      T sums[kTogether];
      kernels.dots(n - below, count, &a.at(below, j), a.columnStride, x + below, sums);
      for (int64_t q = 0; q < count; q++) y[j + q] = y[j + q] + sums[q];
      kernels.addColumns(n - below, count, x + j, &a.at(below, j), a.columnStride, y + below);
    }
  });
  std::copy_n(partial, n, products);
  const T one = ofReal<T>(1);
  for (int64_t task = 1; task < tasks; task++) {
    const int64_t start = task * kTaskColumns;
    kernels.addColumns(n - start, 1, &one, partial + task * n + start, 0, products + start);
  }
}

// y -= x (zᴴ v), of rows from `first` on, for `count` columns of x and z.
template <typename T>
void takeOff(const MatrixView<T>& x, const MatrixView<T>& z, int64_t first, int64_t count, const T* v, T* y) {
  const LinearKernels<T>& kernels = linearKernels<T>();
  const int64_t rows = x.rows - first;
  T sums[kPanel];
  kernels.dots(rows, count, &z.at(first, 0), z.columnStride, v, sums);
  for (int64_t k = 0; k < count; k++) sums[k] = -sums[k];
  kernels.addColumns(rows, count, sums, &x.at(first, 0), x.columnStride, y);
}

// Column k of the matrix without the reflectors of its panel so far.
template <typename T>
void updateColumn(const MatrixView<T>& a, int64_t k, const Panel<T>& panel, int64_t count) {
  const LinearKernels<T>& kernels = linearKernels<T>();
  T ofV[kPanel], ofW[kPanel];
  for (int64_t j = 0; j < count; j++) {
    ofV[j] = -conjugate(panel.w.at(k, j));
    ofW[j] = -conjugate(panel.v.at(k, j));
  }
  kernels.addColumns(a.rows - k, count, ofV, &panel.v.at(k, 0), a.rows, &a.at(k, k));
  kernels.addColumns(a.rows - k, count, ofW, &panel.w.at(k, 0), a.rows, &a.at(k, k));
}

// w = tau (A x - tau/2 (xᴴ A x) x), so that Hᴴ A H = A - x wᴴ - w xᴴ; `w` has A x.
template <typename T>
void finishProducts(int64_t n, T tau, const T* x, T* w) {
  const LinearKernels<T>& kernels = linearKernels<T>();
  T product;
  kernels.dots(n, 1, w, 0, x, &product);
  const T half = ofReal<T>(RealOf<T>{-0.5}) * (tau * conjugate(tau) * conjugate(product));
  for (int64_t i = 0; i < n; i++) w[i] = tau * w[i];
  kernels.addColumns(n, 1, &half, x, 0, w);
}

// c -= x yᴴ, its lower triangle alone, by halves.
template <typename T>
void subtractLower(const MatrixView<T>& c, const MatrixView<T>& x, const MatrixView<T>& y,
                   const LinearWork& work) {
  constexpr int64_t kWhole = 96;
  if (c.rows <= kWhole) return subtractProduct(c, x, y.transposed(), kIsComplex<T>, work);
  const int64_t half = c.rows / 2 / kTogether * kTogether, rest = c.rows - half;
  const MatrixView<T> top = y.part(0, 0, half, y.columns), below = x.part(half, 0, rest, x.columns);
  subtractLower(c.part(0, 0, half, half), x.part(0, 0, half, x.columns), top, work);
  subtractProduct(c.part(half, 0, rest, half), below, top.transposed(), kIsComplex<T>, work);
  subtractLower(c.part(half, half, rest, rest), below, y.part(half, 0, rest, y.columns), work);
}

}  // namespace

int64_t tridiagonalElements(int64_t n) { return n * (3 * kPanel + tasksOf(n)); }

template <typename T>
void makeTridiagonal(const MatrixView<T>& a, RealOf<T>* d, RealOf<T>* e, T* taus, T* memory,
                     const LinearWork& work) {
  const int64_t n = a.rows;
  const MatrixView<T> all = columnMajor(memory, n, 3 * kPanel);
  const Panel<T> panel{all.part(0, 0, n, kPanel), all.part(0, kPanel, n, kPanel), all};
  T* const partial = memory + 3 * kPanel * n;
  for (int64_t first = 0; first < n; first += kPanel) {
    if (work.cancelled()) return;
    const int64_t columns = std::min(kPanel, n - first);
    for (int64_t j = 0; j < columns; j++) {
      const int64_t k = first + j, rest = n - k - 1;
      updateColumn(a, k, panel, j);
      d[k] = realPart(a.at(k, k));
      if (rest == 0) return;
      T* const x = &a.at(k + 1, k);
      taus[k] = makeReflector(rest, x);
      e[k] = realPart(*x);
      T *const v = &panel.v.at(k + 1, j), *const w = &panel.w.at(k + 1, j);
      std::copy_n(x, rest, v);
      v[0] = ofReal<T>(1);
      multiplyHermitian(a.part(k + 1, k + 1, rest, rest), v, w, partial, work);
      takeOff(panel.v, panel.w, k + 1, j, v, w);
      takeOff(panel.w, panel.v, k + 1, j, v, w);
      finishProducts(rest, taus[k], v, w);
    }
    const int64_t next = first + columns, rest = n - next;
    for (int64_t j = 0; j < columns; j++)
      std::copy_n(&panel.v.at(next, j), rest, &all.at(next, 2 * kPanel + j));
    subtractLower(a.part(next, next, rest, rest), all.part(next, 0, rest, 2 * kPanel),
                  all.part(next, kPanel, rest, 2 * kPanel), work);
  }
}

template <typename R>
bool makeDiagonal(int64_t n, R* d, R* e, Rotations<R>& rotations) {
  if (n == 0) return true;
  e[n - 1] = 0;
  constexpr R kEpsilon = std::numeric_limits<R>::epsilon(), kTiny = std::numeric_limits<R>::min();
  for (int64_t l = 0; l < n; l++) {
    for (int step = 0;; step++) {
      int64_t m = l;
      for (; m < n - 1; m++) {
        const R scale = std::abs(d[m]) + std::abs(d[m + 1]);
        if (std::abs(e[m]) <= kEpsilon * scale || std::abs(e[m]) <= kTiny) break;
      }
      if (m == l) break;
      if (step == kMostSteps) return false;
      R g = (d[l + 1] - d[l]) / (2 * e[l]), r = std::hypot(g, R{1});
      g = d[m] - d[l] + e[l] / (g + (g >= 0 ? std::abs(r) : -std::abs(r)));
      R s = 1, c = 1, p = 0;
      int64_t i = m - 1;
      rotations.begin(l, true);
      int64_t turned = 0;
      for (; i >= l; i--) {
        R f = s * e[i];
        const R b = c * e[i];
        const Rotation<R> turn = rotationOf(g, f);
        r = e[i + 1] = turn.length;
        if (r == 0) {
          d[i + 1] -= p;
          e[m] = 0;
          break;
        }
        s = turn.s;
        c = turn.c;
        g = d[i + 1] - p;
        r = (d[i] - g) * s + 2 * c * b;
        p = s * r;
        d[i + 1] = g + p;
        g = c * r - b;
        // Column i becomes c z[i] - s z[i + 1], the next one s z[i] + c z[i + 1].
        rotations.add(c, -s);
        turned++;
      }
      // A sweep that ended early did not come down to l.
      if (i >= l) rotations.raise(i + 1);
      rotations.end();
      if (i >= l && r == 0) continue;
      d[l] -= p;
      e[l] = g;
      e[m] = 0;
    }
  }
  rotations.flush();
  return true;
}

template <typename R>
bool tridiagonalValues(int64_t n, R* d, R* e) {
  if (n == 0) return true;
  constexpr R kEpsilon = std::numeric_limits<R>::epsilon() / 2, kSquare = kEpsilon * kEpsilon;
  for (int64_t k = 0; k < n - 1; k++) e[k] *= e[k];
  e[n - 1] = 0;
  for (int64_t l = 0; l < n; l++) {
    for (int step = 0;; step++) {
      int64_t m = l;
      while (m < n - 1 && e[m] > kSquare * std::abs(d[m] * d[m + 1])) m++;
      if (m < n - 1) e[m] = 0;
      if (m == l) break;
      if (step == kMostSteps) return false;
      const R root = std::sqrt(e[l]);
      R sigma = (d[l + 1] - d[l]) / (2 * root);
      const R length = std::sqrt(sigma * sigma + 1);
      sigma = d[l] - root / (sigma + (sigma >= 0 ? length : -length));
      R c = 1, s = 0, gamma = d[m] - sigma, p = gamma * gamma;
      for (int64_t i = m - 1; i >= l; i--) {
        const R beside = e[i], r = p + beside, before = c, old = gamma;
        if (i != m - 1) e[i + 1] = s * r;
        c = p / r;
        s = beside / r;
        gamma = c * (d[i] - sigma) - s * old;
        d[i + 1] = old + (d[i] - gamma);
        p = c != 0 ? gamma * gamma / c : before * beside;
      }
      e[l] = s * p;
      d[l] = sigma + gamma;
    }
  }
  return true;
}

#define WEFT_INSTANTIATE(T) \
  template void makeTridiagonal<T>(const MatrixView<T>&, RealOf<T>*, RealOf<T>*, T*, T*, const LinearWork&);
WEFT_LINEAR_TYPES(WEFT_INSTANTIATE)
#undef WEFT_INSTANTIATE

template bool makeDiagonal<float>(int64_t, float*, float*, Rotations<float>&);
template bool makeDiagonal<double>(int64_t, double*, double*, Rotations<double>&);
template bool tridiagonalValues<float>(int64_t, float*, float*);
template bool tridiagonalValues<double>(int64_t, double*, double*);

}  // namespace weft::cpu
