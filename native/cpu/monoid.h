// Reductions by monoids of the user's own: functions of lanes that combine two accumulators of several parts,
// the earlier one first. Elements keep their order.
//
// `element-step-parse.cpp` reads them, `tape-worker.cpp` runs them where the instruction stands.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "cpu/element-step.h"
#include "cpu/lanes.h"

namespace weft::cpu {

struct Monoid {
  // Bytes of an element of each part.
  std::vector<int> partBytes;
  // A chunk of the identity for each part, one after the other: a node, as results are kept.
  std::vector<char> identity;
  // Of the parts of two accumulators.
  ElementStep combine;
  std::vector<const MoveFunctions*> moves;

  int64_t nodeByteLength() const { return static_cast<int64_t>(identity.size()); }
  size_t scratchBytes() const;
};

// Runs a reduction on a block: `args` are its parts. Partial results are nodes of chunks, in the memory of
// `state`.
class MonoidRun {
 public:
  MonoidRun(const Monoid& monoid, char* scratch);

  void reset(ReduceState& state) const;
  // One accumulator for each chunk of a row; rows are steps.
  void columns(ReduceState& state, Extent extent, const Operand* const* args);
  // One accumulator, of each row's first `valid` lanes, row after row.
  void lanes(ReduceState& state, Extent extent, int64_t valid, const Operand* const* args);
  // Completes state.node.
  void close(ReduceState& state);
  // Adds from.node to the tree of `into`.
  void push(ReduceState& into, const ReduceState& from);
  // Writes a part of the result: of one accumulator of lanes, to all lanes.
  void finish(const ReduceState& state, bool isOne, int part, char* out) const;

 private:
  char* partOf(char* node, size_t part) const;
  void combine(char* into, const char* a, const char* b);
  void carry(ReduceState& state, int64_t accumulator, char* node);
  void run(ReduceState& state, const Operand* const* args, int64_t row, int64_t first, int64_t count);
  void fetch(char* node, const Operand* const* args, int64_t row, int64_t first, int64_t count,
             int64_t every);
  void meet(int64_t lanes);

  const Monoid& monoid_;
  const size_t parts_;
  StepRun step_;
  // Nodes: of a run of elements, of its next ones, and of lanes that meet.
  char* own_;
  char* next_;
  char* carried_;
};

}  // namespace weft::cpu
