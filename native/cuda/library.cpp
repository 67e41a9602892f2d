#include "cuda/library.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <system_error>

namespace weft::cuda {
namespace {

struct Chosen {
  std::mutex mutex;
  bool set = false;
  Candidates candidates;
};

Chosen& chosen() {
  static Chosen& it = *new Chosen();
  return it;
}

// The loader's message, which may or may not begin with the library's name.
std::string loaderError(const std::string& candidate) {
  const char* text = dlerror();
  const std::string message = text == nullptr ? "unknown error" : text;
  return message.rfind(candidate, 0) == 0 ? message : candidate + ": " + message;
}

// The file that an address was loaded from.
std::string pathOf(void* address, const std::string& fallback) {
  Dl_info info{};
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr || *info.dli_fname == 0) return fallback;
  return info.dli_fname;
}

// The reason why the opened library will not do, or an empty string; fills the addresses.
std::string resolve(void* handle, const std::vector<EntryPoint>& entryPoints,
                    const std::function<std::string()>& accept) {
  for (const EntryPoint& entry : entryPoints) {
    *entry.address = dlsym(handle, entry.symbol);
    if (*entry.address == nullptr && !entry.optional) return std::string("it has no ") + entry.symbol;
  }
  return accept();
}

// A companion that does not load shows when the library itself does not load or does not work.
void openCompanions(const std::string& path, const std::vector<std::string>& companions) {
  for (const std::string& companion : companions) {
    for (const std::string& file : filesBeside(path, companion))
      dlopen(file.c_str(), RTLD_LAZY | RTLD_GLOBAL);
  }
}

}  // namespace

void setCandidates(Candidates candidates) {
  const std::lock_guard lock(chosen().mutex);
  if (chosen().set) return;
  chosen().candidates = std::move(candidates);
  chosen().set = true;
}

const Candidates& candidates() {
  const std::lock_guard lock(chosen().mutex);
  return chosen().candidates;
}

std::vector<std::string> filesBeside(const std::string& path, const std::string& start) {
  std::vector<std::string> files;
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (folder.empty()) return files;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code unknown;
    if (it->path().filename().string().rfind(start, 0) == 0 && it->is_regular_file(unknown))
      files.push_back(it->path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

Library openLibrary(const std::vector<std::string>& candidates, const std::vector<EntryPoint>& entryPoints,
                    const std::vector<std::string>& companions, const std::function<std::string()>& accept) {
  Library library;
  for (const std::string& candidate : candidates) {
    std::error_code error;
    const bool isPath = candidate.find('/') != std::string::npos;
    // The loader would wait for the writer of a pipe.
    if (isPath && !std::filesystem::is_regular_file(candidate, error)) {
      const bool isThere = std::filesystem::exists(candidate, error);
      library.tried.push_back(candidate + (isThere ? ": not a regular file" : ": no such file"));
      continue;
    }
    openCompanions(candidate, companions);
    void* handle = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      library.tried.push_back(loaderError(candidate));
      continue;
    }
    const std::string reason = resolve(handle, entryPoints, accept);
    if (reason.empty()) {
      library.path = pathOf(*entryPoints.front().address, candidate);
      // For a library found by name, whose folder is known only now.
      openCompanions(library.path, companions);
      return library;
    }
    library.tried.push_back(candidate + ": " + reason);
    for (const EntryPoint& entry : entryPoints) *entry.address = nullptr;
    dlclose(handle);
  }
  return library;
}

std::string describeTried(const Library& library) {
  std::string text;
  for (const std::string& one : library.tried) text += (text.empty() ? "" : "; ") + one;
  return text.empty() ? "no place was known" : text;
}

}  // namespace weft::cuda
