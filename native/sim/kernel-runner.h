// Runs kernels in a program of their own: one fiber per thread of a block, blocks one after the other, always
// in the same order. Barriers and shuffles that not every thread reaches are errors, and shared memory is
// poisoned before each block. For test/support/cuda-simulator.ts, which compiles kernels beside it with
// kernel/kernel.h.
#pragma once

#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/fiber.h"

// Local statics of all kernels lie together, so that they can be poisoned. The linker defines the section's
// ends.
extern "C" char __start_weft_shared[] __attribute__((weak));
extern "C" char __stop_weft_shared[] __attribute__((weak));

namespace weft_sim {

struct Dim3 {
  unsigned int x = 1, y = 1, z = 1;
  unsigned int count() const { return x * y * z; }
};

inline constexpr unsigned int kWarp = 32;
inline constexpr std::size_t kStackBytes = 64 * 1024;
inline constexpr int kPoison = 0xa5;

enum class Wait { none, warp, block, done };

struct Fiber {
  weft::sim::FiberContext context = nullptr;
  Wait wait = Wait::none;
  Dim3 index;
};

// Values exchanged by lanes of a warp: two places in turn, for a lane may reach the next shuffle before
// another has read.
struct Warp {
  std::uint64_t slots[2][kWarp];
  unsigned int turn[kWarp] = {};
};

class Block;
inline Block* running = nullptr;

// The stack of a thread of a block, not zeroed: that would be most of the time.
inline char* stackOf(std::size_t thread) {
  static std::vector<std::unique_ptr<char[]>> stacks;
  while (stacks.size() <= thread) stacks.emplace_back(new char[kStackBytes]);
  return stacks[thread].get();
}

class Block {
 public:
  Block(Dim3 block, Dim3 index, Dim3 grid, const std::function<void()>& body)
      : size_(block),
        index_(index),
        grid_(grid),
        body_(body),
        fibers_(block.count()),
        warps_((block.count() + kWarp - 1) / kWarp) {}

  void run() {
    running = this;
    for (unsigned int t = 0; t < fibers_.size(); ++t) start(t);
    while (pass()) {
    }
    running = nullptr;
  }

  void wait(Wait reason) {
    fibers_[current_].wait = reason;
    weft::sim::switchFiber(fibers_[current_].context, scheduler_);
  }

  std::uint64_t exchange(unsigned int mask, std::uint64_t value, unsigned int source) {
    const unsigned int lane = current_ % kWarp;
    if (mask != 0xffffffffu) throw std::runtime_error("a shuffle of a part of a warp");
    Warp& warp = warps_[current_ / kWarp];
    const unsigned int turn = warp.turn[lane]++ % 2;
    warp.slots[turn][lane] = value;
    wait(Wait::warp);
    return warp.slots[turn][source];
  }

  unsigned int lane() const { return current_ % kWarp; }
  Dim3 thread() const { return fibers_[current_].index; }
  Dim3 index() const { return index_; }
  Dim3 size() const { return size_; }
  Dim3 grid() const { return grid_; }

 private:
  void start(unsigned int t) {
    Fiber& fiber = fibers_[t];
    fiber.index = {t % size_.x, t / size_.x % size_.y, t / size_.x / size_.y};
    fiber.context = weft::sim::prepareFiber(stackOf(t), kStackBytes, &Block::enter);
  }

  static void enter() {
    Block& block = *running;
    block.body_();
    block.wait(Wait::done);
  }

  // Runs every thread up to its next wait, then lets go of whom nothing holds. False once all are done.
  bool pass() {
    for (current_ = 0; current_ < fibers_.size(); ++current_) {
      Fiber& fiber = fibers_[current_];
      if (fiber.wait == Wait::none) weft::sim::switchFiber(scheduler_, fiber.context);
    }
    std::size_t done = 0, atBlock = 0;
    for (const Fiber& fiber : fibers_) {
      done += fiber.wait == Wait::done;
      atBlock += fiber.wait == Wait::block;
    }
    if (done == fibers_.size()) return false;
    bool released = false;
    for (std::size_t first = 0; first < fibers_.size(); first += kWarp) released |= releaseWarp(first);
    if (released) return true;
    if (atBlock != fibers_.size())
      throw std::runtime_error("a barrier or shuffle that not every thread reaches");
    for (Fiber& fiber : fibers_) fiber.wait = Wait::none;
    return true;
  }

  bool releaseWarp(std::size_t first) {
    if (first + kWarp > fibers_.size()) return false;
    for (std::size_t t = first; t < first + kWarp; ++t) {
      if (fibers_[t].wait != Wait::warp) return false;
    }
    for (std::size_t t = first; t < first + kWarp; ++t) fibers_[t].wait = Wait::none;
    return true;
  }

