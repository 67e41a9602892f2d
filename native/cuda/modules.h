// Modules: device code that is loaded on one device, by the key of its image.
//
// A module stays loaded while a program that has run is alive, and after that until so many others came that
// it is dropped. Executor's thread only.
#pragma once
#include <array>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "cuda/driver.h"
#include "cuda/graph-exec.h"
#include "cuda/tensor-map.h"
#include "runtime/program.h"

namespace weft::cuda {

class Module {
 public:
  explicit Module(const Image& image);
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  // The function, ready for launches with this much dynamic shared memory, and for those asked for before.
  CUfunction function(const std::string& name, unsigned sharedByteLength);

 private:
  struct Function {
    CUfunction function;
    unsigned sharedByteLength;
  };
  CUmodule module_ = nullptr;
  std::unordered_map<std::string, Function> functions_;
};

// A program's launches on one device, in the order of its launch steps, those in sweeps among them. A run
// sets the addresses and launches.
struct ProgramCode {
  struct Launch {
    CUfunction function;
    // The first of its parameters, and of its tensor maps.
    size_t parameters, tensorMaps;
  };
  std::vector<std::shared_ptr<Module>> modules;
  std::vector<Launch> launches;
  // Of the program's buffers, by position.
  std::vector<CUdeviceptr> addresses;
  // The first block of a launch along x and y in the whole grid: not 0 in the parts that sweeps run.
  std::array<unsigned, 2> firstBlock{};
  // The indices [first, last) of a windowed buffer that are there, in parts of sweeps.
  std::array<int64_t, 2> window{};
  // Steps of a loop that a launch does.
  unsigned loopSteps = 1;
  // Steps of it before the launch.
  int64_t loopDone = 0;
  // The constants that come with the run, of kConstantBytes each.
  std::vector<uint8_t> numbers;
  // Those of all launches, where parameters point to.
  std::deque<EncodedTensorMap> tensorMaps;
  // Where each parameter's value is: in `addresses`, in `tensorMaps`, in `firstBlock`, in `loopSteps`, in
  // `loopDone`, in `numbers`, or in the program's scalars.
  std::vector<void*> parameters;
  // Before a launch: has its tensor maps say where the buffers are.
  void encodeTensorMaps(const Launch& launch, size_t count) {
    for (size_t k = 0; k < count; k++) tensorMaps[launch.tensorMaps + k].encode(addresses);
  }
  // Runs so far, and for each of the program's graphs what repeats its steps, once there were enough of them.
  size_t runs = 0;
  std::vector<std::unique_ptr<GraphExec>> graphs;
  // Whether some of its steps cannot be part of a graph, as was found out: then none is.
  bool hasNoGraphs = false;
  bool runsAsGraphs() const { return !graphs.empty() && !hasNoGraphs; }
  // The graphs that repeat runs of loops' bodies.
  std::unordered_map<const Loop*, std::unique_ptr<GraphExec>> loopGraphs;
  // Those of parts of other bodies, by their first step, and by which of the two buffers states are read
  // from.
  struct LoopPart {
    size_t runs = 0;
    std::unique_ptr<GraphExec> graph;
  };
  std::map<std::tuple<const Loop*, size_t, bool>, LoopPart> loopParts;
  // The kernels that decide on the device whether loops go on: before a graph's first step, and in its body.
  struct Check {
    CUfunction begin, goOn;
  };
  std::unordered_map<const Loop*, Check> loopChecks;
};

class Modules {
 public:
  // Loads what is not loaded yet. The program outlives its code.
  std::unique_ptr<ProgramCode> link(const Program& program);
  // Modules that are loaded.
  size_t count() const { return entries_.size(); }

 private:
  std::shared_ptr<Module> get(const Image& image);
  void dropOldest();

  struct Entry {
    std::string key;
    std::shared_ptr<Module> module;
  };
  // Latest use first.
  std::list<Entry> entries_;
  std::unordered_map<std::string, std::list<Entry>::iterator> byKey_;
};

}  // namespace weft::cuda
