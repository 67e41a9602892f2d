#include "cuda/kernel-times.h"

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "cuda/graphs.h"
#include "cuda/modules.h"
#include "cuda/named-device.h"
#include "cuda/trial.h"
#include "runtime/environment.h"
#include "runtime/failure.h"
#include "runtime/fields.h"

namespace weft::cuda {
namespace {

struct Argument {
  int64_t buffer;
  std::vector<uint8_t> bytes;
};

struct TimedLaunch {
  std::string function;
  std::array<unsigned, 3> grid, block;
  unsigned sharedByteLength;
  std::vector<Argument> args;
};

// An event with a time, on a device that is in use.
class TimedEvent {
 public:
  TimedEvent() { WEFT_CU(cuEventCreate, &event_, kEventBlockingSync); }
  // Fails only on a lost device.
  ~TimedEvent() { static_cast<void>(driver().cuEventDestroy(event_)); }
  TimedEvent(const TimedEvent&) = delete;
  TimedEvent& operator=(const TimedEvent&) = delete;
  CUevent get() const { return event_; }

 private:
  CUevent event_ = nullptr;
};

// A graph that can be launched, given back with it.
struct Repeated {
  Graphs& graphs;
  GraphPair pair;
  Repeated(Graphs& all, Graphs::Graph graph) : graphs(all), pair{graph.get(), all.instantiate(graph.get())} {
    static_cast<void>(graph.release());
  }
  ~Repeated() { graphs.give(pair); }
  Repeated(const Repeated&) = delete;
  Repeated& operator=(const Repeated&) = delete;
};

// Launches on memory of the pool, which it gives back.
class KernelTrial {
 public:
  KernelTrial(Resources& resources, const Image& image, std::vector<TimedLaunch>& launches,
              const std::vector<Filled>& buffers)
      : resources_(resources), module_(image), launches_(launches), memory_(resources, buffers) {
    for (TimedLaunch& launch : launches_) {
      functions_.push_back(module_.function(launch.function, launch.sharedByteLength));
      std::vector<void*>& parameters = parameters_.emplace_back();
      for (Argument& argument : launch.args)
        parameters.push_back(argument.buffer < 0
                                 ? static_cast<void*>(argument.bytes.data())
                                 : &memory_.addresses().at(static_cast<size_t>(argument.buffer)));
    }
  }

  double seconds(const CancelFlag& cancel) {
    const double first = secondsOf(1, 2);
    const int repeats = repeatsIn(kRoundSeconds, first, kMostRepeats);
    checkCancelled(cancel);
    return secondsOf(repeats, first > kLongSeconds ? 1 : kRounds);
  }

 private:
  // Launches are repeated as one graph that takes about so long, of which the shortest of some rounds counts:
  // to queue it takes a hundredth of that.
  static constexpr double kRoundSeconds = 1e-3;
  static constexpr int kMostRepeats = 200, kRounds = 4;
  // Launches that take longer need no second round.
  static constexpr double kLongSeconds = 2e-2;

  // Of the launches once, where they are repeated.
  double secondsOf(int repeats, int rounds) {
    const Repeated repeated(resources_.graphs, graphOf(repeats));
    const TimedEvent begin, end;
    double least = 0;
    for (int round = 0; round < rounds; round++) {
      WEFT_CU(cuEventRecord, begin.get(), resources_.stream);
      WEFT_CU(cuGraphLaunch, repeated.pair.exec, resources_.stream);
      WEFT_CU(cuEventRecord, end.get(), resources_.stream);
      WEFT_CU(cuEventSynchronize, end.get());
      float milliseconds = 0;
      WEFT_CU(cuEventElapsedTime, &milliseconds, begin.get(), end.get());
      const double seconds = static_cast<double>(milliseconds) * 1e-3 / repeats;
      least = round == 0 ? seconds : std::min(least, seconds);
    }
    return least;
  }

