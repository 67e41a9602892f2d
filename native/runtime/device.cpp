#include "runtime/device.h"

#include "runtime/failure.h"

namespace weft {

Device& deviceNamed(const std::string& name) {
  if (name == "cpu") return cpuDevice();
  throw Failure(FailureCode::device, "[weft] expected a device, cpu or cuda:N: " + name);
}

std::vector<Device*> openedDevices() { return {&cpuDevice()}; }

}  // namespace weft
