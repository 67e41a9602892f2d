#include "cuda/signal-guard.h"

#if defined(__unix__) || defined(__APPLE__)
#include <dlfcn.h>
#include <signal.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>

namespace weft::cuda {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM};
constexpr size_t kCount = sizeof(kSignals) / sizeof(kSignals[0]);
// NVRTC takes the signals when it begins, and compiles for longer than this.
constexpr auto kBetweenLooks = std::chrono::milliseconds(5);

using Handler = void (*)(int);

bool isOfCompiler(Handler handler) {
  if (handler == SIG_DFL || handler == SIG_IGN) return false;
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(handler), &info) == 0 || info.dli_fname == nullptr) return false;
  return std::string(info.dli_fname).find("nvrtc") != std::string::npos;
}

// The process's handlers while nothing is compiled. They are restored at the end of a compilation and,
// since a signal may come meanwhile, soon after its beginning.
class Keeper {
 public:
  void enter() {
    const std::lock_guard lock(mutex_);
    if (compilations_++ == 0) {
      for (size_t k = 0; k < kCount; k++) {
        sigaction(kSignals[k], nullptr, &first_[k]);
        kept_[k] = first_[k];
      }
    }
    if (!isWatched_) watch();
    wake_.notify_one();
  }
  void leave() {
    const std::lock_guard lock(mutex_);
    restore();
    compilations_--;
  }

 private:
  // A thread that sleeps while nothing is compiled; no executor's, whose ends a process waits for.
  void watch() {
    try {
      std::thread([this] {
        std::unique_lock lock(mutex_);
        for (;;) {
          wake_.wait(lock, [this] { return compilations_ > 0; });
          wake_.wait_for(lock, kBetweenLooks);
          restore();
        }
      }).detach();
      isWatched_ = true;
    } catch (const std::system_error&) {
      // Without it the end of the compilation restores.
    }
  }

  void restore() {
    for (size_t k = 0; k < kCount; k++) {
      struct sigaction now {};
      sigaction(kSignals[k], nullptr, &now);
      // Finding the library of a handler of Node.js's takes a walk over tens of thousands of symbols.
      const bool isOther = now.sa_handler != kept_[k].sa_handler;
      if ((isOther && isOfCompiler(now.sa_handler)) || losesFlags(now, first_[k]) ||
          losesFlags(now, kept_[k])) {
        sigaction(kSignals[k], &kept_[k], nullptr);
      } else if (now.sa_handler != SIG_IGN) {
        // As it was, or what JavaScript has asked for since.
        kept_[k] = now;
      }
    }
  }

  static bool losesFlags(const struct sigaction& now, const struct sigaction& before) {
    return now.sa_handler == before.sa_handler && now.sa_flags != before.sa_flags;
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  size_t compilations_ = 0;
  bool isWatched_ = false;
  struct sigaction first_[kCount] = {};
  struct sigaction kept_[kCount] = {};
};

Keeper& keeper() {
  static Keeper& it = *new Keeper();
  return it;
}

}  // namespace

SignalGuard::SignalGuard() { keeper().enter(); }
SignalGuard::~SignalGuard() { keeper().leave(); }

}  // namespace weft::cuda

#else

namespace weft::cuda {

SignalGuard::SignalGuard() = default;
SignalGuard::~SignalGuard() = default;

}  // namespace weft::cuda

#endif
