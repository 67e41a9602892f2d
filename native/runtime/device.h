// Device: what runs programs. The CPU is one (cpu-device.*), each GPU another (cuda/device.*).
//
// Devices and their executors live as long as the process. Memory is what a device hands out: the results of
// runs, shared by JavaScript handles and by runs under way, freed when the last lets go, on any thread.
#pragma once
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/cancel.h"
#include "runtime/host-pool.h"
#include "runtime/host-source.h"
#include "runtime/tile-queue.h"
#include "runtime/waiting-runs.h"

namespace weft {

class Device;
class Executor;
class HostSink;
struct Program;

// A block of a device's memory: a host pointer on the CPU, a device address on a GPU.
struct Memory {
  Memory(Device& device, uintptr_t address, size_t byteLength)
      : device(device), address(address), byteLength(byteLength) {}
  virtual ~Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  Device& device;
  const uintptr_t address;
  const size_t byteLength;
};

// A block of the pool of host memory.
class HostMemory : public Memory {
 public:
  HostMemory(host::Block block, size_t byteLength);
  const host::Block& block() const { return block_; }

 private:
  const host::Block block_;
};

// Part of a buffer: the bytes from `first` on.
struct MemoryPiece {
  std::shared_ptr<Memory> memory;
  size_t first;
  size_t last() const { return first + memory->byteLength; }
};

// When things happened to a run, in nanoseconds of the steady clock; 0: they have not.
struct Timeline {
  // JavaScript asked for it; the executor took it; all its work was queued; its end was seen.
  int64_t asked = 0, taken = 0, issued = 0, ended = 0;

  static int64_t now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
};

// One run of a program: what it reads, and after it what it wrote.
struct Run {
  struct Input {
    // Exactly one is set, unless the buffer is empty. Host memory belongs to JavaScript, which keeps it while
    // the run is pending, or is `hostMemory`.
    const void* host = nullptr;
    std::shared_ptr<Memory> hostMemory;
    std::shared_ptr<Memory> memory;
    std::shared_ptr<HostSource> source;
    // Parts on this device and on others of its kind, which may overlap.
    std::vector<MemoryPiece> pieces;
  };

  Run() = default;
  virtual ~Run() = default;
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  // The inputs that JavaScript owns were read, and nothing else of JavaScript's is written. Before its end,
  // on any native thread.
  virtual void leaveInputs() noexcept {}
  // Uses them again, until it leaves them. False: they may be gone, and the run is cancelled.
  virtual bool enterInputs() noexcept { return true; }
  // All is queued, and the outputs may be used by what is queued on the device later: for a run that settles
  // ahead. Once, before `finish`, on any native thread.
  virtual void queued() noexcept = 0;
  // Ends the run: its outputs are there, or it failed. Once, on any native thread.
  virtual void finish(std::exception_ptr error) noexcept = 0;

  std::shared_ptr<const Program> program;
  // One for each of `program->inputs` and `program->outputs`.
  std::vector<Input> inputs;
  std::vector<bool> keepOnDevice;
  // The constants that come with the run, of kConstantBytes each.
  std::vector<uint8_t> numbers;
  // Whether who asked for it is content once results that stay on the device are queued.
  bool settlesWhenQueued = false;
  // The same for a run of any length, and where its outputs may be read by other devices.
  bool settlesAhead = false;
  // Host memory that windowed outputs are written to, among other runs'; empty: none is.
  std::vector<std::shared_ptr<Memory>> hostPlaces;
  // The files that each output goes to; empty: none goes to files.
  std::vector<std::vector<std::shared_ptr<HostSink>>> sinks;
  const CancelFlag* cancel = nullptr;
  // Of a program whose sweep several runs share, by which they do so.
  std::shared_ptr<TileQueue> tileQueue;

  // Null for an output that the device has written to its sinks or to its host place. Where a result is to be
  // put into memory that is there already, set before the run begins.
  std::vector<std::shared_ptr<Memory>> outputs;
  Timeline timeline;
  // Among the runs that wait for its device's executor; it leaves when it begins.
  WaitingRuns::Entry place;
  // Tiles of sweeps that have ended; any thread may look.
  std::shared_ptr<TileCount> tilesDone = std::make_shared<TileCount>(0);
};

// Whether a run may begin on the thread that asks for it, without a word to the executor: for small ones that
// wait for nothing. Holds the device's lock, where it has one, until the run has begun.
struct InlinePermit {
  enum class Kind {
    // The executor is to begin it.
    none,
    // Its outputs are there, or queued before whatever uses them, once it has begun; `finish` is not called.
    settled,
    // `finish` is called later.
    open,
  };
  Kind kind = Kind::none;
  std::unique_lock<std::mutex> lock;
};

// The bytes a device has out, holds from the system (at least as much), and had out at most since the last
// trim; the most of that which runs worked in (on the CPU, beside inputs in memory and results); and the
// pinned host bytes that copies to and from it go through.
struct MemoryUse {
  size_t inUse = 0;
  size_t held = 0;
  size_t peak = 0;
  size_t workPeak = 0;
  size_t staging = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  // `cpu`, `cuda:0` …
  virtual const std::string& name() const = 0;
  virtual Executor& executor() = 0;
  // Alignment that temporaries have in the arena.
  virtual size_t alignment() const = 0;
  virtual bool isHost() const = 0;

  // The following on the executor's thread.
  //
  // Begins a run. Throws, or calls the run's `finish` once, before it returns or later on another thread.
  // Runs finish in the order they were begun.
  virtual void begin(std::shared_ptr<Run> run) = 0;
  // Gives unused memory back to the system.
  virtual void trim() = 0;
  // A stream of another library's, by CUDA's handle of it, waits for all that was queued here; all that is
  // queued here later waits for what such a stream has. Nothing is queued on the CPU.
  virtual void makeStreamWait(uintptr_t stream) { static_cast<void>(stream); }
  virtual void waitForStream(uintptr_t stream) { static_cast<void>(stream); }

  // Any thread.
  //
  // Whether the run, whose inputs and outputs are known, may begin on this thread.
  virtual InlinePermit tryBeginInline(const Run& run) = 0;
  // Begins a run that has its permit. Where that is settled, throws what makes it fail.
  virtual void beginInline(std::shared_ptr<Run> run, InlinePermit permit) = 0;
  // Runs that the executor is to begin.
  WaitingRuns& waitingRuns() { return waitingRuns_; }
  virtual MemoryUse memory() const = 0;
  // The status with which the device was lost; empty: it was not.
  virtual std::string lostStatus() const { return {}; }
  // Host memory that its runs are to put results into: a GPU page-locks what comes again, no more than `most`
  // bytes in all.
  virtual void expectResultsIn(const std::shared_ptr<Memory>& memory, size_t most) {
    static_cast<void>(memory);
    static_cast<void>(most);
  }

 private:
  WaitingRuns waitingRuns_;
};

// The device of a name. Throws a device Failure for one that does not exist. Any thread.
Device& deviceNamed(const std::string& name);
// The devices that have been named so far.
std::vector<Device*> openedDevices();

// Host memory from the pool, for results or to work in.
std::shared_ptr<Memory> allocateHost(size_t byteLength, host::Purpose purpose = host::Purpose::result);
// All of a source in memory to work in, read by several threads.
std::shared_ptr<Memory> readToHost(HostSource& source, const CancelFlag& cancel);

Device& cpuDevice();

}  // namespace weft
