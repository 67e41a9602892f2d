// runSmall(): a small program of the CPU, computed in the call that asks for it, without the task, promise
// and list of results of other runs.
#pragma once
#include <napi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/cpu-steps.h"

namespace weft {

// The runs of a program on the thread of its handle, one after the other: all that is the same in each is
// made once.
class SmallRun {
 public:
  explicit SmallRun(const Program& program);
  ~SmallRun();
  // Whether runs of a program may be such.
  static bool takes(const Program& program);

  // Of an input or output, in order, for the next run: memory of exactly its bytes.
  void placeInput(size_t i, const std::byte* data);
  void placeOutput(size_t i, std::byte* data);
  // Whether that of an earlier run is known.
  bool hasInput(size_t i) const { return steps_.views[program_.inputs[i]].data != nullptr; }
  bool hasOutput(size_t i) const { return steps_.views[program_.outputs[i]].data != nullptr; }
  // The constants that come with the next run: `numberCount` of the program.
  void setNumbers(const uint8_t* numbers);
  // False: routines would wait for calls of a library, and nothing was computed.
  bool run();

 private:
  const Program& program_;
  const bool hasRoutines_;
  std::vector<uint8_t> numbers_;
  CpuSteps steps_;
  std::byte* arena_ = nullptr;
  // By step, from the second run on: most programs run once.
  struct Repeated;
  void repeat();
  std::vector<std::unique_ptr<Repeated>> repeated_;
  bool hasRun_ = false;
};

// runSmall(program: NativeProgram, given: number,
//          ...memory: (ArrayBufferView | BufferHandle | ArrayBuffer)[]): boolean | undefined
//
// The memory of its inputs, ArrayBuffers for its outputs, and the constants that come with the run, where it
// takes any. Bits of `given` say which inputs are among them, and from bit 16 on which outputs: the others
// lie where they lay in the last run, which the caller knows of arrays that it has kept. Undefined: the
// outputs are there. Else nothing was computed, and run() is to be called: for inputs that are not in memory
// or do not fit, which it refuses, where a library is busy, and within a limit of the process, where computes
// wait for each other; false: for every run of the program.
Napi::Value runSmall(const Napi::CallbackInfo& info);

}  // namespace weft
