// The simulated driver: graphs of launches, of memory that is set, of what libraries compute, and of loops
// and graphs of these. Branches of a graph run in streams of their own.
#include <algorithm>
#include <utility>

#include "driver/enter.h"
#include "driver/queueing.h"

using namespace weft::sim;

namespace {

// CUDA_KERNEL_NODE_PARAMS.
struct KernelParams {
  Function* function;
  Dim3 grid, block;
  unsigned sharedByteLength;
  void** parameters;
  void** extra;
};
static_assert(sizeof(KernelParams) == 56);

// CUDA_MEMSET_NODE_PARAMS.
struct SetParams {
  Address to;
  size_t pitch;
  unsigned value, elementByteLength;
  size_t width, height;
};
static_assert(sizeof(SetParams) == 40);

// CUgraphNodeParams of a conditional node.
struct ConditionalParams {
  int nodeType;
  int reserved0[3];
  uint64_t handle;
  int conditionalType;
  unsigned bodyCount;
  Graph** bodies;
  Context* context;
  unsigned char reserved1[208];
};
static_assert(sizeof(ConditionalParams) == 256);

int readKernel(Simulator& simulator, Context& context, const KernelParams& params, GraphWork& work) {
  Launch launch;
  const LaunchCall call{params.function,         params.grid,       params.block,
                        params.sharedByteLength, params.parameters, params.extra};
  if (const int status = readLaunch(simulator, context, call, launch)) return status;
  work = std::move(launch);
  return kSuccess;
}

int readSet(const SetParams& params, GraphWork& work) {
  if (params.elementByteLength != 1 || params.value > 255 || params.width == 0 || params.height == 0)
    return kInvalidValue;
  if (params.height > 1 && params.pitch < params.width) return kInvalidValue;
  work = MemorySet{params.to, params.pitch, static_cast<unsigned char>(params.value), params.width,
                   params.height};
  return kSuccess;
}

int addNode(Simulator& simulator, GraphNode** out, Graph* handle, GraphNode* const* after, size_t afterCount,
            GraphWork work) {
  Graph* graph = simulator.object(simulator.graphs, handle, "graph");
  if (graph == nullptr) return kInvalidHandle;
  GraphNode* node = simulator.graphNodes.make();
  node->graph = graph;
  node->work = std::move(work);
  for (size_t i = 0; i < afterCount; i++) {
    const GraphNode* before = simulator.object(simulator.graphNodes, after[i], "graph node");
    if (before == nullptr || before->graph != graph) {
      simulator.graphNodes.destroy(node);
      return kInvalidValue;
    }
    node->after.push_back(before);
  }
  graph->nodes.push_back(node);
  return *out = node, kSuccess;
}

// The work of a node in a graph that can be launched; null: it has none.
GraphWork* workOf(Simulator& simulator, GraphExec* handle, const GraphNode* nodeHandle) {
  GraphExec* exec = simulator.object(simulator.graphExecs, handle, "executable graph");
  const GraphNode* node = simulator.object(simulator.graphNodes, nodeHandle, "graph node");
  if (exec == nullptr || node == nullptr) return nullptr;
  const auto found = exec->places.find(node);
  return found == exec->places.end() ? nullptr : found->second;
}

// Whether nodes are each after the one before, and no loops.
bool isLine(const Graph& graph) {
  for (size_t i = 0; i < graph.nodes.size(); i++) {
    const GraphNode& node = *graph.nodes[i];
    const bool follows =
        i == 0 ? node.after.empty() : node.after == std::vector<const GraphNode*>{graph.nodes[i - 1]};
    if (!follows || std::holds_alternative<GraphLoop>(node.work)) return false;
  }
  return true;
}

// Of bodies of loops, all that is simulated.
bool isBody(const Graph& graph) {
  return isLine(graph) && std::all_of(graph.nodes.begin(), graph.nodes.end(), [](const GraphNode* node) {
           return std::holds_alternative<Launch>(node->work) || std::holds_alternative<MemorySet>(node->work);
         });
}

// The works of a graph's nodes; `places` gets those of nodes in loops, too. False: some loop is not
// simulated.
bool instantiate(const Graph& graph, std::vector<GraphWork>& works,
                 std::map<const GraphNode*, GraphWork*>& places) {
  works.reserve(graph.nodes.size());
  for (const GraphNode* node : graph.nodes) {
    works.push_back(node->work);
    places[node] = &works.back();
    auto* loop = std::get_if<GraphLoop>(&works.back());
    if (loop != nullptr && (!isBody(*loop->body) || !instantiate(*loop->body, loop->works, places)))
      return false;
  }
  return true;
}

// The works of a graph that is to be a node: of such, lines are all that is simulated.
bool childOf(const Graph& graph, GraphChild& child) {
  if (!isLine(graph)) return false;
  for (const GraphNode* node : graph.nodes) child.works.push_back(node->work);
  return true;
}

// Queues the work of a node.
int queueWork(Simulator& simulator, Context& context, Stream& stream, const GraphWork& work, Before before) {
  if (const auto* set = std::get_if<MemorySet>(&work))
    return queueSet(simulator, context, stream, *set, std::move(before));
  if (const auto* loop = std::get_if<GraphLoop>(&work))
    return queueLoop(simulator, context, stream, *loop, std::move(before));
  if (const auto* library = std::get_if<LibraryWork>(&work))
    return simulator.queue(context, stream, *library, std::move(before)), kSuccess;
  if (const auto* child = std::get_if<GraphChild>(&work)) {
    for (const GraphWork& part : child->works) {
      if (const int status = queueWork(simulator, context, stream, part, std::exchange(before, {})))
        return status;
    }
    return kSuccess;
  }
  const Launch& launch = std::get<Launch>(work);
  if (simulator.object(simulator.functions, launch.function, "function") == nullptr) return kInvalidHandle;
  return queueLaunch(simulator, context, stream, launch, std::move(before));
}

// The stream of a branch, by position; 0 is the one that the graph is launched in.
Stream& branchAt(Simulator& simulator, Context& context, Stream& stream, size_t position) {
  if (position == 0) return stream;
  while (context.branches.size() < position) {
    context.branches.push_back(std::make_unique<Stream>());
    simulator.scheduler.addStream(*context.branches.back(), context, false);
  }
  return *context.branches[position - 1];
}

// A node goes on with a branch that ends with one that it comes after, or begins one.
int launchGraph(Simulator& simulator, Context& context, Stream& stream, const GraphExec& exec) {
  const std::shared_ptr<Operation> begin = stream.last;
  // The last node of each branch, and the work and branch of each node.
  std::vector<size_t> lastOf;
  std::vector<std::shared_ptr<Operation>> queued;
  std::vector<size_t> branchOf;
  for (size_t i = 0; i < exec.works.size(); i++) {
    const std::vector<size_t>& after = exec.after[i];
    const auto found = std::find_if(lastOf.begin(), lastOf.end(), [&](size_t last) {
      return std::find(after.begin(), after.end(), last) != after.end();
    });
    const auto branch = static_cast<size_t>(found - lastOf.begin());
    if (found == lastOf.end()) {
      lastOf.push_back(i);
    } else {
      *found = i;
    }
    Before before;
    if (after.empty() && begin) before.push_back(begin);
    for (const size_t other : after) {
      if (branchOf[other] != branch) before.push_back(queued[other]);
    }
    Stream& own = branchAt(simulator, context, stream, branch);
    if (const int status = queueWork(simulator, context, own, exec.works[i], std::move(before)))
      return status;
    queued.push_back(own.last);
    branchOf.push_back(branch);
  }
  if (lastOf.size() < 2) return kSuccess;
  Operation end;
  end.kind = "mark";
  end.what = simulator.callName;
  for (size_t branch = 1; branch < lastOf.size(); branch++) end.after.push_back(queued[lastOf[branch]]);
  simulator.scheduler.issue(stream, std::move(end));
  return kSuccess;
}

void destroyGraph(Simulator& simulator, Graph* graph) {
  for (GraphNode* node : graph->nodes) {
    if (const auto* loop = std::get_if<GraphLoop>(&node->work)) destroyGraph(simulator, loop->body);
    simulator.graphNodes.destroy(node);
  }
  simulator.graphs.destroy(graph);
}

}  // namespace

