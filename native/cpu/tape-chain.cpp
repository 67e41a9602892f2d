#include "cpu/tape-chain.h"

#include <algorithm>

#include "cpu/tape.h"

namespace weft::cpu {

ChainRunner::ChainRunner(const Chain& chain, const Operand* operands, const Operand* reduced,
                         std::vector<ReduceState*> states)
    : chain_(chain),
      states_(std::move(states)),
      group_(chain.drive.groupLanes * chain.byteLength),
      steps_(chain.steps.size()),
      slots_(chain.slots * 2 * group_ + kChunk) {
  const auto start = reinterpret_cast<uintptr_t>(slots_.data());
  char* const slots = slots_.data() + (kChunk - start % kChunk) % kChunk;
  for (size_t s = 0; s < steps_.size(); s++) {
    const Chain::Step& step = chain.steps[s];
    steps_[s] = {nullptr, {static_cast<char*>(step.function.fixed)}, {}, {}};
    for (int i = 0; i < step.placeCount; i++) {
      const auto [kind, index] = step.places[i];
      const auto moves = [&](const Operand* operand, int reduction) {
        moving_.push_back({s, i, kind, step.isPrefetch, operand, reduction});
      };
      switch (kind) {
        case PlaceKind::slot:
          steps_[s].data[i] = slots + index * 2 * group_;
          steps_[s].half[i] = group_;
          break;
        case PlaceKind::input:
          moves(operands + chain.inputs[index], -1);
          break;
        case PlaceKind::output:
          moves(operands + chain.outputs[index].value, -1);
          break;
        case PlaceKind::reduction:
          moves(reduced + index, index);
          break;
      }
    }
  }
}

// Where a place's first group is.
char* ChainRunner::firstOf(const Moving& m, bool takes) const {
  if (m.isPrefetch && m.operand->ahead.lines > 0) return const_cast<char*>(m.operand->ahead.data);
  return m.kind == PlaceKind::reduction && takes ? states_[m.reduction]->leaf : m.operand->data;
}

// Sets the operands to the block's first group. Returns whether its rows follow one another everywhere, so
// that it can be walked as one.
bool ChainRunner::bind(Extent extent, bool takes, bool rowsAreSteps) {
  const bool isHalfLeaf = takes && !rowsAreSteps && states_[0]->steps % 2 != 0;
  const bool isWide = chain_.drive.wide != nullptr && extent.chunks % 2 == 0 && !isHalfLeaf;
  const Shape shape{extent.rows, extent.chunks, takes, isWide};
  bool isSame = shape == shape_;
  for (const Moving& m : moving_) {
    steps_[m.step].data[m.index] = firstOf(m, takes);
    isSame = isSame && m.pace == paceOf(*m.operand);
  }
  if (!isSame) {
    shape_ = shape;
    setPaces(rowsAreSteps);
  }
  return rowMoves_.empty() && !(takes && rowsAreSteps);
}

// Sets what follows from the block's shape, and from how the operands go through it: most blocks of a tape
// are alike in that.
void ChainRunner::setPaces(bool rowsAreSteps) {
  rowMoves_.clear();
  leafMoves_.clear();
  edged_.clear();
  const auto [rows, chunks, takes, isWide] = shape_;
  const int64_t group = isWide ? 2 * group_ : group_;
  const int64_t rowBytes = chunks * kChunk * chain_.byteLength;
  for (size_t s = 0; s < steps_.size(); s++) steps_[s].run = formOf(chain_.steps[s].function).run;
  size_t step = steps_.size();
  int repeated = 0;
  for (Moving& m : moving_) {
    ChainStep& to = steps_[m.step];
    const Operand& operand = *m.operand;
    m.pace = paceOf(operand);
    // A chunk of equal lanes is read again and again, but written whole. Where it is as large as the result
    // it is read whole too: the result may lie in its place.
    const bool repeats = operand.chunkStep == 0 && m.kind == PlaceKind::input &&
                         (chunks > 1 || (rows > 1 && operand.rowStep == 0));
    repeated = (m.step == step ? repeated : 0) + (repeats ? 1 : 0);
    step = m.step;
    const StepForm& form = formOf(chain_.steps[step].function);
    if (repeated == chain_.steps[step].placeCount && form.repeated) to.run = form.repeated;
    int64_t advance = repeats ? 0 : group;
    int64_t rowStep = operand.rowStep * chain_.byteLength;
    if (m.isPrefetch && operand.ahead.lines > 0) {
      rowStep = operand.ahead.rowBytes;
    } else if (m.kind == PlaceKind::reduction && takes) {
      rowStep = 0;
      if (!rowsAreSteps) {
        if (group_ < kChunk * chain_.byteLength)
          leafMoves_.push_back({&to.data[m.index], -kChunk * chain_.byteLength});
        else
          advance = 0;
        to.advance[m.index] = advance;
        to.half[m.index] = 0;
        continue;
      }
    } else if (m.kind == PlaceKind::reduction) {
      to.run = formOf(chain_.save).run;
    } else if (m.kind == PlaceKind::output && operand.streams) {
      to.run = formOf(chain_.stream).run;
    }
    to.advance[m.index] = advance;
    to.half[m.index] = repeats ? 0 : group_;
    if (m.pace.hasEdges && !m.isPrefetch) {
      edged_.push_back({&to, m.index, &operand});
      continue;
    }
    if (rows == 1) continue;
    const int64_t move = rowStep - (advance == 0 ? 0 : rowBytes);
    if (move != 0) rowMoves_.push_back({&to.data[m.index], move});
  }
}

// Walks chunks: as many groups as they are.
void ChainRunner::drive(int64_t chunks) {
  if (shape_.isWide)
    chain_.drive.wide(steps_.data(), chunks / 2);
  else
    chain_.drive.drive(steps_.data(), chunks * (kChunk / chain_.drive.groupLanes));
}

void ChainRunner::runRowWithEdges(int64_t row) {
  const int64_t chunks = shape_.chunks;
  bool first = false;
  bool last = false;
  for (const Edged& edged : edged_) {
    first |= edged.operand->edges.first;
    last |= edged.operand->edges.last;
  }
  const auto placeOf = [&](const Operand& operand, int64_t chunk) {
    const Edges& edges = operand.edges;
    const bool isLast = edges.last && chunk == chunks - 1;
    if (isLast || (edges.first && chunk == 0))
      return edges.data + edges.placeOf(row, isLast) * chain_.byteLength;
    return operand.data + (row * operand.rowStep + chunk * kChunk) * chain_.byteLength;
  };
  const auto run = [&](int64_t begin, int64_t end) {
    if (begin >= end) return;
    for (const auto& [step, index, operand] : edged_) {
      step->data[index] = placeOf(*operand, begin);
      if (shape_.isWide) step->half[index] = placeOf(*operand, begin + 1) - step->data[index];
    }
    drive(end - begin);
  };
  const int64_t group = shape_.isWide ? 2 : 1;
  const int64_t begin = first ? group : 0;
  const int64_t end = std::max(begin, chunks - (last ? group : 0));
  run(0, begin);
  run(begin, end);
  run(end, chunks);
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
    const int64_t room = leafMoves_.empty() ? kLeafSteps - states_[0]->steps : 1;
    const int64_t count = std::min(room, chunks - c);
    drive(count);
    for (const Move& move : leafMoves_) *move.data += move.bytes;
    stepAll(count);
    c += count;
  }
}

void ChainRunner::run(Extent extent, bool takes, bool rowsAreSteps) {
  const bool isOneRow = bind(extent, takes, rowsAreSteps);
  if (isOneRow && edged_.empty()) {
    return runChunks(extent.rows * extent.chunks, takes, rowsAreSteps);
  }
  for (int64_t row = 0; row < extent.rows; row++) {
    if (row > 0) {
      for (const Move& move : rowMoves_) *move.data += move.bytes;
    }
    if (edged_.empty())
      runChunks(extent.chunks, takes, rowsAreSteps);
    else
      runRowWithEdges(row);
  }
}

}  // namespace weft::cpu
