#include "runtime/loop.h"

#include <algorithm>

#include "cpu/tape.h"
#include "runtime/sweep.h"
#include "runtime/values.h"

namespace weft {
namespace {

using values::integer;
using values::item;
using values::reject;

class StateReader {
 public:
  StateReader(const Napi::Object& entry, std::string field, Program& program)
      : entry_(entry), field_(std::move(field)), program_(program) {}

  // `isOnce`: the body is run once; `mayBeInPlace`: a state may be written over the one before.
  LoopState read(int64_t kept, bool isOnce, bool mayBeInPlace) {
    LoopState state{};
    state.current = turn("current");
    state.next = turn("next");
    program_.buffers[state.current].isReadOnly = true;
    byteLength_ = program_.buffers[state.current].byteLength;
    state.initial = buffer("initial", 0);
    sized(state.initial, "initial", 1);
    sized(state.next, "next", 1);
    state.last = written("last", 1);
    state.other = buffer("other", isOnce ? -1 : 0);
    if (state.other >= 0) written("other", 1);
    if (state.last == state.initial || state.other == state.initial ||
        (state.last == state.other && !mayBeInPlace))
      reject(field_, "a state that lies in three buffers");
    state.kept = buffer("kept", -1);
    if (state.kept >= 0) written("kept", static_cast<size_t>(kept));
    return state;
  }

 private:
  int buffer(const char* name, int64_t least) const {
    const int64_t last = static_cast<int64_t>(program_.buffers.size()) - 1;
    return static_cast<int>(integer(entry_.Get(name), field_ + "." + name, least, last));
  }
  // A buffer without memory of its own.
  int turn(const char* name) const {
    const int found = buffer(name, 0);
    if (program_.buffers[found].role != Role::state) reject(field_ + "." + name, "a buffer of role state");
    return found;
  }
  int written(const char* name, size_t count) const {
    const int found = buffer(name, 0);
    if (program_.buffers[found].isReadOnly) reject(field_ + "." + name, "a buffer that may be written");
    sized(found, name, count);
    return found;
  }
  void sized(int buffer, const char* name, size_t count) const {
    const size_t byteLength = program_.buffers[buffer].byteLength;
    const bool fits =
        byteLength_ == 0 || (byteLength / byteLength_ == count && byteLength % byteLength_ == 0);
    if (!fits) reject(field_ + "." + name, "of " + std::to_string(count) + " times the state's bytes");
  }

  const Napi::Object entry_;
  const std::string field_;
  Program& program_;
  size_t byteLength_ = 0;
};

class StateCheck {
 public:
  explicit StateCheck(const Program& program) : program_(program), placed_(program.buffers.size()) {}

  void steps(const std::vector<Step>& steps) {
    for (const Step& one : steps) step(one);
  }

 private:
  void step(const Step& step) {
    if (const auto* loop = std::get_if<std::shared_ptr<const Loop>>(&step)) {
      body(**loop);
    } else if (const auto* sweep = std::get_if<std::shared_ptr<const Sweep>>(&step)) {
      for (const SweepBody& part : (*sweep)->body) this->step(part.step);
    } else {
      for (const int buffer : buffersOf(step)) use(buffer);
    }
  }
  void body(const Loop& loop) {
    for (const LoopState& state : loop.states) {
      for (const int buffer : {state.initial, state.last, state.other, state.kept}) {
        if (buffer >= 0) use(buffer);
      }
    }
    place(loop, true);
    steps(loop.body);
    place(loop, false);
  }
  void place(const Loop& loop, bool isThere) {
    for (const LoopState& state : loop.states) placed_[state.current] = placed_[state.next] = isThere;
  }
  void use(int buffer) const {
    if (program_.buffers[buffer].role == Role::state && !placed_[buffer])
      reject("steps", "in the loop of the states that they use");
  }

