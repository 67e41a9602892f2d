// A simulated LAPACK, for tests: the functions that Weft's CPU calls by their Fortran names, as textbooks
// have them. It refuses arguments as the real one documents them (a negative `info`, or the end of the
// process where there is none), and writes over all the memory that it is given to work in.
//
// With WEFT_SIM_LAPACK_64 integers are 64-bit and names end with `64_`; general eigenvalues are missing.
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <type_traits>

#include "cusolver/eigenvalues.h"

using namespace weft::sim;

namespace {

#ifdef WEFT_SIM_LAPACK_64
using Int = int64_t;
#define WEFT_NAME(name) name##_64_
#else
using Int = int32_t;
#define WEFT_NAME(name) name##_
#endif

template <typename T>
struct Type;
template <>
struct Type<float> {
  static constexpr int kCode = kReal32;
  using Real = float;
};
template <>
struct Type<double> {
  static constexpr int kCode = kReal64;
  using Real = double;
};
template <>
struct Type<std::complex<float>> {
  static constexpr int kCode = kComplex32;
  using Real = float;
};
template <>
struct Type<std::complex<double>> {
  static constexpr int kCode = kComplex64;
  using Real = double;
};
template <typename T>
using RealOf = typename Type<T>::Real;
template <typename T>
constexpr bool kIsComplex = !std::is_same_v<T, RealOf<T>>;

template <typename T>
Dense read(const T* a, Int rows, Int columns) {
  return readMatrix(a, Type<T>::kCode, rows, columns);
}
template <typename T>
void write(T* a, const Dense& m) {
  writeMatrix(a, Type<T>::kCode, m);
}

bool isOneOf(const char* given, const char* letters) {
  for (; *letters != 0; letters++)
    if (*given == *letters) return true;
  return false;
}

// Writes over a workspace.
template <typename T>
void soil(T* work, Int count) {
  for (Int k = 0; k < count; k++) work[k] = std::numeric_limits<RealOf<T>>::quiet_NaN();
}

// Answers a question for a size, or checks the size that is given; whether the call goes on.
template <typename T>
bool hasWork(T* work, const Int* given, Int wanted, Int place, Int* info) {
  *info = 0;
  if (*given == -1) {
    work[0] = static_cast<RealOf<T>>(wanted);
    return false;
  }
  if (*given >= wanted) return true;
  *info = -place;
  return false;
}

// ---------------------------------------------------------------- systems

template <typename T>
void trsm(const char* side, const char* uplo, const char* op, const char* diagonal, const Int* m,
          const Int* n, const T* alpha, const T* a, const Int* lda, T* b, const Int* ldb) {
  const bool fits = *side == 'L' && isOneOf(uplo, "UL") && isOneOf(op, "NTC") && isOneOf(diagonal, "UN") &&
                    *m >= 0 && *n >= 0 && *lda >= *m && *ldb >= *m && *alpha == T(1);
  if (!fits) {
    std::fputs("simulated BLAS: arguments of trsm\n", stderr);
    std::abort();
  }
  Dense triangle = read(a, *m, *m), x = read(b, *m, *n);
  const int form = *op == 'N' ? 0 : *op == 'T' ? 1 : 2;
  solveTriangle(triangle, form, (*uplo == 'U') == (form == 0), *diagonal == 'U', x);
  write(b, x);
}

template <typename T>
void getrf(const Int* m, const Int* n, T* a, const Int* lda, Int* pivots, Int* info) {
  if (*lda < *m) {
    *info = -4;
    return;
  }
  Dense lu = read(a, *m, *n);
  std::vector<int64_t> found;
  *info = factorLu(lu, found);
  write(a, lu);
  for (size_t k = 0; k < found.size(); k++) pivots[k] = static_cast<Int>(found[k]);
}

// The columns of the inverse are solutions with those of the identity.
template <typename T>
void getri(const Int* n, T* a, const Int* lda, const Int* pivots, T* work, const Int* lwork, Int* info) {
  if (!hasWork(work, lwork, *n, 6, info) || *lda < *n) return;
  Dense lu = read(a, *n, *n);
  for (Int k = 0; k < *n; k++)
    if (lu.at(k, k) == 0.0) {
      *info = k + 1;
      return;
    }
  Dense x(*n, *n);
  for (Int k = 0; k < *n; k++) x.at(k, k) = 1;
  const std::vector<int64_t> exchanged(pivots, pivots + *n);
  solveLu(lu, exchanged, 0, x);
  write(a, x);
  soil(work, *n);
}

template <typename T>
void potrf(const char* uplo, const Int* n, T* a, const Int* lda, Int* info) {
  *info = isOneOf(uplo, "UL") && *lda >= *n ? 0 : -1;
  if (*info != 0) return;
  Dense factor = read(a, *n, *n);
  *info = factorCholesky(factor, *uplo == 'U');
  write(a, factor);
}

// ---------------------------------------------------------------- QR

template <typename T>
void geqrf(const Int* m, const Int* n, T* a, const Int* lda, T* taus, T* work, const Int* lwork, Int* info) {
  if (!hasWork(work, lwork, *n + 3, 7, info) || *lda < *m) return;
  Dense factors = read(a, *m, *n);
  const std::vector<Number> found = factorQr(factors);
  soil(work, *lwork);
  write(a, factors);
  for (size_t k = 0; k < found.size(); k++)
    writeNumber(taus, Type<T>::kCode, static_cast<int64_t>(k), found[k]);
}

template <typename T>
void orgqr(const Int* m, const Int* n, const Int* k, T* a, const Int* lda, const T* taus, T* work,
           const Int* lwork, Int* info) {
  if (!hasWork(work, lwork, *n + 5, 8, info) || *lda < *m) return;
  if (*n > *m || *k > *n) {
    *info = -2;
    return;
  }
  Dense factors = read(a, *m, *k);
  std::vector<Number> given;
  for (Int i = 0; i < *k; i++) given.push_back(readNumber(taus, Type<T>::kCode, i));
  soil(work, *lwork);
  write(a, columnsOfQ(factors, given, *n));
}

// ---------------------------------------------------------------- values

template <typename T>
Int decomposeTriangle(const char* job, const char* uplo, Int n, T* a, RealOf<T>* values) {
  if (!isOneOf(job, "NV") || !isOneOf(uplo, "UL")) return -1;
  Dense whole = read(a, n, n);
  for (Int j = 0; j < n; j++) {
    whole.at(j, j) = whole.at(j, j).real();
    for (Int i = 0; i < j; i++) {
      if (*uplo == 'U')
        whole.at(j, i) = std::conj(whole.at(i, j));
      else
        whole.at(i, j) = std::conj(whole.at(j, i));
    }
  }
  const std::vector<double> found = decomposeHermitian(whole);
  for (size_t k = 0; k < found.size(); k++) values[k] = static_cast<RealOf<T>>(found[k]);
  write(a, whole);
  return 0;
}

template <typename T>
void syevd(const char* job, const char* uplo, const Int* n, T* a, const Int* lda, T* values, T* work,
           const Int* lwork, Int* integers, const Int* lintegers, Int* info) {
  if (*lwork == -1) integers[0] = 3 + 5 * *n;
  if (!hasWork(work, lwork, 1 + 6 * *n, 8, info) || *lda < *n) return;
  *info = *lintegers >= 3 + 5 * *n ? decomposeTriangle(job, uplo, *n, a, values) : -10;
  soil(work, *lwork);
  std::fill_n(integers, *lintegers, Int{-1});
}

template <typename T>
void heevd(const char* job, const char* uplo, const Int* n, T* a, const Int* lda, RealOf<T>* values, T* work,
           const Int* lwork, RealOf<T>* reals, const Int* lreals, Int* integers, const Int* lintegers,
           Int* info) {
  if (*lwork == -1) {
    reals[0] = static_cast<RealOf<T>>(1 + 5 * *n);
    integers[0] = 3 + 5 * *n;
  }
  if (!hasWork(work, lwork, 2 * *n + 1, 8, info) || *lda < *n) return;
  const bool fits = *lreals >= 1 + 5 * *n && *lintegers >= 3 + 5 * *n;
  *info = fits ? decomposeTriangle(job, uplo, *n, a, values) : -10;
  soil(work, *lwork);
  soil(reals, *lreals);
  std::fill_n(integers, *lintegers, Int{-1});
}

// The first columns of U, and all of Vᴴ.
template <typename T>
Int decomposeAll(const char* job, Int m, Int n, T* a, RealOf<T>* values, T* u, T* vt) {
  if (!isOneOf(job, "NS") || m < n) return -1;
  SingularValues found = decompose(read(a, m, n), n);
  for (Int k = 0; k < n; k++) values[k] = static_cast<RealOf<T>>(found.values[static_cast<size_t>(k)]);
  soil(a, m * n);
  if (*job == 'N') return 0;
  write(u, found.u);
  Dense turned(n, n);
  for (Int j = 0; j < n; j++)
    for (Int i = 0; i < n; i++) turned.at(i, j) = std::conj(found.v.at(j, i));
  write(vt, turned);
  return 0;
}

template <typename T>
void gesddReal(const char* job, const Int* m, const Int* n, T* a, const Int*, T* values, T* u, const Int*,
               T* vt, const Int*, T* work, const Int* lwork, Int* integers, Int* info) {
  if (!hasWork(work, lwork, 7 * *n + *m, 12, info)) return;
  *info = decomposeAll(job, *m, *n, a, values, u, vt);
  soil(work, *lwork);
  std::fill_n(integers, 8 * *n, Int{-1});
}

template <typename T>
void gesddComplex(const char* job, const Int* m, const Int* n, T* a, const Int*, RealOf<T>* values, T* u,
                  const Int*, T* vt, const Int*, T* work, const Int* lwork, RealOf<T>* reals, Int* integers,
                  Int* info) {
  if (!hasWork(work, lwork, 3 * *n + *m, 12, info)) return;
  *info = decomposeAll(job, *m, *n, a, values, u, vt);
  soil(work, *lwork);
  soil(reals, *job == 'N' ? 7 * *n : std::max(5 * *n * *n + 5 * *n, 2 * *m * *n + 2 * *n * *n + *n));
  std::fill_n(integers, 8 * *n, Int{-1});
}

// The solutions of least squares in place of right sides, by the singular values larger than a part of the
// largest.
template <typename T>
Int solveLeastSquares(Int m, Int n, Int sides, T* a, T* b, Int ldb, RealOf<T>* values, RealOf<T> rcond,
                      Int* rank) {
  const Int least = std::min(m, n);
  if (ldb < std::max(m, n) || rcond < 0) return -7;
  Dense given = read(a, m, n), tall(std::max(m, n), least);
  for (Int j = 0; j < n; j++)
    for (Int i = 0; i < m; i++) {
      if (m >= n)
        tall.at(i, j) = given.at(i, j);
      else
        tall.at(j, i) = std::conj(given.at(i, j));
    }
  SingularValues found = decompose(tall, least);
  // Of A = U S Vᴴ.
  Dense &u = m >= n ? found.u : found.v, &v = m >= n ? found.v : found.u;
  const double limit = static_cast<double>(rcond) * found.values[0];
  *rank = 0;
  for (Int k = 0; k < least; k++) {
    const double value = found.values[static_cast<size_t>(k)];
    values[k] = static_cast<RealOf<T>>(value);
    *rank += value > limit ? 1 : 0;
  }
  for (Int j = 0; j < sides; j++) {
    std::vector<Number> x(static_cast<size_t>(n));
    for (Int k = 0; k < *rank; k++) {
      Number sum = 0;
      for (Int i = 0; i < m; i++)
        sum += std::conj(u.at(i, k)) * readNumber(b, Type<T>::kCode, int64_t{j} * ldb + i);
      for (Int i = 0; i < n; i++)
        x[static_cast<size_t>(i)] += v.at(i, k) * sum / found.values[static_cast<size_t>(k)];
    }
    // Rows behind a solution are the residuals' in a real library: nothing that may be taken for one.
    soil(b + int64_t{j} * ldb, ldb);
    for (Int i = 0; i < n; i++)
      writeNumber(b, Type<T>::kCode, int64_t{j} * ldb + i, x[static_cast<size_t>(i)]);
  }
  soil(a, m * n);
  return 0;
}

template <typename T>
void gelsdReal(const Int* m, const Int* n, const Int* sides, T* a, const Int*, T* b, const Int* ldb,
               T* values, const T* rcond, Int* rank, T* work, const Int* lwork, Int* integers, Int* info) {
  const Int lintegers = 11 * std::min(*m, *n);
  if (*lwork == -1) integers[0] = lintegers;
  if (!hasWork(work, lwork, 12 * *n + *m + *sides, 12, info)) return;
  *info = solveLeastSquares(*m, *n, *sides, a, b, *ldb, values, *rcond, rank);
  soil(work, *lwork);
  std::fill_n(integers, lintegers, Int{-1});
}

template <typename T>
void gelsdComplex(const Int* m, const Int* n, const Int* sides, T* a, const Int*, T* b, const Int* ldb,
                  RealOf<T>* values, const RealOf<T>* rcond, Int* rank, T* work, const Int* lwork,
                  RealOf<T>* reals, Int* integers, Int* info) {
  const Int lreals = 10 * *n + *sides, lintegers = 11 * std::min(*m, *n);
  if (*lwork == -1) {
    reals[0] = static_cast<RealOf<T>>(lreals);
    integers[0] = lintegers;
  }
  if (!hasWork(work, lwork, 2 * *n + *m + *sides, 12, info)) return;
  *info = solveLeastSquares(*m, *n, *sides, a, b, *ldb, values, *rcond, rank);
  soil(work, *lwork);
  soil(reals, lreals);
  std::fill_n(integers, lintegers, Int{-1});
}

// As if they never converged: values that nothing may take.
template <typename T>
void geevReal(const char*, const char* job, const Int* n, T*, const Int*, T* re, T* im, T*, const Int*, T*,
              const Int*, T* work, const Int* lwork, Int* info) {
  if (!hasWork(work, lwork, 4 * *n, 13, info)) return;
  *info = isOneOf(job, "NV") ? 1 : -2;
  soil(re, *n);
  soil(im, *n);
  soil(work, *lwork);
}

template <typename T>
void geevComplex(const char*, const char* job, const Int* n, T*, const Int*, T* values, T*, const Int*, T*,
                 const Int*, T* work, const Int* lwork, RealOf<T>* reals, Int* info) {
  if (!hasWork(work, lwork, 2 * *n, 12, info)) return;
  *info = isOneOf(job, "NV") ? 1 : -2;
  soil(values, *n);
  soil(work, *lwork);
  soil(reals, 2 * *n);
}

}  // namespace

