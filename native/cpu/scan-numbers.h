// The numbers that scans combine: elements, the wider numbers that they are combined as, and how. The
// identity combined with a number gives that number, bit by bit. Sums and products of integers wrap.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <type_traits>

#include "cpu/tape.h"

namespace weft::cpu {

// As SCAN_OPS of src/graph/routines.ts.
enum class ScanOp { sum, prod, min, max, logsumexp };
inline constexpr int kScanOps = 5;

template <typename Part>
struct ScanPair {
  Part re, im;
};

template <typename T, ScanOp op>
struct ScanReal {
  static constexpr bool kSelects = op == ScanOp::min || op == ScanOp::max;
  static constexpr bool kIsProduct = op == ScanOp::prod;
  // Whether a number waits for the one before longer than it takes to combine it.
  static constexpr bool kWaits = std::is_floating_point_v<T> && !kSelects;
  using Element = T;
  using Wide =
      std::conditional_t<kSelects, T, std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>>;
  static Wide widen(Element a) { return static_cast<Wide>(a); }
  static Element round(Wide a) { return static_cast<Element>(a); }
  static Wide identity() {
    using Limits = std::numeric_limits<T>;
    if constexpr (op == ScanOp::sum) return std::is_floating_point_v<T> ? static_cast<Wide>(-0.0) : Wide{0};
    if constexpr (op == ScanOp::prod) return Wide{1};
    if constexpr (op == ScanOp::min) return Limits::has_infinity ? Limits::infinity() : Limits::max();
    return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  }
  static Wide combine(Wide a, Wide b) {
    if constexpr (op == ScanOp::sum) return a + b;
    if constexpr (op == ScanOp::prod) return a * b;
    // NaN once there was one.
    if (a != a) return a;
    if (b != b) return b;
    return (op == ScanOp::min ? b < a : b > a) ? b : a;
  }
  // The same without branches, for numbers side by side.
  static Wide choose(Wide a, Wide b) {
    if constexpr (!kSelects) return combine(a, b);
    const bool isBetter = op == ScanOp::min ? !(b >= a) : !(b <= a);
    return isBetter & (a == a) ? b : a;
  }
  // Whether b leaves a as it is.
  static bool keeps(Wide a, Wide b) { return op == ScanOp::min ? b >= a : b <= a; }
};

template <typename Part, ScanOp op>
struct ScanComplex {
  static constexpr bool kSelects = false;
  static constexpr bool kIsProduct = op == ScanOp::prod;
  static constexpr bool kWaits = true;
  using Element = ScanPair<Part>;
  using Wide = ScanPair<double>;
  static Wide widen(Element a) { return {static_cast<double>(a.re), static_cast<double>(a.im)}; }
  static Element round(Wide a) { return {static_cast<Part>(a.re), static_cast<Part>(a.im)}; }
  static Wide identity() { return op == ScanOp::sum ? Wide{-0.0, -0.0} : Wide{1.0, 0.0}; }
  static Wide combine(Wide a, Wide b) {
    if constexpr (op == ScanOp::sum) return {a.re + b.re, a.im + b.im};
    if (a.re == 1.0 && a.im == 0.0) return b;
    if (b.re == 1.0 && b.im == 0.0) return a;
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
  static Wide choose(Wide a, Wide b) { return combine(a, b); }
};

// A sum of exponentials: its largest exponent, and the sum relative to that one.
template <typename T>
struct ScanExponentials {
  static constexpr bool kSelects = false;
  static constexpr bool kIsProduct = false;
  static constexpr bool kWaits = false;
  using Element = T;
  using Wide = ScanPair<double>;
  static Wide widen(Element a) { return {static_cast<double>(a), 1.0}; }
  static Element round(Wide a) { return static_cast<Element>(a.re + std::log(a.im)); }
  static Wide identity() { return {-std::numeric_limits<double>::infinity(), 0.0}; }
  static Wide combine(Wide a, Wide b) {
    if (a.re == b.re) return {a.re, a.im + b.im};
    if (a.im == 0.0) return b;
    if (b.im == 0.0) return a;
    if (a.re > b.re) return {a.re, a.im + b.im * std::exp(b.re - a.re)};
    return {b.re, a.im * std::exp(a.re - b.re) + b.im};
  }
  static Wide choose(Wide a, Wide b) { return combine(a, b); }
};

[[noreturn]] inline void refuseScanType() { throw std::invalid_argument("a dtype that the operation has"); }

// Calls `use` with the numbers of a dtype and an operation.
template <ScanOp op, typename Use>
auto withScanType(DType dtype, const Use& use) {
  constexpr bool selects = op == ScanOp::min || op == ScanOp::max;
  switch (dtype) {
    case DType::int64:
      return use(ScanReal<int64_t, op>{});
    case DType::uint64:
      return use(ScanReal<uint64_t, op>{});
    case DType::float32:
      return use(ScanReal<float, op>{});
    case DType::float64:
      return use(ScanReal<double, op>{});
    case DType::complex64:
      if constexpr (!selects) return use(ScanComplex<float, op>{});
      break;
    case DType::complex128:
      if constexpr (!selects) return use(ScanComplex<double, op>{});
      break;
    case DType::boolean:
    case DType::uint8:
      if constexpr (selects) return use(ScanReal<uint8_t, op>{});
      break;
    case DType::uint16:
      if constexpr (selects) return use(ScanReal<uint16_t, op>{});
      break;
    case DType::uint32:
      if constexpr (selects) return use(ScanReal<uint32_t, op>{});
      break;
    case DType::int8:
      if constexpr (selects) return use(ScanReal<int8_t, op>{});
      break;
    case DType::int16:
      if constexpr (selects) return use(ScanReal<int16_t, op>{});
      break;
    case DType::int32:
      if constexpr (selects) return use(ScanReal<int32_t, op>{});
      break;
    default:
      break;
  }
  refuseScanType();
}

template <typename Use>
auto withScanNumbers(DType dtype, ScanOp op, const Use& use) {
  switch (op) {
    case ScanOp::sum:
      return withScanType<ScanOp::sum>(dtype, use);
    case ScanOp::prod:
      return withScanType<ScanOp::prod>(dtype, use);
    case ScanOp::min:
      return withScanType<ScanOp::min>(dtype, use);
    case ScanOp::max:
      return withScanType<ScanOp::max>(dtype, use);
    default:
      if (dtype == DType::float32) return use(ScanExponentials<float>{});
      if (dtype == DType::float64) return use(ScanExponentials<double>{});
      refuseScanType();
  }
}

}  // namespace weft::cpu
