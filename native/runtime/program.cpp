#include "runtime/program.h"

#include <algorithm>

#include "runtime/device.h"
#include "runtime/loop.h"
#include "runtime/program-steps.h"
#include "runtime/sweep.h"
#include "runtime/values.h"

namespace weft {
namespace {

using values::item;
using values::reject;

// Launches that are queued in a few times the time of short work on the CPU.
constexpr size_t kFewLaunches = 32;
// The cost of queueing a product, in launches; in a graph it is one where it has to be recorded.
constexpr size_t kProductLaunches = 4;

void readPart(const Napi::Value& value, const std::string& field, BufferSpec& buffer) {
  if (value.IsUndefined()) return;
  if (!buffer.windowed) reject(field, "of a windowed output");
  const Napi::Array range = values::array(value, field);
  const auto byteLength = static_cast<int64_t>(buffer.byteLength);
  buffer.partFirst = values::integer(range.Get(0U), field + "[0]", 0, byteLength);
  buffer.partLast =
      values::integer(range.Get(1U), field + "[1]", static_cast<int64_t>(buffer.partFirst), byteLength);
}

void readBuffers(const Napi::Object& spec, Program& program) {
  const Napi::Array list = values::array(spec.Get("buffers"), "buffers");
  for (uint32_t i = 0; i < list.Length(); i++) {
    const std::string field = item("buffers", i);
    const Napi::Object entry = values::object(list.Get(i), field);
    const std::string role = values::text(entry.Get("role"), field + ".role");
    BufferSpec buffer{Role::temporary, 0, 0, false};
    buffer.byteLength = values::integer(entry.Get("byteLength"), field + ".byteLength");
    buffer.windowed = entry.Get("windowed").ToBoolean();
    if (role == "input") {
      buffer.role = Role::input;
      buffer.isReadOnly = true;
      buffer.isReadInBlocks = entry.Get("readInBlocks").ToBoolean();
      program.inputs.push_back(static_cast<int>(i));
    } else if (role == "output") {
      buffer.role = Role::output;
      readPart(entry.Get("part"), field + ".part", buffer);
      program.outputs.push_back(static_cast<int>(i));
    } else if (role == "spill") {
      buffer.role = Role::spill;
    } else if (role == "state") {
      buffer.role = Role::state;
    } else if (role == "temporary" && !buffer.windowed) {
      buffer.offset = values::integer(entry.Get("offset"), field + ".offset");
      if (buffer.offset > program.arenaByteLength ||
          buffer.byteLength > program.arenaByteLength - buffer.offset) {
        reject(field, "inside the arena of " + std::to_string(program.arenaByteLength) + " bytes");
      }
      if (buffer.byteLength > 0 && buffer.offset % program.device->alignment() != 0) {
        reject(field + ".offset", "a multiple of " + std::to_string(program.device->alignment()));
      }
    } else if (role != "temporary") {
      reject(field + ".role", "input, output, temporary, spill or state");
    }
    program.buffers.push_back(buffer);
  }
}

void readImages(const Napi::Object& spec, Program& program) {
  const Napi::Array list = values::array(spec.Get("images"), "images");
  for (uint32_t i = 0; i < list.Length(); i++) {
    const std::string field = item("images", i);
    const Napi::Object entry = values::object(list.Get(i), field);
    auto image = std::make_shared<Image>();
    image->key = values::text(entry.Get("key"), field + ".key");
    image->bytes = values::bytes(entry.Get("bytes"), field + ".bytes");
    if (image->bytes.empty()) reject(field + ".bytes", "not empty");
    // PTX is text that the driver reads up to a terminating 0; a cubin does not mind one.
    image->bytes.push_back(0);
    program.images.push_back(std::move(image));
  }
}
// Outside of sweeps, nothing uses buffers that there are windows of, but a loop to whose sweeps they are
// states.
void checkWhole(const Step& step, const Program& program, const std::string& field) {
  if (const auto* found = std::get_if<std::shared_ptr<const Loop>>(&step)) {
    const Loop& loop = **found;
    for (const LoopState& state : loop.states) checkHomes(state, program, field);
    for (const Step& part : loop.body) checkWhole(part, program, field);
    return;
  }
  for (const int buffer : buffersOf(step)) {
    if (isSwept(program, buffer)) reject(field, "in a sweep: it uses buffers that there are windows of");
  }
}

// Buffers read in blocks are read by loads of the CPU's tapes, outside of loops and sweeps.
void checkReadInBlocks(const Step& step, const Program& program, const std::string& field) {
  const auto& buffers = program.buffers;
  const auto isOne = [&](int buffer) { return buffers[buffer].isReadInBlocks; };
  if (const auto* tape = std::get_if<TapeStep>(&step)) {
    for (size_t i = 0; i < tape->buffers.size(); i++)
      if (isOne(tape->buffers[i]) && !cpu::isReadByOneLoad(*tape->tape, i))
        reject(field, "a tape with one load, without bounds, of a buffer that is read in blocks");
    return;
  }
  const bool isSimple = std::holds_alternative<MatmulStep>(step) || std::holds_alternative<RoutineStep>(step);
  const auto used = isSimple ? buffersOf(step) : program.inputs;
  if (std::any_of(used.begin(), used.end(), isOne))
    reject(field, "a tape beside buffers that are read in blocks");
}

void readSteps(const Napi::Object& spec, Program& program) {
  const Napi::Array list = values::array(spec.Get("steps"), "steps");
  program.steps.reserve(list.Length());
  for (uint32_t i = 0; i < list.Length(); i++) {
    const Napi::HandleScope scope(spec.Env());
    const std::string field = item("steps", i);
    const Napi::Object entry = values::object(list.Get(i), field);
    program.steps.push_back(readStep(entry, field, program));
    checkWhole(program.steps.back(), program, field);
    checkReadInBlocks(program.steps.back(), program, field);
  }
}

// Whether nothing of a program takes long, or waits.
bool isSmall(const Program& program, bool replayed) {
  const bool isOnGpu = program.device->name() != "cpu";
  for (const BufferSpec& buffer : program.buffers) {
    if (buffer.windowed || buffer.role == Role::spill) return false;
  }
  double work = 0;
  size_t launches = replayed ? program.graphs.size() : 0;
  std::vector<bool> repeated(program.steps.size());
  if (replayed) {
    for (const auto& [first, count] : program.graphs) std::fill_n(repeated.begin() + first, count, true);
  }
  for (size_t i = 0; i < program.steps.size(); i++) {
    const Step& step = program.steps[i];
    if (const auto* tape = std::get_if<TapeStep>(&step)) {
      work += tape->work;
    } else if (std::holds_alternative<LaunchStep>(step) || std::holds_alternative<ZeroStep>(step)) {
      launches += repeated[i] ? 0 : 1;
    } else if (std::holds_alternative<MatmulStep>(step) && isOnGpu) {
      launches += repeated[i] ? 1 : kProductLaunches;
    } else {
      return false;
    }
  }
  return work <= kShortWork && launches <= kFewLaunches;
}

void readStreams(const Napi::Object& spec, Program& program) {
  if (!spec.Has("streams")) return;
  if (program.device->isHost()) reject("streams", "none on the CPU");
  const Napi::Object streams = values::object(spec.Get("streams"), "streams");
  program.streams = values::integer(streams.Get("count"), "streams.count", 1, kMostStreams);
  const Napi::Array list = values::array(streams.Get("steps"), "streams.steps");
  if (list.Length() != program.steps.size()) reject("streams.steps", "one for each step");
  const auto stepAt = [&](const Napi::Value& value, const std::string& field, size_t below) {
    if (below == 0) reject(field, "an earlier step");
    const size_t step = values::integer(value, field, 0, static_cast<int64_t>(below) - 1);
    program.orders[step].isAwaited = true;
    return step;
  };
  for (uint32_t i = 0; i < list.Length(); i++) {
    const std::string field = item("streams.steps", i);
    const Napi::Object entry = values::object(list.Get(i), field);
    const auto last = static_cast<int64_t>(program.streams) - 1;
    Program::Order order{};
    order.stream = values::integer(entry.Get("stream"), field + ".stream", 0, last);
    const Napi::Array after = values::array(entry.Get("after"), field + ".after");
    for (uint32_t k = 0; k < after.Length(); k++)
      order.after.push_back(stepAt(after.Get(k), field + "." + item("after", k), i));
    program.orders.push_back(std::move(order));
  }
  const Napi::Array ends = values::array(streams.Get("ends"), "streams.ends");
  for (uint32_t k = 0; k < ends.Length(); k++)
    program.ends.push_back(stepAt(ends.Get(k), item("streams.ends", k), program.orders.size()));
}

// A graph that is not the whole program's is in one stream: only its first step waits for others, and only
// its last one is waited for.
void checkStreams(const Program& program) {
  size_t count = 0;
  for (const Program::Stretch& stretch : program.graphs) count += stretch.count;
  if (program.orders.empty() || count == program.steps.size()) return;
  for (const Program::Stretch& stretch : program.graphs) {
    for (size_t k = stretch.first; k < stretch.first + stretch.count; k++) {
      const Program::Order& order = program.orders[k];
      const bool isFirst = k == stretch.first;
      const bool isLast = k + 1 == stretch.first + stretch.count;
      if (order.stream != program.orders[stretch.first].stream || (!isFirst && !order.after.empty()) ||
          (!isLast && order.isAwaited))
        reject("graphs", "in one stream each");
    }
  }
}

void readGraphs(const Napi::Object& spec, Program& program) {
  if (!spec.Has("graphs")) return;
  const Napi::Array list = values::array(spec.Get("graphs"), "graphs");
  size_t end = 0;
  for (uint32_t i = 0; i < list.Length(); i++) {
    const std::string field = item("graphs", i);
    const Napi::Object entry = values::object(list.Get(i), field);
    const auto stepCount = static_cast<int64_t>(program.steps.size());
    const size_t first = values::integer(entry.Get("first"), field + ".first", end, stepCount);
    const auto most = static_cast<int64_t>(program.steps.size() - first);
    end = first + values::integer(entry.Get("count"), field + ".count", 1, most);
    for (size_t k = first; k < end; k++) {
      const Step& step = program.steps[k];
      if (!canRepeat(step, program)) reject(field, "launches, products and buffers to be zeroed");
    }
    program.graphs.push_back({first, end - first});
  }
}
}  // namespace

Napi::Value createProgram(const Napi::CallbackInfo& info) {
  const Napi::Object spec = values::object(info[0], "spec");
  auto program = std::make_shared<Program>();
  program->device = &deviceNamed(values::text(spec.Get("device"), "device"));
  program->arenaByteLength = values::integer(spec.Get("arenaByteLength"), "arenaByteLength");
  if (spec.Has("copyByteLength"))
    program->copyByteLength = values::integer(spec.Get("copyByteLength"), "copyByteLength", 1);
  if (spec.Has("lockByteLength"))
    program->lockByteLength = values::integer(spec.Get("lockByteLength"), "lockByteLength");
  readBuffers(spec, *program);
  readImages(spec, *program);
  readSteps(spec, *program);
  checkStates(*program);
  readStreams(spec, *program);
  readGraphs(spec, *program);
  checkStreams(*program);
  program->isSmall = isSmall(*program, false);
  program->isSmallReplayed = isSmall(*program, true);
  return values::makeHandle(info.Env(), std::make_unique<ProgramHandle>(ProgramHandle{std::move(program)}));
}

}  // namespace weft
