// Mistakes with graphs for the simulator to find.
#include "scenarios.h"

namespace weft::sim::scenarios {
namespace {

// A machine with a graph that sets the first half of its block, and one to launch.
struct GraphMachine : Machine {
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  CUgraphExec exec = nullptr;

  GraphMachine() {
    must(cu().cuGraphCreate(&graph, 0));
    const SetNodeParams params = setting(block);
    must(cu().cuGraphAddMemsetNode(&node, graph, nullptr, 0, &params, context));
    must(cu().cuGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  }
  static SetNodeParams setting(CUdeviceptr to) { return {to, 0, 1, 1, kBytes / 2, 1}; }
  void move(CUdeviceptr to) const {
    const SetNodeParams params = setting(to);
    must(cu().cuGraphExecMemsetNodeSetParams(exec, node, &params, context));
  }
  // Adds a loop whose body sets the first half of the block, which goes on while nothing says otherwise.
  void addLoop() {
    ConditionalNodeParams params{};
    params.nodeType = kNodeConditional;
    must(cu().cuGraphConditionalHandleCreate(&params.handle, graph, context, 0, 0));
    params.conditionalType = kConditionalWhile;
    params.bodyCount = 1;
    params.context = context;
    CUgraphNode loop = nullptr;
    must(cu().cuGraphAddNode(&loop, graph, &node, 1, &params));
    const SetNodeParams inner = setting(block);
    CUgraphNode set = nullptr;
    must(cu().cuGraphAddMemsetNode(&set, params.bodies[0], nullptr, 0, &inner, context));
    must(cu().cuGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  }
  void launch(CUstream stream) const { must(cu().cuGraphLaunch(exec, stream)); }
};

// The graph that a stream captures while `queue` queues in it.
template <typename Queue>
CUgraph captured(CUstream stream, const Queue& queue) {
  CUgraph graph = nullptr;
  must(cu().cuStreamBeginCapture(stream, kCaptureThreadLocal));
  queue();
  must(cu().cuStreamEndCapture(stream, &graph));
  return graph;
}

}  // namespace

const Scenarios& graphScenarios() {
  static const Scenarios scenarios = {
      {"a graph is launched again and again",
       [] {
         GraphMachine m;
         for (int i = 0; i < 3; i++) m.launch(m.one);
         m.read(m.one, 0, kBytes / 2);
         m.finish();
       }},
      {"a graph writes what another stream writes",
       [] {
         GraphMachine m;
         m.launch(m.one);
         m.set(m.two);
         m.finish();
       }},
      {"a graph is changed after it was launched",
       [] {
         GraphMachine m;
         m.launch(m.one);
         // Launched graphs stay as they are.
         m.move(m.block + kBytes / 2);
         m.launch(m.two);
         m.finish();
         m.read(m.one);
         m.finish();
       }},
      {"a graph reaches beyond its block",
       [] {
         GraphMachine m;
         m.move(m.block + kBytes / 2 + 1);
         m.launch(m.one);
         static_cast<void>(cu().cuStreamSynchronize(m.one));
       }},
      {"a graph is destroyed while it is under way",
       [] {
         GraphMachine m;
         m.launch(m.one);
         must(cu().cuGraphExecDestroy(m.exec));
         must(cu().cuGraphDestroy(m.graph));
         m.finish();
       }},
      {"a graph is launched after it was destroyed",
       [] {
         GraphMachine m;
         must(cu().cuGraphExecDestroy(m.exec));
         static_cast<void>(cu().cuGraphLaunch(m.exec, m.one));
       }},
      {"a loop in a graph is launched whose condition nothing sets",
       [] {
         GraphMachine m;
         m.addLoop();
         m.launch(m.one);
         m.finish();
       }},
      {"what is captured is launched, by itself and in a graph",
       [] {
         Machine m;
         const auto setting = [&](size_t offset) {
           return captured(m.two, [&] { m.set(m.two, offset, kBytes / 2); });
         };
         const CUgraph first = setting(0);
         CUgraphExec exec = nullptr;
         must(cu().cuGraphInstantiate(&exec, first, nullptr, nullptr, 0));
         must(cu().cuGraphLaunch(exec, m.one));
         CUgraph graph = nullptr;
         must(cu().cuGraphCreate(&graph, 0));
         CUgraphNode node = nullptr;
         must(cu().cuGraphAddChildGraphNode(&node, graph, nullptr, 0, first));
         must(cu().cuGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
         must(cu().cuGraphExecChildGraphNodeSetParams(exec, node, setting(kBytes / 2)));
         must(cu().cuGraphLaunch(exec, m.one));
         m.read(m.one);
         m.finish();
       }},
      {"a copy that is captured runs each time that its graph does",
       [] {
         Machine m;
         const CUgraph graph = captured(
             m.two, [&] { must(cu().cuMemcpyDtoDAsync(m.block + kBytes / 2, m.block, kBytes / 2, m.two)); });
         CUgraphExec exec = nullptr;
         must(cu().cuGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
         m.set(m.one, 0, kBytes / 2);
         for (int i = 0; i < 2; i++) must(cu().cuGraphLaunch(exec, m.one));
         m.read(m.one);
         m.finish();
       }},
      {"what is captured is not done",
       [] {
         Machine m;
         captured(m.one, [&] { m.set(m.one); });
         m.read(m.one);
         m.finish();
       }},
      {"a stream that captures is waited for",
       [] {
         Machine m;
         must(cu().cuStreamBeginCapture(m.one, kCaptureThreadLocal));
         if (cu().cuStreamSynchronize(m.one) == 0) throw std::runtime_error("it was waited for");
         CUgraph graph = nullptr;
         if (cu().cuStreamEndCapture(m.one, &graph) == 0) throw std::runtime_error("it was captured");
         m.set(m.one);
         m.finish();
       }},
      {"a stream that captures is given what is not captured",
       [] {
         Machine m;
         m.set(m.one);
         captured(m.one, [&] { m.read(m.one); });
         m.finish();
       }},
      {"a node is set after its graph was destroyed",
       [] {
         GraphMachine m;
         must(cu().cuGraphDestroy(m.graph));
         const SetNodeParams params = GraphMachine::setting(m.block);
         static_cast<void>(cu().cuGraphExecMemsetNodeSetParams(m.exec, m.node, &params, m.context));
       }},
  };
  return scenarios;
}

}  // namespace weft::sim::scenarios
