#include "runtime/memory-limit.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <mutex>

#include "runtime/values.h"

namespace weft {
namespace {

struct Limit {
  double bytes;
  double share;
};

// By device; the empty name stands for all others.
struct Limits {
  std::mutex mutex;
  std::map<std::string, Limit> byDevice;
  // Whether there are any, so that nobody pays for none.
  std::atomic<bool> areSet{false};
};

// Never destroyed: finalizers free memory until the process is gone.
Limits& limits() {
  static Limits& it = *new Limits();
  return it;
}

}  // namespace

bool hasMemoryLimits() { return limits().areSet.load(std::memory_order_relaxed); }

size_t memoryLimit(const std::string& device, size_t total) {
  Limits& all = limits();
  if (!all.areSet.load(std::memory_order_relaxed)) return kNoMemoryLimit;
  const std::lock_guard lock(all.mutex);
  auto found = all.byDevice.find(device);
  if (found == all.byDevice.end()) found = all.byDevice.find("");
  if (found == all.byDevice.end()) return kNoMemoryLimit;
  const auto [bytes, share] = found->second;
  const double least = share < 1 ? std::min(bytes, std::floor(share * static_cast<double>(total))) : bytes;
  return least < static_cast<double>(kNoMemoryLimit) ? static_cast<size_t>(least) : kNoMemoryLimit;
}

Napi::Value limitMemory(const Napi::CallbackInfo& info) {
  const std::string device = info[0].IsUndefined() ? "" : values::text(info[0], "device");
  const Limit limit{info[1].ToNumber().DoubleValue(), info[2].ToNumber().DoubleValue()};
  Limits& all = limits();
  const std::lock_guard lock(all.mutex);
  const bool isSetting = info[3].ToBoolean();
  if (isSetting && all.areSet) return info.Env().Undefined();
  if (device.empty()) all.byDevice.clear();
  all.byDevice[device] = limit;
  all.areSet = true;
  return info.Env().Undefined();
}

Napi::Value memoryLimitOf(const Napi::CallbackInfo& info) {
  const auto total = static_cast<size_t>(values::integer(info[1], "total"));
  const size_t limit = memoryLimit(values::text(info[0], "device"), total);
  const double bytes =
      limit == kNoMemoryLimit ? std::numeric_limits<double>::infinity() : static_cast<double>(limit);
  return Napi::Number::New(info.Env(), bytes);
}

}  // namespace weft
