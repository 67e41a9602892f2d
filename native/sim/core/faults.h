// Faults: which calls fail, with which status, and which are slow. A plan is data; calls are counted so that
// a test can fail each one that a program makes. A delay ends with its plan.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/settings.h"

namespace weft::sim {

// "fault\tcall=cuLaunchKernel\tnth=3\tstatus=700\tsticky=true\tdelayMs=5"
//
// `call` is an entry point, or the execution of queued work: "run launch", "run loop", "run copy", "run
// set", "run product", "run any". `nth` counts from 1 since the plan was set; 0 is every one. `status` is in
// the terms of the library that is called; 0 only delays. `sticky` loses the context: every later call in it
// fails so.
struct Fault {
  std::string call;
  size_t nth = 1;
  int status = 0;
  bool sticky = false;
  unsigned delayMs = 0;
};

Fault readFault(const Setting& setting);

class Faults {
 public:
  // Replaces the plan and begins to count anew.
  void plan(std::vector<Fault> faults);
  // Counts a call; gives the faults it meets.
  std::vector<Fault> meet(const std::string& call);
  // Counts a call that meets no fault, for its context is lost already.
  void count(const std::string& call) { ++counts_[call]; }
  // How often each call was made since the plan was set: { cuLaunchKernel: 12, … }.
  Json counts() const;
  // How many planned faults were met.
  size_t met() const { return met_; }
  // How many plans there were.
  size_t plans() const { return plans_; }

 private:
  std::vector<Fault> plan_;
  std::map<std::string, size_t> counts_;
  size_t met_ = 0;
  size_t plans_ = 0;
};

}  // namespace weft::sim
