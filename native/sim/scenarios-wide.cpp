// Scenarios of streams that wait for each other, and of several devices. See scenarios.cpp.
#include <cstring>

#include "scenarios.h"

namespace weft::sim::scenarios {
namespace {

auto waitEvent() { return entry<int(CUstream, CUevent, unsigned)>("cuStreamWaitEvent"); }

CUevent recorded(CUstream stream) {
  CUevent event = nullptr;
  must(cu().cuEventCreate(&event, 0));
  must(cu().cuEventRecord(event, stream));
  return event;
}

// Two devices, each with a block; what is current is the first.
struct Pair {
  Machine first;
  CUcontext other = nullptr;
  CUstream stream = nullptr;
  CUmemoryPool pool = nullptr;
  CUdeviceptr block = 0;

  Pair() {
    must(cu().cuDevicePrimaryCtxRetain(&other, 1));
    must(cu().cuCtxSetCurrent(other));
    must(cu().cuStreamCreate(&stream, kStreamNonBlocking));
    MemoryPoolProperties properties{};
    properties.allocationType = kAllocationPinned;
    properties.locationType = kLocationDevice;
    properties.locationId = 1;
    must(cu().cuMemPoolCreate(&pool, &properties));
    must(cu().cuMemAllocFromPoolAsync(&block, kBytes, pool, stream));
    must(cu().cuStreamSynchronize(stream));
    must(cu().cuCtxSetCurrent(first.context));
  }
  int copyOver(size_t byteLength = kBytes) const {
    using Copy = int(CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t, CUstream);
    return entry<Copy>("cuMemcpyPeerAsync")(block, other, first.block, first.context, byteLength, first.one);
  }
  // Lets a device use a block of the other.
  static void letIn(CUmemoryPool owner, int guest) {
    const MemoryAccess access{kLocationDevice, guest, kAccessReadWrite};
    must(cu().cuMemPoolSetAccess(owner, &access, 1));
  }
  void readOther() const {
    must(cu().cuCtxSetCurrent(other));
    must(cu().cuMemcpyDtoHAsync(first.pinned, block, kBytes, stream));
    must(cu().cuStreamSynchronize(stream));
    must(cu().cuCtxSetCurrent(first.context));
  }
};

// CUDA_MEMCPY2D.
struct Side {
  size_t x, y;
  int type;
  const void* host;
  CUdeviceptr device;
  void* array;
  size_t pitch;
};
struct Rectangle {
  Side from, to;
  size_t width, height;
};

// Rows of 20 bytes, 100 apart on the device, without gaps in pinned memory.
void copyRows(const Machine& m, size_t height, CUstream stream) {
  const Rectangle rows{
      {0, 0, 2, nullptr, m.block, nullptr, 100}, {0, 0, 1, m.pinned, 0, nullptr, 20}, 20, height};
  must(entry<int(const Rectangle*, CUstream)>("cuMemcpy2DAsync_v2")(&rows, stream));
}

}  // namespace

const Scenarios& wideScenarios() {
  static const Scenarios scenarios = {
      {"a stream waits for an event of another",
       [] {
         Machine m;
         m.set(m.one);
         must(waitEvent()(m.two, recorded(m.one), 0));
         m.read(m.two);
         must(cu().cuStreamSynchronize(m.two));
         if (std::memchr(m.pinned, 7, kBytes) != m.pinned) throw std::runtime_error("it did not wait");
         m.finish();
       }},
      {"a stream waits for an event that is recorded too early",
       [] {
         Machine m;
         CUevent event = recorded(m.one);
         m.set(m.one);
         must(waitEvent()(m.two, event, 0));
         m.read(m.two);
         m.finish();
       }},
      {"an event is waited for before it is recorded again",
       [] {
         Machine m;
         CUevent event = recorded(m.one);
         must(waitEvent()(m.two, event, 0));
         m.set(m.one);
         must(cu().cuEventRecord(event, m.one));
         m.set(m.two);
         m.finish();
       }},
      {"a stream is used after it was destroyed",
       [] {
         Machine m;
         m.set(m.one);
         must(entry<int(CUstream)>("cuStreamDestroy_v2")(m.two));
         static_cast<void>(cu().cuMemsetD8Async(m.block, 0, 1, m.two));
         must(cu().cuStreamSynchronize(m.one));
       }},
      {"rows are copied apart from what another stream writes",
       [] {
         Machine m;
         m.set(m.one);
         m.finish();
         copyRows(m, 10, m.one);
         m.set(m.two, 20, 80);
         m.finish();
       }},
      {"rows are copied while another stream writes them",
       [] {
         Machine m;
         m.set(m.one);
         m.finish();
         copyRows(m, 10, m.one);
         m.set(m.two, 910, 80);
         m.finish();
       }},
      {"rows reach beyond their block",
       [] {
         Machine m;
         m.set(m.one);
         copyRows(m, 11, m.one);
         static_cast<void>(cu().cuStreamSynchronize(m.one));
       }},
      {"a device gives to another",
       [] {
         Pair p;
         p.first.set(p.first.one);
         must(p.copyOver());
         must(cu().cuStreamSynchronize(p.first.one));
         p.readOther();
         if (static_cast<char*>(p.first.pinned)[kBytes - 1] != 7) throw std::runtime_error("nothing came");
       }},
      {"a device gives to another that reads too early",
       [] {
         Pair p;
         p.first.set(p.first.one);
         p.first.finish();
         must(cu().cuCtxSetCurrent(p.other));
         must(cu().cuMemsetD8Async(p.block, 1, kBytes, p.stream));
         must(cu().cuStreamSynchronize(p.stream));
         must(cu().cuCtxSetCurrent(p.first.context));
         must(p.copyOver());
         p.readOther();
         p.first.finish();
       }},
      {"a device waits for another by an event",
       [] {
         Pair p;
         p.first.set(p.first.one);
         must(p.copyOver());
         CUevent event = recorded(p.first.one);
         must(cu().cuCtxSetCurrent(p.other));
         must(waitEvent()(p.stream, event, 0));
         p.readOther();
         p.first.finish();
       }},
      {"a device gives more than the other has",
       [] {
         Pair p;
         p.first.set(p.first.one);
         must(p.copyOver(kBytes + 1));
         static_cast<void>(cu().cuStreamSynchronize(p.first.one));
       }},
      {"two devices that let each other in copy",
       [] {
         Pair p;
         p.first.set(p.first.one);
         Pair::letIn(p.first.pool, 1);
         Pair::letIn(p.pool, 0);
         must(p.copyOver());
         p.first.finish();
       }},
      {"two devices of which one lets the other in copy",
       [] {
         Pair p;
         p.first.set(p.first.one);
         Pair::letIn(p.first.pool, 1);
         static_cast<void>(p.copyOver());
         p.first.finish();
       }},
      {"peer access is refused where there is none, and twice",
       [] {
         Pair p;
         int can = -1;
         must(entry<int(int*, int, int)>("cuDeviceCanAccessPeer")(&can, 0, 1));
         const auto enable = entry<int(CUcontext, unsigned)>("cuCtxEnablePeerAccess");
         const int first = enable(p.other, 0);
         const int second = enable(p.other, 0);
         const bool right = can == 1 ? first == 0 && second == 704 : first == 217 && second == 217;
         if (!right) throw std::runtime_error("peer access: " + std::to_string(first));
       }},
  };
  return scenarios;
}

}  // namespace weft::sim::scenarios
