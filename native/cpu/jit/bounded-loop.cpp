#include "cpu/jit/bounded-loop.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "cpu/jit/narrow-value.h"
#include "cpu/jit/step-change.h"

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

  // How far all steps move a state that they move by bounded numbers.
  std::optional<Change> change(int state) {
    visit([](size_t) {});
    return changeOfSteps(state, trips());
  }

  // The loop with ranges known, with numbers of their dtypes, or all as int32: null where one is none.
  BoundedLoop bounded(bool isNarrowed) {
    auto made = std::make_shared<ElementLoop>(loop_);
    BoundedLoop out;
    for (size_t k = 0; k < arguments_ && isNarrowed; k++) {
      if (!isNarrow(loop_.dtypes[k], at_[k])) return {};
      made->dtypes[k] = narrowOf(loop_.dtypes[k]);
      made->argumentBytes[k] = kElementBytes[static_cast<int>(made->dtypes[k])];
    }
    bool areNarrow = true;
    std::vector<std::pair<size_t, int32_t>> masks;
    for (StepValue& value : made->values)
      if (isNarrowed && !value.constant.empty())
        areNarrow &= makeNarrow(value, rangeOfConstant(value.dtype, value.constant.data()), {});
    std::vector<int> same(at_.size());
    for (size_t k = 0; k < same.size(); k++) same[k] = static_cast<int>(k);
    visit([&](size_t k) {
      StepValue& value = made->values[k];
      const std::vector<Range> args = rangesOf(loop_.values[k]);
      for (int& arg : value.args) arg = same[arg];
      if (value.loop) {
        const BoundedLoop inner =
            areNarrow ? LoopRanges(*value.loop, args, work_).bounded(isNarrowed) : BoundedLoop{};
        areNarrow &= inner.loop != nullptr;
        value.loop = inner.loop;
        value.dtype = isNarrowed ? narrowOf(value.dtype) : value.dtype;
        out.changes += inner.changes;
        return;
      }
      int other = sameAs(value, args);
      if (isNarrowed) {
        areNarrow &= makeNarrow(value, rangeOfValue(loop_.values[k], args.data()), args);
        if (value.op.empty() && value.dtype == value.from) other = 0;
        if (value.op == "remainder" && isPowerOfTwo(args[1])) {
          value.op = "bitwiseAnd";
          masks.emplace_back(k, static_cast<int32_t>(args[1].least - 1));
        }
      }
      if (other >= 0) same[arguments_ + k] = value.args[other];
      value.isBounded = other < 0 && isBounded(value, args);
      out.changes += other >= 0 || value.isBounded;
      // As doubles, remainders of int32 need lanes of 64 bits.
      if (isNarrowed && value.op == "remainder") areNarrow &= value.isBounded;
    });
    if (!areNarrow) return {};
    // Remainders by powers of two are the last bits, of any number.
    for (const auto& [k, mask] : masks) {
      made->values[k].args[1] = static_cast<int>(arguments_ + made->values.size());
      made->values.push_back(narrowConstant(mask));
    }
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
    limitByTrips();
  }

  // ------------------------------------------------------------------------------------------------- trips

  // Limits states that have no small bounds, as sums: to those before the loop and as many changes as there
  // are steps.
  void limitByTrips() {
    const auto isSmall = [&](size_t k) { return at_[k].isWithin(INT32_MIN, INT32_MAX); };
    std::vector<size_t> large;
    for (size_t k = 0; k < loop_.next.size(); k++)
      if (!isSmall(k) && before_[k].isWholeWithin(-kMostBounded, kMostBounded)) large.push_back(k);
    if (large.empty()) return;
    visit([](size_t) {});
    const std::optional<int64_t> most = trips();
    if (!most) return;
    std::vector<std::pair<size_t, Range>> limited;
    for (const size_t k : large) {
      const std::optional<Change> change = changeOfSteps(static_cast<int>(k), most);
      if (!change) continue;
      const Range before = before_[k],
                  range = wholeRange(before.least + change->lowest, before.most + change->highest);
      if (range.isWholeWithin(-kMostBounded, kMostBounded) &&
          held(loop_.dtypes[k], true, range.least, range.most) == range)
        limited.emplace_back(k, range);
    }
    for (const auto& [k, range] : limited) at_[k] = range;
  }

  // The most steps: those of a counter that each step moves in one direction, between its bounds in the step.
  std::optional<int64_t> trips() const {
    std::optional<int64_t> least;
    for (size_t k = 0; k < loop_.next.size(); k++) {
      const Range range = inStep_[k];
      if (!range.isWholeWithin(-kMostBounded, kMostBounded)) continue;
      const auto change = stepChange(loop_, static_cast<int>(k), inStep_,
                                     [](const StepValue&) { return std::optional<Change>(); });
      if (!change) continue;
      const int64_t each = std::max(change->least, -change->most);
      // One that wraps would begin anew.
      const __int128 lowest = __int128{range.least} + change->lowest,
                     highest = __int128{range.most} + change->highest;
      const Range reached = held(loop_.dtypes[k], true, lowest, highest);
      if (each < 1 || !reached.isKnown || reached.least != lowest || reached.most != highest) continue;
      const int64_t steps = (range.most - range.least) / each + 1;
      if (!least || steps < *least) least = steps;
    }
    return least;
  }

  std::optional<Change> changeOfSteps(int state, std::optional<int64_t> steps) {
    if (!steps) return std::nullopt;
    const auto ofLoop = [&](const StepValue& value) -> std::optional<Change> {
      const std::vector<Range> args = rangesOf(value);
      return work_ > 0 ? LoopRanges(*value.loop, args, work_).change(value.result) : std::nullopt;
    };
    std::optional<Change> change = stepChange(loop_, state, inStep_, ofLoop);
    if (!change) return std::nullopt;
    const auto times = [&](int64_t each) { return static_cast<__int128>(each) * *steps; };
    if (times(change->lowest) < -kMostBounded || times(change->highest) > kMostBounded) return std::nullopt;
    change->lowest *= *steps;
    change->highest *= *steps;
    return change;
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

  static bool isPowerOfTwo(Range range) {
    return range.isOne(range.least) && range.least > 0 && (range.least & (range.least - 1)) == 0;
  }

  // Whether instructions for bounded numbers do what the value is.
  static bool isBounded(const StepValue& value, const std::vector<Range>& args) {
    const auto areWithin = [&](int64_t most) {
      return std::all_of(args.begin(), args.end(),
                         [&](const Range& each) { return each.isWholeWithin(-most, most); });
    };
    const bool isOf64 = isDouble(value.from) || value.from == DType::int64;
    if (value.op == "remainder" && value.from == DType::int32)
      return areWithin(kMostSingle) && args[1].least >= 1;
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

BoundedLoop boundedLoop(const ElementLoop& loop, const std::vector<Range>& arguments, bool isNarrowed) {
  int work = kMostWork;
  LoopRanges ranges(loop, arguments, work);
  BoundedLoop made = ranges.bounded(isNarrowed);
  return work > 0 ? made : BoundedLoop{};
}

}  // namespace weft::cpu::jit
