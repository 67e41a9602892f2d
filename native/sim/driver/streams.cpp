// The simulated driver: what orders streams among each other, and their ends. Streams and events themselves
// are in device.cpp.
#include <utility>

#include "driver/enter.h"

using namespace weft::sim;

WEFT_SIM_API cuStreamWaitEvent(Stream* handle, Event* eventHandle, unsigned flags) {
  return enter("cuStreamWaitEvent", Needs::context, [&](Simulator& simulator, Context*) {
    Stream* stream = simulator.stream(handle);
    // An event may be of another device.
    Event* event = simulator.object(simulator.events, eventHandle, "event");
    if (stream == nullptr || event == nullptr) return kInvalidHandle;
    if (flags != 0) return kInvalidValue;
    // An event that was never recorded is over.
    if (!event->mark) return kSuccess;
    Operation wait;
    wait.kind = "mark";
    wait.what = simulator.callName;
    wait.after.push_back(event->mark);
    simulator.scheduler.issue(*stream, std::move(wait));
    return kSuccess;
  });
}

WEFT_SIM_API cuStreamBeginCapture_v2(Stream* handle, int mode) {
  return enter("cuStreamBeginCapture_v2", Needs::context, [&](Simulator& simulator, Context* context) {
    constexpr int kRelaxed = 2;
    Stream* stream = simulator.stream(handle);
    if (stream == nullptr) return kInvalidHandle;
    if (mode < 0 || mode > kRelaxed) return kInvalidValue;
    // The default stream cannot.
    if (handle == nullptr) return kCaptureUnsupported;
    if (stream->capture != nullptr) return kIllegalState;
    stream->capture = simulator.graphs.make();
    stream->capture->context = context;
    stream->capturing = std::this_thread::get_id();
    stream->isInvalid = false;
    return kSuccess;
  });
}

WEFT_SIM_API cuStreamEndCapture(Stream* handle, Graph** out) {
  return enter("cuStreamEndCapture", Needs::context, [&](Simulator& simulator, Context*) {
    *out = nullptr;
    Stream* stream = simulator.stream(handle);
    if (stream == nullptr) return kInvalidHandle;
    if (stream->capture == nullptr) return kIllegalState;
    if (stream->capturing != std::this_thread::get_id()) return kCaptureWrongThread;
    Graph* graph = std::exchange(stream->capture, nullptr);
    if (!stream->isInvalid) return *out = graph, kSuccess;
    for (GraphNode* node : graph->nodes) simulator.graphNodes.destroy(node);
    simulator.graphs.destroy(graph);
    return kCaptureInvalidated;
  });
}

WEFT_SIM_API cuStreamQuery(Stream* handle) {
  return enter("cuStreamQuery", Needs::context, [&](Simulator& simulator, Context* context) {
    Stream* stream = simulator.stream(handle);
    if (stream == nullptr) return kInvalidHandle;
    if (stream->capture != nullptr) return stream->isInvalid = true, kCaptureUnsupported;
    if (stream->last && !stream->last->done) return kNotReady;
    // The host knows now: what it does later is after the stream's work.
    if (stream->last) simulator.scheduler.wait(stream->last);
    return context->error;
  });
}

WEFT_SIM_API cuStreamDestroy_v2(Stream* handle) {
  return enter("cuStreamDestroy_v2", Needs::context, [&](Simulator& simulator, Context* context) {
    if (handle == nullptr) return kInvalidHandle;
    Stream* stream = simulator.stream(handle);
    if (stream == nullptr) return kInvalidHandle;
    // CUDA lets its work end by itself; here it ends now, without the host knowing.
    if (stream->last) simulator.scheduler.finish(stream->last);
    simulator.scheduler.removeStream(*stream);
    simulator.streams.destroy(stream);
    return context->error;
  });
}
