// Which routines of linear algebra a LAPACK does, and the memory that it asks for (lapack-rows.h).
#include <cmath>

#include "cpu/lapack-call.h"
#include "cpu/lapack-rows.h"

namespace weft::cpu {
namespace {

struct Row {
  LapackFunction function;
  // Rows or columns, of which there are fewer, from which on a library has a matrix. On one thread Weft's own
  // LU and Cholesky factors take no longer at any size: of 100 rows 0.85 and 0.7 of the time, of 1,000 rows
  // 0.9 and 0.8 (OpenBLAS 0.3.34, AVX-512); large ones are a library's for its way with many threads.
  int64_t least;
};

const Row& rowOf(LapackRow row) {
  static constexpr std::array<Row, 10> kRows = {{{LapackFunction::getrf, 512},
                                                 {LapackFunction::trsm, 32},
                                                 {LapackFunction::getri, 32},
                                                 {LapackFunction::potrf, 512},
                                                 {LapackFunction::geqrf, 2},
                                                 {LapackFunction::orgqr, 2},
                                                 {LapackFunction::syevd, 2},
                                                 {LapackFunction::geev, 2},
                                                 {LapackFunction::gesdd, 2},
                                                 {LapackFunction::gelsd, 2}}};
  return kRows[static_cast<size_t>(row)];
}

// Real matrices of fewer rows or columns, of which vectors are wanted, are Weft's: of 16 and 32 rows QR and
// least squares take half the time, singular vectors 0.75, eigenvectors 0.8; complex ones take longer.
constexpr int64_t kLeastOfVectors = 33;

bool isSmallOfVectors(const LapackProblem& problem) {
  const bool isReal = problem.dtype == DType::float32 || problem.dtype == DType::float64;
  switch (problem.row) {
    case LapackRow::qr:
    case LapackRow::qOfQr:
    case LapackRow::leastSquares:
      break;
    case LapackRow::eigh:
    case LapackRow::svd:
      if (problem.wanted == 0) return false;
      break;
    default:
      return false;
  }
  return isReal && std::min(problem.rows, problem.columns) < kLeastOfVectors;
}

size_t padded(size_t bytes) { return (bytes + kHostAlignment - 1) / kHostAlignment * kHostAlignment; }
size_t sizeOf(DType dtype) { return static_cast<size_t>(kElementBytes[static_cast<int>(dtype)]); }

// A size that a library gave as a number: single precision rounds large ones.
template <typename T>
int64_t sizeIn(T number) {
  const double given = static_cast<double>(realPart(number));
  return static_cast<int64_t>(given < (1 << 24) ? given : std::ceil(given * (1 + 0x1p-23)));
}

constexpr int64_t kAsk = -1;

// The sizes that a function asks for.
template <typename T>
struct Asked {
  T work{};
  RealOf<T> reals{};
  // Of which a library may set the first half alone.
  int64_t integers = 0;
  int64_t info = 0;
};

template <typename T>
void askForInverse(LapackChoice& c) {
  const int64_t n = c.problem.rows;
  Asked<T> asked;
  T none{};
  callFortran(c.function, &n, &none, &n, &asked.integers, &asked.work, &kAsk, &asked.info);
  c.work = sizeIn(asked.work);
  // Pivots in the library's integers.
  c.integers = n;
}

template <typename T>
void askForVectorsOfQ(LapackChoice& c) {
  const auto& [row, dtype, m, n, wanted] = c.problem;
  Asked<T> asked;
  T none{};
  if (row == LapackRow::qr) {
    callFortran(c.function, &m, &n, &none, &m, &none, &asked.work, &kAsk, &asked.info);
  } else {
    const int64_t reflectors = std::min({m, n, wanted});
    callFortran(c.function, &m, &wanted, &reflectors, &none, &m, &none, &asked.work, &kAsk, &asked.info);
  }
  c.work = sizeIn(asked.work);
}

template <typename T>
void askForEigh(LapackChoice& c) {
  const int64_t n = c.problem.rows;
  const bool hasVectors = c.problem.wanted > 0;
  const char* const job = hasVectors ? "V" : "N";
  Asked<T> asked;
  T none{};
  RealOf<T> value{};
  if constexpr (kIsComplex<T>) {
    callFortran(c.function, job, "L", &n, &none, &n, &value, &asked.work, &kAsk, &asked.reals, &kAsk,
                &asked.integers, &kAsk, &asked.info, kOneLetter, kOneLetter);
    c.reals = sizeIn(asked.reals);
  } else {
    callFortran(c.function, job, "L", &n, &none, &n, &value, &asked.work, &kAsk, &asked.integers, &kAsk,
                &asked.info, kOneLetter, kOneLetter);
  }
  c.work = sizeIn(asked.work);
  c.integers = asked.integers;
  c.copies = hasVectors ? 0 : n * n;
}

template <typename T>
void askForEig(LapackChoice& c) {
  const int64_t n = c.problem.rows, one = 1;
  const bool hasVectors = c.problem.wanted > 0;
  const char* const job = hasVectors ? "V" : "N";
  Asked<T> asked;
  T none{};
  RealOf<T> real{};
  if constexpr (kIsComplex<T>) {
    callFortran(c.function, "N", job, &n, &none, &n, &none, &none, &one, &none, &n, &asked.work, &kAsk, &real,
                &asked.info, kOneLetter, kOneLetter);
  } else {
    callFortran(c.function, "N", job, &n, &none, &n, &real, &real, &none, &one, &none, &n, &asked.work, &kAsk,
                &asked.info, kOneLetter, kOneLetter);
  }
  c.work = sizeIn(asked.work);
  // Real and imaginary parts of a real matrix's values, or what a complex one works in.
  c.reals = 2 * n;
  c.copies = n * n;
}

template <typename T>
void askForSvd(LapackChoice& c) {
  const int64_t m = c.problem.rows, n = c.problem.columns;
  const bool hasVectors = c.problem.wanted > 0;
  const char* const job = hasVectors ? "S" : "N";
  Asked<T> asked;
  T none{};
  RealOf<T> real{};
  if constexpr (kIsComplex<T>) {
    callFortran(c.function, job, &m, &n, &none, &m, &real, &none, &m, &none, &n, &asked.work, &kAsk, &real,
                &asked.integers, &asked.info, kOneLetter);
    // No function asks for these: LAPACK 3.6 and earlier, and later ones.
    c.reals = hasVectors ? std::max(5 * n * n + 5 * n, 2 * m * n + 2 * n * n + n) : 7 * n;
  } else {
    callFortran(c.function, job, &m, &n, &none, &m, &real, &none, &m, &none, &n, &asked.work, &kAsk,
                &asked.integers, &asked.info, kOneLetter);
  }
  c.work = sizeIn(asked.work);
  c.integers = 8 * n;
  c.copies = m * n;
}

template <typename T>
void askForLeastSquares(LapackChoice& c) {
  const auto& [row, dtype, m, n, sides] = c.problem;
  const int64_t most = std::max(m, n);
  Asked<T> asked;
  T none{};
  RealOf<T> real{}, rcond{};
  int64_t rank = 0;
  if constexpr (kIsComplex<T>) {
    callFortran(c.function, &m, &n, &sides, &none, &m, &none, &most, &real, &rcond, &rank, &asked.work, &kAsk,
                &asked.reals, &asked.integers, &asked.info);
    c.reals = sizeIn(asked.reals);
  } else {
    callFortran(c.function, &m, &n, &sides, &none, &m, &none, &most, &real, &rcond, &rank, &asked.work, &kAsk,
                &asked.integers, &asked.info);
  }
  c.work = sizeIn(asked.work);
  c.integers = asked.integers;
  // The matrix, and right sides that are solutions in the end.
  c.copies = m * n + most * sides;
}

template <typename T>
void askForMemory(LapackChoice& c) {
  switch (c.problem.row) {
    case LapackRow::inverse:
      return askForInverse<T>(c);
    case LapackRow::qr:
    case LapackRow::qOfQr:
      return askForVectorsOfQ<T>(c);
    case LapackRow::eigh:
      return askForEigh<T>(c);
    case LapackRow::eig:
      return askForEig<T>(c);
    case LapackRow::svd:
      return askForSvd<T>(c);
    case LapackRow::leastSquares:
      return askForLeastSquares<T>(c);
    default:
      return;
  }
}

}  // namespace

size_t LapackChoice::bytes() const {
  if (lapack == nullptr) return 0;
  const size_t size = sizeOf(problem.dtype);
  return padded(static_cast<size_t>(work) * size) + padded(static_cast<size_t>(copies) * size) +
         padded(static_cast<size_t>(reals) * sizeof(double)) +
         padded(static_cast<size_t>(integers) * sizeof(int64_t));
}

std::string LapackChoice::text() const {
  if (lapack == nullptr) return {};
  return lapackName(problem.dtype, rowOf(problem.row).function) + " of " + lapack->library.name + " (" +
         lapack->library.path + ")";
}

std::shared_ptr<const LapackChoice> lapackChoice(const LapackProblem& problem) {
  auto choice = std::make_shared<LapackChoice>();
  choice->problem = problem;
  const Row& row = rowOf(problem.row);
  if (std::min(problem.rows, problem.columns) < row.least || isSmallOfVectors(problem)) return choice;
  const Lapack* const lapack = lapackInUse();
  if (lapack == nullptr) return choice;
  choice->function = lapack->function(problem.dtype, row.function);
  if (choice->function == nullptr) return choice;
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  const bool takesAll = lapack->wideIntegers;
  if (!takesAll && std::max({problem.rows, problem.columns, problem.wanted}) > kMost) return choice;
  withLinear(problem.dtype, [&](auto zero) { askForMemory<decltype(zero)>(*choice); });
  if (!takesAll && std::max(choice->work, choice->reals) > kMost) return choice;
  choice->lapack = lapack;
  return choice;
}

}  // namespace weft::cpu
