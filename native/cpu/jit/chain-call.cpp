#include "cpu/jit/chain-call.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace weft::cpu::jit {
namespace {

// Of each buffer: a few stay in the first-level cache, and a call costs little beside its lanes.
constexpr int64_t kBufferBytes = 4096;

}  // namespace

ChainCall::ChainCall(const Chain& chain, const ChainProgram& program, const ChainForm& form,
                     const Places& places, std::vector<char**> moving)
    : chain_(chain), moving_(std::move(moving)) {
  const ChainPieces& cut = chain.codes->pieces();
  memory_.resize(cut.buffers * kBufferBytes / sizeof(Line));
  for (int k = 0; k < cut.buffers; k++) buffers_.push_back(memory_[0].bytes + k * kBufferBytes);
  const auto placeOf = [&](ChainCode::Source source, int index) {
    return source == ChainCode::Source::buffer ? &buffers_[index] : places(source, index);
  };
  for (size_t k = 0; k < cut.list.size(); k++) {
    Piece& piece = pieces_.emplace_back();
    piece.code = program.codes[k].get();
    if (piece.code != nullptr) {
      for (const auto& [source, index] : piece.code->pointers())
        piece.pointers.push_back(placeOf(source, index));
      for (const int index : piece.code->vectors())
        piece.vectors.push_back(places(ChainCode::Source::input, index));
      piece.frame.resize((piece.code->frameByteLength() + sizeof(ChainFrame) - 1) / sizeof(ChainFrame));
    }
    const ChainPiece& from = cut.list[k];
    if (from.step < 0) continue;
    piece.step = &chain.steps[from.step];
    const bool isInput = from.from < static_cast<int>(chain.inputs.size());
    piece.from = isInput ? places(ChainCode::Source::input, from.from) : &buffers_[cut.bufferOf[from.from]];
    piece.moves = !isInput || !form.repeats[from.from];
    piece.to = buffers_[from.to];
  }
}

void ChainCall::run(int64_t byteLength) {
  for (Piece& piece : pieces_) setVectors(piece);
  const int64_t most = pieces_.size() > 1 ? kBufferBytes : byteLength;
  for (int64_t at = 0; at < byteLength; at += most) {
    const int64_t bytes = std::min(most, byteLength - at);
    for (Piece& piece : pieces_) {
      if (piece.code != nullptr) runCode(piece, bytes);
      if (piece.step != nullptr) runStep(piece, bytes);
    }
    for (char** place : moving_) *place += bytes;
  }
}

void ChainCall::setVectors(Piece& piece) {
  if (piece.vectors.empty()) return;
  char* vector = reinterpret_cast<char*>(piece.frame.data() + 1);
  for (char* const* from : piece.vectors) {
    std::memcpy(vector, *from, kFrameVectorBytes);
    vector += kFrameVectorBytes;
  }
}

void ChainCall::runCode(Piece& piece, int64_t byteLength) {
  ChainFrame& frame = piece.frame[0];
  frame.byteLength = byteLength;
  for (size_t k = 0; k < piece.pointers.size(); k++) frame.pointers[k] = *piece.pointers[k];
  piece.code->run(&frame);
}

// From one place to another, in wide groups where there are such.
void ChainCall::runStep(const Piece& piece, int64_t byteLength) {
  const int64_t group = chain_.drive.groupLanes * chain_.byteLength;
  const bool isWide = chain_.drive.wide != nullptr && byteLength % (2 * group) == 0;
  const auto stepOf = [&](const StepFunction& function, char* data, bool moves) {
    ChainStep step{
        (isWide ? function.wide : function.narrow).run, {data}, {}, {}, weft::cpu::Arithmetic::none};
    if (moves) step.advance[0] = isWide ? 2 * group : group;
    if (moves) step.half[0] = group;
    return step;
  };
  const StepFunction& function = piece.step->function;
  ChainStep steps[] = {stepOf(chain_.codes->load(), *piece.from, piece.moves),
                       stepOf(function, static_cast<char*>(function.fixed), false),
                       stepOf(chain_.save, piece.to, true),
                       stepOf(chain_.steps.back().function, nullptr, false)};
  const int64_t groups = byteLength / group;
  if (isWide)
    chain_.drive.wide(steps, groups / 2);
  else
    chain_.drive.drive(steps, groups);
}

}  // namespace weft::cpu::jit
