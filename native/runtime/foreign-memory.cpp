#include "runtime/foreign-memory.h"

#include <memory>
#include <utility>

#include "runtime/buffer-handle.h"
#include "runtime/device.h"
#include "runtime/held-reference.h"
#include "runtime/values.h"

namespace weft {
namespace {

// Calls a function of JavaScript's where it ends, on any thread; an environment that goes away is not called.
class ForeignMemory : public Memory {
 public:
  ForeignMemory(Device& device, uintptr_t address, size_t byteLength, const Napi::Function& release)
      : Memory(device, address, byteLength), release_(release) {}
  ~ForeignMemory() override {
    release_.drop([](Napi::FunctionReference& release) {
      try {
        release.Call({});
      } catch (const Napi::Error& error) {
        // As one of a callback that nobody catches.
        napi_fatal_exception(release.Env(), error.Value());
      }
    });
  }

 private:
  HeldReference<Napi::FunctionReference> release_;
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
  auto memory = std::make_shared<ForeignMemory>(device, address, byteLength, info[3].As<Napi::Function>());
  return values::makeHandle(info.Env(),
                            std::make_unique<BufferHandle>(info.Env(), std::move(memory), byteLength));
}

}  // namespace weft
