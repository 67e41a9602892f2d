#include "core/announced.h"

#include <algorithm>

namespace weft::sim {
namespace {

constexpr size_t kMost = 256;

}  // namespace

Announced& Announced::get() {
  static Announced& it = *new Announced();
  return it;
}

void Announced::add(std::string source, std::string options) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back({std::move(source), std::move(options)});
  if (waiting_.size() > kMost) waiting_.pop_front();
}

bool Announced::remove(const std::string& source, const std::string& options) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(waiting_.begin(), waiting_.end(), [&](const Announcement& one) {
    return one.options == options && one.source == source;
  });
  if (found == waiting_.end()) return false;
  return waiting_.erase(found), true;
}

std::optional<std::string> Announced::take(const std::string& options) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(waiting_.begin(), waiting_.end(),
                                  [&](const Announcement& one) { return one.options == options; });
  if (found == waiting_.end()) return std::nullopt;
  std::string source = std::move(found->source);
  return waiting_.erase(found), source;
}

}  // namespace weft::sim
