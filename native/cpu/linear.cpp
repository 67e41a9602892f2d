#include "cpu/linear.h"

#include "cpu/isa.h"
#include "runtime/host-pool.h"

namespace weft::cpu {

#define WEFT_DECLARE_LINEAR(isa)      \
  namespace isa {                     \
  const LinearTables& linearTables(); \
  }
WEFT_DECLARE_LINEAR(baseline)
#ifdef WEFT_HAS_AVX
WEFT_DECLARE_LINEAR(avx2)
WEFT_DECLARE_LINEAR(avx512)
#endif
#undef WEFT_DECLARE_LINEAR

namespace {

// Triangles of at most so many rows are solved without products.
constexpr int64_t kTriangle = 16;
// Columns in column-major order that are solved together, each row of theirs by vectors.
constexpr int64_t kTogether = 16;
// Multiply-adds of a task of columns.
constexpr int64_t kTaskWork = int64_t{1} << 16;

const LinearTables& tables() {
#ifdef WEFT_HAS_AVX
  if (currentIsa() == Isa::avx512) return avx512::linearTables();
  if (currentIsa() == Isa::avx2) return avx2::linearTables();
#endif
  return baseline::linearTables();
}

template <typename T>
Matrix operandOf(const MatrixView<T>& m) {
  return {m.data, 0, m.rowStride, m.columnStride};
}

size_t bytesOf(DType dtype) { return static_cast<size_t>(kElementBytes[static_cast<int>(dtype)]); }
size_t padded(size_t bytes) { return (bytes + kHostAlignment - 1) / kHostAlignment * kHostAlignment; }

// The negative of a matrix, column after column.
template <typename T>
MatrixView<T> negated(const MatrixView<T>& from, bool conjugates, T* to) {
  for (int64_t j = 0; j < from.columns; j++)
    for (int64_t i = 0; i < from.rows; i++)
      to[j * from.rows + i] = -(conjugates ? conjugate(from.at(i, j)) : from.at(i, j));
  return columnMajor(to, from.rows, from.columns);
}

// b = a⁻¹ b of one column: each element that is found is taken off the others.
template <typename T>
void solveColumn(const MatrixView<T>& a, TriangleForm form, const MatrixView<T>& b) {
  const int64_t n = a.rows;
  const auto elementOf = [&](int64_t i, int64_t j) {
    return form.conjugates ? conjugate(a.at(i, j)) : a.at(i, j);
  };
  for (int64_t k = 0; k < n; k++) {
    const int64_t j = form.isUpper ? n - 1 - k : k;
    if (!form.hasUnitDiagonal) b.at(j, 0) = b.at(j, 0) / elementOf(j, j);
    const T found = b.at(j, 0);
    const int64_t first = form.isUpper ? 0 : j + 1, last = form.isUpper ? j : n;
    for (int64_t i = first; i < last; i++) b.at(i, 0) = b.at(i, 0) - elementOf(i, j) * found;
  }
}

template <typename T>
void solveSmall(const MatrixView<T>& a, TriangleForm form, const MatrixView<T>& b) {
  if (b.columns == 1) return solveColumn(a, form, b);
  const int64_t n = a.rows;
  T dense[kTriangle * kTriangle];
  for (int64_t j = 0; j < n; j++)
    for (int64_t i = 0; i < n; i++)
      dense[i * kTriangle + j] = form.conjugates ? conjugate(a.at(i, j)) : a.at(i, j);
  const LinearKernels<T>& kernels = linearKernels<T>();
  const auto rowOf = [&](int64_t k) { return form.isUpper ? n - 1 - k : k; };
  // Solves rows of columns side by side, the k-th that is solved at rows + k * stride.
  const auto solveRows = [&](int64_t columns, T* rows, int64_t stride) {
    for (int64_t k = 0; k < n; k++) {
      const int64_t i = rowOf(k);
      T factors[kTriangle];
      for (int64_t before = 0; before < k; before++) factors[before] = -dense[i * kTriangle + rowOf(before)];
      T* const row = rows + k * stride;
      kernels.addColumns(columns, k, factors, rows, stride, row);
      if (form.hasUnitDiagonal) continue;
      for (int64_t c = 0; c < columns; c++) row[c] = row[c] / dense[i * kTriangle + i];
    }
  };
  if (b.columnStride == 1 && b.columns > 1)
    return solveRows(b.columns, &b.at(rowOf(0), 0), form.isUpper ? -b.rowStride : b.rowStride);
  int64_t j = 0;
  for (; j + kTogether <= b.columns; j += kTogether) {
    T rows[kTriangle * kTogether];
    for (int64_t c = 0; c < kTogether; c++)
      for (int64_t k = 0; k < n; k++) rows[k * kTogether + c] = b.at(rowOf(k), j + c);
    solveRows(kTogether, rows, kTogether);
    for (int64_t c = 0; c < kTogether; c++)
      for (int64_t k = 0; k < n; k++) b.at(rowOf(k), j + c) = rows[k * kTogether + c];
  }
  for (; j < b.columns; j++) solveColumn(a, form, b.part(0, j, n, 1));
}

}  // namespace

template <>
const LinearKernels<float>& linearKernels<float>() {
  return *tables().float32;
}
template <>
const LinearKernels<double>& linearKernels<double>() {
  return *tables().float64;
}
template <>
const LinearKernels<Complex<float>>& linearKernels<Complex<float>>() {
  return *tables().complex64;
}
template <>
const LinearKernels<Complex<double>>& linearKernels<Complex<double>>() {
  return *tables().complex128;
}
template <>
const RealKernels<float>& realKernels<float>() {
  return *tables().real32;
}
template <>
const RealKernels<double>& realKernels<double>() {
  return *tables().real64;
}

size_t productBytes(DType dtype, int64_t wide, int64_t narrow, int64_t elements) {
  if (narrow == 0) return 0;
  const Matrix none{nullptr, 0, 1, wide};
  const Matmul job{dtype, wide, wide, narrow, 1, none, none, none};
  return padded(static_cast<size_t>(elements) * bytesOf(dtype)) +
         padded(addWorkspace(job, sharedPool()).most);
}

namespace {

// Columns whose factors are negated at a time.
constexpr int64_t kFactors = 64;

// y -= a x, columns of a without gaps.
template <typename T>
void subtractColumns(const MatrixView<T>& y, const MatrixView<T>& a, const MatrixView<T>& x) {
  T factors[kFactors];
  for (int64_t first = 0; first < a.columns; first += kFactors) {
    const int64_t count = std::min(kFactors, a.columns - first);
    for (int64_t k = 0; k < count; k++) factors[k] = -x.at(first + k, 0);
    linearKernels<T>().addColumns(a.rows, count, factors, &a.at(0, first), a.columnStride, y.data);
  }
}

// c += a b, in memory for packed operands.
template <typename T>
void addOperands(const MatrixView<T>& c, const MatrixView<T>& a, const MatrixView<T>& b,
                 const LinearWork& work, Workspace memory) {
  Matmul job{kLinearDType<T>, c.rows, c.columns, a.columns, 1, operandOf(a), operandOf(b), operandOf(c)};
  job.ownKernels = std::max({c.rows, c.columns, a.columns}) <= kOneThreadSize;
  addProduct(job, work.pool, work.cancel, memory);
}

}  // namespace

template <typename T>
void accumulateProduct(const MatrixView<T>& c, const MatrixView<T>& a, const MatrixView<T>& b,
                       const LinearWork& work) {
  if (c.rows == 0 || c.columns == 0 || a.columns == 0) return;
  addOperands(c, a, b, work, work.workspace);
}

template <typename T>
void subtractProduct(const MatrixView<T>& c, const MatrixView<T>& a, const MatrixView<T>& b, bool conjugates,
                     const LinearWork& work) {
  if (c.rows == 0 || c.columns == 0 || a.columns == 0) return;
  if (c.columns == 1 && !conjugates && c.rowStride == 1 && a.rowStride == 1 &&
      std::max(a.rows, a.columns) <= kOneThreadSize)
    return subtractColumns(c, a, b);
  const bool copiesB = conjugates || b.rows * b.columns <= a.rows * a.columns;
  const MatrixView<T>& copied = copiesB ? b : a;
  const size_t copyBytes = padded(static_cast<size_t>(copied.rows * copied.columns) * sizeof(T));
  host::Block own;
  Workspace memory = work.workspace;
  if (memory.byteLength < copyBytes) {
    own = host::allocate(copyBytes, host::Purpose::work);
    memory = {own.as<std::byte>(), copyBytes};
  }
  const MatrixView<T> negative = negated(copied, conjugates && copiesB, reinterpret_cast<T*>(memory.data));
  addOperands(c, copiesB ? a : negative, copiesB ? negative : b, work,
              {memory.data + copyBytes, memory.byteLength - copyBytes});
}

template <typename T>
void solveTriangle(const MatrixView<T>& a, TriangleForm form, const MatrixView<T>& b,
                   const LinearWork& work) {
  const int64_t n = a.rows;
  if (n == 0 || b.columns == 0) return;
  if (n <= kTriangle) {
    const int64_t size = std::max<int64_t>(1, kTaskWork / (n * n));
    const int64_t tasks = (b.columns + size - 1) / size;
    if (tasks == 1) return solveSmall(a, form, b);
    work.pool.parallelFor(tasks, [&](int64_t task, int) {
      const int64_t first = task * size;
      solveSmall(a, form, b.part(0, first, n, std::min(size, b.columns - first)));
    });
    return;
  }
  const int64_t half = (n / 2 + kTriangle - 1) / kTriangle * kTriangle, rest = n - half;
  const MatrixView<T> top = b.part(0, 0, half, b.columns), bottom = b.part(half, 0, rest, b.columns);
  const MatrixView<T> first = a.part(0, 0, half, half), last = a.part(half, half, rest, rest);
  // Products take conjugates of the second factor alone.
  const auto subtract = [&](const MatrixView<T>& c, const MatrixView<T>& from, const MatrixView<T>& x) {
    if (!form.conjugates) return subtractProduct(c, from, x, false, work);
    subtractProduct(c.transposed(), x.transposed(), from.transposed(), true, work);
  };
  if (form.isUpper) {
    solveTriangle(last, form, bottom, work);
    subtract(top, a.part(0, half, half, rest), bottom);
    solveTriangle(first, form, top, work);
  } else {
    solveTriangle(first, form, top, work);
    subtract(bottom, a.part(half, 0, rest, half), top);
    solveTriangle(last, form, bottom, work);
  }
}

#define WEFT_INSTANTIATE(T)                                                                                \
  template void accumulateProduct<T>(const MatrixView<T>&, const MatrixView<T>&, const MatrixView<T>&,     \
                                     const LinearWork&);                                                   \
  template void subtractProduct<T>(const MatrixView<T>&, const MatrixView<T>&, const MatrixView<T>&, bool, \
                                   const LinearWork&);                                                     \
  template void solveTriangle<T>(const MatrixView<T>&, TriangleForm, const MatrixView<T>&, const LinearWork&);
WEFT_LINEAR_TYPES(WEFT_INSTANTIATE)
#undef WEFT_INSTANTIATE

}  // namespace weft::cpu
