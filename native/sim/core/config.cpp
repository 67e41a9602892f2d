#include "core/config.h"

#include <cstdlib>

namespace weft::sim {

std::vector<DeviceConfig> readDevices(const Json& list) {
  std::vector<DeviceConfig> devices;
  for (const Json& entry : list.array()) {
    DeviceConfig device;
    const auto bytes = [&](const char* key, size_t fallback) {
      return static_cast<size_t>(entry.number(key, static_cast<double>(fallback)));
    };
    device.name = entry.text("name", device.name);
    device.memory = bytes("memory", device.memory);
    device.multiprocessors = static_cast<int>(entry.number("multiprocessors", device.multiprocessors));
    device.capability = static_cast<int>(entry.number("capability", device.capability));
    device.sharedMemoryPerBlock = bytes("sharedMemoryPerBlock", device.sharedMemoryPerBlock);
    device.sharedMemoryPerMultiprocessor =
        bytes("sharedMemoryPerMultiprocessor", device.sharedMemoryPerMultiprocessor);
    device.l2 = bytes("l2", device.l2);
    if (const Json* list = entry.find("unreachable")) {
      for (const Json& peer : list->array()) device.unreachable.push_back(static_cast<int>(peer.number()));
    }
    devices.push_back(std::move(device));
  }
  return devices;
}

std::vector<DeviceConfig> devicesFromEnvironment() {
  const char* text = std::getenv("WEFT_SIM_DEVICES");
  if (text == nullptr || *text == 0) return std::vector<DeviceConfig>(2);
  return readDevices(Json::parse(text));
}

}  // namespace weft::sim
