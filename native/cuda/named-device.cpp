#include "cuda/named-device.h"

#include "runtime/values.h"

namespace weft::cuda {

CudaDevice& namedCudaDevice(const Napi::Value& name) {
  auto* device = dynamic_cast<CudaDevice*>(&deviceNamed(values::text(name, "device")));
  if (device == nullptr) values::reject("device", "cuda:N");
  return *device;
}

}  // namespace weft::cuda