#define WEFT_EXPORT extern "C" __attribute__((visibility("default"))) void

// The functions of every dtype, by Fortran's names.
#define WEFT_SYSTEMS(s, q, T)                                                                              \
  WEFT_EXPORT WEFT_NAME(s##trsm)(const char* side, const char* uplo, const char* op, const char* diagonal, \
                                 const Int* m, const Int* n, const T* alpha, const T* a, const Int* lda,   \
                                 T* b, const Int* ldb) {                                                   \
    trsm(side, uplo, op, diagonal, m, n, alpha, a, lda, b, ldb);                                           \
  }                                                                                                        \
  WEFT_EXPORT WEFT_NAME(s##getrf)(const Int* m, const Int* n, T* a, const Int* lda, Int* pivots,           \
                                  Int* info) {                                                             \
    getrf(m, n, a, lda, pivots, info);                                                                     \
  }                                                                                                        \
  WEFT_EXPORT WEFT_NAME(s##getri)(const Int* n, T* a, const Int* lda, const Int* pivots, T* work,          \
                                  const Int* lwork, Int* info) {                                           \
    getri(n, a, lda, pivots, work, lwork, info);                                                           \
  }                                                                                                        \
  WEFT_EXPORT WEFT_NAME(s##potrf)(const char* uplo, const Int* n, T* a, const Int* lda, Int* info) {       \
    potrf(uplo, n, a, lda, info);                                                                          \
  }                                                                                                        \
  WEFT_EXPORT WEFT_NAME(s##geqrf)(const Int* m, const Int* n, T* a, const Int* lda, T* taus, T* work,      \
                                  const Int* lwork, Int* info) {                                           \
    geqrf(m, n, a, lda, taus, work, lwork, info);                                                          \
  }                                                                                                        \
  WEFT_EXPORT WEFT_NAME(s##q##gqr)(const Int* m, const Int* n, const Int* k, T* a, const Int* lda,         \
                                   const T* taus, T* work, const Int* lwork, Int* info) {                  \
    orgqr(m, n, k, a, lda, taus, work, lwork, info);                                                       \
  }
