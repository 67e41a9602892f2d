#include "cpu/jit/native-loop.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <type_traits>
#include <utility>

#include "cpu/element-queue.h"
#include "cpu/jit/lane-dtypes.h"

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

// The same between numbers in memory and lanes of int32 that hold them.
template <typename F>
void eachForm(const FrameLanes& lanes, int laneBytes, F&& move) {
  const auto toInt32 = [](auto number) { return static_cast<uint32_t>(static_cast<int32_t>(number)); };
  if (lanes.stored != lanes.dtype && isDouble(lanes.stored)) return move(double{}, uint32_t{}, toInt32);
  if (lanes.stored == DType::float32 && !isFloat(lanes.dtype)) return move(float{}, uint32_t{}, toInt32);
  if (lanes.stored == DType::int64 && !isWide(lanes.dtype)) return move(int64_t{}, uint32_t{}, toInt32);
  eachForm(lanes.dtype, laneBytes, move);
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
  if constexpr (std::is_signed_v<Number>) return static_cast<Number>(static_cast<int32_t>(lane));
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

void runVectorCall(char* frame, const VectorCall* call) {
  alignas(kHostAlignment) char chunks[3][kChunk * 8];
  Operand operands[3];
  const Operand* args[3];
  for (int k = 0; k <= call->arguments; k++) {
    operands[k] = {chunks[k], kChunk, kChunk};
    args[k] = &operands[k];
    // Lanes behind the vector are ones, which no function takes long for.
    const auto fill = [&](auto one) {
      for (int64_t l = 0; l < kChunk; l++) write(chunks[k] + l * sizeof one, one);
    };
    if (call->dtype == DType::float64) fill(1.0);
    if (call->dtype == DType::float32) fill(1.0f);
    if (call->dtype == DType::int64) fill(int64_t{1});
  }
  char* const at = frame + call->offset;
  const auto bytes = static_cast<size_t>(call->vectorBytes);
  for (int k = 0; k < call->arguments; k++) std::memcpy(chunks[k], at + k * bytes, bytes);
  call->function({1, 1}, operands[call->arguments], args);
  std::memcpy(at + call->arguments * bytes, chunks[call->arguments], bytes);
}

namespace {

template <typename F>
void eachLane(uint64_t lanes, F&& fn) {
  for (; lanes != 0; lanes &= lanes - 1) fn(std::countr_zero(lanes));
}

// The elements of a block in two frames. Elements come into the first one next to each other, and their
// results leave it so, all that fit at a time. Those that are left in the loop when most have ended go on in
// the second frame, which runs when it is full.
class BlockRun {
 public:
  BlockRun(const LoopFrame& layout, int result, NativeLoop::Code code, char* frames, const Operand& out,
           const Operand* const* args, ElementQueue& queue)
      : layout_(layout),
        result_(layout.arguments[result]),
        code_(code),
        first_(frames),
        second_(frames + layout.byteLength),
        out_(out),
        queue_(queue) {
    for (size_t k = 0; k < layout_.arguments.size(); k++) {
      const FrameLanes& lanes = layout_.arguments[k];
      if (lanes.offset < 0) continue;
      const bool isEqual = args[k]->rowStep == 0 && args[k]->chunkStep == 0;
      const bool isState = static_cast<int>(k) < layout_.states;
      if (isState || !isEqual) moved_.push_back(lanes.offset);
      if (!isEqual) {
        own_.push_back({lanes, args[k]});
        continue;
      }
      const Equal equal{lanes.offset, equalLane(lanes, args[k]->data)};
      if (isState) {
        equal_.push_back(equal);
      } else {
        fill(first_, equal, layout_.lanes);
        fill(second_, equal, layout_.lanes);
      }
    }
    fill(second_, {layout_.mask, 0}, layout_.lanes);
  }

  void run() {
    while (!queue_.isEmpty()) {
      const int count = take();
      // The last elements of a block are no others' company.
      const bool isAlone = queue_.isEmpty() && late_ == 0;
      const uint64_t active = runCode(first_, isAlone ? 0 : count * 3 / 8);
      give();
      eachLane(active, [&](int lane) { move(lane); });
    }
    if (late_ != 0) runSecond(0);
  }

 private:
  // An argument that is equal in all elements.
  struct Equal {
    int32_t offset;
    uint64_t lane;
  };
  // An argument that each element has its own of.
  struct Own {
    FrameLanes lanes;
    const Operand* operand;
  };
  // Neighbours of a row, in lanes from `lane` on.
  struct Stretch {
    int lane, count;
    Taken first;
  };

  static uint64_t equalLane(const FrameLanes& lanes, const char* from) {
    uint64_t lane = 0;
    eachForm(lanes, 8, [&](auto number, auto form, auto&& asLane) {
      lane = asLane(read<decltype(number)>(from));
      if constexpr (sizeof form == 4) lane |= lane << 32;
    });
    return lane;
  }

  // In the first lanes of a frame.
  void fill(char* frame, Equal equal, int lanes) const {
    const int count = lanes * layout_.laneBytes;
    for (int at = 0; at < count; at += 8) write(frame + equal.offset + at, equal.lane);
  }

  // Runs a frame until at most so many lanes are left; those that are.
  uint64_t runCode(char* frame, int limit) const {
    FrameHeader header{limit, 0, 0};
    std::memcpy(frame, &header, sizeof header);
    code_(frame);
    std::memcpy(&header, frame, sizeof header);
    return header.active;
  }

  // Fills the first frame, as far as there are elements; how many lanes have such.
  int take() {
    stretches_.clear();
    int lanes = 0;
    while (lanes < layout_.lanes && !queue_.isEmpty()) {
      const Taken first = queue_.first();
      const int count = static_cast<int>(queue_.takeRow(layout_.lanes - lanes));
      stretches_.push_back({lanes, count, first});
      lanes += count;
    }
    fill(first_, {layout_.mask, 0}, layout_.lanes);
    fill(first_, {layout_.mask, ~uint64_t{0}}, lanes & ~1);
    if (lanes % 2 != 0)
      std::memset(first_ + layout_.mask + (lanes - 1) * layout_.laneBytes, 0xff, layout_.laneBytes);
    for (const Equal& equal : equal_) fill(first_, equal, layout_.lanes);
    for (const auto& [to, operand] : own_)
      eachForm(to, layout_.laneBytes, [&](auto number, auto form, auto&& asLane) {
        using Number = decltype(number);
        using Lane = decltype(form);
        char* const lanesAt = first_ + to.offset;
        const char* const data = operand->data;
        for (const Stretch& stretch : stretches_)
          eachPlace(*operand, stretch, [=](int lane, int64_t place) {
            write<Lane>(lanesAt + lane * sizeof(Lane), asLane(read<Number>(data + place * sizeof(Number))));
          });
      });
    return lanes;
  }

  // Writes the results of the first frame, also where elements are left in the loop: their own follow later.
  void give() const {
    eachForm(result_, layout_.laneBytes, [&](auto number, auto form, auto) {
      using Number = decltype(number);
      using Lane = decltype(form);
      const char* const lanesAt = first_ + result_.offset;
      char* const data = out_.data;
      for (const Stretch& stretch : stretches_)
        eachPlace(out_, stretch, [=](int lane, int64_t place) {
          write(data + place * sizeof(Number), numberOf<Number>(read<Lane>(lanesAt + lane * sizeof(Lane))));
        });
    });
  }

  template <typename F>
  static void eachPlace(const Operand& operand, const Stretch& stretch, F fn) {
    auto [lane, count, each] = stretch;
    if (operand.chunkStep == kChunk) {
      const int64_t first = placeIn(operand, each);
      for (int l = 0; l < count; l++) fn(lane + l, first + l);
      return;
    }
    for (int l = 0; l < count; l++, each.place++) fn(lane + l, placeIn(operand, each));
  }

  // Moves an element to a lane of the second frame.
  void move(int from) {
    const uint64_t all = ~uint64_t{0} >> (64 - layout_.lanes);
    if (late_ == all) runSecond(layout_.lanes / 2);
    const int to = std::countr_zero(~late_);
    late_ |= uint64_t{1} << to;
    size_t at = 0;
    while (at + 1 < stretches_.size() && stretches_[at + 1].lane <= from) at++;
    const Stretch& stretch = stretches_[at];
    elements_[to] = {to, stretch.first.row, stretch.first.place + from - stretch.lane};
    const int bytes = layout_.laneBytes;
    const auto copy = [&](auto lane) {
      for (const int32_t offset : moved_)
        write(second_ + offset + to * bytes, read<decltype(lane)>(first_ + offset + from * bytes));
      write(second_ + layout_.mask + to * bytes, static_cast<decltype(lane)>(~uint64_t{0}));
    };
    if (bytes == 8)
      copy(uint64_t{});
    else
      copy(uint32_t{});
  }

  void runSecond(int limit) {
    const uint64_t active = runCode(second_, limit);
    eachForm(result_, layout_.laneBytes, [&](auto number, auto form, auto) {
      using Number = decltype(number);
      using Lane = decltype(form);
      eachLane(late_ & ~active, [&](int lane) {
        const auto value = read<Lane>(second_ + result_.offset + lane * sizeof(Lane));
        write(out_.data + placeIn(out_, elements_[lane]) * sizeof(Number), numberOf<Number>(value));
      });
    });
    late_ = active;
  }

  const LoopFrame& layout_;
  const FrameLanes& result_;
  const NativeLoop::Code code_;
  char *const first_, *const second_;
  const Operand& out_;
  ElementQueue& queue_;
  std::vector<Own> own_;
  // States that begin equal; offsets of all that moves with an element.
  std::vector<Equal> equal_;
  std::vector<int32_t> moved_;
  std::vector<Stretch> stretches_;
  // Lanes of the second frame that have elements, and which.
  uint64_t late_ = 0;
  Taken elements_[kMostLanes];
};

// The range of some numbers, unknown where one is not whole, or not small. Adding 3 * 2^51 rounds a float64
// to a whole number.
template <typename T>
Range smallRange(const T* from, int64_t count) {
  int64_t others = 0;
  T least = kMostSmall, most = 0;
  for (int64_t k = 0; k < count; k++) {
    least = from[k] < least ? from[k] : least;
    most = from[k] > most ? from[k] : most;
    others |= !(from[k] >= 0) | !(from[k] <= static_cast<T>(kMostSmall));
    if constexpr (std::is_floating_point_v<T>) {
      constexpr double kWhole = 0x1.8p52;
      const double value = from[k], whole = (value + kWhole) - kWhole;
      // The difference of bits is that of -0 as well.
      others |= static_cast<int64_t>(std::bit_cast<uint64_t>(value) ^ std::bit_cast<uint64_t>(whole));
    }
  }
  if (others != 0) return {};
  return wholeRange(static_cast<int64_t>(least), static_cast<int64_t>(most));
}

Range smallRange(DType dtype, const char* from, int64_t count) {
  switch (dtype) {
    case DType::float64:
      return smallRange(reinterpret_cast<const double*>(from), count);
    case DType::float32:
      return smallRange(reinterpret_cast<const float*>(from), count);
    case DType::int64:
      return smallRange(reinterpret_cast<const int64_t*>(from), count);
    case DType::int32:
      return smallRange(reinterpret_cast<const int32_t*>(from), count);
    case DType::uint32:
      return smallRange(reinterpret_cast<const uint32_t*>(from), count);
    default:
      return {};
  }
}

// Of the elements of a block, chunk by chunk; those of an argument that is equal in all are one.
Range smallRange(DType dtype, const Operand& operand, Extent extent, int64_t valid) {
  if (operand.rowStep == 0 && operand.chunkStep == 0) return smallRange(dtype, operand.data, 1);
  const int64_t lanes = std::clamp<int64_t>(valid, 0, extent.chunks * kChunk);
  Range all = wholeRange(kMostSmall, 0);
  for (int64_t row = 0; row < extent.rows; row++)
    for (int64_t first = 0; first < lanes && all.isKnown; first += kChunk) {
      const int64_t place = placeIn(operand, {0, row, first});
      const char* const from = operand.data + place * kElementBytes[static_cast<int>(dtype)];
      all = join(all, smallRange(dtype, from, std::min(kChunk, lanes - first)));
    }
  return all;
}

}  // namespace

NativeLoop::NativeLoop(std::shared_ptr<const ElementLoop> loop, LoopFrame frame, int result,
                       std::vector<std::unique_ptr<LaneCall>> calls,
                       std::vector<std::unique_ptr<VectorCall>> vectorCalls, const std::vector<uint8_t>& code)
    : loop_(std::move(loop)),
      frame_(std::move(frame)),
      result_(result),
      calls_(std::move(calls)),
      vectorCalls_(std::move(vectorCalls)),
      memory_(code) {}

size_t NativeLoop::scratchBytes() const {
  size_t most = 2 * frame_.byteLength + kHostAlignment;
  for (const Small& small : small_) most = std::max(most, small.loop->scratchBytes());
  return most;
}

const NativeLoop::Small* NativeLoop::chosen(Extent extent, int64_t valid, const Operand* const* args) const {
  // Of arguments that a code has been asked for.
  std::vector<std::optional<Range>> ranges(frame_.arguments.size());
  const auto isIn = [&](const std::vector<Range>& wanted) {
    for (size_t k = 0; k < wanted.size(); k++) {
      if (!wanted[k].isKnown) continue;
      if (!ranges[k]) ranges[k] = smallRange(frame_.arguments[k].stored, *args[k], extent, valid);
      if (!ranges[k]->isWholeWithin(wanted[k].least, wanted[k].most)) return false;
    }
    return true;
  };
  for (const Small& small : small_)
    if (isIn(small.arguments)) return &small;
  return nullptr;
}

void NativeLoop::run(Extent extent, int64_t valid, const Operand& out, const Operand* const* args,
                     char* scratch) const {
  const Small* const small = chosen(extent, valid, args);
  countLoopBlock(small ? small->form : LoopForm::general);
  (small ? *small->loop : *this).runCode(extent, valid, out, args, scratch);
}

void NativeLoop::runCode(Extent extent, int64_t valid, const Operand& out, const Operand* const* args,
                         char* scratch) const {
  ElementQueue queue(extent, valid);
  const auto address = reinterpret_cast<uintptr_t>(scratch);
  char* const frame = scratch + (-address & (kHostAlignment - 1));
  const auto code = reinterpret_cast<Code>(const_cast<void*>(memory_.entry()));
  BlockRun(frame_, result_, code, frame, out, args, queue).run();
}

}  // namespace weft::cpu::jit
