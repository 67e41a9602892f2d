// Runs g++ on translated sources and keeps what it made in a folder, by a digest of all that went into it.
#pragma once
#include <string>
#include <vector>

namespace weft::sim {

struct Compilation {
  bool ok = false;
  // A shared library, where it is ok.
  std::vector<char> image;
  std::string log;
};

// Any thread. The folder is WEFT_SIM_CACHE, else beside the simulator's libraries. `options`: further ones,
// of a kernel of the user's. `usesFurther`: whether it takes user-kernel.h, too.
Compilation compileKernel(const std::string& translated, bool usesFurther = false,
                          const std::vector<std::string>& options = {});

// Whether a source without options is compiled already.
bool isKept(const std::string& translated);

// Compiles sources without options at once, for `compileKernel` to find them. Most of the time that a small
// kernel takes is that of starting g++, its assembler and its linker. Where one of them does not compile,
// none is kept.
void compileTogether(const std::vector<std::string>& translated);

}  // namespace weft::sim
