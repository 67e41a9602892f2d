#include "runtime/loop.h"

#include <algorithm>

#include "cpu/tape.h"
#include "runtime/fields.h"
#include "runtime/program-steps.h"
#include "runtime/sweep.h"

namespace weft {
namespace {

using values::reject;

class StateReader {
 public:
  StateReader(Fields fields, Program& program) : fields_(std::move(fields)), program_(program) {}

  // `isOnce`: the body is run once.
  LoopState read(int64_t kept, bool isOnce) {
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
    if (!state.isInPlace() && (state.last == state.initial || state.other == state.initial))
      reject(fields_.path(), "a state that lies in three buffers");
    state.kept = buffer("kept", -1);
    if (state.kept >= 0) written("kept", static_cast<size_t>(kept));
    return state;
  }

 private:
  int buffer(const char* name, int64_t least) const {
    const int64_t last = static_cast<int64_t>(program_.buffers.size()) - 1;
    return static_cast<int>(fields_.integer(name, least, last));
  }
  // A buffer without memory of its own.
  int turn(const char* name) const {
    const int found = buffer(name, 0);
    if (program_.buffers[found].role != Role::state) fields_.reject(name, "a buffer of role state");
    return found;
  }
  int written(const char* name, size_t count) const {
    const int found = buffer(name, 0);
    if (program_.buffers[found].isReadOnly) fields_.reject(name, "a buffer that may be written");
    sized(found, name, count);
    return found;
  }
  void sized(int buffer, const char* name, size_t count) const {
    const size_t byteLength = program_.buffers[buffer].byteLength;
    const bool fits =
        byteLength_ == 0 || (byteLength / byteLength_ == count && byteLength % byteLength_ == 0);
    if (!fits) fields_.reject(name, "of " + std::to_string(count) + " times the state's bytes");
  }

