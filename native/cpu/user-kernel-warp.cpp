// Warp functions of users' kernels: the 32 lanes of a warp are neighbours of a block. Those of a mask that
// have not returned have to be there, as on a GPU.
#include <algorithm>
#include <bit>
#include <string>

#include "cpu/kernel-races.h"
#include "cpu/user-kernel.h"

namespace weft::cpu {
namespace {

// The lane that a shuffle reads.
int64_t sourceOf(WarpOp op, int64_t lane, int64_t by, int64_t width) {
  const int64_t first = lane / width * width;
  switch (op) {
    case WarpOp::shfl:
      return first + (by & (width - 1));
    case WarpOp::shflUp:
      return by < 0 || lane - by < first ? lane : lane - by;
    case WarpOp::shflDown:
      return by < 0 || lane + by >= first + width ? lane : lane + by;
    default: {
      const int64_t from = lane ^ (by & (kWarpLanes - 1));
      return from >= first + width ? lane : from;
    }
  }
}

template <typename T>
T reducedBy(WarpOp op, T a, T b) {
  switch (op) {
    case WarpOp::reduceAdd:
      return static_cast<T>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
    case WarpOp::reduceMin:
      return std::min(a, b);
    case WarpOp::reduceMax:
      return std::max(a, b);
    case WarpOp::reduceAnd:
      return a & b;
    case WarpOp::reduceOr:
      return a | b;
    default:
      return a ^ b;
  }
}

// The lanes of a warp, of some of which `present` has a bit.
template <typename F>
void eachLane(uint32_t present, F&& fn) {
  for (; present != 0; present &= present - 1) fn(static_cast<int64_t>(std::countr_zero(present)));
}

// Those whose values have the bits of a lane's.
template <typename Word>
uint32_t matching(const Word* values, uint32_t present, int64_t lane) {
  uint32_t same = 0;
  eachLane(present, [&](int64_t other) {
    if (values[other] == values[lane]) same |= uint32_t{1} << other;
  });
  return same;
}

}  // namespace

void KernelBlock::warps(const KernelInstruction& it, const Mask& mask) {
  for (int64_t first = 0; first < threads_; first += kWarpLanes) warp(it, mask, first);
}

void KernelBlock::warp(const KernelInstruction& it, const Mask& mask, int64_t first) {
  const int64_t count = std::min(kWarpLanes, threads_ - first);
  uint32_t active = 0, waiting = 0;
  for (int64_t lane = 0; lane < count; lane++) {
    active |= uint32_t{mask[first + lane] != 0} << lane;
    waiting |= uint32_t{left_[0][first + lane] == 0} << lane;
  }
  auto* lanes = reinterpret_cast<uint32_t*>(data(it.to)) + first;
  if (it.warp == WarpOp::activemask) return eachLane(active, [&](int64_t lane) { lanes[lane] = active; });
  const auto* masks = reinterpret_cast<const uint32_t*>(data(it.mask)) + first;
  eachLane(active, [&](int64_t lane) {
    const uint32_t named = masks[lane] & waiting;
    if ((named >> lane & 1) == 0) fail(it, first + lane, "a mask with the lane that calls: without it");
    const uint32_t missing = named & ~active;
    if (missing != 0)
      fail(it, first + lane,
           "the lanes of the mask to call together: lane " + std::to_string(std::countr_zero(missing)) +
               " does not");
    eachLane(named, [&](int64_t other) {
      if (masks[other] != masks[lane])
        fail(it, first + lane, "one mask of the lanes in it: another of lane " + std::to_string(other));
    });
  });
  if (it.warp == WarpOp::sync) {
    if (races_ != nullptr) eachLane(active, [&](int64_t lane) { races_->syncLane(first + lane); });
    return;
  }
  exchange(it, active, first);
}

void KernelBlock::exchange(const KernelInstruction& it, uint32_t active, int64_t first) {
  const auto* masks = reinterpret_cast<const uint32_t*>(data(it.mask)) + first;
  auto* lanes = reinterpret_cast<uint32_t*>(data(it.to)) + first;
  const auto shuffle = [&](auto word) {
    using Word = decltype(word);
    std::array<Word, kWarpLanes> values;
    std::copy_n(reinterpret_cast<const Word*>(data(it.from)) + first, values.size(), values.begin());
    const auto* by = reinterpret_cast<const int32_t*>(data(it.lane)) + first;
    auto* to = reinterpret_cast<Word*>(data(it.to)) + first;
    eachLane(active, [&](int64_t lane) {
      const int64_t from = sourceOf(it.warp, lane, by[lane], it.width);
      if (((masks[lane] & active) >> from & 1) == 0)
        fail(it, first + lane, "a lane to read that takes part: lane " + std::to_string(from) + " does not");
      to[lane] = values[static_cast<size_t>(from)];
    });
  };
  const auto reduce = [&](auto number) {
    using T = decltype(number);
    std::array<T, kWarpLanes> values;
    std::copy_n(reinterpret_cast<const T*>(data(it.from)) + first, values.size(), values.begin());
    auto* to = reinterpret_cast<T*>(data(it.to)) + first;
    eachLane(active, [&](int64_t lane) {
      T sum = values[static_cast<size_t>(lane)];
      eachLane(masks[lane] & active & ~(uint32_t{1} << lane),
               [&](int64_t other) { sum = reducedBy(it.warp, sum, values[static_cast<size_t>(other)]); });
      to[lane] = sum;
    });
  };
  const auto match = [&](auto word) {
    using Word = decltype(word);
    const auto* values = reinterpret_cast<const Word*>(data(it.from)) + first;
    eachLane(active, [&](int64_t lane) {
      const uint32_t present = masks[lane] & active;
      const uint32_t same = matching(values, present, lane);
      lanes[lane] = it.warp == WarpOp::matchAny || same == present ? same : 0;
    });
  };
  switch (it.warp) {
    case WarpOp::shfl:
    case WarpOp::shflUp:
    case WarpOp::shflDown:
    case WarpOp::shflXor:
      return bytesOf(it.from) == 4 ? shuffle(uint32_t{}) : shuffle(uint64_t{});
    case WarpOp::matchAny:
    case WarpOp::matchAll:
      return bytesOf(it.from) == 4 ? match(uint32_t{}) : match(uint64_t{});
    case WarpOp::ballot:
    case WarpOp::any:
    case WarpOp::all: {
      const auto* conditions = reinterpret_cast<const uint8_t*>(data(it.from)) + first;
      uint32_t holding = 0;
      eachLane(active, [&](int64_t lane) { holding |= uint32_t{conditions[lane] != 0} << lane; });
      auto* to = reinterpret_cast<uint8_t*>(data(it.to)) + first;
      return eachLane(active, [&](int64_t lane) {
        const uint32_t present = masks[lane] & active;
        if (it.warp == WarpOp::ballot)
          lanes[lane] = holding & present;
        else
          to[lane] = it.warp == WarpOp::any ? (holding & present) != 0 : (holding & present) == present;
      });
    }
    default:
      return kernel_.registers[static_cast<size_t>(it.from)] == DType::int32 ? reduce(int32_t{})
                                                                             : reduce(uint32_t{});
  }
}

}  // namespace weft::cpu
