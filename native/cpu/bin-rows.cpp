#include "cpu/bin-rows.h"

#include <algorithm>

#include "cpu/bin-keys.h"
#include "cpu/tape.h"

namespace weft::cpu::bins {
namespace {

// Values that a map gives at a time, but for wide rows: they stay in the nearest caches.
constexpr int64_t kMappedValues = 8192;

}  // namespace

RowsRead::RowsRead(const Job& job, const RoutineJob& arrays, const std::atomic<bool>* cancel)
    : job_(job),
      operands_(arrays.operands),
      own_{arrays.numbers, operands_, arrays.results, arrays.workspace} {
  if (arrays.prologue != nullptr) {
    keys_.emplace(*arrays.prologue, cancel);
    operands_.insert(operands_.begin(), nullptr);
  }
  if (arrays.weights != nullptr) {
    values_.emplace(*arrays.weights, cancel);
    operands_.insert(operands_.begin() + (job.hasEdges ? 2 : 1), nullptr);
  }
}

void RowsRead::map(int64_t first) {
  from_ = first;
  to_ = std::min(last_, first + std::max(kBlock, kMappedValues / job_.width));
  if (keys_) give(*keys_, 0, job_.keys, 1);
  if (values_) give(*values_, job_.hasEdges ? 2 : 1, job_.values, job_.width);
}

void RowsRead::give(Given& given, size_t operand, DType dtype, int64_t width) {
  const size_t bytes = byteLengthOf(dtype);
  const Range elements{from_ * width, to_ * width};
  const int64_t count = elements.last - elements.first;
  if (count > given.room) {
    given.room = count;
    given.stretch.reset(new std::byte[static_cast<size_t>(count) * bytes]);
  }
  given.run.run(elements, nullptr, given.stretch.get());
  const auto before = static_cast<uintptr_t>(elements.first) * bytes;
  operands_[operand] =
      reinterpret_cast<std::byte*>(reinterpret_cast<uintptr_t>(given.stretch.get()) - before);
}

}  // namespace weft::cpu::bins
