// Compiles loops of elements: which codes one has, by the ranges of its arguments.
#include <atomic>
#include <optional>
#include <utility>

#include "cpu/jit/bounded-loop.h"
#include "cpu/jit/loop-compiler.h"
#include "cpu/jit/loop-plan.h"
#include "cpu/jit/narrow-value.h"

namespace weft::cpu::jit {
namespace {

// Bytes of lanes of int32.
constexpr int kNarrowBytes = 4;

std::atomic<bool> isCodeAllowed{true};

// Whether elements have an argument of their own, whose range may be that of small numbers instead of all.
bool mayBeSmall(DType dtype, const char* constant) {
  return !constant && dtype != DType::boolean && dtype != DType::uint64;
}

// Of what elements have: small whole numbers, and positive ones that others are divided by if that is wanted.
// Unknown of constants, and of what may not be small.
std::vector<Range> smallArguments(const ElementLoop& loop, const std::vector<const char*>& constants,
                                  int64_t most, bool areDivisorsPositive) {
  const std::vector<bool> divide = divisorsOf(loop);
  std::vector<Range> ranges(constants.size());
  for (size_t k = 0; k < constants.size(); k++)
    if (mayBeSmall(loop.dtypes[k], constants[k])) {
      // States that divide are tested by the loop.
      const bool isPositive = areDivisorsPositive && divide[k] && k >= loop.next.size();
      ranges[k] = wholeRange(isPositive ? 1 : 0, most);
    }
  return ranges;
}

// Of constants, and of what elements have, anything where that is unknown.
std::vector<Range> argumentRanges(const ElementLoop& loop, const std::vector<const char*>& constants,
                                  std::vector<Range> ranges) {
  for (size_t k = 0; k < constants.size(); k++)
    if (!ranges[k].isKnown)
      ranges[k] = constants[k] ? rangeOfConstant(loop.dtypes[k], constants[k]) : rangeOf(loop.dtypes[k]);
  return ranges;
}

// The loop with all numbers as int32, for arguments in some ranges, which reach as far as may be.
struct NarrowLoop {
  std::shared_ptr<const ElementLoop> loop;
  std::vector<Range> arguments;
};
std::optional<NarrowLoop> narrowLoop(const ElementLoop& loop, const std::vector<const char*>& constants) {
  if (!mayBeNarrow(loop)) return std::nullopt;
  for (const int64_t most : {kMostSmall, 1 << 16, 1 << 12, 1 << 10, 1 << 8}) {
    std::vector<Range> arguments = smallArguments(loop, constants, most, true);
    BoundedLoop made = boundedLoop(loop, argumentRanges(loop, constants, arguments), true);
    if (made.loop && laneBytesOf(*made.loop) == kNarrowBytes)
      return NarrowLoop{std::move(made.loop), std::move(arguments)};
  }
  return std::nullopt;
}

}  // namespace

bool compilesLoops() { return hasVectorCode() && isCodeAllowed && hasExecutableMemory(); }

void allowLoopCode(bool isAllowed) { isCodeAllowed = isAllowed; }

std::shared_ptr<const NativeLoop> compileLoop(std::shared_ptr<const ElementLoop> loop, int result,
                                              const std::vector<const char*>& constants) {
  const int laneBytes = laneBytesOf(*loop);
  if (laneBytes == 0 || !compilesLoops()) return nullptr;
  const auto compiled = [&](std::shared_ptr<const ElementLoop> made) {
    return makeLoopCode(std::move(made), result, loop->dtypes, constants);
  };
  const auto argumentsIn = [&](std::vector<Range> ranges) {
    return argumentRanges(*loop, constants, std::move(ranges));
  };
  const BoundedLoop bounded = boundedLoop(*loop, argumentsIn(std::vector<Range>(constants.size())), false);
  if (!bounded.loop) return compiled(loop);
  const auto native = compiled(bounded.loop);
  if (!native) return native;
  if (native->laneBytes() > kNarrowBytes)
    if (auto narrow = narrowLoop(*loop, constants))
      if (const auto made = compiled(narrow->loop))
        native->addSmall(LoopForm::narrow, made, std::move(narrow->arguments));
  std::vector<Range> arguments = smallArguments(*loop, constants, kMostSmall, false);
  const BoundedLoop small = boundedLoop(*loop, argumentsIn(arguments), false);
  if (small.changes > bounded.changes)
    if (const auto made = compiled(small.loop))
      native->addSmall(LoopForm::bounded, made, std::move(arguments));
  return native;
}

}  // namespace weft::cpu::jit
