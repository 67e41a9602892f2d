// Decompositions as textbooks have them: Householder's QR, Jacobi's rotations for eigenvalues and singular
// values.
#pragma once
#include <numeric>

#include "cusolver/matrix.h"

namespace weft::sim {

inline double lengthOf(Dense& a, int64_t column, int64_t first) {
  double squares = 0;
  for (int64_t i = first; i < a.rows; i++) squares += std::norm(a.at(i, column));
  return std::sqrt(squares);
}

// R on and above the diagonal, v below it (v[k] = 1), with H = I - tau v vᴴ; R's diagonal is real.
inline std::vector<Number> factorQr(Dense& a) {
  std::vector<Number> taus;
  for (int64_t k = 0; k < std::min(a.rows, a.columns); k++) {
    const Number first = a.at(k, k);
    const double length = lengthOf(a, k, k);
    if (lengthOf(a, k, k + 1) == 0 && first.imag() == 0) {
      taus.push_back(0);
      continue;
    }
    const double beta = first.real() > 0 ? -length : length;
    const Number tau = (beta - first) / beta;
    for (int64_t i = k + 1; i < a.rows; i++) a.at(i, k) /= first - beta;
    a.at(k, k) = beta;
    for (int64_t j = k + 1; j < a.columns; j++) {
      Number sum = a.at(k, j);
      for (int64_t i = k + 1; i < a.rows; i++) sum += std::conj(a.at(i, k)) * a.at(i, j);
      sum *= std::conj(tau);
      a.at(k, j) -= sum;
      for (int64_t i = k + 1; i < a.rows; i++) a.at(i, j) -= a.at(i, k) * sum;
    }
    taus.push_back(tau);
  }
  return taus;
}

// The first columns of Q.
inline Dense columnsOfQ(Dense& a, const std::vector<Number>& taus, int64_t columns) {
  Dense q(a.rows, columns);
  for (int64_t j = 0; j < columns; j++) q.at(j, j) = 1;
  for (auto k = static_cast<int64_t>(taus.size()) - 1; k >= 0; k--) {
    for (int64_t j = 0; j < columns; j++) {
      Number sum = q.at(k, j);
      for (int64_t i = k + 1; i < a.rows; i++) sum += std::conj(a.at(i, k)) * q.at(i, j);
      sum *= taus[static_cast<size_t>(k)];
      q.at(k, j) -= sum;
      for (int64_t i = k + 1; i < a.rows; i++) q.at(i, j) -= a.at(i, k) * sum;
    }
  }
  return q;
}

// Makes columns p and q of `a` orthogonal, and turns those of v alike; whether they were not.
inline bool turnColumns(Dense& a, Dense& v, int64_t p, int64_t q) {
  double first = 0, second = 0;
  Number product = 0;
  for (int64_t i = 0; i < a.rows; i++) {
    first += std::norm(a.at(i, p));
    second += std::norm(a.at(i, q));
    product += std::conj(a.at(i, p)) * a.at(i, q);
  }
  const double size = std::abs(product);
  if (size <= 1e-15 * std::sqrt(first * second) || size == 0) return false;
  const Number phase = product / size;
  const double zeta = (second - first) / (2 * size);
  const double t = (zeta >= 0 ? 1 : -1) / (std::abs(zeta) + std::sqrt(1 + zeta * zeta));
  const double c = 1 / std::sqrt(1 + t * t), s = c * t;
  for (Dense* m : {&a, &v}) {
    for (int64_t i = 0; i < m->rows; i++) {
      const Number x = m->at(i, p), y = std::conj(phase) * m->at(i, q);
      m->at(i, p) = c * x - s * y;
      m->at(i, q) = s * x + c * y;
    }
  }
  return true;
}

struct SingularValues {
  std::vector<double> values;
  Dense u, v;
  bool converged;
};

// A = U S Vᴴ of at least as many rows as columns, U with `wanted` columns.
inline SingularValues decompose(Dense a, int64_t wanted) {
  const int64_t n = a.columns;
  Dense v(n, n);
  for (int64_t j = 0; j < n; j++) v.at(j, j) = 1;
  // Scaled, so that squares neither overflow nor vanish.
  double scale = 0;
  for (const Number x : a.elements) scale = std::max({scale, std::abs(x.real()), std::abs(x.imag())});
  if (scale == 0) scale = 1;
  for (Number& x : a.elements) x /= scale;
  const bool finite = std::all_of(a.elements.begin(), a.elements.end(), [](Number x) {
    return std::isfinite(x.real()) && std::isfinite(x.imag());
  });
  for (int sweep = 0; finite && sweep < 60; sweep++) {
    bool turned = false;
    for (int64_t p = 0; p < n; p++)
      for (int64_t q = p + 1; q < n; q++) turned = turnColumns(a, v, p, q) || turned;
    if (!turned) break;
  }
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t i, int64_t j) { return lengthOf(a, i, 0) > lengthOf(a, j, 0); });
  SingularValues result{{}, Dense(a.rows, wanted), Dense(n, n), finite};
  const double most = n > 0 ? lengthOf(a, order[0], 0) : 0;
  int64_t unit = 0;
  for (int64_t k = 0; k < std::max(n, wanted); k++) {
    const int64_t from = k < n ? order[static_cast<size_t>(k)] : 0;
    const double length = k < n ? lengthOf(a, from, 0) : 0;
    if (k < n) {
      result.values.push_back(length * scale);
      for (int64_t i = 0; i < n; i++) result.v.at(i, k) = v.at(i, from);
    }
    if (k >= wanted) continue;
    bool found = length > 1e-14 * most;
    if (found)
      for (int64_t i = 0; i < a.rows; i++) result.u.at(i, k) = a.at(i, from) / length;
    // A missing column becomes the next unit vector that those before do not span.
    while (!found && unit < a.rows) {
      for (int64_t i = 0; i < a.rows; i++) result.u.at(i, k) = i == unit ? 1 : 0;
      unit++;
      for (int pass = 0; pass < 2; pass++) {
        for (int64_t j = 0; j < k; j++) {
          Number sum = 0;
          for (int64_t i = 0; i < a.rows; i++) sum += std::conj(result.u.at(i, j)) * result.u.at(i, k);
          for (int64_t i = 0; i < a.rows; i++) result.u.at(i, k) -= sum * result.u.at(i, j);
        }
      }
      const double rest = lengthOf(result.u, k, 0);
      found = rest > 0.05 / std::sqrt(static_cast<double>(a.rows));
      for (int64_t i = 0; found && i < a.rows; i++) result.u.at(i, k) /= rest;
    }
  }
  return result;
}

