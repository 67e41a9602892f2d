// Runs of a small tape again and again: of one tile, of one block for each phase, every run does what the one
// before it did, but for where the buffers lie. So a run notes what it does, in order, without the loads
// that read in place, and the next ones follow the note.
//
//     x · y   →   reset, take x y, close, finish, store      with the places of x, y and of the result
#include "cpu/tape-repeat.h"

#include <algorithm>
#include <cstring>

#include "cpu/tape-worker.h"

namespace weft::cpu {

// Whether a load is the buffer's own memory, and would be wherever that lies.
bool TapeWorker::isInPlace(const Instruction& i, const Position& at) const {
  if (i.code != Opcode::load || i.indexValue >= 0) return false;
  const Operand& operand = operands_[i.value];
  if (operand.data != placeOf(i, at) || operand.ahead.lines > 0) return false;
  const auto isZero = [](const Bound& bound) { return bound.outside == Outside::zero; };
  return !operand.edges.areThere() || std::all_of(i.access.bounds.begin(), i.access.bounds.end(), isZero);
}

// An address in the memory of the instruction's buffer, which is another one in each run.
void TapeWorker::notePlace(char*& data, const Instruction& i, const Position& at, RowEnds* ends) {
  const int64_t size = byteLengthOf(tape_.buffers[i.access.buffer].dtype);
  places_.push_back({&data, i.access.buffer, baseOf(i.access.affine, at) * size, ends});
}

void TapeWorker::noteSection(const Section& section, const Position& at, char* registers, bool isRow) {
  using What = Repeat::What;
  for (const Instruction& i : section) {
    Operand& out = operands_[i.value];
    const Value& value = tape_.values[i.value];
    Repeat one{What::any, &i, at, registers, isRow, {}, &out, {}, nullptr};
    if (i.code == Opcode::load) {
      if (i.isKept && holds(i, at)) continue;
      if (isInPlace(i, at)) {
        notePlace(out.data, i, at, out.edges.areThere() ? &ends_[i.value] : nullptr);
        continue;
      }
      if (i.indexValue < 0) one.what = What::load;
    } else if (i.code == Opcode::chain) {
      one.what = What::chain;
    } else if ((i.code == Opcode::map || i.code == Opcode::cast) && !i.loop && i.prefetch < 0) {
      one.what = What::map;
      one.extent = {value.rows ? at.rows : 1, value.lanes ? at.chunks() : 1};
      if (i.hasDirect && out.data == placeOf(i, at)) notePlace(out.data, i, at);
    } else if (i.code == Opcode::reduce && tape_.laneKind == LaneKind::reduced && !tape_.isSegmented()) {
      one.what = What::take;
      one.extent = {at.rows, at.chunks()};
      one.state = &partials_.state(i.reduction);
    } else if (i.code == Opcode::store && at.rows == 1 && !out.edges.areThere() &&
               (i.access.affine.mode == LaneMode::splat || (isRow ? rowLanes(at) : at.valid) == 1)) {
      one.what = What::storeOne;
    }
    for (int k = 0; k < i.argCount; k++) one.args[k] = &operands_[i.args[k]];
    repeats_.push_back(one);
    if (one.what == What::storeOne) notePlace(repeats_.back().registers, i, at);
  }
}

void TapeWorker::noteReductions(size_t phase, Repeat::What what) {
  partials_.eachReduction(phase, [&](const Instruction& i) {
    repeats_.push_back(
        {what, &i, {}, nullptr, false, {}, &operands_[i.value], {}, &partials_.state(i.reduction)});
  });
}

void TapeWorker::noteRun() {
  using What = Repeat::What;
  size_t count = 0;
  for (const Section& section : tape_.rowSections) count += section.size();
  for (const Section& section : tape_.walks) count += section.size();
  count += 3 * tape_.reductions.size();
  places_.clear();
  repeats_.clear();
  // Places of single elements are in it.
  repeats_.reserve(count);
  std::fill(kept_.begin(), kept_.end(), Kept{});
  const bool isSegmented = tape_.isSegmented();
  int64_t rows = tileRows_, valid = tileValid_;
  const bool isTail = isTail_;
  locate(0, tape_.tileLoops, tape_.loops.size(), rows, valid);
  isTail_ = isTail;
  for (size_t phase = 0; phase < tape_.walks.size(); phase++) {
    noteSection(tape_.rowSections[phase], rowsAt(phase), rows_, true);
    if (!isSegmented) noteReductions(phase, What::reset);
    noteSection(tape_.walks[phase], {starts_.data(), starts_.size(), rows, valid}, block_, false);
    if (isSegmented) continue;
    noteReductions(phase, What::close);
    noteReductions(phase, What::finish);
  }
  noteSection(tape_.rowSections.back(), rowsAt(tape_.walks.size()), rows_, true);
}

void TapeWorker::follow(const Repeat& one) {
  const Instruction& i = *one.instruction;
  switch (one.what) {
    case Repeat::What::any:
      return runOne(i, one.at, one.registers, one.isRow);
    case Repeat::What::load:
      *one.out =
          load(tape_, i, one.at, job_->buffers, one.registers + i.offset, !job_->isAliased, ends_[i.value]);
      return;
    case Repeat::What::map:
      return i.function(one.extent, *one.out, one.args);
    case Repeat::What::chain:
      return runChain(i, one.at, one.registers);
    case Repeat::What::take:
      return i.reduce->lanes(*one.state, one.extent, one.at.valid, one.args);
    case Repeat::What::reset:
      return i.reduce->reset(*one.state);
    case Repeat::What::close:
      return i.reduce->close(*one.state);
    case Repeat::What::finish:
      return i.reduce->finish(*one.state, partials_.fold(), *one.out);
    case Repeat::What::storeOne:
      std::memcpy(one.registers, one.out->data, tape_.values[i.value].byteLength);
      return;
  }
}

bool TapeWorker::runAgain(const TapeJob& job) {
  scratch_.emplace(byteLength_);
  if (repeats_.empty() || scratch_->data() != block_) return false;
  job_ = &job;
  for (const Place& place : places_) {
    *place.data = static_cast<char*>(job.buffers[place.buffer].data) + place.offset;
    if (place.ends != nullptr) place.ends->areCopied = false;
  }
  for (const Repeat& one : repeats_) follow(one);
  end();
  return true;
}

RepeatedTape::RepeatedTape(const Tape& tape) : tape_(tape), worker_(std::make_unique<TapeWorker>(tape)) {}
RepeatedTape::~RepeatedTape() = default;

bool RepeatedTape::takes(const Tape& tape) {
  const bool isOneBlock = tape.tileCount() == 1 && tape.walkBlocks() == 1 && tape.slots == 1;
  if (!isOneBlock || tape.triangle || tape.windowIndex >= 0) return false;
  const auto isPlain = [](const Section& section) {
    return std::none_of(section.begin(), section.end(), [](const Instruction& i) { return i.monoid; });
  };
  return std::all_of(tape.walks.begin(), tape.walks.end(), isPlain);
}

void RepeatedTape::run(const TapeBuffer* buffers) {
  if (!job_ || job_->buffers != buffers) job_.emplace(jobOf(tape_, buffers, nullptr));
  if (worker_->runAgain(*job_)) return;
  worker_->begin(*job_);
  worker_->runTiles(0, 1);
  worker_->noteRun();
  worker_->end();
}

}  // namespace weft::cpu
