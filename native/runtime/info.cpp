#include "runtime/info.h"

#include <algorithm>

#include "cpu/cpu.h"
#include "runtime/available-memory.h"
#include "runtime/device.h"
#include "runtime/environment.h"
#include "runtime/values.h"

namespace weft {
namespace {

class TrimTask : public NativeTask {
 public:
  explicit TrimTask(Device& device) : device_(device) {}
  void run() override { device_.trim(); }
  Napi::Value result(Napi::Env env) override { return env.Undefined(); }

 private:
  Device& device_;
};

}  // namespace

Napi::Value cpuInfo(const Napi::CallbackInfo& info) { return cpu::describe(info.Env()); }

Napi::Value hostMemory(const Napi::CallbackInfo& info) {
  const size_t total = host::usableMemory();
  Napi::Object result = Napi::Object::New(info.Env());
  result.Set("totalBytes", static_cast<double>(total));
  result.Set("freeBytes", static_cast<double>(std::min(total, host::availableMemory())));
  return result;
}

Napi::Value memory(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const std::vector<Device*> devices = openedDevices();
  Napi::Array result = Napi::Array::New(env, devices.size());
  for (uint32_t i = 0; i < devices.size(); i++) {
    const MemoryUse use = devices[i]->memory();
    Napi::Object entry = Napi::Object::New(env);
    entry.Set("device", devices[i]->name());
    entry.Set("inUse", static_cast<double>(use.inUse));
    entry.Set("held", static_cast<double>(use.held));
    entry.Set("peak", static_cast<double>(use.peak));
    entry.Set("workPeak", static_cast<double>(use.workPeak));
    entry.Set("staging", static_cast<double>(use.staging));
    result.Set(i, entry);
  }
  return result;
}

Napi::Value lostDevices(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  Napi::Array result = Napi::Array::New(env);
  for (const Device* device : openedDevices()) {
    const std::string status = device->lostStatus();
    if (status.empty()) continue;
    Napi::Object entry = Napi::Object::New(env);
    entry.Set("device", device->name());
    entry.Set("status", status);
    result.Set(result.Length(), entry);
  }
  return result;
}

Napi::Value collectGarbage(const Napi::CallbackInfo& info) {
  // More than any heap may reach: the engine collects at once, before the report is taken back.
  constexpr int64_t kPressure = int64_t{1} << 46;
  const Napi::Env env = info.Env();
  Napi::MemoryManagement::AdjustExternalMemory(env, kPressure);
  Napi::MemoryManagement::AdjustExternalMemory(env, -kPressure);
  return env.Undefined();
}

Napi::Value trim(const Napi::CallbackInfo& info) {
  Device& device = deviceNamed(values::text(info[0], "device"));
  return Environment::of(info.Env()).start(info.Env(), std::make_shared<TrimTask>(device), device.executor());
}

}  // namespace weft
