// Where the buffers of a run lie: in one block, in blocks of their own, in pieces on devices, in host memory.
#include <algorithm>
#include <numeric>

#include "cuda/device-memory.h"
#include "cuda/device.h"
#include "cuda/issue.h"

namespace weft::cuda {

size_t Issue::packedByteLength(const Program& program, int buffer) {
  return PinnedSlots::aligned(program.buffers[buffer].byteLength);
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
  size_t end = placeTransfers(up_, program_.inputs, fromHost, PinnedSlots::aligned(program_.arenaByteLength));
  end = placeTransfers(down_, program_.outputs, toHost, end);

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
    if ((piece.memory->address - piece.first) % kDeviceAlignment != 0) continue;
    const size_t least = program_.buffers[buffer].windowed ? 1 : byteLengthOf(buffer);
    if (piece.memory->byteLength < least) continue;
    const MemoryPiece*& here = here_[input];
    if (here == nullptr || here->memory->byteLength < piece.memory->byteLength) here = &piece;
  }
}

void Issue::placeInBlock(size_t byteLength) {
  block_.emplace(*resources_.pool, byteLength, !flight_.isInline);
  for (size_t i = 0; i < program_.buffers.size(); i++) {
    const BufferSpec& buffer = program_.buffers[i];
    addresses_[i] = block_->address() + (buffer.role == Role::temporary ? buffer.offset : addresses_[i]);
  }
}

// Temporaries follow, step by step.
void Issue::placeApart() {
  own_.emplace(*resources_.pool, program_, addresses_, !flight_.isInline);
  std::fill(addresses_.begin(), addresses_.end(), 0);
  for (const std::vector<size_t>* inputs : {&up_.packed, &up_.others}) {
    for (const size_t i : *inputs) own_->take(program_.inputs[i]);
  }
  for (const std::vector<size_t>* outputs : {&down_.packed, &down_.others}) {
    for (const size_t i : *outputs) own_->take(program_.outputs[i]);
  }
}

// The windows that sweeps bring in and out.
void Issue::placeInHost() {
  hosts_.assign(program_.buffers.size(), nullptr);
  backing_.resize(program_.buffers.size());
  std::iota(backing_.begin(), backing_.end(), 0);
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
      hosts_[buffer] = bytesOf(*run_.hostPlaces[i]);
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
size_t Issue::placeTransfers(TransferSet& group, const std::vector<int>& buffers,
                             const std::vector<bool>& chosen, size_t end) {
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
    end += PinnedSlots::aligned(byteLength);
  }
  for (const size_t i : group.others) {
    addresses_[buffers[i]] = end;
    end += PinnedSlots::aligned(byteLengthOf(buffers[i]));
  }
  return end;
}

// A part lies in its memory as aligned as in the whole buffer.
void Issue::keepOutput(size_t output) {
  const int buffer = program_.outputs[output];
  const BufferSpec& spec = program_.buffers[buffer];
  const size_t byteLength = keptByteLength(spec);
  const size_t lead = byteLength == 0 ? 0 : spec.partFirst % kDeviceAlignment;
  const PoolBlock block = resources_.pool->allocate(byteLength + lead, !flight_.isInline);
  run_.outputs[output] = std::make_shared<DeviceMemory>(device_, block, lead, flight_.fence);
  addresses_[buffer] = run_.outputs[output]->address - spec.partFirst;
}

}  // namespace weft::cuda
