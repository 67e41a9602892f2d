#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <string>

#include "cpu/kernel-races.h"
#include "cpu/user-kernel.h"
#include "runtime/failure.h"

namespace weft::cpu {
namespace {

constexpr int64_t kAlignment = 64;
constexpr uint8_t kUndefined = 0xff;

int64_t padded(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

bool any(const std::vector<uint8_t>& mask) {
  return std::find(mask.begin(), mask.end(), uint8_t{1}) != mask.end();
}

// Calls fn with a number of the type that elements of so many bytes are moved as.
struct Sixteen {
  uint64_t low, high;
};
template <typename F>
void withWord(int byteLength, F&& fn) {
  switch (byteLength) {
    case 1:
      return fn(uint8_t{});
    case 2:
      return fn(uint16_t{});
    case 4:
      return fn(uint32_t{});
    case 8:
      return fn(uint64_t{});
    default:
      return fn(Sixteen{});
  }
}

// Calls fn with a number of a dtype that atomic operations take.
template <typename F>
void withNumber(DType dtype, F&& fn) {
  switch (dtype) {
    case DType::int32:
      return fn(int32_t{});
    case DType::uint32:
      return fn(uint32_t{});
    case DType::int64:
      return fn(int64_t{});
    case DType::uint64:
      return fn(uint64_t{});
    case DType::float32:
      return fn(float{});
    case DType::float64:
      return fn(double{});
    default:
      throw Failure(FailureCode::internal, "an atomic operation of this dtype");
  }
}

template <typename T>
T combined(AtomicOp op, T before, T value, T compare) {
  using Word = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  const auto bits = [](T x) { return std::bit_cast<Word>(x); };
  const auto of = [](Word x) { return std::bit_cast<T>(x); };
  switch (op) {
    case AtomicOp::add:
      if constexpr (std::is_integral_v<T>)
        return static_cast<T>(static_cast<Word>(before) + static_cast<Word>(value));
      else
        return before + value;
    // NaN wins, as in Math.min.
    case AtomicOp::min:
      return before != before || !(value < before || value != value) ? before : value;
    case AtomicOp::max:
      return before != before || !(value > before || value != value) ? before : value;
    case AtomicOp::bitAnd:
      return of(bits(before) & bits(value));
    case AtomicOp::bitOr:
      return of(bits(before) | bits(value));
    case AtomicOp::bitXor:
      return of(bits(before) ^ bits(value));
    case AtomicOp::exchange:
      return value;
    case AtomicOp::compare:
      return before == compare ? value : before;
  }
  return before;
}

}  // namespace

KernelBlock::KernelBlock(const UserKernel& kernel, const RoutineJob& job, const std::atomic<bool>* cancel,
                         KernelRaces* races)
    : kernel_(kernel), cancel_(cancel), races_(races), threads_(kernel.threads()) {
  lanes_ = (threads_ + kChunk - 1) / kChunk * kChunk;
  int64_t bytes = kAlignment;
  for (const DType dtype : kernel.registers) bytes += padded(lanes_ * byteLengthOf(dtype));
  memory_ = std::make_unique<char[]>(static_cast<size_t>(bytes));
  auto* next = reinterpret_cast<char*>(padded(reinterpret_cast<intptr_t>(memory_.get())));
  for (const DType dtype : kernel.registers) {
    registers_.push_back({next, lanes_, kChunk});
    next += padded(lanes_ * byteLengthOf(dtype));
  }
  int64_t shared = 0;
  for (const KernelMemory& memory : kernel.arrays)
    if (memory.kind == MemoryKind::shared) shared += padded(memory.at * byteLengthOf(memory.dtype));
  shared_.resize(static_cast<size_t>(shared + kAlignment));
  auto* own = reinterpret_cast<char*>(padded(reinterpret_cast<intptr_t>(shared_.data())));
  for (size_t k = 0; k < kernel.arrays.size(); k++) {
    const KernelMemory& memory = kernel.arrays[k];
    const auto at = static_cast<size_t>(memory.at);
    char* address = own;
    if (memory.kind == MemoryKind::input) address = reinterpret_cast<char*>(job.operands[at]);
    if (memory.kind == MemoryKind::output) address = reinterpret_cast<char*>(job.results[at]);
    if (memory.kind == MemoryKind::shared) own += padded(memory.at * byteLengthOf(memory.dtype));
    arrays_.push_back(address);
    sizes_.push_back(kernel.sizeOf(static_cast<int>(k)));
  }
  left_.assign(static_cast<size_t>(kernel.scopes), Mask(static_cast<size_t>(lanes_), 0));
}

KernelBlock::~KernelBlock() = default;

void KernelBlock::run(const Dim3& block) {
  block_ = block;
  std::fill(shared_.begin(), shared_.end(), static_cast<char>(kUndefined));
  for (Mask& left : left_) std::fill(left.begin(), left.end(), 0);
  Mask mask(static_cast<size_t>(lanes_), 0);
  std::fill_n(mask.begin(), threads_, 1);
  if (races_ != nullptr) races_->begin(block);
  list(kernel_.body, mask);
}

void KernelBlock::list(const KernelList& instructions, Mask& mask) {
  for (const KernelInstruction& each : instructions) {
    switch (each.code) {
      case KernelCode::map:
      case KernelCode::cast: {
        const Operand* args[3];
        for (size_t k = 0; k < each.args.size(); k++)
          args[k] = &registers_[static_cast<size_t>(each.args[k])];
        each.function({1, lanes_ / kChunk}, registers_[static_cast<size_t>(each.to)], args);
        break;
      }
      default:
        step(each, mask);
        if (each.code >= KernelCode::branch && !any(mask)) return;
    }
  }
}

void KernelBlock::step(const KernelInstruction& it, Mask& mask) {
  switch (it.code) {
    case KernelCode::constant:
      withWord(bytesOf(it.to), [&](auto word) {
        std::memcpy(&word, it.bits.data(), sizeof word);
        std::fill_n(reinterpret_cast<decltype(word)*>(data(it.to)), lanes_, word);
      });
      return;
    case KernelCode::number:
      return number(it);
    case KernelCode::copy:
      return copy(it, mask);
    case KernelCode::read:
    case KernelCode::write:
    case KernelCode::atomic:
      return access(it, mask);
    case KernelCode::bound:
      return checkBound(it, mask);
    case KernelCode::sync:
      return sync(it, mask);
    case KernelCode::warp:
      return warps(it, mask);
    case KernelCode::branch:
      return branch(it, mask);
    case KernelCode::loop:
      return loop(it, mask);
    case KernelCode::scope: {
      Mask& left = left_[static_cast<size_t>(it.scope)];
      std::fill(left.begin(), left.end(), 0);
      list(it.first, mask);
      for (int64_t lane = 0; lane < threads_; lane++) mask[lane] |= left[lane];
      return;
    }
    case KernelCode::leave: {
      Mask& left = left_[static_cast<size_t>(it.scope)];
      for (int64_t lane = 0; lane < threads_; lane++) left[lane] |= mask[lane];
      std::fill(mask.begin(), mask.end(), 0);
      return;
    }
    default:
      return;
  }
}

void KernelBlock::branch(const KernelInstruction& it, Mask& mask) {
  const auto* condition = reinterpret_cast<const uint8_t*>(data(it.from));
  Mask other(mask);
  for (int64_t lane = 0; lane < threads_; lane++) {
    const uint8_t holds = condition[lane] != 0;
    other[lane] = mask[lane] & (holds ^ 1);
    mask[lane] &= holds;
  }
  if (!it.first.empty() && any(mask)) list(it.first, mask);
  if (!it.second.empty() && any(other)) list(it.second, other);
  for (int64_t lane = 0; lane < threads_; lane++) mask[lane] |= other[lane];
}

void KernelBlock::loop(const KernelInstruction& it, Mask& mask) {
  Mask& next = left_[static_cast<size_t>(it.scope)];
  Mask& end = left_[static_cast<size_t>(it.end)];
  std::fill(end.begin(), end.end(), 0);
  Mask ended(mask.size(), 0);
  while (any(mask)) {
    if (cancel_ != nullptr && cancel_->load(std::memory_order_relaxed)) throw KernelStopped{};
    list(it.first, mask);
    const auto* condition = reinterpret_cast<const uint8_t*>(data(it.from));
    for (int64_t lane = 0; lane < threads_; lane++) {
      const uint8_t holds = condition[lane] != 0;
      ended[lane] |= mask[lane] & (holds ^ 1);
      mask[lane] &= holds;
    }
    if (!any(mask)) break;
    std::fill(next.begin(), next.end(), 0);
    list(it.second, mask);
    for (int64_t lane = 0; lane < threads_; lane++) mask[lane] |= next[lane];
    if (any(mask)) list(it.third, mask);
  }
  for (int64_t lane = 0; lane < threads_; lane++) mask[lane] = ended[lane] | end[lane];
}

void KernelBlock::number(const KernelInstruction& it) {
  if (it.number == KernelNumber::scalar) {
    withWord(bytesOf(it.to), [&](auto word) {
      std::memcpy(&word, kernel_.scalars[static_cast<size_t>(it.from)].data(), sizeof word);
      std::fill_n(reinterpret_cast<decltype(word)*>(data(it.to)), lanes_, word);
    });
    return;
  }
  const auto axis = static_cast<size_t>(std::max(0, it.axis));
  const auto valueOf = [&](int64_t lane) -> int64_t {
    switch (it.number) {
      case KernelNumber::threadIdx: {
        for (size_t k = 0; k < axis; k++) lane /= kernel_.block[k];
        return lane % kernel_.block[axis];
      }
      case KernelNumber::blockIdx:
        return block_[axis];
      case KernelNumber::blockDim:
        return kernel_.block[axis];
      case KernelNumber::gridDim:
        return kernel_.grid[axis];
      default:
        return it.axis < 0 ? kernel_.sizeOf(it.array) : (*kernel_.shapeOf(it.array))[axis];
    }
  };
  const auto fill = [&](auto* lanes) {
    using T = std::remove_pointer_t<decltype(lanes)>;
    if (it.number == KernelNumber::threadIdx) {
      for (int64_t lane = 0; lane < lanes_; lane++) lanes[lane] = static_cast<T>(valueOf(lane));
    } else {
      std::fill_n(lanes, lanes_, static_cast<T>(valueOf(0)));
    }
  };
  if (bytesOf(it.to) == 4)
    fill(reinterpret_cast<int32_t*>(data(it.to)));
  else
    fill(reinterpret_cast<int64_t*>(data(it.to)));
}

void KernelBlock::copy(const KernelInstruction& it, const Mask& mask) {
  withWord(bytesOf(it.to), [&](auto word) {
    using T = decltype(word);
    const auto* from = reinterpret_cast<const T*>(data(it.from));
    auto* to = reinterpret_cast<T*>(data(it.to));
    for (int64_t lane = 0; lane < lanes_; lane++) to[lane] = mask[lane] != 0 ? from[lane] : to[lane];
  });
}

int64_t KernelBlock::indexAt(int reg, int64_t lane) const {
  return bytesOf(reg) == 4 ? reinterpret_cast<const int32_t*>(data(reg))[lane]
                           : reinterpret_cast<const int64_t*>(data(reg))[lane];
}

void KernelBlock::access(const KernelInstruction& it, const Mask& mask) {
  char* const array = arrays_[static_cast<size_t>(it.array)];
  const int64_t size = sizes_[static_cast<size_t>(it.array)];
  const auto each = [&](auto&& fn) {
    for (int64_t lane = 0; lane < threads_; lane++) {
      if (mask[lane] == 0) continue;
      const int64_t at = indexAt(it.index, lane);
      if (at < 0 || at >= size)
        fail(it, lane, "an index from 0 to " + std::to_string(size - 1) + ": " + std::to_string(at));
      if (races_ != nullptr) {
        const std::string problem = races_->look(it, at, lane);
        if (!problem.empty()) fail(it, lane, problem);
      }
      fn(at, lane);
    }
  };
  if (it.code == KernelCode::atomic) {
    withNumber(kernel_.registers[static_cast<size_t>(it.from)], [&](auto zero) {
      using T = decltype(zero);
      const auto* values = reinterpret_cast<const T*>(data(it.from));
      const auto* compares = it.compare < 0 ? values : reinterpret_cast<const T*>(data(it.compare));
      auto* to = reinterpret_cast<T*>(data(it.to));
      each([&](int64_t at, int64_t lane) {
        // Blocks run at once.
        std::atomic_ref<T> element(reinterpret_cast<T*>(array)[at]);
        T before = element.load(std::memory_order_relaxed);
        while (!element.compare_exchange_weak(
            before, combined(it.atomic, before, values[lane], compares[lane]), std::memory_order_relaxed)) {
        }
        to[lane] = before;
      });
    });
    return;
  }
  const bool isRead = it.code == KernelCode::read;
  const int reg = isRead ? it.to : it.from;
  const bool isBoolean = kernel_.registers[static_cast<size_t>(reg)] == DType::boolean;
  withWord(bytesOf(reg), [&](auto word) {
    using T = decltype(word);
    auto* lanes = reinterpret_cast<T*>(data(reg));
    auto* elements = reinterpret_cast<T*>(array);
    each([&](int64_t at, int64_t lane) {
      if (!isRead) {
        elements[at] = lanes[lane];
        return;
      }
      lanes[lane] = elements[at];
      if constexpr (sizeof(T) == 1) {
        if (isBoolean) lanes[lane] = lanes[lane] != 0;
      }
    });
  });
}

void KernelBlock::checkBound(const KernelInstruction& it, const Mask& mask) {
  for (int64_t lane = 0; lane < threads_; lane++) {
    if (mask[lane] == 0) continue;
    const int64_t at = indexAt(it.index, lane);
    const int64_t size = indexAt(it.from, lane);
    if (at < 0 || at >= size)
      fail(it, lane,
           "an index from 0 to " + std::to_string(size - 1) + " along an axis: " + std::to_string(at));
  }
}

void KernelBlock::sync(const KernelInstruction& it, const Mask& mask) {
  for (int64_t lane = 0; lane < threads_; lane++)
    if (mask[lane] == left_[0][lane])
      fail(it, lane, "sync() that all threads of a block reach: not this one");
  if (races_ != nullptr) races_->sync();
}

void KernelBlock::fail(const KernelInstruction& it, int64_t lane, const std::string& what) const {
  const auto text = [](const Dim3& at) {
    return std::to_string(at[0]) + ", " + std::to_string(at[1]) + ", " + std::to_string(at[2]);
  };
  const Dim3 thread = {lane % kernel_.block[0], lane / kernel_.block[0] % kernel_.block[1],
                       lane / kernel_.block[0] / kernel_.block[1]};
  throw Failure(FailureCode::argument, "[kernel] expected " + what + " (block " + text(block_) + "; thread " +
                                           text(thread) + ") at line " + std::to_string(it.line) +
                                           ", column " + std::to_string(it.column) + " of the function");
}

}  // namespace weft::cpu
