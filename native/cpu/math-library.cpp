#include "cpu/math-library.h"

#include <dlfcn.h>
#include <strings.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <filesystem>
#include <map>
#include <system_error>

#include "cpu/isa.h"
#include "cpu/library-permit.h"

namespace weft::cpu {
namespace {

// OpenBLAS's kernels with AVX-512.
constexpr std::array kWideCores = {"SkylakeX", "Cooperlake", "SapphireRapids"};

struct ThreadSetter {
  const char* library;
  const char* symbol;
  // Whether the function is spelled as the others are.
  bool spelled;
};
constexpr std::array kThreadSetters = {ThreadSetter{"OpenBLAS", "openblas_set_num_threads", true},
                                       ThreadSetter{"MKL", "MKL_Set_Num_Threads", false},
                                       ThreadSetter{"BLIS", "bli_thread_set_num_threads", false}};

std::string pathOf(const void* address, const char* otherwise) {
  Dl_info info;
  return dladdr(address, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : otherwise;
}

// The number of threads of the calls that run, and the last one that each library was set to.
struct ThreadState {
  std::mutex mutex;
  std::condition_variable left;
  int threads = 0;
  int calls = 0;
  std::map<SetLibraryThreads, int> told;
  // Held by a call of several threads, or by a thread whose calls must not wait for one.
  std::mutex several;
};

ThreadState& threadState() {
  static ThreadState* const state = new ThreadState;
  return *state;
}

}  // namespace

void* openLibrary(const char* name, std::string& problem) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(name, error);
  // The loader would wait for the writer of a pipe.
  if (std::strchr(name, '/') != nullptr && exists(status) && !is_regular_file(status)) {
    problem = std::string(name) + ": not a regular file";
    return nullptr;
  }
  void* const handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) problem = dlerror();
  return handle;
}

void* librarySymbol(void* handle, const std::string& name) { return dlsym(handle, name.c_str()); }

MathLibrary describeLibrary(void* handle, const void* function, const MathSpelling& spelling,
                            const char* file, const char* otherwise) {
  MathLibrary library{handle, otherwise, pathOf(function, file), nullptr, {}};
  if (void* const core = librarySymbol(handle, spelling.of("openblas_get_corename")))
    library.core = reinterpret_cast<const char* (*)()>(core)();
  for (const ThreadSetter& setter : kThreadSetters) {
    void* const set = librarySymbol(handle, setter.spelled ? spelling.of(setter.symbol) : setter.symbol);
    if (set == nullptr) continue;
    library.setThreads = reinterpret_cast<SetLibraryThreads>(set);
    library.name = setter.library;
    break;
  }
  return library;
}

bool isBehind(const MathLibrary& library) {
  if (currentIsa() != Isa::avx512 || library.core.empty()) return false;
  return std::none_of(kWideCores.begin(), kWideCores.end(),
                      [&](const char* core) { return strcasecmp(core, library.core.c_str()) == 0; });
}

LibraryThreads::LibraryThreads(SetLibraryThreads set, int threads) {
  ThreadState& state = threadState();
  std::unique_lock several(state.several, std::defer_lock);
  if (threads > 1) several.lock();
  std::unique_lock lock(state.mutex);
  state.left.wait(lock, [&] { return state.calls == 0 || state.threads == threads; });
  state.calls++;
  state.threads = threads;
  several.release();
  if (set == nullptr) return;
  int& told = state.told[set];
  if (told != threads) set(threads);
  told = threads;
}

LibraryThreads::~LibraryThreads() {
  ThreadState& state = threadState();
  const std::lock_guard lock(state.mutex);
  if (state.threads > 1) state.several.unlock();
  if (--state.calls == 0) state.left.notify_all();
}

std::unique_lock<std::mutex> tryLibraryPermit() { return {threadState().several, std::try_to_lock}; }

}  // namespace weft::cpu
