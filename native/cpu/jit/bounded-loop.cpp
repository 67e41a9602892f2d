#include "cpu/jit/bounded-loop.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace weft::cpu::jit {
namespace {

// Rounds that states are joined in before their bounds are widened, and those that narrow them afterwards.
constexpr int kJoins = 3, kNarrowings = 3;
// Values of steps that are looked at in all. Loops within loops take a few rounds for each of those around.
constexpr int kMostWork = 200000;

class LoopRanges {
 public:
  LoopRanges(const ElementLoop& loop, const std::vector<Range>& arguments, int& work)
      : loop_(loop), before_(arguments), arguments_(arguments.size()), work_(work) {
    at_ = arguments;
    at_.resize(arguments_ + loop.values.size());
    solve();
  }

  Range state(int k) const { return at_[k]; }

  // The loop with ranges known.
  BoundedLoop bounded() {
    auto made = std::make_shared<ElementLoop>(loop_);
    BoundedLoop out;
    std::vector<int> same(at_.size());
    for (size_t k = 0; k < same.size(); k++) same[k] = static_cast<int>(k);
    visit([&](size_t k) {
      StepValue& value = made->values[k];
      const std::vector<Range> args = rangesOf(loop_.values[k]);
      for (int& arg : value.args) arg = same[arg];
      if (value.loop) {
        const BoundedLoop inner = LoopRanges(*value.loop, args, work_).bounded();
        value.loop = inner.loop;
        out.changes += inner.changes;
        return;
      }
      const int other = sameAs(value, args);
      if (other >= 0) same[arguments_ + k] = value.args[other];
      value.isBounded = other < 0 && isBounded(value, args);
      out.changes += other >= 0 || value.isBounded;
    });
    for (int& at : made->next) at = same[at];
    made->condition = same[made->condition];
    out.loop = std::move(made);
    return out;
  }

 private:
  // ------------------------------------------------------------------------------------------------- states

  void solve() {
    const auto states = loop_.next.size();
    for (int round = 0;; round++) {
      const std::vector<Range> next = step();
      bool isStable = true;
      for (size_t k = 0; k < states; k++) {
        const Range joined = join(at_[k], next[k]);
        if (joined == at_[k]) continue;
        isStable = false;
        at_[k] = round < kJoins ? joined : widened(loop_.dtypes[k], at_[k], joined);
      }
      if (isStable) break;
    }
    for (int round = 0; round < kNarrowings; round++) {
      const std::vector<Range> next = step();
      for (size_t k = 0; k < states; k++) at_[k] = join(before_[k], next[k]);
    }
  }

  // Bounds that change become those of 31 bits, then those of the dtype, so that they change no more.
  static Range widened(DType dtype, Range before, Range joined) {
    constexpr int64_t kSmall = INT32_MAX;
    const Range all = rangeOf(dtype);
    if (!joined.isKnown) return all;
    if (joined.least < before.least && joined.least >= -kSmall)
      joined.least = std::max<int64_t>(-kSmall, all.isKnown ? all.least : -kSmall);
    else if (joined.least < before.least)
      return all;
    if (joined.most > before.most && joined.most <= kSmall)
      joined.most = kSmall;
    else if (joined.most > before.most)
      return all;
    return joined;
  }

  // The next states.
  std::vector<Range> step() {
    visit([](size_t) {});
    std::vector<Range> next;
    for (const int at : loop_.next) next.push_back(inStep_[at]);
    return next;
  }

  // ------------------------------------------------------------------------------------------------- values

  // Calls fn with each value, whose arguments' ranges are known then: those of the condition for all lanes,
  // the others where it holds.
  template <typename F>
  void visit(F&& fn) {
    inStep_ = at_;
    const size_t test = loop_.conditionLength;
    for (size_t k = 0; k < test; k++) evaluate(k, fn);
    assume(loop_.condition, true);
    for (size_t k = 0; k < test; k++) evaluate(k, [](size_t) {});
    for (size_t k = test; k < loop_.values.size(); k++) evaluate(k, fn);
  }

  template <typename F>
  void evaluate(size_t k, F&& fn) {
    const StepValue& value = loop_.values[k];
    Range& own = inStep_[arguments_ + k];
    work_--;
    if (!value.constant.empty()) {
      own = rangeOfConstant(value.dtype, value.constant.data());
      return;
    }
    fn(k);
    const std::vector<Range> args = rangesOf(value);
    if (value.loop)
      own = work_ > 0 ? LoopRanges(*value.loop, args, work_).state(value.result) : rangeOf(value.dtype);
    else
      own = rangeOfValue(value, args.data());
  }

  std::vector<Range> rangesOf(const StepValue& value) const {
    std::vector<Range> args;
    for (const int arg : value.args) args.push_back(inStep_[arg]);
    return args;
  }

  // --------------------------------------------------------------------------------------------- conditions

  const StepValue* valueAt(int position) const {
    const auto k = position - static_cast<int>(arguments_);
    return k < 0 || !loop_.values[k].constant.empty() || loop_.values[k].loop ? nullptr : &loop_.values[k];
  }

