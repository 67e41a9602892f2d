// The code of a stretch of a loop's step for one vector of lanes: values in registers, by the order of their
// next uses; where registers are used up, the one that is read last is kept in memory.
#pragma once
#include <functional>
#include <vector>

#include "cpu/jit/loop-plan.h"

namespace weft::cpu::jit {

// Where the numbers of a vector are that come from outside of the stretch, or go there.
struct StretchLocations {
  std::function<VectorOperand(int position)> at;
  VectorOperand mask;
  // The register that the masks of all vectors are added up in.
  int sum;
};

// Of values in memory while a stretch runs: bytes from the base, for one vector after the other.
struct Spills {
  int32_t first;
  // Those of the vector at hand, and the most.
  int32_t used = 0, count = 0;
};

// A partial instruction: the code goes to `call` where lanes of the loop are outside of it, for the function
// on the whole vector, and then on at `back`.
struct PartialSite {
  const StepValue* value;
  std::vector<VectorOperand> args;
  int out;
  Label call, back;
};

class StretchCode {
 public:
  // `isRead`: of each position, whether a later part reads it. `free`: registers.
  StretchCode(VectorCode& to, const LoopPlan& plan, const LoopPart& part, const std::vector<bool>& isRead,
              const std::vector<int>& free, Spills& spills, std::vector<PartialSite>& sites);

  void emit(const StretchLocations& locations);

 private:
  struct Local {
    int reg = -1;
    bool isSpilled = false;
    VectorOperand spill;
    // Instructions that read it.
    std::vector<int> uses;
    size_t used = 0;
  };
  static constexpr int kNobody = -1, kTaken = -2;

  void count();
  void use(int position, int at);
  Local* localAt(int position);
  VectorOperand operand(int position);
  // A register for a local, or for what has none.
  int allocate(int owner);
  void spill(int reg);
  VectorOperand spillSlot();
  void release(int position);
  // The position among the part's values that the mask is updated before.
  int maskAt() const;
  void instruction(int value);
  void complete(const StepValue& value, int out, const VectorOperand* args);
  void updateMask();
  void updateStates();
  void updateState(int state, VectorOperand from);

  VectorCode& to_;
  const LoopPlan& plan_;
  const LoopPart& part_;
  const std::vector<bool>& isRead_;
  const std::vector<int>& free_;
  Spills& spills_;
  std::vector<PartialSite>& sites_;
  const StretchLocations* locations_ = nullptr;
  // The mask, in a register while states are chosen by it.
  VectorOperand mask_;
  std::vector<Local> locals_;
  std::vector<int> localOf_;
  // The local of each register, and whether the instruction at hand reads it.
  std::vector<int> owner_;
  std::vector<bool> isLocked_;
};

}  // namespace weft::cpu::jit
