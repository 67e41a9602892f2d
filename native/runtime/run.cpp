#include "runtime/run.h"

#include <algorithm>
#include <iterator>

#include "runtime/buffer-handle.h"
#include "runtime/engine-memory.h"
#include "runtime/environment.h"
#include "runtime/fields.h"
#include "runtime/program.h"
#include "runtime/run-task.h"
#include "runtime/sink-output.h"
#include "runtime/source-input.h"
#include "runtime/values.h"

namespace weft {
namespace {

// By napi_typedarray_type.
constexpr size_t kTypedArrayElementByteLength[] = {1, 1, 1, 2, 2, 4, 4, 4, 8, 8, 8, 2};

struct View {
  const void* data = nullptr;
  size_t byteLength = 0;
  napi_value buffer = nullptr;
};

// Whether the value is a view of an ArrayBuffer.
bool readView(const Napi::Value& value, View& view) {
  const napi_env env = value.Env();
  void* data = nullptr;
  napi_status status = napi_invalid_arg;
  if (value.IsTypedArray()) {
    napi_typedarray_type type{};
    size_t length = 0;
    status = napi_get_typedarray_info(env, value, &type, &length, &data, &view.buffer, nullptr);
    if (static_cast<size_t>(type) >= std::size(kTypedArrayElementByteLength)) return false;
    view.byteLength = length * kTypedArrayElementByteLength[type];
  } else if (value.IsDataView()) {
    status = napi_get_dataview_info(env, value, &view.byteLength, &data, &view.buffer, nullptr);
  }
  view.data = data;
  return status == napi_ok;
}

// "inputs[3]"; made for messages alone.
std::string nameOf(uint32_t input) { return "inputs[" + std::to_string(input) + "]"; }

void checkByteLength(size_t byteLength, size_t wanted, uint32_t input) {
  if (byteLength == wanted) return;
  values::reject(nameOf(input), "of " + std::to_string(wanted) + " bytes: " + std::to_string(byteLength));
}

bool isNone(const Napi::Value& value) { return value.IsUndefined() || value.IsNull(); }

// Reads where the pieces of an input are: { pieces: { buffer: BufferHandle, first: number }[] }.
void readPieces(const Napi::Array& list, const Program& program, uint32_t position, Run::Input& input) {
  const auto wanted = static_cast<int64_t>(program.buffers[program.inputs[position]].byteLength);
  if (program.device->isHost()) values::reject(nameOf(position), "in one piece on the CPU");
  for (uint32_t i = 0; i < list.Length(); i++) {
    const std::string field = nameOf(position) + ".pieces[" + std::to_string(i) + "]";
    const Fields piece(list.Get(i), field);
    const auto& handle = values::handle<BufferHandle>(piece.value("buffer"), piece.path("buffer"));
    if (!handle.memory) values::reject(field, "a device buffer that was not disposed");
    if (handle.memory->device.isHost()) values::reject(field, "on a GPU");
    if (handle.memory->byteLength == 0) continue;
    const int64_t most = wanted - static_cast<int64_t>(handle.memory->byteLength);
    if (most < 0) values::reject(field, "inside its buffer");
    input.pieces.push_back({handle.memory, static_cast<size_t>(piece.integer("first", 0, most))});
  }
}

// Reads an input. Whether it may be in JavaScript's memory.
bool readInput(const Napi::Value& value, const Program& program, uint32_t position, Run::Input& input) {
  const size_t wanted = program.buffers[program.inputs[position]].byteLength;
  if (const BufferHandle* handle = values::tryHandle<BufferHandle>(value)) {
    if (!handle->memory) values::reject(nameOf(position), "a device buffer that was not disposed");
    if (handle->memory->device.isHost() && !program.device->isHost()) {
      checkByteLength(handle->memory->byteLength, wanted, position);
      input.hostMemory = handle->memory;
      input.host = reinterpret_cast<const void*>(handle->memory->address);
      return true;
    }
    if (&handle->memory->device != program.device) {
      values::reject(nameOf(position), "on " + program.device->name() + ": " + handle->memory->device.name());
    }
    checkByteLength(handle->memory->byteLength, wanted, position);
    input.memory = handle->memory;
    return false;
  }
  View view;
  if (!readView(value, view)) {
    const Napi::Value pieces = values::object(value, nameOf(position)).Get("pieces");
    if (!isNone(pieces)) {
      readPieces(values::array(pieces, nameOf(position) + ".pieces"), program, position, input);
      return false;
    }
    input.source = readHostInput(value, nameOf(position));
    checkByteLength(input.source->byteLength(), wanted, position);
    return true;
  }
  // A detached buffer has no bytes.
  bool detached = false;
  if (view.byteLength == 0) napi_is_detached_arraybuffer(value.Env(), view.buffer, &detached);
  if (detached) values::reject(nameOf(position), "over an ArrayBuffer that is not detached");
  checkByteLength(view.byteLength, wanted, position);
  input.host = view.data;
  return true;
}

void readNumbers(const Napi::Value& value, RunTask& task) {
  const size_t wanted = task.program->numberCount;
  if (wanted == 0) return;
  View view;
  if (!readView(value, view) || view.byteLength < wanted * kConstantBytes)
    values::reject("numbers", "of at least " + std::to_string(wanted) + " constants");
  const auto* const bytes = static_cast<const uint8_t*>(view.data);
  task.numbers.assign(bytes, bytes + wanted * kConstantBytes);
}

}  // namespace

Napi::Value run(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const auto task = std::make_shared<RunTask>();
  task->program = values::handle<ProgramHandle>(info[0], "program").program;
  const Program& program = *task->program;

  const Napi::Array inputs = values::array(info[1], "inputs");
  const uint32_t inputCount = inputs.Length();
  if (inputCount != program.inputs.size()) {
    values::reject("inputs", "as many as the program has: " + std::to_string(program.inputs.size()));
  }
  bool readsHost = false;
  task->inputs.resize(inputCount);
  for (uint32_t i = 0; i < inputCount; i++) {
    if (readInput(inputs.Get(i), program, i, task->inputs[i])) readsHost = true;
  }
  const Napi::Array keep = values::array(info[2], "keep");
  const uint32_t keepCount = keep.Length();
  if (keepCount != program.outputs.size()) {
    values::reject("keep", "one for each output: " + std::to_string(program.outputs.size()));
  }
  task->keepOnDevice.resize(keepCount);
  for (uint32_t i = 0; i < keepCount; i++) {
    const Napi::Value place = keep.Get(i);
    task->keepOnDevice[i] = place.IsBoolean() && place.As<Napi::Boolean>();
    const BufferSpec& output = program.buffers[program.outputs[i]];
    const std::string field = "keep[" + std::to_string(i) + "]";
    if (task->keepOnDevice[i] && output.windowed && program.device->isHost())
      values::reject(field, "not true for a windowed output of the CPU");
    const size_t byteLength = output.byteLength;
    if (const BufferHandle* handle = values::tryHandle<BufferHandle>(place)) {
      if (!output.windowed || program.device->isHost()) values::reject(field, "no memory for this output");
      if (!handle->memory || !handle->memory->device.isHost())
        values::reject(field, "host memory that was not disposed");
      if (handle->memory->byteLength != byteLength)
        values::reject(field, "of " + std::to_string(byteLength) +
                                  " bytes: " + std::to_string(handle->memory->byteLength));
      task->hostPlaces.resize(keepCount);
      task->hostPlaces[i] = handle->memory;
      if (!handle->array.IsEmpty()) {
        task->hold(handle->array.Value());
        task->writesJavaScript = true;
      }
    }
    if (!place.IsArray()) continue;
    task->sinks.resize(keepCount);
    task->sinks[i] = readSinks(place, byteLength, field);
  }
  if (!info[3].IsUndefined()) {
    const Cancel& token = values::handle<Cancel>(info[3], "cancel");
    task->setCancelFlag(token.flag);
    task->tilesDone = token.tiles;
  }
  task->cancel = &task->cancelFlag();
  bool needsJavaScript = false;
  for (const Run::Input& input : task->inputs) {
    if (!input.source) continue;
    input.source->setCancelFlag(task->cancel);
    needsJavaScript |= input.source->needsJavaScript();
  }
  task->tellsTimeline = info[4].ToBoolean();
  task->settlesWhenQueued = info[5].ToBoolean();
  task->settlesAhead = info[6].ToBoolean();
  if (program.queueLength > 0 || !info[7].IsUndefined()) {
    task->tileQueue = values::handle<TileQueueHandle>(info[7], "tileQueue").queue;
    if (task->tileQueue->count() != program.queueLength)
      values::reject("tileQueue", "of " + std::to_string(program.queueLength) + " parts");
  }
  readNumbers(info[8], *task);
  const bool isInEngine = task->placeInEngine(env);
  // A run that may be cancelled before it begins is better begun on another thread.
  if (!isInEngine && info[3].IsUndefined() && !needsJavaScript)
    task->permit = program.device->tryBeginInline(*task);
  const bool settles = task->permit.kind == InlinePermit::Kind::settled;
  // The list, which src/exec/native/native-run.ts made for this call, holds the arrays. A run of the CPU that
  // is complete when this returns needs no reference to it.
  if (readsHost && !(settles && program.device->isHost())) task->hold(inputs);
  switch (task->permit.kind) {
    case InlinePermit::Kind::settled:
      return task->settleNow(env);
    case InlinePermit::Kind::open:
      return Environment::of(env).startHere(env, task);
    case InlinePermit::Kind::none:
      break;
  }
  task->place = program.device->waitingRuns().enter();
  task->placeAhead();
  const Napi::Value promise = Environment::of(env).start(env, task, program.device->executor());
  task->makeAhead(env);
  return promise;
}

Napi::Value allocateHost(const Napi::CallbackInfo& info) {
  Device& device = deviceNamed(values::text(info[0], "device"));
  const auto byteLength = static_cast<size_t>(values::integer(info[1], "byteLength"));
  if (byteLength > mostExternalByteLength()) {
    return values::makeHandle(
        info.Env(), std::make_unique<BufferHandle>(info.Env(), newArrayBuffer(info.Env(), byteLength)));
  }
  std::shared_ptr<Memory> memory = allocateHost(byteLength);
  const bool isLimited = !info[2].IsUndefined();
  device.expectResultsIn(memory, isLimited ? values::integer(info[2], "lockByteLength") : SIZE_MAX);
  return values::makeHandle(info.Env(),
                            std::make_unique<BufferHandle>(info.Env(), std::move(memory), byteLength));
}

Napi::Value sliceMemory(const Napi::CallbackInfo& info) {
  const auto& handle = values::handle<BufferHandle>(info[0], "handle");
  if (!handle.memory) values::reject("handle", "of memory that was not disposed");
  const auto first = static_cast<size_t>(values::integer(info[1], "first"));
  const auto byteLength = static_cast<size_t>(values::integer(info[2], "byteLength"));
  if (first > handle.memory->byteLength || byteLength > handle.memory->byteLength - first)
    values::reject("byteLength", "inside the memory");
  return values::makeHandle(info.Env(), std::make_unique<BufferHandle>(handle, first, byteLength));
}

Napi::Value hostArray(const Napi::CallbackInfo& info) {
  auto& handle = values::handle<BufferHandle>(info[0], "handle");
  if (!handle.memory || !handle.memory->device.isHost())
    values::reject("handle", "of host memory that was not disposed");
  const Napi::Value array =
      handle.array.IsEmpty() ? toArrayBuffer(info.Env(), handle.memory) : Napi::Value(handle.array.Value());
  handle.dispose();
  return array;
}

Napi::Value disposeBuffer(const Napi::CallbackInfo& info) {
  values::handle<BufferHandle>(info[0], "handle").dispose();
  return info.Env().Undefined();
}

}  // namespace weft
