// GraphExec: consecutive launches of a program as one CUDA graph, which takes a fraction of the calls' time.
// The first pass over the steps makes its nodes; every later one looks which of them read or write elsewhere
// now, and sets only those. A call of a library is a node that is a graph itself, as recorded for those
// places.
//
// Under the device's issuing lock.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cuda/captures.h"
#include "cuda/driver.h"
#include "cuda/graphs.h"
#include "runtime/program.h"

namespace weft::cuda {

// A call of a library could not be recorded; calls can be made one by one.
struct Unrecorded {};
// A call of a library with other places has another form: the graph is to be made anew.
struct TopologyChanged {};

class GraphExec {
 public:
  GraphExec(Graphs& graphs, CUcontext context);
  ~GraphExec() { graphs_.give(pair_); }
  GraphExec(const GraphExec&) = delete;
  GraphExec& operator=(const GraphExec&) = delete;

  // A pass begins.
  void begin() { next_ = 0; }
  // The nodes that the next one comes after, instead of the one before it.
  void comeAfter(const std::vector<size_t>& positions);
  // The next step; `parameters` point to its arguments' values, `addresses` are those of all buffers.
  void add(const LaunchStep& step, CUfunction function, void** parameters,
           const std::vector<CUdeviceptr>& addresses);
  // The same of a kernel by itself, whose addresses these are.
  void add(const KernelNodeParams& params, std::vector<CUdeviceptr> addresses);
  // The same of a library's work, which `queue` queues in a stream, with its buffers at these places. It
  // needs the objects that `uses` keeps. Throws Unrecorded or TopologyChanged.
  void add(const std::string& name, Captures::Addresses places, const std::function<void(CUstream)>& queue,
           std::shared_ptr<const void> uses);
  // Remembers where a library's call, by its position, has its buffers. Whether it was known there, and is
  // recorded or worth it.
  bool remember(size_t position, const Captures::Addresses& places) {
    return nodes_[position].captures.remember(places);
  }
  // Memory that is set to 0 next; not empty.
  void addZero(CUdeviceptr to, size_t byteLength);
  // The steps from here to the end are run again and again while the condition is not 0: kernels before and
  // in it set that, by the handle. Only where the driver has conditional nodes.
  void repeat();
  CUgraphConditionalHandle condition();
  // Ends the pass: queues all steps.
  void launch(CUstream stream);
  // Whether it was launched.
  bool isComplete() const { return pair_.exec != nullptr; }
  size_t size() const { return nodes_.size(); }
  // Its name in timelines.
  std::string name() const;

 private:
  struct Node {
    CUgraphNode node = nullptr;
    // Its name in timelines; empty: none.
    std::string name;
    // Of the buffers among its arguments, with the constants that come with runs, as it was set last.
    std::vector<CUdeviceptr> addresses;
    // Of what a library does.
    Captures captures;
  };

  // Makes the next node, or sets it.
  void set(const KernelNodeParams& params, std::vector<CUdeviceptr> addresses, const std::string& name);
  // Records what a library does, for a node.
  CUgraph record(Captures& captures, const Captures::Addresses& places,
                 const std::function<void(CUstream)>& queue, std::shared_ptr<const void> uses);
  // Makes a node after those before it by `make(out, after, afterCount)`.
  template <typename Make>
  Node& append(const std::string& name, std::vector<CUdeviceptr> addresses, const Make& make);

  Graphs& graphs_;
  const CUcontext context_;
  GraphPair pair_;
  // The graph that nodes are made in: the whole, or the body of its conditional node.
  CUgraph into_ = nullptr;
  std::optional<CUgraphConditionalHandle> condition_;
  std::vector<Node> nodes_;
  size_t next_ = 0;
  // Of the next node, where they were given.
  std::vector<CUgraphNode> after_;
  bool hasAfter_ = false;
};

}  // namespace weft::cuda
