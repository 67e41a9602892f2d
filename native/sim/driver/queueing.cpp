#include "driver/queueing.h"

#include <cstring>

#include "core/status.h"
#include "shared/layout.h"

namespace weft::sim {
namespace {

int checkLaunch(const Function& function, const Launch& launch, const DeviceConfig& device) {
  const Dim3& grid = launch.spec.grid;
  const Dim3& block = launch.spec.block;
  using weft::kMaxBlockThreads, weft::kMaxBlockZ, weft::kMaxGridX, weft::kMaxGridYZ;
  if (grid.count() == 0 || grid.x > kMaxGridX || grid.y > kMaxGridYZ || grid.z > kMaxGridYZ)
    return kInvalidValue;
  if (block.count() == 0 || block.z > kMaxBlockZ || block.count() > kMaxBlockThreads) return kInvalidValue;
  if (function.maxThreads > 0 && block.count() > function.maxThreads) return kInvalidValue;
  if (launch.spec.dynamicSharedBytes > function.maxDynamicShared) return kInvalidValue;
  if (launch.spec.dynamicSharedBytes > device.sharedMemoryPerBlock) return kInvalidValue;
  return kSuccess;
}

// The memory's bit maps say which bytes it touches.
int execute(Simulator& simulator, Context& context, Launch& launch, const std::string& what) {
  std::vector<void*> arguments;
  for (auto& value : launch.values) arguments.push_back(value.data());
  const LaunchOutcome outcome =
      runLaunch(launch.spec, arguments.data(), *context.memory, simulator.scheduler.random());
  if (!outcome.problem.empty()) simulator.report.add("out-of-bounds", what + " " + outcome.problem);
  for (const std::string& mistake : outcome.mistakes) {
    const auto says = [&](const char* words) { return mistake.find(words) != std::string::npos; };
    const char* kind = says("shared memory")   ? "shared-memory"
                       : says("of the launch") ? "race"
                                               : "undefined-read";
    simulator.report.add(kind, what + " " + mistake);
  }
  return outcome.status;
}

int execute(Simulator& simulator, Context& context, const MemorySet& set, const std::string& what,
            Accesses& accesses) {
  for (size_t row = 0; row < set.height; row++) {
    const Address start = set.to + row * set.pitch;
    if (!simulator.write(context, start, set.width, accesses, what)) return kIllegalAddress;
    std::memset(reinterpret_cast<void*>(start), set.value, set.width);
  }
  return kSuccess;
}

int execute(Simulator& simulator, Context& context, GraphLoop& loop, const std::string& what,
            Accesses& accesses) {
  std::optional<unsigned>& condition = simulator.conditions[loop.condition];
  if (!condition) simulator.misuse(what + " of a loop whose condition nothing set");
  // Every time round the same memory is set.
  Accesses set;
  int status = kSuccess;
  while (status == kSuccess && condition.value_or(0) != 0) {
    set = {};
    for (GraphWork& work : loop.works) {
      if (auto* launch = std::get_if<Launch>(&work)) {
        status = execute(simulator, context, *launch, what + " (" + launch->spec.name + ")");
      } else {
        status = execute(simulator, context, std::get<MemorySet>(work), what, set);
      }
      if (status != kSuccess) break;
    }
  }
  condition.reset();
  accesses = context.memory->takeAccesses();
  accesses.writes.insert(accesses.writes.end(), set.writes.begin(), set.writes.end());
  return status;
}

}  // namespace

int readLaunch(Simulator& simulator, Context& context, const LaunchCall& call, Launch& launch) {
  Function* function = simulator.object(simulator.functions, call.function, "function");
  if (function == nullptr) return kInvalidHandle;
  if (function->module->context != &context) {
    simulator.misuse(simulator.callName + " of a function of another context");
    return kInvalidHandle;
  }
  if (call.extra != nullptr) return kInvalidValue;
  launch.function = function;
  launch.spec = {function->name,       function->entry,        call.grid,
                 call.block,           function->staticShared, function->staticSharedBytes,
                 call.sharedByteLength};
  if (const int status = checkLaunch(*function, launch, context.config)) return status;
  for (size_t i = 0; i < function->parameters.size(); i++) {
    const char* value = static_cast<const char*>(call.parameters[i]);
    launch.values.emplace_back(value, value + function->parameters[i]);
  }
  return kSuccess;
}

int queueLaunch(Simulator& simulator, Context& context, Stream& stream, Launch launch, Before before) {
  if (simulator.capture(stream, launch)) return kSuccess;
  Module* module = launch.function->module;
  module->pending++;
  Operation operation;
  operation.kind = "launch";
  operation.after = std::move(before);
  operation.what = simulator.callName + " (" + launch.spec.name + ")";
  operation.body = [&simulator, &context, module, what = operation.what,
                    launch = std::move(launch)](Accesses& accesses) mutable {
    module->pending--;
    const int status = execute(simulator, context, launch, what);
    accesses = context.memory->takeAccesses();
    return status;
  };
  simulator.scheduler.issue(stream, std::move(operation));
  return kSuccess;
}

int queueSet(Simulator& simulator, Context& context, Stream& stream, const MemorySet& set, Before before) {
  if (simulator.capture(stream, set)) return kSuccess;
  Operation operation;
  operation.kind = "set";
  operation.after = std::move(before);
  operation.what = simulator.callName;
  operation.body = [&simulator, &context, set, what = operation.what](Accesses& accesses) {
    return execute(simulator, context, set, what, accesses);
  };
  simulator.scheduler.issue(stream, std::move(operation));
  return kSuccess;
}

int queueLoop(Simulator& simulator, Context& context, Stream& stream, GraphLoop loop, Before before) {
  std::vector<Module*> modules;
  for (const GraphWork& work : loop.works) {
    const auto* launch = std::get_if<Launch>(&work);
    if (launch == nullptr) continue;
    if (simulator.object(simulator.functions, launch->function, "function") == nullptr) return kInvalidHandle;
    modules.push_back(launch->function->module);
  }
  for (Module* module : modules) module->pending++;
  Operation operation;
  operation.kind = "loop";
  operation.after = std::move(before);
  operation.what = simulator.callName;
  operation.body = [&simulator, &context, modules, loop = std::move(loop),
                    what = operation.what](Accesses& accesses) mutable {
    for (Module* module : modules) module->pending--;
    return execute(simulator, context, loop, what, accesses);
  };
  simulator.scheduler.issue(stream, std::move(operation));
  return kSuccess;
}

}  // namespace weft::sim
