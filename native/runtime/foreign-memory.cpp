#include "runtime/foreign-memory.h"

#include <memory>
#include <utility>

#include "runtime/buffer-handle.h"
#include "runtime/device.h"
#include "runtime/values.h"

namespace weft {
namespace {

// Calls a function of JavaScript's where it ends, on any thread.
class ForeignMemory : public Memory {
 public:
  ForeignMemory(Device& device, uintptr_t address, size_t byteLength, Napi::ThreadSafeFunction release)
      : Memory(device, address, byteLength), release_(std::move(release)) {}
  ~ForeignMemory() override {
    // Refused where the environment has ended: there is nobody to call then.
    release_.NonBlockingCall();
    release_.Release();
  }

 private:
  Napi::ThreadSafeFunction release_;
};

uintptr_t addressOf(const Napi::Value& value) {
  if (!value.IsBigInt()) values::reject("address", "a bigint");
  bool isWhole = false;
  const uint64_t address = value.As<Napi::BigInt>().Uint64Value(&isWhole);
  if (!isWhole || address == 0) values::reject("address", "an address of 64 bits");
  return static_cast<uintptr_t>(address);
}

}  // namespace

Napi::Value bufferAddress(const Napi::CallbackInfo& info) {
  const auto& handle = values::handle<BufferHandle>(info[0], "handle");
  if (!handle.memory) values::reject("handle", "of memory that was not disposed");
  return Napi::BigInt::New(info.Env(), static_cast<uint64_t>(handle.memory->address));
}

Napi::Value wrapMemory(const Napi::CallbackInfo& info) {
  Device& device = deviceNamed(values::text(info[0], "device"));
  const uintptr_t address = addressOf(info[1]);
  const auto byteLength = static_cast<size_t>(values::integer(info[2], "byteLength"));
  if (!info[3].IsFunction()) values::reject("release", "a function");
  auto release =
      Napi::ThreadSafeFunction::New(info.Env(), info[3].As<Napi::Function>(), "weft memory of others", 0, 1);
  // Memory that is held keeps no process alive.
  release.Unref(info.Env());
  auto memory = std::make_shared<ForeignMemory>(device, address, byteLength, std::move(release));
  return values::makeHandle(info.Env(),
                            std::make_unique<BufferHandle>(info.Env(), std::move(memory), byteLength));
}

}  // namespace weft
