#include "cpu/element-step-parse.h"

#include <algorithm>
#include <cstring>

#include "cpu/cpu.h"

namespace weft::cpu {
namespace {

class StepReader {
 public:
  StepReader(TapeWords& words, const Registry& registry) : words_(words), registry_(registry) {}

  ReadLoop elementLoop() {
    auto loop = std::make_shared<ElementLoop>();
    std::vector<DType> dtypes(words_.next(1, 1 << 20, "arguments of a loop"));
    for (DType& each : dtypes) each = words_.dtype();
    const size_t arguments = dtypes.size();
    loop->dtypes = dtypes;
    for (const DType each : dtypes) loop->argumentBytes.push_back(byteLengthOf(each));
    loop->next.resize(words_.next(1, static_cast<int64_t>(arguments), "states of a loop"));
    for (int& at : loop->next) at = static_cast<int>(words_.next(0, kMany, "state of a loop"));
    loop->condition = static_cast<int>(words_.next(0, kMany, "condition of a loop"));
    loop->conditionLength = words_.next(0, kMany, "condition of a loop");
    const int64_t values = words_.next(0, 1 << 20, "values of a loop");
    for (int64_t k = 0; k < values; k++) loop->values.push_back(stepValue(dtypes));
    const auto is = [&](int at, DType dtype) {
      return at < static_cast<int>(dtypes.size()) && dtypes[at] == dtype;
    };
    for (size_t k = 0; k < loop->next.size(); k++)
      if (!is(loop->next[k], dtypes[k])) malformed("state of a loop");
    if (!is(loop->condition, DType::boolean) || loop->conditionLength > loop->values.size() ||
        loop->condition >= static_cast<int>(arguments + loop->conditionLength))
      malformed("condition of a loop");
    const size_t states = loop->next.size();
    completeLoop(*loop);
    dtypes.resize(arguments);
    return {std::move(loop), std::move(dtypes), states};
  }

  Monoid monoid() {
    Monoid monoid;
    std::vector<DType> dtypes(words_.next(1, 1 << 10, "parts of a monoid"));
    for (DType& each : dtypes) each = words_.dtype();
    const size_t parts = dtypes.size();
    for (const DType each : dtypes) {
      const int bytes = byteLengthOf(each);
      monoid.partBytes.push_back(bytes);
      monoid.moves.push_back(&registry_.moves(bytes));
      const std::vector<char> chunk = constantChunk(bytes);
      monoid.identity.insert(monoid.identity.end(), chunk.begin(), chunk.end());
    }
    dtypes.insert(dtypes.end(), dtypes.begin(), dtypes.begin() + parts);
    ElementStep& step = monoid.combine;
    for (const DType each : dtypes) step.argumentBytes.push_back(byteLengthOf(each));
    const int64_t values = words_.next(0, 1 << 20, "values of a monoid");
    for (int64_t k = 0; k < values; k++) {
      step.values.push_back(stepValue(dtypes));
      if (step.values.back().loop) malformed("a loop in a monoid");
    }
    for (size_t k = 0; k < parts; k++) {
      step.next.push_back(static_cast<int>(words_.next(0, kMany, "result of a monoid")));
      if (step.next[k] >= static_cast<int>(dtypes.size()) || dtypes[step.next[k]] != dtypes[k])
        malformed("result of a monoid");
    }
    return monoid;
  }

 private:
  // How states move on.
  void completeLoop(ElementLoop& loop) {
    loop.conjunction = registry_.op("logicalAnd", DType::boolean);
    for (size_t k = 0; k < loop.next.size(); k++) {
      loop.choices.push_back(choiceOf(loop.argumentBytes[k]));
      const int at = loop.next[k];
      const auto value = at - static_cast<int64_t>(loop.argumentBytes.size());
      // Not computed anew in each step.
      const bool stays = value < 0 || !loop.values[value].constant.empty();
      loop.keeps.push_back(stays || std::count(loop.next.begin(), loop.next.end(), at) > 1);
    }
  }

  // A choice between elements of a size, whatever they are.
  LaneFunction choiceOf(int byteLength) {
    switch (byteLength) {
      case 1:
        return registry_.op("where", DType::uint8);
      case 2:
        return registry_.op("where", DType::uint16);
      case 4:
        return registry_.op("where", DType::uint32);
      case 8:
        return registry_.op("where", DType::uint64);
      default:
        return registry_.op("where", DType::complex128);
    }
  }

  // A value of a step; `dtypes` are those of arguments and values before it.
  StepValue stepValue(std::vector<DType>& dtypes) {
    StepValue out;
    const int64_t kind = words_.next(0, 3, "value of a loop");
    const DType result = words_.dtype();
    out.dtype = result;
    out.byteLength = byteLengthOf(result);
    if (kind == 3) {
      out.constant = constantChunk(out.byteLength);
      dtypes.push_back(result);
      return out;
    }
    const int64_t count = words_.next(1, kind == 2 ? 1 << 20 : 3, "arguments in a loop");
    for (int64_t k = 0; k < count; k++)
      out.args.push_back(
          static_cast<int>(words_.next(0, static_cast<int64_t>(dtypes.size()) - 1, "argument in a loop")));
    if (kind == 2) {
      out.result = static_cast<int>(words_.next(0, kMany, "result of a loop"));
      const ReadLoop inner = elementLoop();
      out.loop = inner.made;
      if (out.result >= static_cast<int>(inner.states) || inner.dtypes[out.result] != result ||
          inner.dtypes.size() != out.args.size())
        malformed("loop in a loop");
      for (size_t k = 0; k < inner.dtypes.size(); k++)
        if (dtypes[out.args[k]] != inner.dtypes[k]) malformed("dtype of a loop's argument");
    } else {
      if (kind == 0) out.op = words_.op();
      out.from = words_.dtype();
      out.function = kind == 0 ? registry_.op(out.op.c_str(), out.from) : registry_.cast(out.from, result);
      if (!out.function) malformed("no function " + out.op + " in a loop");
      if (dtypes[out.args.back()] != out.from) malformed("dtype of an argument in a loop");
    }
    dtypes.push_back(result);
    return out;
  }

  // A chunk of lanes that are all one element, which stands in words of 32 bits.
  std::vector<char> constantChunk(int byteLength) {
    uint32_t element[kConstantBytes / sizeof(uint32_t)];
    for (uint32_t& word : element) word = static_cast<uint32_t>(words_.next(0, UINT32_MAX, "constant"));
    std::vector<char> chunk(kChunk * byteLength);
    for (int64_t l = 0; l < kChunk; l++) std::memcpy(chunk.data() + l * byteLength, element, byteLength);
    return chunk;
  }

  TapeWords& words_;
  const Registry& registry_;
};

}  // namespace

ReadLoop readElementLoop(TapeWords& words, const Registry& registry) {
  return StepReader(words, registry).elementLoop();
}

Monoid readMonoid(TapeWords& words, const Registry& registry) { return StepReader(words, registry).monoid(); }

}  // namespace weft::cpu
