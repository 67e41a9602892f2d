// A job of bins as its numbers describe it, and numbers of any dtype as another one.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "cpu/tape.h"
#include "shared/layout.h"

namespace weft::cpu::bins {

// As BIN_OPS and BIN_MODES of src/graph/bin-units.ts.
enum class Op { count, last, sum, min, max, scale, fixed, exact };
constexpr int kOps = 8;
// Numbers of a bin at most: windows of eight exponents or more, and flags.
constexpr int64_t kMostParts = 33;
enum class Mode { within, fromEnd, wrap, clip, raise, raiseFromEnd };
constexpr int kModes = 6;

struct Job {
  Op op;
  DType keys, values, result;
  bool hasValues, hasEdges, isEven;
  int64_t rows, unitRows, bins, width;
  Mode mode;
  int64_t parts;
  int bits;
  // Of a job in windows (src/exec/calls/bin-windows.ts): those of the bins, and the parts of a unit's rows
  // that pass for each; 0: it is none.
  int64_t windows = 0, rowParts = 0;
  // From a bin's first number to its second one, of several.
  int64_t pitch = 0;

  int64_t slots() const { return bins * width * parts; }
  int64_t units() const { return std::max<int64_t>(1, (rows + unitRows - 1) / unitRows); }
};

// The dtype of the values and the mode are counted from 1: 0 is none.
inline Job readJob(const std::vector<int64_t>& n) {
  if (n.size() != 12 && n.size() != 15) throw std::invalid_argument("twelve numbers, or three more");
  const auto isDType = [](int64_t code) { return code >= 0 && code < kDTypes; };
  if (n[0] < 0 || n[0] >= kOps) throw std::invalid_argument("an operation");
  if (!isDType(n[1]) || n[2] < 0 || n[2] > kDTypes || !isDType(n[3])) throw std::invalid_argument("dtypes");
  if (n[8] < 0 || n[8] > kModes) throw std::invalid_argument("a mode");
  Job job{static_cast<Op>(n[0]),
          static_cast<DType>(n[1]),
          static_cast<DType>(std::max<int64_t>(0, n[2] - 1)),
          static_cast<DType>(n[3]),
          n[2] > 0,
          n[8] == 0,
          n[9] != 0,
          n[4],
          n[5],
          n[6],
          n[7],
          static_cast<Mode>(std::max<int64_t>(0, n[8] - 1)),
          n[10],
          static_cast<int>(n[11])};
  const bool isCounted = job.op == Op::count || job.op == Op::last;
  if (isCounted == job.hasValues) throw std::invalid_argument("values of an operation that has some");
  constexpr int64_t most = std::numeric_limits<int64_t>::max() / 64;
  if (job.rows < 0 || job.unitRows < 1 || job.bins < 1 || job.width < 1 || job.parts < 1 ||
      job.parts > kMostParts || job.bins > most / job.width || job.rows > most / job.width || job.bits < 0 ||
      job.bits > 62)
    throw std::invalid_argument("rows and bins");
  job.pitch = job.bins * job.width;
  if (n.size() > 12) {
    constexpr int64_t mostTiles = int64_t{1} << 24;
    job.windows = n[12];
    job.rowParts = n[13];
    job.pitch = n[14];
    if (job.windows < 1 || job.windows > std::min(job.bins, mostTiles) || job.rowParts < 1 ||
        job.rowParts > mostTiles / job.windows || job.units() > mostTiles / (job.windows * job.rowParts) ||
        job.pitch < (job.bins + job.windows - 1) / job.windows * job.width || job.pitch > most)
      throw std::invalid_argument("windows of bins");
  }
  if (job.op == Op::fixed && job.parts != 2) throw std::invalid_argument("two numbers of a fixed sum");
  // The last number is for flags, the others for windows of all exponents.
  if (job.op == Op::exact && (job.bits < 1 || (job.parts - 1) * job.bits < 254))
    throw std::invalid_argument("windows of exponents");
  return job;
}

template <typename To, typename From>
void widen(const std::byte* from, int64_t first, int64_t count, To* to) {
  const auto* at = reinterpret_cast<const From*>(from) + first;
  for (int64_t i = 0; i < count; i++) to[i] = static_cast<To>(at[i]);
}

// Real numbers other than halves as another type; integers of 64 bits keep their bits in int64.
template <typename To>
void readAs(DType dtype, const std::byte* from, int64_t first, int64_t count, To* to) {
  switch (dtype) {
    case DType::boolean:
    case DType::uint8:
      return widen<To, uint8_t>(from, first, count, to);
    case DType::int8:
      return widen<To, int8_t>(from, first, count, to);
    case DType::uint16:
      return widen<To, uint16_t>(from, first, count, to);
    case DType::int16:
      return widen<To, int16_t>(from, first, count, to);
    case DType::uint32:
      return widen<To, uint32_t>(from, first, count, to);
    case DType::int32:
      return widen<To, int32_t>(from, first, count, to);
    case DType::uint64:
      return widen<To, uint64_t>(from, first, count, to);
    case DType::int64:
      return widen<To, int64_t>(from, first, count, to);
    case DType::float32:
      if constexpr (std::is_floating_point_v<To>) return widen<To, float>(from, first, count, to);
      break;
    case DType::float64:
      if constexpr (std::is_floating_point_v<To>) return widen<To, double>(from, first, count, to);
      break;
    default:
      break;
  }
  throw std::invalid_argument("numbers of such a dtype");
}

}  // namespace weft::cpu::bins
