// Fourier transforms by recursion over the least prime factor, in double precision: what cufft.cpp queues.
#pragma once
#include <complex>
#include <cstdint>
#include <vector>

namespace weft::sim {

// Σ x[j] e^(sign 2πi jk/n) of a line.
inline std::vector<std::complex<double>> transformed(const std::vector<std::complex<double>>& x, int sign) {
  const auto n = static_cast<int64_t>(x.size());
  int64_t p = 2;
  while (p * p <= n && n % p != 0) p++;
  if (p * p > n) p = n;
  if (n == 1) return x;
  const int64_t m = n / p;
  std::vector<std::vector<std::complex<double>>> parts;
  for (int64_t first = 0; first < p; first++) {
    std::vector<std::complex<double>> part;
    for (int64_t i = first; i < n; i += p) part.push_back(x[static_cast<size_t>(i)]);
    parts.push_back(m == 1 ? part : transformed(part, sign));
  }
  constexpr double kTurn = 6.283185307179586476925286766559;
  std::vector<std::complex<double>> roots;
  for (int64_t k = 0; k < n; k++)
    roots.push_back(std::polar(1.0, sign * kTurn * static_cast<double>(k) / static_cast<double>(n)));
  std::vector<std::complex<double>> result(x.size());
  for (int64_t k = 0; k < n; k++) {
    std::complex<double> sum = 0;
    for (int64_t j = 0; j < p; j++) {
      const std::complex<double> a = parts[static_cast<size_t>(j)][static_cast<size_t>(k % m)],
                                 w = roots[static_cast<size_t>(j * k % n)];
      sum += std::complex<double>(a.real() * w.real() - a.imag() * w.imag(),
                                  a.real() * w.imag() + a.imag() * w.real());
    }
    result[static_cast<size_t>(k)] = sum;
  }
  return result;
}

}  // namespace weft::sim
