#include "runtime/small-run.h"

#include <array>
#include <cstring>
#include <iterator>

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

Napi::Value runSmall(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const Program& program = *values::handle<ProgramHandle>(info[0], "program").program;
  const size_t inputCount = program.inputs.size(), outputCount = program.outputs.size();
  if (!program.isSmall || !program.device->isHost() || inputCount > kMostBuffers ||
      outputCount > kMostBuffers)
    return env.Undefined();
  if (memoryLimit(program.device->name(), 1) != kNoMemoryLimit) return Napi::Boolean::New(env, false);
  std::array<const std::byte*, kMostBuffers> inputs;
  std::array<std::byte*, kMostBuffers> outputs;
  size_t at = 1;
  for (size_t i = 0; i < inputCount; i++) {
    inputs[i] = inputBytes(info[at++], program.buffers[program.inputs[i]].byteLength);
    if (inputs[i] == nullptr) return Napi::Boolean::New(env, false);
  }
  for (size_t i = 0; i < outputCount; i++) {
    void* data = nullptr;
    size_t byteLength = 0;
    const napi_status status = napi_get_arraybuffer_info(env, info[at++], &data, &byteLength);
    if (status != napi_ok || byteLength != program.buffers[program.outputs[i]].byteLength)
      values::reject("memory", "an ArrayBuffer of the bytes of output " + std::to_string(i));
    if (host::poison()) std::memset(data, 0xff, byteLength);
    outputs[i] = static_cast<std::byte*>(data);
  }
  const uint8_t* numbers = nullptr;
  if (const size_t wanted = program.numberCount * kConstantBytes; wanted > 0) {
    napi_typedarray_type type{};
    size_t length = 0;
    void* data = nullptr;
    const napi_status status =
        napi_get_typedarray_info(env, info[at], &type, &length, &data, nullptr, nullptr);
    if (status != napi_ok || type != napi_uint8_array || length < wanted)
      values::reject("numbers", "of at least " + std::to_string(program.numberCount) + " constants");
    numbers = static_cast<const uint8_t*>(data);
  }
  return Napi::Boolean::New(env, computeSmall(program, inputs.data(), outputs.data(), numbers));
}

}  // namespace weft
