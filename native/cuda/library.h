// Library: a shared library found at run time among candidates, and what was tried.
//
// The candidates (names for the loader, or paths) are made by src/exec/native/cuda-libraries.ts and set once
// for the process by `setCandidates`; the first that opens, has every entry point and is accepted is used.
// driver.*, nvrtc.* and blas.* have a table of entry points each.
#pragma once
#include <functional>
#include <string>
#include <vector>

namespace weft::cuda {

struct Candidates {
  std::vector<std::string> driver, nvrtc, cublas, cublasLt, cutensor, cufft, cusolver, cudss;
};

// The first call decides; later ones (of other threads' environments) change nothing.
void setCandidates(Candidates candidates);
const Candidates& candidates();

struct Library {
  // Where it was loaded from; empty: not found.
  std::string path;
  // For each candidate that was passed over, the reason.
  std::vector<std::string> tried;

  bool found() const { return !path.empty(); }
};

// An entry point to look up: where its address goes, its symbol, and whether the library may lack it.
struct EntryPoint {
  void** address;
  const char* symbol;
  bool optional;
};

// Opens the first candidate that will do. `companions` are files to load before a candidate that is a path,
// given by the start of their names (libraries that it loads by name itself); `accept` gives a reason to pass
// a candidate over, or an empty string.
Library openLibrary(const std::vector<std::string>& candidates, const std::vector<EntryPoint>& entryPoints,
                    const std::vector<std::string>& companions, const std::function<std::string()>& accept);

// Files beside `path` whose names begin with `start`.
std::vector<std::string> filesBeside(const std::string& path, const std::string& start);

// "a, b and c" of what was tried, for messages.
std::string describeTried(const Library& library);

}  // namespace weft::cuda
