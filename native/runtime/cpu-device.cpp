// The CPU as a device: inputs are read in place, temporaries and outputs come from the pool of host memory,
// steps run one after the other, each on the process's thread pool.
#include <cstring>

#include "cpu/cpu.h"
#include "cpu/threads.h"
#include "runtime/device.h"
#include "runtime/executor.h"
#include "runtime/failure.h"
#include "runtime/host-pool.h"
#include "runtime/program.h"

namespace weft {
namespace {

// A cache line, and the widest vector.
constexpr size_t kAlignment = 64;

class CpuDevice : public Device {
 public:
  const std::string& name() const override { return name_; }
  Executor& executor() override { return executor_; }
  size_t alignment() const override { return kAlignment; }
  bool isHost() const override { return true; }
  MemoryUse memory() const override {
    const host::Use use = host::use();
    return {use.inUse, use.held, use.peak, 0};
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

// A block of the pool.
class HostMemory : public Memory {
 public:
  HostMemory(host::Block block, size_t byteLength)
      : Memory(cpuDevice(), reinterpret_cast<uintptr_t>(block.data()), byteLength),
        block_(std::move(block)) {}

 private:
  const host::Block block_;
};

// The steps of one run over its buffers' addresses.
class Interpreter {
 public:
  Interpreter(const Program& program, std::vector<std::byte*> addresses, const CancelFlag* cancel)
      : program_(program), addresses_(std::move(addresses)), cancel_(cancel) {}

  void operator()(const TapeStep& step) {
    tapeBuffers_.clear();
    for (const int buffer : step.buffers) tapeBuffers_.push_back(addresses_[buffer]);
    cpu::runTape(*step.tape, tapeBuffers_.data(), step.isShort ? thisThread() : cpu::sharedPool(), cancel_);
  }

  void operator()(const MatmulStep& step) {
    cpu::matmul({step.dtype, step.m, step.n, step.k, step.batch, matrix(step.a, step.dtype),
                 matrix(step.b, step.dtype), matrix(step.c, step.dtype)},
                cpu::sharedPool(), cancel_);
  }

  void operator()(const ZeroStep& step) {
    std::memset(addresses_[step.buffer], 0, program_.buffers[step.buffer].byteLength);
  }

  void operator()(const LaunchStep&) {
    throw Failure(FailureCode::internal, "a CUDA launch reached the CPU");
  }

 private:
  // A pool of the calling thread alone: to wake another costs more than a short tape.
  static cpu::ThreadPool& thisThread() {
    static cpu::ThreadPool& pool = *new cpu::ThreadPool(1);
    return pool;
  }

  cpu::Matrix matrix(const MatrixOperand& operand, int dtype) const {
    std::byte* data = addresses_[operand.buffer];
    data += operand.offset * static_cast<int64_t>(elementByteLength(dtype));
    return {data, operand.batchStride, operand.rowStride, operand.columnStride};
  }

  const Program& program_;
  std::vector<std::byte*> addresses_;
  const CancelFlag* cancel_;
  std::vector<void*> tapeBuffers_;
};

void CpuDevice::compute(Run& run) {
  const Program& program = *run.program;
  const std::shared_ptr<Memory> arena = allocateHost(program.arenaByteLength);
  std::vector<std::byte*> addresses(program.buffers.size());
  for (size_t i = 0; i < program.buffers.size(); i++) {
    if (program.buffers[i].role == Role::temporary) {
      addresses[i] = reinterpret_cast<std::byte*>(arena->address) + program.buffers[i].offset;
    }
  }
  for (size_t i = 0; i < program.inputs.size(); i++) {
    const Run::Input& input = run.inputs[i];
    // Steps only read inputs.
    const void* data = input.memory ? reinterpret_cast<const void*>(input.memory->address) : input.host;
    addresses[program.inputs[i]] = static_cast<std::byte*>(const_cast<void*>(data));
  }
  std::vector<std::shared_ptr<Memory>> outputs;
  for (const int output : program.outputs) {
    outputs.push_back(allocateHost(program.buffers[output].byteLength));
    addresses[output] = reinterpret_cast<std::byte*>(outputs.back()->address);
  }

  Interpreter interpreter(program, std::move(addresses), run.cancel);
  for (const Step& step : program.steps) {
    checkCancelled(*run.cancel);
    std::visit(interpreter, step);
  }
  // A step that was stopped half way left undefined values.
  checkCancelled(*run.cancel);
  run.outputs = std::move(outputs);
}

}  // namespace

std::shared_ptr<Memory> allocateHost(size_t byteLength) {
  return std::make_shared<HostMemory>(host::allocate(byteLength), byteLength);
}

Device& cpuDevice() {
  static CpuDevice& device = *new CpuDevice();
  return device;
}

}  // namespace weft
