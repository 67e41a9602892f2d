// Steps: functions of lanes that are made of the ops of a tape, over one chunk at a time.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cpu/lanes.h"

namespace weft::cpu {

struct ElementLoop;

// A value of a step: a function of lanes, a state after a loop in the step, or a constant.
struct StepValue {
  DType dtype = DType::boolean;
  int byteLength = 0;
  // Of a function: the op, or none of a cast, and the dtype that it is found by.
  std::string op;
  DType from = DType::boolean;
  LaneFunction function = nullptr;
  // Whether its arguments are known to be whole numbers within small bounds (jit/bounded-loop.h).
  bool isBounded = false;
  std::shared_ptr<const ElementLoop> loop;
  int result = 0;
  // Positions: the step's arguments come first, then its values.
  std::vector<int> args;
  // A chunk of equal lanes.
  std::vector<char> constant;
};

// A step without loops.
struct ElementStep {
  // Bytes of an element of each argument.
  std::vector<int> argumentBytes;
  // The results, by position.
  std::vector<int> next;
  std::vector<StepValue> values;

  size_t scratchBytes() const;
};

// A step with memory for its values.
class StepRun {
 public:
  StepRun(const ElementStep& step, char* scratch);

  void setArgument(size_t k, const char* lanes) { operands_[k].data = const_cast<char*>(lanes); }
  void run();
  const char* result(size_t k) const { return operands_[step_.next[k]].data; }

 private:
  const ElementStep& step_;
  // Lanes of arguments and values.
  std::vector<Operand> operands_;
  std::vector<std::vector<const Operand*>> args_;
};

}  // namespace weft::cpu
