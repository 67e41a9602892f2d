// Kernels of users' own: fills outputs that hold something before, then runs blocks, several at a time.
#include "cpu/user-kernel.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "cpu/kernel-races.h"
#include "cpu/threads.h"
#include "runtime/failure.h"

namespace weft::cpu {
namespace {

// Blocks of a task: few enough that all threads have some.
constexpr int64_t kTasksOfThread = 8;
// Elements of an output that are filled by a task.
constexpr int64_t kFilled = int64_t{1} << 18;

// A kernel as all of its runs have it.
struct PreparedKernel : PreparedRoutine {
  explicit PreparedKernel(const std::vector<int64_t>& numbers) : kernel(readUserKernel(numbers)) {}
  const UserKernel kernel;
};

RoutineNeed needOf(const std::vector<int64_t>& numbers, const ThreadPool&) {
  auto prepared = std::make_shared<PreparedKernel>(numbers);
  const UserKernel& kernel = prepared->kernel;
  RoutineNeed need;
  for (const KernelArray& input : kernel.inputs)
    need.operands.push_back(static_cast<size_t>(input.byteLength()));
  for (const KernelArray& output : kernel.outputs)
    need.results.push_back(static_cast<size_t>(output.byteLength()));
  need.units = kernel.units();
  need.prepared = std::move(prepared);
  return need;
}

void fill(const UserKernel& kernel, const RoutineJob& job, Range units, ThreadPool& pool) {
  for (size_t k = 0; k < kernel.outputs.size(); k++) {
    const KernelOutput& output = kernel.outputs[k];
    if (output.initial == Initial::none) continue;
    const int64_t size = output.size();
    const int64_t first = output.part == 0 ? 0 : std::min(size, units.first * output.part);
    const int64_t last = output.part == 0 ? size : std::min(size, units.last * output.part);
    const int64_t bytes = byteLengthOf(output.dtype);
    pool.parallelFor((last - first + kFilled - 1) / kFilled, [&](int64_t task, int) {
      const int64_t begin = first + task * kFilled;
      const int64_t count = std::min(last - begin, kFilled);
      auto* to = reinterpret_cast<char*>(job.results[k]) + begin * bytes;
      if (output.initial == Initial::input) {
        std::memcpy(
            to,
            reinterpret_cast<const char*>(job.operands[static_cast<size_t>(output.input)]) + begin * bytes,
            static_cast<size_t>(count * bytes));
        return;
      }
      for (int64_t at = 0; at < count; at++)
        std::memcpy(to + at * bytes, output.value.data(), static_cast<size_t>(bytes));
    });
  }
}

// The blocks of some units, in order.
struct Blocks {
  Dim3 first{}, size{};
  int64_t count() const { return size[0] * size[1] * size[2]; }
  Dim3 at(int64_t k) const {
    return {first[0] + k % size[0], first[1] + k / size[0] % size[1], first[2] + k / size[0] / size[1]};
  }
};

Blocks blocksOf(const UserKernel& kernel, Range units) {
  Blocks blocks{{}, kernel.grid};
  if (kernel.cutAxis < 0) return blocks;
  const auto axis = static_cast<size_t>(kernel.cutAxis);
  blocks.first[axis] = units.first;
  blocks.size[axis] = units.last - units.first;
  return blocks;
}

void runChecked(const UserKernel& kernel, const RoutineJob& job, const Blocks& blocks,
                const std::atomic<bool>* cancel, bool isWhole) {
  KernelRaces races(kernel);
  KernelBlock block(kernel, job, cancel, &races);
  for (int64_t k = 0; k < blocks.count(); k++) block.run(blocks.at(k));
  for (size_t k = 0; isWhole && k < kernel.outputs.size(); k++) {
    const int64_t at = races.unwritten(k);
    if (at >= 0)
      throw Failure(FailureCode::argument, "[kernel] expected output number " + std::to_string(k) +
                                               " to be written: no thread writes element " +
                                               std::to_string(at));
  }
}

void run(const RoutineJob& job, Range units, ThreadPool& pool, const std::atomic<bool>* cancel) {
  const UserKernel& kernel = static_cast<const PreparedKernel&>(*job.prepared).kernel;
  const Blocks blocks = blocksOf(kernel, units);
  fill(kernel, job, units, pool);
  if (blocks.count() == 0) return;
  const auto isStopped = [&] { return cancel != nullptr && cancel->load(std::memory_order_relaxed); };
  try {
    if (kernel.isChecked) {
      const bool isWhole = units.first == 0 && units.last == kernel.units();
      return runChecked(kernel, job, blocks, cancel, isWhole);
    }
    const int workers = pool.workers();
    std::vector<std::unique_ptr<KernelBlock>> own(static_cast<size_t>(workers));
    const int64_t tasks = std::min<int64_t>(blocks.count(), workers == 1 ? 1 : workers * kTasksOfThread);
    pool.parallelFor(
        tasks,
        [&](int64_t task, int worker) {
          std::unique_ptr<KernelBlock>& block = own[static_cast<size_t>(worker)];
          if (!block) block = std::make_unique<KernelBlock>(kernel, job, cancel, nullptr);
          const int64_t last = (task + 1) * blocks.count() / tasks;
          for (int64_t k = task * blocks.count() / tasks; k < last && !isStopped(); k++)
            block->run(blocks.at(k));
        },
        workers);
  } catch (const KernelStopped&) {
    // As every routine: what is left is not computed.
  }
}

}  // namespace

const Routine kUserKernel = {needOf, run};

}  // namespace weft::cpu
