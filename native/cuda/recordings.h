// Recordings: what a library queues for one step, as graphs for the few places where the step's buffers were
// last. Results come and go, mostly between a few places.
#pragma once
#include <vector>

#include "cuda/graphs.h"

namespace weft::cuda {

class Recordings {
 public:
  using Places = std::vector<CUdeviceptr>;

  // The step's graph with its buffers there; null: it has none.
  CUgraph find(const Places& places);
  // Keeps a graph, and gives it.
  CUgraph keep(Places places, Graphs::Graph graph);
  // Whether the step has a graph for these places, or was asked here for them before: what comes back once
  // comes back again.
  bool expects(const Places& places);

 private:
  static constexpr size_t kMost = 8;
  struct Recording {
    Places places;
    Graphs::Graph graph;
  };
  // Latest use first.
  std::vector<Recording> kept_;
  // Places that had no graph when they were asked for, the last first.
  std::vector<Places> asked_;
};

}  // namespace weft::cuda
