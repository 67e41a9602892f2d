// The prologues of the entry points of simulated libraries.
#pragma once
#include <mutex>
#include <string>

#include "core/simulator.h"

namespace weft::sim {

// A library's own numbers for a handle that it does not have, and for a call in a lost context.
struct LibraryStatuses {
  int noHandle, lost;
};

// Takes the lock, counts the call, gives the status of a lost context or of a planned fault, else what `body`
// gives, which is handed the simulator and the context. `contextOf` finds that: null, the call has no handle.
template <typename ContextOf, typename Body>
int enterLibrary(const char* name, LibraryStatuses statuses, const ContextOf& contextOf, const Body& body) {
  Simulator& simulator = Simulator::get();
  const std::lock_guard lock(simulator.mutex);
  simulator.callName = std::string(name) + " #" + std::to_string(++simulator.callCount);
  Context* context = contextOf(simulator);
  if (context == nullptr) return statuses.noHandle;
  if (context->error != 0) return statuses.lost;
  if (const int fault = simulator.meetFaults(name, *context)) return fault;
  return body(simulator, *context);
}

// Of a call with a handle: `find` gives its object, which has the context that it was made in and is handed
// to `body`.
template <typename Find, typename Body>
int enterWithHandle(const char* name, LibraryStatuses statuses, const Find& find, const Body& body) {
  decltype(find(Simulator::get())) found = nullptr;
  const auto contextOf = [&](Simulator& simulator) {
    found = find(simulator);
    return found == nullptr ? nullptr : found->context;
  };
  return enterLibrary(name, statuses, contextOf, [&](Simulator& simulator, Context&) {
    const int status = body(simulator, *found);
    simulator.scheduler.advance();
    return status;
  });
}

// Of a call without a handle, as one that makes it: in the current context.
template <typename Body>
int enterInContext(const char* name, int noContext, const Body& body) {
  return enterLibrary(
      name, {noContext, noContext}, [](Simulator&) { return currentContext(); }, body);
}

// Whether a library has the descriptor, which is destroyed and counted. That never fails by a planned fault:
// descriptors are memory of the host.
template <typename T>
bool dropDescriptor(const char* name, Handles<T>& all, T* given, const char* kind, const char* counter) {
  Simulator& simulator = Simulator::get();
  const std::lock_guard lock(simulator.mutex);
  simulator.callName = name;
  T* found = simulator.object(all, given, kind);
  if (found == nullptr) return false;
  all.destroy(found);
  simulator.libraryObjects[counter]--;
  return true;
}

}  // namespace weft::sim
