// The functions that compiled kernels call: those of kernel.h, and the checks that g++ inserts.
//
// Kernels are compiled with -fsanitize=thread, which puts a call in front of every access to memory, and with
// -fsanitize=alignment,bounds. Instead of the sanitizers' libraries they find these functions, which hold
// each access against the device's memory.
#include <algorithm>
#include <cstring>

#include "core/running.h"
#include "core/simulator.h"
#include "core/status.h"

namespace weft::sim {
namespace {

// Whether so many bytes have one state.
[[gnu::always_inline]] inline bool areAll(const Byte* states, size_t byteLength, Byte state) {
  const uint64_t expected = 0x0101010101010101 * static_cast<uint64_t>(state);
  for (; byteLength >= 8; states += 8, byteLength -= 8) {
    uint64_t word = 0;
    std::memcpy(&word, states, 8);
    if (word != expected) return false;
  }
  uint64_t rest = 0;
  std::memcpy(&rest, states, byteLength);
  return rest == (expected & ((uint64_t{1} << (8 * byteLength)) - 1));
}

void setBits(uint64_t* bits, size_t offset, size_t byteLength) {
  while (byteLength > 0) {
    const size_t shift = offset % 64;
    const size_t count = byteLength < 64 - shift ? byteLength : 64 - shift;
    const uint64_t ones = count == 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
    bits[offset / 64] |= ones << shift;
    offset += count;
    byteLength -= count;
  }
}

inline void touchPages(size_t offset, size_t byteLength) {
  for (size_t page = offset / DeviceMemory::kPage; page <= (offset + byteLength - 1) / DeviceMemory::kPage;
       page++) {
    if (running.pageFlags[page] != 0) continue;
    running.pageFlags[page] = 1;
    running.memory->touchedPages().push_back(static_cast<uint32_t>(page));
  }
}

// Whether an access is to defined memory, or defines it: what nearly every access is.
[[gnu::always_inline]] inline bool isPlain(Byte* states, size_t byteLength, bool write) {
  if (areAll(states, byteLength, Byte::defined)) return true;
  if (!write || !areAll(states, byteLength, Byte::undefined)) return false;
  std::memset(states, static_cast<int>(Byte::defined), byteLength);
  return true;
}

// Whether some of the words an access touches has no defined byte. Less is no mistake: a structure's padding
// is read with it and never written.
bool readsUndefined(const Byte* states, Address address, size_t byteLength) {
  for (size_t i = 0; i < byteLength;) {
    const size_t end = std::min(byteLength, i + 8 - (address + i) % 8);
    bool defined = false;
    for (; i < end; i++) defined |= states[i] == Byte::defined;
    if (!defined) return true;
  }
  return false;
}

// Any other access.
void settle(Address address, size_t byteLength, bool write) {
  const std::string problem = write ? running.memory->checkWrite(address, byteLength)
                                    : running.memory->checkRead(address, byteLength);
  if (!problem.empty()) {
    running.stop(kIllegalAddress, problem);
  } else if (!write && readsUndefined(running.shadow + (address - running.base), address, byteLength)) {
    running.mistake("reads undefined memory at " + running.memory->describe(address));
  }
}

// Memory that is not the device's.
void accessOther(uintptr_t address, size_t byteLength, AccessKind kind) {
  for (SharedMemory* shared : {&running.staticShared, &running.dynamicShared}) {
    if (!shared->contains(address)) continue;
    const SharedUser user{running.current, running.warpBarriers[running.current]};
    const char* hazard = shared->access(address, byteLength, kind, user, running.epochs);
    if (hazard != nullptr) running.mistake(hazard);
    return;
  }
  running.stop(kIllegalAddress, std::string(kind == AccessKind::read ? "reads " : "writes ") +
                                    std::to_string(byteLength) + " bytes at an address of no device memory");
}

// Two threads of the launch, with no barrier between.
void race(Address address, Hazard hazard) {
  const char* how = hazard == Hazard::readAfterWrite    ? "reads what another thread of the launch wrote"
                    : hazard == Hazard::writeAfterWrite ? "writes what another thread of the launch wrote"
                                                        : "writes what another thread of the launch read";
  running.mistake(std::string(how) + ", " + running.memory->describe(address));
}

// Inlined, for a copy of so many bytes is one instruction where their number is known. Volatile accesses, by
// which blocks tell one another something, may meet those of other threads: they are not watched.
[[gnu::always_inline]] inline void access(void* pointer, size_t byteLength, AccessKind kind,
                                          bool isWatched = true) {
  running.place = __builtin_return_address(0);
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  const uintptr_t offset = address - running.base;
  const bool write = kind == AccessKind::write;
  if (offset < running.span) {
    if (running.span - offset < byteLength || !isPlain(running.shadow + offset, byteLength, write))
      settle(address, byteLength, write);
    if (isWatched) {
      const Hazard hazard = running.uses.touch(offset, byteLength, kind, running.thread(), running.epochs);
      if (hazard != Hazard::none) race(address, hazard);
    }
    touchPages(offset, byteLength);
    if (kind != AccessKind::write) setBits(running.readBits, offset, byteLength);
    if (kind != AccessKind::read) setBits(running.writeBits, offset, byteLength);
  } else if (address - running.stacks >= running.stackBytes) {
    accessOther(address, byteLength, kind);
  }
}

}  // namespace
}  // namespace weft::sim

using weft::sim::access;
using weft::sim::AccessKind;
using weft::sim::running;
using weft::sim::Wait;

#define WEFT_SIM_HOOK extern "C" __attribute__((visibility("default")))

