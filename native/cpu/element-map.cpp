#include "cpu/element-map.h"

#include <stdexcept>

namespace weft::cpu {
namespace {

// `data` is where element 0 would be.
TapeBuffer stretchOf(void* memory, Range elements, DType dtype) {
  const auto before = static_cast<uintptr_t>(elements.first) * static_cast<uintptr_t>(byteLengthOf(dtype));
  return {reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(memory) - before), elements.first,
          elements.last};
}

}  // namespace

ElementMapRun::ElementMapRun(const ElementMap& map, const std::atomic<bool>* cancel)
    : map_(map), buffers_(map.buffers), job_(jobOf(map.tape, buffers_.data(), cancel)), worker_(job_) {}

void ElementMapRun::run(Range elements, void* given, void* result) {
  if (given != nullptr)
    buffers_[map_.given] = stretchOf(given, elements, map_.tape.buffers[map_.given].dtype);
  if (result != nullptr) place(0, elements, result);
  worker_->runElements(elements);
}

void ElementMapRun::place(size_t result, Range elements, void* memory) {
  const int buffer = map_.results[result];
  buffers_[buffer] = stretchOf(memory, elements, map_.tape.buffers[buffer].dtype);
}

void ElementMapRun::fence() const { map_.tape.registry->streams().fence(); }

void checkElementMap(const Tape& tape, int64_t elements) {
  int64_t count = 1;
  for (const Loop& loop : tape.loops) count *= loop.extent;
  if (!tape.reductions.empty() || tape.tileLoops != tape.loops.size() || tape.inner != 1 ||
      (tape.loops.empty() && tape.width() > 1) || count != elements)
    throw std::invalid_argument("a map of so many elements, whose lanes are on its last axis");
}

}  // namespace weft::cpu
