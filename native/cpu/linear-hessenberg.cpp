// General matrices on their way to the Schur form: balanced, then with one diagonal below the main one.
#include "cpu/linear-schur.h"

namespace weft::cpu {
namespace {

// Columns of a task.
constexpr int64_t kTaskColumns = 32;

// The length of a row or a column, the diagonal too: beside a large one there is nothing to gain, and
// triangles would be scaled without end.
template <typename T>
RealOf<T> lengthOf(const T* x, int64_t stride, int64_t n) {
  RealOf<T> length = 0;
  for (int64_t i = 0; i < n; i++) length = std::hypot(length, modulus(x[i * stride]));
  return length;
}

}  // namespace

template <typename T>
void balance(const MatrixView<T>& a, RealOf<T>* scales) {
  using R = RealOf<T>;
  // A step that gains less than a twentieth is none.
  constexpr R kGain = R{0.95};
  // Vectors times scales neither overflow nor vanish.
  const R most = std::ldexp(R{1}, std::numeric_limits<R>::max_exponent / 2), least = 1 / most;
  const int64_t n = a.rows;
  std::fill_n(scales, n, R{1});
  for (bool isDone = false; !isDone;) {
    isDone = true;
    for (int64_t i = 0; i < n; i++) {
      R column = lengthOf(&a.at(0, i), a.rowStride, n), row = lengthOf(&a.at(i, 0), a.columnStride, n);
      if (column == 0 || row == 0) continue;
      const R sum = column + row;
      R factor = 1;
      for (; column < row / 2 && factor < most / 2 && column < most / 2 && row > 2 * least; factor *= 2) {
        column *= 2;
        row /= 2;
      }
      for (; column >= row * 2 && factor > least * 2 && row < most / 2 && column > 2 * least; factor /= 2) {
        column /= 2;
        row *= 2;
      }
      if (factor == 1 || column + row >= kGain * sum) continue;
      if (scales[i] * factor > most || scales[i] * factor < least) continue;
      isDone = false;
      scales[i] *= factor;
      for (int64_t j = 0; j < n; j++) a.at(i, j) = a.at(i, j) / factor;
      for (int64_t j = 0; j < n; j++) a.at(j, i) = factor * a.at(j, i);
    }
  }
}

template <typename T>
void makeHessenberg(const MatrixView<T>& a, T* taus, T* memory, const LinearWork& work) {
  const int64_t n = a.rows;
  const LinearKernels<T>& kernels = linearKernels<T>();
  for (int64_t k = 0; k + 2 < n; k++) {
    if (work.cancelled()) return;
    T* const v = &a.at(k + 1, k);
    const int64_t rest = n - k - 1;
    const T tau = makeReflector(rest, v), beta = *v;
    taus[k] = tau;
    if (tau == T{}) continue;
    *v = ofReal<T>(1);
    // From the right, with w = tau A v; then from the left, with the columns that this gives.
    std::fill_n(memory, n, T{});
    kernels.addColumns(n, rest, v, &a.at(0, k + 1), a.columnStride, memory);
    work.pool.parallelFor((rest + kTaskColumns - 1) / kTaskColumns, [&](int64_t task, int) {
      const int64_t last = std::min(n, k + 1 + (task + 1) * kTaskColumns);
      for (int64_t j = k + 1 + task * kTaskColumns; j < last; j++) {
        const T right = -(tau * conjugate(v[j - k - 1]));
        kernels.addColumns(n, 1, &right, memory, 0, &a.at(0, j));
        T sum;
        kernels.dots(rest, 1, v, 0, &a.at(k + 1, j), &sum);
        const T left = -(conjugate(tau) * sum);
        kernels.addColumns(rest, 1, &left, v, 0, &a.at(k + 1, j));
      }
    });
    *v = beta;
  }
}

#define WEFT_INSTANTIATE(T)                                   \
  template void balance<T>(const MatrixView<T>&, RealOf<T>*); \
  template void makeHessenberg<T>(const MatrixView<T>&, T*, T*, const LinearWork&);
WEFT_LINEAR_TYPES(WEFT_INSTANTIATE)
#undef WEFT_INSTANTIATE

}  // namespace weft::cpu
