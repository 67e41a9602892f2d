#include "core/source-line.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string_view>

namespace weft::sim {
namespace {

// By the path that an image was loaded from, which is gone.
std::map<std::string, std::string>& images() {
  static auto& map = *new std::map<std::string, std::string>();
  return map;
}

bool endsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// The first line of the program's answer that is not of CUDA's part for g++.
std::string ask(const std::string& path, uintptr_t offset) {
  char command[512];
  std::snprintf(command, sizeof command, "addr2line -i -e '%s' 0x%zx 2>/dev/null", path.c_str(),
                static_cast<size_t>(offset));
  FILE* answer = popen(command, "r");
  if (answer == nullptr) return {};
  std::string found;
  char line[1024];
  while (std::fgets(line, sizeof line, answer) != nullptr) {
    std::string text(line, std::strcspn(line, " \n"));
    const size_t colon = text.rfind(':');
    const std::string file = text.substr(0, colon);
    if (!found.empty() || endsWith(file, "kernel.h") || endsWith(file, "??") || endsWith(file, "weft.cu"))
      continue;
    const size_t slash = file.rfind('/');
    found = text.substr(slash == std::string::npos ? 0 : slash + 1);
  }
  pclose(answer);
  return found;
}

}  // namespace

void keepLines(const std::string& path, const void* image, size_t byteLength) {
  const std::string_view bytes(static_cast<const char*>(image), byteLength);
  if (bytes.find(".debug_line") != std::string_view::npos) images()[path] = bytes;
}

void forgetLines(const void* library) {
  if (library == nullptr) return;
  images().erase(static_cast<const link_map*>(library)->l_name);
}

std::string lineOf(const void* returnAddress) {
  Dl_info info{};
  if (returnAddress == nullptr || dladdr(returnAddress, &info) == 0) return {};
  const auto found = images().find(info.dli_fname);
  if (found == images().end()) return {};
  char path[] = "/tmp/weft-sim-lines-XXXXXX";
  const int file = mkstemp(path);
  if (file < 0) return {};
  const bool isWritten =
      write(file, found->second.data(), found->second.size()) == static_cast<ssize_t>(found->second.size());
  close(file);
  const auto offset =
      reinterpret_cast<uintptr_t>(returnAddress) - 1 - reinterpret_cast<uintptr_t>(info.dli_fbase);
  const std::string line = isWritten ? ask(path, offset) : std::string();
  unlink(path);
  return line.empty() ? line : ", " + line;
}

}  // namespace weft::sim
