#include "runtime/run.h"

#include <chrono>
#include <cstring>

#include "runtime/environment.h"
#include "runtime/program.h"
#include "runtime/values.h"

namespace weft {
namespace {

// An ArrayBuffer over a result's memory; a copy where the engine does not allow buffers it did not allocate.
Napi::Value toArrayBuffer(Napi::Env env, std::shared_ptr<Memory> memory) {
  const size_t byteLength = memory->byteLength;
  if (byteLength == 0) return Napi::ArrayBuffer::New(env, 0);
  void* data = reinterpret_cast<void*>(memory->address);
  auto owner = std::make_unique<std::shared_ptr<Memory>>(std::move(memory));
  napi_value value = nullptr;
  const auto release = [](napi_env, void*, void* hint) {
    delete static_cast<std::shared_ptr<Memory>*>(hint);
  };
  const napi_status status =
      napi_create_external_arraybuffer(env, data, byteLength, release, owner.get(), &value);
  if (status == napi_ok) {
    owner.release();
    return {env, value};
  }
  if (status != napi_no_external_buffers_allowed) {
    throw Failure(FailureCode::memory,
                  "no ArrayBuffer of " + std::to_string(byteLength) + " bytes could be made");
  }
  Napi::ArrayBuffer copy = Napi::ArrayBuffer::New(env, byteLength);
  std::memcpy(copy.Data(), data, byteLength);
  return copy;
}

Napi::Value toBufferObject(Napi::Env env, std::shared_ptr<Memory> memory) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("device", memory->device.name());
  object.Set("byteLength", static_cast<double>(memory->byteLength));
  object.Set("handle", values::makeHandle(env, std::make_unique<BufferHandle>(env, std::move(memory))));
  return object;
}

class RunTask : public Task {
 public:
  RunTask(Napi::Env env, Run request) : Task(env), run_(std::move(request)) { setCancelFlag(run_.cancel); }

  void run() override {
    const auto start = std::chrono::steady_clock::now();
    checkCancelled(*run_.cancel);
    run_.program->device->run(run_);
    nanoseconds_ =
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start);
    // Inputs on a device are let go here, not when the JavaScript thread comes round.
    run_.inputs.clear();
  }

  Napi::Value result(Napi::Env env) override {
    Napi::Array outputs = Napi::Array::New(env, run_.outputs.size());
    for (uint32_t i = 0; i < run_.outputs.size(); i++) {
      std::shared_ptr<Memory> memory = std::move(run_.outputs[i]);
      outputs.Set(i, run_.keepOnDevice[i] ? toBufferObject(env, std::move(memory))
                                          : toArrayBuffer(env, std::move(memory)));
    }
    Napi::Object result = Napi::Object::New(env);
    result.Set("outputs", outputs);
    result.Set("nanoseconds", static_cast<double>(nanoseconds_.count()));
    return result;
  }

 private:
  Run run_;
  std::chrono::nanoseconds nanoseconds_{};
};

struct View {
  const void* data;
  size_t byteLength;
  bool detached;
};

View viewOf(const Napi::Value& value, const std::string& field) {
  const napi_env env = value.Env();
  bool isView = false;
  void* data = nullptr;
  size_t byteLength = 0;
  napi_value buffer = nullptr;
  if (value.IsTypedArray()) {
    const Napi::TypedArray array = value.As<Napi::TypedArray>();
    byteLength = array.ByteLength();
    isView = napi_get_typedarray_info(env, value, nullptr, nullptr, &data, &buffer, nullptr) == napi_ok;
  } else if (value.IsDataView()) {
    isView = napi_get_dataview_info(env, value, &byteLength, &data, &buffer, nullptr) == napi_ok;
  }
  if (!isView) values::reject(field, "a typed array or a device buffer");
  bool detached = false;
  napi_is_detached_arraybuffer(env, buffer, &detached);
  return {data, byteLength, detached};
}

void checkByteLength(size_t byteLength, size_t wanted, const std::string& field) {
  if (byteLength != wanted) {
    values::reject(field, "of " + std::to_string(wanted) + " bytes: " + std::to_string(byteLength));
  }
}

// Reads input i; what is to be kept alive goes into `held`.
Run::Input readInput(const Napi::Value& value, size_t wanted, const Program& program,
                     const std::string& field, std::vector<Napi::Object>& held) {
  Run::Input input;
  if (const BufferHandle* handle = values::tryHandle<BufferHandle>(value)) {
    if (!handle->memory) values::reject(field, "a device buffer that was not disposed");
    if (&handle->memory->device != program.device) {
      values::reject(field, "on " + program.device->name() + ": " + handle->memory->device.name());
    }
    checkByteLength(handle->memory->byteLength, wanted, field);
    input.memory = handle->memory;
    return input;
  }
  const View view = viewOf(value, field);
  if (view.detached) values::reject(field, "over an ArrayBuffer that is not detached");
  checkByteLength(view.byteLength, wanted, field);
  input.host = view.data;
  held.push_back(value.As<Napi::Object>());
  return input;
}

// What the collector is told of a block on a device. Told the whole size, it would collect after nearly every
// large result (which takes longer than a kernel over it); a 64th still makes it run every few GiB.
int64_t weightOf(const Memory& memory) { return static_cast<int64_t>(memory.byteLength / 64); }

}  // namespace

BufferHandle::BufferHandle(Napi::Env env, std::shared_ptr<Memory> memory)
    : env(env), memory(std::move(memory)) {
  Napi::MemoryManagement::AdjustExternalMemory(env, weightOf(*this->memory));
}

void BufferHandle::dispose() {
  if (!memory) return;
  Napi::MemoryManagement::AdjustExternalMemory(env, -weightOf(*memory));
  memory.reset();
}

Napi::Value run(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  Run request;
  request.program = values::handle<ProgramHandle>(info[0], "program").program;
  const Program& program = *request.program;

  const Napi::Array inputs = values::array(info[1], "inputs");
  if (inputs.Length() != program.inputs.size()) {
    values::reject("inputs", "as many as the program has: " + std::to_string(program.inputs.size()));
  }
  std::vector<Napi::Object> held;
  for (uint32_t i = 0; i < inputs.Length(); i++) {
    const size_t wanted = program.buffers[program.inputs[i]].byteLength;
    request.inputs.push_back(
        readInput(inputs.Get(i), wanted, program, "inputs[" + std::to_string(i) + "]", held));
  }
  const Napi::Array keep = values::array(info[2], "keep");
  if (keep.Length() != program.outputs.size()) {
    values::reject("keep", "one for each output: " + std::to_string(program.outputs.size()));
  }
  for (uint32_t i = 0; i < keep.Length(); i++) request.keepOnDevice.push_back(keep.Get(i).ToBoolean());
  request.cancel = info[3].IsUndefined() ? std::make_shared<CancelFlag>(false)
                                         : values::handle<Cancel>(info[3], "cancel").flag;

  const auto task = std::make_shared<RunTask>(env, std::move(request));
  for (const Napi::Object& object : held) task->hold(object);
  return Environment::of(env).start(task, program.device->executor());
}

Napi::Value disposeBuffer(const Napi::CallbackInfo& info) {
  values::handle<BufferHandle>(info[0], "handle").dispose();
  return info.Env().Undefined();
}

}  // namespace weft
