#include "runtime/program.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "cuda/library-routines.h"
#include "runtime/device.h"
#include "runtime/fields.h"
#include "runtime/loop.h"
#include "runtime/program-steps.h"
#include "runtime/sweep.h"

namespace weft {
namespace {

using values::reject;

// Work that the beginning of a kernel of the CPU stands for: 50 without elements are no longer short.
constexpr double kBeginWork = kShortWork / 50;
// Launches that are queued in a few times the time of short work on the CPU.
constexpr size_t kFewLaunches = 32;
// The cost of queueing a product, in launches; in a graph it is one where it has to be recorded.
constexpr size_t kProductLaunches = 4;

// The range of bytes of a windowed output that stays on its device.
void readPart(const Fields& fields, BufferSpec& buffer) {
  if (!fields.has("part")) return;
  if (!buffer.windowed) fields.reject("part", "of a windowed output");
  const std::vector<int64_t> range = fields.integers("part");
  if (range.size() != 2 || range[0] > range[1] || range[1] > static_cast<int64_t>(buffer.byteLength))
    fields.reject("part", "a range of its bytes");
  buffer.partFirst = range[0];
  buffer.partLast = range[1];
}

constexpr std::pair<const char*, Role> kRoles[] = {{"input", Role::input},
                                                   {"output", Role::output},
                                                   {"temporary", Role::temporary},
                                                   {"spill", Role::spill},
                                                   {"state", Role::state}};

Role readRole(const Fields& fields) {
  const std::string role = fields.text("role");
  for (const auto& [name, value] : kRoles)
    if (role == name) return value;
  fields.reject("role", "input, output, temporary, spill or state");
}

void readPlace(const Fields& fields, const Program& program, BufferSpec& buffer) {
  buffer.offset = fields.integer("offset");
  if (buffer.offset > program.arenaByteLength || buffer.byteLength > program.arenaByteLength - buffer.offset)
    values::reject(fields.path(),
                   "inside the arena of " + std::to_string(program.arenaByteLength) + " bytes");
  if (buffer.byteLength > 0 && buffer.offset % program.device->alignment() != 0)
    fields.reject("offset", "a multiple of " + std::to_string(program.device->alignment()));
}

void readBuffer(const Fields& fields, Program& program) {
  BufferSpec buffer{readRole(fields), 0, 0, false};
  buffer.byteLength = fields.integer("byteLength");
  buffer.windowed = fields.flag("windowed");
  const int position = static_cast<int>(program.buffers.size());
  if (buffer.role == Role::input) {
    buffer.isReadOnly = true;
    buffer.isReadInBlocks = fields.flag("readInBlocks");
    program.inputs.push_back(position);
  } else if (buffer.role == Role::output) {
    readPart(fields, buffer);
    program.outputs.push_back(position);
  } else if (buffer.role == Role::temporary && !buffer.windowed) {
    readPlace(fields, program, buffer);
  }
  program.buffers.push_back(buffer);
}

std::shared_ptr<const Image> readImage(const Fields& fields) {
  auto image = std::make_shared<Image>();
  image->key = fields.text("key");
  image->bytes = fields.bytes("bytes");
  if (image->bytes.empty()) fields.reject("bytes", "not empty");
  // PTX is text that the driver reads up to a terminating 0; a cubin does not mind one.
  image->bytes.push_back(0);
  return image;
}

// Outside of sweeps, nothing uses buffers that there are windows of, but a loop to whose sweeps they are
// states.
void checkWhole(const Step& step, const Program& program, const std::string& field) {
  if (const auto* found = std::get_if<std::shared_ptr<const Loop>>(&step)) {
    const Loop& loop = **found;
    for (const LoopState& state : loop.states) checkStateWindows(state, program, field);
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
  const bool isSimple = std::holds_alternative<MatmulStep>(step) ||
                        std::holds_alternative<ContractionStep>(step) ||
                        std::holds_alternative<RoutineStep>(step);
  const auto used = isSimple ? buffersOf(step) : program.inputs;
  if (std::any_of(used.begin(), used.end(), isOne))
    reject(field, "a tape beside buffers that are read in blocks");
}

void readStepOf(Program& program, const Napi::Value& item, const std::string& path) {
  program.steps.push_back(readStep(Fields(item, path), program));
  checkWhole(program.steps.back(), program, path);
  checkReadInBlocks(program.steps.back(), program, path);
}

Program& programOf(const Napi::Value& draft) {
  const auto& program = values::handle<ProgramDraft>(draft, "draft").program;
  if (program == nullptr) values::reject("draft", "a program that is not made yet");
  return *program;
}

// Reads the next items of a list of a spec, as many as the call says: (draft, spec, count).
template <typename Read>
void readNext(const Napi::CallbackInfo& info, const char* field, size_t known, const Read& read) {
  const Napi::Array items = values::array(Fields(info[1], "").value(field), field);
  const auto first = static_cast<int64_t>(known);
  const auto count = values::integer(info[2], "count", 0, int64_t{items.Length()} - first);
  for (auto k = static_cast<uint32_t>(first); k < first + count; k++) {
    const Napi::HandleScope scope(info.Env());
    read(items.Get(k), values::item(field, k));
  }
}

void checkAllAdded(const Fields& spec, const char* field, size_t added) {
  if (values::array(spec.value(field), field).Length() != added)
    spec.reject(field, "the " + std::to_string(added) + " that were added");
}

// A GPU's programs have no tapes.
void checkTapesAdded(const Fields& spec, const Program& program) {
  if (spec.has("tapes")) checkAllAdded(spec, "tapes", program.tapes.size());
}

// Whether it takes as long as the elements of a step say.
bool isUnbounded(const Step& step) {
  if (const auto* tape = std::get_if<TapeStep>(&step)) return hasElementLoops(*tape->tape);
  const auto* const routine = std::get_if<RoutineStep>(&step);
  if (routine == nullptr) return false;
  const std::optional<RoutineMap>* const maps[] = {&routine->prologue, &routine->weights, &routine->epilogue};
  return std::any_of(std::begin(maps), std::end(maps),
                     [](const auto* map) { return *map && hasElementLoops(*(*map)->tape); });
}

// Whether nothing of a program takes long, or waits. `isShort`: nor do products, routines and tapes of the
// CPU, all together.
bool isSmall(const Program& program, bool asGraphs, bool isShort) {
  const bool isOnGpu = program.device->name() != "cpu";
  for (const BufferSpec& buffer : program.buffers) {
    if (buffer.windowed || buffer.role == Role::spill) return false;
  }
  double work = 0;
  size_t launches = asGraphs ? program.graphs.size() : 0;
  std::vector<bool> repeated(program.steps.size());
  if (asGraphs) {
    for (const auto& [first, count] : program.graphs) std::fill_n(repeated.begin() + first, count, true);
  }
  for (size_t i = 0; i < program.steps.size(); i++) {
    const Step& step = program.steps[i];
    if (isUnbounded(step)) return false;
    if (const auto* tape = std::get_if<TapeStep>(&step)) {
      if (isOnGpu || !isShort) work += tape->work + (isOnGpu ? 0 : kBeginWork);
    } else if (std::holds_alternative<LaunchStep>(step) || std::holds_alternative<ZeroStep>(step)) {
      launches += repeated[i] ? 0 : 1;
    } else if ((std::holds_alternative<MatmulStep>(step) && isOnGpu) ||
               std::holds_alternative<ContractionStep>(step)) {
      launches += repeated[i] ? 1 : kProductLaunches;
    } else if (const auto* routine = std::get_if<RoutineStep>(&step);
               routine != nullptr && isOnGpu && routine->library->launches != nullptr) {
      launches += repeated[i] ? 1 : routine->library->launches(routine->numbers);
    } else if (!isOnGpu && isShort && (std::holds_alternative<MatmulStep>(step) || routine != nullptr)) {
      continue;
    } else {
      return false;
    }
  }
  return work <= kShortWork && launches <= kFewLaunches;
}

void readStreams(const Fields& spec, Program& program) {
  if (!spec.has("streams")) return;
  if (program.device->isHost()) spec.reject("streams", "none on the CPU");
  const Fields streams = spec.object("streams");
  program.streams = streams.integer("count", 1, kMostStreams);
  const auto stepBelow = [&](size_t below) {
    return [&program, below](const Napi::Value& item, const std::string& path) {
      if (below == 0) values::reject(path, "an earlier step");
      const size_t step = values::integer(item, path, 0, static_cast<int64_t>(below) - 1);
      program.orders[step].isAwaited = true;
      return step;
    };
  };
  streams.list("steps", [&](const Napi::Value& item, const std::string& path) {
    const Fields fields(item, path);
    Program::StreamStep order{};
    order.stream = fields.integer("stream", 0, static_cast<int64_t>(program.streams) - 1);
    order.after = fields.list("after", stepBelow(program.orders.size()));
    program.orders.push_back(std::move(order));
  });
  if (program.orders.size() != program.steps.size()) streams.reject("steps", "one for each step");
  program.ends = streams.list("ends", stepBelow(program.orders.size()));
}

// A graph that is not the whole program's is in one stream: only its first step waits for others, and only
// its last one is waited for.
void checkStreams(const Program& program) {
  size_t count = 0;
  for (const Program::Stretch& stretch : program.graphs) count += stretch.count;
  if (program.orders.empty() || count == program.steps.size()) return;
  for (const Program::Stretch& stretch : program.graphs) {
    for (size_t k = stretch.first; k < stretch.first + stretch.count; k++) {
      const Program::StreamStep& order = program.orders[k];
      const bool isFirst = k == stretch.first;
      const bool isLast = k + 1 == stretch.first + stretch.count;
      if (order.stream != program.orders[stretch.first].stream || (!isFirst && !order.after.empty()) ||
          (!isLast && order.isAwaited))
        reject("graphs", "in one stream each");
    }
  }
}

// A sweep that copies nothing, whose tiles are queued one after the other.
bool canRepeatTiles(const Step& step, const Program& program) {
  const auto* sweep = std::get_if<std::shared_ptr<const Sweep>>(&step);
  return sweep != nullptr && isLocal(**sweep) &&
         std::all_of((*sweep)->body.begin(), (*sweep)->body.end(),
                     [&](const SweepBody& part) { return canRepeat(part.step, program); });
}

void readGraphs(const Fields& spec, Program& program) {
  if (!spec.has("graphs")) return;
  size_t end = 0;
  spec.list("graphs", [&](const Napi::Value& item, const std::string& path) {
    const Fields fields(item, path);
    const auto steps = static_cast<int64_t>(program.steps.size());
    const size_t first = fields.integer("first", static_cast<int64_t>(end), steps);
    const size_t count = fields.integer("count", 1, steps - static_cast<int64_t>(first));
    end = first + count;
    for (size_t k = first; k < end; k++) {
      const bool isAlone = count == 1 && canRepeatTiles(program.steps[k], program);
      if (!isAlone && !canRepeat(program.steps[k], program))
        values::reject(path, "launches, products and buffers to be zeroed, or tiles of them");
    }
    program.graphs.push_back({first, count});
  });
}

}  // namespace

Napi::Value beginProgram(const Napi::CallbackInfo& info) {
  const Fields spec(info[0], "");
  auto program = std::make_shared<Program>();
  program->device = &deviceNamed(spec.text("device"));
  program->arenaByteLength = spec.integer("arenaByteLength");
  if (spec.has("copyByteLength")) program->copyByteLength = spec.integer("copyByteLength", 1);
  if (spec.has("lockByteLength")) program->lockByteLength = spec.integer("lockByteLength");
  for (const char* field : {"buffers", "steps"}) values::array(spec.value(field), field);
  program->images = spec.list("images", [](const Napi::Value& item, const std::string& path) {
    return readImage(Fields(item, path));
  });
  return values::makeHandle(info.Env(), std::make_unique<ProgramDraft>(ProgramDraft{std::move(program)}));
}

Napi::Value addBuffers(const Napi::CallbackInfo& info) {
  Program& program = programOf(info[0]);
  readNext(info, "buffers", program.buffers.size(), [&](const Napi::Value& item, const std::string& path) {
    readBuffer(Fields(item, path), program);
  });
  return info.Env().Undefined();
}

Napi::Value addTapes(const Napi::CallbackInfo& info) {
  Program& program = programOf(info[0]);
  readNext(info, "tapes", program.tapes.size(), [&](const Napi::Value& item, const std::string& path) {
    program.tapes.push_back(cpu::parseTape(values::object(item, path)));
  });
  return info.Env().Undefined();
}

Napi::Value addSteps(const Napi::CallbackInfo& info) {
  Program& program = programOf(info[0]);
  const Fields spec(info[1], "");
  checkAllAdded(spec, "buffers", program.buffers.size());
  checkTapesAdded(spec, program);
  readNext(info, "steps", program.steps.size(),
           [&](const Napi::Value& item, const std::string& path) { readStepOf(program, item, path); });
  return info.Env().Undefined();
}

Napi::Value endProgram(const Napi::CallbackInfo& info) {
  Program& program = programOf(info[0]);
  const Fields spec(info[1], "");
  checkAllAdded(spec, "buffers", program.buffers.size());
  checkAllAdded(spec, "steps", program.steps.size());
  checkStates(program);
  readStreams(spec, program);
  readGraphs(spec, program);
  checkStreams(program);
  const bool isShort = spec.has("isShort");
  program.isSmall = isSmall(program, false, isShort);
  program.isSmallAsGraphs = isSmall(program, true, isShort);
  auto made = std::move(values::handle<ProgramDraft>(info[0], "draft").program);
  return values::makeHandle(info.Env(), std::make_unique<ProgramHandle>(ProgramHandle{std::move(made)}));
}

}  // namespace weft
