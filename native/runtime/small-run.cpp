#include "runtime/small-run.h"

#include <cstring>
#include <mutex>

#include "cpu/library-permit.h"
#include "cpu/tape-repeat.h"
#include "runtime/buffer-handle.h"
#include "runtime/device.h"
#include "runtime/host-pool.h"
#include "runtime/memory-limit.h"
#include "runtime/program.h"
#include "runtime/recorder.h"
#include "runtime/values.h"

namespace weft {
namespace {

// The most inputs and outputs; programs of more go the way of others.
constexpr size_t kMostBuffers = 16;

const CancelFlag never{false};

struct Viewed {
  void* data = nullptr;
  size_t byteLength = 0;
};

// Of a typed array or DataView, else nothing. Its bytes, whatever its type: Node-API's own function for typed
// arrays takes three times as long to find that.
bool viewedBytes(napi_env env, napi_value value, Viewed& memory) {
  bool isView = false;
  return napi_is_buffer(env, value, &isView) == napi_ok && isView &&
         napi_get_buffer_info(env, value, &memory.data, &memory.byteLength) == napi_ok;
}

// The memory of an input, where it has so many bytes, and some; else null.
const std::byte* inputBytes(const Napi::Value& value, size_t byteLength) {
  Viewed memory;
  if (byteLength == 0) return nullptr;
  if (viewedBytes(value.Env(), value, memory))
    return memory.byteLength == byteLength ? static_cast<const std::byte*>(memory.data) : nullptr;
  const auto* const handle = values::tryHandle<BufferHandle>(value);
  if (handle == nullptr || !handle->memory || !handle->memory->device.isHost() ||
      handle->memory->byteLength != byteLength)
    return nullptr;
  return reinterpret_cast<const std::byte*>(handle->memory->address);
}

}  // namespace

// A tape that runs again and again.
struct SmallRun::Repeated {
  const TapeStep& step;
  std::vector<cpu::TapeBuffer> buffers;
  cpu::RepeatedTape tape;
};

SmallRun::~SmallRun() = default;

SmallRun::SmallRun(const Program& program)
    : program_(program),
      hasRoutines_(hasRoutines(program)),
      numbers_(program.numberCount * kConstantBytes),
      steps_(program, numbers_.data(), &never) {}

bool SmallRun::takes(const Program& program) {
  return program.isSmall && program.device->isHost() && program.inputs.size() <= kMostBuffers &&
         program.outputs.size() <= kMostBuffers;
}

void SmallRun::placeInput(size_t i, const std::byte* data) {
  // Steps only read inputs.
  steps_.views[program_.inputs[i]].data = const_cast<std::byte*>(data);
}

void SmallRun::placeOutput(size_t i, std::byte* data) { steps_.views[program_.outputs[i]].data = data; }

void SmallRun::setNumbers(const uint8_t* numbers) {
  if (std::memcmp(numbers_.data(), numbers, numbers_.size()) == 0) return;
  std::memcpy(numbers_.data(), numbers, numbers_.size());
  steps_.renewConstants();
}

bool SmallRun::run() {
  std::unique_lock<std::mutex> permit;
  if (hasRoutines_) {
    permit = cpu::tryLibraryPermit();
    if (!permit) return false;
  }
  const host::Block arena = host::allocate(program_.arenaByteLength, host::Purpose::work);
  if (arena.data() != arena_) {
    arena_ = arena.as<std::byte>();
    steps_.placeTemporaries(arena_);
  }
  if (!hasRun_ || recorder::isOn()) {
    hasRun_ = true;
    for (const Step& step : program_.steps) steps_.run(step);
    return true;
  }
  if (repeated_.empty()) repeat();
  for (size_t k = 0; k < repeated_.size(); k++) {
    Repeated* const one = repeated_[k].get();
    if (one == nullptr) {
      steps_.run(program_.steps[k]);
      continue;
    }
    recorder::count(recorder::Kind::kernel, 0);
    for (size_t i = 0; i < one->step.buffers.size(); i++)
      one->buffers[i].data = steps_.views[one->step.buffers[i]].data;
    one->tape.run(one->buffers.data());
  }
  return true;
}

void SmallRun::repeat() {
  for (const Step& step : program_.steps) {
    const auto* const tape = std::get_if<TapeStep>(&step);
    std::unique_ptr<Repeated>& one = repeated_.emplace_back();
    if (tape != nullptr && cpu::RepeatedTape::takes(*tape->tape))
      one.reset(new Repeated{*tape, steps_.buffersOf(*tape), cpu::RepeatedTape(*tape->tape)});
  }
}

Napi::Value runSmall(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  auto& handle = values::handle<ProgramHandle>(info[0], "program");
  const Program& program = *handle.program;
  if (!handle.small) {
    if (!SmallRun::takes(program)) return Napi::Boolean::New(env, false);
    handle.small = std::make_shared<SmallRun>(program);
  }
  SmallRun& small = *handle.small;
  const auto other = [&] { return Napi::Boolean::New(env, true); };
  if (hasMemoryLimits() && memoryLimit(program.device->name(), 1) != kNoMemoryLimit) return other();
  uint32_t given = 0;
  if (napi_get_value_uint32(env, info[1], &given) != napi_ok) values::reject("given", "a number");
  const auto isGiven = [&](size_t k) { return (given >> k & 1) != 0; };
  size_t at = 2;
  for (size_t i = 0; i < program.inputs.size(); i++) {
    if (!isGiven(i) && small.hasInput(i)) continue;
    const std::byte* const data = inputBytes(info[at++], program.buffers[program.inputs[i]].byteLength);
    if (data == nullptr) return other();
    small.placeInput(i, data);
  }
  for (size_t i = 0; i < program.outputs.size(); i++) {
    if (!isGiven(kMostBuffers + i) && small.hasOutput(i)) continue;
    void* data = nullptr;
    size_t byteLength = 0;
    const napi_status status = napi_get_arraybuffer_info(env, info[at++], &data, &byteLength);
    if (status != napi_ok || byteLength != program.buffers[program.outputs[i]].byteLength)
      values::reject("memory", "an ArrayBuffer of the bytes of output " + std::to_string(i));
    if (host::poison()) std::memset(data, 0xff, byteLength);
    small.placeOutput(i, static_cast<std::byte*>(data));
  }
  if (const size_t wanted = program.numberCount * kConstantBytes; wanted > 0) {
    Viewed numbers;
    if (!viewedBytes(env, info[at], numbers) || numbers.byteLength < wanted)
      values::reject("numbers", "of at least " + std::to_string(program.numberCount) + " constants");
    small.setNumbers(static_cast<const uint8_t*>(numbers.data));
  }
  return small.run() ? Napi::Value() : other();
}

}  // namespace weft
