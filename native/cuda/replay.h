// Replay: consecutive launches of a program as one CUDA graph, which takes a fraction of the calls' time. The
// first pass over the steps makes its nodes; every later one looks which of them read or write elsewhere now,
// and sets only those.
//
// Under the device's issuing lock. Graphs that are given up are destroyed there, too: Graphs keeps them until
// then.
#pragma once
#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cuda/driver.h"
#include "runtime/program.h"

namespace weft::cuda {

struct GraphPair {
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
};

class Graphs {
 public:
  // Any thread: programs are let go on the JavaScript thread.
  void give(const GraphPair& pair);
  // Destroys what was given.
  void clear();
  // Graphs that exist; those among them that can be launched.
  size_t count() const { return graphs_; }
  size_t execCount() const { return execs_; }

 private:
  friend class Replay;
  std::mutex mutex_;
  std::vector<GraphPair> given_;
  std::atomic<size_t> graphs_{0}, execs_{0};
};

class Replay {
 public:
  Replay(Graphs& graphs, CUcontext context);
  ~Replay() { graphs_.give(pair_); }
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;

  // A pass begins.
  void begin() { next_ = 0; }
  // The nodes that the next one comes after, instead of the one before it.
  void comeAfter(const std::vector<size_t>& positions);
  // The next step; `parameters` point to its arguments' values, `addresses` are those of all buffers.
  void add(const LaunchStep& step, CUfunction function, void** parameters,
           const std::vector<CUdeviceptr>& addresses);
  // The same of a kernel by itself, whose addresses these are.
  void add(const KernelNodeParams& params, std::vector<CUdeviceptr> addresses);
  // Memory that is set to 0 next; not empty.
  void addZero(CUdeviceptr to, size_t byteLength);
  // What comes next, to the end, is run again and again while the condition is not 0: kernels before and in
  // it set that, by the handle. Only where the driver has conditional nodes.
  void repeat();
  CUgraphConditionalHandle condition();
  // Ends the pass: queues all steps.
  void launch(CUstream stream);
  // Whether it was launched.
  bool isComplete() const { return pair_.exec != nullptr; }
  size_t size() const { return nodes_.size(); }
  // What the timeline calls it.
  std::string name() const;

 private:
  struct Node {
    CUgraphNode node = nullptr;
    // Of the function, in the program; null: memory is set.
    const std::string* name = nullptr;
    // Of the buffers among its arguments, as it was set last.
    std::vector<CUdeviceptr> addresses;
  };

  // Makes the next node, or sets it.
  void set(const KernelNodeParams& params, std::vector<CUdeviceptr> addresses, const std::string* name);
  // Makes a node after those before it by `make(out, after, afterCount)`.
  template <typename Make>
  void append(std::vector<CUdeviceptr> addresses, const Make& make);

  Graphs& graphs_;
  const CUcontext context_;
  GraphPair pair_;
  // What nodes are made in: the graph, or the body of its conditional node.
  CUgraph into_ = nullptr;
  std::optional<CUgraphConditionalHandle> condition_;
  std::vector<Node> nodes_;
  size_t next_ = 0;
  // Of the next node, where they were given.
  std::vector<CUgraphNode> after_;
  bool hasAfter_ = false;
};

}  // namespace weft::cuda
