// Graphs: the driver's graphs on a device, from when they are made until they are destroyed. Those that are
// given up are kept until somebody has the device's issuing lock, under which all else is done, too.
//
// A library knows no graphs, but the driver makes one of what is queued in a stream that captures.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "cuda/driver.h"

namespace weft::cuda {

struct GraphPair {
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
};

class Graphs {
 public:
  struct GiveBack {
    Graphs* graphs;
    void operator()(CUgraph graph) const { graphs->give({graph, nullptr}); }
  };
  using Graph = std::unique_ptr<CUgraph_st, GiveBack>;

  // A graph without nodes.
  Graph make();
  // A graph of what `queue` queues in a stream that is there for this alone, where nothing of it runs. Throws
  // what `queue` throws, or a Failure for what cannot be captured.
  Graph capture(const std::function<void(CUstream)>& queue);
  CUgraphExec instantiate(CUgraph graph);
  // Any thread: programs are let go on the JavaScript thread.
  void give(const GraphPair& pair);
  // Destroys what was given.
  void clear();
  // Any thread. Whether so many were given that they are to be destroyed soon.
  bool hasMany();
  // Graphs that exist; those among them that can be launched; streams that captured.
  size_t count() const { return graphs_; }
  size_t execCount() const { return execs_; }
  size_t streamCount() const { return capturing_ == nullptr ? 0 : 1; }

 private:
  Graph owned(CUgraph graph);

  static constexpr size_t kMany = 16;

  std::mutex mutex_;
  std::vector<GraphPair> given_;
  std::atomic<size_t> graphs_{0}, execs_{0};
  // Made by the first capture, and kept. A capture that fails leaves all other streams as they are.
  CUstream capturing_ = nullptr;
};

}  // namespace weft::cuda
