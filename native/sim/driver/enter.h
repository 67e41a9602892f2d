// The prologue of every entry point of the simulated driver.
#pragma once
#include <exception>
#include <mutex>
#include <string>

#include "core/simulator.h"

#define WEFT_SIM_API extern "C" __attribute__((visibility("default"))) int

namespace weft::sim {

enum class Needs { nothing, driver, context };

// Takes the lock, counts the call, gives the error of a lost context or of a planned fault, else what `body`
// gives, which is handed the simulator and the current context (null where it needs none).
template <typename Body>
int enter(const char* name, Needs needs, const Body& body) {
  Simulator& simulator = Simulator::get();
  const std::lock_guard lock(simulator.mutex);
  const std::string callName = std::string(name) + " #" + std::to_string(++simulator.callCount);
  simulator.callName = callName;
  Context* context = nullptr;
  if (needs != Needs::nothing && !simulator.started()) return kNotInitialized;
  if (needs == Needs::context) {
    context = currentContext();
    if (context == nullptr || context->retained == 0) {
      simulator.misuse(simulator.callName + " without a context");
      return kInvalidContext;
    }
    if (context->error != 0) {
      simulator.faults.count(name);
      return context->error;
    }
  }
  const int fault = context == nullptr ? simulator.meetFaults(name) : simulator.meetFaults(name, *context);
  if (fault != 0) return fault;
  // A slow call lets others in.
  simulator.callName = callName;
  try {
    const int status = body(simulator, context);
    simulator.scheduler.advance();
    return status;
  } catch (const std::exception& error) {
    simulator.report.add("internal", simulator.callName + ": " + error.what());
    return 999;
  }
}

}  // namespace weft::sim
