#include "runtime/small-run.h"

#include <array>
#include <cstring>
#include <mutex>

#include "cpu/library-permit.h"
#include "runtime/buffer-handle.h"
#include "runtime/device.h"
#include "runtime/host-pool.h"
#include "runtime/memory-limit.h"
#include "runtime/program.h"
#include "runtime/values.h"

namespace weft {
namespace {

// The most inputs and outputs; programs of more go the way of others.
constexpr size_t kMostBuffers = 16;

const CancelFlag never{false};

// By napi_typedarray_type.
constexpr std::array<size_t, 12> kElementByteLength = {1, 1, 1, 2, 2, 4, 4, 4, 8, 8, 8, 2};

// The memory of an input, where it has so many bytes, and some; else null.
const std::byte* inputBytes(const Napi::Value& value, size_t byteLength) {
  const napi_env env = value.Env();
  napi_typedarray_type type{};
  size_t length = 0;
  void* data = nullptr;
  if (byteLength == 0) return nullptr;
  if (napi_get_typedarray_info(env, value, &type, &length, &data, nullptr, nullptr) == napi_ok) {
    const auto at = static_cast<size_t>(type);
    const bool fits = at < kElementByteLength.size() && length * kElementByteLength[at] == byteLength;
    return fits ? static_cast<const std::byte*>(data) : nullptr;
  }
  const auto* const handle = values::tryHandle<BufferHandle>(value);
  if (handle == nullptr || !handle->memory || !handle->memory->device.isHost() ||
      handle->memory->byteLength != byteLength)
    return nullptr;
  return reinterpret_cast<const std::byte*>(handle->memory->address);
}

}  // namespace

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
  for (const Step& step : program_.steps) steps_.run(step);
  return true;
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
  if (memoryLimit(program.device->name(), 1) != kNoMemoryLimit) return other();
  size_t at = 1;
  for (size_t i = 0; i < program.inputs.size(); i++) {
    const std::byte* const data = inputBytes(info[at++], program.buffers[program.inputs[i]].byteLength);
    if (data == nullptr) return other();
    small.placeInput(i, data);
  }
  for (size_t i = 0; i < program.outputs.size(); i++) {
    void* data = nullptr;
    size_t byteLength = 0;
    const napi_status status = napi_get_arraybuffer_info(env, info[at++], &data, &byteLength);
    if (status != napi_ok || byteLength != program.buffers[program.outputs[i]].byteLength)
      values::reject("memory", "an ArrayBuffer of the bytes of output " + std::to_string(i));
    if (host::poison()) std::memset(data, 0xff, byteLength);
    small.placeOutput(i, static_cast<std::byte*>(data));
  }
  if (const size_t wanted = program.numberCount * kConstantBytes; wanted > 0) {
    napi_typedarray_type type{};
    size_t length = 0;
    void* data = nullptr;
    const napi_status status =
        napi_get_typedarray_info(env, info[at], &type, &length, &data, nullptr, nullptr);
    if (status != napi_ok || type != napi_uint8_array || length < wanted)
      values::reject("numbers", "of at least " + std::to_string(program.numberCount) + " constants");
    small.setNumbers(static_cast<const uint8_t*>(data));
  }
  return small.run() ? Napi::Value() : other();
}

}  // namespace weft
