// Captures: what a library queues for one step, as graphs for the few places where the step's buffers were
// last. Results come and go, mostly between a few places.
#pragma once
#include <memory>
#include <vector>

#include "cuda/graphs.h"

namespace weft::cuda {

class Captures {
 public:
  using Addresses = std::vector<CUdeviceptr>;

  // The step's graph with its buffers there; null: it has none.
  CUgraph find(const Addresses& places);
  // Keeps a graph and the objects that it uses, and gives it.
  CUgraph keep(Addresses places, Graphs::Graph graph, std::shared_ptr<const void> uses);
  // Remembers that the step's buffers were there. Whether that was known, from a graph or from a call before:
  // what comes back once comes back again.
  bool remember(const Addresses& places);

 private:
  static constexpr size_t kMost = 8;
  struct Capture {
    Addresses places;
    Graphs::Graph graph;
    std::shared_ptr<const void> uses;
  };
  // Latest use first.
  std::vector<Capture> kept_;
  // Addresses without a graph where the buffers were, the last first.
  std::vector<Addresses> remembered_;
};

}  // namespace weft::cuda
