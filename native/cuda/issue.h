// Issue: queues one run on its device's stream: places its buffers, brings inputs in, launches the steps,
// brings results out.
//
// Small inputs and results are packed into pinned slots, so that they take few copies and nothing is waited
// for; larger ones go through the staging ring, and larger results are there when it returns. The run
// ends when the flight's event is reached and its pending copies are made, which is CudaDevice's to see to.
//
// On the thread that asked for the run only what is packed is brought in and out, and no memory waited for.
#pragma once
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "cuda/event.h"
#include "cuda/guard-blocks.h"
#include "cuda/in-flight-run.h"
#include "cuda/library-routines.h"
#include "cuda/modules.h"
#include "cuda/pool.h"
#include "cuda/resources.h"
#include "runtime/loop.h"
#include "runtime/program.h"
#include "runtime/sweep.h"

namespace weft::cuda {

class CudaDevice;

// For one run, under the device's issuing lock and with its context.
class Issue {
 public:
  Issue(CudaDevice& device, Resources& resources, InFlightRun& flight);
  ~Issue();

  // Whether the next run of a linked program makes its graphs.
  static bool isDue(const Program& program, Resources& resources);
  // The part of a slot that a packed buffer takes.
  static size_t packedByteLength(const Program& program, int buffer);

  // Throws where a call fails or the run is cancelled; the stream may then hold part of the run.
  void operator()();

  // A step of the program.
  void operator()(const LaunchStep& step);
  void operator()(const MatmulStep& step);
  void operator()(const ContractionStep& step);
  void operator()(const ZeroStep& step);
  void operator()(const RoutineStep& step);
  void operator()(const TapeStep& step);
  void operator()(const TapePhaseStep& step);
  void operator()(const std::shared_ptr<const Sweep>& sweep);
  void operator()(const std::shared_ptr<const Loop>& loop);

 private:
  // Buffers of one direction in the run's block: those packed into a slot, then the others.
  struct TransferSet {
    // Positions among the program's inputs or outputs.
    std::vector<size_t> packed, others;
    // Of each packed one, from `begin`.
    std::vector<size_t> offsets;
    // Of the packed ones, in the block.
    size_t begin = 0;
    size_t byteLength = 0;
  };

