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
         // What was launched stays as it is.
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
