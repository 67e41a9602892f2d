// Lays out the frame of a loop of elements, and puts the code of stretches into loops.
//
// A loop of instructions alone, few enough, has its states in registers: its vectors stand one after the
// other in the code, and the processor overlaps their chains of dependences. Others keep states in memory,
// and loop over vectors.
#include "cpu/jit/loop-compiler.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "cpu/jit/stretch-code.h"

namespace weft::cpu::jit {
namespace {

// Vectors of a loop without calls. Lanes of a loop around others wait for each other: it has fewer, and of
// numbers of 64 bits fewer still where registers are few, so that states stay in them.
constexpr int kVectors = 8, kVectorsAround = 4, kVectorsOfFew = 3;
constexpr int kFewRegisters = 16;
// Instructions of one vector up to which they stand one after the other.
constexpr int kMostUnrolled = 64;
// Registers that values have at least, beside those that states are kept in.
constexpr int kLeastFree = 5;

// A number of each position of a loop, in memory or a constant.
struct Location {
  VectorOperand operand;
  const char* chunk = nullptr;
};

// A loop, and where its numbers are.
struct PlacedLoop {
  const LoopPlan* plan;
  std::vector<Location> locations;
  int32_t mask = 0;
  // Of each position, whether another part reads it than the one that computes it.
  std::vector<bool> isRead;
  // Loops within, by part.
  std::vector<std::unique_ptr<PlacedLoop>> inner;
};

// Where the lanes of a loop within, and its states, are when it begins.
struct Entry {
  VectorOperand mask;
  std::vector<VectorOperand> states;
};

class LoopCompiler {
 public:
  LoopCompiler(std::shared_ptr<const ElementLoop> loop, const LoopPlan& plan, VectorCode& to)
      : loop_(std::move(loop)), to_(to), top_(plan), sum_(to.firstFree()) {
    frame_.lanes =
        plan.hasCalls() ? static_cast<int>(kChunk) : std::min(kMostLanes, vectorsOf(plan) * to_.lanes());
    frame_.laneBytes = to_.laneBytes();
    frame_.byteLength = kFrameHeaderBytes;
  }

  // `stored`: the dtypes of arguments in memory.
  std::shared_ptr<NativeLoop> compile(int result, const std::vector<DType>& stored,
                                      const std::vector<const char*>& constants) {
    std::vector<Location> arguments(top_.arguments());
    for (int k = 0; k < top_.arguments(); k++) {
      FrameLanes& lanes = frame_.arguments.emplace_back();
      lanes.dtype = top_.loop.dtypes[k];
      lanes.stored = stored[k];
      if (!top_.needed[k]) continue;
      if (k >= top_.states() && constants[k]) {
        arguments[k] = lanes.stored == lanes.dtype ? constant(lanes.dtype, constants[k])
                                                   : narrowConstant(lanes.stored, constants[k]);
        continue;
      }
      lanes.offset = slot();
      arguments[k] = {{VectorOperand::Kind::memory, lanes.offset}};
    }
    frame_.states = top_.states();
    const PlacedLoop placed = place(top_, std::move(arguments));
    frame_.mask = placed.mask;
    spills_.first = static_cast<int32_t>(frame_.byteLength);
    to_.enter();
    emitLoop(placed);
    to_.storeActive(frame_.mask, vectors(), static_cast<int32_t>(offsetof(FrameHeader, active)));
    to_.leave();
    frame_.byteLength += static_cast<size_t>(spills_.count) * to_.vectorBytes();
    if (!sites_.empty()) emitVectorCalls();
    frame_.byteLength += -frame_.byteLength & (kHostAlignment - 1);
    const std::vector<uint8_t> code = to_.finish();
    if (code.empty()) return nullptr;
    auto made = std::make_shared<NativeLoop>(std::move(loop_), std::move(frame_), result, std::move(calls_),
                                             std::move(vectorCalls_), code);
    return made->isThere() ? made : nullptr;
  }

 private:
  int vectorsOf(const LoopPlan& plan) const {
    if (plan.isFlat()) return kVectors;
    const bool areFew = to_.registers() <= kFewRegisters && to_.laneBytes() > 4;
    return areFew ? kVectorsOfFew : kVectorsAround;
  }
  int vectors() const { return frame_.lanes / to_.lanes(); }

  int32_t slot() {
    const auto offset = static_cast<int32_t>(frame_.byteLength);
    frame_.byteLength += static_cast<size_t>(frame_.lanes) * frame_.laneBytes;
    return offset;
  }
  Location memory() { return {{VectorOperand::Kind::memory, slot()}}; }
  Location constant(DType dtype, const char* chunk) {
    uint64_t bits = 0;
    std::copy_n(chunk, kElementBytes[static_cast<int>(dtype)], reinterpret_cast<char*>(&bits));
    return {to_.constant(laneOf(dtype, bits)), chunk};
  }
  Location narrowConstant(DType stored, const char* chunk) {
    return {to_.constant(laneOf(DType::int32, static_cast<uint64_t>(rangeOfConstant(stored, chunk).least)))};
  }

