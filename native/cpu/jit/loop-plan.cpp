#include "cpu/jit/loop-plan.h"

#include <algorithm>
#include <utility>

namespace weft::cpu::jit {
namespace {

// The positions that some states after a loop depend on.
std::vector<bool> neededBy(const ElementLoop& loop, const std::vector<bool>& results) {
  const auto arguments = static_cast<int>(loop.argumentBytes.size());
  const auto states = static_cast<int>(loop.next.size());
  std::vector<bool> needed(arguments + loop.values.size());
  std::vector<int> open{loop.condition};
  for (int k = 0; k < states; k++)
    if (results[k]) open.push_back(k);
  while (!open.empty()) {
    const int at = open.back();
    open.pop_back();
    if (needed[at]) continue;
    needed[at] = true;
    if (at < arguments) {
      if (at < states) open.push_back(loop.next[at]);
      continue;
    }
    const StepValue& value = loop.values[at - arguments];
    std::vector<bool> given(value.args.size(), true);
    if (value.loop) {
      std::vector<bool> inner(value.loop->next.size());
      inner[value.result] = true;
      given = neededBy(*value.loop, inner);
    }
    for (size_t k = 0; k < value.args.size(); k++)
      if (given[k]) open.push_back(value.args[k]);
  }
  return needed;
}

bool isEqual(const ElementLoop& a, const ElementLoop& b);

bool isEqual(const StepValue& a, const StepValue& b) {
  return a.op == b.op && a.dtype == b.dtype && a.from == b.from && a.isBounded == b.isBounded &&
         a.args == b.args && a.constant == b.constant && a.result == b.result && !a.loop == !b.loop &&
         (!a.loop || isEqual(*a.loop, *b.loop));
}

bool isEqual(const ElementLoop& a, const ElementLoop& b) {
  return a.dtypes == b.dtypes && a.next == b.next && a.condition == b.condition &&
         a.conditionLength == b.conditionLength &&
         std::equal(a.values.begin(), a.values.end(), b.values.begin(), b.values.end(),
                    [](const StepValue& x, const StepValue& y) { return isEqual(x, y); });
}

bool areLanes(const ElementLoop& loop, int laneBytes) {
  const auto is = [&](DType dtype) {
    return isLaneDType(dtype) && kElementBytes[static_cast<int>(dtype)] <= laneBytes;
  };
  return std::all_of(loop.dtypes.begin(), loop.dtypes.end(), is) &&
         std::all_of(loop.values.begin(), loop.values.end(), [&](const StepValue& value) {
           return is(value.dtype) && is(value.from) && (!value.loop || areLanes(*value.loop, laneBytes));
         });
}

// Whether remainders of integers are computed that doubles are needed for.
bool hasRemainderOf32(const ElementLoop& loop) {
  return std::any_of(loop.values.begin(), loop.values.end(), [](const StepValue& value) {
    if (value.loop) return hasRemainderOf32(*value.loop);
    const bool isOf32 = value.from == DType::int32 || value.from == DType::uint32;
    return value.op == "remainder" && isOf32 && !value.isBounded;
  });
}

}  // namespace

VectorOp instructionOf(const StepValue& value, const VectorCode& code) {
  if (value.isBounded) return boundedOp(value.op, value.from, value.dtype, code);
  if (value.op.empty()) return vectorCast(value.from, value.dtype, code);
  return vectorOp(value.op.c_str(), value.from, code);
}

int laneBytesOf(const ElementLoop& loop) {
  for (const int laneBytes : {hasRemainderOf32(loop) ? 8 : 4, 8})
    if (areLanes(loop, laneBytes)) return laneBytes;
  return 0;
}

LoopPlan::LoopPlan(const ElementLoop& made, std::vector<bool> read, const VectorCode& code)
    : loop(made), results(std::move(read)), needed(neededBy(made, results)) {
  const auto test = static_cast<int>(loop.conditionLength), all = static_cast<int>(loop.values.size());
  for (int k = 0; k < test; k++) add(k, code);
  stretch().updatesMask = true;
  for (int k = test; k < all; k++) add(k, code);
  stretch().updatesStates = true;
  for (LoopPart& part : parts) {
    if (part.kind != LoopPart::Kind::loop) continue;
    const StepValue& first = loop.values[part.values[0]];
    std::vector<bool> inner(first.loop->next.size());
    for (const int k : part.values) inner[loop.values[k].result] = true;
    part.inner = std::make_unique<LoopPlan>(*first.loop, std::move(inner), code);
  }
}

// The instructions that the next ones follow.
LoopPart& LoopPlan::stretch() {
  if (parts.empty() || parts.back().kind != LoopPart::Kind::instructions)
    parts.push_back({LoopPart::Kind::instructions, {}});
  return parts.back();
}

void LoopPlan::add(int k, const VectorCode& code) {
  const StepValue& value = loop.values[k];
  if (!needed[arguments() + k] || !value.constant.empty()) return;
  if (!value.loop) {
    if (instructionOf(value, code).emit) return stretch().values.push_back(k);
    return parts.push_back({LoopPart::Kind::call, {k}});
  }
  // Several states after one loop are the results of equal loops.
  for (LoopPart& part : parts) {
    if (part.kind != LoopPart::Kind::loop) continue;
    const StepValue& first = loop.values[part.values[0]];
    if (first.args == value.args && isEqual(*first.loop, *value.loop)) return part.values.push_back(k);
  }
  parts.push_back({LoopPart::Kind::loop, {k}});
}

bool LoopPlan::hasCalls() const {
  return std::any_of(parts.begin(), parts.end(), [](const LoopPart& part) {
    return part.kind == LoopPart::Kind::call || (part.inner && part.inner->hasCalls());
  });
}

LoopPart LoopPlan::test() const {
  LoopPart part{LoopPart::Kind::instructions, {}, true};
  for (const int k : parts[0].values)
    if (k < static_cast<int>(loop.conditionLength)) part.values.push_back(k);
  return part;
}

LoopPart LoopPlan::body() const {
  std::vector<bool> isRead(needed.size());
  for (int k = 0; k < states(); k++)
    if (needed[k]) isRead[loop.next[k]] = true;
  LoopPart part{LoopPart::Kind::instructions, {}, false, true};
  const std::vector<int>& all = parts[0].values;
  for (auto k = all.rbegin(); k != all.rend(); ++k) {
    if (!isRead[arguments() + *k]) continue;
    for (const int arg : loop.values[*k].args) isRead[arg] = true;
    part.values.insert(part.values.begin(), *k);
  }
  return part;
}

int LoopPlan::instructions() const {
  size_t count = 0;
  for (const LoopPart& part : parts)
    if (part.kind == LoopPart::Kind::instructions) count += part.values.size();
  return static_cast<int>(count);
}

}  // namespace weft::cpu::jit
