#include "runtime/available-memory.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <limits>
#include <string>

#if defined(__unix__) || defined(__APPLE__)
#include <unistd.h>
#endif

namespace weft::host {
namespace {

// The files of a container's limit, by version of cgroups, and the entry of `stat` for caches that the system
// can drop.
struct Group {
  const char* limit;
  const char* usage;
  const char* stat;
  const char* caches;
};
constexpr Group kGroups[] = {
    {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory.stat",
     "inactive_file"},
    {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes",
     "/sys/fs/cgroup/memory/memory.stat", "total_inactive_file"},
};

// The number that a file begins with, or the other value: "max" is not a number, and no limit.
size_t numberIn(const char* path, size_t otherwise) {
  std::ifstream file(path);
  uint64_t number = 0;
  return file >> number ? static_cast<size_t>(number) : otherwise;
}

// The number after a name in a file of names and numbers, or the other value.
size_t entryOf(const char* path, const std::string& name, size_t otherwise) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.compare(0, name.size(), name) == 0) return std::stoull(line.substr(name.size()));
  }
  return otherwise;
}

}  // namespace

size_t usableMemory() {
  size_t bytes = size_t{16} << 30;
#ifdef _SC_PHYS_PAGES
  const long pages = sysconf(_SC_PHYS_PAGES);
  if (pages > 0) bytes = static_cast<size_t>(pages) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
#endif
  for (const Group& group : kGroups) bytes = std::min(bytes, numberIn(group.limit, bytes));
  return bytes;
}

size_t availableMemory() {
  constexpr size_t kUnknown = std::numeric_limits<size_t>::max();
  constexpr const char* kMachine = "/proc/meminfo";  // in KiB
  const size_t free = entryOf(kMachine, "MemAvailable:", kUnknown);
  if (free == kUnknown) return kUnknown;
  size_t bytes = free * 1024;
  for (const Group& group : kGroups) {
    const size_t limit = numberIn(group.limit, kUnknown);
    if (limit == kUnknown) continue;
    const size_t used = numberIn(group.usage, 0);
    const size_t kept = std::min(used, entryOf(group.stat, std::string(group.caches) + ' ', 0));
    bytes = std::min(bytes, limit - std::min(limit, used - kept));
  }
  return bytes + entryOf(kMachine, "SwapFree:", 0) * 1024;
}

}  // namespace weft::host