  // ------------------------------------------------------------------------------------------------ layout

  PlacedLoop place(const LoopPlan& plan, std::vector<Location> locations) {
    PlacedLoop placed{&plan, std::move(locations), slot(), readElsewhere(plan), {}};
    placed.locations.resize(plan.needed.size());
    for (size_t k = 0; k < plan.loop.values.size(); k++) {
      const StepValue& value = plan.loop.values[k];
      Location& location = placed.locations[plan.arguments() + k];
      if (!value.constant.empty()) {
        location = constant(value.dtype, value.constant.data());
      } else if (!value.loop && placed.isRead[plan.arguments() + k]) {
        location = memory();
      }
    }
    for (const LoopPart& part : plan.parts) {
      placed.inner.emplace_back();
      if (!part.inner) continue;
      const StepValue& first = plan.loop.values[part.values[0]];
      std::vector<Location> arguments(part.inner->arguments());
      for (int k = 0; k < part.inner->arguments(); k++) {
        if (!part.inner->needed[k]) continue;
        arguments[k] = k < part.inner->states() ? memory() : placed.locations[first.args[k]];
      }
      placed.inner.back() = std::make_unique<PlacedLoop>(place(*part.inner, std::move(arguments)));
      for (const int k : part.values)
        placed.locations[plan.arguments() + k] = placed.inner.back()->locations[plan.loop.values[k].result];
    }
    return placed;
  }

  static std::vector<bool> readElsewhere(const LoopPlan& plan) {
    std::vector<bool> isRead(plan.needed.size());
    std::vector<int> madeBy(plan.needed.size(), -1);
    for (size_t p = 0; p < plan.parts.size(); p++) {
      const LoopPart& part = plan.parts[p];
      const auto read = [&](int position) {
        if (madeBy[position] != static_cast<int>(p)) isRead[position] = true;
      };
      for (const int k : part.values) {
        for (const int arg : plan.loop.values[k].args) read(arg);
        madeBy[plan.arguments() + k] = static_cast<int>(p);
        if (part.kind == LoopPart::Kind::call) isRead[plan.arguments() + k] = true;
      }
      if (part.updatesMask) read(plan.loop.condition);
      for (int k = 0; part.updatesStates && k < plan.states(); k++)
        if (plan.needed[k]) read(plan.loop.next[k]);
    }
    return isRead;
  }

  // -------------------------------------------------------------------------------------------------- code

  void emitLoop(const PlacedLoop& loop) {
    if (isUnrolled(loop))
      emitUnrolled(loop, nullptr);
    else
      emitParts(loop, true);
  }
  void emitInner(const PlacedLoop& loop, const LoopPart& part, const PlacedLoop& inner) {
    const Entry entry = entryOf(loop, part);
    if (isUnrolled(inner)) return emitUnrolled(inner, &entry);
    enter(entry, inner);
    emitParts(inner, false);
  }
  bool isUnrolled(const PlacedLoop& loop) const {
    return loop.plan->isFlat() && loop.plan->instructions() <= kMostUnrolled && vectors() <= kVectors;
  }

  // Of a number in memory, that of the vector at hand.
  VectorOperand moving(VectorOperand from) const {
    if (from.kind == VectorOperand::Kind::memory) from.kind = VectorOperand::Kind::moving;
    return from;
  }
  VectorOperand ofVector(VectorOperand from, int vector) const {
    if (from.kind == VectorOperand::Kind::memory) from.value += vector * to_.vectorBytes();
    return from;
  }

  template <typename F>
  void eachVector(F&& body) {
    const Label next = to_.label();
    to_.firstVector();
    to_.bind(next);
    body();
    to_.nextVector(vectors(), next);
  }

  // Whether the loop goes on: its lanes are more than the limit, those of a loop within more than none.
  void compareActive(bool isTop) {
    const auto limit = static_cast<int32_t>(offsetof(FrameHeader, limit));
    to_.compareCount(sum_, isTop ? std::optional(limit) : std::nullopt);
  }

  std::vector<int> registersFrom(int first) const {
    std::vector<int> registers;
    for (int reg = first; reg < to_.registers(); reg++) registers.push_back(reg);
    return registers;
  }

