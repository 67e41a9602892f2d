#include "cpu/element-loop.h"

#include <algorithm>
#include <cstring>

namespace weft::cpu {
namespace {

constexpr size_t kMaskBytes = kChunk;
constexpr Extent kOneChunk{1, 1};

Operand chunkAt(char* data) { return {data, kChunk, kChunk}; }

enum class Lanes { none, some, all };

// Which lanes of a mask, bytes of 0 and 1, are set.
Lanes lanesOf(const char* mask) {
  uint64_t any = 0;
  uint64_t every = ~uint64_t{0};
  for (size_t k = 0; k < kMaskBytes; k += sizeof(uint64_t)) {
    uint64_t word;
    std::memcpy(&word, mask + k, sizeof word);
    any |= word;
    every &= word;
  }
  if (any == 0) return Lanes::none;
  return every == 0x0101010101010101u ? Lanes::all : Lanes::some;
}

// A loop over one chunk at a time.
class ChunkLoop {
 public:
  ChunkLoop(const ElementLoop& loop, char* scratch)
      : loop_(loop), arguments_(loop.argumentBytes.size()), operands_(arguments_ + loop.values.size()) {
    const auto take = [&](int byteLength) {
      char* const lanes = scratch;
      scratch += kChunk * byteLength;
      return lanes;
    };
    mask_ = chunkAt(take(1));
    for (size_t k = 0; k < arguments_; k++) operands_[k] = chunkAt(nullptr);
    for (size_t k = 0; k < loop.next.size(); k++) {
      operands_[k].data = take(loop.argumentBytes[k]);
      spare_.push_back(chunkAt(take(loop.argumentBytes[k])));
    }
    for (size_t k = 0; k < loop.values.size(); k++) {
      const StepValue& value = loop.values[k];
      operands_[arguments_ + k] = chunkAt(take(value.byteLength));
      if (!value.constant.empty())
        std::memcpy(operands_[arguments_ + k].data, value.constant.data(), value.constant.size());
      std::vector<const Operand*>& args = args_.emplace_back();
      for (const int at : value.args) args.push_back(&operands_[at]);
      inner_.push_back(nullptr);
      if (!value.loop) continue;
      inner_.back() = std::make_unique<ChunkLoop>(*value.loop, scratch);
      scratch += value.loop->scratchBytes();
    }
  }

  // Runs the loop on the lanes of the mask; the others keep their states. `args`: the lanes of the arguments.
  void run(const Operand* const* args, const int64_t* offsets, const char* mask) {
    std::memcpy(mask_.data, mask, kMaskBytes);
    for (size_t k = 0; k < arguments_; k++) {
      char* const from = args[k]->data + (offsets == nullptr ? 0 : offsets[k]);
      if (k < loop_.next.size()) {
        std::memcpy(operands_[k].data, from, kChunk * loop_.argumentBytes[k]);
      } else {
        operands_[k].data = from;
      }
    }
    for (;;) {
      values(0, loop_.conditionLength);
      const Operand* const both[] = {&mask_, &operands_[loop_.condition]};
      loop_.conjunction(kOneChunk, mask_, both);
      const Lanes lanes = lanesOf(mask_.data);
      if (lanes == Lanes::none) return;
      values(loop_.conditionLength, loop_.values.size());
      advance(lanes);
    }
  }

  const char* state(int k) const { return operands_[k].data; }

 private:
  void values(size_t first, size_t last) {
    for (size_t k = first; k < last; k++) {
      const StepValue& value = loop_.values[k];
      const Operand& out = operands_[arguments_ + k];
      if (!value.constant.empty()) continue;
      if (!value.loop) {
        value.function(kOneChunk, out, args_[k].data());
        continue;
      }
      inner_[k]->run(args_[k].data(), nullptr, mask_.data);
      std::memcpy(out.data, inner_[k]->state(value.result), kChunk * value.byteLength);
    }
  }

  // Takes the next states, on the lanes of the mask.
  void advance(Lanes lanes) {
    const auto states = static_cast<int>(loop_.next.size());
    // All that are read are put aside before one is written.
    for (int k = 0; k < states; k++) {
      const int at = loop_.next[k];
      if (at != k && loop_.keeps[k])
        std::memcpy(spare_[k].data, operands_[at].data, kChunk * loop_.argumentBytes[k]);
    }
    for (int k = 0; k < states; k++) {
      const int at = loop_.next[k];
      if (at == k) continue;
      Operand& from = loop_.keeps[k] ? spare_[k] : operands_[at];
      // A value is computed anew in the next step: its lanes may become the state's.
      if (lanes == Lanes::all) {
        std::swap(operands_[k].data, from.data);
        continue;
      }
      const Operand* const choice[] = {&mask_, &from, &operands_[k]};
      loop_.choices[k](kOneChunk, operands_[k], choice);
    }
  }

  const ElementLoop& loop_;
  const size_t arguments_;
  // Lanes of arguments and values.
  std::vector<Operand> operands_;
  std::vector<std::vector<const Operand*>> args_;
  std::vector<std::unique_ptr<ChunkLoop>> inner_;
  std::vector<Operand> spare_;
  Operand mask_;
};

}  // namespace

size_t ElementLoop::scratchBytes() const {
  size_t bytes = kMaskBytes;
  for (size_t k = 0; k < next.size(); k++) bytes += 2 * kChunk * argumentBytes[k];
  for (const StepValue& value : values) {
    bytes += kChunk * value.byteLength;
    if (value.loop) bytes += value.loop->scratchBytes();
  }
  return bytes;
}

void runElementLoop(const ElementLoop& loop, int result, Extent extent, int64_t valid, const Operand& out,
                    const Operand* const* args, char* scratch) {
  const size_t count = loop.argumentBytes.size();
  const int byteLength = loop.argumentBytes[result];
  ChunkLoop chunk(loop, scratch);
  std::vector<int64_t> offsets(count);
  char mask[kMaskBytes];
  for (int64_t row = 0; row < extent.rows; row++) {
    for (int64_t c = 0; c < extent.chunks; c++) {
      for (size_t k = 0; k < count; k++)
        offsets[k] = (row * args[k]->rowStep + c * args[k]->chunkStep) * loop.argumentBytes[k];
      const int64_t lanes = std::clamp<int64_t>(valid - c * kChunk, 0, kChunk);
      std::memset(mask, 0, kMaskBytes);
      std::memset(mask, 1, lanes);
      chunk.run(args, offsets.data(), mask);
      std::memcpy(out.data + (row * out.rowStep + c * out.chunkStep) * byteLength, chunk.state(result),
                  kChunk * byteLength);
    }
  }
}

}  // namespace weft::cpu
