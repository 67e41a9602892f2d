#include "core/faults.h"

namespace weft::sim {

void Faults::plan(const Json& list) {
  plan_.clear();
  for (const Json& entry : list.array()) {
    Fault fault;
    fault.call = entry.text("call", "");
    fault.nth = static_cast<size_t>(entry.number("nth", 1));
    fault.status = static_cast<int>(entry.number("status", 0));
    fault.sticky = entry.boolean("sticky", false);
    fault.delayMs = static_cast<unsigned>(entry.number("delayMs", 0));
    plan_.push_back(std::move(fault));
  }
  counts_.clear();
  met_ = 0;
}

std::vector<Fault> Faults::meet(const std::string& call) {
  const size_t count = ++counts_[call];
  std::vector<Fault> found;
  for (const Fault& fault : plan_) {
    if (fault.call == call && (fault.nth == 0 || fault.nth == count)) found.push_back(fault);
  }
  met_ += found.size();
  return found;
}

Json Faults::counts() const {
  Json::Object counts;
  for (const auto& [call, count] : counts_) counts[call] = static_cast<double>(count);
  return counts;
}

}  // namespace weft::sim
