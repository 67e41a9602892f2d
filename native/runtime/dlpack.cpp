#include "runtime/dlpack.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/buffer-handle.h"
#include "runtime/device.h"
#include "runtime/dlpack-layout.h"
#include "runtime/environment.h"
#include "runtime/executor.h"
#include "runtime/fields.h"
#include "runtime/held-reference.h"
#include "runtime/values.h"

namespace weft {
namespace {

using dlpack::ManagedTensor;

// The memory of a tensor, until it is deleted on any thread.
struct Owner {
  Owner() = default;
  virtual ~Owner() = default;
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;
};

// Memory of Weft's. On a GPU it is freed, for work that is queued later, behind what the reader has queued.
struct BufferOwner : Owner {
  BufferOwner(std::shared_ptr<Memory> memory, uintptr_t stream) : memory(std::move(memory)), stream(stream) {}
  ~BufferOwner() override {
    if (stream == 0) return;
    Device& device = memory->device;
    device.executor().post([memory = std::move(memory), stream = stream]() mutable {
      try {
        memory->device.waitForStream(stream);
      } catch (const Failure&) {
        // Of a device that is lost, or of a stream that is no more, nothing is waited for.
      }
      memory.reset();
    });
  }
  std::shared_ptr<Memory> memory;
  const uintptr_t stream;
};

// An array of JavaScript's.
struct ArrayOwner : Owner {
  explicit ArrayOwner(const Napi::Object& array) : array(array) {}
  ~ArrayOwner() override {
    array.drop([](Napi::ObjectReference&) {});
  }
  HeldReference<Napi::ObjectReference> array;
};

// A tensor of Weft's, with what it points to.
struct OwnTensor {
  ManagedTensor managed{};
  std::vector<int64_t> shape, strides;
  std::unique_ptr<Owner> owner;
};

void deleteOwn(ManagedTensor* self) {
  if (!isForked()) delete static_cast<OwnTensor*>(self->context);
}

void deleteTensor(ManagedTensor* tensor) {
  if (tensor->deleter != nullptr) tensor->deleter(tensor);
}

using Cell = ManagedTensor*;

Napi::Value makeCapsule(Napi::Env env, ManagedTensor* tensor) {
  auto cell = std::make_unique<Cell>(tensor);
  napi_value value = nullptr;
  const auto release = [](napi_env, void* data, void*) {
    if (isForked()) return;
    const std::unique_ptr<Cell> owned(static_cast<Cell*>(data));
    if (*owned != nullptr) deleteTensor(*owned);
  };
  if (napi_create_external(env, cell.get(), release, nullptr, &value) != napi_ok) {
    deleteTensor(tensor);
    throw Failure(FailureCode::internal, "napi_create_external failed");
  }
  static_cast<void>(cell.release());
  if (napi_type_tag_object(env, value, &kDlpackTag) != napi_ok)
    throw Failure(FailureCode::internal, "napi_type_tag_object failed");
  return {env, value};
}

// The cell of a capsule; null for another value.
Cell* cellOf(const Napi::Value& value) {
  if (!value.IsExternal()) return nullptr;
  bool isCapsule = false;
  void* data = nullptr;
  if (napi_check_object_type_tag(value.Env(), value, &kDlpackTag, &isCapsule) != napi_ok || !isCapsule)
    return nullptr;
  return napi_get_value_external(value.Env(), value, &data) == napi_ok ? static_cast<Cell*>(data) : nullptr;
}

uintptr_t word(const Napi::Value& value, const char* field) {
  bool isWhole = false;
  const uint64_t number = value.IsBigInt() ? value.As<Napi::BigInt>().Uint64Value(&isWhole) : 0;
  if (!isWhole) values::reject(field, "an unsigned bigint of 64 bits");
  return static_cast<uintptr_t>(number);
}

ManagedTensor* tensorAt(const Napi::Value& value) {
  return reinterpret_cast<ManagedTensor*>(word(value, "tensor"));
}

Napi::Array numbers(Napi::Env env, const int64_t* list, int32_t count) {
  const Napi::Array result = Napi::Array::New(env, static_cast<size_t>(count));
  for (int32_t k = 0; k < count; k++)
    result.Set(static_cast<uint32_t>(k), Napi::Number::New(env, static_cast<double>(list[k])));
  return result;
}

using Order = void (Device::*)(uintptr_t stream);

class StreamTask : public NativeTask {
 public:
  StreamTask(Device& device, Order order, uintptr_t stream)
      : device_(device), order_(order), stream_(stream) {}
  void run() override { (device_.*order_)(stream_); }
  Napi::Value result(Napi::Env env) override { return env.Undefined(); }

