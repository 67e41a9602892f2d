#include "cpu/element-loop.h"

#include <algorithm>
#include <cstring>

namespace weft::cpu {
namespace {

constexpr size_t kMaskBytes = kChunk;

// Copies the lanes of a mask; all of them where it says so.
template <typename T>
void blend(char* to, const char* from, const uint8_t* mask) {
  T* const t = reinterpret_cast<T*>(to);
  const T* const f = reinterpret_cast<const T*>(from);
  for (int64_t l = 0; l < kChunk; l++) t[l] = mask[l] ? f[l] : t[l];
}

void blendLanes(char* to, const char* from, const uint8_t* mask, int byteLength) {
  switch (byteLength) {
    case 1:
      return blend<uint8_t>(to, from, mask);
    case 2:
      return blend<uint16_t>(to, from, mask);
    case 4:
      return blend<uint32_t>(to, from, mask);
    case 8:
      return blend<uint64_t>(to, from, mask);
    default:
      for (int64_t l = 0; l < kChunk; l++)
        if (mask[l]) std::memcpy(to + l * byteLength, from + l * byteLength, byteLength);
  }
}

// Takes lanes away from a mask where a condition fails; the number of lanes that are left.
int64_t narrow(uint8_t* mask, const char* condition) {
  int64_t left = 0;
  for (int64_t l = 0; l < kChunk; l++) {
    mask[l] = mask[l] & static_cast<uint8_t>(condition[l] != 0);
    left += mask[l];
  }
  return left;
}

// A loop over one chunk.
class ChunkLoop {
 public:
  // `args`: the arguments' lanes; states are copied from there.
  ChunkLoop(const ElementLoop& loop, const char* const* args, const uint8_t* mask, char* scratch)
      : loop_(loop), mask_(reinterpret_cast<uint8_t*>(scratch)), places_(placesOf(loop)) {
    std::memcpy(mask_, mask, kMaskBytes);
    char* free = scratch + kMaskBytes;
    const auto take = [&](int byteLength) {
      char* const lanes = free;
      free += kChunk * byteLength;
      return lanes;
    };
    const size_t arguments = loop.argumentBytes.size();
    for (size_t k = 0; k < arguments; k++) {
      const int bytes = loop.argumentBytes[k];
      if (k < loop.next.size()) {
        places_[k] = take(bytes);
        std::memcpy(places_[k], args[k], kChunk * bytes);
      } else {
        places_[k] = const_cast<char*>(args[k]);
      }
    }
    for (size_t k = 0; k < loop.values.size(); k++) places_[arguments + k] = take(loop.values[k].byteLength);
    swap_.reserve(loop.next.size());
    for (size_t k = 0; k < loop.next.size(); k++) swap_.push_back(take(loop.argumentBytes[k]));
    inner_ = free;
  }

  void run() {
    for (;;) {
      values(0, loop_.conditionLength);
      if (narrow(mask_, places_[loop_.condition]) == 0) return;
      values(loop_.conditionLength, loop_.values.size());
      advance();
    }
  }

  const char* state(int k) const { return places_[k]; }

 private:
  static std::vector<char*> placesOf(const ElementLoop& loop) {
    return std::vector<char*>(loop.argumentBytes.size() + loop.values.size());
  }

  void values(size_t first, size_t last) {
    const size_t arguments = loop_.argumentBytes.size();
    for (size_t k = first; k < last; k++) {
      const StepValue& value = loop_.values[k];
      if (value.loop) {
        inner(value, places_[arguments + k]);
        continue;
      }
      Operand operands[4];
      const Operand* args[4];
      for (size_t a = 0; a < value.args.size(); a++) {
        operands[a] = {places_[value.args[a]], kChunk, kChunk};
        args[a] = &operands[a];
      }
      value.function({1, 1}, {places_[arguments + k], kChunk, kChunk}, args);
    }
  }

  void inner(const StepValue& value, char* out) {
    std::vector<const char*> args;
    args.reserve(value.args.size());
    for (const int at : value.args) args.push_back(places_[at]);
    ChunkLoop loop(*value.loop, args.data(), mask_, inner_);
    loop.run();
    std::memcpy(out, loop.state(value.result), kChunk * value.byteLength);
  }

  // All next states are read before one is written.
  void advance() {
    const auto states = static_cast<int>(loop_.next.size());
    for (int k = 0; k < states; k++) {
      const int at = loop_.next[k];
      if (at < states && at != k) std::memcpy(swap_[k], places_[at], kChunk * loop_.argumentBytes[k]);
    }
    for (int k = 0; k < states; k++) {
      const int at = loop_.next[k];
      if (at == k) continue;
      blendLanes(places_[k], at < states ? swap_[k] : places_[at], mask_, loop_.argumentBytes[k]);
    }
  }

  const ElementLoop& loop_;
  uint8_t* const mask_;
  // Lanes of arguments and values.
  std::vector<char*> places_;
  std::vector<char*> swap_;
  char* inner_;
};

}  // namespace

size_t ElementLoop::scratchBytes() const {
  size_t bytes = kMaskBytes;
  size_t inner = 0;
  for (size_t k = 0; k < next.size(); k++) bytes += 2 * kChunk * argumentBytes[k];
  for (const StepValue& value : values) {
    bytes += kChunk * value.byteLength;
    if (value.loop) inner = std::max(inner, value.loop->scratchBytes());
  }
  return bytes + inner;
}

void runElementLoop(const ElementLoop& loop, int result, Extent extent, int64_t valid, const Operand& out,
                    const Operand* const* args, char* scratch) {
  const size_t count = loop.argumentBytes.size();
  const int byteLength = loop.argumentBytes[result];
  std::vector<const char*> lanes(count);
  uint8_t mask[kMaskBytes];
  for (int64_t row = 0; row < extent.rows; row++) {
    for (int64_t c = 0; c < extent.chunks; c++) {
      for (size_t k = 0; k < count; k++) {
        const Operand& arg = *args[k];
        lanes[k] = arg.data + (row * arg.rowStep + c * arg.chunkStep) * loop.argumentBytes[k];
      }
      for (int64_t l = 0; l < kChunk; l++) mask[l] = c * kChunk + l < valid ? 1 : 0;
      ChunkLoop chunk(loop, lanes.data(), mask, scratch);
      chunk.run();
      std::memcpy(out.data + (row * out.rowStep + c * out.chunkStep) * byteLength, chunk.state(result),
                  kChunk * byteLength);
    }
  }
}

}  // namespace weft::cpu
