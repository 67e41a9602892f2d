// DeviceConfig: what a simulated device has. Set before the driver is started.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "core/settings.h"

namespace weft::sim {

struct DeviceConfig {
  std::string name = "Simulated GPU";
  size_t memory = size_t{1} << 30;
  int multiprocessors = 132;
  // 90 is 9.0.
  int capability = 90;
  size_t sharedMemoryPerBlock = 227 * 1024;
  size_t sharedMemoryPerMultiprocessor = 228 * 1024;
  size_t l2 = size_t{50} << 20;
  // Ordinals of devices whose memory it cannot access; it reaches all others.
  std::vector<int> unreachable;
};

// Of "device\tmemory=1073741824\tcapability=90"; what is not given is as above.
DeviceConfig readDevice(const Setting& setting);

}  // namespace weft::sim
