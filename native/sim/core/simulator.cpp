#include "core/simulator.h"

#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

namespace weft::sim {

Simulator& Simulator::get() {
  static Simulator& it = *new Simulator();
  return it;
}

Simulator::Simulator() {
  if (const char* lines = std::getenv("WEFT_SIM_SETTINGS")) obey(lines);
}

void Simulator::obey(const std::string& lines) {
  std::vector<DeviceConfig> devices;
  std::optional<std::vector<Fault>> plan;
  for (const Setting& setting : readSettings(lines)) {
    if (setting.word == "device") {
      devices.push_back(readDevice(setting));
    } else if (setting.word == "schedule") {
      scheduler.plan(setting);
    } else if (setting.word == "faults") {
      plan.emplace();
    } else if (setting.word == "fault" && plan) {
      plan->push_back(readFault(setting));
    } else if (setting.word == "stall") {
      scheduler.stall(static_cast<size_t>(setting.number("stream", 0)),
                      static_cast<unsigned>(setting.number("milliseconds", 0)));
    } else if (setting.word == "clear") {
      report.clear();
      for (const auto& context : contexts) context->peak = context->inUse;
    } else {
      throw std::invalid_argument("a setting of the simulator: " + setting.word);
    }
  }
  if (!devices.empty()) setDevices(std::move(devices));
  if (plan) {
    faults.plan(std::move(*plan));
    planned_.notify_all();
  }
}

void Simulator::setDevices(std::vector<DeviceConfig> devices) {
  if (started()) throw std::invalid_argument("the devices were already made");
  configured_ = std::move(devices);
}

void Simulator::start() {
  if (started()) return;
  for (size_t i = 0; i < configured_.size(); i++) {
    auto context = std::make_unique<Context>();
    context->ordinal = static_cast<int>(i);
    context->config = configured_[i];
    contexts.push_back(std::move(context));
  }
}

void Simulator::rest(unsigned milliseconds) {
  mutex.unlock();
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  mutex.lock();
}

void Simulator::delay(unsigned milliseconds) {
  std::unique_lock lock(mutex, std::adopt_lock);
  planned_.wait_for(lock, std::chrono::milliseconds(milliseconds),
                    [this, plans = faults.plans()] { return faults.plans() != plans; });
  lock.release();
}

int Simulator::meetFaults(const std::string& call) {
  for (const Fault& fault : faults.meet(call)) {
    if (fault.delayMs > 0) delay(fault.delayMs);
    if (fault.status != 0) return fault.status;
  }
  return 0;
}

int Simulator::meetFaults(const std::string& call, Context& context) {
  for (const Fault& fault : faults.meet(call)) {
    if (fault.delayMs > 0) delay(fault.delayMs);
    if (fault.sticky) context.error = fault.status;
    if (fault.status != 0) return fault.status;
  }
  return 0;
}

Stream* Simulator::stream(const void* handle) {
  Context* context = currentContext();
  if (handle == nullptr) return context->defaultStream.get();
  Stream* found = object(streams, handle, "stream");
  if (found != nullptr && found->context != context) {
    misuse(callName + " uses a stream of another context");
    return nullptr;
  }
  return found;
}

bool Simulator::capture(Stream& stream, GraphWork work) {
  if (stream.capture == nullptr) return false;
  GraphNode* node = graphNodes.make();
  node->graph = stream.capture;
  node->work = std::move(work);
  if (!stream.capture->nodes.empty()) node->after.push_back(stream.capture->nodes.back());
  stream.capture->nodes.push_back(node);
  return true;
}

void Simulator::queue(Context& context, Stream& stream, const LibraryWork& work,
                      std::vector<std::shared_ptr<Operation>> before) {
  if (capture(stream, work)) return;
  Operation operation;
  operation.kind = "product";
  operation.after = std::move(before);
  operation.what = callName;
  operation.body = [body = work.body, &context, what = callName](Accesses& accesses) {
    return body(context, accesses, what);
  };
  scheduler.issue(stream, std::move(operation));
}

bool Simulator::read(Context& context, Address address, size_t byteLength, Accesses& accesses,
                     const std::string& what) {
  const std::string problem = context.memory->checkRead(address, byteLength);
  if (!problem.empty()) {
    report.add("out-of-bounds", what + " " + problem);
    return false;
  }
  if (!context.memory->isDefined(address, byteLength))
    report.add("undefined-read", what + " reads undefined memory at " + context.memory->describe(address));
  if (byteLength > 0) accesses.reads.push_back({address, address + byteLength});
  return true;
}

bool Simulator::write(Context& context, Address address, size_t byteLength, Accesses& accesses,
                      const std::string& what) {
  const std::string problem = context.memory->checkWrite(address, byteLength);
  if (!problem.empty()) {
    report.add("out-of-bounds", what + " " + problem);
    return false;
  }
  if (byteLength > 0) accesses.writes.push_back({address, address + byteLength});
  return true;
}

Pinned* Simulator::pinnedAt(const void* address, size_t byteLength) {
  const auto start = reinterpret_cast<uintptr_t>(address);
  const auto after = pinned.upper_bound(start);
  if (after == pinned.begin()) return nullptr;
  auto& [first, block] = *std::prev(after);
  const size_t offset = start - first;
  return offset <= block.byteLength && byteLength <= block.byteLength - offset ? &block : nullptr;
}

Json Simulator::describe() {
  for (const auto& context : contexts) {
    if (!context->memory || context->error != 0) continue;
    for (const std::string& problem : context->memory->brokenGuards()) report.add("guard", problem);
  }
  // Of one context; null: of all.
  const auto count = [](const auto& handles, const Context* of) {
    size_t found = 0;
    if (of != nullptr && of->retained == 0) return 0.0;
    for (const auto& [handle, object] : handles.live())
      found += of == nullptr || object->context == of ? 1 : 0;
    return static_cast<double>(found);
  };
  const auto liveOf = [&](const Context* of) {
    size_t cublasHandles = 0, cublasLtHandles = 0, cutensorHandles = 0, cutensorPlans = 0, cufftPlans = 0,
           cusolverHandles = 0, cudssHandles = 0, cudssFactors = 0;
    for (const auto& context : contexts) {
      if (of != nullptr && context.get() != of) continue;
      cublasHandles += context->cublasHandles;
      cublasLtHandles += context->cublasLtHandles;
      cutensorHandles += context->cutensorHandles;
      cutensorPlans += context->cutensorPlans;
      cufftPlans += context->cufftPlans;
      cusolverHandles += context->cusolverHandles;
      cudssHandles += context->cudssHandles;
      cudssFactors += context->cudssFactors;
    }
    return Json::Object{{"streams", count(streams, of)},
                        {"events", count(events, of)},
                        {"modules", count(modules, of)},
                        {"pools", count(pools, of)},
                        {"graphs", count(graphs, of)},
                        {"graphExecs", count(graphExecs, of)},
                        {"cublasHandles", static_cast<double>(cublasHandles)},
                        {"cublasLtHandles", static_cast<double>(cublasLtHandles)},
                        {"cutensorHandles", static_cast<double>(cutensorHandles)},
                        {"cutensorPlans", static_cast<double>(cutensorPlans)},
                        {"cufftPlans", static_cast<double>(cufftPlans)},
                        {"cusolverHandles", static_cast<double>(cusolverHandles)},
                        {"cudssHandles", static_cast<double>(cudssHandles)},
                        {"cudssFactors", static_cast<double>(cudssFactors)}};
  };
  Json::Array devices;
  for (const auto& context : contexts) {
    devices.push_back(Json::Object{{"inUse", static_cast<double>(context->inUse)},
                                   {"peak", static_cast<double>(context->peak)},
                                   {"held", static_cast<double>(context->used)},
                                   {"lost", context->error != 0},
                                   {"live", liveOf(context.get())}});
  }
  size_t pinnedBytes = 0;
  for (const auto& [start, block] : pinned) pinnedBytes += block.byteLength;
  Json::Object live = liveOf(nullptr);
  live["pinnedBytes"] = static_cast<double>(pinnedBytes);
  for (const auto& [name, count] : libraryObjects) live[name] = static_cast<double>(count);
  return Json::Object{{"problems", report.problems()},
                      {"devices", devices},
                      {"live", live},
                      {"counts", faults.counts()},
                      {"faultsMet", static_cast<double>(faults.met())},
                      {"interrupts", static_cast<double>(interrupts)}};
}

Context*& currentContext() {
  thread_local Context* context = nullptr;
  return context;
}

}  // namespace weft::sim
