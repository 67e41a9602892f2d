// The part of CUDA C++ that generated kernels use, for a C++ compiler: one fiber per thread of a block,
// blocks one after the other, always in the same order. Barriers and shuffles that not every thread reaches
// are errors, and shared memory is poisoned before each block. For tests only.
//
// Two things have to be rewritten in a source first, since no macro can: `asm("op.type …;" : "=f"(r) :
// "f"(a))` becomes `weft_ptx_op_type(r, a)`, and `extern "C"` goes, so that several kernels fit one program.
#pragma once

#include <sys/mman.h>
#include <ucontext.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

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
  ucontext_t context;
  std::unique_ptr<char[]> stack;
  Wait wait = Wait::none;
  Dim3 index;
};

// What lanes of a warp hand over: two places in turn, for a lane may reach the next shuffle before another
// has read.
struct Warp {
  std::uint64_t slots[2][kWarp];
  unsigned int turn[kWarp] = {};
};

class Block;
inline Block* running = nullptr;

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
    swapcontext(&fibers_[current_].context, &scheduler_);
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
    fiber.stack.reset(new char[kStackBytes]);  // not zeroed: that would be most of the time
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.get();
    fiber.context.uc_stack.ss_size = kStackBytes;
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, reinterpret_cast<void (*)()>(&Block::enter), 0);
  }

  static void enter() {
    Block& block = *running;
    block.body_();
    block.wait(Wait::done);
  }

  // Runs every thread up to its next wait, then lets go of whom nothing holds. False once all are done.
  bool pass() {
    for (current_ = 0; current_ < fibers_.size(); ++current_) {
      if (fibers_[current_].wait == Wait::none) swapcontext(&scheduler_, &fibers_[current_].context);
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
  ucontext_t scheduler_;
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
// the one behind (`high`) or the one in front. What lies between is poison that nobody may write.
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
  char* origin() const {
    return reinterpret_cast<char*>(reinterpret_cast<std::uintptr_t>(data_) - first_);
  }
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

// Calls a kernel with the addresses of its arguments, as a launch is given them.
template <class... A, std::size_t... I>
void call(void (*kernel)(A...), void** args, std::index_sequence<I...>) {
  kernel(*static_cast<A*>(args[I])...);
}
template <class... A>
void call(void (*kernel)(A...), [[maybe_unused]] void** args) {
  call(kernel, args, std::index_sequence_for<A...>{});
}

template <class To, class From>
To bits(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof(to));
  return to;
}

}  // namespace weft_sim

#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __shared__ static __attribute__((section("weft_shared")))
#define threadIdx (weft_sim::running->thread())
#define blockIdx (weft_sim::running->index())
#define blockDim (weft_sim::running->size())
#define gridDim (weft_sim::running->grid())

inline void __syncthreads() { weft_sim::running->wait(weft_sim::Wait::block); }

template <class T>
T __shfl_xor_sync(unsigned int mask, T value, int lanes) {
  std::uint64_t word = 0;
  std::memcpy(&word, &value, sizeof(value));
  word =
      weft_sim::running->exchange(mask, word, weft_sim::running->lane() ^ static_cast<unsigned int>(lanes));
  std::memcpy(&value, &word, sizeof(value));
  return value;
}

inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>((static_cast<unsigned __int128>(a) * b) >> 64);
}
inline float __int_as_float(int a) { return weft_sim::bits<float>(a); }
inline int __float_as_int(float a) { return weft_sim::bits<int>(a); }
inline double __longlong_as_double(long long a) { return weft_sim::bits<double>(a); }
inline long long __double_as_longlong(double a) { return weft_sim::bits<long long>(a); }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdividef(float a, float b) { return a / b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline float __double2float_rz(double a) {
  const float nearest = static_cast<float>(a);
  if (std::isnan(a) || std::fabs(static_cast<double>(nearest)) <= std::fabs(a)) return nearest;
  return std::nextafter(nearest, 0.0f);
}
inline float rsqrtf(float a) { return 1.0f / std::sqrt(a); }
inline double rsqrt(double a) { return 1.0 / std::sqrt(a); }
// glibc has these, but libstdc++ overloads only some of them for float.
using std::acos, std::asin, std::atan2, std::copysign, std::cosh, std::exp, std::expm1, std::fabs, std::floor,
    std::hypot;
using std::log, std::log1p, std::signbit, std::sinh, std::sqrt, std::tan, std::tanh;

// An approximation is the device's own: nothing may rest on its bits.
inline void weft_ptx_rsqrt_approx_ftz_f32(float& r, float a) {
  r = static_cast<float>(1.0 / std::sqrt(static_cast<double>(a)));
}
inline void weft_ptx_max_NaN_f32(float& r, float a, float b) {
  r = std::isnan(a) || std::isnan(b) ? weft_sim::bits<float>(0x7fffffff)
      : a == b                       ? (std::signbit(a) ? b : a)
      : a > b                        ? a
                                     : b;
}
inline void weft_ptx_min_NaN_f32(float& r, float a, float b) {
  r = std::isnan(a) || std::isnan(b) ? weft_sim::bits<float>(0x7fffffff)
      : a == b                       ? (std::signbit(a) ? a : b)
      : a < b                        ? a
                                     : b;
}
inline void weft_ptx_cvt_f32_f16(float& r, unsigned short a) {
  const unsigned int exponent = a >> 10 & 31, fraction = a & 0x3ff;
  const float magnitude =
      exponent == 31  ? (fraction ? NAN : INFINITY)
      : exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                      : std::ldexp(static_cast<float>(1024 + fraction), static_cast<int>(exponent) - 25);
  r = a & 0x8000 ? -magnitude : magnitude;
}
// The nearest float16 of a double, ties to even: exact for floats too.
inline void weft_ptx_cvt_rn_f16_f64(unsigned short& r, double a) {
  const unsigned short sign = std::signbit(a) ? 0x8000 : 0;
  const double size = std::fabs(a);
  if (std::isnan(a)) {
    r = 0x7fff;
  } else if (size == 0) {
    r = sign;
  } else if (size >= 65520.0) {
    r = sign | 0x7c00;
  } else {
    int exponent = 0;
    std::frexp(size, &exponent);
    const int unit = std::max(exponent - 11, -24);
    const long long rounded = std::llrint(std::ldexp(size, -unit));
    // Counting units from zero makes the carry into the next exponent come out by itself.
    r = static_cast<unsigned short>(sign | (unit == -24 ? rounded : ((unit + 24) << 10) + rounded));
  }
}
inline void weft_ptx_cvt_rn_f16_f32(unsigned short& r, float a) { weft_ptx_cvt_rn_f16_f64(r, a); }
inline void weft_ptx_cvt_rn_bf16_f32(unsigned short& r, float a) {
  const std::uint32_t word = weft_sim::bits<std::uint32_t>(a);
  r = static_cast<unsigned short>(std::isnan(a) ? 0x7fff : (word + 0x7fff + (word >> 16 & 1)) >> 16);
}
