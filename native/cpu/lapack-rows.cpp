// Calls of a LAPACK for a matrix each (lapack-rows.h).
#include "cpu/lapack-rows.h"

#include <cstring>
#include <tuple>
#include <utility>

#include "cpu/lapack-call.h"

namespace weft::cpu {
namespace {

// Where a library works: memory of a matrix, cut up as `LapackChoice` counts it.
template <typename T>
struct LapackMemory {
  LapackMemory(const LapackChoice& c, const LinearWork& work) : next_(work.workspace.data) {
    copies = take<T>(c.copies, sizeof(T));
    numbers = take<T>(c.work, sizeof(T));
    reals = take<RealOf<T>>(c.reals, sizeof(double));
    integers = take<int64_t>(c.integers, sizeof(int64_t));
  }
  T *copies, *numbers;
  RealOf<T>* reals;
  int64_t* integers;

 private:
  template <typename Element>
  Element* take(int64_t count, size_t size) {
    auto* const at = reinterpret_cast<Element*>(next_);
    next_ += (static_cast<size_t>(count) * size + kHostAlignment - 1) / kHostAlignment * kHostAlignment;
    return at;
  }
  std::byte* next_;
};

// Whether none of a matrix's elements is infinite or NaN.
template <typename T>
bool isFinite(const T* x, int64_t count) {
  bool finite = true;
  for (int64_t i = 0; i < count; i++) finite = finite & (sumOfParts(x[i]) - sumOfParts(x[i]) == 0);
  return finite;
}

template <typename T>
bool takes(const LapackChoice& c, const T* a) {
  return c.lapack != nullptr && isFinite(a, c.problem.rows * c.problem.columns);
}

SetLibraryThreads setterOf(const LapackChoice& c) { return c.lapack->library.setThreads; }

// Of an `info` whose low half a library with 32-bit integers wrote.
int32_t statusOf(int64_t info) { return static_cast<int32_t>(info); }

// 32-bit integers to 64-bit ones, in place.
void widen(int64_t* integers, int64_t count) {
  const auto* const narrow = reinterpret_cast<const std::byte*>(integers);
  for (int64_t k = count - 1; k >= 0; k--) {
    int32_t value;
    std::memcpy(&value, narrow + k * int64_t{sizeof(value)}, sizeof(value));
    integers[k] = value;
  }
}

// 64-bit integers to 32-bit ones, in place.
void narrow(int64_t* integers, int64_t count) {
  auto* const to = reinterpret_cast<std::byte*>(integers);
  for (int64_t k = 0; k < count; k++) {
    const auto value = static_cast<int32_t>(integers[k]);
    std::memcpy(to + k * int64_t{sizeof(value)}, &value, sizeof(value));
  }
}

}  // namespace

template <typename T>
bool lapackLu(const LapackChoice& c, T* a, int64_t* pivots, const LinearWork& work) {
  if (c.lapack == nullptr) return false;
  const auto [m, n] = std::pair(c.problem.rows, c.problem.columns);
  int64_t info = 0;
  const LibraryThreads own(setterOf(c), work.threads);
  callFortran(c.function, &m, &n, a, &m, pivots, &info);
  if (!c.lapack->wideIntegers) widen(pivots, std::min(m, n));
  return true;
}

template <typename T>
bool lapackInverse(const LapackChoice& c, T* lu, const int64_t* pivots, const LinearWork& work) {
  if (!takes(c, lu)) return false;
  const LapackMemory<T> memory(c, work);
  const int64_t n = c.problem.rows;
  // A run that was cancelled may have left others, with which a library would leave the matrix.
  const bool areRows = std::all_of(pivots, pivots + n, [&](int64_t row) { return row >= 1 && row <= n; });
  if (!areRows) return false;
  std::copy_n(pivots, n, memory.integers);
  if (!c.lapack->wideIntegers) narrow(memory.integers, n);
  int64_t info = 0;
  const LibraryThreads own(setterOf(c), work.threads);
  callFortran(c.function, &n, lu, &n, memory.integers, memory.numbers, &c.work, &info);
  return statusOf(info) == 0;
}

template <typename T>
bool lapackCholesky(const LapackChoice& c, bool isUpper, T* a, int32_t& status, const LinearWork& work) {
  if (!takes(c, a)) return false;
  const int64_t n = c.problem.rows;
  int64_t info = 0;
  const LibraryThreads own(setterOf(c), work.threads);
  callFortran(c.function, isUpper ? "U" : "L", &n, a, &n, &info, kOneLetter);
  status = statusOf(info);
  return true;
}

template <typename T>
bool lapackTriangle(const LapackChoice& c, bool isUpper, int64_t op, bool hasUnitDiagonal, const T* a, T* b,
                    int64_t columns, const LinearWork& work) {
  if (c.lapack == nullptr) return false;
  const int64_t n = c.problem.rows;
  constexpr std::array kOps = {"N", "T", "C"};
  const T one = ofReal<T>(1);
  const LibraryThreads own(setterOf(c), work.threads);
  callFortran(c.function, "L", isUpper ? "U" : "L", kOps[static_cast<size_t>(op)],
              hasUnitDiagonal ? "U" : "N", &n, &columns, &one, a, &n, b, &n, kOneLetter, kOneLetter,
              kOneLetter, kOneLetter);
  return true;
}

template <typename T>
bool lapackQr(const LapackChoice& c, T* a, T* taus, const LinearWork& work) {
  if (c.lapack == nullptr) return false;
  const LapackMemory<T> memory(c, work);
  const auto [m, n] = std::pair(c.problem.rows, c.problem.columns);
  int64_t info = 0;
  const LibraryThreads own(setterOf(c), work.threads);
  callFortran(c.function, &m, &n, a, &m, taus, memory.numbers, &c.work, &info);
  return true;
}

template <typename T>
bool lapackQ(const LapackChoice& c, T* q, const T* taus, int64_t reflectors, const LinearWork& work) {
  const auto [m, wanted] = std::pair(c.problem.rows, c.problem.wanted);
  const int64_t used = std::min(reflectors, wanted);
  if (c.lapack == nullptr || !isFinite(q, m * used)) return false;
  const LapackMemory<T> memory(c, work);
  std::fill_n(q + m * used, m * (wanted - used), T{});
  int64_t info = 0;
  const LibraryThreads own(setterOf(c), work.threads);
  callFortran(c.function, &m, &wanted, &used, q, &m, taus, memory.numbers, &c.work, &info);
  return true;
}

template <typename T>
bool lapackEigh(const LapackChoice& c, bool isUpper, const T* given, RealOf<T>* values, T* vectors,
                const LinearWork& work) {
  if (!takes(c, given)) return false;
  const LapackMemory<T> memory(c, work);
  const int64_t n = c.problem.rows;
  T* const a = vectors == nullptr ? memory.copies : vectors;
  std::copy_n(given, n * n, a);
  const char *const job = vectors == nullptr ? "N" : "V", *const triangle = isUpper ? "U" : "L";
  int64_t info = 0;
  const LibraryThreads own(setterOf(c), work.threads);
  if constexpr (kIsComplex<T>) {
    callFortran(c.function, job, triangle, &n, a, &n, values, memory.numbers, &c.work, memory.reals, &c.reals,
                memory.integers, &c.integers, &info, kOneLetter, kOneLetter);
  } else {
    callFortran(c.function, job, triangle, &n, a, &n, values, memory.numbers, &c.work, memory.integers,
                &c.integers, &info, kOneLetter, kOneLetter);
  }
  return statusOf(info) == 0;
}

template <typename T>
bool lapackEig(const LapackChoice& c, const T* given, Complex<RealOf<T>>* values, T* vectors,
               const LinearWork& work) {
  if (!takes(c, given)) return false;
  const LapackMemory<T> memory(c, work);
  const int64_t n = c.problem.rows, one = 1;
  std::copy_n(given, n * n, memory.copies);
  const char* const job = vectors == nullptr ? "N" : "V";
  T* const right = vectors == nullptr ? memory.numbers : vectors;
  T none{};
  int64_t info = 0;
  const LibraryThreads own(setterOf(c), work.threads);
  if constexpr (kIsComplex<T>) {
    callFortran(c.function, "N", job, &n, memory.copies, &n, values, &none, &one, right, &n, memory.numbers,
                &c.work, memory.reals, &info, kOneLetter, kOneLetter);
  } else {
    T *const re = memory.reals, *const im = memory.reals + n;
    callFortran(c.function, "N", job, &n, memory.copies, &n, re, im, &none, &one, right, &n, memory.numbers,
                &c.work, &info, kOneLetter, kOneLetter);
    for (int64_t k = 0; k < n; k++) values[k] = {re[k], im[k]};
  }
  return statusOf(info) == 0;
}

template <typename T>
bool lapackSvd(const LapackChoice& c, const T* given, RealOf<T>* values, T* u, T* vh,
               const LinearWork& work) {
  if (!takes(c, given)) return false;
  const LapackMemory<T> memory(c, work);
  const auto [m, n] = std::pair(c.problem.rows, c.problem.columns);
  std::copy_n(given, m * n, memory.copies);
  T none{};
  T *const left = u == nullptr ? &none : u, *const right = vh == nullptr ? &none : vh;
  const char* const job = u == nullptr ? "N" : "S";
  int64_t info = 0;
  const LibraryThreads own(setterOf(c), work.threads);
  if constexpr (kIsComplex<T>) {
    callFortran(c.function, job, &m, &n, memory.copies, &m, values, left, &m, right, &n, memory.numbers,
                &c.work, memory.reals, memory.integers, &info, kOneLetter);
  } else {
    callFortran(c.function, job, &m, &n, memory.copies, &m, values, left, &m, right, &n, memory.numbers,
                &c.work, memory.integers, &info, kOneLetter);
  }
  return statusOf(info) == 0;
}

template <typename T>
bool lapackLeastSquares(const LapackChoice& c, const T* a, const T* b, RealOf<T> rcond, RealOf<T>* values,
                        int64_t& rank, T* x, const LinearWork& work) {
  const auto [m, n, sides] = std::tuple(c.problem.rows, c.problem.columns, c.problem.wanted);
  if (!takes(c, a) || !isFinite(b, m * sides)) return false;
  const LapackMemory<T> memory(c, work);
  const int64_t most = std::max(m, n);
  T* const right = std::copy_n(a, m * n, memory.copies);
  for (int64_t j = 0; j < sides; j++) std::copy_n(b + j * m, m, right + j * most);
  // A library with 32-bit integers writes the low half.
  rank = 0;
  int64_t info = 0;
  const LibraryThreads own(setterOf(c), work.threads);
  if constexpr (kIsComplex<T>) {
    callFortran(c.function, &m, &n, &sides, memory.copies, &m, right, &most, values, &rcond, &rank,
                memory.numbers, &c.work, memory.reals, memory.integers, &info);
  } else {
    callFortran(c.function, &m, &n, &sides, memory.copies, &m, right, &most, values, &rcond, &rank,
                memory.numbers, &c.work, memory.integers, &info);
  }
  if (statusOf(info) != 0) return false;
  for (int64_t j = 0; j < sides; j++) std::copy_n(right + j * most, n, x + j * n);
  return true;
}

#define WEFT_INSTANTIATE(T)                                                                              \
  template bool lapackLu<T>(const LapackChoice&, T*, int64_t*, const LinearWork&);                       \
  template bool lapackInverse<T>(const LapackChoice&, T*, const int64_t*, const LinearWork&);            \
  template bool lapackCholesky<T>(const LapackChoice&, bool, T*, int32_t&, const LinearWork&);           \
  template bool lapackTriangle<T>(const LapackChoice&, bool, int64_t, bool, const T*, T*, int64_t,       \
                                  const LinearWork&);                                                    \
  template bool lapackQr<T>(const LapackChoice&, T*, T*, const LinearWork&);                             \
  template bool lapackQ<T>(const LapackChoice&, T*, const T*, int64_t, const LinearWork&);               \
  template bool lapackEigh<T>(const LapackChoice&, bool, const T*, RealOf<T>*, T*, const LinearWork&);   \
  template bool lapackEig<T>(const LapackChoice&, const T*, Complex<RealOf<T>>*, T*, const LinearWork&); \
  template bool lapackSvd<T>(const LapackChoice&, const T*, RealOf<T>*, T*, T*, const LinearWork&);      \
  template bool lapackLeastSquares<T>(const LapackChoice&, const T*, const T*, RealOf<T>, RealOf<T>*,    \
                                      int64_t&, T*, const LinearWork&);
WEFT_LINEAR_TYPES(WEFT_INSTANTIATE)
#undef WEFT_INSTANTIATE

}  // namespace weft::cpu
