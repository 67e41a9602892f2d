#include "cuda/graph-exec.h"

#include <cstring>
#include <utility>

#include "runtime/failure.h"

namespace weft::cuda {
namespace {

KernelNodeParams paramsOf(const LaunchStep& step, CUfunction function, void** parameters) {
  return {function,
          {step.grid[0], step.grid[1], step.grid[2]},
          {step.block[0], step.block[1], step.block[2]},
          step.sharedByteLength,
          parameters,
          nullptr};
}

SetNodeParams zeroOf(CUdeviceptr to, size_t byteLength) { return {to, byteLength, 0, 1, byteLength, 1}; }

// Calls `see` with each of the words by which runs differ: addresses of buffers, and constants that come with
// runs.
template <typename See>
void eachWord(const LaunchStep& step, void** parameters, const std::vector<CUdeviceptr>& addresses, See see) {
  for (size_t i = 0; i < step.args.size(); i++) {
    const LaunchStep::Argument& argument = step.args[i];
    if (argument.kind == LaunchArgument::buffer) see(addresses[argument.at]);
    if (argument.kind == LaunchArgument::tensorMap) see(addresses[step.tensorMaps[argument.at].buffer]);
    if (argument.number < 0) continue;
    CUdeviceptr words[kConstantBytes / sizeof(CUdeviceptr)];
    std::memcpy(words, parameters[i], sizeof words);
    for (const CUdeviceptr word : words) see(word);
  }
}

std::vector<CUdeviceptr> wordsOf(const LaunchStep& step, void** parameters,
                                 const std::vector<CUdeviceptr>& addresses) {
  std::vector<CUdeviceptr> own;
  eachWord(step, parameters, addresses, [&](CUdeviceptr word) { own.push_back(word); });
  return own;
}

bool isSame(const std::vector<CUdeviceptr>& seen, const LaunchStep& step, void** parameters,
            const std::vector<CUdeviceptr>& addresses) {
  size_t k = 0;
  bool isEqual = true;
  eachWord(step, parameters, addresses, [&](CUdeviceptr word) { isEqual = seen[k++] == word && isEqual; });
  return isEqual;
}

}  // namespace

GraphExec::GraphExec(Graphs& graphs, CUcontext context) : graphs_(graphs), context_(context) {
  pair_.graph = graphs_.make().release();
  into_ = pair_.graph;
}

void GraphExec::comeAfter(const std::vector<size_t>& positions) {
  after_.clear();
  for (const size_t position : positions) after_.push_back(nodes_[position].node);
  hasAfter_ = true;
}

template <typename Make>
GraphExec::Node& GraphExec::append(const std::string& name, std::vector<CUdeviceptr> addresses,
                                   const Make& make) {
  Node made;
  if (!hasAfter_ && !nodes_.empty()) after_ = {nodes_.back().node};
  make(&made.node, after_.data(), after_.size());
  after_.clear();
  hasAfter_ = false;
  made.name = name;
  made.addresses = std::move(addresses);
  nodes_.push_back(std::move(made));
  return nodes_.back();
}

void GraphExec::add(const LaunchStep& step, CUfunction function, void** parameters,
                    const std::vector<CUdeviceptr>& addresses) {
  if (isComplete() && !step.isCounted && isSame(nodes_[next_].addresses, step, parameters, addresses)) {
    next_++;
    return;
  }
  set(paramsOf(step, function, parameters), wordsOf(step, parameters, addresses), step.function);
}

void GraphExec::add(const KernelNodeParams& params, std::vector<CUdeviceptr> addresses) {
  if (isComplete() && nodes_[next_].addresses == addresses) {
    next_++;
    return;
  }
  set(params, std::move(addresses), {});
}

void GraphExec::set(const KernelNodeParams& params, std::vector<CUdeviceptr> addresses,
                    const std::string& name) {
  const size_t position = next_++;
  if (!isComplete()) {
    append(name, std::move(addresses), [&](CUgraphNode* node, const CUgraphNode* after, size_t count) {
      WEFT_CU(cuGraphAddKernelNode, node, into_, after, count, &params);
    });
    return;
  }
  Node& node = nodes_[position];
  WEFT_CU(cuGraphExecKernelNodeSetParams, pair_.exec, node.node, &params);
  node.addresses = std::move(addresses);
}

void GraphExec::add(const std::string& name, Captures::Addresses places,
                    const std::function<void(CUstream)>& queue, std::shared_ptr<const void> uses) {
  const size_t position = next_++;
  if (!isComplete()) {
    Captures captures;
    const CUgraph graph = record(captures, places, queue, std::move(uses));
    Node& made =
        append(name, std::move(places), [&](CUgraphNode* node, const CUgraphNode* after, size_t count) {
          WEFT_CU(cuGraphAddChildGraphNode, node, into_, after, count, graph);
        });
    made.captures = std::move(captures);
    return;
  }
  Node& node = nodes_[position];
  if (node.addresses == places) return;
  CUgraph graph = node.captures.find(places);
  if (graph == nullptr) graph = record(node.captures, places, queue, std::move(uses));
  const CUresult status = driver().cuGraphExecChildGraphNodeSetParams(pair_.exec, node.node, graph);
  if (status == kInvalidValue || status == kGraphUpdateFailed) throw TopologyChanged{};
  check(status, "cuGraphExecChildGraphNodeSetParams");
  node.addresses = std::move(places);
}

// Where there is no memory for it, later runs try again.
CUgraph GraphExec::record(Captures& captures, const Captures::Addresses& places,
                          const std::function<void(CUstream)>& queue, std::shared_ptr<const void> uses) {
  try {
    return captures.keep(places, graphs_.capture(queue), std::move(uses));
  } catch (const Failure& failure) {
    if (failure.code == FailureCode::memory || failure.code == FailureCode::lost) throw;
    throw Unrecorded{};
  }
}

CUgraphConditionalHandle GraphExec::condition() {
  if (!condition_) {
    CUgraphConditionalHandle made = 0;
    WEFT_CU(cuGraphConditionalHandleCreate, &made, pair_.graph, context_, 0, 0);
    condition_ = made;
  }
  return *condition_;
}

void GraphExec::repeat() {
  if (isComplete()) return;
  ConditionalNodeParams params{};
  params.nodeType = kNodeConditional;
  params.handle = condition();
  params.conditionalType = kConditionalWhile;
  params.bodyCount = 1;
  params.context = context_;
  const CUgraphNode before = nodes_.back().node;
  CUgraphNode node = nullptr;
  WEFT_CU(cuGraphAddNode, &node, pair_.graph, &before, 1, &params);
  into_ = params.bodies[0];
  comeAfter({});
}

void GraphExec::addZero(CUdeviceptr to, size_t byteLength) {
  const size_t position = next_++;
  const SetNodeParams params = zeroOf(to, byteLength);
  if (!isComplete()) {
    append({}, {to}, [&](CUgraphNode* node, const CUgraphNode* after, size_t count) {
      WEFT_CU(cuGraphAddMemsetNode, node, into_, after, count, &params, context_);
    });
    return;
  }
  Node& node = nodes_[position];
  if (node.addresses[0] == to) return;
  WEFT_CU(cuGraphExecMemsetNodeSetParams, pair_.exec, node.node, &params, context_);
  node.addresses[0] = to;
}

std::string GraphExec::name() const {
  constexpr size_t kNamed = 3;
  std::string text = "graph of " + std::to_string(nodes_.size()) + ":";
  size_t named = 0;
  for (const Node& node : nodes_) {
    if (node.name.empty()) continue;
    if (named == kNamed) return text + " …";
    text += (named++ == 0 ? " " : ", ") + node.name;
  }
  return text;
}

void GraphExec::launch(CUstream stream) {
  if (!isComplete()) pair_.exec = graphs_.instantiate(pair_.graph);
  WEFT_CU(cuGraphLaunch, pair_.exec, stream);
}

}  // namespace weft::cuda
