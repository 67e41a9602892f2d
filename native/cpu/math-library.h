// Libraries of BLAS and LAPACK: opened at run time by name or file, never closed, since their threads may run
// until the process ends.
#pragma once
#include <array>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace weft::cpu {

using SetLibraryThreads = void (*)(int64_t);

struct MathLibrary {
  void* handle;
  // OpenBLAS, MKL, BLIS; of others `otherwise`.
  std::string name;
  std::string path;
  // Null where it has no such function.
  SetLibraryThreads setThreads;
  // The processor that its kernels are made for, where it tells.
  std::string core;
};

// How functions are named, and whether sizes are 64-bit: plain; OpenBLAS and MKL with 64-bit sizes; the
// wheels of NumPy and SciPy.
struct MathSpelling {
  const char* prefix;
  const char* suffix;
  bool wideSizes;

  std::string of(const std::string& function) const { return prefix + function + suffix; }
};
inline constexpr std::array kMathSpellings = {
    MathSpelling{"", "64_", true}, MathSpelling{"", "_64", true}, MathSpelling{"", "", false},
    MathSpelling{"scipy_", "64_", true}, MathSpelling{"scipy_", "", false}};

// The handle of a library, or null; `problem` says why it could not be opened.
void* openLibrary(const char* name, std::string& problem);
// Null: it has no such function.
void* librarySymbol(void* handle, const std::string& name);
// An opened library that has `function`, spelled so.
MathLibrary describeLibrary(void* handle, const void* function, const MathSpelling& spelling,
                            const char* file, const char* otherwise);

// Whether a library takes kernels for AVX2 where Weft's own have AVX-512: OpenBLAS on a processor that it
// does not know.
bool isBehind(const MathLibrary& library);

// While it lives, libraries compute with so many threads each: a call with another number, of another thread,
// waits. The bits of a library may depend on the number.
class LibraryThreads {
 public:
  LibraryThreads(SetLibraryThreads set, int threads);
  ~LibraryThreads();
  LibraryThreads(const LibraryThreads&) = delete;
  LibraryThreads& operator=(const LibraryThreads&) = delete;
};

}  // namespace weft::cpu
