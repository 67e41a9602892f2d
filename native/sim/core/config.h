// DeviceConfig: what a simulated device has. Set by WEFT_SIM_DEVICES or by a test before the driver is
// started.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "core/json.h"

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

// Reads [{"memory": 1073741824, "capability": 90, …}, …]; what is not given is as above.
std::vector<DeviceConfig> readDevices(const Json& list);
// From WEFT_SIM_DEVICES; without it two devices.
std::vector<DeviceConfig> devicesFromEnvironment();

}  // namespace weft::sim
