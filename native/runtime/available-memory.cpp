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

constexpr size_t kUnknown = std::numeric_limits<size_t>::max();

// The files of a container's limit, by version of cgroups, and the entry of `stat` for caches that the system
// can drop.
struct CgroupFiles {
  const char* limit;
  const char* usage;
  const char* stat;
  const char* caches;
};
constexpr CgroupFiles kGroups[] = {
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

// Free memory, caches that can be dropped, and swap.
size_t availableOfMachine() {
  constexpr const char* kMachine = "/proc/meminfo";  // in KiB
  const size_t free = entryOf(kMachine, "MemAvailable:", kUnknown);
  return free == kUnknown ? kUnknown : (free + entryOf(kMachine, "SwapFree:", 0)) * 1024;
}

// Bytes that the limit of the container leaves.
size_t availableOfGroup() {
  size_t bytes = kUnknown;
  for (const CgroupFiles& group : kGroups) {
    const size_t limit = numberIn(group.limit, kUnknown);
    if (limit == kUnknown) continue;
    const size_t used = numberIn(group.usage, 0);
    const size_t kept = std::min(used, entryOf(group.stat, std::string(group.caches) + ' ', 0));
    bytes = std::min(bytes, limit - std::min(limit, used - kept));
  }
  return bytes;
}

// Memory that a virtual machine has, and takes up only when it needs it: none of the counts above knows of
// it. A share of any machine's is never taken up, for the system itself lies there.
size_t dormantMemory() {
  constexpr size_t kSystemsShare = 8;
  size_t present = 0;
  size_t managed = 0;
  std::ifstream zones("/proc/zoneinfo");  // in pages
  for (std::string word; zones >> word;) {
    if (word != "present" && word != "managed") continue;
    size_t pages = 0;
    if (zones >> pages) (word == "present" ? present : managed) += pages;
  }
  const size_t dormant = present - std::min(present, managed);
#ifdef _SC_PAGESIZE
  if (dormant > present / kSystemsShare) return dormant * static_cast<size_t>(sysconf(_SC_PAGESIZE));
#endif
  return 0;
}

}  // namespace

size_t usableMemory() {
  size_t bytes = size_t{16} << 30;
#ifdef _SC_PHYS_PAGES
  const long pages = sysconf(_SC_PHYS_PAGES);
  if (pages > 0) bytes = static_cast<size_t>(pages) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
#endif
  for (const CgroupFiles& group : kGroups) bytes = std::min(bytes, numberIn(group.limit, bytes));
  return bytes;
}

size_t availableMemory() { return std::min(availableOfMachine(), availableOfGroup()); }

bool isAvailable(size_t byteLength) {
  if (byteLength <= availableMemory()) return true;
  const size_t dormant = dormantMemory();
  return byteLength - std::min(byteLength, dormant) <= availableOfMachine() &&
         byteLength <= availableOfGroup();
}

}  // namespace weft::host
