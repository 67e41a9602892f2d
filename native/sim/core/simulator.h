// Simulator: the one simulated machine of a process, shared by the libraries that stand in for CUDA's and by
// the control that tests hold. One lock guards all of it.
#pragma once
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/faults.h"
#include "core/objects.h"
#include "core/races.h"
#include "core/report.h"
#include "core/scheduler.h"
#include "core/status.h"

namespace weft::sim {

class Simulator {
 public:
  static Simulator& get();

  // Makes the devices, once.
  void start();
  bool started() const { return !contexts.empty(); }
  // Does what settings say: "device" (each of those there are to be, before the driver is started),
  // "schedule", "faults" (plans those of the lines "fault" after it), "stall", "clear" (forgets problems and
  // peaks). Throws std::invalid_argument for others.
  void obey(const std::string& lines);

  // Counts a call, waits where it is to be slow, and gives the status it is to fail with; 0: none. A sticky
  // fault loses the context.
  int meetFaults(const std::string& call, Context& context);
  // Waits, and lets other threads' calls in meanwhile. With the lock held.
  void rest(unsigned milliseconds);
  int meetFaults(const std::string& call);
  void misuse(const std::string& what) { report.add("misuse", what); }

  // The object of a handle; null, with a report where it was destroyed, if there is none.
  template <typename T>
  T* object(Handles<T>& handles, const void* handle, const char* what) {
    T* found = handles.find(handle);
    if (found == nullptr && handles.wasDestroyed(handle)) misuse(callName + " uses a destroyed " + what);
    return found;
  }
  // The stream of a handle in the current context; null is the default stream.
  Stream* stream(const void* handle);

  // Makes work a graph's node, where its stream captures: false, it does not.
  bool capture(Stream& stream, GraphWork work);
  // Queues what a library computes.
  void queue(Context& context, Stream& stream, const LibraryWork& work,
             std::vector<std::shared_ptr<Operation>> before = {});

  // Reads and writes of queued work: false, with a report, where it may not.
  bool read(Context& context, Address address, size_t byteLength, Accesses& accesses,
            const std::string& what);
  bool write(Context& context, Address address, size_t byteLength, Accesses& accesses,
             const std::string& what);
  // The pinned block that holds these bytes; null: none.
  Pinned* pinnedAt(const void* address, size_t byteLength);

  // { problems, live: {…}, counts: {…}, faultsMet, interrupts }
  Json describe();

  std::mutex mutex;
  Report report;
  Faults faults;
  Races races;
  Scheduler scheduler{*this};
  std::vector<std::unique_ptr<Context>> contexts;
  Handles<Stream> streams;
  Handles<Event> events;
  Handles<Module> modules;
  Handles<Function> functions;
  Handles<Pool> pools;
  Handles<Graph> graphs;
  Handles<GraphNode> graphNodes;
  Handles<GraphExec> graphExecs;
  // Of loops in graphs, what kernels set; nothing until they did in a launch. A handle is a place here,
  // from 1.
  std::vector<std::optional<unsigned>> conditions;
  std::map<uintptr_t, Pinned> pinned;
  // How many objects other libraries have out that belong to no device: "nvrtcPrograms".
  std::map<std::string, size_t> libraryObjects;
  // The call under way: "cuLaunchKernel #12".
  std::string callName;
  uint64_t callCount = 0;
  // How often a device was to interrupt a processor when an event is reached.
  size_t interrupts = 0;

 private:
  Simulator();
  // As `rest`, or until other faults are planned.
  void delay(unsigned milliseconds);
  // Refused once the driver has been started.
  void setDevices(std::vector<DeviceConfig> devices);

  std::vector<DeviceConfig> configured_ = std::vector<DeviceConfig>(2);
  std::condition_variable planned_;
};

// The context that is current on this thread.
Context*& currentContext();

}  // namespace weft::sim
