#include "cpu/jit/native-loop.h"

#include <bit>
#include <cstring>
#include <utility>

#include "cpu/element-queue.h"

namespace weft::cpu::jit {
namespace {

// Numbers of a lane: 32 bits stand twice in lanes of 64, booleans are masks.
template <typename F>
void eachForm(DType dtype, int laneBytes, F&& move) {
  const int bytes = kElementBytes[static_cast<int>(dtype)];
  if (bytes == 8)
    move(uint64_t{}, uint64_t{}, [](uint64_t number) { return number; });
  else if (bytes == 4 && laneBytes == 4)
    move(uint32_t{}, uint32_t{}, [](uint32_t number) { return number; });
  else if (bytes == 4)
    move(uint32_t{}, uint64_t{}, [](uint32_t number) { return uint64_t{number} << 32 | number; });
  else if (laneBytes == 4)
    move(uint8_t{}, uint32_t{}, [](uint8_t number) { return static_cast<uint32_t>(-(number != 0)); });
  else
    move(uint8_t{}, uint64_t{}, [](uint8_t number) { return static_cast<uint64_t>(-int64_t{number != 0}); });
}

template <typename T>
T read(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
template <typename T>
void write(char* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

// The number of a lane as it stands in memory; booleans are bytes of 0 and 1.
template <typename Number, typename Lane>
Number numberOf(Lane lane) {
  return static_cast<Number>(sizeof(Number) == 1 ? lane & 1 : lane);
}

}  // namespace

void runLaneCall(char* frame, const LaneCall* call) {
  alignas(kHostAlignment) char chunks[4][kChunk * 8];
  const auto isDirect = [&](DType dtype) {
    return kElementBytes[static_cast<int>(dtype)] == call->laneBytes;
  };
  Operand operands[4];
  const Operand* args[3];
  for (size_t k = 0; k < call->arguments.size(); k++) {
    const auto& [lanes, chunk] = call->arguments[k];
    char* const from = frame + lanes.offset;
    operands[k] = {const_cast<char*>(chunk), kChunk, kChunk};
    args[k] = &operands[k];
    if (chunk) continue;
    operands[k].data = isDirect(lanes.dtype) ? from : chunks[k];
    if (isDirect(lanes.dtype)) continue;
    eachForm(lanes.dtype, call->laneBytes, [&](auto number, auto lane, auto) {
      using Number = decltype(number);
      using Lane = decltype(lane);
      for (int64_t l = 0; l < kChunk; l++)
        write(chunks[k] + l * sizeof(Number), numberOf<Number>(read<Lane>(from + l * sizeof(Lane))));
    });
  }
  char* const to = frame + call->out.offset;
  const bool isInPlace = isDirect(call->out.dtype);
  const Operand out{isInPlace ? to : chunks[3], kChunk, kChunk};
  call->function({1, 1}, out, args);
  if (isInPlace) return;
  eachForm(call->out.dtype, call->laneBytes, [&](auto number, auto lane, auto&& asLane) {
    using Number = decltype(number);
    using Lane = decltype(lane);
    for (int64_t l = 0; l < kChunk; l++)
      write<Lane>(to + l * sizeof(Lane), asLane(read<Number>(chunks[3] + l * sizeof(Number))));
  });
}

namespace {

// The lanes of a frame on the elements of a block.
class FrameRun {
 public:
  FrameRun(const LoopFrame& layout, char* frame, const Operand* const* args)
      : layout_(layout), frame_(frame), args_(args) {}

  // Arguments that no step changes and that are equal for all elements, in all lanes.
  void fill() {
    for (size_t k = 0; k < layout_.arguments.size(); k++) {
      const FrameLanes& lanes = layout_.arguments[k];
      if (lanes.offset < 0) continue;
      if (static_cast<int>(k) < layout_.states || args_[k]->rowStep != 0 || args_[k]->chunkStep != 0) {
        taken_.push_back(k);
        continue;
      }
      eachForm(lanes.dtype, layout_.laneBytes, [&](auto number, auto lane, auto&& asLane) {
        const decltype(lane) value = asLane(read<decltype(number)>(args_[k]->data));
        for (int l = 0; l < layout_.lanes; l++) write(frame_ + lanes.offset + l * sizeof value, value);
      });
    }
    std::memset(frame_ + layout_.mask, 0, layout_.lanes * layout_.laneBytes);
  }

  // Takes elements into lanes that have none; those that do.
  uint64_t take(ElementQueue& queue, uint64_t idle) {
    uint64_t found = 0;
    for (; idle != 0 && !queue.isEmpty(); idle &= idle - 1) {
      const int lane = std::countr_zero(idle);
      elements_[lane] = queue.next(lane);
      found |= uint64_t{1} << lane;
    }
    for (const size_t k : taken_) {
      const FrameLanes& lanes = layout_.arguments[k];
      eachForm(lanes.dtype, layout_.laneBytes, [&](auto number, auto form, auto&& asLane) {
        using Number = decltype(number);
        using Lane = decltype(form);
        eachLane(found, [&](int lane) {
          const char* const from = args_[k]->data + placeIn(*args_[k], elements_[lane]) * sizeof(Number);
          write<Lane>(frame_ + lanes.offset + lane * sizeof(Lane), asLane(read<Number>(from)));
        });
      });
    }
    eachLane(found, [&](int lane) {
      std::memset(frame_ + layout_.mask + lane * layout_.laneBytes, 0xff, layout_.laneBytes);
    });
    return found;
  }

  // Gives the results of lanes that have ended.
  void give(uint64_t ended, const FrameLanes& result, const Operand& out) {
    eachForm(result.dtype, layout_.laneBytes, [&](auto number, auto form, auto) {
      using Number = decltype(number);
      using Lane = decltype(form);
      eachLane(ended, [&](int lane) {
        char* const to = out.data + placeIn(out, elements_[lane]) * sizeof(Number);
        write(to, numberOf<Number>(read<Lane>(frame_ + result.offset + lane * sizeof(Lane))));
      });
    });
  }

 private:
  template <typename F>
  static void eachLane(uint64_t lanes, F&& fn) {
    for (; lanes != 0; lanes &= lanes - 1) fn(std::countr_zero(lanes));
  }

  const LoopFrame& layout_;
  char* const frame_;
  const Operand* const* args_;
  // Arguments that each element has its own of.
  std::vector<size_t> taken_;
  Taken elements_[kMostLanes];
};

}  // namespace

NativeLoop::NativeLoop(LoopFrame frame, int result, std::vector<std::unique_ptr<LaneCall>> calls,
                       const std::vector<uint8_t>& code)
    : frame_(std::move(frame)), result_(result), calls_(std::move(calls)), memory_(code) {}

void NativeLoop::run(Extent extent, int64_t valid, const Operand& out, const Operand* const* args,
                     char* scratch) const {
  ElementQueue queue(extent, valid);
  const auto address = reinterpret_cast<uintptr_t>(scratch);
  char* const frame = scratch + (-address & (kHostAlignment - 1));
  FrameRun lanes(frame_, frame, args);
  lanes.fill();
  const auto code = reinterpret_cast<Code>(const_cast<void*>(memory_.entry()));
  const uint64_t all = ~uint64_t{0} >> (64 - frame_.lanes);
  uint64_t active = 0;
  for (;;) {
    if (!queue.isEmpty()) active |= lanes.take(queue, all & ~active);
    if (active == 0) return;
    FrameHeader header{queue.isEmpty() ? 0 : frame_.lanes * 3 / 4, 0, 0};
    std::memcpy(frame, &header, sizeof header);
    code(frame);
    std::memcpy(&header, frame, sizeof header);
    lanes.give(active & ~header.active, frame_.arguments[result_], out);
    active &= header.active;
  }
}

}  // namespace weft::cpu::jit
