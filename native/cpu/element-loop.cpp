#include "cpu/element-loop.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "cpu/element-queue.h"
#include "cpu/jit/native-loop.h"
#include "cpu/loop-counts.h"

namespace weft::cpu {
namespace {

// Chunks that a loop runs on at a time, so that calls of functions are few.
constexpr int64_t kLoopChunks = 4;

char* chunkIn(const Operand& operand, int64_t row, int64_t chunk, int byteLength) {
  return operand.data + (row * operand.rowStep + chunk * operand.chunkStep) * byteLength;
}

// Calls fn with every eight bytes of two masks, bytes of 0 and 1.
template <typename F>
void eachWord(const char* mask, const char* other, int64_t chunks, F&& fn) {
  for (int64_t k = 0; k < chunks * kChunk; k += 8) {
    uint64_t word, otherWord;
    std::memcpy(&word, mask + k, sizeof word);
    std::memcpy(&otherWord, other + k, sizeof otherWord);
    fn(k, word, otherWord);
  }
}

// Moves elements of so many bytes, each from one place to another.
template <typename Places>
void moveElements(int byteLength, const std::vector<Taken>& list, char* to, const char* from,
                  Places&& places) {
  const auto move = [&](auto word) {
    using Word = decltype(word);
    for (const Taken& each : list) {
      const auto [toAt, fromAt] = places(each);
      std::memcpy(to + toAt * sizeof(Word), from + fromAt * sizeof(Word), sizeof(Word));
    }
  };
  struct Sixteen {
    uint64_t low, high;
  };
  switch (byteLength) {
    case 1:
      return move(uint8_t{});
    case 2:
      return move(uint16_t{});
    case 4:
      return move(uint32_t{});
    case 8:
      return move(uint64_t{});
    default:
      return move(Sixteen{});
  }
}

// The values of a loop's step on some chunks of lanes.
class LoopLanes {
 public:
  // `chunks`: at most, for which `scratch` has memory.
  LoopLanes(const ElementLoop& loop, int64_t chunks, char* scratch)
      : loop_(loop),
        chunks_(chunks),
        arguments_(loop.argumentBytes.size()),
        operands_(arguments_ + loop.values.size()) {
    const auto lanes = [&](int byteLength) {
      char* const data = scratch;
      scratch += chunks * kChunk * byteLength;
      return Operand{data, chunks * kChunk, kChunk};
    };
    mask_ = lanes(1);
    going_ = lanes(1);
    for (size_t k = 0; k < arguments_; k++) {
      operands_[k] = lanes(loop.argumentBytes[k]);
      if (k < loop.next.size()) spare_.push_back(lanes(loop.argumentBytes[k]));
    }
    for (size_t k = 0; k < loop.values.size(); k++) {
      const StepValue& value = loop.values[k];
      Operand& own = operands_[arguments_ + k];
      own = lanes(value.byteLength);
      if (!value.constant.empty()) {
        own.rowStep = own.chunkStep = 0;
        std::memcpy(own.data, value.constant.data(), value.constant.size());
      }
      std::vector<const Operand*>& args = args_.emplace_back();
      for (const int at : value.args) args.push_back(&operands_[at]);
      inner_.push_back(nullptr);
      if (!value.loop) continue;
      inner_.back() = std::make_unique<LoopLanes>(*value.loop, 1, scratch);
      scratch += value.loop->scratchBytes(1);
    }
  }

  // Runs the loop on the lanes of a mask of one chunk; the others keep their states. `args`: the lanes of the
  // arguments.
  void run(const std::vector<const Operand*>& args, int64_t chunk, const char* mask) {
    std::memcpy(mask_.data, mask, kChunk);
    for (size_t k = 0; k < arguments_; k++) {
      char* const from = chunkIn(*args[k], 0, chunk, loop_.argumentBytes[k]);
      if (k < loop_.next.size()) {
        std::memcpy(operands_[k].data, from, kChunk * loop_.argumentBytes[k]);
      } else {
        operands_[k].data = from;
      }
    }
    for (;;) {
      test();
      std::swap(mask_.data, going_.data);
      if (std::memchr(mask_.data, 1, kChunk) == nullptr) return;
      values(loop_.conditionLength, loop_.values.size());
      advance(std::memchr(mask_.data, 0, kChunk) == nullptr);
    }
  }

