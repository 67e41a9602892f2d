#include "cpu/chain-step-parse.h"

#include "cpu/cpu.h"

namespace weft::cpu {

StepFunction chainFunction(const Registry& registry, const std::string& name, DType type) {
  const StepFunction found = registry.step(name.c_str(), type);
  if (found.narrow.run) return found;
  // An op of one argument without a step of its own.
  const LaneFunction function = registry.op(name.c_str(), type);
  if (!function) malformed("no step " + name + " of dtype " + std::to_string(static_cast<int>(type)));
  StepFunction call = registry.step("function", type);
  call.fixed = reinterpret_cast<void*>(function);
  return call;
}

Chain::Step readChainStep(TapeWords& words, const Registry& registry, const Chain& chain) {
  const std::string& name = words.op();
  Chain::Step out{name, chainFunction(registry, name, chain.dtype), name == "prefetch"};
  out.placeCount = static_cast<int>(words.next(0, 3, "number of operands"));
  if (out.placeCount != out.function.operands) malformed("operands of step " + name);
  const int64_t counts[] = {static_cast<int64_t>(chain.inputs.size()), chain.slots,
                            static_cast<int64_t>(chain.outputs.size()),
                            static_cast<int64_t>(chain.reductions.size())};
  for (int i = 0; i < out.placeCount; i++) {
    const int64_t kind = words.next(0, kChainOperandKinds - 1, "kind of operand");
    out.places[i] = {static_cast<ChainOperandKind>(kind),
                     static_cast<int>(words.next(0, counts[kind] - 1, "operand"))};
  }
  return out;
}

void joinArithmetic(const Registry& registry, Chain& chain) {
  const StepFunction join = registry.step("load and arithmetic", chain.dtype);
  if (!join.narrow.run) return;
  const StepFunction load = chainFunction(registry, "load", chain.dtype);
  for (size_t first = 0; first < chain.steps.size(); first++) {
    if (chain.steps[first].function.narrow.run != load.narrow.run) continue;
    const ChainOperand loaded = chain.steps[first].places[0];
    bool isTaken = false;
    size_t end = first + 1;
    for (; chain.steps[end].function.arithmetic != Arithmetic::none; end++)
      isTaken = isTaken || chain.steps[end].places[0] == loaded;
    if (!isTaken) continue;
    chain.steps[first].function = join;
    for (size_t s = first + 1; s < end; s++) chain.steps[s].arithmetic = chain.steps[s].function.arithmetic;
  }
}

}  // namespace weft::cpu
