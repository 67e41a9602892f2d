// Properties of the dtypes that lanes of code hold.
#pragma once
#include <cstdint>

#include "shared/layout.h"

namespace weft::cpu::jit {

constexpr bool isFloat(DType dtype) { return dtype == DType::float32 || dtype == DType::float64; }
constexpr bool isDouble(DType dtype) { return dtype == DType::float64; }
constexpr bool isSigned(DType dtype) { return dtype == DType::int32 || dtype == DType::int64; }
constexpr bool isUnsigned(DType dtype) { return dtype == DType::uint32 || dtype == DType::uint64; }
// Numbers of 64 bits.
constexpr bool isWide(DType dtype) { return kElementBytes[static_cast<int>(dtype)] == 8; }

// Whether lanes may hold numbers of a dtype.
constexpr bool isLaneDType(DType dtype) {
  return dtype == DType::boolean || isFloat(dtype) || isSigned(dtype) || isUnsigned(dtype);
}

// The dtype of the same number in a lane of 32 bits.
constexpr DType narrowOf(DType dtype) { return dtype == DType::boolean ? dtype : DType::int32; }

// Bits of a number of the dtype in a lane, as in every other one.
constexpr uint64_t laneOf(DType dtype, uint64_t bits) {
  if (dtype == DType::boolean) return (bits & 0xff) != 0 ? ~uint64_t{0} : 0;
  if (isWide(dtype)) return bits;
  return (bits & 0xffffffff) | bits << 32;
}

}  // namespace weft::cpu::jit