  // Keeps constants in registers that every vector of a loop would load.
  void holdConstants(const PlacedLoop& loop, std::vector<int>& free) {
    const LoopPlan& plan = *loop.plan;
    const auto loaded = to_.constantsLoadedBy([&] {
      Spills spills{0};
      std::vector<PartialSite> sites;
      StretchCode(to_, plan, plan.parts[0], loop.isRead, free, spills, sites)
          .emit({[&](int position) { return loop.locations[position].operand; },
                 {VectorOperand::Kind::memory, loop.mask},
                 sum_});
    });
    for (const VectorOperand& constant : loaded) {
      if (static_cast<int>(free.size()) <= kLeastFree) return;
      to_.hold(constant, free.back());
      free.pop_back();
    }
  }

  // `entry`: of a loop within, whose mask and states need not be in memory at first. Those states that are
  // read are there at last.
  void emitUnrolled(const PlacedLoop& loop, const Entry* entry) {
    const LoopPlan& plan = *loop.plan;
    std::vector<int> free = registersFrom(sum_ + 1);
    holdConstants(loop, free);
    // Masks and states, in registers as far as these go.
    std::vector<std::pair<VectorOperand, int>> kept;
    std::vector<std::vector<VectorOperand>> locations(vectors());
    std::vector<VectorOperand> masks;
    const auto keep = [&](VectorOperand memory, VectorOperand first, bool isRead) {
      if (static_cast<int>(free.size()) <= kLeastFree) {
        if (first == memory) return memory;
        to_.move(kFirstScratch, first);
        to_.store(memory, kFirstScratch);
        return memory;
      }
      const int reg = free.back();
      free.pop_back();
      to_.move(reg, first);
      if (isRead) kept.emplace_back(memory, reg);
      return vectorRegister(reg);
    };
    for (int v = 0; v < vectors(); v++) {
      const VectorOperand mask{VectorOperand::Kind::memory, loop.mask};
      masks.push_back(keep(ofVector(mask, v), ofVector(entry ? entry->mask : mask, v), !entry));
      for (size_t k = 0; k < loop.locations.size(); k++) {
        const VectorOperand location = loop.locations[k].operand, own = ofVector(location, v);
        const bool isState = static_cast<int>(k) < plan.states() && plan.needed[k];
        const VectorOperand first = isState && entry ? entry->states[k] : location;
        locations[v].push_back(isState ? keep(own, ofVector(first, v), !entry || plan.results[k]) : own);
      }
    }
    const Label top = to_.label(), done = to_.label();
    const auto emit = [&](const LoopPart& part, int v) {
      StretchCode(to_, plan, part, loop.isRead, free, spills_, sites_)
          .emit({[&](int position) { return locations[v][position]; }, masks[v], sum_});
    };
    const LoopPart test = plan.test(), body = plan.body();
    const bool testsLast = entry && costsNoMore(plan, test, body);
    if (testsLast) {
      to_.zero(sum_);
      for (int v = 0; v < vectors(); v++) emit(test, v);
      compareActive(false);
      to_.jumpUnlessMore(done);
    }
    to_.bind(top);
    to_.zero(sum_);
    for (int v = 0; v < vectors(); v++) {
      emit(testsLast ? body : plan.parts[0], v);
      if (testsLast) emit(test, v);
    }
    compareActive(!entry);
    to_.jumpIfMore(top);
    to_.bind(done);
    to_.releaseHeld();
    for (const auto& [memory, reg] : kept) to_.store(memory, reg);
  }

  // Whether a loop within is to test its condition behind each step: so the last test is not followed by a
  // step of no lanes, and loops within have few steps. Values of the condition that steps take are computed
  // twice.
  static bool costsNoMore(const LoopPlan& plan, const LoopPart& test, const LoopPart& body) {
    const auto twice = test.values.size() + body.values.size() - plan.parts[0].values.size();
    return 4 * twice <= body.values.size();
  }

  void emitParts(const PlacedLoop& loop, bool isTop) {
    const Label top = to_.label(), done = to_.label();
    const std::vector<int> free = registersFrom(sum_ + 1);
    to_.bind(top);
    for (size_t p = 0; p < loop.plan->parts.size(); p++) {
      const LoopPart& part = loop.plan->parts[p];
      if (part.kind == LoopPart::Kind::call) {
        emitCall(loop, part.values[0]);
      } else if (part.kind == LoopPart::Kind::loop) {
        emitInner(loop, part, *loop.inner[p]);
      } else {
        if (part.updatesMask) to_.zero(sum_);
        eachVector([&] {
          StretchCode(to_, *loop.plan, part, loop.isRead, free, spills_, sites_)
              .emit({[&](int position) { return moving(loop.locations[position].operand); },
                     moving({VectorOperand::Kind::memory, loop.mask}), sum_});
        });
        if (!part.updatesMask) continue;
        compareActive(isTop);
        if (!part.updatesStates) to_.jumpUnlessMore(done);
      }
    }
    const bool endsWithTest = loop.plan->parts.back().updatesMask;
    if (endsWithTest)
      to_.jumpIfMore(top);
    else
      to_.jump(top);
    to_.bind(done);
  }