  Dim3 size_, index_, grid_;
  const std::function<void()>& body_;
  std::vector<Fiber> fibers_;
  std::vector<Warp> warps_;
  weft::sim::FiberContext scheduler_ = nullptr;
  unsigned int current_ = 0;
};

inline std::vector<char> dynamicShared;

inline void launch(Dim3 grid, Dim3 block, std::size_t sharedBytes, const std::function<void()>& body) {
  for (unsigned int z = 0; z < grid.z; ++z) {
    for (unsigned int y = 0; y < grid.y; ++y) {
      for (unsigned int x = 0; x < grid.x; ++x) {
        if (__start_weft_shared != nullptr) {
          std::memset(__start_weft_shared, kPoison,
                      static_cast<std::size_t>(__stop_weft_shared - __start_weft_shared));
        }
        dynamicShared.assign(sharedBytes + 16, static_cast<char>(kPoison));
        Block(block, {x, y, z}, grid, body).run();
      }
    }
  }
}

// A buffer that ends in front of a page without access, so that most reads and writes past its end are
// faults.
class DeviceMemory {
 public:
  explicit DeviceMemory(std::size_t bytes) {
    const std::size_t page = 4096;
    const std::size_t aligned = (bytes + 255) / 256 * 256;
    const std::size_t body = (aligned + page - 1) / page * page;
    mapped_ = body + 2 * page;
    base_ = static_cast<char*>(
        mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (base_ == MAP_FAILED) throw std::runtime_error("mmap");
    mprotect(base_, page, PROT_NONE);
    mprotect(base_ + page + body, page, PROT_NONE);
    data_ = base_ + page + body - aligned;
    std::memset(base_ + page, kPoison, body);
  }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory() { munmap(base_, mapped_); }
  char* data() const { return data_; }

 private:
  char* base_;
  char* data_;
  std::size_t mapped_;
};

// Bytes [first, last) of a buffer, as aligned as in the whole buffer, between pages without access: next to
// the one behind (`high`) or the one in front. Between the two lies poison that nobody may write.
class WindowMemory {
 public:
  WindowMemory(std::size_t first, std::size_t last, bool high) : first_(first), bytes_(last - first) {
    const std::size_t page = 4096, unit = 256;
    body_ = (bytes_ + unit + page - 1) / page * page;
    base_ = static_cast<char*>(
        mmap(nullptr, body_ + 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (base_ == MAP_FAILED) throw std::runtime_error("mmap");
    mprotect(base_, page, PROT_NONE);
    mprotect(base_ + page + body_, page, PROT_NONE);
    start_ = base_ + page;
    const std::size_t spare = body_ - bytes_ - first % unit;
    data_ = start_ + first % unit + (high ? spare / unit * unit : 0);
    std::memset(start_, kPoison, body_);
  }
  WindowMemory(const WindowMemory&) = delete;
  WindowMemory& operator=(const WindowMemory&) = delete;
  ~WindowMemory() { munmap(base_, body_ + 2 * 4096); }
  char* data() const { return data_; }
  // Where the whole buffer would begin.
  char* origin() const { return reinterpret_cast<char*>(reinterpret_cast<std::uintptr_t>(data_) - first_); }
  void check() const {
    for (const char* at = start_; at < start_ + body_; ++at) {
      if ((at < data_ || at >= data_ + bytes_) && *at != static_cast<char>(kPoison))
        throw std::runtime_error("a write outside of a window");
    }
  }

 private:
  std::size_t first_, bytes_, body_;
  char *base_, *start_, *data_;
};

}  // namespace weft_sim

// The functions that kernels call (kernel/kernel.h).
extern "C" inline __attribute__((used)) const weft_sim::Dim3* weft_sim_place(int which) {
  static weft_sim::Dim3 places[4];
  const weft_sim::Block& block = *weft_sim::running;
  places[which] = which == 0   ? block.thread()
                  : which == 1 ? block.index()
                  : which == 2 ? block.size()
                               : block.grid();
  return &places[which];
}
extern "C" inline __attribute__((used)) void weft_sim_barrier() {
  weft_sim::running->wait(weft_sim::Wait::block);
}
extern "C" inline __attribute__((used)) void* weft_sim_dynamic_shared() {
  return weft_sim::dynamicShared.data();
}
extern "C" inline __attribute__((used)) unsigned long long weft_sim_shuffle(unsigned mask,
                                                                            unsigned long long value,
                                                                            unsigned source) {
  return weft_sim::running->exchange(mask, value, source);
}
extern "C" inline __attribute__((used)) unsigned weft_sim_lane() { return weft_sim::running->lane(); }
extern "C" inline __attribute__((used)) void weft_sim_atomic(void*, unsigned) {}