  Graphs::Graph graphOf(int repeats) {
    Graphs::Graph graph = resources_.graphs.make();
    CUgraphNode last = nullptr;
    for (int k = 0; k < repeats; k++) {
      for (size_t i = 0; i < launches_.size(); i++) {
        const TimedLaunch& launch = launches_[i];
        KernelNodeParams params{};
        params.function = functions_[i];
        std::copy(launch.grid.begin(), launch.grid.end(), params.grid);
        std::copy(launch.block.begin(), launch.block.end(), params.block);
        params.sharedByteLength = launch.sharedByteLength;
        params.parameters = parameters_[i].data();
        CUgraphNode node = nullptr;
        WEFT_CU(cuGraphAddKernelNode, &node, graph.get(), &last, last == nullptr ? 0 : 1, &params);
        last = node;
      }
    }
    return graph;
  }

  Resources& resources_;
  Module module_;
  std::vector<TimedLaunch>& launches_;
  TrialMemory memory_;
  std::vector<CUfunction> functions_;
  std::vector<std::vector<void*>> parameters_;
};

class TimesTask : public NativeTask {
 public:
  TimesTask(CudaDevice& device, Image image, std::vector<TimedLaunch> launches, std::vector<Filled> buffers)
      : device_(device),
        image_(std::move(image)),
        launches_(std::move(launches)),
        buffers_(std::move(buffers)) {}

  void run() override {
    checkCancelled(cancelFlag());
    device_.use([this](Resources& resources) {
      try {
        seconds_ = KernelTrial(resources, image_, launches_, buffers_).seconds(cancelFlag());
      } catch (const Failure& failure) {
        if (failure.code == FailureCode::memory) resources.pool->trim();
        throw;
      }
      // Memory of a large trial is of no more use.
      resources.pool->trim();
    });
  }

  Napi::Value result(Napi::Env env) override { return Napi::Number::New(env, seconds_); }

 private:
  CudaDevice& device_;
  const Image image_;
  std::vector<TimedLaunch> launches_;
  const std::vector<Filled> buffers_;
  double seconds_ = 0;
};

std::array<unsigned, 3> sizes(const Fields& fields, const char* name) {
  const std::vector<int64_t> found = fields.integers(name, 1);
  if (found.size() != 3) fields.reject(name, "three sizes");
  return {static_cast<unsigned>(found[0]), static_cast<unsigned>(found[1]), static_cast<unsigned>(found[2])};
}

}  // namespace

Napi::Value kernelSeconds(const Napi::CallbackInfo& info) {
  CudaDevice& device = namedCudaDevice(info[0]);
  Image image;
  image.bytes = values::bytes(info[1], "image");
  std::vector<Filled> buffers;
  const Napi::Array given = values::array(info[3], "buffers");
  for (uint32_t i = 0; i < given.Length(); i++) {
    const Fields fields(given.Get(i), values::item("buffers", i));
    buffers.push_back({static_cast<size_t>(fields.integer("byteLength", 1)), fields.bytes("pattern")});
    if (buffers.back().pattern.empty()) fields.reject("pattern", "bytes");
  }
  const auto argumentOf = [&](const Napi::Value& value, const std::string& path) -> Argument {
    const Fields fields(value, path);
    if (fields.has("bytes")) return {-1, fields.bytes("bytes")};
    return {fields.integer("buffer", 0, static_cast<int64_t>(buffers.size()) - 1), {}};
  };
  std::vector<TimedLaunch> launches;
  const Napi::Array list = values::array(info[2], "launches");
  for (uint32_t i = 0; i < list.Length(); i++) {
    const Fields fields(list.Get(i), values::item("launches", i));
    launches.push_back({fields.text("function"), sizes(fields, "grid"), sizes(fields, "block"),
                        static_cast<unsigned>(fields.integer("sharedByteLength", 0, UINT32_MAX)),
                        fields.list("args", argumentOf)});
  }
  if (launches.empty()) values::reject("launches", "at least one");
  return Environment::of(info.Env())
      .start(info.Env(),
             std::make_shared<TimesTask>(device, std::move(image), std::move(launches), std::move(buffers)),
             device.executor());
}

}  // namespace weft::cuda
