// The simulated driver: starting, devices, contexts, streams and events.
#include <algorithm>
#include <cstring>

#include "driver/enter.h"
#include "shared/layout.h"

using namespace weft::sim;

namespace {

constexpr int kVersion = 13000;
// How often an event may be looked at in vain, unless its stream is stalled.
constexpr unsigned kMostLooks = 64;
constexpr unsigned kBlockingSync = 1;
constexpr unsigned kDisableTiming = 2;

int attributeOf(const DeviceConfig& device, int attribute, int* value) {
  switch (attribute) {
    case 1:  // max threads per block
      return *value = weft::kMaxBlockThreads, kSuccess;
    case 8:  // shared memory per block
      return *value = 48 * 1024, kSuccess;
    case 10:  // warp size
      return *value = 32, kSuccess;
    case 16:
      return *value = device.multiprocessors, kSuccess;
    case 36:  // memory clock, kHz
      return *value = 3'201'000, kSuccess;
    case 37:  // memory bus, bits
      return *value = 6144, kSuccess;
    case 38:
      return *value = static_cast<int>(device.l2), kSuccess;
    case 39:  // max threads per multiprocessor
      return *value = 2048, kSuccess;
    case 75:
      return *value = device.capability / 10, kSuccess;
    case 76:
      return *value = device.capability % 10, kSuccess;
    case 81:
      return *value = static_cast<int>(device.sharedMemoryPerMultiprocessor), kSuccess;
    case 97:  // shared memory per block, opt-in
      return *value = static_cast<int>(device.sharedMemoryPerBlock), kSuccess;
    case 115:  // memory pools
      return *value = 1, kSuccess;
    default:
      return kInvalidValue;
  }
}

// The contexts current on this thread before each push.
std::vector<Context*>& pushedContexts() {
  thread_local std::vector<Context*> contexts;
  return contexts;
}

// Calls with a device's number.
template <typename Body>
int enterDevice(const char* name, int device, const Body& body) {
  return enter(name, Needs::driver, [&](Simulator& simulator, Context*) {
    if (device < 0 || static_cast<size_t>(device) >= simulator.contexts.size()) return kInvalidDevice;
    return body(simulator, *simulator.contexts[device]);
  });
}

}  // namespace

WEFT_SIM_API cuInit(unsigned flags) {
  return enter("cuInit", Needs::nothing, [&](Simulator& simulator, Context*) {
    if (flags != 0) return kInvalidValue;
    simulator.start();
    return simulator.started() ? kSuccess : 100;
  });
}

WEFT_SIM_API cuDriverGetVersion(int* version) {
  return enter("cuDriverGetVersion", Needs::nothing,
               [&](Simulator&, Context*) { return *version = kVersion, kSuccess; });
}

WEFT_SIM_API cuGetErrorName(int status, const char** name) {
  *name = statusName(status);
  return *name == nullptr ? kInvalidValue : kSuccess;
}

WEFT_SIM_API cuGetErrorString(int status, const char** text) {
  *text = statusName(status) == nullptr ? nullptr : "a simulated failure";
  return *text == nullptr ? kInvalidValue : kSuccess;
}

WEFT_SIM_API cuDeviceGetCount(int* count) {
  return enter("cuDeviceGetCount", Needs::driver, [&](Simulator& simulator, Context*) {
    return *count = static_cast<int>(simulator.contexts.size()), kSuccess;
  });
}

WEFT_SIM_API cuDeviceGet(int* device, int ordinal) {
  return enterDevice("cuDeviceGet", ordinal,
                     [&](Simulator&, Context&) { return *device = ordinal, kSuccess; });
}

WEFT_SIM_API cuDeviceGetName(char* name, int length, int device) {
  return enterDevice("cuDeviceGetName", device, [&](Simulator&, Context& context) {
    if (length < 1) return kInvalidValue;
    const std::string& text = context.config.name;
    const size_t count = std::min(text.size(), static_cast<size_t>(length) - 1);
    std::memcpy(name, text.data(), count);
    name[count] = 0;
    return kSuccess;
  });
}

