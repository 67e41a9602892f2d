// Queues sweeps: the steps of each tile on its ranges, with the addresses of its windows.
#include <algorithm>

#include "cuda/device.h"
#include "cuda/issue.h"
#include "cuda/stream-span.h"
#include "runtime/failure.h"
#include "runtime/product-batches.h"

namespace weft::cuda {

using recorder::Kind;

void Issue::operator()(const std::shared_ptr<const Sweep>& sweep) {
  std::vector<BackingStore> backing;
  std::vector<std::vector<CUdeviceptr>> slots;
  for (const SweepBuffer& buffer : sweep->buffers) {
    backing.push_back(backingOf(buffer.buffer));
    slots.push_back(slotsOf(buffer));
  }
  SweepRun sweepRun(*sweep, std::move(backing), std::move(slots), isLocal(*sweep) ? nullptr : &copyStreams(),
                    stream_, device_, run_, releasesHost_);
  releasesHost_ = releasesHost_ && !sweepRun.readsDirectly();
  const size_t first = launch_;
  sweepRun([&](int64_t tile) {
    tile_ = tile;
    for (size_t i = 0; i < sweep->buffers.size(); i++)
      addresses_[sweep->buffers[i].buffer] = sweepRun.place(i, tile).base;
    size_t launch = first;
    for (const SweepBody& part : sweep->body) {
      const SweepRange& range = *part.at(tile);
      const auto* launched = std::get_if<LaunchStep>(&part.step);
      const size_t own = launch;
      launch += launchesOf(part.step);
      if (const auto* loop = std::get_if<std::shared_ptr<const Loop>>(&part.step)) {
        runPart(**loop, own, part.at(tile));
        continue;
      }
      if (range.x0 == range.x1) continue;
      checkCancelled(*run_.cancel);
      if (launched != nullptr) {
        runPart(*launched, code_.launches[own], range);
      } else if (const auto* product = std::get_if<MatmulStep>(&part.step)) {
        runPart(*product, range);
      } else if (const auto* contraction = std::get_if<ContractionStep>(&part.step)) {
        runPart(*contraction, range);
      } else if (const auto* routine = std::get_if<RoutineStep>(&part.step)) {
        runPart(*routine, range);
      } else if (const auto* zero = std::get_if<ZeroStep>(&part.step)) {
        runPart(*zero, *sweep, sweepRun, tile);
      } else {
        throw Failure(FailureCode::internal, "a CPU tape reached a GPU");
      }
      resources_.submissions->count(stream_);
    }
  });
  tile_ = -1;
  code_.firstBlock = {};
  // A loop comes by again.
  if (own_ && depth_ > 0) own_->dropSlots();
  for (const SweepBody& part : sweep->body) launch_ += launchesOf(part.step);
}

void Issue::runPart(const LaunchStep& step, const ProgramCode::Launch& launch, const SweepRange& range) {
  if (range.y0 == range.y1) return;
  code_.firstBlock = {static_cast<unsigned>(range.x0), static_cast<unsigned>(range.y0)};
  code_.window = {range.z0, range.z1};
  const auto across = static_cast<unsigned>(range.x1 - range.x0);
  const auto down = static_cast<unsigned>(range.y1 - range.y0);
  code_.encodeTensorMaps(launch, step.tensorMaps.size());
  if (exec_ != nullptr) {
    LaunchStep part = step;
    part.grid = {across, down, step.grid[2]};
    return exec_->add(part, launch.function, code_.parameters.data() + launch.parameters, addresses_);
  }
  const StreamSpan span(
      stream_, Kind::kernel, [&] { return step.function; }, 0, tile_);
  WEFT_CU(cuLaunchKernel, launch.function, across, down, step.grid[2], step.block[0], step.block[1],
          step.block[2], step.sharedByteLength, stream_, code_.parameters.data() + launch.parameters,
          nullptr);
}

// Rows of one matrix or several whole matrices, some columns, some contracted indices.
void Issue::runPart(const MatmulStep& step, const SweepRange& range) {
  MatmulStep part = step;
  const int64_t first = range.x0 / step.m;
  const int64_t row = range.x0 % step.m;
  const bool isOuter = isCutOuter(step);
  const bool isWhole = row == 0 && range.x1 % step.m == 0;
  part.m = isWhole ? step.m : range.x1 - range.x0;
  (isOuter ? part.outer[0] : part.batch) = isWhole ? (range.x1 - range.x0) / step.m : 1;
  part.n = range.y1 - range.y0;
  part.k = range.z1 - range.z0;
  if (!isWhole) part.algorithm.reset();
  const auto move = [&](MatrixOperand& operand, int64_t rows, int64_t columns) {
    const int64_t stride = isOuter ? operand.outerStrides[0] : operand.batchStride;
    operand.offset += first * stride + rows * operand.rowStride + columns * operand.columnStride;
  };
  move(part.a, row, range.z0);
  move(part.b, range.z0, range.y0);
  move(part.c, row, range.y0);
  if (part.epilogue && part.epilogue->addend) move(*part.epilogue->addend, row, range.y0);
  if (part.epilogue) part.epilogue->biasOffset += range.y0;
  multiply(part, range.z0 > 0);
}

// Some elements along a label of the result.
void Issue::runPart(const ContractionStep& step, const SweepRange& range) {
  ContractionStep part = step;
  const auto label = static_cast<int32_t>(range.y0);
  part.sizes[label] = range.x1 - range.x0;
  for (TensorOperand* operand : {&part.left, &part.right, &part.result}) {
    for (size_t axis = 0; axis < operand->labels.size(); axis++)
      if (operand->labels[axis] == label) operand->offset += range.x0 * operand->strides[axis];
  }
  (*this)(part);
}

void Issue::runPart(const RoutineStep& step, const SweepRange& range) { queue(step, {range.x0, range.x1}); }

// Of a buffer that there are windows of, the window.
void Issue::runPart(const ZeroStep& step, const Sweep& sweep, const SweepRun& run, int64_t tile) {
  const auto found = std::find_if(sweep.buffers.begin(), sweep.buffers.end(),
                                  [&](const SweepBuffer& buffer) { return buffer.buffer == step.buffer; });
  if (found == sweep.buffers.end()) return (*this)(step);
  const SweepWindow& window = found->windows[tile];
  if (window.rows == 0) return;
  const CUdeviceptr at = run.place(static_cast<size_t>(found - sweep.buffers.begin()), tile).window;
  const StreamSpan span(stream_, Kind::zero, window.rowBytes * window.rows);
  WEFT_CU(cuMemsetD2D8Async, at, std::max(found->slotPitch, window.rowBytes), 0, window.rowBytes, window.rows,
          stream_);
}

BackingStore Issue::backingOf(int buffer) const {
  buffer = backing_[buffer];
  const BufferSpec& spec = program_.buffers[buffer];
  // A state of a loop that is on the device as a whole.
  if (!isSwept(program_, buffer)) return {.device = addresses_[buffer]};
  if (hosts_[buffer] != nullptr) return {.host = hosts_[buffer], .isFresh = isFresh(buffer)};
  for (size_t i = 0; i < program_.inputs.size(); i++) {
    HostSource* const source = run_.inputs[i].source.get();
    if (program_.inputs[i] != buffer) continue;
    if (source != nullptr) return {.source = source};
    if (const std::vector<MemoryPiece>& pieces = run_.inputs[i].pieces; !pieces.empty()) {
      const MemoryPiece* here = here_[i];
      if (here == nullptr) return {.pieces = &pieces};
      const CUdeviceptr base = here->memory->address - here->first;
      return {.device = base, .deviceFirst = here->first, .deviceLast = here->last(), .pieces = &pieces};
    }
  }
  for (size_t i = 0; i < run_.sinks.size(); i++) {
    if (program_.outputs[i] == buffer && !run_.sinks[i].empty()) return {.sinks = &run_.sinks[i]};
  }
  if (spec.role == Role::input) return {.device = addresses_[buffer]};
  for (size_t i = 0; i < program_.outputs.size(); i++) {
    if (program_.outputs[i] != buffer || !run_.keepOnDevice[i] || !run_.outputs[i]) continue;
    const CUdeviceptr base = run_.outputs[i]->address - spec.partFirst;
    return {.device = base, .deviceFirst = spec.partFirst, .deviceLast = spec.partLast};
  }
  return {};
}

bool Issue::isFresh(int buffer) const {
  for (size_t i = 0; i < program_.outputs.size(); i++) {
    if (program_.outputs[i] != buffer) continue;
    const auto* memory = dynamic_cast<const HostMemory*>(run_.outputs[i].get());
    return memory != nullptr && memory->block().uses() == 1;
  }
  return false;
}

std::vector<CUdeviceptr> Issue::slotsOf(const SweepBuffer& buffer) {
  if (own_) return own_->takeSlots(buffer);
  std::vector<CUdeviceptr> addresses;
  for (int slot = 0; slot < buffer.slots; slot++)
    addresses.push_back(slotOf(buffer, slot, block_->address()));
  return addresses;
}

CopyStreams& Issue::copyStreams() {
  // Never destroyed: it has threads.
  if (resources_.copies.load() == nullptr)
    resources_.copies = new CopyStreams(resources_.context, device_.name());
  CopyStreams& copies = *resources_.copies.load();
  copies.in.limit(program_.copyByteLength);
  copies.out.limit(program_.copyByteLength);
  return copies;
}

}  // namespace weft::cuda
