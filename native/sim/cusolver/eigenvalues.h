// Eigenvalues of general matrices by QR iterations of the whole matrix with shifts, and eigenvectors by
// inverse iteration.
#pragma once
#include "cusolver/decompositions.h"

namespace weft::sim {

// The eigenvalue of the last two rows of the first m that is nearer to the last element.
inline Number lastShift(Dense& a, int64_t m) {
  const Number p = a.at(m - 2, m - 2), q = a.at(m - 2, m - 1), r = a.at(m - 1, m - 2), s = a.at(m - 1, m - 1);
  const Number middle = (p + s) / 2.0, root = std::sqrt((p - s) * (p - s) / 4.0 + q * r);
  const Number up = middle + root, down = middle - root;
  return std::abs(up - s) < std::abs(down - s) ? up : down;
}

// False: they do not converge.
inline bool eigenvaluesOf(Dense a, std::vector<Number>& values) {
  int64_t m = a.rows;
  for (int step = 1; m > 1; step++) {
    double beside = 0;
    for (int64_t j = 0; j + 1 < m; j++) beside += std::abs(a.at(m - 1, j));
    double all = 0;
    for (const Number x : a.elements) all += std::abs(x);
    if (!std::isfinite(all) || step > 400) return false;
    if (beside <= 1e-16 * all) {
      values.push_back(a.at(m - 1, m - 1));
      Dense rest(m - 1, m - 1);
      for (int64_t j = 0; j + 1 < m; j++)
        for (int64_t i = 0; i + 1 < m; i++) rest.at(i, j) = a.at(i, j);
      a = rest;
      m--;
      step = 0;
      continue;
    }
    const Number shift = lastShift(a, m) + (step % 12 == 0 ? Number(0.3, 0.7) * beside : Number(0));
    for (int64_t i = 0; i < m; i++) a.at(i, i) -= shift;
    const std::vector<Number> taus = factorQr(a);
    Dense q = columnsOfQ(a, taus, m), next(m, m);
    for (int64_t j = 0; j < m; j++)
      for (int64_t i = 0; i < m; i++)
        for (int64_t k = i; k < m; k++) next.at(i, j) += a.at(i, k) * q.at(k, j);
    for (int64_t i = 0; i < m; i++) next.at(i, i) += shift;
    a = next;
  }
  if (m == 1) values.push_back(a.at(0, 0));
  return true;
}

// Real numbers first, then conjugate pairs, those with positive imaginary parts first.
inline std::vector<Number> inPairs(const std::vector<Number>& values) {
  double most = 0;
  for (const Number x : values) most = std::max(most, std::abs(x));
  std::vector<Number> real, pairs;
  for (const Number x : values) {
    if (std::abs(x.imag()) <= 1e-9 * most) {
      real.push_back(x.real());
    } else if (x.imag() > 0) {
      pairs.push_back(x);
      pairs.push_back(std::conj(x));
    }
  }
  real.insert(real.end(), pairs.begin(), pairs.end());
  return real;
}

// A vector of length 1, its largest element real.
inline std::vector<Number> eigenvectorOf(const Dense& given, Number value, int64_t number) {
  const int64_t n = given.rows;
  double size = 0;
  for (const Number x : given.elements) size = std::max(size, std::abs(x));
  Dense shifted = given, x(n, 1);
  for (int64_t i = 0; i < n; i++) {
    shifted.at(i, i) -= value + 1e-14 * (size == 0 ? 1 : size);
    x.at(i, 0) = 1 + 0.1 * static_cast<double>((i * 7 + number * 3) % 5);
  }
  std::vector<int64_t> pivots;
  factorLu(shifted, pivots);
  for (int64_t i = 0; i < n; i++)
    if (shifted.at(i, i) == 0.0) shifted.at(i, i) = 1e-16 * (size == 0 ? 1 : size);
  Number largest = 1;
  for (int pass = 0; pass < 3; pass++) {
    solveLu(shifted, pivots, 0, x);
    const double length = lengthOf(x, 0, 0);
    largest = 0;
    for (Number& each : x.elements) {
      each /= length;
      if (std::abs(each) > std::abs(largest) * (1 + 1e-9)) largest = each;
    }
  }
  for (Number& each : x.elements) each *= std::conj(largest) / std::abs(largest);
  return x.elements;
}

}  // namespace weft::sim
