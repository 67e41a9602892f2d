#include "core/config.h"

namespace weft::sim {

DeviceConfig readDevice(const Setting& setting) {
  DeviceConfig device;
  const auto bytes = [&](const char* field, size_t fallback) {
    return static_cast<size_t>(setting.number(field, static_cast<double>(fallback)));
  };
  device.name = setting.text("name", device.name);
  device.memory = bytes("memory", device.memory);
  device.multiprocessors = static_cast<int>(setting.number("multiprocessors", device.multiprocessors));
  device.capability = static_cast<int>(setting.number("capability", device.capability));
  device.sharedMemoryPerBlock = bytes("sharedMemoryPerBlock", device.sharedMemoryPerBlock);
  device.sharedMemoryPerMultiprocessor =
      bytes("sharedMemoryPerMultiprocessor", device.sharedMemoryPerMultiprocessor);
  device.l2 = bytes("l2", device.l2);
  device.unreachable = setting.integers("unreachable");
  return device;
}

}  // namespace weft::sim
