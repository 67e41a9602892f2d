// Loop: a body of steps that runs again and again. Its states lie in two buffers by turns: each run of the
// body reads them from one and writes the next ones to the other; nothing is copied. Plain data, read once
// from a LoopSpec of src/exec/native/program-types.ts and then immutable; cpu-steps.* and cuda/loop.cpp run
// it.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/program.h"
#include "shared/layout.h"

namespace weft {

class Fields;

struct LoopState {
  // Holds it before the first step.
  int initial;
  // The buffers that the body reads and writes, without memory of their own.
  int current, next;
  // Where states are written to; `last` has the last one in the end. The same where a body may write a state
  // over the one before, which may be where the first one lies; `other` is -1 where the body is run once.
  int last, other;
  // Takes the states that are kept, one after the other; -1: none are.
  int kept;

  bool isInPlace() const { return last == other; }
};

// Kernels that decide on a GPU whether a loop with a condition goes on: functions of an image. See
// src/codegen/cuda/loop-check.ts.
struct LoopCheck {
  size_t image;
  std::string begin, goOn;
  // The temporary of a LoopRecord.
  int record;
};

// How steps whose body is one tape without reductions may follow one another through its tiles.
struct LoopSkew {
  // A tile reads states that were stored by tiles at most so many before or after it.
  int64_t tiles;
  // Buffers of the tape that are read as so much more as there were steps before.
  std::vector<int> counters;
};

struct Loop {
  // With a condition the most.
  int64_t steps;
  // The state, one bool, that says whether to go on; -1: none does.
  int condition;
  // Steps from one state that is kept to the next; 0: none are.
  int64_t every;
  // The most that one run of the body does.
  int64_t stepsAtOnce;
  std::vector<LoopState> states;
  std::vector<Step> body;
  // The first step of the body that may write a state in place, or never end: those before it can be run once
  // too often.
  size_t tail = 0;
  // Of a body of launches alone.
  std::optional<LoopCheck> check;
  // Of a body of one tape, for the CPU.
  std::optional<LoopSkew> skew;
  // CUDA launches in the body, those of loops in it among them.
  size_t launches = 0;
  // Whether there are sweeps in the body, whose tiles are what is counted of it.
  bool hasSweeps = false;
};

// Where states lie.
enum class LoopPosition { initial, last, other };

inline int bufferAt(const LoopState& state, LoopPosition place) {
  switch (place) {
    case LoopPosition::initial:
      return state.initial;
    case LoopPosition::last:
      return state.last;
    case LoopPosition::other:
      break;
  }
  return state.other;
}

// A run of a loop's body.
struct LoopRun {
  int64_t steps;
  LoopPosition from, to;
  // Which of the states that are kept it leaves; -1: none.
  int64_t kept;
  // Steps before it.
  int64_t done = 0;
};

// How often the body of a loop without a condition is run.
inline int64_t runsOf(const Loop& loop) {
  const int64_t stretch = loop.every > 0 ? loop.every : loop.steps;
  return loop.steps / stretch * ((stretch - 1) / loop.stepsAtOnce + 1);
}

// The runs of a loop without a condition, in order.
template <typename F>
void eachRun(const Loop& loop, F run) {
  const int64_t stretch = loop.every > 0 ? loop.every : loop.steps;
  // So that the last run of all ends in `last`.
  int64_t left = runsOf(loop);
  LoopPosition from = LoopPosition::initial;
  int64_t done = 0;
  for (int64_t k = 0; k < loop.steps / stretch; k++) {
    for (int64_t steps = stretch; steps > 0; steps -= loop.stepsAtOnce) {
      const LoopPosition to = --left % 2 == 0 ? LoopPosition::last : LoopPosition::other;
      const bool isEnd = steps <= loop.stepsAtOnce;
      const int64_t own = isEnd ? steps : loop.stepsAtOnce;
      run(LoopRun{own, from, to, isEnd && loop.every > 0 ? k : -1, done});
      done += own;
      from = to;
    }
  }
}

// Where the states after a number of steps lie in a loop with a condition.
inline LoopPosition placeAfter(int64_t steps) {
  if (steps == 0) return LoopPosition::initial;
  return steps % 2 == 1 ? LoopPosition::last : LoopPosition::other;
}

// CUDA launches in a step, those of loops and sweeps in it among them.
size_t launchesOf(const Step& step);

// Reads a loop, and checks all that running it relies on.
Step readLoop(const Fields& fields, Program& program);

// Refuses a state whose body has no windows of it, but that lies where there are only windows of it.
void checkStateWindows(const LoopState& state, const Program& program, const std::string& field);

// Refuses buffers of states outside of the loop that says where they lie.
void checkStates(const Program& program);

}  // namespace weft
