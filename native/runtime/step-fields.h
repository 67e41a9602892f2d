// Fields that steps of several kinds have: buffers, and their workspace.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/fields.h"
#include "runtime/program.h"

namespace weft {

constexpr int64_t lastOf(size_t count) { return static_cast<int64_t>(count) - 1; }

int readBuffer(const Fields& fields, const char* name, const Program& program);

std::vector<int> readBuffers(const Fields& fields, const char* name, const Program& program);

// Inputs may be the user's memory: nothing is written there.
void checkWritable(int buffer, const Program& program, const std::string& path);

// The temporary of the field `workspace`, of at least `byteLength` bytes; -1 where there is none and it is
// not needed.
int readWorkspace(const Fields& fields, size_t byteLength, const Program& program);

}  // namespace weft