WEFT_SIM_API cuDeviceTotalMem_v2(size_t* bytes, int device) {
  return enterDevice("cuDeviceTotalMem_v2", device,
                     [&](Simulator&, Context& context) { return *bytes = context.config.memory, kSuccess; });
}

WEFT_SIM_API cuDeviceGetAttribute(int* value, int attribute, int device) {
  return enterDevice("cuDeviceGetAttribute", device, [&](Simulator&, Context& context) {
    return attributeOf(context.config, attribute, value);
  });
}

WEFT_SIM_API cuDevicePrimaryCtxRetain(Context** out, int device) {
  return enterDevice("cuDevicePrimaryCtxRetain", device, [&](Simulator& simulator, Context& context) {
    if (context.error != 0) return context.error;
    if (context.retained++ == 0) {
      context.memory = std::make_unique<DeviceMemory>(context.config.memory);
      context.defaultStream = std::make_unique<Stream>();
      simulator.scheduler.addStream(*context.defaultStream, context, true);
    }
    return *out = &context, kSuccess;
  });
}

WEFT_SIM_API cuDevicePrimaryCtxRelease_v2(int device) {
  return enterDevice("cuDevicePrimaryCtxRelease_v2", device, [&](Simulator& simulator, Context& context) {
    if (context.retained == 0) {
      simulator.misuse(simulator.callName + " of a context that was not retained");
      return kInvalidContext;
    }
    if (--context.retained > 0) return kSuccess;
    // With the context goes everything in it.
    const auto destroyAll = [&](auto& handles) {
      using Object = std::decay_t<decltype(*handles.live().begin()->second)>;
      std::vector<Object*> mine;
      for (const auto& [handle, object] : handles.live()) {
        if (object->context == &context) mine.push_back(object.get());
      }
      for (Object* object : mine) {
        if constexpr (std::is_same_v<Object, Stream>) simulator.scheduler.removeStream(*object);
        handles.destroy(object);
      }
    };
    destroyAll(simulator.streams);
    destroyAll(simulator.events);
    destroyAll(simulator.modules);
    destroyAll(simulator.pools);
    simulator.scheduler.removeStream(*context.defaultStream);
    for (const auto& branch : context.branches) simulator.scheduler.removeStream(*branch);
    context.branches.clear();
    context.defaultStream.reset();
    context.memory.reset();
    context.poolOf.clear();
    context.used = 0;
    context.inUse = 0;
    return kSuccess;
  });
}

WEFT_SIM_API cuCtxSetCurrent(Context* context) {
  return enter("cuCtxSetCurrent", Needs::driver, [&](Simulator& simulator, Context*) {
    if (context != nullptr && context->retained == 0) {
      simulator.misuse(simulator.callName + " of a context that was released");
      return kInvalidContext;
    }
    if (context != nullptr && context->error != 0) return context->error;
    return currentContext() = context, kSuccess;
  });
}

WEFT_SIM_API cuCtxPushCurrent_v2(Context* context) {
  return enter("cuCtxPushCurrent_v2", Needs::driver, [&](Simulator& simulator, Context*) {
    if (context == nullptr || context->retained == 0) {
      simulator.misuse(simulator.callName + " of a context that was released");
      return kInvalidContext;
    }
    pushedContexts().push_back(currentContext());
    currentContext() = context;
    return kSuccess;
  });
}

WEFT_SIM_API cuCtxPopCurrent_v2(Context** popped) {
  return enter("cuCtxPopCurrent_v2", Needs::driver, [&](Simulator& simulator, Context*) {
    if (pushedContexts().empty()) {
      simulator.misuse(simulator.callName + " without a push");
      return kInvalidContext;
    }
    *popped = currentContext();
    currentContext() = pushedContexts().back();
    pushedContexts().pop_back();
    return kSuccess;
  });
}

WEFT_SIM_API cuStreamCreate(Stream** out, unsigned flags) {
  return enter("cuStreamCreate", Needs::context, [&](Simulator& simulator, Context* context) {
    if (flags > 1) return kInvalidValue;
    Stream* stream = simulator.streams.make();
    simulator.scheduler.addStream(*stream, *context, flags == 0);
    return *out = stream, kSuccess;
  });
}

