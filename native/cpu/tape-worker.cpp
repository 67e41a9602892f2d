#include "cpu/tape-worker.h"

#include <algorithm>
#include <cstring>
#include <exception>

#include "cpu/tape-columns.h"

namespace weft::cpu {
namespace {

// Tapes that keep a worker, of some 10 KiB.
constexpr int kMostKeepers = 1024;
std::atomic<int> keepers{0};

constexpr int64_t kLineBytes = 64;
// Bytes of a tile's results that are asked for before it is computed, at most: of more, hardware asks for
// lines as they are written.
constexpr int64_t kMostAskedBytes = 4096;

}  // namespace

IdleWorker::~IdleWorker() {
  take();
  if (stage_.load() == Stage::keeps) keepers.fetch_sub(1, std::memory_order_relaxed);
}

std::unique_ptr<TapeWorker> IdleWorker::take() {
  return std::unique_ptr<TapeWorker>(worker_.exchange(nullptr, std::memory_order_acquire));
}

void IdleWorker::leave(std::unique_ptr<TapeWorker> worker) {
  if (!keeps()) return;
  TapeWorker* none = nullptr;
  if (worker_.compare_exchange_strong(none, worker.get(), std::memory_order_release,
                                      std::memory_order_relaxed))
    worker.release();
}

bool IdleWorker::keeps() {
  Stage stage = stage_.load(std::memory_order_relaxed);
  if (stage == Stage::keeps) return true;
  if (stage == Stage::isNew) stage_.compare_exchange_strong(stage, Stage::hasRun);
  if (stage != Stage::hasRun || keepers.load(std::memory_order_relaxed) >= kMostKeepers) return false;
  if (stage_.compare_exchange_strong(stage, Stage::keeps)) keepers.fetch_add(1, std::memory_order_relaxed);
  return true;
}

WorkerLease::WorkerLease(const TapeJob& job) : tape_(job.tape), worker_(tape_.idle.take()) {
  if (!worker_) worker_ = std::make_unique<TapeWorker>(tape_);
  worker_->begin(job);
}

WorkerLease::~WorkerLease() {
  if (std::uncaught_exceptions() > 0) return;
  worker_->end();
  tape_.idle.leave(std::move(worker_));
}

TapeWorker::TapeWorker(const Tape& tape)
    : tape_(tape),
      byteLength_(alignedBytes(tape.blockByteLength) + alignedBytes(tape.rowByteLength) +
                  TapePartials::byteLength(tape) + alignedBytes(tape.loopByteLength) + 64),
      operands_(tape.values.size()),
      ends_(tape.values.size()),
      kept_(tape.values.size()),
      starts_(tape.loops.size()),
      partials_(tape) {
  bindChains();
}

void TapeWorker::begin(const TapeJob& job) {
  scratch_.emplace(byteLength_);
  if (scratch_->data() != block_ || boundRows_ != rows_) bindMemory(scratch_->data());
  if (job.constants != constants_) bindConstants(job.constants);
  rebind(job);
  if (hasReads(tape_, job.buffers)) reads_.emplace(tape_, job.buffers);
}

void TapeWorker::bindMemory(char* memory) {
  block_ = memory;
  rows_ = block_ + alignedBytes(tape_.blockByteLength);
  char* const states = rows_ + alignedBytes(tape_.rowByteLength);
  loops_ = states + TapePartials::byteLength(tape_);
  partials_.bind(states, loops_);
  bindRows(rows_);
}

void TapeWorker::bindConstants(const char* constants) {
  constants_ = constants;
  for (size_t i = 0; i < tape_.values.size(); i++) {
    const Value& value = tape_.values[i];
    if (value.storage == Storage::constant)
      operands_[i] = {const_cast<char*>(constants) + value.offset, 0, 0};
  }
}

void TapeWorker::rebind(const TapeJob& job) {
  job_ = &job;
  std::fill(kept_.begin(), kept_.end(), Kept{});
}

void TapeWorker::end() {
  job_ = nullptr;
  reads_.reset();
  scratch_.reset();
}

void TapeWorker::bindRows(char* rows) {
  boundRows_ = rows;
  for (size_t i = 0; i < tape_.values.size(); i++) {
    const Value& value = tape_.values[i];
    if (value.storage != Storage::row) continue;
    const int64_t rowStep = value.lanes ? tape_.paddedWidth() : kChunk;
    operands_[i] = {rows + value.offset, value.rows ? rowStep : 0, value.lanes ? kChunk : 0};
  }
}

void TapeWorker::startTile(int64_t tile) {
  tileRows_ = tape_.rows;
  tileValid_ = tape_.width();
  locate(tile, 0, tape_.tileLoops, tileRows_, tileValid_);
}

void TapeWorker::runRows(size_t phase) {
  const Section& section = tape_.rowSections[phase];
  if (section.empty()) return;
  for (size_t i = tape_.tileLoops; i < starts_.size(); i++) starts_[i] = 0;
  run(section, rowsAt(phase), boundRows_, true);
}

Position TapeWorker::rowsAt(size_t phase) const {
  const bool turnsRows = tape_.turnsRows && phase == tape_.walks.size();
  const int64_t rows = tape_.rowsReduced || turnsRows ? 1 : tileRows_;
  const int64_t lanes = turnsRows ? tileRows_ : tape_.laneKind == LaneKind::reduced ? 1 : tileValid_;
  return {starts_.data(), starts_.size(), rows, lanes};
}

void TapeWorker::walk(size_t phase, int64_t first, int64_t last) {
  for (int64_t block = first; block < last; block++) {
    int64_t rows = tileRows_;
    int64_t valid = tileValid_;
    isTail_ = false;
    locate(block, tape_.tileLoops, tape_.loops.size(), rows, valid);
    run(tape_.walks[phase], {starts_.data(), starts_.size(), rows, valid}, block_, false);
  }
}

void TapeWorker::runTile(int64_t tile) {
  startTile(tile);
  runStarted();
}

void TapeWorker::runTiles(int64_t first, int64_t last) {
  if (tape_.isSeamless())
    return runElements({first * tape_.take, std::min(last * tape_.take, tape_.loops[0].extent)});
  for (int64_t tile = first; tile < last && !job_->cancelled(); tile++) runTile(tile);
}

void TapeWorker::runElements(Range elements) {
  for (int64_t at = elements.first; at < elements.last && !job_->cancelled();) {
    at += startElements(at, elements.last);
    runStarted();
  }
}

int64_t TapeWorker::startElements(int64_t first, int64_t last) {
  tileRows_ = 1;
  tileValid_ = 1;
  if (starts_.empty()) return 1;
  const size_t lanes = starts_.size() - 1;
  int64_t rest = first;
  for (size_t i = starts_.size(); i-- > 0;) {
    starts_[i] = rest % tape_.loops[i].extent;
    rest /= tape_.loops[i].extent;
  }
  const int64_t extent = tape_.loops[lanes].extent;
  const int64_t line = std::min(last - first, extent - starts_[lanes]);
  tileValid_ = lanesTogether(line);
  if (tape_.loops[lanes].role == Role::shared) {
    // Rows of whole lanes, one behind the other.
    if (line >= tape_.take) tileRows_ = std::min(tape_.rows, line / tape_.take);
  } else if (lanes > 0 && tape_.loops[lanes - 1].role == Role::rows && tileValid_ == extent) {
    const int64_t rows =
        std::min((last - first) / extent, tape_.loops[lanes - 1].extent - starts_[lanes - 1]);
    tileRows_ = std::min(tape_.rows, rows);
  }
  return tileRows_ * tileValid_;
}

int64_t TapeWorker::lanesTogether(int64_t elements) const {
  if (elements <= tape_.take || !tape_.isSeamless() || job_->isAliased || reads_)
    return std::min(tape_.take, elements);
  return std::max(tape_.take, std::min(tape_.seamlessLanes, elements / kChunk * kChunk));
}

void TapeWorker::runStarted() {
  const int64_t blocks = tape_.walkBlocks();
  const bool segmented = tape_.isSegmented();
  if (!segmented) askForResults();
  for (size_t phase = 0; phase < tape_.walks.size(); phase++) {
    runRows(phase);
    if (segmented) {
      walk(phase, 0, blocks);
      continue;
    }
    const bool several = tape_.slots > 1;
    if (several) partials_.resetTile(phase);
    for (int64_t slot = 0; slot < tape_.slots; slot++) {
      partials_.resetSlot(phase);
      walk(phase, slot * tape_.slotBlocks, std::min(blocks, (slot + 1) * tape_.slotBlocks));
      partials_.closeSlot(phase);
      if (several) partials_.pushSlot(phase);
      if (job_->cancelled()) return;
    }
    finish(phase, several);
  }
  runRows(tape_.walks.size());
}

void TapeWorker::askForResults() const {
  const Position at = rowsAt(tape_.walks.size());
  for (const Instruction& i : tape_.rowSections.back()) {
    const Affine& affine = i.access.affine;
    if (i.code != Opcode::store || affine.mode != LaneMode::stride || affine.lane != 1) continue;
    const int64_t bytes = rowLanes(at) * tape_.values[i.value].byteLength;
    if (at.rows > 1 || bytes > kMostAskedBytes || job_->streams(i.access.buffer)) continue;
    const char* const line = placeOf(i, at);
    for (int64_t byte = 0; byte < bytes; byte += kLineBytes) __builtin_prefetch(line + byte, 1);
  }
}

void TapeWorker::keepRow(int index, const Position& at) {
  const Value& value = tape_.values[index];
  if (value.storage != Storage::row) return;
  const Operand from = operands_[index];
  const Operand to = operandAt(value, boundRows_ + value.offset);
  if (from.data == to.data) return;
  const int64_t size = value.byteLength;
  for (int64_t row = 0; row < (value.rows ? at.rows : 1); row++) {
    for (int64_t chunk = 0; chunk < (value.lanes ? at.chunks() : 1); chunk++) {
      std::memcpy(to.data + (row * to.rowStep + chunk * to.chunkStep) * size,
                  from.data + (row * from.rowStep + chunk * from.chunkStep) * size, kChunk * size);
    }
  }
  operands_[index] = to;
}

void TapeWorker::locate(int64_t linear, size_t first, size_t last, int64_t& rows, int64_t& valid) {
  for (size_t i = last; i-- > first;) {
    const Loop& loop = tape_.loops[i];
    const int64_t step = loop.count > 1 ? linear % loop.count : 0;
    if (loop.count > 1) linear /= loop.count;
    switch (loop.role) {
      case Role::unit:
        starts_[i] = step;
        break;
      case Role::lanes:
        starts_[i] = step * tape_.take;
        valid = std::min(tape_.take, loop.extent - starts_[i]) * tape_.inner;
        isTail_ = valid < tape_.width();
        break;
      case Role::rows:
        starts_[i] = step * tape_.rows;
        rows = std::min(tape_.rows, loop.extent - starts_[i]);
        break;
      case Role::shared:
        locateShared(i, step, rows, valid);
        break;
    }
  }
}

void TapeWorker::locateShared(size_t i, int64_t step, int64_t& rows, int64_t& valid) {
  const int64_t full = tape_.loops[i].extent / tape_.take;
  if (step * tape_.rows < full) {
    starts_[i] = step * tape_.rows * tape_.take;
    rows = std::min(tape_.rows, full - step * tape_.rows);
  } else {
    starts_[i] = full * tape_.take;
    rows = 1;
    valid = (tape_.loops[i].extent - starts_[i]) * tape_.inner;
    isTail_ = true;
  }
}

void TapeWorker::run(const Section& section, const Position& at, char* registers, bool isRow) {
  for (const Instruction& i : section) {
    if (i.code == Opcode::chain)
      runChain(i, at, registers);
    else if (!i.isOfColumns || (i.code == Opcode::load && reads_))
      runOne(i, at, registers, isRow);
    else if (i.columns)
      moveColumns(section, i, at, registers);
  }
}

void TapeWorker::moveColumns(const Section& section, const Instruction& i, const Position& at,
                             char* registers) {
  if (i.code == Opcode::load)
    loadColumns(tape_, section, *i.columns, at, job_->buffers, registers, operands_.data());
  else
    storeColumns(tape_, section, *i.columns, at, at.valid, operands_.data(), job_->buffers,
                 job_->streams(i.access.buffer));
}

void TapeWorker::runOne(const Instruction& i, const Position& at, char* registers, bool isRow) {
  const Operand* args[4];
  Operand& out = operands_[i.value];
  char* const memory = registers + i.offset;
  switch (i.code) {
    case Opcode::map:
    case Opcode::cast: {
      const Value& value = tape_.values[i.value];
      out = operandAt(value, memory);
      if (i.hasDirect) aimAtBuffer(i, at, out);
      if (i.prefetch >= 0) out.ahead = operands_[i.prefetch].ahead;
      if (i.loop) {
        runLoop(i, at, out, isRow);
        break;
      }
      for (int k = 0; k < i.argCount; k++) args[k] = &operands_[i.args[k]];
      i.function({value.rows ? at.rows : 1, value.lanes ? at.chunks() : 1}, out, args);
      // As an argument it is in a register.
      if (i.prefetch >= 0) out.ahead = {};
      break;
    }
    case Opcode::load:
      if (i.indexValue >= 0) {
        out = gather(tape_, i, at, job_->buffers, operands_[i.indexValue], job_->window, memory);
        break;
      }
      if (i.isKept && holds(i, at)) break;
      out = load(tape_, i, at, reads_ ? reads_->with(i, at) : job_->buffers, memory, !job_->isAliased,
                 ends_[i.value]);
      if (job_->isRepeated) out.ahead = {};
      break;
    case Opcode::index:
      out = index(tape_, i, at, memory);
      break;
    case Opcode::inside:
      out = inside(tape_, i, at, memory);
      break;
    case Opcode::reduce:
      if (i.monoid) {
        if (!i.isFollower) partials_.takeByMonoid(i, at, operands_.data());
        break;
      }
      for (int k = 0; k < i.argCount; k++) args[k] = &operands_[i.args[k]];
      partials_.take(i, at, isTail_, args, out);
      break;
    case Opcode::store:
      if (tape_.windowIndex >= 0) {
        storeInWindow(tape_, i.access, at, at.rows, isRow ? rowLanes(at) : at.valid, out,
                      operands_[tape_.windowIndex], job_->window, job_->buffers);
        break;
      }
      store(tape_, i.access, at, at.rows, isRow ? rowLanes(at) : at.valid, out, job_->buffers,
            job_->streams(i.access.buffer));
      break;
    case Opcode::chain:
      break;
  }
  if (isRow && boundRows_ != rows_ && i.code != Opcode::store) keepRow(i.value, at);
}

void TapeWorker::runLoop(const Instruction& i, const Position& at, const Operand& out, bool isRow) {
  const Value& value = tape_.values[i.value];
  std::vector<const Operand*> args;
  args.reserve(i.loopArgs.size());
  for (const int arg : i.loopArgs) args.push_back(&operands_[arg]);
  // Lanes of a value that does not vary along them are equal.
  const int64_t valid = value.lanes ? (isRow ? rowLanes(at) : at.valid) : kChunk;
  runElementLoop(*i.loop, i.nativeLoop.get(), i.loopResult,
                 {value.rows ? at.rows : 1, value.lanes ? at.chunks() : 1}, valid, out, args.data(), loops_);
}

Operand TapeWorker::operandAt(const Value& value, char* memory) const {
  return {memory, value.rows ? (value.lanes ? tape_.paddedWidth() : kChunk) : 0, value.lanes ? kChunk : 0};
}

void TapeWorker::runChain(const Instruction& instruction, const Position& at, char* registers) {
  const Chain& chain = *instruction.chain;
  BoundChain& bound = chains_[instruction.chainIndex];
  const Value& like = tape_.values[instruction.value];
  bool areInBuffers = true;
  for (const Instruction& i : chain.outputs) {
    Operand& out = operands_[i.value] = operandAt(like, registers + i.offset);
    if (i.hasDirect && !aimAtBuffer(i, at, out) && i.hasEdges) aimWithEdge(i, at, out);
    areInBuffers = areInBuffers && out.data != registers + i.offset;
  }
  if (bound.rows->run(like.rows ? at.rows : 1, like.lanes ? at.valid : 1, areInBuffers)) {
    for (const Instruction& i : chain.outputs) operands_[i.value].edges = {};
    return;
  }
  for (const int input : chain.inputs)
    copyEnds(operands_[input], ends_[input], at, tape_.values[input].byteLength);
  for (size_t r = 0; r < chain.reductions.size(); r++)
    bound.reduced[r] = operandAt(like, registers + chain.reductions[r].offset);
  const bool takes = !chain.reductions.empty() && takesGroups(like, at);
  bound.runner->run({like.rows ? at.rows : 1, like.lanes ? at.chunks() : 1}, takes,
                    tape_.laneKind != LaneKind::reduced);
  if (takes) return;
  for (size_t r = 0; r < chain.reductions.size(); r++) {
    const Operand* args[1] = {&bound.reduced[r]};
    partials_.take(chain.reductions[r], at, isTail_, args, operands_[chain.reductions[r].value]);
  }
}

bool TapeWorker::takesGroups(const Value& like, const Position& at) const {
  if (tape_.isSegmented() || !like.lanes || (!like.rows && at.rows > 1)) return false;
  return at.valid % kChunk == 0 || tape_.laneKind == LaneKind::parallel;
}

bool TapeWorker::holds(const Instruction& i, const Position& at) {
  const Kept now{baseOf(i.access.affine, at), at.rows, at.valid};
  Kept& last = kept_[i.value];
  if (last == now) return true;
  last = now;
  return false;
}

int64_t TapeWorker::rowLanes(const Position& at) const {
  return tape_.laneKind == LaneKind::both ? tape_.inner : at.valid;
}

bool TapeWorker::aimAtBuffer(const Instruction& i, const Position& at, Operand& out) const {
  if (job_->isAliased || at.valid % kChunk != 0) return false;
  char* const to = placeOf(i, at);
  const int64_t size = tape_.values[i.value].byteLength;
  const auto bits = reinterpret_cast<uintptr_t>(to) | static_cast<uintptr_t>(i.access.affine.row * size);
  out = {to, i.access.affine.row, kChunk, bits % kChunk == 0 && job_->streams(i.access.buffer)};
  return true;
}

void TapeWorker::aimWithEdge(const Instruction& i, const Position& at, Operand& out) const {
  if (job_->isAliased || at.chunks() < 2) return;
  const Edges edges{out.data, kEdgesOfRow, false, true};
  out = {placeOf(i, at), i.access.affine.row, kChunk, false, {}, edges};
}

char* TapeWorker::placeOf(const Instruction& i, const Position& at) const {
  char* const memory = static_cast<char*>(job_->buffers[i.access.buffer].data);
  return memory + baseOf(i.access.affine, at) * tape_.values[i.value].byteLength;
}

void TapeWorker::bindChains() {
  chains_.resize(tape_.chainCount);
  for (const Section& section : tape_.walks) {
    for (const Instruction& i : section) {
      if (!i.chain) continue;
      BoundChain& bound = chains_[i.chainIndex];
      bound.reduced.resize(i.chain->reductions.size());
      std::vector<ReduceState*> states;
      for (const Instruction& reduction : i.chain->reductions)
        states.push_back(&partials_.state(reduction.reduction));
      bound.runner.emplace(*i.chain, operands_.data(), bound.reduced.data(), std::move(states));
      bound.rows.emplace(*i.chain, operands_.data(), ends_.data(), tape_.chainCount == 1);
    }
  }
}

}  // namespace weft::cpu