  const Program& program_;
  std::vector<bool> placed_;
};

// Reads what decides on a GPU whether the loop goes on.
LoopCheck readCheck(const Napi::Object& entry, const std::string& field, const Loop& loop,
                    const Program& program) {
  const auto isLaunched = [](const Step& step) {
    return std::holds_alternative<LaunchStep>(step) || std::holds_alternative<ZeroStep>(step);
  };
  if (loop.condition < 0 || !std::all_of(loop.body.begin(), loop.body.end(), isLaunched))
    reject(field, "of a loop with a condition, and launches alone");
  const int64_t lastImage = static_cast<int64_t>(program.images.size()) - 1;
  const int64_t lastBuffer = static_cast<int64_t>(program.buffers.size()) - 1;
  LoopCheck check;
  check.image = static_cast<size_t>(integer(entry.Get("image"), field + ".image", 0, lastImage));
  check.begin = values::text(entry.Get("begin"), field + ".begin");
  check.goOn = values::text(entry.Get("goOn"), field + ".goOn");
  check.record = static_cast<int>(integer(entry.Get("record"), field + ".record", 0, lastBuffer));
  const BufferSpec& record = program.buffers[check.record];
  if (record.role != Role::temporary || record.windowed || record.byteLength != sizeof(LoopRecord))
    reject(field + ".record", "a temporary of " + std::to_string(sizeof(LoopRecord)) + " bytes");
  return check;
}

// Reads how the steps of a loop may follow one another.
LoopSkew readSkew(const Napi::Object& entry, const std::string& field, const Loop& loop) {
  const auto* step = loop.body.size() == 1 ? std::get_if<TapeStep>(&loop.body[0]) : nullptr;
  if (step == nullptr || !step->tape->reductions.empty() || loop.condition >= 0 || loop.stepsAtOnce != 1)
    reject(field, "of a loop with a known number of steps, and one tape without reductions");
  LoopSkew skew;
  skew.tiles = integer(entry.Get("tiles"), field + ".tiles", 0);
  const Napi::Array counters = values::array(entry.Get("counters"), field + ".counters");
  const std::vector<cpu::Buffer>& buffers = step->tape->buffers;
  for (uint32_t i = 0; i < counters.Length(); i++) {
    const std::string name = item(field + ".counters", i);
    const int64_t last = static_cast<int64_t>(buffers.size()) - 1;
    const auto counter = static_cast<int>(integer(counters.Get(i), name, 0, last));
    const cpu::Buffer& buffer = buffers[counter];
    if (buffer.isOutput || buffer.dtype != DType::int64 || buffer.elementCount != 1)
      reject(name, "an input of one int64");
    skew.counters.push_back(counter);
  }
  return skew;
}

}  // namespace

size_t launchesOf(const Step& step) {
  if (const auto* loop = std::get_if<std::shared_ptr<const Loop>>(&step)) return (*loop)->launches;
  const auto* sweep = std::get_if<std::shared_ptr<const Sweep>>(&step);
  if (sweep == nullptr) return std::holds_alternative<LaunchStep>(step) ? 1 : 0;
  size_t count = 0;
  for (const SweepBody& part : (*sweep)->body) count += launchesOf(part.step);
  return count;
}

void checkHomes(const LoopState& state, const Program& program, const std::string& field) {
  if (program.buffers[state.current].windowed != program.buffers[state.next].windowed)
    reject(field, "one that has windows of both states of a step, or of none");
  if (program.buffers[state.current].windowed) return;
  for (const int buffer : {state.initial, state.last, state.other}) {
    if (buffer >= 0 && isSwept(program, buffer)) reject(field, "a loop that has windows of its states");
  }
}

void checkStates(const Program& program) { StateCheck(program).steps(program.steps); }

Step readLoop(const Napi::Object& entry, const std::string& field, Program& program,
              const ReadBodyStep& readStep) {
  auto loop = std::make_shared<Loop>();
  const Napi::Array states = values::array(entry.Get("states"), field + ".states");
  const int64_t stateCount = states.Length();
  loop->steps = integer(entry.Get("steps"), field + ".steps", 1);
  loop->condition =
      static_cast<int>(integer(entry.Get("condition"), field + ".condition", -1, stateCount - 1));
  const int64_t most = loop->condition < 0 ? loop->steps : 0;
  loop->every = integer(entry.Get("every"), field + ".every", 0, most);
  if (loop->every > 0 && loop->steps % loop->every != 0) reject(field + ".steps", "a multiple of every");
  const int64_t atOnce = loop->condition < 0 ? values::kMaxSafeInteger : 1;
  loop->stepsAtOnce = integer(entry.Get("stepsAtOnce"), field + ".stepsAtOnce", 1, atOnce);
  const int64_t kept = loop->every == 0 ? 0 : loop->steps / loop->every;
  const bool isCounted = loop->condition < 0;
  const bool isOnce = isCounted && runsOf(*loop) == 1;
  for (uint32_t i = 0; i < states.Length(); i++) {
    const std::string name = item(field + ".states", i);
    loop->states.push_back(
        StateReader(values::object(states.Get(i), name), name, program).read(kept, isOnce, isCounted));
  }
  if (loop->condition >= 0 && program.buffers[loop->states[loop->condition].current].byteLength != 1)
    reject(field + ".condition", "a state of one byte");
  const Napi::Array body = values::array(entry.Get("body"), field + ".body");
  for (uint32_t i = 0; i < body.Length(); i++) {
    const Napi::HandleScope scope(entry.Env());
    const std::string name = item(field + ".body", i);
    loop->body.push_back(readStep(values::object(body.Get(i), name), name, program));
    const auto* sweep = std::get_if<std::shared_ptr<const Sweep>>(&loop->body.back());
    loop->hasSweeps |= sweep != nullptr;
    if (sweep != nullptr && !(*sweep)->claims.empty()) reject(name + ".claims", "undefined in a loop");
  }
  for (const Step& step : loop->body) loop->launches += launchesOf(step);
  if (const Napi::Value check = entry.Get("check"); !check.IsUndefined())
    loop->check = readCheck(values::object(check, field + ".check"), field + ".check", *loop, program);
  if (const Napi::Value skew = entry.Get("skew"); !skew.IsUndefined())
    loop->skew = readSkew(values::object(skew, field + ".skew"), field + ".skew", *loop);
  return std::shared_ptr<const Loop>(std::move(loop));
}

}  // namespace weft
