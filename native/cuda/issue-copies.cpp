// Brings the inputs of a run in, and its results out.
#include <algorithm>
#include <cstring>

#include "cuda/issue.h"
#include "cuda/peer.h"
#include "cuda/stream-span.h"

namespace weft::cuda {

using recorder::Kind;

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

// Whether memory of JavaScript's is read by others than the lanes of sweeps: by loops that copy states.
bool Issue::holdsHost() const {
  const bool isWindowed = std::any_of(program_.inputs.begin(), program_.inputs.end(),
                                      [&](int buffer) { return program_.buffers[buffer].windowed; });
  const bool loops = std::any_of(program_.steps.begin(), program_.steps.end(), [](const Step& step) {
    return std::holds_alternative<std::shared_ptr<const Loop>>(step);
  });
  return isWindowed && loops;
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
      if (!own_) continue;
      const StreamSpan span(resources_.stream, Kind::copyIn, byteLengthOf(buffer));
      WEFT_CU(cuMemcpyHtoDAsync, addresses_[buffer], place, byteLengthOf(buffer), resources_.stream);
    }
    if (block_) {
      const CUdeviceptr to = block_->address() + up_.begin;
      const StreamSpan span(resources_.stream, Kind::copyIn, up_.byteLength);
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
    const StreamSpan span(resources_.stream, Kind::copyOut, end - begin);
    WEFT_CU(cuMemcpyDtoHAsync, flight_.down.get() + begin, from, end - begin, resources_.stream);
  };
  for (size_t k = 0; k < down_.packed.size(); k++) {
    const size_t i = down_.packed[k];
    const int buffer = program_.outputs[i];
    const size_t byteLength = byteLengthOf(buffer);
    const size_t offset = down_.offsets[k];
    void* to = makeHost(i);
    if (byteLength == 0) continue;
    flight_.pendingCopies.push_back({offset, to, byteLength});
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
