#include "cpu/element-step.h"

namespace weft::cpu {

size_t ElementStep::scratchBytes() const {
  size_t bytes = 0;
  for (const StepValue& value : values) bytes += kChunk * value.byteLength;
  return bytes;
}

StepRun::StepRun(const ElementStep& step, char* scratch)
    : step_(step),
      operands_(step.argumentBytes.size() + step.values.size(), Operand{nullptr, kChunk, kChunk}) {
  const size_t arguments = step.argumentBytes.size();
  for (size_t k = 0; k < step.values.size(); k++) {
    const StepValue& value = step.values[k];
    operands_[arguments + k].data =
        value.constant.empty() ? scratch : const_cast<char*>(value.constant.data());
    scratch += kChunk * value.byteLength;
    std::vector<const Operand*>& args = args_.emplace_back();
    for (const int at : value.args) args.push_back(&operands_[at]);
  }
}

void StepRun::run() {
  const size_t arguments = step_.argumentBytes.size();
  for (size_t k = 0; k < args_.size(); k++) {
    const StepValue& value = step_.values[k];
    if (value.function) value.function({1, 1}, operands_[arguments + k], args_[k].data());
  }
}

}  // namespace weft::cpu