WEFT_SYSTEMS(s, or, float)
WEFT_SYSTEMS(d, or, double)
WEFT_SYSTEMS(c, un, std::complex<float>)
WEFT_SYSTEMS(z, un, std::complex<double>)

#ifdef WEFT_SIM_LAPACK_64
#define WEFT_REAL_EIG(s, T)
#define WEFT_COMPLEX_EIG(s, T)
#else
#define WEFT_REAL_EIG(s, T)                                                                             \
  WEFT_EXPORT WEFT_NAME(s##geev)(const char* left, const char* job, const Int* n, T* a, const Int* lda, \
                                 T* re, T* im, T* vl, const Int* ldvl, T* vr, const Int* ldvr, T* work, \
                                 const Int* lwork, Int* info) {                                         \
    geevReal(left, job, n, a, lda, re, im, vl, ldvl, vr, ldvr, work, lwork, info);                      \
  }
#define WEFT_COMPLEX_EIG(s, T)                                                                          \
  WEFT_EXPORT WEFT_NAME(s##geev)(const char* left, const char* job, const Int* n, T* a, const Int* lda, \
                                 T* values, T* vl, const Int* ldvl, T* vr, const Int* ldvr, T* work,    \
                                 const Int* lwork, RealOf<T>* reals, Int* info) {                       \
    geevComplex(left, job, n, a, lda, values, vl, ldvl, vr, ldvr, work, lwork, reals, info);            \
  }