  // Where a boolean is as it is said.
  void assume(int position, bool holds) {
    const StepValue* const value = valueAt(position);
    if (!value) return;
    const auto& [op, args] = std::pair(value->op, value->args);
    if (op == (holds ? "logicalAnd" : "logicalOr")) {
      for (const int arg : args) assume(arg, holds);
    } else if (op == "logicalNot") {
      assume(args[0], !holds);
    } else if (op == "less" || op == "greaterEqual") {
      holds == (op == "less") ? assumeLess(args[0], args[1], true) : assumeLess(args[1], args[0], false);
    } else if (op == "greater" || op == "lessEqual") {
      holds == (op == "greater") ? assumeLess(args[1], args[0], true) : assumeLess(args[0], args[1], false);
    } else if (op == (holds ? "notEqual" : "equal")) {
      assumeOther(args[0], args[1]);
      assumeOther(args[1], args[0]);
    }
  }

  // a < b, or a <= b where it is not strict: of numbers that are known, and so no NaN.
  void assumeLess(int a, int b, bool isStrict) {
    const Range x = inStep_[a], y = inStep_[b];
    if (!x.isKnown || !y.isKnown) return;
    const int64_t above = isStrict && y.isWhole ? 1 : 0, below = isStrict && x.isWhole ? 1 : 0;
    if (y.most >= INT64_MIN + below) limit(a, x.least, y.most - below);
    if (x.least <= INT64_MAX - above) limit(b, x.least + above, y.most);
  }

  // a != b.
  void assumeOther(int a, int b) {
    const Range x = inStep_[a], y = inStep_[b];
    if (!x.isWhole || !y.isKnown || y.least != y.most) return;
    if (x.least == y.least && x.least < x.most) limit(a, x.least + 1, x.most);
    if (x.most == y.least && x.least < x.most) limit(a, x.least, x.most - 1);
  }

  // Numbers at a position lie between two others as well; so do those that they are made of.
  void limit(int position, int64_t least, int64_t most) {
    Range& range = inStep_[position];
    least = std::max(least, range.least);
    most = std::min(most, range.most);
    // No lane is there.
    if (!range.isKnown || least > most) return;
    range.least = least;
    range.most = most;
    const StepValue* const value = valueAt(position);
    if (!value) return;
    const Range from = inStep_[value->args[0]];
    const bool isKept = value->op.empty() && value->dtype != DType::boolean && from.isWhole &&
                        rangeOfValue(*value, &from) == from;
    if (isKept) limit(value->args[0], least, most);
    // Products of such numbers do not wrap.
    if (isSquare(*value) && isWide(value->dtype) && from.isWholeWithin(0, INT32_MAX))
      limit(value->args[0], 0, static_cast<int64_t>(std::sqrt(static_cast<double>(most))) + 1);
  }

  static bool isSquare(const StepValue& value) {
    return value.op == "square" || (value.op == "multiply" && value.args[0] == value.args[1]);
  }

  // ----------------------------------------------------------------------------------------- what is known

  // The argument that a value is equal to, or -1.
  static int sameAs(const StepValue& value, const std::vector<Range>& args) {
    const auto is = [&](std::string_view op) { return value.op == op; };
    if (is("abs") && value.dtype == value.from && args[0].isWithin(0, INT64_MAX)) return 0;
    if (is("copysign") && args[0].isWithin(0, INT64_MAX) && args[1].isWithin(0, INT64_MAX)) return 0;
    if ((is("floor") || is("ceil") || is("trunc") || is("round")) && args[0].isWhole) return 0;
    if (is("where") && args[0].isOne(1)) return 1;
    return is("where") && args[0].isOne(0) ? 2 : -1;
  }

  // Whether instructions for bounded numbers do what the value is.
  static bool isBounded(const StepValue& value, const std::vector<Range>& args) {
    const auto areWithin = [&](int64_t most) {
      return std::all_of(args.begin(), args.end(),
                         [&](const Range& each) { return each.isWholeWithin(-most, most); });
    };
    const bool isOf64 = isDouble(value.from) || value.from == DType::int64;
    if (value.op == "remainder")
      return isOf64 && areWithin(kMostBounded) && args[1].least >= (isDouble(value.from) ? 0 : 1);
    if (value.op == "multiply" || value.op == "square")
      return value.from == DType::int64 && areWithin(INT32_MAX);
    if (!value.op.empty() || !isOf64) return false;
    if (isDouble(value.from) && value.dtype == DType::int32) return areWithin(INT32_MAX);
    return isWide(value.dtype) && value.dtype != DType::uint64 && areWithin(kMostBounded);
  }

  const ElementLoop& loop_;
  const std::vector<Range> before_;
  const size_t arguments_;
  int& work_;
  // Of arguments, whatever the condition says; of all positions in the step.
  std::vector<Range> at_, inStep_;
};

}  // namespace

BoundedLoop boundedLoop(const ElementLoop& loop, const std::vector<Range>& arguments) {
  int work = kMostWork;
  LoopRanges ranges(loop, arguments, work);
  BoundedLoop made = ranges.bounded();
  return work > 0 ? made : BoundedLoop{};
}

}  // namespace weft::cpu::jit