  Entry entryOf(const PlacedLoop& loop, const LoopPart& part) const {
    const StepValue& first = loop.plan->loop.values[part.values[0]];
    Entry entry{{VectorOperand::Kind::memory, loop.mask}, {}};
    for (int k = 0; k < part.inner->states(); k++)
      entry.states.push_back(loop.locations[first.args[k]].operand);
    return entry;
  }

  // Gives a loop within its states, and the lanes that run it.
  void enter(const Entry& entry, const PlacedLoop& inner) {
    eachVector([&] {
      const auto copy = [&](VectorOperand to, VectorOperand from) {
        to_.move(kFirstScratch, moving(from));
        to_.store(moving(to), kFirstScratch);
      };
      copy({VectorOperand::Kind::memory, inner.mask}, entry.mask);
      for (int k = 0; k < inner.plan->states(); k++)
        if (inner.plan->needed[k]) copy(inner.locations[k].operand, entry.states[k]);
    });
  }

  void emitCall(const PlacedLoop& loop, int k) {
    const StepValue& value = loop.plan->loop.values[k];
    const auto lanesAt = [&](int position, DType dtype) {
      const VectorOperand& location = loop.locations[position].operand;
      return FrameLanes{dtype, location.kind == VectorOperand::Kind::memory ? location.value : -1};
    };
    auto call = std::make_unique<LaneCall>();
    call->function = value.function;
    call->laneBytes = frame_.laneBytes;
    call->out = lanesAt(loop.plan->arguments() + k, value.dtype);
    for (const int arg : value.args)
      call->arguments.push_back({lanesAt(arg, dtypeAt(*loop.plan, arg)), loop.locations[arg].chunk});
    to_.call(reinterpret_cast<const void*>(&runLaneCall), call.get());
    calls_.push_back(std::move(call));
  }

  // The calls of partial instructions, by a routine that keeps the vectors and the index.
  void emitVectorCalls() {
    constexpr int kMostArguments = 2;
    const auto first = static_cast<int32_t>(frame_.byteLength);
    const auto slotAt = [&](int k) {
      return VectorOperand{VectorOperand::Kind::memory, first + k * to_.vectorBytes()};
    };
    frame_.byteLength += static_cast<size_t>(kMostArguments + 1 + to_.registers()) * to_.vectorBytes();
    const Label routine = to_.label();
    for (const PartialSite& site : sites_) {
      const auto arguments = static_cast<int>(site.args.size());
      to_.bind(site.call);
      for (int k = 0; k < arguments; k++) to_.store(slotAt(k), to_.inRegister(site.args[k], kFirstScratch));
      vectorCalls_.push_back(std::make_unique<VectorCall>(
          VectorCall{site.value->function, site.value->from, to_.vectorBytes(), arguments, first}));
      to_.callRoutine(routine, vectorCalls_.back().get());
      to_.move(site.out, slotAt(arguments));
      to_.jump(site.back);
    }
    to_.bind(routine);
    to_.enterRoutine();
    const auto kept = [&](int reg) { return slotAt(kMostArguments + 1 + reg); };
    for (const int reg : registersFrom(to_.firstFree())) to_.store(kept(reg), reg);
    to_.call(reinterpret_cast<const void*>(&runVectorCall), nullptr);
    for (const int reg : registersFrom(to_.firstFree())) to_.move(reg, kept(reg));
    to_.leaveRoutine();
  }

  static DType dtypeAt(const LoopPlan& plan, int position) {
    return position < plan.arguments() ? plan.loop.dtypes[position] : plan.value(position).dtype;
  }

  std::shared_ptr<const ElementLoop> loop_;
  VectorCode& to_;
  const LoopPlan& top_;
  // The register that lanes in the loop are counted in.
  const int sum_;
  LoopFrame frame_;
  Spills spills_{0};
  std::vector<std::unique_ptr<LaneCall>> calls_;
  std::vector<PartialSite> sites_;
  std::vector<std::unique_ptr<VectorCall>> vectorCalls_;
};

}  // namespace

std::shared_ptr<NativeLoop> makeLoopCode(std::shared_ptr<const ElementLoop> loop, int result,
                                         const std::vector<DType>& stored,
                                         const std::vector<const char*>& constants) {
  std::vector<bool> results(loop->next.size());
  results[result] = true;
  const std::unique_ptr<VectorCode> code = makeVectorCode(laneBytesOf(*loop));
  const LoopPlan plan(*loop, std::move(results), *code);
  // Functions of lanes take numbers of the loop's own dtypes.
  if (loop->dtypes != stored && plan.hasCalls()) return nullptr;
  return LoopCompiler(loop, plan, *code).compile(result, stored, constants);
}

}  // namespace weft::cpu::jit
