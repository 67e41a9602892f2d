#include "cuda/graphs.h"

namespace weft::cuda {

Graphs::Graph Graphs::owned(CUgraph graph) {
  graphs_++;
  return {graph, GiveBack{this}};
}

Graphs::Graph Graphs::make() {
  CUgraph graph = nullptr;
  WEFT_CU(cuGraphCreate, &graph, 0);
  return owned(graph);
}

Graphs::Graph Graphs::capture(const std::function<void(CUstream)>& queue) {
  if (capturing_ == nullptr) WEFT_CU(cuStreamCreate, &capturing_, kStreamNonBlocking);
  WEFT_CU(cuStreamBeginCapture, capturing_, kCaptureThreadLocal);
  CUgraph graph = nullptr;
  try {
    queue(capturing_);
    WEFT_CU(cuStreamEndCapture, capturing_, &graph);
  } catch (...) {
    // The first failure is the one to tell of, and the stream is to be used again.
    static_cast<void>(driver().cuStreamEndCapture(capturing_, &graph));
    if (graph != nullptr) static_cast<void>(driver().cuGraphDestroy(graph));
    throw;
  }
  return owned(graph);
}

CUgraphExec Graphs::instantiate(CUgraph graph) {
  CUgraphExec exec = nullptr;
  WEFT_CU(cuGraphInstantiate, &exec, graph, nullptr, nullptr, 0);
  execs_++;
  return exec;
}

void Graphs::give(const GraphPair& pair) {
  if (pair.graph == nullptr) return;
  const std::lock_guard lock(mutex_);
  given_.push_back(pair);
}

void Graphs::clear() {
  std::vector<GraphPair> given;
  {
    const std::lock_guard lock(mutex_);
    given.swap(given_);
  }
  for (const GraphPair& pair : given) {
    // They fail only on a lost device, with which the graphs went.
    if (pair.exec != nullptr) {
      static_cast<void>(driver().cuGraphExecDestroy(pair.exec));
      execs_--;
    }
    static_cast<void>(driver().cuGraphDestroy(pair.graph));
    graphs_--;
  }
}

bool Graphs::hasMany() {
  const std::lock_guard lock(mutex_);
  return given_.size() >= kMany;
}

}  // namespace weft::cuda
