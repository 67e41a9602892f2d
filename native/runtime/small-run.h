// runSmall(): a small program of the CPU, computed in the call that asks for it, without the task, promise
// and list of results of other runs.
#pragma once
#include <napi.h>

#include <cstddef>
#include <cstdint>

namespace weft {

struct Program;

// Computes a small program of the CPU on this thread, between memory of exactly the bytes of its inputs and
// of its outputs, in their order. False: its routines would wait for calls of a library.
bool computeSmall(const Program& program, const std::byte* const* inputs, std::byte* const* outputs,
                  const uint8_t* numbers);

// runSmall(program: NativeProgram, ...memory: (ArrayBufferView | BufferHandle | ArrayBuffer)[]): boolean |
// undefined
//
// The memory of its inputs, ArrayBuffers for its outputs, and the constants that come with the run, where it
// takes any. True: the outputs are there. False: nothing was computed, and run() is to be called: for inputs
// that are not in memory or do not fit, which it refuses, where a library is busy, and within a limit of the
// process, where computes wait for each other. Undefined: the same
// for every run of the program.
Napi::Value runSmall(const Napi::CallbackInfo& info);

}  // namespace weft
