// Report: what went wrong, for the test that asks: races, accesses out of bounds, misuse of handles and the
// like.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "core/json.h"

namespace weft::sim {

class Report {
 public:
  // `kind`: "race", "out-of-bounds", "undefined-read", "shared-memory", "misuse", "guard", "leak".
  void add(const std::string& kind, const std::string& message);
  // [{ kind, message }, …], with how many more there were as the last.
  Json problems() const;
  void clear();

 private:
  struct Entry {
    std::string kind, message;
  };
  std::vector<Entry> entries_;
  size_t dropped_ = 0;
};

}  // namespace weft::sim
