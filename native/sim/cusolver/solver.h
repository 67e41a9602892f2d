// The parts that all functions of the simulated cuSOLVER have: handles, checks of the arrays of a call,
// statuses.
#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include "core/enter-library.h"
#include "cusolver/matrix.h"

#define WEFT_SIM_SOLVER extern "C" __attribute__((visibility("default"))) int

namespace weft::sim::solver {

constexpr int kOk = 0, kNoHandle = 1, kInvalid = 3, kExecutionFailed = 6;

struct Handle {
  Context* context = nullptr;
  Stream* stream = nullptr;
};
struct Params {
  int unused = 0;
};

inline Handles<Handle>& handles() {
  static Handles<Handle>& it = *new Handles<Handle>();
  return it;
}

template <typename Body>
int enterSolver(const char* name, Handle* given, const Body& body) {
  const auto find = [&](Simulator& simulator) {
    return simulator.object(handles(), given, "cuSOLVER handle");
  };
  return enterWithHandle(name, {kNoHandle, kExecutionFailed}, find, body);
}

inline Address addressOf(const void* pointer) { return reinterpret_cast<Address>(pointer); }

// An array of a call: where it is, its bytes, and what is done with it.
struct Use {
  Address at;
  size_t bytes;
  enum { read, write, both } how;
};

// Queues `compute`, which gets the arrays, once their uses are in order.
template <typename Compute>
int queueUses(Simulator& simulator, Handle& handle, std::vector<Use> uses, const Compute& compute) {
  const auto body = [&simulator, uses, compute](Context& context, Accesses& accesses,
                                                const std::string& what) {
    for (const Use& use : uses) {
      if (use.bytes == 0) continue;
      if (use.how != Use::write && !simulator.read(context, use.at, use.bytes, accesses, what))
        return kIllegalAddress;
      if (use.how != Use::read && !simulator.write(context, use.at, use.bytes, accesses, what))
        return kIllegalAddress;
    }
    compute();
    return static_cast<int>(kSuccess);
  };
  simulator.queue(*handle.context, *handle.stream, {body});
  return kOk;
}

// Of calls that wait for the device on the host, which a stream that is captured does not allow.
inline void waitOnHost(Simulator& simulator, const Handle& handle) {
  if (handle.stream->capture != nullptr) simulator.misuse(simulator.callName + " while a stream is captured");
}

inline size_t workBytes(int64_t rows, int64_t columns, int type) {
  return static_cast<size_t>(rows * std::min<int64_t>(columns, 32)) * bytesOfType(type) + 64;
}

inline void writeInfo(Address info, int value) { *reinterpret_cast<int*>(info) = value; }

inline void writeValues(void* values, int type, const std::vector<double>& found) {
  for (size_t k = 0; k < found.size(); k++) writeNumber(values, type, static_cast<int64_t>(k), found[k]);
}

inline int realTypeOf(int type) { return type == kReal32 || type == kComplex32 ? kReal32 : kReal64; }

}  // namespace weft::sim::solver
