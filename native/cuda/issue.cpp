#include "cuda/issue.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "cuda/device-memory.h"
#include "cuda/device.h"
#include "cuda/peer.h"
#include "runtime/failure.h"

namespace weft::cuda {
namespace {

// A program that has run so often is worth graphs: to make one takes as long as a few times its launches.
constexpr size_t kRunsBeforeGraphs = 3;

constexpr size_t kAlignment = PinnedSlots::kAlignment;

size_t aligned(size_t byteLength) { return (byteLength + kAlignment - 1) / kAlignment * kAlignment; }

ProgramCode& linked(const Program& program, Modules& modules) {
  if (!program.code) program.code = modules.link(program);
  return *program.code;
}

}  // namespace

Issue::Issue(CudaDevice& device, Resources& resources, Flight& flight)
    : device_(device),
      resources_(resources),
      flight_(flight),
      run_(*flight.run),
      program_(*run_.program),
      code_(linked(program_, resources.modules)),
      addresses_(code_.addresses) {}

size_t Issue::packedByteLength(const Program& program, int buffer) {
  return aligned(program.buffers[buffer].byteLength);
}

void Issue::operator()() {
  // A run that failed in a sweep may have left others.
  code_.firstBlock = {};
  place();
  if (bringIn() && !sweepsHost()) run_.leaveInputs();
  resources_.throttle->begin();
  const bool replays = !code_.replays.empty() || isDue(program_, resources_);
  size_t graph = 0;
  for (size_t i = 0; i < program_.steps.size(); i++) {
    checkCancelled(*run_.cancel);
    if (replays && graph < program_.graphs.size() && program_.graphs[graph].first == i) {
      i += program_.graphs[graph].count - 1;
      replay(graph++);
      continue;
    }
    if (own_) own_->begin(i);
    std::visit(*this, program_.steps[i]);
    if (own_) own_->end(i);
    flight_.launches++;
    resources_.throttle->count(resources_.stream);
  }
  code_.runs++;
  bringOut();
  if (!flight_.isAwaited) return;
  flight_.end = resources_.events.take();
  flight_.end->record(resources_.stream);
}

// Where memory is watched, temporaries come and go between the steps.
bool Issue::isDue(const Program& program, Resources& resources) {
  const ProgramCode& code = *program.code;
  return code.replays.empty() && !program.graphs.empty() && code.runs >= kRunsBeforeGraphs &&
         !resources.pool->isWatched();
}

void Issue::replay(size_t graph) {
  const Program::Stretch& stretch = program_.graphs[graph];
  const size_t first = launch_;
  const auto eachStep = [&] {
    launch_ = first;
    for (size_t k = 0; k < stretch.count; k++) std::visit(*this, program_.steps[stretch.first + k]);
  };
  code_.replays.resize(program_.graphs.size());
  replay(code_.replays[graph], stretch.count, eachStep);
  resources_.throttle->count(resources_.stream, stretch.count);
}

void Issue::replay(std::unique_ptr<Replay>& own, size_t steps, const std::function<void()>& eachStep) {
  try {
    if (!own) own = std::make_unique<Replay>(resources_.graphs, resources_.context);
    replay_ = own.get();
    replay_->begin();
    eachStep();
    replay_->launch(resources_.stream);
    replay_ = nullptr;
    flight_.launches++;
  } catch (const Failure& failure) {
    replay_ = nullptr;
    // Nothing of it is queued. Half made, it is made anew when it is used next.
    if (own && !own->isComplete()) own.reset();
    // A device that has no memory for a graph can launch.
    if (failure.code != FailureCode::memory) throw;
    eachStep();
    flight_.launches += steps;
  }
}

void Issue::operator()(const LaunchStep& step) {
  const ProgramCode::Launch& launch = code_.launches[launch_++];
  if (replay_ != nullptr)
    return replay_->add(step, launch.function, code_.parameters.data() + launch.parameters, addresses_);
  WEFT_CU(cuLaunchKernel, launch.function, step.grid[0], step.grid[1], step.grid[2], step.block[0],
          step.block[1], step.block[2], step.sharedByteLength, resources_.stream,
          code_.parameters.data() + launch.parameters, nullptr);
}

void Issue::operator()(const MatmulStep& step) { multiply(step, false); }

void Issue::multiply(const MatmulStep& step, bool adds) {
  const size_t workspace = step.workspace < 0 ? 0 : byteLengthOf(step.workspace);
  device_.blas().multiply(step, addresses_, workspace, adds);
}

void Issue::operator()(const ZeroStep& step) {
  const size_t byteLength = byteLengthOf(step.buffer);
  if (byteLength == 0) return;
  if (replay_ != nullptr) return replay_->addZero(addresses_[step.buffer], byteLength);
  WEFT_CU(cuMemsetD8Async, addresses_[step.buffer], 0, byteLength, resources_.stream);
}

void Issue::operator()(const TapeStep&) { throw Failure(FailureCode::internal, "a CPU tape reached a GPU"); }

void Issue::operator()(const TapePhaseStep&) {
  throw Failure(FailureCode::internal, "a CPU tape reached a GPU");
}

void Issue::operator()(const std::shared_ptr<const Sweep>& sweep) {
  std::vector<SweepHome> homes;
  std::vector<std::vector<CUdeviceptr>> slots;
  for (const SweepBuffer& buffer : sweep->buffers) {
    homes.push_back(homeOf(buffer.buffer));
    slots.push_back(slotsOf(buffer));
  }
  SweepRun sweepRun(*sweep, std::move(homes), std::move(slots), copyStreams(), resources_.stream, device_,
                    run_);
  const size_t first = launch_;
  sweepRun([&](int64_t tile) {
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
      } else if (const auto* zero = std::get_if<ZeroStep>(&part.step)) {
        runPart(*zero, *sweep, sweepRun, tile);
      } else {
        throw Failure(FailureCode::internal, "a CPU tape reached a GPU");
      }
      resources_.throttle->count(resources_.stream);
    }
  });
  code_.firstBlock = {};
  // A loop comes by again.
  if (own_ && depth_ > 0) own_->dropSlots();
  for (const SweepBody& part : sweep->body) launch_ += launchesOf(part.step);
}

