// The CPU as a device: inputs are read in place, temporaries and outputs come from the pool of host memory,
// steps run one after the other, each on the process's thread pool.
#include <algorithm>
#include <memory>
#include <vector>

#include "cpu/library-permit.h"
#include "runtime/cpu-steps.h"
#include "runtime/cpu-sweep.h"
#include "runtime/device.h"
#include "runtime/executor.h"
#include "runtime/host-pool.h"
#include "runtime/host-sink.h"
#include "runtime/program.h"
#include "runtime/scratch-file.h"
#include "shared/layout.h"

namespace weft {
namespace {

class CpuDevice : public Device {
 public:
  const std::string& name() const override { return name_; }
  Executor& executor() override { return executor_; }
  size_t alignment() const override { return kHostAlignment; }
  bool isHost() const override { return true; }
  // A run that takes less time than waking another thread is computed here, unless calls of a library would
  // wait for one of several threads.
  InlinePermit tryBeginInline(const Run& run) override {
    const Program& program = *run.program;
    const bool isInline =
        program.isSmall && run.sinks.empty() &&
        std::none_of(run.inputs.begin(), run.inputs.end(), [](const auto& input) { return input.source; });
    if (!isInline) return {};
    if (!hasRoutines(program)) return {InlinePermit::Kind::settled, {}};
    std::unique_lock permit = cpu::tryLibraryPermit();
    return {permit ? InlinePermit::Kind::settled : InlinePermit::Kind::none, std::move(permit)};
  }
  void beginInline(std::shared_ptr<Run> run, InlinePermit) override { compute(*run); }
  MemoryUse memory() const override {
    const host::Use use = host::use();
    return {use.inUse, use.held, use.peak, use.workPeak, 0};
  }
  void trim() override { host::trim(); }
  void begin(std::shared_ptr<Run> run) override {
    compute(*run);
    run->timeline.issued = Timeline::now();
    run->finish(nullptr);
  }

 private:
  static void compute(Run& run);

  const std::string name_ = "cpu";
  Executor& executor_ = makeExecutor("weft-cpu");
};

std::byte* bytesOf(const Memory& memory) { return reinterpret_cast<std::byte*>(memory.address); }

// A value that waits in a file, which is read and written like others.
class Spill {
 public:
  explicit Spill(size_t byteLength) : file_(std::make_shared<ScratchFile>(byteLength)), sinks_{file_} {}
  Outside place() const { return {file_.get(), &sinks_}; }

 private:
  const std::shared_ptr<ScratchFile> file_;
  const Sinks sinks_;
};

bool goesToFiles(const Run& run, size_t output) { return !run.sinks.empty() && !run.sinks[output].empty(); }

void CpuDevice::compute(Run& run) {
  const Program& program = *run.program;
  const host::Block arena = host::allocate(program.arenaByteLength, host::Purpose::work);
  std::vector<Outside> outside(program.buffers.size());
  // Values that wait in files of their own.
  std::vector<std::unique_ptr<Spill>> spilled;
  for (size_t i = 0; i < program.buffers.size(); i++) {
    const BufferSpec& buffer = program.buffers[i];
    if (buffer.role != Role::spill) continue;
    outside[i] = spilled.emplace_back(std::make_unique<Spill>(buffer.byteLength))->place();
  }
  CpuSteps steps(program, run.numbers.data(), run.cancel);
  steps.placeTemporaries(arena.as<std::byte>());
  for (size_t i = 0; i < program.inputs.size(); i++) {
    Run::Input& input = run.inputs[i];
    const int buffer = program.inputs[i];
    HostView& view = steps.views[buffer];
    if (input.source && program.buffers[buffer].windowed) {
      // Sweeps read what they need.
      outside[buffer].source = input.source.get();
    } else if (input.source && program.buffers[buffer].isReadInBlocks) {
      view.source = input.source.get();
    } else {
      if (input.source) input.memory = readToHost(*input.source, *run.cancel);
      // Steps only read inputs.
      const void* data = input.memory ? bytesOf(*input.memory) : input.host;
      view.data = static_cast<std::byte*>(const_cast<void*>(data));
    }
  }
  std::vector<std::shared_ptr<Memory>> outputs = run.outputs;
  outputs.resize(program.outputs.size());
  for (size_t i = 0; i < outputs.size(); i++) {
    const int buffer = program.outputs[i];
    // Of what is windowed and goes to files, sweeps write what they have.
    if (goesToFiles(run, i) && program.buffers[buffer].windowed) {
      outside[buffer].sinks = &run.sinks[i];
      continue;
    }
    // Outputs to files are held until they are written.
    const auto purpose = goesToFiles(run, i) ? host::Purpose::work : host::Purpose::result;
    if (!outputs[i]) outputs[i] = allocateHost(program.buffers[buffer].byteLength, purpose);
    steps.views[buffer].data = bytesOf(*outputs[i]);
  }

  // Small programs have neither sweeps nor loops.
  if (!program.isSmall) {
    steps.sweep = [&](const Sweep& sweep) { runSweep(sweep, steps, outside, arena.as<std::byte>(), run); };
    steps.copy = [&](int from, int to, size_t offset) {
      copyOutside(steps.views[from], outside[from], steps.views[to], outside[to], offset);
    };
  }
  for (const Step& step : program.steps) {
    checkCancelled(*run.cancel);
    steps.run(step, run.tilesDone.get());
  }
  // A step that was stopped half way left undefined values.
  checkCancelled(*run.cancel);
  run.outputs = std::move(outputs);
}

}  // namespace

HostMemory::HostMemory(host::Block block, size_t byteLength)
    : Memory(cpuDevice(), reinterpret_cast<uintptr_t>(block.data()), byteLength), block_(std::move(block)) {}

std::shared_ptr<Memory> allocateHost(size_t byteLength, host::Purpose purpose) {
  return std::make_shared<HostMemory>(host::allocate(byteLength, purpose), byteLength);
}

std::shared_ptr<Memory> readToHost(HostSource& source, const CancelFlag& cancel) {
  std::shared_ptr<Memory> memory = allocateHost(source.byteLength(), host::Purpose::work);
  readAll(source, reinterpret_cast<void*>(memory->address), cancel);
  return memory;
}

Device& cpuDevice() {
  static CpuDevice& device = *new CpuDevice();
  return device;
}

}  // namespace weft
