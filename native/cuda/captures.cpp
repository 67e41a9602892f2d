#include "cuda/captures.h"

#include <algorithm>
#include <utility>

namespace weft::cuda {

CUgraph Captures::find(const Addresses& places) {
  const auto found =
      std::find_if(kept_.begin(), kept_.end(), [&](const Capture& kept) { return kept.places == places; });
  if (found == kept_.end()) return nullptr;
  std::rotate(kept_.begin(), found, found + 1);
  return kept_.front().graph.get();
}

CUgraph Captures::keep(Addresses places, Graphs::Graph graph, std::shared_ptr<const void> uses) {
  remembered_.erase(std::remove(remembered_.begin(), remembered_.end(), places), remembered_.end());
  if (kept_.size() == kMost) kept_.pop_back();
  kept_.insert(kept_.begin(), {std::move(places), std::move(graph), std::move(uses)});
  return kept_.front().graph.get();
}

bool Captures::remember(const Addresses& places) {
  if (find(places) != nullptr) return true;
  if (std::find(remembered_.begin(), remembered_.end(), places) != remembered_.end()) return true;
  if (remembered_.size() == kMost) remembered_.pop_back();
  remembered_.insert(remembered_.begin(), places);
  return false;
}

}  // namespace weft::cuda
