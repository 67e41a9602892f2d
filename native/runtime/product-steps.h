// Steps that multiply, matrix products and contractions (of StepSpec in
// src/exec/native/program-types.ts), read with all checks that running them relies on.
#pragma once
#include <string>
#include <vector>

#include "runtime/program.h"

namespace weft {

class Fields;

Step readMatmul(const Fields& fields, const Program& program);

Step readContraction(const Fields& fields, const Program& program);

// The names of products in timelines.
std::string nameOf(const MatmulStep& step);

std::string nameOf(const ContractionStep& step);

// Checks that every element of a product's operands lies inside its buffer; `byteLengths` has those of all.
void checkExtents(const MatmulStep& step, const std::vector<size_t>& byteLengths, const std::string& field);
void checkExtents(const ContractionStep& step, const std::vector<size_t>& byteLengths,
                  const std::string& field);

}  // namespace weft
