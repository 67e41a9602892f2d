// Reading the steps of a program (StepSpec of src/exec/native/program-types.ts), with all checks that running
// them relies on.
#pragma once
#include <string>
#include <vector>

#include "runtime/program.h"

namespace weft {

class Fields;

// Buffers, images and the device of the program were read before.
Step readStep(const Fields& fields, Program& program);

// Instructions times elements of a tape, by the weights of their ops.
double workOf(const cpu::Tape& tape);

// Whether a tape has loops of elements, whose work its elements decide.
bool hasElementLoops(const cpu::Tape& tape);

// Whether a step can be part of a CUDA graph: it queues work, and nothing else.
bool canRepeat(const Step& step, const Program& program);

}  // namespace weft
