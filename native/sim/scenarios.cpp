// Mistakes that Weft does not make, made through the driver's entry points, so that a test can see that the
// simulator finds each: `scenarios <name>` makes one and prints the simulator's description.
#include "scenarios.h"

#include <cstdio>
#include <cstring>

#include "core/simulator.h"

namespace {

using namespace weft::sim::scenarios;

const Scenarios kScenarios = {
    {"two streams write",
     [] {
       Machine m;
       m.set(m.one);
       m.set(m.two);
       m.finish();
     }},
    {"a stream reads what another writes",
     [] {
       Machine m;
       m.set(m.one);
       m.finish();
       m.set(m.one, 900, 50);
       m.read(m.two);
       m.finish();
     }},
    {"two streams read",
     [] {
       Machine m;
       m.set(m.one);
       m.finish();
       m.read(m.one, 0, 10);
       must(cu().cuMemcpyDtoHAsync(static_cast<char*>(m.pinned) + 10, m.block, 10, m.two));
       m.finish();
     }},
    {"two streams write apart",
     [] {
       Machine m;
       m.set(m.one, 0, 500);
       m.set(m.two, 500, 500);
       m.finish();
     }},
    {"the host waits between two streams",
     [] {
       Machine m;
       m.set(m.one);
       must(cu().cuStreamSynchronize(m.one));
       m.read(m.two);
       m.finish();
     }},
    {"the host waits for an event between two streams",
     [] {
       Machine m;
       CUevent event = nullptr;
       must(cu().cuEventCreate(&event, 1));
       m.set(m.one);
       must(cu().cuEventRecord(event, m.one));
       must(cu().cuEventSynchronize(event));
       m.read(m.two);
       m.finish();
       must(cu().cuEventDestroy(event));
     }},
    {"an event that is recorded too early",
     [] {
       Machine m;
       CUevent event = nullptr;
       must(cu().cuEventCreate(&event, 1));
       must(cu().cuEventRecord(event, m.one));
       m.set(m.one);
       must(cu().cuEventSynchronize(event));
       m.set(m.two);
       m.finish();
       must(cu().cuEventDestroy(event));
     }},
    {"the default stream orders blocking streams",
     [] {
       Machine m(0);
       m.set(m.one);
       must(cu().cuMemsetD8Async(m.block, 1, kBytes, nullptr));
       m.read(m.two);
       m.finish();
     }},
    {"the default stream does not order others",
     [] {
       Machine m;
       m.set(m.one);
       must(cu().cuMemsetD8Async(m.block, 1, kBytes, nullptr));
       m.finish();
       must(cu().cuStreamSynchronize(nullptr));
     }},
    {"memory is used in another stream than it was made in",
     [] {
       Machine m;
       CUdeviceptr other = 0;
       must(cu().cuMemAllocFromPoolAsync(&other, 64, m.pool, m.one));
       must(cu().cuMemsetD8Async(other, 0, 64, m.two));
       m.finish();
     }},
    {"memory is freed while another stream uses it",
     [] {
       Machine m;
       m.set(m.two);
       must(cu().cuMemFreeAsync(m.block, m.one));
       must(cu().cuStreamSynchronize(m.two));
       must(cu().cuStreamSynchronize(m.one));
     }},
    {"pinned memory is overwritten while a copy reads it",
     [] {
       Machine m;
       m.set(m.one);
       m.finish();
       std::memset(m.pinned, 1, kBytes);
       must(cu().cuMemcpyHtoDAsync(m.block, m.pinned, kBytes, m.one));
       must(cu().cuMemcpyDtoHAsync(m.pinned, m.block, kBytes, m.two));
       m.finish();
     }},
    {"a block is freed twice",
     [] {
       Machine m;
       must(cu().cuMemFreeAsync(m.block, m.one));
       static_cast<void>(cu().cuMemFreeAsync(m.block, m.one));
       m.finish();
     }},
    {"freed memory is read",
     [] {
       Machine m;
       m.set(m.one);
       must(cu().cuMemFreeAsync(m.block, m.one));
       m.read(m.one);
       static_cast<void>(cu().cuStreamSynchronize(m.one));
     }},
    {"a copy reaches beyond its block",
     [] {
       Machine m;
       m.set(m.one);
       m.read(m.one, 1, kBytes);
       static_cast<void>(cu().cuStreamSynchronize(m.one));
     }},
    {"undefined memory is read",
     [] {
       Machine m;
       m.set(m.one, 0, kBytes - 1);
       m.read(m.one);
       m.finish();
     }},
    {"a guard is written",
     [] {
       Machine m;
       reinterpret_cast<char*>(m.block)[kBytes] = 1;
     }},
    {"an event is used after it was destroyed",
     [] {
       Machine m;
       CUevent event = nullptr;
       must(cu().cuEventCreate(&event, 0));
       must(cu().cuEventDestroy(event));
       static_cast<void>(cu().cuEventRecord(event, m.one));
     }},
    {"an event is left",
     [] {
       Machine m;
       CUevent event = nullptr;
       must(cu().cuEventCreate(&event, 0));
     }},
    {"pinned memory is freed while a copy uses it",
     [] {
       Machine m;
       m.set(m.one);
       m.read(m.one);
       must(cu().cuMemFreeHost(m.pinned));
       m.finish();
     }},
    {"there is no context",
     [] {
       Machine m;
       must(cu().cuCtxSetCurrent(nullptr));
       CUstream stream = nullptr;
       static_cast<void>(cu().cuStreamCreate(&stream, 0));
     }},
};

}  // namespace

int main(int count, char** arguments) {
  Scenarios all = kScenarios;
  all.insert(wideScenarios().begin(), wideScenarios().end());
  all.insert(graphScenarios().begin(), graphScenarios().end());
  const auto found = count == 2 ? all.find(arguments[1]) : all.end();
  if (found == all.end()) {
    for (const auto& [name, run] : all) std::printf("%s\n", name.c_str());
    return 0;
  }
  try {
    found->second();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  std::printf("%s\n", weft::sim::Simulator::get().describe().print().c_str());
}