#endif

#define WEFT_REAL_VALUES(s, T)                                                                               \
  WEFT_EXPORT WEFT_NAME(s##syevd)(const char* job, const char* uplo, const Int* n, T* a, const Int* lda,     \
                                  T* values, T* work, const Int* lwork, Int* integers, const Int* lintegers, \
                                  Int* info) {                                                               \
    syevd(job, uplo, n, a, lda, values, work, lwork, integers, lintegers, info);                             \
  }                                                                                                          \
  WEFT_EXPORT WEFT_NAME(s##gesdd)(const char* job, const Int* m, const Int* n, T* a, const Int* lda,         \
                                  T* values, T* u, const Int* ldu, T* vt, const Int* ldvt, T* work,          \
                                  const Int* lwork, Int* integers, Int* info) {                              \
    gesddReal(job, m, n, a, lda, values, u, ldu, vt, ldvt, work, lwork, integers, info);                     \
  }                                                                                                          \
  WEFT_EXPORT WEFT_NAME(s##gelsd)(const Int* m, const Int* n, const Int* sides, T* a, const Int* lda, T* b,  \
                                  const Int* ldb, T* values, const T* rcond, Int* rank, T* work,             \
                                  const Int* lwork, Int* integers, Int* info) {                              \
    gelsdReal(m, n, sides, a, lda, b, ldb, values, rcond, rank, work, lwork, integers, info);                \
  }                                                                                                          \
  WEFT_REAL_EIG(s, T)
