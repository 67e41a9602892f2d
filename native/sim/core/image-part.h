// Images of kernels that were compiled together are one shared library; which kernel an image is of stands in
// the unused bytes of its ELF header.
#pragma once
#include <elf.h>

#include <string>

namespace weft::sim {

// Behind the bytes that the format and the ABI use.
constexpr int kPartByte = EI_PAD;

// From 1; 0: the library has one kernel's source alone.
inline unsigned partOf(const char* image) { return static_cast<unsigned char>(image[kPartByte]); }
inline void setPart(char* image, unsigned number) { image[kPartByte] = static_cast<char>(number); }

// Behind the names that a module looks up: none of a source alone.
inline std::string partSuffix(unsigned number) {
  std::string suffix;
  if (number > 0) suffix.append("_").append(std::to_string(number));
  return suffix;
}

}  // namespace weft::sim
