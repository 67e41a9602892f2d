// Plans of Fourier transforms: factors, twiddles, chirps. Tables are computed in float64, from angles reduced
// to an eighth of a turn, and rounded once.
#include <algorithm>
#include <cmath>
#include <complex>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "cpu/fft.h"
#include "cpu/scratch.h"

namespace weft::cpu {
namespace {

using Complex = std::complex<double>;

// e^(-2πi k/n).
Complex root(int64_t k, int64_t n) {
  constexpr double kTurn = 6.283185307179586476925286766559;
  k = (k % n + n) % n;
  // Exact: eighths of a turn, and what is left of one.
  const auto wide = static_cast<__int128>(k) * 8;
  const auto eighth = static_cast<int>(wide / n);
  const auto rest = static_cast<int64_t>(wide % n);
  const bool isOdd = eighth % 2 != 0;
  const double angle =
      kTurn * (static_cast<double>(isOdd ? n - rest : rest) / (8.0 * static_cast<double>(n)));
  double c = std::cos(angle), s = std::sin(angle);
  if (isOdd) std::swap(c, s);
  switch (eighth / 2) {
    case 0:
      return {c, -s};
    case 1:
      return {-s, -c};
    case 2:
      return {-c, s};
    default:
      return {s, c};
  }
}

// Plans and tables live as long as the process, at fixed addresses.
template <typename T>
struct Owned {
  FftPlan plan{};
  std::vector<FftPass> passes;
  std::vector<std::unique_ptr<T[]>> tables;

  T* table(int64_t size) {
    tables.push_back(std::make_unique<T[]>(static_cast<size_t>(size)));
    return tables.back().get();
  }
};

std::vector<int64_t> primeFactors(int64_t n) {
  std::vector<int64_t> factors;
  for (int64_t p = 2; p * p <= n; p++)
    for (; n % p == 0; n /= p) factors.push_back(p);
  if (n > 1) factors.push_back(n);
  return factors;
}

// As many eights as there are, then fours, then at most a two, then odd factors from the largest.
std::vector<int64_t> radicesOf(int64_t n) {
  std::vector<int64_t> primes = primeFactors(n), radices;
  auto twos = std::count(primes.begin(), primes.end(), 2);
  for (; twos >= 3 && twos != 4; twos -= 3) radices.push_back(8);
  for (; twos >= 2; twos -= 2) radices.push_back(4);
  if (twos == 1) radices.push_back(2);
  for (auto p = primes.rbegin(); p != primes.rend() && *p != 2; ++p) radices.push_back(*p);
  return radices;
}

// The divisor next to the square root, from below.
int64_t nearRoot(int64_t n) {
  int64_t best = 1;
  for (int64_t d = 1; d * d <= n; d++)
    if (n % d == 0) best = d;
  return best;
}

// A length of factors 2, 3 and 5 that is not less, and is transformed fast: whose steps fill vectors.
int64_t smoothFrom(int64_t least) {
  const int64_t unit = least > kMostDirect ? kMostFftLanes * kMostFftLanes : 1;
  int64_t best = INT64_MAX;
  for (int64_t five = unit; five < 5 * least; five *= 5) {
    for (int64_t three = five; three < 3 * least; three *= 3) {
      int64_t n = three;
      while (n < least) n *= 2;
      best = std::min(best, n);
    }
  }
  return best;
}

template <typename T>
void put(T* to, Complex value) {
  to[0] = static_cast<T>(value.real());
  to[1] = static_cast<T>(value.imag());
}

template <typename T>
class Plans {
 public:
  static const FftPlan& get(int64_t length) {
    static Plans& all = *new Plans();
    const std::lock_guard lock(all.mutex_);
    return all.find(length);
  }
  static const RealTable& real(int64_t length) {
    static Plans& all = *new Plans();
    const std::lock_guard lock(all.mutex_);
    return all.findReal(length);
  }

 private:
  const FftPlan& find(int64_t length) {
    std::unique_ptr<Owned<T>>& own = plans_[length];
    if (own) return own->plan;
    auto made = std::make_unique<Owned<T>>();
    made->plan.length = length;
    const std::vector<int64_t> primes = primeFactors(length);
    if (!primes.empty() && primes.back() > kMostRadix) {
      makeChirp(*made);
    } else if (length <= kMostDirect || nearRoot(length) == 1) {
      makeDirect(*made);
    } else {
      makeSteps(*made);
    }
    // A plan that was made meanwhile, for a part, may have moved the map's other nodes, not this one.
    own = std::move(made);
    return own->plan;
  }

  // Of lengths that no plan is made of in two steps alone, n1 and n2 may be steps' own parts, but are direct.
  const FftPlan& findDirect(int64_t length) {
    std::unique_ptr<Owned<T>>& own = directs_[length];
    if (!own) {
      own = std::make_unique<Owned<T>>();
      own->plan.length = length;
      makeDirect(*own);
    }
    return own->plan;
  }

