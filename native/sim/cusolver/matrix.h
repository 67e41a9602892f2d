// Matrices of a device as complex numbers of double precision, and the algorithms of linear algebra as
// textbooks have them: slow, and unlike those that Weft's CPU has.
#pragma once
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <vector>

namespace weft::sim {

using Number = std::complex<double>;

// In column-major order.
struct Dense {
  int64_t rows = 0, columns = 0;
  std::vector<Number> elements;

  Dense(int64_t rows, int64_t columns)
      : rows(rows), columns(columns), elements(static_cast<size_t>(rows * columns)) {}
  Number& at(int64_t i, int64_t j) { return elements[static_cast<size_t>(j * rows + i)]; }
};

// cudaDataType: real and complex numbers of 32 and 64 bits.
constexpr int kReal32 = 0, kReal64 = 1, kComplex32 = 4, kComplex64 = 5;
inline bool isLinearType(int type) {
  return type == kReal32 || type == kReal64 || type == kComplex32 || type == kComplex64;
}
inline size_t bytesOfType(int type) { return type == kReal32 ? 4 : type == kComplex64 ? 16 : 8; }

inline Number readNumber(const void* array, int type, int64_t k) {
  const auto* const floats = static_cast<const float*>(array);
  const auto* const doubles = static_cast<const double*>(array);
  switch (type) {
    case kReal32:
      return static_cast<double>(floats[k]);
    case kReal64:
      return doubles[k];
    case kComplex32:
      return {static_cast<double>(floats[2 * k]), static_cast<double>(floats[2 * k + 1])};
    default:
      return {doubles[2 * k], doubles[2 * k + 1]};
  }
}
inline void writeNumber(void* array, int type, int64_t k, Number value) {
  auto* const floats = static_cast<float*>(array);
  auto* const doubles = static_cast<double*>(array);
  switch (type) {
    case kReal32:
      floats[k] = static_cast<float>(value.real());
      break;
    case kReal64:
      doubles[k] = value.real();
      break;
    case kComplex32:
      floats[2 * k] = static_cast<float>(value.real());
      floats[2 * k + 1] = static_cast<float>(value.imag());
      break;
    default:
      doubles[2 * k] = value.real();
      doubles[2 * k + 1] = value.imag();
  }
}

inline Dense readMatrix(const void* array, int type, int64_t rows, int64_t columns) {
  Dense m(rows, columns);
  for (int64_t k = 0; k < rows * columns; k++)
    m.elements[static_cast<size_t>(k)] = readNumber(array, type, k);
  return m;
}
inline void writeMatrix(void* array, int type, const Dense& m) {
  for (size_t k = 0; k < m.elements.size(); k++)
    writeNumber(array, type, static_cast<int64_t>(k), m.elements[k]);
}

// P A = L U in place; gives 0, or the first column without a pivot, counted from 1. Pivots are counted
// from 1.
inline int factorLu(Dense& a, std::vector<int64_t>& pivots) {
  int status = 0;
  for (int64_t k = 0; k < std::min(a.rows, a.columns); k++) {
    int64_t pivot = k;
    for (int64_t i = k + 1; i < a.rows; i++)
      if (std::abs(a.at(i, k)) > std::abs(a.at(pivot, k))) pivot = i;
    pivots.push_back(pivot + 1);
    for (int64_t j = 0; j < a.columns; j++) std::swap(a.at(k, j), a.at(pivot, j));
    if (a.at(k, k) == 0.0) {
      if (status == 0) status = static_cast<int>(k + 1);
      continue;
    }
    for (int64_t i = k + 1; i < a.rows; i++) {
      a.at(i, k) /= a.at(k, k);
      for (int64_t j = k + 1; j < a.columns; j++) a.at(i, j) -= a.at(i, k) * a.at(k, j);
    }
  }
  return status;
}

// Element (i, j) of a matrix, its transpose, or the conjugate of that.
inline Number turnedElement(Dense& a, int form, int64_t i, int64_t j) {
  return form == 0 ? a.at(i, j) : form == 1 ? a.at(j, i) : std::conj(a.at(j, i));
}

// b = op(a)⁻¹ b for the triangle of op(a).
inline void solveTriangle(Dense& a, int form, bool isUpper, bool hasUnitDiagonal, Dense& b) {
  for (int64_t column = 0; column < b.columns; column++) {
    for (int64_t k = 0; k < a.rows; k++) {
      const int64_t i = isUpper ? a.rows - 1 - k : k;
      Number sum = b.at(i, column);
      for (int64_t before = 0; before < k; before++) {
        const int64_t j = isUpper ? a.rows - 1 - before : before;
        sum -= turnedElement(a, form, i, j) * b.at(j, column);
      }
      b.at(i, column) = hasUnitDiagonal ? sum : sum / turnedElement(a, form, i, i);
    }
  }
}

inline void solveLu(Dense& lu, const std::vector<int64_t>& pivots, int form, Dense& b) {
  const auto exchange = [&](int64_t k) {
    for (int64_t j = 0; j < b.columns; j++)
      std::swap(b.at(k, j), b.at(pivots[static_cast<size_t>(k)] - 1, j));
  };
  if (form == 0)
    for (int64_t k = 0; k < lu.rows; k++) exchange(k);
  solveTriangle(lu, form, false, form == 0, b);
  solveTriangle(lu, form, true, form != 0, b);
  if (form != 0)
    for (int64_t k = lu.rows - 1; k >= 0; k--) exchange(k);
}

// A = L Lᴴ in the lower triangle, or Uᴴ U in the upper one; as cuSOLVER, 0 or the order of a minor.
inline int factorCholesky(Dense& a, bool isUpper) {
  const auto element = [&](int64_t i, int64_t j) -> Number& { return isUpper ? a.at(j, i) : a.at(i, j); };
  for (int64_t j = 0; j < a.rows; j++) {
    double pivot = element(j, j).real();
    for (int64_t k = 0; k < j; k++) pivot -= std::norm(element(j, k));
    if (pivot <= 0) return static_cast<int>(j + 1);
    element(j, j) = std::sqrt(pivot);
    for (int64_t i = j + 1; i < a.rows; i++) {
      for (int64_t k = 0; k < j; k++) element(i, j) -= element(i, k) * std::conj(element(j, k));
      element(i, j) /= element(j, j);
    }
  }
  return 0;
}

}  // namespace weft::sim
