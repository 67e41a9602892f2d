#include "runtime/device.h"

#include <charconv>

#include "cuda/device.h"
#include "runtime/failure.h"

namespace weft {

Device& deviceNamed(const std::string& name) {
  if (name == "cpu") return cpuDevice();
  constexpr std::string_view kCuda = "cuda:";
  if (name.rfind(kCuda, 0) == 0) {
    int ordinal = -1;
    const char* end = name.data() + name.size();
    const auto [stop, error] = std::from_chars(name.data() + kCuda.size(), end, ordinal);
    if (error == std::errc() && stop == end && ordinal >= 0) return cuda::deviceAt(ordinal);
  }
  throw Failure(FailureCode::device, "[weft] expected a device, cpu or cuda:N: " + name);
}

std::vector<Device*> openedDevices() {
  std::vector<Device*> devices = cuda::openedCudaDevices();
  devices.insert(devices.begin(), &cpuDevice());
  return devices;
}

}  // namespace weft
