#include "runtime/process.h"

#include <atomic>
#include <mutex>

#include "runtime/failure.h"

#if defined(__unix__) || defined(__APPLE__)
#include <dlfcn.h>
#include <pthread.h>
#endif

namespace weft {
namespace {

std::atomic<bool> forked{false};

void pinLibrary() {
#if defined(__unix__) || defined(__APPLE__)
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&pinLibrary), &info) != 0 && info.dli_fname != nullptr) {
    // Fails for a program that is not a library, which stays anyway.
    dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
  }
#endif
}

}  // namespace

void settleIntoProcess() {
  static std::once_flag once;
  std::call_once(once, [] {
    pinLibrary();
#if defined(__unix__) || defined(__APPLE__)
    pthread_atfork(nullptr, nullptr, [] { forked.store(true); });
#endif
  });
}

bool isForked() { return forked.load(std::memory_order_relaxed); }

void checkNotForked() {
  if (!isForked()) return;
  throw Failure(
      FailureCode::device,
      "[weft] expected a process of its own: this one was forked from one that had loaded Weft, and a "
      "fork has none of its threads and devices (use child_process or worker_threads instead)");
}

}  // namespace weft
