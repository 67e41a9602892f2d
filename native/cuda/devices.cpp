// The devices of the process, each made when it is first named.
#include <map>
#include <mutex>

#include "cuda/device.h"
#include "cuda/driver.h"
#include "runtime/failure.h"

namespace weft::cuda {
namespace {

struct Devices {
  std::mutex mutex;
  std::map<int, CudaDevice*> byOrdinal;
};

Devices& devices() {
  static Devices& it = *new Devices();
  return it;
}

}  // namespace

CudaDevice& deviceAt(int ordinal) {
  static_cast<void>(driver());
  const int count = driverState().deviceCount;
  if (ordinal >= count) {
    throw Failure(FailureCode::device, "[cuda] expected a device from cuda:0 to cuda:" +
                                           std::to_string(count - 1) + ": cuda:" + std::to_string(ordinal));
  }
  const std::lock_guard lock(devices().mutex);
  CudaDevice*& device = devices().byOrdinal[ordinal];
  if (device == nullptr) device = new CudaDevice(ordinal);
  return *device;
}

std::vector<Device*> openedCudaDevices() {
  const std::lock_guard lock(devices().mutex);
  std::vector<Device*> result;
  for (const auto& [ordinal, device] : devices().byOrdinal) result.push_back(device);
  return result;
}

}  // namespace weft::cuda