// Eigenvalues in ascending order, and eigenvectors in the place of a Hermitian matrix that is given whole.
inline std::vector<double> decomposeHermitian(Dense& a) {
  const int64_t n = a.rows;
  Dense v(n, n);
  for (int64_t j = 0; j < n; j++) v.at(j, j) = 1;
  double all = 0;
  for (const Number x : a.elements) all += std::norm(x);
  for (int sweep = 0; sweep < 60; sweep++) {
    double off = 0;
    for (int64_t p = 0; p < n; p++)
      for (int64_t q = p + 1; q < n; q++) off += std::norm(a.at(p, q));
    if (!(off > 1e-32 * all)) break;
    for (int64_t p = 0; p < n; p++) {
      for (int64_t q = p + 1; q < n; q++) {
        const double size = std::abs(a.at(p, q));
        if (size == 0) continue;
        const Number phase = a.at(p, q) / size;
        const double zeta = (a.at(q, q).real() - a.at(p, p).real()) / (2 * size);
        const double t = (zeta >= 0 ? 1 : -1) / (std::abs(zeta) + std::sqrt(1 + zeta * zeta));
        const double c = 1 / std::sqrt(1 + t * t), s = c * t;
        for (Dense* m : {&a, &v}) {
          for (int64_t i = 0; i < n; i++) {
            const Number x = m->at(i, p), y = std::conj(phase) * m->at(i, q);
            m->at(i, p) = c * x - s * y;
            m->at(i, q) = s * x + c * y;
          }
        }
        for (int64_t j = 0; j < n; j++) {
          const Number x = a.at(p, j), y = phase * a.at(q, j);
          a.at(p, j) = c * x - s * y;
          a.at(q, j) = s * x + c * y;
        }
      }
    }
  }
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::vector<double> diagonal, values;
  for (int64_t k = 0; k < n; k++) diagonal.push_back(a.at(k, k).real());
  std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
    return diagonal[static_cast<size_t>(i)] < diagonal[static_cast<size_t>(j)];
  });
  for (int64_t k = 0; k < n; k++) {
    values.push_back(diagonal[static_cast<size_t>(order[static_cast<size_t>(k)])]);
    for (int64_t i = 0; i < n; i++) a.at(i, k) = v.at(i, order[static_cast<size_t>(k)]);
  }
  return values;
}

}  // namespace weft::sim