void Issue::runPart(const LaunchStep& step, const ProgramCode::Launch& launch, const SweepRange& range) {
  if (range.y0 == range.y1) return;
  code_.firstBlock = {static_cast<unsigned>(range.x0), static_cast<unsigned>(range.y0)};
  WEFT_CU(cuLaunchKernel, launch.function, static_cast<unsigned>(range.x1 - range.x0),
          static_cast<unsigned>(range.y1 - range.y0), step.grid[2], step.block[0], step.block[1],
          step.block[2], step.sharedByteLength, resources_.stream,
          code_.parameters.data() + launch.parameters, nullptr);
}

// Rows of one matrix or several whole matrices, some columns, some contracted indices.
void Issue::runPart(const MatmulStep& step, const SweepRange& range) {
  MatmulStep part = step;
  const int64_t matrix = range.x0 / step.m;
  const int64_t row = range.x0 % step.m;
  const bool isWhole = row == 0 && range.x1 % step.m == 0;
  part.m = isWhole ? step.m : range.x1 - range.x0;
  part.batch = isWhole ? (range.x1 - range.x0) / step.m : 1;
  part.n = range.y1 - range.y0;
  part.k = range.z1 - range.z0;
  const auto move = [&](MatrixOperand& operand, int64_t rows, int64_t columns) {
    operand.offset +=
        matrix * operand.batchStride + rows * operand.rowStride + columns * operand.columnStride;
  };
  move(part.a, row, range.z0);
  move(part.b, range.z0, range.y0);
  move(part.c, row, range.y0);
  multiply(part, range.z0 > 0);
}