#define WEFT_SIM_ACCESS(bytes)                                                                         \
  WEFT_SIM_HOOK void __tsan_read##bytes(void* address) { access(address, bytes, AccessKind::read); }   \
  WEFT_SIM_HOOK void __tsan_write##bytes(void* address) { access(address, bytes, AccessKind::write); } \
  WEFT_SIM_HOOK void __tsan_unaligned_read##bytes(void* address) {                                     \
    access(address, bytes, AccessKind::read);                                                          \
  }                                                                                                    \
  WEFT_SIM_HOOK void __tsan_unaligned_write##bytes(void* address) {                                    \
    access(address, bytes, AccessKind::write);                                                         \
  }
#define WEFT_SIM_VOLATILE(bytes)                                   \
  WEFT_SIM_HOOK void __tsan_volatile_read##bytes(void* address) {  \
    access(address, bytes, AccessKind::read, false);               \
  }                                                                \
  WEFT_SIM_HOOK void __tsan_volatile_write##bytes(void* address) { \
    access(address, bytes, AccessKind::write, false);              \
  }
WEFT_SIM_ACCESS(1)
WEFT_SIM_ACCESS(2)
WEFT_SIM_ACCESS(4)
WEFT_SIM_ACCESS(8)
WEFT_SIM_ACCESS(16)
WEFT_SIM_VOLATILE(1)
WEFT_SIM_VOLATILE(2)
WEFT_SIM_VOLATILE(4)
WEFT_SIM_VOLATILE(8)
WEFT_SIM_HOOK void __tsan_read_range(void* address, size_t bytes) {
  access(address, bytes, AccessKind::read);
}
WEFT_SIM_HOOK void __tsan_write_range(void* address, size_t bytes) {
  access(address, bytes, AccessKind::write);
}
// The memory of an atomic operation, which the caller performs: no thread of the machine runs meanwhile.
WEFT_SIM_HOOK void weft_sim_atomic(void* address, unsigned byteLength) {
  access(address, byteLength, AccessKind::atomic);
}
WEFT_SIM_HOOK void __tsan_func_entry(void*) {}
WEFT_SIM_HOOK void __tsan_func_exit() {}
WEFT_SIM_HOOK void __tsan_init() {}

WEFT_SIM_HOOK void __ubsan_handle_out_of_bounds(void*, uintptr_t index) {
  running.stop(weft::sim::kIllegalAddress,
               "indexes an array of registers or shared memory beyond its end, with " +
                   std::to_string(static_cast<intptr_t>(index)));
}
WEFT_SIM_HOOK void __ubsan_handle_type_mismatch_v1(void*, void*) {
  running.stop(weft::sim::kMisalignedAddress, "an access that is not aligned to its size");
}

WEFT_SIM_HOOK const unsigned* weft_sim_place(int which) {
  static constexpr const weft::sim::Dim3* places[] = {&running.threadIndex, &running.blockIndex,
                                                      &running.blockDim, &running.gridDim};
  return &places[which]->x;
}
WEFT_SIM_HOOK void weft_sim_barrier() { running.wait(Wait::block); }
WEFT_SIM_HOOK void* weft_sim_dynamic_shared() { return running.dynamicShared.begin(); }

namespace {
// The value that a lane of the warp gave; a mistake where it takes no part.
uint64_t exchangedBy(unsigned lane) {
  const weft::sim::Thread& own = running.threads[running.current];
  if ((own.present >> lane & 1) == 0) {
    running.mistake("reads the value of a lane that takes no part in a shuffle");
    return own.exchanged;
  }
  return running.threads[running.current / weft::sim::kWarp * weft::sim::kWarp + lane].exchanged;
}
}  // namespace

WEFT_SIM_HOOK unsigned long long weft_sim_shuffle(unsigned mask, unsigned long long value, unsigned source) {
  running.place = __builtin_return_address(0);
  running.exchange(mask, value);
  return exchangedBy(source % weft::sim::kWarp);
}
WEFT_SIM_HOOK unsigned weft_sim_ballot(unsigned mask, bool holds) {
  running.place = __builtin_return_address(0);
  running.exchange(mask, holds ? 1 : 0);
  return running.threads[running.current].nonzero;
}
// Gives a value to the lanes of a mask, whose values are written to `values`, a place for each lane; the
// lanes that were there.
WEFT_SIM_HOOK unsigned weft_sim_exchange(unsigned mask, unsigned long long value,
                                         unsigned long long* values) {
  running.place = __builtin_return_address(0);
  running.exchange(mask, value);
  const unsigned present = running.threads[running.current].present;
  for (unsigned lane = 0; lane < weft::sim::kWarp; lane++)
    values[lane] = (present >> lane & 1) != 0 ? exchangedBy(lane) : 0;
  return present;
}
WEFT_SIM_HOOK void weft_sim_lanes_barrier(unsigned mask) {
  running.place = __builtin_return_address(0);
  running.warpBarriers[running.current]++;
  running.exchange(mask, 0);
}
WEFT_SIM_HOOK void weft_sim_warp_barrier() { weft_sim_lanes_barrier(0xffffffffU); }
WEFT_SIM_HOOK void weft_sim_sleep() { running.wait(Wait::asleep); }
WEFT_SIM_HOOK unsigned weft_sim_lane() { return running.current % weft::sim::kWarp; }

WEFT_SIM_HOOK void cudaGraphSetConditional(unsigned long long handle, unsigned value) {
  auto& conditions = weft::sim::Simulator::get().conditions;
  if (handle == 0 || handle > conditions.size())
    running.stop(weft::sim::kLaunchFailed, "sets a condition of no graph");
  conditions[handle - 1] = value;
}
WEFT_SIM_HOOK unsigned long long weft_sim_globaltimer() {
  return weft::sim::Simulator::get().scheduler.now();
}