 private:
  Device& device_;
  const Order order_;
  const uintptr_t stream_;
};

Napi::Value startOrder(const Napi::CallbackInfo& info, Order order) {
  Device& device = deviceNamed(values::text(info[0], "device"));
  auto task = std::make_shared<StreamTask>(device, order, word(info[1], "stream"));
  return Environment::of(info.Env()).start(info.Env(), std::move(task), device.executor());
}

}  // namespace

Napi::Value makeDlpack(const Napi::CallbackInfo& info) {
  const Fields layout(info[1], "layout");
  auto own = std::make_unique<OwnTensor>();
  own->shape = layout.integers("shape");
  own->strides.resize(own->shape.size());
  int64_t stride = 1;
  for (size_t k = own->shape.size(); k-- > 0;) {
    own->strides[k] = stride;
    stride *= std::max<int64_t>(own->shape[k], 1);
  }
  ManagedTensor& managed = own->managed;
  dlpack::Tensor& tensor = managed.tensor;
  if (info[0].IsTypedArray()) {
    const auto array = info[0].As<Napi::TypedArray>();
    napi_get_typedarray_info(info.Env(), array, nullptr, nullptr, &tensor.data, nullptr, nullptr);
    own->owner = std::make_unique<ArrayOwner>(array);
  } else {
    const auto& handle = values::handle<BufferHandle>(info[0], "source");
    if (!handle.memory) values::reject("source", "memory that was not disposed");
    tensor.data = reinterpret_cast<void*>(handle.memory->address);
    own->owner = std::make_unique<BufferOwner>(handle.memory, word(layout.value("stream"), "stream"));
  }
  tensor.device = {static_cast<int32_t>(layout.integer("deviceType")),
                   static_cast<int32_t>(layout.integer("deviceId"))};
  tensor.ndim = static_cast<int32_t>(own->shape.size());
  tensor.dtype = {static_cast<uint8_t>(layout.integer("code", 0, 255)),
                  static_cast<uint8_t>(layout.integer("bits", 0, 255)), 1};
  tensor.shape = own->shape.data();
  tensor.strides = own->strides.data();
  managed.version = dlpack::kVersion;
  managed.flags = layout.flag("isReadOnly") ? dlpack::kReadOnly : 0;
  managed.deleter = deleteOwn;
  managed.context = own.get();
  return makeCapsule(info.Env(), &own.release()->managed);
}

Napi::Value describeDlpack(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const Cell* cell = cellOf(info[0]);
  const ManagedTensor* managed = info[0].IsBigInt() ? tensorAt(info[0]) : cell == nullptr ? nullptr : *cell;
  if (managed == nullptr) return env.Undefined();
  Napi::Object result = Napi::Object::New(env);
  result.Set("major", managed->version.major);
  // The rest is laid out as above in this version alone.
  if (managed->version.major != dlpack::kVersion.major) return result;
  const dlpack::Tensor& tensor = managed->tensor;
  const uint64_t address = reinterpret_cast<uintptr_t>(tensor.data) + tensor.byteOffset;
  result.Set("address", Napi::BigInt::New(env, address));
  result.Set("deviceType", tensor.device.type);
  result.Set("deviceId", tensor.device.id);
  result.Set("code", static_cast<uint32_t>(tensor.dtype.code));
  result.Set("bits", static_cast<uint32_t>(tensor.dtype.bits));
  result.Set("lanes", static_cast<uint32_t>(tensor.dtype.lanes));
  result.Set("shape", numbers(env, tensor.shape, tensor.ndim));
  if (tensor.strides != nullptr) result.Set("strides", numbers(env, tensor.strides, tensor.ndim));
  return result;
}

Napi::Value takeDlpack(const Napi::CallbackInfo& info) {
  Cell* cell = cellOf(info[0]);
  if (cell == nullptr || *cell == nullptr) values::reject("capsule", "one whose tensor was not taken");
  const uint64_t address = reinterpret_cast<uintptr_t>(std::exchange(*cell, nullptr));
  return Napi::BigInt::New(info.Env(), address);
}

Napi::Value deleteDlpack(const Napi::CallbackInfo& info) {
  deleteTensor(tensorAt(info[0]));
  return info.Env().Undefined();
}

Napi::Value makeStreamWait(const Napi::CallbackInfo& info) {
  return startOrder(info, &Device::makeStreamWait);
}

Napi::Value waitForStream(const Napi::CallbackInfo& info) { return startOrder(info, &Device::waitForStream); }

}  // namespace weft