WEFT_SIM_API cuStreamSynchronize(Stream* handle) {
  return enter("cuStreamSynchronize", Needs::context, [&](Simulator& simulator, Context* context) {
    Stream* stream = simulator.stream(handle);
    if (stream == nullptr) return kInvalidHandle;
    if (stream->capture != nullptr) return stream->isInvalid = true, kCaptureUnsupported;
    if (stream->last) simulator.scheduler.wait(stream->last);
    return context->error;
  });
}

WEFT_SIM_API cuEventCreate(Event** out, unsigned flags) {
  return enter("cuEventCreate", Needs::context, [&](Simulator& simulator, Context* context) {
    // Blocking wait, no timing, for other processes.
    if (flags > 7) return kInvalidValue;
    Event* event = simulator.events.make();
    event->context = context;
    event->hasTime = (flags & kDisableTiming) == 0;
    event->wakes = (flags & kBlockingSync) != 0;
    return *out = event, kSuccess;
  });
}

WEFT_SIM_API cuEventDestroy_v2(Event* handle) {
  return enter("cuEventDestroy_v2", Needs::driver, [&](Simulator& simulator, Context*) {
    Event* event = simulator.object(simulator.events, handle, "event");
    if (event == nullptr) return kInvalidHandle;
    const int error = event->context->error;
    simulator.events.destroy(event);
    return error;
  });
}

WEFT_SIM_API cuEventRecord(Event* handle, Stream* streamHandle) {
  return enter("cuEventRecord", Needs::context, [&](Simulator& simulator, Context* context) {
    Event* event = simulator.object(simulator.events, handle, "event");
    Stream* stream = simulator.stream(streamHandle);
    if (event == nullptr || stream == nullptr) return kInvalidHandle;
    if (event->context != context) {
      simulator.misuse(simulator.callName + " of an event of another context");
      return kInvalidHandle;
    }
    Operation mark;
    mark.kind = "mark";
    mark.what = simulator.callName;
    event->mark = simulator.scheduler.issue(*stream, std::move(mark));
    event->looks = 0;
    if (event->wakes) simulator.interrupts++;
    return kSuccess;
  });
}

WEFT_SIM_API cuEventQuery(Event* handle) {
  return enter("cuEventQuery", Needs::context, [&](Simulator& simulator, Context* context) {
    Event* event = simulator.object(simulator.events, handle, "event");
    if (event == nullptr) return kInvalidHandle;
    if (!event->mark) return kSuccess;
    // A device works on while the host looks: however late work is done, whoever keeps looking sees its end.
    if (!event->mark->done && ++event->looks >= kMostLooks) simulator.scheduler.hurry(event->mark);
    if (!event->mark->done) return kNotReady;
    // The host knows now: what it does later is after the event.
    simulator.scheduler.wait(event->mark);
    return context->error;
  });
}

WEFT_SIM_API cuEventSynchronize(Event* handle) {
  return enter("cuEventSynchronize", Needs::context, [&](Simulator& simulator, Context* context) {
    Event* event = simulator.object(simulator.events, handle, "event");
    if (event == nullptr) return kInvalidHandle;
    if (!event->wakes) simulator.misuse(simulator.callName + " of an event that wakes nobody");
    if (event->mark) simulator.scheduler.wait(event->mark);
    return context->error;
  });
}

WEFT_SIM_API cuEventElapsedTime(float* milliseconds, Event* beginHandle, Event* endHandle) {
  return enter("cuEventElapsedTime", Needs::context, [&](Simulator& simulator, Context* context) {
    const Event* begin = simulator.object(simulator.events, beginHandle, "event");
    const Event* end = simulator.object(simulator.events, endHandle, "event");
    if (begin == nullptr || end == nullptr) return kInvalidHandle;
    if (!begin->hasTime || !end->hasTime || !begin->mark || !end->mark) return kInvalidHandle;
    if (begin->context != context || end->context != context) return kInvalidHandle;
    if (!begin->mark->done || !end->mark->done) return kNotReady;
    const std::chrono::duration<float, std::milli> elapsed = end->mark->doneAt - begin->mark->doneAt;
    return *milliseconds = elapsed.count(), context->error;
  });
}