  const Fields fields_;
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

// Whether a step uses a buffer, or one in it does.
bool usesBuffer(const Step& step, int buffer) {
  const auto any = [&](const auto& steps, const auto& of) {
    return std::any_of(steps.begin(), steps.end(),
                       [&](const auto& one) { return usesBuffer(of(one), buffer); });
  };
  if (const auto* sweep = std::get_if<std::shared_ptr<const Sweep>>(&step))
    return any((*sweep)->body, [](const SweepBody& part) -> const Step& { return part.step; });
  if (const auto* loop = std::get_if<std::shared_ptr<const Loop>>(&step)) {
    for (const LoopState& state : (*loop)->states) {
      for (const int own : {state.initial, state.last, state.other, state.kept}) {
        if (own == buffer) return true;
      }
    }
    return any((*loop)->body, [](const Step& one) -> const Step& { return one; });
  }
  const std::vector<int> used = buffersOf(step);
  return std::find(used.begin(), used.end(), buffer) != used.end();
}

// Whether a step is a loop with a condition, or has one: beyond the last step that may never end.
bool mayNotEnd(const Step& step) {
  const auto* loop = std::get_if<std::shared_ptr<const Loop>>(&step);
  if (loop == nullptr) return false;
  return (*loop)->condition >= 0 || std::any_of((*loop)->body.begin(), (*loop)->body.end(), mayNotEnd);
}

size_t tailOf(const Loop& loop) {
  size_t tail = 0;
  const auto writes = [&](const LoopState& state) {
    return state.isInPlace() && usesBuffer(loop.body[tail], state.next);
  };
  while (tail < loop.body.size() && !mayNotEnd(loop.body[tail]) &&
         std::none_of(loop.states.begin(), loop.states.end(), writes))
    tail++;
  return tail;
}

// Reads what decides on a GPU whether the loop goes on.
LoopCheck readCheck(const Fields& fields, const Loop& loop, const Program& program) {
  const auto isLaunched = [](const Step& step) {
    return std::holds_alternative<LaunchStep>(step) || std::holds_alternative<ZeroStep>(step);
  };
  if (loop.condition < 0 || !std::all_of(loop.body.begin(), loop.body.end(), isLaunched) ||
      std::any_of(loop.states.begin(), loop.states.end(),
                  [](const LoopState& state) { return state.isInPlace(); }))
    reject(fields.path(), "of a loop with a condition, launches alone, and states in buffers by turns");
  LoopCheck check;
  check.image = fields.integer("image", 0, static_cast<int64_t>(program.images.size()) - 1);
  check.begin = fields.text("begin");
  check.goOn = fields.text("goOn");
  check.record =
      static_cast<int>(fields.integer("record", 0, static_cast<int64_t>(program.buffers.size()) - 1));
  const BufferSpec& record = program.buffers[check.record];
  if (record.role != Role::temporary || record.windowed || record.byteLength != sizeof(LoopRecord))
    fields.reject("record", "a temporary of " + std::to_string(sizeof(LoopRecord)) + " bytes");
  return check;
}

// Reads how the steps of a loop may follow one another.
LoopSkew readSkew(const Fields& fields, const Loop& loop) {
  const auto* step = loop.body.size() == 1 ? std::get_if<TapeStep>(&loop.body[0]) : nullptr;
  if (step == nullptr || !step->tape->reductions.empty() || loop.condition >= 0 || loop.stepsAtOnce != 1)
    reject(fields.path(), "of a loop with a known number of steps, and one tape without reductions");
  const std::vector<cpu::Buffer>& buffers = step->tape->buffers;
  LoopSkew skew;
  skew.tiles = fields.integer("tiles");
  skew.counters = fields.list("counters", [&](const Napi::Value& item, const std::string& path) {
    const int64_t last = static_cast<int64_t>(buffers.size()) - 1;
    const auto counter = static_cast<int>(values::integer(item, path, 0, last));
    const cpu::Buffer& buffer = buffers[counter];
    if (buffer.isOutput || buffer.dtype != DType::int64 || buffer.elementCount != 1)
      reject(path, "an input of one int64");
    return counter;
  });
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

void checkStateWindows(const LoopState& state, const Program& program, const std::string& field) {
  if (program.buffers[state.current].windowed != program.buffers[state.next].windowed)
    reject(field, "one that has windows of both states of a step, or of none");
  if (program.buffers[state.current].windowed) return;
  for (const int buffer : {state.initial, state.last, state.other}) {
    if (buffer >= 0 && isSwept(program, buffer)) reject(field, "a loop that has windows of its states");
  }
}

void checkStates(const Program& program) { StateCheck(program).steps(program.steps); }

Step readLoop(const Fields& fields, Program& program) {
  auto loop = std::make_shared<Loop>();
  const int64_t stateCount = values::array(fields.value("states"), fields.path("states")).Length();
  loop->steps = fields.integer("steps", 1);
  loop->condition = static_cast<int>(fields.integer("condition", -1, stateCount - 1));
  const bool isCounted = loop->condition < 0;
  loop->every = fields.integer("every", 0, isCounted ? loop->steps : 0);
  if (loop->every > 0 && loop->steps % loop->every != 0) fields.reject("steps", "a multiple of every");
  loop->stepsAtOnce = fields.integer("stepsAtOnce", 1, isCounted ? values::kMaxSafeInteger : 1);
  const int64_t kept = loop->every == 0 ? 0 : loop->steps / loop->every;
  const bool isOnce = isCounted && runsOf(*loop) == 1;
  loop->states = fields.list("states", [&](const Napi::Value& item, const std::string& path) {
    return StateReader(Fields(item, path), program).read(kept, isOnce);
  });
  if (!isCounted && program.buffers[loop->states[loop->condition].current].byteLength != 1)
    fields.reject("condition", "a state of one byte");
  loop->body = fields.list("body", [&](const Napi::Value& item, const std::string& path) {
    Step step = readStep(Fields(item, path), program);
    const auto* sweep = std::get_if<std::shared_ptr<const Sweep>>(&step);
    loop->hasSweeps |= sweep != nullptr;
    if (sweep != nullptr && !(*sweep)->queueParts.empty())
      reject(path + ".queueParts", "undefined in a loop");
    loop->launches += launchesOf(step);
    return step;
  });
  loop->tail = tailOf(*loop);
  if (fields.has("check")) loop->check = readCheck(fields.object("check"), *loop, program);
  if (fields.has("skew")) loop->skew = readSkew(fields.object("skew"), *loop);
  return std::shared_ptr<const Loop>(std::move(loop));
}

}  // namespace weft
