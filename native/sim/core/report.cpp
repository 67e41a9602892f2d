#include "core/report.h"

namespace weft::sim {
namespace {

constexpr size_t kMost = 64;

}  // namespace

void Report::add(const std::string& kind, const std::string& message) {
  if (entries_.size() < kMost) {
    entries_.push_back({kind, message});
  } else {
    dropped_++;
  }
}

Json Report::problems() const {
  Json::Array list;
  for (const Entry& entry : entries_)
    list.push_back(Json::Object{{"kind", entry.kind}, {"message", entry.message}});
  if (dropped_ > 0)
    list.push_back(Json::Object{{"kind", "more"}, {"message", std::to_string(dropped_) + " more"}});
  return list;
}

void Report::clear() {
  entries_.clear();
  dropped_ = 0;
}

}  // namespace weft::sim
