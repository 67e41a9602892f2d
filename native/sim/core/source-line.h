// Lines of the sources of kernels: of those that users wrote, whose images have tables of them.
#pragma once
#include <cstddef>
#include <string>

namespace weft::sim {

// Keeps an image that was loaded from a file, if it has a table of lines.
void keepLines(const std::string& path, const void* image, size_t byteLength);
void forgetLines(const void* library);

// ", kernel.cu:12": the line that a call returns to; empty where it is not known.
std::string lineOf(const void* returnAddress);

}  // namespace weft::sim