  const char* state(int k) const { return operands_[k].data; }

 protected:
  // Which lanes go on.
  void test() {
    values(0, loop_.conditionLength);
    const Operand* const both[] = {&mask_, &operands_[loop_.condition]};
    loop_.conjunction({1, chunks_}, going_, both);
  }

  void values(size_t first, size_t last) {
    for (size_t k = first; k < last; k++) {
      const StepValue& value = loop_.values[k];
      const Operand& out = operands_[arguments_ + k];
      if (!value.constant.empty()) continue;
      if (!value.loop) {
        value.function({1, chunks_}, out, args_[k].data());
        continue;
      }
      for (int64_t chunk = 0; chunk < chunks_; chunk++) {
        inner_[k]->run(args_[k], chunk, mask_.data + chunk * kChunk);
        std::memcpy(chunkIn(out, 0, chunk, value.byteLength), inner_[k]->state(value.result),
                    kChunk * value.byteLength);
      }
    }
  }

  // Takes the next states, of all lanes or on those of the mask.
  void advance(bool isAll) {
    const auto states = static_cast<int>(loop_.next.size());
    // All that are read are put aside before one is written.
    for (int k = 0; k < states; k++) {
      const int at = loop_.next[k];
      if (at == k || !loop_.keeps[k]) continue;
      for (int64_t chunk = 0; chunk < chunks_; chunk++)
        std::memcpy(chunkIn(spare_[k], 0, chunk, loop_.argumentBytes[k]),
                    chunkIn(operands_[at], 0, chunk, loop_.argumentBytes[k]),
                    kChunk * loop_.argumentBytes[k]);
    }
    for (int k = 0; k < states; k++) {
      const int at = loop_.next[k];
      if (at == k) continue;
      Operand& from = loop_.keeps[k] ? spare_[k] : operands_[at];
      // A value is computed anew in the next step: its lanes may become the state's.
      if (isAll) {
        std::swap(operands_[k].data, from.data);
        continue;
      }
      const Operand* const choice[] = {&mask_, &from, &operands_[k]};
      loop_.choices[k]({1, chunks_}, operands_[k], choice);
    }
  }

  const ElementLoop& loop_;
  // Those that are in use.
  int64_t chunks_;
  const size_t arguments_;
  // Lanes of arguments and values.
  std::vector<Operand> operands_;
  // The lanes that are in the loop, and those that go on.
  Operand mask_, going_;

 private:
  std::vector<std::vector<const Operand*>> args_;
  std::vector<std::unique_ptr<LoopLanes>> inner_;
  std::vector<Operand> spare_;
};

// A loop for all elements of a block. A lane that ends gives its result at once, so that its states may
// become anything, and takes the next element; at last those that are left move together.
class BlockLoop : LoopLanes {
 public:
  BlockLoop(const ElementLoop& loop, int result, const Operand& out, const Operand* const* args,
            char* scratch)
      : LoopLanes(loop, kLoopChunks, scratch), result_(result), out_(out), args_(args) {}

  void run(Extent extent, int64_t valid) {
    ElementQueue queue(extent, valid);
    while (chunks_ > 1 && 2 * queue.count() <= chunks_ * kChunk) chunks_ /= 2;
    std::memset(mask_.data, 0, kLoopChunks * kChunk);
    int64_t lanes = 0;
    for (;;) {
      const bool isFew = 4 * lanes <= 3 * chunks_ * kChunk;
      if (isFew && !queue.isEmpty()) {
        lanes += take(queue);
      } else if (lanes == 0) {
        return;
      } else if (chunks_ > 1 && 2 * lanes <= chunks_ * kChunk) {
        gather();
      } else {
        values(loop_.conditionLength, loop_.values.size());
        advance(true);
      }
      test();
      lanes -= give();
    }
  }