WEFT_REAL_VALUES(s, float)
WEFT_REAL_VALUES(d, double)

#define WEFT_COMPLEX_VALUES(s, T)                                                                           \
  WEFT_EXPORT WEFT_NAME(s##heevd)(const char* job, const char* uplo, const Int* n, T* a, const Int* lda,    \
                                  RealOf<T>* values, T* work, const Int* lwork, RealOf<T>* reals,           \
                                  const Int* lreals, Int* integers, const Int* lintegers, Int* info) {      \
    heevd(job, uplo, n, a, lda, values, work, lwork, reals, lreals, integers, lintegers, info);             \
  }                                                                                                         \
  WEFT_EXPORT WEFT_NAME(s##gesdd)(const char* job, const Int* m, const Int* n, T* a, const Int* lda,        \
                                  RealOf<T>* values, T* u, const Int* ldu, T* vt, const Int* ldvt, T* work, \
                                  const Int* lwork, RealOf<T>* reals, Int* integers, Int* info) {           \
    gesddComplex(job, m, n, a, lda, values, u, ldu, vt, ldvt, work, lwork, reals, integers, info);          \
  }                                                                                                         \
  WEFT_EXPORT WEFT_NAME(s##gelsd)(const Int* m, const Int* n, const Int* sides, T* a, const Int* lda, T* b, \
                                  const Int* ldb, RealOf<T>* values, const RealOf<T>* rcond, Int* rank,     \
                                  T* work, const Int* lwork, RealOf<T>* reals, Int* integers, Int* info) {  \
    gelsdComplex(m, n, sides, a, lda, b, ldb, values, rcond, rank, work, lwork, reals, integers, info);     \
  }                                                                                                         \
  WEFT_COMPLEX_EIG(s, T)
WEFT_COMPLEX_VALUES(c, std::complex<float>)
WEFT_COMPLEX_VALUES(z, std::complex<double>)
