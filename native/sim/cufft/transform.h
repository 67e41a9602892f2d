// Fourier transforms by recursion over the least prime factor, in double precision: what cufft.cpp queues.
#pragma once
#include <complex>
#include <cstddef>
#include <vector>

namespace weft::sim {

// Σ x[j] e^(sign 2πi jk/n) of lines of one length; the roots of unity are worked out once for all of them.
class Transform {
 public:
  using Line = std::vector<std::complex<double>>;

  Transform(size_t n, int sign) : roots_(n), terms_(n) {
    constexpr double kTurn = 6.283185307179586476925286766559;
    for (size_t k = 0; k < n; k++)
      roots_[k] = std::polar(1.0, sign * kTurn * static_cast<double>(k) / static_cast<double>(n));
  }

  Line of(const Line& x) {
    Line result(x.size());
    run(x.data(), result.data(), x.size(), 1);
    return result;
  }

 private:
  // The `n` elements of x that are `stride` apart, a divisor of the line's length.
  void run(const std::complex<double>* x, std::complex<double>* result, size_t n, size_t stride) {
    if (n == 1) {
      *result = *x;
      return;
    }
    size_t p = 2;
    while (p * p <= n && n % p != 0) p++;
    if (p * p > n) p = n;
    const size_t m = n / p;
    for (size_t part = 0; part < p; part++) run(x + part * stride, result + part * m, m, stride * p);
    for (size_t k = 0; k < m; k++) {
      for (size_t j = 0; j < p; j++) terms_[j] = result[j * m + k];
      for (size_t to = k; to < n; to += m) {
        double real = 0, imaginary = 0;
        // j * to modulo n.
        size_t turn = 0;
        for (size_t j = 0; j < p; j++, turn = turn + to < n ? turn + to : turn + to - n) {
          const std::complex<double> a = terms_[j], w = roots_[turn * stride];
          real += a.real() * w.real() - a.imag() * w.imag();
          imaginary += a.real() * w.imag() + a.imag() * w.real();
        }
        result[to] = {real, imaginary};
      }
    }
  }

  Line roots_, terms_;
};

}  // namespace weft::sim