WEFT_SIM_API cuGraphCreate(Graph** out, unsigned flags) {
  return enter("cuGraphCreate", Needs::context, [&](Simulator& simulator, Context* context) {
    if (flags != 0) return kInvalidValue;
    Graph* graph = simulator.graphs.make();
    graph->context = context;
    return *out = graph, kSuccess;
  });
}

WEFT_SIM_API cuGraphAddKernelNode(GraphNode** out, Graph* graph, GraphNode* const* after, size_t afterCount,
                                  const KernelParams* params) {
  return enter("cuGraphAddKernelNode", Needs::context, [&](Simulator& simulator, Context* context) {
    GraphWork work;
    if (const int status = readKernel(simulator, *context, *params, work)) return status;
    return addNode(simulator, out, graph, after, afterCount, std::move(work));
  });
}

WEFT_SIM_API cuGraphAddMemsetNode(GraphNode** out, Graph* graph, GraphNode* const* after, size_t afterCount,
                                  const SetParams* params, Context* of) {
  return enter("cuGraphAddMemsetNode", Needs::context, [&](Simulator& simulator, Context* context) {
    if (of != context) return kInvalidContext;
    GraphWork work;
    if (const int status = readSet(*params, work)) return status;
    return addNode(simulator, out, graph, after, afterCount, std::move(work));
  });
}

