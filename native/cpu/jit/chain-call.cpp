#include "cpu/jit/chain-call.h"

#include <cstring>
#include <utility>

namespace weft::cpu::jit {

ChainCall::ChainCall(const ChainCode& code, const Places& places, std::vector<char**> moving)
    : code_(code),
      moving_(std::move(moving)),
      frame_((code.frameByteLength() + sizeof(ChainFrame) - 1) / sizeof(ChainFrame)) {
  for (const auto& [source, index] : code.pointers()) pointers_.push_back(places(source, index));
  for (const int index : code.vectors()) vectors_.push_back(places(ChainCode::Source::input, index));
}

void ChainCall::run(int64_t byteLength) {
  ChainFrame& frame = frame_[0];
  frame.byteLength = byteLength;
  for (size_t k = 0; k < pointers_.size(); k++) frame.pointers[k] = *pointers_[k];
  char* vector = reinterpret_cast<char*>(&frame + 1);
  for (char* const* from : vectors_) {
    std::memcpy(vector, *from, kFrameVectorBytes);
    vector += kFrameVectorBytes;
  }
  code_.run(&frame);
  for (char** place : moving_) *place += byteLength;
}

}  // namespace weft::cpu::jit
