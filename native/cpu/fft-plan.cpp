// Plans of Fourier transforms: factors, twiddles, chirps. Tables are computed in float64, from angles reduced
// to an eighth of a turn, and rounded once.
#include <algorithm>
#include <cmath>
#include <complex>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "cpu/fft-kept.h"
#include "cpu/fft-library.h"
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

// A length of factors 2, 3 and 5 that is not less, and is transformed fast: whose steps fill vectors, where
// rows do not have a lane each.
int64_t smoothFrom(int64_t least) {
  const int64_t unit = least > kMostInLanes ? kMostFftLanes * kMostFftLanes : 1;
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

// A plan with its tables, and the plans that it is made of.
template <typename T>
struct Owned : FftPlan {
  explicit Owned(int64_t size) : FftPlan{} { length = size; }
  std::vector<FftPass> radixPasses;
  std::vector<std::shared_ptr<Owned>> parts;
  std::vector<std::unique_ptr<T[]>> tables;
  std::unique_ptr<int64_t[]> order;
  std::once_flag filled;

  T* table(int64_t size) {
    tables.push_back(std::make_unique<T[]>(static_cast<size_t>(size)));
    return tables.back().get();
  }
};

template <typename T>
struct OwnedReal : RealTable {
  explicit OwnedReal(int64_t size) : RealTable{} { half = size / 2; }
  std::unique_ptr<T[]> parts;
  std::once_flag filled;
};

int64_t twiddlesOf(const FftPass& pass) { return 2 * pass.m * (pass.radix - 1); }

template <typename T>
std::shared_ptr<Owned<T>> planOf(int64_t length, bool isDirect = false);

template <typename T>
void shapeDirect(Owned<T>& own) {
  own.kind = FftPlan::Kind::direct;
  int64_t n = own.length, s = 1, elements = 0;
  for (const int64_t radix : radicesOf(n)) {
    own.radixPasses.push_back({radix, n / radix, s, nullptr, nullptr});
    elements += twiddlesOf(own.radixPasses.back()) + 2 * radix;
    n /= radix;
    s *= radix;
  }
  own.passes = own.radixPasses.data();
  own.passCount = static_cast<int>(own.radixPasses.size());
  own.tableBytes = static_cast<size_t>(elements) * sizeof(T);
}

template <typename T>
void shapeSteps(Owned<T>& own) {
  FftPlan& plan = own;
  plan.kind = FftPlan::Kind::steps;
  const int64_t n1 = nearRoot(plan.length);
  own.parts = {planOf<T>(n1, true), planOf<T>(plan.length / n1, true)};
  plan.first = own.parts[0].get();
  plan.second = own.parts[1].get();
  const int64_t elements = 2 * n1 * (plan.tableLine() + (plan.isWhole() ? 0 : kFine));
  plan.tableBytes =
      static_cast<size_t>(elements) * sizeof(T) + plan.first->tableBytes + plan.second->tableBytes;
}

template <typename T>
void shapeChirp(Owned<T>& own) {
  FftPlan& plan = own;
  plan.kind = FftPlan::Kind::chirp;
  own.parts = {planOf<T>(smoothFrom(2 * plan.length - 1))};
  plan.padded = own.parts[0].get();
  const int64_t elements = 2 * (plan.length + plan.padded->length);
  plan.tableBytes = static_cast<size_t>(elements) * sizeof(T) + plan.padded->tableBytes;
}

template <typename T>
void shapeCycle(Owned<T>& own) {
  FftPlan& plan = own;
  plan.kind = FftPlan::Kind::cycle;
  own.parts = {planOf<T>(plan.length - 1)};
  plan.padded = own.parts[0].get();
  const auto elements = static_cast<size_t>(2 * (plan.length - 1));
  plan.tableBytes = elements * (sizeof(T) + sizeof(int64_t)) + plan.padded->tableBytes;
}

// Of factors that all have passes.
bool isSmooth(int64_t n) {
  const std::vector<int64_t> primes = primeFactors(n);
  return primes.empty() || primes.back() <= kMostRadix;
}

// `isDirect`: of a part of steps, which may be longer than what is direct else.
template <typename T>
std::shared_ptr<Owned<T>> planOf(int64_t length, bool isDirect) {
  const auto make = [&] {
    auto own = std::make_shared<Owned<T>>(length);
    const std::vector<int64_t> primes = primeFactors(length);
    if (!primes.empty() && primes.back() > kMostRadix && !isDirect) {
      primes.size() == 1 && isSmooth(length - 1) ? shapeCycle(*own) : shapeChirp(*own);
    } else if (isDirect || length <= kMostDirect || nearRoot(length) == 1) {
      shapeDirect(*own);
    } else {
      shapeSteps(*own);
    }
    return std::pair{own, own->tableBytes};
  };
  static auto &all = *new Kept<Owned<T>>(), &direct = *new Kept<Owned<T>>();
  // Parts are made while their wholes are: of steps by a lock of their own, of chirps before their wholes.
  if (isDirect) return direct.get(length, make);
  const std::vector<int64_t> primes = primeFactors(length);
  if (!primes.empty() && primes.back() > kMostRadix) {
    static auto& chirps = *new Kept<Owned<T>>();
    return chirps.get(length, make);
  }
  return all.get(length, make);
}

template <typename T>
void fill(Owned<T>& own);

template <typename T>
void fillDirect(Owned<T>& own) {
  int64_t n = own.length;
  for (FftPass& pass : own.radixPasses) {
    T* twiddles = own.table(twiddlesOf(pass));
    T* at = twiddles;
    for (int64_t p = 0; p < pass.m; p++)
      for (int64_t j = 1; j < pass.radix; j++, at += 2) put(at, root(p * j, n));
    T* roots = own.table(2 * pass.radix);
    for (int64_t j = 0; j < pass.radix; j++) put(roots + 2 * j, std::conj(root(j, pass.radix)));
    pass.twiddles = twiddles;
    pass.roots = roots;
    n = pass.m;
  }
}

// Lines of real and of imaginary parts, `line` apart: for each k1 the twiddles of j2 = 0, step, 2 step …
template <typename T>
T* twiddleLines(Owned<T>& own, int64_t line, int64_t count, int64_t step) {
  const int64_t n1 = own.first->length;
  T* const table = own.table(2 * n1 * line);
  for (int64_t k = 0; k < n1; k++) {
    for (int64_t j = 0; j < count; j++) {
      const Complex w = root(k * j * step, own.length);
      table[2 * k * line + j] = static_cast<T>(w.real());
      table[(2 * k + 1) * line + j] = static_cast<T>(w.imag());
    }
  }
  return table;
}

template <typename T>
void fillSteps(Owned<T>& own) {
  FftPlan& plan = own;
  const int64_t n2 = plan.second->length, line = plan.tableLine();
  if (plan.isWhole()) {
    plan.table = twiddleLines(own, line, n2, 1);
  } else {
    plan.table = twiddleLines(own, line, (n2 + kFine - 1) / kFine, kFine);
    plan.fine = twiddleLines(own, kFine, kFine, 1);
  }
}

int64_t powerModulo(int64_t base, int64_t exponent, int64_t n) {
  __int128 result = 1, square = base;
  for (; exponent > 0; exponent /= 2, square = square * square % n)
    if (exponent % 2 != 0) result = result * square % n;
  return static_cast<int64_t>(result);
}

// The least number whose powers modulo a prime are all of 1 … n - 1.
int64_t generatorOf(int64_t n) {
  const std::vector<int64_t> primes = primeFactors(n - 1);
  const auto isOne = [&](int64_t g) {
    return std::all_of(primes.begin(), primes.end(),
                       [&](int64_t p) { return powerModulo(g, (n - 1) / p, n) != 1; });
  };
  int64_t g = 2;
  while (!isOne(g)) g++;
  return g;
}

// The transform of a line, in float64 whatever the plan's precision, as a table.
template <typename T>
T* spectrumOf(Owned<T>& own, std::vector<Complex>& line) {
  const auto length = static_cast<int64_t>(line.size());
  const FftKernels& kernels = fftKernels(true);
  const std::shared_ptr<Owned<double>> plan = planOf<double>(length);
  fill(*plan);
  const Scratch scratch(kernels.rowsScratch(*plan));
  kernels.rows(*plan, {line.data(), line.data(), length, length}, 1, false,
               reinterpret_cast<std::byte*>(scratch.data()));
  T* const spectrum = own.table(2 * length);
  for (int64_t k = 0; k < length; k++) put(spectrum + 2 * k, line[static_cast<size_t>(k)]);
  return spectrum;
}

template <typename T>
void fillChirp(Owned<T>& own) {
  FftPlan& plan = own;
  const int64_t n = plan.length, padded = plan.padded->length;
  std::vector<Complex> wave(static_cast<size_t>(padded));
  T* chirp = own.table(2 * n);
  for (int64_t j = 0; j < n; j++) {
    const Complex value = root(static_cast<int64_t>(static_cast<__int128>(j) * j % (2 * n)), 2 * n);
    put(chirp + 2 * j, value);
    const Complex back = std::conj(value) / static_cast<double>(padded);
    wave[static_cast<size_t>(j)] = back;
    if (j > 0) wave[static_cast<size_t>(padded - j)] = back;
  }
  plan.chirp = chirp;
  plan.spectrum = spectrumOf(own, wave);
}

template <typename T>
void fillCycle(Owned<T>& own) {
  FftPlan& plan = own;
  const int64_t n = plan.length, count = n - 1, g = generatorOf(n);
  own.order = std::make_unique<int64_t[]>(static_cast<size_t>(2 * count));
  int64_t *const from = own.order.get(), *const to = from + count;
  std::vector<Complex> wave(static_cast<size_t>(count));
  int64_t power = 1;
  for (int64_t q = 0; q < count; q++) {
    from[q] = to[(count - q) % count] = power;
    wave[static_cast<size_t>((count - q) % count)] = root(power, n) / static_cast<double>(count);
    power = static_cast<int64_t>(static_cast<__int128>(power) * g % n);
  }
  plan.places = from;
  plan.spectrum = spectrumOf(own, wave);
}

template <typename T>
void fill(Owned<T>& own) {
  std::call_once(own.filled, [&] {
    for (const auto& part : own.parts) fill(*part);
    switch (own.kind) {
      case FftPlan::Kind::direct:
        return fillDirect(own);
      case FftPlan::Kind::steps:
        return fillSteps(own);
      case FftPlan::Kind::chirp:
        return fillChirp(own);
      case FftPlan::Kind::cycle:
        return fillCycle(own);
      case FftPlan::Kind::library:
        return fillLibraryPlan(own);
    }
  });
}

template <typename T>
std::shared_ptr<OwnedReal<T>> realOf(int64_t length) {
  static auto& all = *new Kept<OwnedReal<T>>();
  return all.get(length, [&] {
    auto own = std::make_shared<OwnedReal<T>>(length);
    const int64_t size = own->half / 2 + 1 + kMostFftLanes;
    own->tableBytes = static_cast<size_t>(2 * size) * sizeof(T);
    return std::pair{own, own->tableBytes};
  });
}

template <typename T>
void fill(OwnedReal<T>& own) {
  std::call_once(own.filled, [&] {
    RealTable& table = own;
    const auto size = static_cast<int64_t>(table.tableBytes / sizeof(T) / 2);
    own.parts = std::make_unique<T[]>(static_cast<size_t>(2 * size));
    T *re = own.parts.get(), *im = re + size;
    for (int64_t k = 0; k <= table.half / 2; k++) {
      const Complex u = root(k, 2 * table.half) * Complex(0, -0.5);
      re[k] = static_cast<T>(u.real());
      im[k] = static_cast<T>(u.imag());
    }
    table.re = re;
    table.im = im;
  });
}

}  // namespace

FftPlanPointer fftPlan(int64_t length, bool isDouble) {
  if (FftPlanPointer plan = libraryPlan(length, isDouble)) return plan;
  if (isDouble) return planOf<double>(length);
  return planOf<float>(length);
}

RealTablePointer realTable(int64_t length, bool isDouble) {
  if (isDouble) return realOf<double>(length);
  return realOf<float>(length);
}

void fillTables(FftPlan& plan, bool isDouble) {
  if (plan.kind == FftPlan::Kind::library) return fillLibraryPlan(plan);
  isDouble ? fill(static_cast<Owned<double>&>(plan)) : fill(static_cast<Owned<float>&>(plan));
}

void fillTables(RealTable& table, bool isDouble) {
  isDouble ? fill(static_cast<OwnedReal<double>&>(table)) : fill(static_cast<OwnedReal<float>&>(table));
}

}  // namespace weft::cpu
