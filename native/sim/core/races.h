// Races: which operations touched which bytes, and which of them nothing orders.
//
// Two operations are ordered if one was queued after the other in a stream, or after an event or a host that
// waited for it: vector clocks say so. Two that are not, touch the same byte, and of which one writes, race,
// even if the values came out right in the order in which they ran.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/memory.h"
#include "core/report.h"

namespace weft::sim {

// For each stream (by number) how many of its operations are known to be done before.
class Clock {
 public:
  uint64_t at(size_t stream) const { return stream < counts_.size() ? counts_[stream] : 0; }
  void advance(size_t stream, uint64_t count);
  void join(const Clock& other);
  // Keeps what both know.
  void meet(const Clock& other);

 private:
  std::vector<uint64_t> counts_;
};

class Races {
 public:
  // An operation ran. `clock` knows what is before it and holds its own number in its stream.
  void add(const std::string& what, size_t stream, const Clock& clock, Accesses accesses, Report& report);
  // Operations in the clock are before everything that is still to run: nothing can race with them.
  void forget(const Clock& known);

 private:
  struct Past {
    std::string what;
    size_t stream;
    uint64_t number;
    Accesses accesses;
  };
  std::vector<Past> past_;
};

}  // namespace weft::sim
