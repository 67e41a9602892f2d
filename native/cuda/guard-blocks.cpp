#include "cuda/guard-blocks.h"

#include "runtime/loop.h"

namespace weft::cuda {
namespace {

std::vector<int> allBuffersOf(const Step& step) {
  std::vector<int> all = buffersOf(step);
  const auto add = [&](const Step& inner) {
    const std::vector<int> some = allBuffersOf(inner);
    all.insert(all.end(), some.begin(), some.end());
  };
  if (const auto* sweep = std::get_if<std::shared_ptr<const Sweep>>(&step)) {
    for (const SweepBody& part : (*sweep)->body) add(part.step);
  }
  if (const auto* loop = std::get_if<std::shared_ptr<const Loop>>(&step)) {
    for (const Step& inner : (*loop)->body) add(inner);
  }
  return all;
}

}  // namespace

GuardBlocks::GuardBlocks(DevicePool& pool, const Program& program, std::vector<CUdeviceptr>& addresses,
                         bool mayWait)
    : pool_(pool),
      program_(program),
      addresses_(addresses),
      mayWait_(mayWait),
      blocks_(program.buffers.size()),
      firstUsed_(program.steps.size()),
      lastUsed_(program.steps.size()) {
  constexpr size_t kNever = SIZE_MAX;
  std::vector<size_t> first(program.buffers.size(), kNever);
  std::vector<size_t> last(program.buffers.size());
  for (size_t step = 0; step < program.steps.size(); step++) {
    for (const int buffer : allBuffersOf(program.steps[step])) {
      if (first[buffer] == kNever) first[buffer] = step;
      last[buffer] = step;
    }
  }
  for (size_t i = 0; i < program.buffers.size(); i++) {
    const BufferSpec& buffer = program.buffers[i];
    if (buffer.role != Role::temporary || buffer.windowed || first[i] == kNever) continue;
    firstUsed_[first[i]].push_back(static_cast<int>(i));
    lastUsed_[last[i]].push_back(static_cast<int>(i));
  }
}

void GuardBlocks::take(int buffer) {
  blocks_[buffer] = std::make_unique<ScopedBlock>(pool_, program_.buffers[buffer].byteLength, mayWait_);
  addresses_[buffer] = blocks_[buffer]->address();
}

void GuardBlocks::begin(size_t step) {
  for (const int buffer : firstUsed_[step]) take(buffer);
}

void GuardBlocks::end(size_t step) {
  for (const int buffer : lastUsed_[step]) blocks_[buffer].reset();
  dropSlots();
}

std::vector<CUdeviceptr> GuardBlocks::takeSlots(const SweepBuffer& buffer) {
  std::vector<CUdeviceptr> addresses;
  for (int slot = 0; slot < buffer.slots; slot++) {
    slots_.push_back(std::make_unique<ScopedBlock>(pool_, buffer.slotByteLength, mayWait_));
    addresses.push_back(slots_.back()->address());
  }
  return addresses;
}

}  // namespace weft::cuda
