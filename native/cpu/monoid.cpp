#include "cpu/monoid.h"

#include <algorithm>
#include <cstring>

namespace weft::cpu {
namespace {

// Nodes of a run's elements, of the next ones, of one that is carried up, and results that are arguments.
constexpr size_t kNodes = 4;

}  // namespace

size_t Monoid::scratchBytes() const { return combine.scratchBytes() + kNodes * identity.size(); }

MonoidRun::MonoidRun(const Monoid& monoid, char* scratch)
    : monoid_(monoid),
      parts_(monoid.partBytes.size()),
      step_(monoid.combine, scratch),
      own_(scratch + monoid.combine.scratchBytes()),
      next_(own_ + monoid.identity.size()),
      carried_(next_ + monoid.identity.size()) {}

char* MonoidRun::partOf(char* node, size_t part) const {
  for (size_t k = 0; k < part; k++) node += kChunk * monoid_.partBytes[k];
  return node;
}

// `into` may be one of the two.
void MonoidRun::combine(char* into, const char* a, const char* b) {
  const auto part = [&](const char* node, size_t k) { return partOf(const_cast<char*>(node), k); };
  for (size_t k = 0; k < parts_; k++) {
    step_.setArgument(k, part(a, k));
    step_.setArgument(parts_ + k, part(b, k));
  }
  step_.run();
  // A result that is an argument is read before that is written.
  char* const results = carried_ + monoid_.identity.size();
  const auto isArgument = [&](size_t k) { return monoid_.combine.next[k] < static_cast<int>(2 * parts_); };
  for (size_t k = 0; k < parts_; k++)
    if (isArgument(k)) std::memcpy(part(results, k), step_.result(k), kChunk * monoid_.partBytes[k]);
  for (size_t k = 0; k < parts_; k++)
    std::memcpy(part(into, k), isArgument(k) ? part(results, k) : step_.result(k),
                kChunk * monoid_.partBytes[k]);
}

void MonoidRun::reset(ReduceState& state) const {
  const int64_t bytes = monoid_.nodeByteLength();
  for (int64_t a = 0; a < state.accumulators; a++)
    std::memcpy(state.leaf + a * bytes, monoid_.identity.data(), bytes);
  state.steps = 0;
  state.leaves = 0;
}

// Like a carry into a binary counter.
void MonoidRun::carry(ReduceState& state, int64_t accumulator, char* node) {
  const int64_t bytes = monoid_.nodeByteLength();
  const auto level = [&](int64_t k) { return state.levels + (k * state.accumulators + accumulator) * bytes; };
  int64_t k = 0;
  for (; (state.leaves >> k) & 1; k++) combine(node, level(k), node);
  std::memcpy(level(k), node, bytes);
}

void MonoidRun::columns(ReduceState& state, Extent extent, const Operand* const* args) {
  const int64_t bytes = monoid_.nodeByteLength();
  for (int64_t row = 0; row < extent.rows; row++) {
    for (int64_t chunk = 0; chunk < extent.chunks; chunk++) {
      for (size_t k = 0; k < parts_; k++) {
        const Operand& x = *args[k];
        std::memcpy(partOf(next_, k), x.data + (row * x.rowStep + chunk * x.chunkStep) * monoid_.partBytes[k],
                    kChunk * monoid_.partBytes[k]);
      }
      combine(state.leaf + chunk * bytes, state.leaf + chunk * bytes, next_);
    }
    if (++state.steps < kLeafSteps) continue;
    for (int64_t a = 0; a < state.accumulators; a++) carry(state, a, state.leaf + a * bytes);
    const int64_t leaves = state.leaves + 1;
    reset(state);
    state.leaves = leaves;
  }
}

void MonoidRun::lanes(ReduceState& state, Extent extent, int64_t valid, const Operand* const* args) {
  constexpr int64_t kRun = kChunk * kLeafSteps;
  for (int64_t row = 0; row < extent.rows; row++)
    for (int64_t first = 0; first < valid; first += kRun)
      run(state, args, row, first, std::min(kRun, valid - first));
}

// Neighbouring elements are one lane's: each lane goes along its own, then lanes meet.
void MonoidRun::run(ReduceState& state, const Operand* const* args, int64_t row, int64_t first,
                    int64_t count) {
  const int64_t steps = (count + kChunk - 1) / kChunk;
  fetch(own_, args, row, first, count, steps);
  for (int64_t k = 1; k < steps; k++) {
    fetch(next_, args, row, first + k, count - k, steps);
    combine(own_, own_, next_);
  }
  meet((count + steps - 1) / steps);
  carry(state, 0, own_);
  state.leaves++;
}

// Every so manieth element of a row from one on, into a lane each; the identity behind the end.
void MonoidRun::fetch(char* node, const Operand* const* args, int64_t row, int64_t first, int64_t count,
                      int64_t every) {
  const int64_t lanes = count <= 0 ? 0 : (count + every - 1) / every;
  if (lanes < kChunk) std::memcpy(node, monoid_.identity.data(), monoid_.identity.size());
  for (size_t k = 0; k < parts_; k++) {
    const Operand& x = *args[k];
    const int64_t size = monoid_.partBytes[k];
    const char* const data = x.data + row * x.rowStep * size;
    char* const to = partOf(node, k);
    // Lanes of a chunk that is repeated are equal.
    const bool isRow = x.chunkStep == kChunk;
    monoid_.moves[k]->gather(to, isRow ? data + first * size : data, lanes, isRow ? every : 0);
  }
}

// Lanes meet with their neighbours until there is one.
void MonoidRun::meet(int64_t lanes) {
  for (; lanes > 1; lanes = (lanes + 1) / 2) {
    const int64_t pairs = lanes / 2;
    std::memcpy(next_, monoid_.identity.data(), monoid_.identity.size());
    for (size_t k = 0; k < parts_; k++) {
      const int64_t size = monoid_.partBytes[k];
      char* const from = partOf(own_, k);
      monoid_.moves[k]->gather(partOf(next_, k), from + size, pairs, 2);
      monoid_.moves[k]->gather(partOf(carried_, k), from, lanes - pairs, 2);
      std::memcpy(from, partOf(carried_, k), (lanes - pairs) * size);
    }
    combine(own_, own_, next_);
  }
}

void MonoidRun::close(ReduceState& state) {
  const int64_t bytes = monoid_.nodeByteLength();
  for (int64_t a = 0; a < state.accumulators; a++) {
    char* const node = state.node + a * bytes;
    std::memcpy(node, state.leaf + a * bytes, bytes);
    for (int64_t k = 0; state.leaves >> k; k++)
      if ((state.leaves >> k) & 1) combine(node, state.levels + (k * state.accumulators + a) * bytes, node);
  }
}

void MonoidRun::push(ReduceState& into, const ReduceState& from) {
  const int64_t bytes = monoid_.nodeByteLength();
  for (int64_t a = 0; a < into.accumulators; a++) {
    std::memcpy(carried_, from.node + a * bytes, bytes);
    carry(into, a, carried_);
  }
  into.leaves++;
}

void MonoidRun::finish(const ReduceState& state, bool isOne, int part, char* out) const {
  const int64_t size = monoid_.partBytes[part];
  const int64_t bytes = monoid_.nodeByteLength();
  if (isOne) {
    const char* const value = partOf(state.node, part);
    for (int64_t l = 0; l < kChunk; l++) std::memcpy(out + l * size, value, size);
    return;
  }
  for (int64_t a = 0; a < state.accumulators; a++)
    std::memcpy(out + a * kChunk * size, partOf(state.node + a * bytes, part), kChunk * size);
}

}  // namespace weft::cpu
