// Steps that multiply, matrix products and contractions (of StepSpec in
// src/exec/native/program-types.ts), read with all checks that running them relies on.
#pragma once
#include <functional>
#include <string>

#include "runtime/program.h"

namespace weft {

class Fields;

Step readMatmul(const Fields& fields, const Program& program);

Step readContraction(const Fields& fields, const Program& program);

// The names of products in timelines.
std::string nameOf(const MatmulStep& step);

std::string nameOf(const ContractionStep& step);

// The bytes of a buffer: asked for the few that a product has, since a program may have thousands of both.
using ByteLengthOf = std::function<size_t(int buffer)>;

// Checks that every element of a product's operands lies inside its buffer.
void checkExtents(const MatmulStep& step, const ByteLengthOf& byteLengthOf, const std::string& field);
void checkExtents(const ContractionStep& step, const ByteLengthOf& byteLengthOf, const std::string& field);

}  // namespace weft