  void makeDirect(Owned<T>& own) {
    own.plan.kind = FftPlan::Kind::direct;
    int64_t n = own.plan.length, s = 1;
    for (const int64_t radix : radicesOf(n)) {
      const int64_t m = n / radix;
      T* twiddles = own.table(2 * m * (radix - 1));
      T* at = twiddles;
      for (int64_t p = 0; p < m; p++)
        for (int64_t j = 1; j < radix; j++, at += 2) put(at, root(p * j, n));
      T* roots = own.table(2 * radix);
      for (int64_t j = 0; j < radix; j++) put(roots + 2 * j, std::conj(root(j, radix)));
      own.passes.push_back({radix, m, s, twiddles, roots});
      n = m;
      s *= radix;
    }
    own.plan.passes = own.passes.data();
    own.plan.passCount = static_cast<int>(own.passes.size());
  }

  void makeSteps(Owned<T>& own) {
    FftPlan& plan = own.plan;
    plan.kind = FftPlan::Kind::steps;
    const int64_t n = plan.length, n1 = nearRoot(n);
    plan.first = &findDirect(n1);
    plan.second = &findDirect(n / n1);
    const int64_t line = plan.tableLine();
    T* table = own.table(2 * n1 * line);
    for (int64_t k = 0; k < n1; k++) {
      for (int64_t j = 0; j < n / n1; j++) {
        const Complex w = root(k * j, n);
        table[2 * k * line + j] = static_cast<T>(w.real());
        table[(2 * k + 1) * line + j] = static_cast<T>(w.imag());
      }
    }
    plan.table = table;
  }

  void makeChirp(Owned<T>& own) {
    FftPlan& plan = own.plan;
    plan.kind = FftPlan::Kind::chirp;
    const int64_t n = plan.length, padded = smoothFrom(2 * n - 1);
    plan.padded = &find(padded);
    // In float64, whatever the plan's precision.
    std::vector<Complex> wave(static_cast<size_t>(padded));
    T* chirp = own.table(2 * n);
    for (int64_t j = 0; j < n; j++) {
      const Complex value = root(static_cast<int64_t>(static_cast<__int128>(j) * j % (2 * n)), 2 * n);
      put(chirp + 2 * j, value);
      const Complex back = std::conj(value) / static_cast<double>(padded);
      wave[static_cast<size_t>(j)] = back;
      if (j > 0) wave[static_cast<size_t>(padded - j)] = back;
    }
    const FftKernels& kernels = fftKernels(true);
    const FftPlan& inner = fftPlanOfSpectrum(padded);
    const Scratch scratch(kernels.rowsScratch(inner));
    kernels.rows(inner, {wave.data(), wave.data(), padded, padded}, 1, false,
                 reinterpret_cast<std::byte*>(scratch.data()));
    T* spectrum = own.table(2 * padded);
    for (int64_t k = 0; k < padded; k++) put(spectrum + 2 * k, wave[static_cast<size_t>(k)]);
    plan.chirp = chirp;
    plan.spectrum = spectrum;
  }

  const FftPlan& fftPlanOfSpectrum(int64_t length) {
    if constexpr (sizeof(T) == sizeof(double)) {
      return find(length);
    } else {
      return Plans<double>::get(length);
    }
  }

  const RealTable& findReal(int64_t length) {
    std::unique_ptr<RealOwned>& own = reals_[length];
    if (own) return own->table;
    own = std::make_unique<RealOwned>();
    const int64_t half = length / 2, size = half / 2 + 1 + kMostFftLanes;
    own->parts = std::make_unique<T[]>(static_cast<size_t>(2 * size));
    T *re = own->parts.get(), *im = re + size;
    for (int64_t k = 0; k <= half / 2; k++) {
      const Complex u = root(k, length) * Complex(0, -0.5);
      re[k] = static_cast<T>(u.real());
      im[k] = static_cast<T>(u.imag());
    }
    own->table = {half, re, im};
    return own->table;
  }

  struct RealOwned {
    RealTable table{};
    std::unique_ptr<T[]> parts;
  };

  std::mutex mutex_;
  std::map<int64_t, std::unique_ptr<Owned<T>>> plans_, directs_;
  std::map<int64_t, std::unique_ptr<RealOwned>> reals_;
};

}  // namespace

const FftPlan& fftPlan(int64_t length, bool isDouble) {
  return isDouble ? Plans<double>::get(length) : Plans<float>::get(length);
}

const RealTable& realTable(int64_t length, bool isDouble) {
  return isDouble ? Plans<double>::real(length) : Plans<float>::real(length);
}

}  // namespace weft::cpu
