#include "cpu/tape-chain.h"

#include <algorithm>
#include <utility>

#include "cpu/jit/chain-call.h"
#include "cpu/loop-counts.h"
#include "cpu/tape.h"

namespace weft::cpu {
namespace {

// Of a call of code: steps take less time than the call for fewer.
constexpr int64_t kLeastCodeChunks = 4;
// Of a worker: steps take less time than to set up the code for fewer, 0.15 us.
constexpr int64_t kLeastCodeLanes = 4096;

}  // namespace

ChainRunner::ChainRunner(const Chain& chain, const Operand* operands, const Operand* reduced,
                         std::vector<ReduceState*> states)
    : chain_(chain),
      states_(std::move(states)),
      group_(chain.drive.groupLanes * chain.byteLength),
      chunk_(kChunk * chain.byteLength),
      steps_(chain.steps.size()),
      slots_(chain.slots * 2 * group_ + kChunk) {
  const auto start = reinterpret_cast<uintptr_t>(slots_.data());
  char* const slots = slots_.data() + (kChunk - start % kChunk) % kChunk;
  for (size_t s = 0; s < steps_.size(); s++) {
    const Chain::Step& step = chain.steps[s];
    steps_[s] = {nullptr, {static_cast<char*>(step.function.fixed)}, {}, {}, step.arithmetic};
    for (int i = 0; i < step.placeCount; i++) {
      const auto [kind, index] = step.places[i];
      const auto moves = [&](const Operand* operand, int reduction) {
        moving_.push_back({s, i, kind, step.isPrefetch, operand, reduction});
      };
      switch (kind) {
        case ChainOperandKind::slot:
          steps_[s].data[i] = slots + index * 2 * group_;
          steps_[s].half[i] = group_;
          break;
        case ChainOperandKind::input:
          moves(operands + chain.inputs[index], -1);
          break;
        case ChainOperandKind::output:
          moves(operands + chain.outputs[index].value, -1);
          break;
        case ChainOperandKind::reduction:
          moves(reduced + index, index);
          break;
      }
    }
  }
}

// Where a place's first group is.
char* ChainRunner::firstOf(const Moving& m) const {
  if (m.isAhead()) return const_cast<char*>(m.operand->ahead.data);
  return takes(m) ? states_[m.reduction]->leaf : m.operand->data;
}

// Sets the operands to the block's first group. Returns whether its rows follow one another everywhere, so
// that it can be walked as one.
bool ChainRunner::bind(Extent extent, bool takes, bool rowsAreSteps) {
  const bool isHalfLeaf = takes && !rowsAreSteps && states_[0]->steps % 2 != 0;
  const Shape shape{extent.rows, extent.chunks, takes, isHalfLeaf};
  bool isSame = shape == shape_;
  for (const Moving& m : moving_) isSame = isSame && m.pace == paceOf(*m.operand);
  if (!isSame) {
    shape_ = shape;
    setPaces(rowsAreSteps);
  }
  for (const Moving& m : moving_) steps_[m.step].data[m.index] = firstOf(m) + m.start;
  return rowMoves_.empty() && !(takes && rowsAreSteps);
}

// Sets what follows from the block's shape, and from how the operands go through it: most blocks of a tape
// are alike in that.
void ChainRunner::setPaces(bool rowsAreSteps) {
  rowMoves_.clear();
  leafMoves_.clear();
  begin_ = 0;
  if (std::none_of(moving_.begin(), moving_.end(), [](const Moving& m) { return m.isAhead(); }))
    while (chain_.steps[begin_].isPrefetch) begin_++;
  setMiddle();
  const auto [rows, chunks, takesGroups, isHalfLeaf] = shape_;
  const int64_t group = isWide_ ? 2 * group_ : group_;
  const int64_t rowBytes = (last_ - first_) * chunk_;
  for (Moving& m : moving_) {
    const Operand& operand = *m.operand;
    // A chunk of equal lanes is read again and again, but written whole. Where it is as large as the result
    // it is read whole too: the result may lie in its place.
    m.repeats = operand.chunkStep == 0 && m.kind == ChainOperandKind::input &&
                (chunks > 1 || (rows > 1 && operand.rowStep == 0));
    m.start = m.repeats ? 0 : first_ * chunk_;
    ChainStep& to = steps_[m.step];
    int64_t advance = m.repeats ? 0 : group;
    if (takes(m) && !rowsAreSteps) {
      if (group_ < chunk_)
        leafMoves_.push_back({&to.data[m.index], -chunk_});
      else
        advance = 0;
      to.advance[m.index] = advance;
      to.half[m.index] = 0;
      continue;
    }
    to.advance[m.index] = advance;
    to.half[m.index] = m.repeats ? 0 : group_;
    const int64_t move = (takes(m) ? 0 : rowStepOf(m)) - (m.repeats ? 0 : rowBytes);
    if (rows > 1 && move != 0) rowMoves_.push_back({&to.data[m.index], move});
  }
  setRuns(steps_, isWide_);
  code_ = nullptr;
  wantsCode_ = wantsCode(rowsAreSteps);
  if (columns_.empty()) return;
  columnSteps_ = steps_;
  // Of chunks of equal lanes, there is another one in each row.
  for (Moving& m : moving_) m.repeats = m.repeats && m.operand->rowStep == 0;
  setRuns(columnSteps_, false);
}

// Chunks at the edges are columns by themselves; so is one more where what is between them is odd.
void ChainRunner::setMiddle() {
  bool hasFirst = false;
  bool hasLast = false;
  for (Moving& m : moving_) {
    m.pace = paceOf(*m.operand);
    hasFirst |= m.pace.hasFirst && !m.isPrefetch;
    hasLast |= m.pace.hasLast && !m.isPrefetch;
  }
  const bool hasColumns = hasFirst || hasLast;
  first_ = hasFirst ? 1 : 0;
  last_ = shape_.chunks - (hasLast ? 1 : 0);
  isWide_ = chain_.drive.wide != nullptr && !shape_.isHalfLeaf && (hasColumns || shape_.chunks % 2 == 0);
  if (isWide_ && (last_ - first_) % 2 != 0) last_--;
  columns_.clear();
  for (int64_t chunk = 0; chunk < shape_.chunks; chunk++)
    if (chunk < first_ || chunk >= last_) columns_.push_back(chunk);
}

// Sets the steps' functions, given which operands repeat.
void ChainRunner::setRuns(std::vector<ChainStep>& steps, bool isWide) {
  const auto formOf = [&](const StepFunction& function) { return isWide ? function.wide : function.narrow; };
  for (size_t s = 0; s < steps.size(); s++) steps[s].run = formOf(chain_.steps[s].function).run;
  size_t last = steps.size();
  int repeated = 0;
  for (const Moving& m : moving_) {
    const Chain::Step& step = chain_.steps[m.step];
    ChainStep& to = steps[m.step];
    repeated = (m.step == last ? repeated : 0) + (m.repeats ? 1 : 0);
    last = m.step;
    const StepForm form = formOf(step.function);
    if (repeated == step.placeCount && form.repeated) to.run = form.repeated;
    if (m.kind == ChainOperandKind::reduction && !shape_.takes) to.run = formOf(chain_.save).run;
    if (m.kind == ChainOperandKind::output && m.operand->streams) to.run = formOf(chain_.stream).run;
  }
}

// Whether inputs lie less than a vector apart: steps take these from registers (chain-arithmetic.h), since
// most of such vectors lie in two cache lines.
bool ChainRunner::readsNeighbours() const {
  std::vector<const char*> places;
  for (const Moving& m : moving_) {
    const bool repeats = steps_[m.step].advance[m.index] == 0;
    if (m.kind == ChainOperandKind::input && !m.isPrefetch && !repeats) places.push_back(m.operand->data);
  }
  std::sort(places.begin(), places.end());
  for (size_t k = 1; k < places.size(); k++)
    if (places[k] != places[k - 1] && places[k] - places[k - 1] < jit::kFrameVectorBytes) return true;
  return false;
}

// Whether the block is to be run by code: its rows, or all of them together, are long enough for a call.
bool ChainRunner::wantsCode(bool rowsAreSteps) const {
  if (!chain_.codes) return false;
  const bool isOneRow = rowMoves_.empty() && columns_.empty() && !(shape_.takes && rowsAreSteps);
  return (last_ - first_) * (isOneRow ? shape_.rows : 1) >= kLeastCodeChunks;
}

// Has code from this block on, if enough has run by steps.
void ChainRunner::considerCode(int64_t lanes, bool rowsAreSteps) {
  lanes_ += lanes;
  if (lanes_ < kLeastCodeLanes || !chain_.codes->areEnough(lanes)) return;
  wantsCode_ = false;
  if (!readsNeighbours()) setCode(rowsAreSteps);
}

// Finds the code for the block, and where its operands are.
void ChainRunner::setCode(bool rowsAreSteps) {
  using Source = jit::ChainCode::Source;
  const auto placeOf = [&](const Moving& m) { return chain_.steps[m.step].places[m.index].index; };
  const auto sourceOf = [](const Moving& m) {
    if (m.kind == ChainOperandKind::input) return m.isPrefetch ? Source::nextBlock : Source::input;
    return m.kind == ChainOperandKind::output ? Source::output : Source::reduction;
  };
  jit::ChainForm form{std::vector<bool>(chain_.inputs.size()), std::vector<bool>(chain_.inputs.size()),
                      std::vector<bool>(chain_.outputs.size())};
  if (shape_.takes) form.leaves = rowsAreSteps ? jit::ChainForm::Leaves::each : jit::ChainForm::Leaves::one;
  std::vector<char**> moving;
  for (const Moving& m : moving_) {
    const bool repeats = steps_[m.step].advance[m.index] == 0;
    if (m.kind == ChainOperandKind::output)
      form.streams[placeOf(m)] = m.operand->streams;
    else if (m.isPrefetch)
      form.asks[placeOf(m)] = m.isAhead();
    else if (m.kind == ChainOperandKind::input)
      form.repeats[placeOf(m)] = repeats;
    if (!repeats && !(takes(m) && !rowsAreSteps)) moving.push_back(&steps_[m.step].data[m.index]);
  }
  const jit::ChainProgram* const program = chain_.codes->of(form);
  if (program == nullptr) return;
  countChainCode();
  const auto places = [&](Source source, int index) {
    const auto isIt = [&](const Moving& m) { return sourceOf(m) == source && placeOf(m) == index; };
    const Moving& found = *std::find_if(moving_.begin(), moving_.end(), isIt);
    return &steps_[found.step].data[found.index];
  };
  code_ = std::make_shared<jit::ChainCall>(chain_, *program, form, places, std::move(moving));
}

// Walks chunks: as many groups as they are.
void ChainRunner::drive(int64_t chunks) {
  if (code_) return code_->run(chunks * chunk_);
  if (isWide_)
    chain_.drive.wide(steps_.data() + begin_, chunks / 2);
  else
    chain_.drive.drive(steps_.data() + begin_, chunks * (kChunk / chain_.drive.groupLanes));
}

// A chunk of each row.
void ChainRunner::runColumn(int64_t chunk) {
  const bool isLast = chunk == shape_.chunks - 1;
  for (int64_t offset = 0; offset < chunk_; offset += group_) {
    for (const Moving& m : moving_) {
      const Edges& edges = m.operand->edges;
      const bool isEdge =
          edges.areThere() && !m.isPrefetch && ((chunk == 0 && edges.first) || (isLast && edges.last));
      ChainStep& to = columnSteps_[m.step];
      if (isEdge) {
        to.data[m.index] = edges.data + edges.placeOf(0, chunk > 0) * chain_.byteLength + offset;
        to.advance[m.index] = edges.rowStep * chain_.byteLength;
      } else {
        const bool isSplat = m.kind == ChainOperandKind::input && m.operand->chunkStep == 0;
        to.data[m.index] = firstOf(m) + (isSplat ? 0 : chunk * chunk_) + offset;
        to.advance[m.index] = rowStepOf(m);
      }
      to.half[m.index] = m.repeats ? 0 : group_;
    }
    chain_.drive.drive(columnSteps_.data() + begin_, shape_.rows);
  }
}

void ChainRunner::stepAll(int64_t count) {
  for (size_t r = 0; r < states_.size(); r++) chain_.reductions[r].reduce->step(*states_[r], count);
}

void ChainRunner::runChunks(int64_t chunks, bool takes, bool rowsAreSteps) {
  if (!takes || rowsAreSteps) {
    drive(chunks);
    if (takes) stepAll(1);
    return;
  }
  for (int64_t c = 0; c < chunks;) {
    // All have taken the same steps.
    const bool isChunkwise = !code_ && !leafMoves_.empty();
    const int64_t room = isChunkwise ? 1 : kLeafSteps - states_[0]->steps;
    const int64_t count = std::min(room, chunks - c);
    drive(count);
    if (isChunkwise)
      for (const Move& move : leafMoves_) *move.data += move.bytes;
    stepAll(count);
    c += count;
  }
}

void ChainRunner::run(Extent extent, bool takes, bool rowsAreSteps) {
  const bool isOneRow = bind(extent, takes, rowsAreSteps);
  if (wantsCode_) considerCode(extent.rows * extent.chunks * kChunk, rowsAreSteps);
  if (isOneRow && columns_.empty()) return runChunks(extent.rows * extent.chunks, takes, rowsAreSteps);
  for (int64_t row = 0; row < extent.rows; row++) {
    if (row > 0) {
      for (const Move& move : rowMoves_) *move.data += move.bytes;
    }
    runChunks(last_ - first_, takes, rowsAreSteps);
  }
  // Last: a result's last chunks may go to the register of an operand that is read whole.
  for (const int64_t chunk : columns_) runColumn(chunk);
}

}  // namespace weft::cpu
