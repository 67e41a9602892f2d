#include "core/faults.h"

namespace weft::sim {

Fault readFault(const Setting& setting) {
  Fault fault;
  fault.call = setting.text("call", "");
  fault.nth = static_cast<size_t>(setting.number("nth", 1));
  fault.status = static_cast<int>(setting.number("status", 0));
  fault.sticky = setting.text("sticky", "false") == "true";
  fault.delayMs = static_cast<unsigned>(setting.number("delayMs", 0));
  return fault;
}

void Faults::plan(std::vector<Fault> faults) {
  plan_ = std::move(faults);
  counts_.clear();
  met_ = 0;
  plans_++;
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
