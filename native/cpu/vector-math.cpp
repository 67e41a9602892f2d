// Finds glibc's vector math library at run time; nothing is linked, and nothing fails where it is missing.
#include <dlfcn.h>

#include <initializer_list>

#include "cpu/ops.h"

namespace weft::cpu {
namespace {

void* library() {
  static void* const handle = dlopen("libmvec.so.1", RTLD_NOW | RTLD_LOCAL);
  return handle;
}

}  // namespace

void* vectorMath(const char* symbol) { return library() ? dlsym(library(), symbol) : nullptr; }

const char* vectorMathPath() {
  static const char* const path = []() -> const char* {
    if (!library()) return nullptr;
    for (const char* symbol : {"_ZGVbN4v_expf", "_ZGVnN4v_expf"}) {
      Dl_info info;
      void* address = dlsym(library(), symbol);
      if (address && dladdr(address, &info) && info.dli_fname) return info.dli_fname;
    }
    return "libmvec.so.1";
  }();
  return path;
}

}  // namespace weft::cpu
