// CpuSteps: runs steps of a program on the CPU, whole or on ranges of them, over host memory. One after the
// other, each on the process's thread pool. Called by cpu-device.cpp and cpu-sweep.cpp.
#pragma once
#include <cstddef>
#include <functional>
#include <unordered_map>
#include <vector>

#include "cpu/cpu.h"
#include "runtime/cancel.h"
#include "runtime/loop.h"
#include "runtime/sweep.h"

namespace weft {

// Memory behind a buffer of which bytes [first, last) are there, or else where tapes read them. `data` is
// where byte 0 is, or would be.
struct HostView {
  std::byte* data = nullptr;
  size_t first = 0, last = 0;
  cpu::ByteSource* source = nullptr;
};

// Whether routines are among the steps of a program, which may call libraries.
bool hasRoutines(const Program& program);

// The pool that a tape runs on: of the calling thread alone where waking another costs more than the tape.
cpu::ThreadPool& poolOf(const TapeStep& step);

class CpuSteps {
 public:
  // `numbers`: the constants that come with the run.
  CpuSteps(const Program& program, const uint8_t* numbers, const CancelFlag* cancel);

  // For each buffer of the program; inputs and outputs are the caller's to place. Sweeps move their windows.
  std::vector<HostView> views;
  void placeTemporaries(std::byte* arena);
  // Where states of loops lie: the buffers that the body's are now. All others are where they are.
  std::vector<int> backing;
  // Runs a sweep in the body of a loop.
  std::function<void(const Sweep& sweep)> sweep;
  // Copies all of a loop's state to `offset` bytes of another buffer, where one of them is not in memory.
  std::function<void(int from, int to, size_t offset)> copy;

  // For further runs with other constants, which lie where those of the first one lay.
  void renewConstants();
  // The buffers of a tape, but for where they lie, and its constants.
  std::vector<cpu::TapeBuffer> buffersOf(const TapeStep& step);
  // Runs all of a step; not of a sweep. Steps of a loop are counted in `done`, if that is not null.
  void run(const Step& step, TileCount* done = nullptr);
  // Runs what a tile does of a step: a range; of a loop, in each run of its body a range of every step.
  void runPart(const SweepBody& part, int64_t tile);

 private:
  void tape(const TapeStep& step, cpu::Range tiles, cpu::Range window = {0, INT64_MAX});
  void phase(const TapePhaseStep& step, cpu::Range blocks);
  void product(const MatmulStep& step, const cpu::MatmulPart& part);
  void routine(const RoutineStep& step, cpu::Range units);
  void zero(const ZeroStep& step);
  void range(const Step& step, const SweepRange& range, int64_t tile);
  void loop(const Loop& loop, TileCount* done);
  void runSkewed(const Loop& loop, const std::vector<LoopRun>& turns, int64_t count, TileCount* done);
  void leave(const Loop& loop, const LoopRun& run);
  void copyState(int from, int to, size_t offset);
  void runBody(const Loop& loop, LoopPosition from, LoopPosition to);
  void place(const Loop& loop, LoopPosition from, LoopPosition to);
  const cpu::TapeBuffer* tapeBuffers(const cpu::Tape& tape, const std::vector<int>& buffers);
  // Adds the constants of the run behind a tape's buffers, where some come with it.
  void addConstants(const cpu::Tape& tape, std::vector<cpu::TapeBuffer>& buffers);
  cpu::TapeBuffer tapeBuffer(const cpu::Tape& tape, size_t at, int buffer) const;
  cpu::Matrix matrix(const MatrixOperand& operand, DType dtype) const;

  const Program& program_;
  const uint8_t* const numbers_;
  const CancelFlag* cancel_;
  // Of tapes with constants that come with the run.
  std::unordered_map<const cpu::Tape*, std::vector<char>> constants_;
  std::vector<cpu::TapeBuffer> tapeBuffers_;
};

}  // namespace weft
