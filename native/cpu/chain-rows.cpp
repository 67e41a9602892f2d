#include "cpu/chain-rows.h"

#include <algorithm>
#include <cstring>

#include "cpu/loop-counts.h"
#include "cpu/tape.h"

namespace weft::cpu {
namespace {

// Of longer rows little is copied.
constexpr int64_t kMostRowLanes = 4096;

}  // namespace

using Source = jit::ChainCode::Source;

ChainRows::ChainRows(const Chain& chain, const Operand* operands, const RowEnds* ends, bool isAlone)
    : chain_(chain),
      operands_(operands),
      ends_(ends),
      isPossible_(isAlone && chain.codes && chain.reductions.empty() &&
                  chain.codes->pieces().list.size() == 1),
      ways_(chain.inputs.size() + chain.outputs.size()) {}

bool ChainRows::run(int64_t rows, int64_t lanes, bool areInBuffers) {
  if (!isPossible_ || !areInBuffers || !findWays(rows, lanes)) return false;
  if (!isWorthwhile(lanes)) return false;
  if (ways_ != coded_) {
    if (!chain_.codes->areEnough(rows * lanes)) return false;
    compile();
  }
  if (code_ == nullptr) return false;
  jit::ChainFrame& frame = frame_[0];
  frame.byteLength = lanes * chain_.byteLength - jit::kRowVectorBytes;
  frame.rows = rows;
  const auto& pointers = code_->pointers();
  for (size_t k = 0; k < pointers.size(); k++) {
    const Operand& operand = operandOf(pointers[k]);
    const bool isNext = pointers[k].source == Source::nextBlock;
    frame.pointers[k] = isNext ? const_cast<char*>(operand.ahead.data) : operand.data;
    frame.rowBytes[k] = isNext ? operand.ahead.rowBytes : operand.rowStep * chain_.byteLength;
  }
  for (size_t k = 0; k < code_->vectors().size(); k++)
    std::memcpy(frameVector(k), operands_[chain_.inputs[code_->vectors()[k]]].data, jit::kFrameVectorBytes);
  code_->run(&frame);
  return true;
}

// False: there is no code for rows like these.
bool ChainRows::findWays(int64_t rows, int64_t lanes) {
  if (lanes * chain_.byteLength < jit::kLeastRowBytes) return false;
  const int64_t most = jit::kRowVectorBytes / chain_.byteLength;
  for (size_t k = 0; k < chain_.inputs.size(); k++) {
    const Operand& operand = operands_[chain_.inputs[k]];
    Way& way = ways_[k] = {operand.chunkStep == 0, operand.ahead.lines > 0};
    if (way.repeats && operand.rowStep != 0 && rows > 1) return false;
    if (!operand.edges.areThere()) continue;
    const RowEnds& ends = ends_[chain_.inputs[k]];
    const int64_t behind = lanes - ends.last;
    if (ends.areCopied || ends.first > most || behind > most) return false;
    // The last vector alone has zeros behind: the one before it ends so many lanes before the row.
    if (lanes % most != 0 && behind > lanes % most) return false;
    way.zerosBefore = static_cast<uint8_t>(ends.first);
    way.zerosBehind = static_cast<uint8_t>(behind);
  }
  for (size_t k = 0; k < chain_.outputs.size(); k++)
    ways_[chain_.inputs.size() + k].streams = operands_[chain_.outputs[k].value].streams;
  return true;
}

// Whether steps would copy much of the rows. Elsewhere these are faster, or code in vectors of all bytes that
// there are: steps take neighbours from registers.
bool ChainRows::isWorthwhile(int64_t lanes) const {
  if (lanes > kMostRowLanes) return false;
  const auto hasEdges = [&](int input) { return operands_[input].edges.areThere(); };
  return lanes % kChunk != 0 || std::any_of(chain_.inputs.begin(), chain_.inputs.end(), hasEdges);
}

void ChainRows::compile() {
  coded_ = ways_;
  const size_t inputs = chain_.inputs.size();
  jit::ChainForm form{std::vector<bool>(inputs), std::vector<bool>(inputs),
                      std::vector<bool>(chain_.outputs.size())};
  form.walksRows = true;
  for (size_t k = 0; k < ways_.size(); k++) {
    const Way& way = ways_[k];
    if (k >= inputs) {
      form.streams[k - inputs] = way.streams;
      continue;
    }
    form.repeats[k] = way.repeats;
    form.asks[k] = way.asks;
    form.zerosBefore.push_back(way.zerosBefore);
    form.zerosBehind.push_back(way.zerosBehind);
  }
  const jit::ChainProgram* const program = chain_.codes->of(form);
  code_ = program == nullptr ? nullptr : program->codes[0].get();
  if (code_ == nullptr) return;
  countChainCode();
  frame_.assign((code_->frameByteLength() + sizeof(jit::ChainFrame) - 1) / sizeof(jit::ChainFrame), {});
  const int64_t count = jit::kRowVectorBytes / chain_.byteLength;
  for (size_t m = 0; m < code_->masks().size(); m++) {
    const auto [zeros, areBefore] = code_->masks()[m];
    char* const mask = frameVector(code_->vectors().size() + m);
    char* const first = areBefore ? mask + zeros * chain_.byteLength : mask;
    std::memset(first, 0xff, static_cast<size_t>((count - zeros) * chain_.byteLength));
  }
}

char* ChainRows::frameVector(size_t k) const {
  const auto* const vectors = reinterpret_cast<const char*>(frame_.data() + 1);
  return const_cast<char*>(vectors) + k * jit::kFrameVectorBytes;
}

const Operand& ChainRows::operandOf(const jit::ChainCode::Pointer& pointer) const {
  const bool isOutput = pointer.source == Source::output;
  return operands_[isOutput ? chain_.outputs[pointer.index].value : chain_.inputs[pointer.index]];
}

}  // namespace weft::cpu