  // Queues the program's steps; those of its graphs as these, where they are due.
  void queueSteps(bool asGraphs);
  // Around steps that run in a stream: what they wait for, and what waits for them.
  void enterStream(size_t step);
  void leaveStream(size_t step);
  void joinStreams();
  // After a failure: what comes next comes after all that is queued.
  void abandonStreams() noexcept;
  CUstream streamAt(size_t position);
  // Says what a step of a program's graph comes after, where that has branches.
  void branch(const Program::Stretch& stretch, size_t step);
  // Whether each stream is a branch of the program's graphs.
  bool areBranches() const;
  void place();
  void placeInBlock(size_t byteLength);
  void placeApart();
  void placeInHost();
  // Queues the steps of one of the program's graphs.
  void launchGraph(size_t graph);
  // Notes where the products of a graph have their buffers. Whether more of them are to be recorded anew than
  // not.
  bool noteMoves(const Program::Stretch& stretch, GraphExec& exec) const;
  // Queues what `eachStep` visits, `steps` steps, as a graph; step by step where there can be none.
  void launchGraph(std::unique_ptr<GraphExec>& own, size_t steps, const std::function<void()>& eachStep);
  // The same; where there is no memory for a graph, or the device or a library cannot have it, nothing is
  // queued.
  enum class GraphLaunch { yes, noMemory, unsupported };
  GraphLaunch tryLaunchGraph(std::unique_ptr<GraphExec>& own, const std::function<void()>& eachStep);
  // Runs a part of a step in a tile.
  void runPart(const LaunchStep& step, const ProgramCode::Launch& launch, const SweepRange& range);
  void runPart(const MatmulStep& step, const SweepRange& range);
  void runPart(const ContractionStep& step, const SweepRange& range);
  void runPart(const RoutineStep& step, const SweepRange& range);
  // All runs of a loop's body, each on a range of every step; `first` is the first of its launches.
  void runPart(const Loop& loop, size_t first, const SweepRange* ranges);
  void multiply(const MatmulStep& step, bool adds);
  // Queues a library's work by `queue`, or makes it a part of the graph, which keeps `uses`.
  template <typename Product>
  void call(const Product& step, const std::function<void(CUstream)>& queue,
            std::shared_ptr<const void> uses = nullptr);
  // The addresses of a product's operands, result and workspace.
  Captures::Addresses placesOf(const MatmulStep& step) const;
  Captures::Addresses placesOf(const ContractionStep& step) const;
  Captures::Addresses placesOf(const RoutineStep& step) const;
  // Units of a routine.
  LibraryJob jobOf(const RoutineStep& step, cpu::Range units) const;
  void queue(const RoutineStep& step, cpu::Range units);
  void runPart(const ZeroStep& step, const Sweep& sweep, const SweepRun& run, int64_t tile);
  BackingStore backingOf(int buffer) const;
  // Whether it is a result in memory that was never used before.
  bool isFresh(int buffer) const;
  // A loop without a condition, and one with; `first` is the first of its launches.
  void runCounted(const Loop& loop, size_t first);
  void runWhile(const Loop& loop, size_t first);
  // Steps after `done` that the device decides on by itself, in graphs; how far it is, it says in pinned
  // memory at `slot`, by an event. Gives that: to the loop's end, unless there is no memory for a graph.
  LoopRecord runDecided(const Loop& loop, size_t first, int64_t done, std::byte* slot, Event& read);
  bool launchDecided(const Loop& loop, size_t first);
  // Runs of a loop's body that a graph repeats.
  void launchRuns(const Loop& loop, size_t first, const std::vector<LoopRun>& runs);
  // A run of a loop's body, with what comes after it.
  void runBody(const Loop& loop, const LoopRun& run);
  void queueBody(const Loop& loop, const LoopRun& run);
  // Steps [from, to) of it.
  void queuePart(const Loop& loop, const LoopRun& run, size_t from, size_t to);
  // The graph of the launches in a row that begin with a step of the body; null: there is none.
  std::unique_ptr<GraphExec>* graphOfPart(const Loop& loop, const LoopRun& run, size_t first);
  void placeStates(const Loop& loop, const LoopRun& run);
  void leaveInLast(const Loop& loop, LoopPosition place);
  // Copies a state from one buffer to `offset` bytes into another, in memory of the device or of the host, or
  // in a file.
  void copyState(int from, int to, size_t offset, size_t byteLength);
  void tellSteps(int64_t steps);
  // The addresses of its slots.
  std::vector<CUdeviceptr> slotsOf(const SweepBuffer& buffer);
  CopyStreams& copyStreams();
  // Gives the buffers of a group their places from `end` on. Returns the end after them.
  size_t placeTransfers(TransferSet& group, const std::vector<int>& buffers, const std::vector<bool>& chosen,
                        size_t end);
  void keepOutput(size_t output);
  void placePieces(size_t input);
  void gather();
  // Whether all of the inputs that are brought in whole has been read.
  bool bringIn();
  bool holdsHost() const;
  void bringOut();
  size_t byteLengthOf(int buffer) const { return program_.buffers[buffer].byteLength; }

  CudaDevice& device_;
  Resources& resources_;
  InFlightRun& flight_;
  Run& run_;
  const Program& program_;
  ProgramCode& code_;
  std::vector<CUdeviceptr>& addresses_;
  // One of the two: see `place`.
  std::optional<ScopedBlock> block_;
  std::optional<GuardBlocks> own_;
  TransferSet up_, down_;
  // Whether only lanes of sweeps use memory of JavaScript's from here on.
  bool releasesHost_ = false;
  // Of each buffer that lies in pieces, the piece that is used where it is, if any.
  std::vector<const MemoryPiece*> here_;
  // Host memory of the program's buffers, for those that sweeps bring in or out.
  std::vector<std::byte*> hosts_;
  // Where states of loops lie: the buffers that the body's are now. All others are where they are.
  std::vector<int> backing_;
  std::vector<std::shared_ptr<Memory>> spilled_;
  // The stream that work is queued in.
  CUstream stream_;
  // After steps that other streams wait for, by position; the last: before all of them.
  std::vector<std::unique_ptr<Event>> marks_;
  // By stream, whether a step was queued in it.
  std::vector<bool> entered_;
  size_t launch_ = 0;
  // The tile of a sweep that is being queued; -1: none is.
  int64_t tile_ = -1;
  // Takes launches instead of the stream, where it is not null.
  GraphExec* exec_ = nullptr;
  // Loops around what is being queued.
  size_t depth_ = 0;
  // Steps of a loop, and how much of the run was queued with them.
  struct Queued {
    size_t queued;
    int64_t steps;
  };
  std::deque<Queued> queuedSteps_;
};

}  // namespace weft::cuda
