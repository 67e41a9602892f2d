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

// Whether a step can be part of a CUDA graph: it queues work, and nothing else.
bool canRepeat(const Step& step, const Program& program);

// The names of products in timelines.
std::string nameOf(const MatmulStep& step);

std::string nameOf(const ContractionStep& step);

// Checks that every element of a product's operands lies inside its buffer; `byteLengths` has those of all.
void checkExtents(const MatmulStep& step, const std::vector<size_t>& byteLengths, const std::string& field);
void checkExtents(const ContractionStep& step, const std::vector<size_t>& byteLengths,
                  const std::string& field);

}  // namespace weft
