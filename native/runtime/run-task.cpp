#include "runtime/run-task.h"

#include <algorithm>
#include <cstring>

#include "runtime/buffer-handle.h"
#include "runtime/engine-memory.h"
#include "runtime/executor.h"
#include "runtime/host-pool.h"
#include "runtime/program.h"
#include "runtime/sink-output.h"
#include "runtime/values.h"

namespace weft {
namespace {

// Results up to this size are copied into buffers of the engine's, which are cheaper than buffers over memory
// of ours.
constexpr size_t kCopiedByteLength = 4096;
// From here on the buffer over a GPU's result is made while the GPU works: the engine collects garbage then,
// for milliseconds.
constexpr size_t kMadeAheadByteLength = size_t{16} << 20;

Napi::Value copied(Napi::Env env, const Memory& memory) {
  Napi::ArrayBuffer array = memory.byteLength <= kCopiedByteLength
                                ? Napi::ArrayBuffer::New(env, memory.byteLength)
                                : newArrayBuffer(env, memory.byteLength);
  if (memory.byteLength > 0) {
    std::memcpy(array.Data(), reinterpret_cast<const void*>(memory.address), memory.byteLength);
  }
  return array;
}

// An ArrayBuffer over memory; empty where the engine does not allow buffers that it did not allocate.
Napi::Value overMemory(Napi::Env env, const SharedOwner& shared) {
  const Memory& memory = **shared;
  if (memory.byteLength > mostExternalByteLength()) return {};
  auto owner = std::make_unique<SharedOwner>(shared);
  napi_value value = nullptr;
  const auto release = [](napi_env, void*, void* hint) {
    if (isForked()) return;
    auto* const owner = static_cast<SharedOwner*>(hint);
    if (**owner) noteCollected(***owner);
    delete owner;
  };
  const napi_status status = napi_create_external_arraybuffer(
      env, reinterpret_cast<void*>(memory.address), memory.byteLength, release, owner.get(), &value);
  if (status != napi_ok) return {};
  owner.release();
  return {env, value};
}

}  // namespace

Napi::Value toArrayBuffer(Napi::Env env, std::shared_ptr<Memory> memory) {
  if (memory->byteLength <= kCopiedByteLength) return copied(env, *memory);
  const auto owner = std::make_shared<std::shared_ptr<Memory>>(std::move(memory));
  const Napi::Value value = overMemory(env, owner);
  return value.IsEmpty() ? copied(env, **owner) : value;
}

void RunTask::begin() {
  InlinePermit own = std::move(permit);
  timeline.taken = Timeline::now();
  const std::shared_ptr<Run> self(shared_from_this(), this);
  if (own.kind != InlinePermit::Kind::none) {
    checkCancelled(*cancel);
    program->device->beginInline(self, std::move(own));
    return;
  }
  // Also where it fails before its device has begun it.
  struct Leave {
    WaitingRuns::Entry& place;
    ~Leave() { place.leave(); }
  } const leave{place};
  checkCancelled(*cancel);
  program->device->begin(self);
}

Napi::Value RunTask::settleNow(Napi::Env env) {
  if (program->device->isHost()) placeCopied(env);
  begin();
  timeline.issued = timeline.ended = Timeline::now();
  inputs.clear();
  return result(env);
}

void RunTask::queued() noexcept {
  wasAhead_ = true;
  end(nullptr);
}

bool RunTask::becomesArray(size_t output) const {
  if (keepOnDevice[output] || (!hostPlaces.empty() && hostPlaces[output])) return false;
  return sinks.empty() || sinks[output].empty();
}

bool RunTask::placeInEngine(Napi::Env env) {
  std::optional<Napi::Array> made;
  for (uint32_t i = 0; i < program->outputs.size(); i++) {
    const size_t byteLength = program->buffers[program->outputs[i]].byteLength;
    if (byteLength <= std::max(kCopiedByteLength, mostExternalByteLength()) || !becomesArray(i)) continue;
    if (!made) made = Napi::Array::New(env, program->outputs.size());
    const Napi::ArrayBuffer array = newArrayBuffer(env, byteLength);
    made->Set(i, array);
    outputs.resize(program->outputs.size());
    outputs[i] = std::make_shared<EngineMemory>(array);
  }
  if (!made) return false;
  made_ = hold(*made);
  writesJavaScript = true;
  return true;
}

void RunTask::placeCopied(Napi::Env env) {
  const size_t count = program->outputs.size();
  arrays_.resize(count);
  outputs.resize(count);
  for (size_t i = 0; i < count; i++) {
    const size_t byteLength = program->buffers[program->outputs[i]].byteLength;
    if (byteLength > kCopiedByteLength || !becomesArray(i)) continue;
    Napi::ArrayBuffer array = Napi::ArrayBuffer::New(env, byteLength);
    if (host::poison()) std::memset(array.Data(), 0xff, byteLength);
    outputs[i] = std::make_shared<EngineMemory>(array);
    arrays_[i] = array;
  }
}

void RunTask::placeAhead() {
  if (program->device->isHost()) return;
  ahead_.resize(program->outputs.size());
  outputs.resize(program->outputs.size());
  for (size_t i = 0; i < outputs.size(); i++) {
    const size_t byteLength = program->buffers[program->outputs[i]].byteLength;
    if (byteLength < kMadeAheadByteLength || outputs[i] || !becomesArray(i)) continue;
    outputs[i] = allocateHost(byteLength);
    ahead_[i] = std::make_shared<std::shared_ptr<Memory>>(outputs[i]);
  }
}

void RunTask::makeAhead(Napi::Env env) {
  const Napi::HandleScope scope(env);
  const Napi::Array made = made_ ? held(*made_).As<Napi::Array>() : Napi::Array::New(env, ahead_.size());
  bool isSome = false;
  for (uint32_t i = 0; i < ahead_.size(); i++) {
    if (!ahead_[i]) continue;
    const Napi::Value value = overMemory(env, ahead_[i]);
    if (value.IsEmpty()) continue;
    made.Set(i, value);
    isSome = true;
  }
  if (isSome && !made_) made_ = hold(made);
}

void RunTask::finish(std::exception_ptr error) noexcept {
  // The outputs are JavaScript's by now. That the device is lost is what its next run finds.
  if (wasAhead_) return;
  timeline.ended = Timeline::now();
  // Memory is let go here, not when the JavaScript thread comes round.
  inputs.clear();
  if (error) {
    outputs.clear();
    for (const SharedOwner& owner : ahead_) {
      if (owner) owner->reset();
    }
  }
  if (sinks.empty() || error) {
    end(std::move(error));
  } else {
    fileExecutor().post([self = shared_from_this(), this] { writeFiles(); });
  }
}

Napi::Value RunTask::result(Napi::Env env) {
  Napi::Array list = Napi::Array::New(env, outputs.size() + 1);
  uint32_t at = 0;
  for (std::shared_ptr<Memory>& output : outputs) {
    list.Set(at, valueOf(env, at, std::move(output)));
    at++;
  }
  const auto tell = [&](int64_t nanoseconds) { list.Set(at++, static_cast<double>(nanoseconds)); };
  tell(wasAhead_ ? -1 : timeline.ended - timeline.taken);
  if (!tellsTimeline) return list;
  const int64_t reported = Timeline::now();
  for (const int64_t time : {timeline.taken, timeline.issued, timeline.ended, reported}) {
    tell(time - timeline.asked);
  }
  return list;
}

void RunTask::writeFiles() noexcept {
  std::exception_ptr error;
  try {
    for (size_t i = 0; i < sinks.size(); i++) {
      if (sinks[i].empty() || !outputs[i]) continue;
      const auto* data = reinterpret_cast<const void*>(outputs[i]->address);
      for (const auto& sink : sinks[i]) writeAll(*sink, data, *cancel);
      outputs[i].reset();
    }
  } catch (...) {
    error = std::current_exception();
    outputs.clear();
  }
  end(std::move(error));
}

Napi::Value RunTask::valueOf(Napi::Env env, uint32_t output, std::shared_ptr<Memory> memory) const {
  if (!sinks.empty() && !sinks[output].empty()) {
    Napi::Array sums = Napi::Array::New(env, sinks[output].size());
    for (uint32_t k = 0; k < sinks[output].size(); k++) sums.Set(k, sinks[output][k]->checksum());
    return sums;
  }
  if (!hostPlaces.empty() && hostPlaces[output] != nullptr) return env.Undefined();
  if (!keepOnDevice[output]) {
    if (!arrays_.empty() && arrays_[output] != nullptr) return {env, arrays_[output]};
    if (made_) {
      const Napi::Value value = held(*made_).Get(output);
      if (value.IsArrayBuffer()) return value;
    }
    return toArrayBuffer(env, std::move(memory));
  }
  const size_t whole = program->buffers[program->outputs[output]].byteLength;
  auto handle = std::make_unique<BufferHandle>(env, std::move(memory), whole, true);
  BufferHandle& made = *handle;
  const Napi::Value value = values::makeHandle(env, std::move(handle));
  if (made.isHost) made.watch(value);
  return value;
}

}  // namespace weft
