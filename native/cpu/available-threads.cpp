// availableThreads (threads.h): processors this process may use, from its affinity mask and its cgroup's
// quota.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "cpu/threads.h"

#ifdef __linux__
#include <sched.h>
#endif

namespace weft::cpu {
namespace {

#ifdef __linux__
constexpr double kNoQuota = 0;

// Processors that cgroup v2's `cpu.max` of one folder allows: "max 100000" or "150000 100000".
double quotaV2(const std::string& folder) {
  std::ifstream file(folder + "/cpu.max");
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period) || quota == "max" || period <= 0) return kNoQuota;
  std::istringstream text(quota);
  double microseconds = 0;
  return text >> microseconds ? microseconds / period : kNoQuota;
}

// The same of cgroup v1; a quota of -1 is none.
double quotaV1(const std::string& folder) {
  std::ifstream quotaFile(folder + "/cpu.cfs_quota_us");
  std::ifstream periodFile(folder + "/cpu.cfs_period_us");
  double quota = 0;
  double period = 0;
  if (!(quotaFile >> quota) || !(periodFile >> period) || quota <= 0 || period <= 0) return kNoQuota;
  return quota / period;
}

// The least quota of a group and of those it is in. A container often sees its own group as the root, at a
// path that does not exist inside; then the root's files are its own.
template <typename Quota>
double leastQuota(const std::string& root, std::string group, Quota quota) {
  double least = kNoQuota;
  const auto consider = [&](double value) {
    if (value > 0 && (least == kNoQuota || value < least)) least = value;
  };
  for (; !group.empty() && group != "/"; group.resize(group.find_last_of('/'))) consider(quota(root + group));
  consider(quota(root));
  return least;
}

bool hasController(const std::string& controllers, const std::string& name) {
  return ("," + controllers + ",").find("," + name + ",") != std::string::npos;
}

// Lines of /proc/self/cgroup: "<id>:<controllers>:<path>"; v2's has no controllers.
double cgroupQuota() {
  std::ifstream groups("/proc/self/cgroup");
  double least = kNoQuota;
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    double quota = kNoQuota;
    if (controllers.empty()) {
      quota = leastQuota("/sys/fs/cgroup", path, quotaV2);
    } else if (hasController(controllers, "cpu")) {
      quota = leastQuota("/sys/fs/cgroup/cpu", path, quotaV1);
    }
    if (quota > 0 && (least == kNoQuota || quota < least)) least = quota;
  }
  return least;
}
#endif

}  // namespace

int availableThreads() {
  int threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
#ifdef __linux__
  // Some versions of glibc count all processors of the machine; a mask of more than 1,024 is not read.
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof mask, &mask) == 0) threads = std::clamp(CPU_COUNT(&mask), 1, threads);
  const double quota = cgroupQuota();
  if (quota > 0) threads = std::min(threads, std::max(1, static_cast<int>(std::ceil(quota))));
#endif
  return threads;
}

}  // namespace weft::cpu
