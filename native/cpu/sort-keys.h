// The keys that elements are sorted and selected by: unsigned integers in the elements' order, NaN last.
#pragma once
#include <cstdint>
#include <stdexcept>

#include "cpu/tape.h"

namespace weft::cpu {

// Bits of a digit of keys that are sorted.
inline constexpr int kDigitBits = 8;

enum class KeyKind { plain, integer, real };

// How the bits of a component of a key turn into an unsigned integer in the elements' order, and back.
template <typename Bits, KeyKind kind, int kExponentBits, bool kIsArgument>
struct KeyComponent {
  static constexpr int kBits = 8 * sizeof(Bits);
  static constexpr Bits kSign = static_cast<Bits>(Bits{1} << (kBits - 1));
  static constexpr Bits kLast = static_cast<Bits>(~Bits{0});
  static constexpr Bits kInfinity = kind == KeyKind::real ? static_cast<Bits>(((Bits{1} << kExponentBits) - 1)
                                                                              << (kBits - 1 - kExponentBits))
                                                          : Bits{0};
  static constexpr Bits kQuiet = kind == KeyKind::real
                                     ? static_cast<Bits>(kInfinity | (Bits{1} << (kBits - 2 - kExponentBits)))
                                     : Bits{0};

  static Bits flip(Bits key, bool descending) { return descending ? static_cast<Bits>(~key) : key; }
  static Bits encode(Bits a, bool descending) {
    if constexpr (kind == KeyKind::plain) return flip(a, descending);
    if constexpr (kind == KeyKind::integer) return flip(static_cast<Bits>(a ^ kSign), descending);
    if (static_cast<Bits>(a & static_cast<Bits>(~kSign)) > kInfinity) return kLast;
    if (kIsArgument && a == kSign) a = 0;  // -0 is 0
    return flip(a & kSign ? static_cast<Bits>(~a) : static_cast<Bits>(a | kSign), descending);
  }
  static Bits decode(Bits key, bool descending) {
    if constexpr (kind == KeyKind::plain) return flip(key, descending);
    if constexpr (kind == KeyKind::integer) return static_cast<Bits>(flip(key, descending) ^ kSign);
    if (key == kLast) return kQuiet;
    const Bits a = flip(key, descending);
    return a & kSign ? static_cast<Bits>(a ^ kSign) : static_cast<Bits>(~a);
  }
};

// Keys of numbers of one part.
template <typename Bits, KeyKind kind, int kExponentBits, bool kIsArgument>
struct RealKeys {
  using P = KeyComponent<Bits, kind, kExponentBits, kIsArgument>;
  using Element = Bits;
  using Key = Bits;
  static constexpr KeyKind kKind = kind;
  static constexpr bool kIsOne = true;
  static constexpr int kPasses = sizeof(Bits);
  static Key encode(Element a, bool descending) { return P::encode(a, descending); }
  static Element decode(Key k, bool descending) { return P::decode(k, descending); }
  static int digit(Key k, int pass) {
    return static_cast<int>(k >> (kDigitBits * pass)) & ((1 << kDigitBits) - 1);
  }
  static bool less(Key a, Key b) { return a < b; }
  // As numbers: NaN from all.
  static bool differ(Key a, Key b) { return a != b || (kind == KeyKind::real && a == P::kLast); }
};

// Keys of complex numbers: real parts, then imaginary ones; behind all the numbers those with a NaN.
template <typename Bits, int kExponentBits, bool kIsArgument>
struct ComplexKeys {
  using P = KeyComponent<Bits, KeyKind::real, kExponentBits, kIsArgument>;
  struct Element {
    Bits re, im;
  };
  using Key = Element;
  static constexpr bool kIsOne = false;
  static constexpr int kPasses = 2 * sizeof(Bits) + 1;
  static Key encode(Element a, bool descending) {
    return {P::encode(a.re, descending), P::encode(a.im, descending)};
  }
  static Element decode(Key k, bool descending) {
    return {P::decode(k.re, descending), P::decode(k.im, descending)};
  }
  static int classOf(Key k) { return (k.re == P::kLast ? 2 : 0) + (k.im == P::kLast ? 1 : 0); }
  static int digit(Key k, int pass) {
    constexpr int bytes = sizeof(Bits);
    if (pass < bytes) return static_cast<int>(k.im >> (kDigitBits * pass)) & ((1 << kDigitBits) - 1);
    if (pass < 2 * bytes)
      return static_cast<int>(k.re >> (kDigitBits * (pass - bytes))) & ((1 << kDigitBits) - 1);
    return classOf(k);
  }
  static bool less(Key a, Key b) {
    if (classOf(a) != classOf(b)) return classOf(a) < classOf(b);
    return a.re != b.re ? a.re < b.re : a.im < b.im;
  }
  static bool differ(Key a, Key b) { return a.re != b.re || a.im != b.im || classOf(a) > 0; }
};

// Calls `use` with the keys of a real dtype; of positions, -0 is 0.
template <bool isArg, typename Use>
auto withRealKeys(DType dtype, const Use& use) {
  switch (dtype) {
    case DType::boolean:
    case DType::uint8:
      return use(RealKeys<uint8_t, KeyKind::plain, 0, isArg>{});
    case DType::uint16:
      return use(RealKeys<uint16_t, KeyKind::plain, 0, isArg>{});
    case DType::uint32:
      return use(RealKeys<uint32_t, KeyKind::plain, 0, isArg>{});
    case DType::uint64:
      return use(RealKeys<uint64_t, KeyKind::plain, 0, isArg>{});
    case DType::int8:
      return use(RealKeys<uint8_t, KeyKind::integer, 0, isArg>{});
    case DType::int16:
      return use(RealKeys<uint16_t, KeyKind::integer, 0, isArg>{});
    case DType::int32:
      return use(RealKeys<uint32_t, KeyKind::integer, 0, isArg>{});
    case DType::int64:
      return use(RealKeys<uint64_t, KeyKind::integer, 0, isArg>{});
    case DType::float16:
      return use(RealKeys<uint16_t, KeyKind::real, 5, isArg>{});
    case DType::bfloat16:
      return use(RealKeys<uint16_t, KeyKind::real, 8, isArg>{});
    case DType::float32:
      return use(RealKeys<uint32_t, KeyKind::real, 8, isArg>{});
    case DType::float64:
      return use(RealKeys<uint64_t, KeyKind::real, 11, isArg>{});
    default:
      throw std::invalid_argument("a real dtype");
  }
}

}  // namespace weft::cpu