WEFT_SIM_API cuGraphAddChildGraphNode(GraphNode** out, Graph* graph, GraphNode* const* after,
                                      size_t afterCount, Graph* given) {
  return enter("cuGraphAddChildGraphNode", Needs::context, [&](Simulator& simulator, Context*) {
    const Graph* of = simulator.object(simulator.graphs, given, "graph");
    if (of == nullptr) return kInvalidHandle;
    GraphChild child;
    if (!childOf(*of, child)) return kInvalidValue;
    return addNode(simulator, out, graph, after, afterCount, std::move(child));
  });
}

WEFT_SIM_API cuGraphExecChildGraphNodeSetParams(GraphExec* exec, GraphNode* node, Graph* given) {
  return enter("cuGraphExecChildGraphNodeSetParams", Needs::context, [&](Simulator& simulator, Context*) {
    GraphWork* work = workOf(simulator, exec, node);
    const Graph* of = simulator.object(simulator.graphs, given, "graph");
    if (work == nullptr || of == nullptr || !std::holds_alternative<GraphChild>(*work)) return kInvalidValue;
    GraphChild child;
    if (!childOf(*of, child)) return kInvalidValue;
    const std::vector<GraphWork>& before = std::get<GraphChild>(*work).works;
    const bool isAlike =
        std::equal(before.begin(), before.end(), child.works.begin(), child.works.end(),
                   [](const GraphWork& a, const GraphWork& b) { return a.index() == b.index(); });
    if (!isAlike) return kGraphUpdateFailed;
    return *work = std::move(child), kSuccess;
  });
}

WEFT_SIM_API cuGraphInstantiate_v2(GraphExec** out, Graph* handle, GraphNode**, char*, size_t) {
  return enter("cuGraphInstantiate_v2", Needs::context, [&](Simulator& simulator, Context* context) {
    Graph* graph = simulator.object(simulator.graphs, handle, "graph");
    if (graph == nullptr) return kInvalidHandle;
    GraphExec* exec = simulator.graphExecs.make();
    exec->context = context;
    if (!instantiate(*graph, exec->works, exec->places)) {
      simulator.graphExecs.destroy(exec);
      return kInvalidValue;
    }
    for (const GraphNode* node : graph->nodes) {
      exec->after.emplace_back();
      for (const GraphNode* before : node->after)
        exec->after.back().push_back(static_cast<size_t>(exec->places.at(before) - exec->works.data()));
    }
    return *out = exec, kSuccess;
  });
}