// Of a buffer that there are windows of, the window.
void Issue::runPart(const ZeroStep& step, const Sweep& sweep, const SweepRun& run, int64_t tile) {
  const auto found = std::find_if(sweep.buffers.begin(), sweep.buffers.end(),
                                  [&](const SweepBuffer& buffer) { return buffer.buffer == step.buffer; });
  if (found == sweep.buffers.end()) return (*this)(step);
  const SweepWindow& window = found->windows[tile];
  if (window.rows == 0) return;
  const CUdeviceptr at = run.place(static_cast<size_t>(found - sweep.buffers.begin()), tile).window;
  WEFT_CU(cuMemsetD2D8Async, at, std::max(found->slotPitch, window.rowBytes), 0, window.rowBytes, window.rows,
          resources_.stream);
}

SweepHome Issue::homeOf(int buffer) const {
  buffer = homes_[buffer];
  const BufferSpec& spec = program_.buffers[buffer];
  // A state of a loop that is on the device as a whole.
  if (!isSwept(program_, buffer)) return {.device = addresses_[buffer]};
  if (hosts_[buffer] != nullptr) return {hosts_[buffer]};
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

std::vector<CUdeviceptr> Issue::slotsOf(const SweepBuffer& buffer) {
  if (own_) return own_->takeSlots(buffer);
  std::vector<CUdeviceptr> addresses;
  for (int slot = 0; slot < buffer.slots; slot++)
    addresses.push_back(slotOf(buffer, slot, block_->address()));
  return addresses;
}

CopyStreams& Issue::copyStreams() {
  // Never destroyed: it has threads.
  if (resources_.copies.load() == nullptr) resources_.copies = new CopyStreams(resources_.context);
  return *resources_.copies.load();
}

// One block holds the temporaries, the inputs that come from the host and the outputs that go there. It is
// free again once all is queued: the next run's work comes after this one's. Where memory is watched, each
// has a block of its own instead.
void Issue::place() {
  const auto isWindowed = [&](int buffer) { return program_.buffers[buffer].windowed; };
  std::vector<bool> fromHost(program_.inputs.size());
  std::vector<bool> toHost(program_.outputs.size());
  here_.assign(fromHost.size(), nullptr);
  for (size_t i = 0; i < fromHost.size(); i++) {
    placePieces(i);
    fromHost[i] = !run_.inputs[i].memory && here_[i] == nullptr && !isWindowed(program_.inputs[i]);
  }
  for (size_t i = 0; i < toHost.size(); i++)
    toHost[i] = !run_.keepOnDevice[i] && !isWindowed(program_.outputs[i]);
  size_t end = placeGroup(up_, program_.inputs, fromHost, aligned(program_.arenaByteLength));
  end = placeGroup(down_, program_.outputs, toHost, end);

  if (resources_.pool->isWatched()) {
    placeApart();
  } else {
    placeInBlock(end);
  }
  for (size_t i = 0; i < fromHost.size(); i++) {
    if (run_.inputs[i].memory) addresses_[program_.inputs[i]] = run_.inputs[i].memory->address;
    if (here_[i] != nullptr) addresses_[program_.inputs[i]] = here_[i]->memory->address - here_[i]->first;
  }
  run_.outputs.resize(toHost.size());
  for (size_t i = 0; i < toHost.size(); i++) {
    if (run_.keepOnDevice[i]) keepOutput(i);
  }
  placeInHost();
}

// Finds the piece that can be used where it is: of a windowed buffer the largest on this device, of another
// one that is all of it. Holds the others until what is copied from them has arrived.
void Issue::placePieces(size_t input) {
  const int buffer = program_.inputs[input];
  for (const MemoryPiece& piece : run_.inputs[input].pieces) {
    if (&piece.memory->device != &device_) {
      flight_.held.push_back(piece.memory);
      continue;
    }
    // As aligned as in the whole buffer.
    if ((piece.memory->address - piece.first) % kSlotAlignment != 0) continue;
    const size_t least = program_.buffers[buffer].windowed ? 1 : byteLengthOf(buffer);
    if (piece.memory->byteLength < least) continue;
    const MemoryPiece*& here = here_[input];
    if (here == nullptr || here->memory->byteLength < piece.memory->byteLength) here = &piece;
  }
}

void Issue::placeInBlock(size_t byteLength) {
  block_.emplace(*resources_.pool, byteLength, !flight_.isHere);
  for (size_t i = 0; i < program_.buffers.size(); i++) {
    const BufferSpec& buffer = program_.buffers[i];
    addresses_[i] = block_->address() + (buffer.role == Role::temporary ? buffer.offset : addresses_[i]);
  }
}

// Temporaries follow, step by step.
void Issue::placeApart() {
  own_.emplace(*resources_.pool, program_, addresses_, !flight_.isHere);
  std::fill(addresses_.begin(), addresses_.end(), 0);
  for (const std::vector<size_t>* inputs : {&up_.packed, &up_.others}) {
    for (const size_t i : *inputs) own_->take(program_.inputs[i]);
  }
  for (const std::vector<size_t>* outputs : {&down_.packed, &down_.others}) {
    for (const size_t i : *outputs) own_->take(program_.outputs[i]);
  }
}

// What sweeps bring in and out.
void Issue::placeInHost() {
  hosts_.assign(program_.buffers.size(), nullptr);
  homes_.resize(program_.buffers.size());
  std::iota(homes_.begin(), homes_.end(), 0);
  const auto bytesOf = [](const Memory& memory) { return reinterpret_cast<std::byte*>(memory.address); };
  for (size_t i = 0; i < program_.inputs.size(); i++) {
    // Copies in only read.
    const void* host = run_.inputs[i].host;
    hosts_[program_.inputs[i]] = static_cast<std::byte*>(const_cast<void*>(host));
  }
  for (size_t i = 0; i < program_.outputs.size(); i++) {
    const int buffer = program_.outputs[i];
    if (!program_.buffers[buffer].windowed) continue;
    if (run_.keepOnDevice[i]) continue;
    if (!run_.hostPlaces.empty() && run_.hostPlaces[i] != nullptr) {
      hosts_[buffer] = static_cast<std::byte*>(run_.hostPlaces[i]);
      continue;
    }
    // Sweeps write to files what they have.
    if (!run_.sinks.empty() && !run_.sinks[i].empty()) continue;
    if (!run_.outputs[i]) run_.outputs[i] = allocateHost(byteLengthOf(buffer));
    hosts_[buffer] = bytesOf(*run_.outputs[i]);
  }
  for (size_t i = 0; i < program_.buffers.size(); i++) {
    if (program_.buffers[i].role != Role::spill) continue;
    spilled_.push_back(allocateHost(program_.buffers[i].byteLength, host::Purpose::work));
    hosts_[i] = bytesOf(*spilled_.back());
  }
}

// Until the block is there, addresses count from its begin.
size_t Issue::placeGroup(Group& group, const std::vector<int>& buffers, const std::vector<bool>& chosen,
                         size_t end) {
  group.begin = end;
  for (size_t i = 0; i < buffers.size(); i++) {
    if (!chosen[i]) continue;
    const size_t byteLength = byteLengthOf(buffers[i]);
    const bool isGathered = &group == &up_ && !run_.inputs[i].pieces.empty();
    if (isGathered || end - group.begin + byteLength > PinnedSlots::kByteLength) {
      group.others.push_back(i);
      continue;
    }
    group.packed.push_back(i);
    group.offsets.push_back(end - group.begin);
    addresses_[buffers[i]] = end;
    group.byteLength = end - group.begin + byteLength;
    end += aligned(byteLength);
  }
  for (const size_t i : group.others) {
    addresses_[buffers[i]] = end;
    end += aligned(byteLengthOf(buffers[i]));
  }
  return end;
}

// A part lies in its memory as aligned as in the whole buffer.
void Issue::keepOutput(size_t output) {
  const int buffer = program_.outputs[output];
  const BufferSpec& spec = program_.buffers[buffer];
  const size_t byteLength = keptByteLength(spec);
  const size_t lead = byteLength == 0 ? 0 : spec.partFirst % kSlotAlignment;
  const PoolBlock block = resources_.pool->allocate(byteLength + lead, !flight_.isHere);
  run_.outputs[output] = std::make_shared<DeviceMemory>(device_, block, lead, flight_.making);
  addresses_[buffer] = run_.outputs[output]->address - spec.partFirst;
}

// Inputs that are needed whole and lie in pieces.
void Issue::gather() {
  for (size_t i = 0; i < program_.inputs.size(); i++) {
    const int buffer = program_.inputs[i];
    const std::vector<MemoryPiece>& pieces = run_.inputs[i].pieces;
    if (pieces.empty() || here_[i] != nullptr || program_.buffers[buffer].windowed) continue;
    queueGather(device_, addresses_[buffer], pieces, {0, byteLengthOf(buffer)}, resources_.stream,
                *run_.cancel);
  }
}

// Whether sweeps read or write memory of JavaScript's.
bool Issue::sweepsHost() const {
  const bool reads = std::any_of(program_.inputs.begin(), program_.inputs.end(),
                                 [&](int buffer) { return program_.buffers[buffer].windowed; });
  return reads || !run_.hostPlaces.empty();
}

bool Issue::bringIn() {
  gather();
  if (up_.byteLength > 0) {
    flight_.up = resources_.slots.take();
    for (size_t k = 0; k < up_.packed.size(); k++) {
      const size_t i = up_.packed[k];
      const int buffer = program_.inputs[i];
      if (byteLengthOf(buffer) == 0) continue;
      std::byte* const place = flight_.up.get() + up_.offsets[k];
      if (HostSource* source = run_.inputs[i].source.get()) {
        source->read(0, byteLengthOf(buffer), place);
      } else {
        std::memcpy(place, run_.inputs[i].host, byteLengthOf(buffer));
      }
      if (own_)
        WEFT_CU(cuMemcpyHtoDAsync, addresses_[buffer], place, byteLengthOf(buffer), resources_.stream);
    }
    if (block_) {
      const CUdeviceptr to = block_->address() + up_.begin;
      WEFT_CU(cuMemcpyHtoDAsync, to, flight_.up.get(), up_.byteLength, resources_.stream);
    }
  }
  if (up_.others.empty()) return true;
  std::vector<Transfer> transfers;
  for (const size_t i : up_.others) {
    const int buffer = program_.inputs[i];
    const Run::Input& input = run_.inputs[i];
    if (!input.pieces.empty()) continue;
    // Uploads only read.
    transfers.push_back(
        {addresses_[buffer], const_cast<void*>(input.host), byteLengthOf(buffer), input.source.get()});
  }
  return resources_.staging->upload(transfers, *run_.cancel);
}

void Issue::bringOut() {
  const auto makeHost = [&](size_t output) {
    if (!run_.outputs[output]) run_.outputs[output] = allocateHost(byteLengthOf(program_.outputs[output]));
    return reinterpret_cast<void*>(run_.outputs[output]->address);
  };
  if (down_.byteLength > 0) flight_.down = resources_.slots.take();
  // Results without a gap between them are one copy: what is in a gap is undefined.
  CUdeviceptr from = 0;
  size_t begin = 0;
  size_t end = 0;
  const auto copy = [&] {
    if (begin == end) return;
    WEFT_CU(cuMemcpyDtoHAsync, flight_.down.get() + begin, from, end - begin, resources_.stream);
  };
  for (size_t k = 0; k < down_.packed.size(); k++) {
    const size_t i = down_.packed[k];
    const int buffer = program_.outputs[i];
    const size_t byteLength = byteLengthOf(buffer);
    const size_t offset = down_.offsets[k];
    void* to = makeHost(i);
    if (byteLength == 0) continue;
    flight_.landings.push_back({offset, to, byteLength});
    if (offset != end || own_ || begin == end) {
      copy();
      begin = offset;
      from = addresses_[buffer];
    }
    end = offset + byteLength;
  }
  copy();
  if (down_.others.empty()) return;
  // Results are made while the device works.
  std::vector<Transfer> transfers;
  for (const size_t i : down_.others) {
    void* to = makeHost(i);
    const int buffer = program_.outputs[i];
    transfers.push_back({addresses_[buffer], to, byteLengthOf(buffer)});
  }
  resources_.staging->download(transfers, *run_.cancel);
}

}  // namespace weft::cuda
