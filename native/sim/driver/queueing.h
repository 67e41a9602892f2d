// Work that is queued by calls, and by graphs: launches and memory that is set.
#pragma once
#include "core/simulator.h"

namespace weft::sim {

// A launch as a call asks for it.
struct LaunchCall {
  Function* function;
  Dim3 grid, block;
  unsigned sharedByteLength;
  void** parameters;
  void** extra;
};

// Checks a launch and copies its arguments. Gives the status of the call.
int readLaunch(Simulator& simulator, Context& context, const LaunchCall& call, Launch& launch);
// Work of other streams that queued work comes after.
using Before = std::vector<std::shared_ptr<Operation>>;
int queueLaunch(Simulator& simulator, Context& context, Stream& stream, Launch launch, Before before = {});
int queueSet(Simulator& simulator, Context& context, Stream& stream, const MemorySet& set,
             Before before = {});
// All of it is one operation.
int queueLoop(Simulator& simulator, Context& context, Stream& stream, GraphLoop loop, Before before = {});

}  // namespace weft::sim