WEFT_SIM_API cuGraphExecKernelNodeSetParams(GraphExec* exec, GraphNode* node, const KernelParams* params) {
  return enter("cuGraphExecKernelNodeSetParams", Needs::context, [&](Simulator& simulator, Context* context) {
    GraphWork* work = workOf(simulator, exec, node);
    if (work == nullptr || !std::holds_alternative<Launch>(*work)) return kInvalidValue;
    return readKernel(simulator, *context, *params, *work);
  });
}

WEFT_SIM_API cuGraphExecMemsetNodeSetParams(GraphExec* exec, GraphNode* node, const SetParams* params,
                                            Context* of) {
  return enter("cuGraphExecMemsetNodeSetParams", Needs::context, [&](Simulator& simulator, Context* context) {
    GraphWork* work = workOf(simulator, exec, node);
    if (of != context || work == nullptr || !std::holds_alternative<MemorySet>(*work)) return kInvalidValue;
    return readSet(*params, *work);
  });
}

WEFT_SIM_API cuGraphLaunch(GraphExec* handle, Stream* streamHandle) {
  return enter("cuGraphLaunch", Needs::context, [&](Simulator& simulator, Context* context) {
    GraphExec* exec = simulator.object(simulator.graphExecs, handle, "executable graph");
    Stream* stream = simulator.stream(streamHandle);
    if (exec == nullptr || stream == nullptr) return kInvalidHandle;
    if (exec->context != context) {
      simulator.misuse(simulator.callName + " of a graph of another context");
      return kInvalidHandle;
    }
    return launchGraph(simulator, *context, *stream, *exec);
  });
}

WEFT_SIM_API cuGraphConditionalHandleCreate(uint64_t* out, Graph* handle, Context* of, unsigned,
                                            unsigned flags) {
  return enter("cuGraphConditionalHandleCreate", Needs::context, [&](Simulator& simulator, Context* context) {
    if (simulator.object(simulator.graphs, handle, "graph") == nullptr) return kInvalidHandle;
    // With flags, launches give it a value of their own.
    if (of != context || flags != 0) return kInvalidValue;
    simulator.conditions.emplace_back();
    return *out = simulator.conditions.size(), kSuccess;
  });
}

WEFT_SIM_API cuGraphAddNode(GraphNode** out, Graph* graph, GraphNode* const* after, size_t afterCount,
                            ConditionalParams* params) {
  return enter("cuGraphAddNode", Needs::context, [&](Simulator& simulator, Context* context) {
    constexpr int kConditional = 13, kWhile = 1;
    if (params->nodeType != kConditional || params->conditionalType != kWhile || params->bodyCount != 1 ||
        params->context != context || params->handle == 0 || params->handle > simulator.conditions.size())
      return kInvalidValue;
    GraphLoop loop;
    loop.condition = params->handle - 1;
    loop.body = simulator.graphs.make();
    const int status = addNode(simulator, out, graph, after, afterCount, loop);
    if (status != kSuccess) return simulator.graphs.destroy(loop.body), status;
    params->bodies = &std::get<GraphLoop>((*out)->work).body;
    return kSuccess;
  });
}

// Launched graphs end by themselves.
WEFT_SIM_API cuGraphExecDestroy(GraphExec* handle) {
  return enter("cuGraphExecDestroy", Needs::driver, [&](Simulator& simulator, Context*) {
    GraphExec* exec = simulator.object(simulator.graphExecs, handle, "executable graph");
    if (exec == nullptr) return kInvalidHandle;
    return simulator.graphExecs.destroy(exec), kSuccess;
  });
}

WEFT_SIM_API cuGraphDestroy(Graph* handle) {
  return enter("cuGraphDestroy", Needs::driver, [&](Simulator& simulator, Context*) {
    Graph* graph = simulator.object(simulator.graphs, handle, "graph");
    if (graph == nullptr) return kInvalidHandle;
    if (graph->context == nullptr)
      return simulator.misuse(simulator.callName + " of a loop's body"), kInvalidValue;
    return destroyGraph(simulator, graph), kSuccess;
  });
}