 private:
  // Gives the results of lanes that have ended; how many.
  int64_t give() {
    list_.clear();
    eachWord(mask_.data, going_.data, chunks_, [&](int64_t first, uint64_t mask, uint64_t going) {
      for (uint64_t ended = mask & ~going; ended != 0; ended &= ended - 1)
        list_.push_back(taken_[static_cast<size_t>(first + std::countr_zero(ended) / 8)]);
    });
    std::swap(mask_.data, going_.data);
    moveElements(loop_.argumentBytes[static_cast<size_t>(result_)], list_, out_.data, state(result_),
                 [&](const Taken& each) { return std::pair(placeIn(out_, each), each.lane); });
    return static_cast<int64_t>(list_.size());
  }

  // Takes elements into the lanes that have ended; how many.
  int64_t take(ElementQueue& queue) {
    list_.clear();
    for (int64_t lane = 0; lane < chunks_ * kChunk && !queue.isEmpty(); lane++) {
      if (mask_.data[lane] != 0) continue;
      mask_.data[lane] = 1;
      list_.push_back(taken_[static_cast<size_t>(lane)] = queue.next(lane));
    }
    for (size_t k = 0; k < arguments_; k++)
      moveElements(loop_.argumentBytes[k], list_, operands_[k].data, args_[k]->data,
                   [&](const Taken& each) { return std::pair(each.lane, placeIn(*args_[k], each)); });
    return static_cast<int64_t>(list_.size());
  }

  // Moves the lanes of the second half of the chunks to places of the first half that have none.
  void gather() {
    chunks_ /= 2;
    list_.clear();
    int64_t to = 0;
    for (int64_t lane = chunks_ * kChunk; lane < 2 * chunks_ * kChunk; lane++) {
      if (mask_.data[lane] == 0) continue;
      while (mask_.data[to] != 0) to++;
      mask_.data[to] = 1;
      // From a lane to another, in place of a row and a place.
      list_.push_back({to, 0, lane});
      taken_[static_cast<size_t>(to)] = taken_[static_cast<size_t>(lane)];
      taken_[static_cast<size_t>(to)].lane = to;
    }
    for (size_t k = 0; k < arguments_; k++)
      moveElements(loop_.argumentBytes[k], list_, operands_[k].data, operands_[k].data,
                   [](const Taken& each) { return std::pair(each.lane, each.place); });
  }

  const int result_;
  const Operand& out_;
  const Operand* const* args_;
  // The element of each lane of the mask.
  std::array<Taken, kLoopChunks * kChunk> taken_;
  std::vector<Taken> list_;
};

}  // namespace

size_t ElementLoop::scratchBytes() const { return scratchBytes(kLoopChunks); }

size_t ElementLoop::scratchBytes(int64_t chunks) const {
  size_t bytes = 2;
  for (size_t k = 0; k < argumentBytes.size(); k++) bytes += (k < next.size() ? 2 : 1) * argumentBytes[k];
  for (const StepValue& value : values) bytes += value.byteLength;
  bytes *= chunks * kChunk;
  for (const StepValue& value : values)
    if (value.loop) bytes += value.loop->scratchBytes(1);
  return bytes;
}

void runElementLoop(const ElementLoop& loop, const jit::NativeLoop* native, int result, Extent extent,
                    int64_t valid, const Operand& out, const Operand* const* args, char* scratch) {
  const int byteLength = loop.argumentBytes[result];
  // Lanes that are no elements hold what they held before the loop. Those of `out` may be another argument's.
  for (int64_t row = 0; row < extent.rows; row++)
    for (int64_t c = std::max<int64_t>(0, valid) / kChunk; c < extent.chunks; c++) {
      const int64_t first = std::clamp<int64_t>(valid - c * kChunk, 0, kChunk) * byteLength;
      std::memmove(chunkIn(out, row, c, byteLength) + first,
                   chunkIn(*args[result], row, c, byteLength) + first, kChunk * byteLength - first);
    }
  if (native != nullptr) return native->run(extent, valid, out, args, scratch);
  countLoopBlock(LoopForm::interpreted);
  BlockLoop(loop, result, out, args, scratch).run(extent, valid);
}

}  // namespace weft::cpu
