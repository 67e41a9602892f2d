#include "runtime/executor.h"

#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "runtime/process.h"
#include "runtime/spin.h"

namespace weft {
namespace {

// Longest time that leaving the process waits for work under way: users expect to be out within two seconds.
constexpr auto kExitPatience = std::chrono::milliseconds(1200);
// How long a thread without a job looks for one before it sleeps.
constexpr auto kIdleSpin = std::chrono::microseconds(100);

// Where the system does not tell it to exit handlers.
constexpr int kUnknownStatus = -1;

struct Registry {
  std::mutex mutex;
  std::vector<Executor*> executors;
  std::vector<std::function<void()>> onExit;
  std::atomic<bool> exiting{false};
};

// Never destroyed: executor threads outlive static destructors.
Registry& registry() {
  static Registry& it = *new Registry();
  return it;
}

// Without the exit handlers of libraries whose work is under way: they wait for it, or crash.
[[noreturn]] void leaveAtOnce(int status) {
  std::fflush(nullptr);
  _exit(status);
}

void leave(int status, void*) {
  Registry& all = registry();
  if (isForked() || all.exiting.exchange(true)) return;
  std::vector<Executor*> executors;
  std::vector<std::function<void()>> handlers;
  {
    const std::lock_guard lock(all.mutex);
    executors = all.executors;
    handlers = all.onExit;
  }
  for (const auto& handler : handlers) handler();
  const auto deadline = std::chrono::steady_clock::now() + kExitPatience;
  bool isQuiet = true;
  for (Executor* executor : executors) isQuiet = executor->waitIdle(deadline) && isQuiet;
  if (!isQuiet && status != kUnknownStatus) leaveAtOnce(status);
}

}  // namespace

void Executor::post(std::function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(job));
    queued_.store(queue_.size(), std::memory_order_release);
    if (started_ < threads_ && busy_ + queue_.size() > started_) {
      std::thread([this] { loop(); }).detach();
      started_++;
    }
  }
  wake_.notify_one();
}

bool Executor::waitIdle(std::chrono::steady_clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  return idle_.wait_until(lock, deadline, [this] { return queue_.empty() && busy_ == 0; });
}

void Executor::loop() {
#ifdef __linux__
  pthread_setname_np(pthread_self(), name_.substr(0, 15).c_str());
#endif
  std::unique_lock lock(mutex_);
  const auto spin = spinLimit(threads_ == 1 ? kIdleSpin : std::chrono::microseconds(0));
  for (;;) {
    if (queue_.empty() && spin.count() > 0) {
      lock.unlock();
      spinFor(
          spin, [this] { return queued_.load(std::memory_order_acquire) > 0; }, Courtesy::yields);
      lock.lock();
    }
    wake_.wait(lock, [this] { return !queue_.empty(); });
    busy_++;
    {
      const std::function<void()> job = std::move(queue_.front());
      queue_.pop_front();
      queued_.store(queue_.size(), std::memory_order_relaxed);
      lock.unlock();
      job();
    }
    lock.lock();
    busy_--;
    if (queue_.empty() && busy_ == 0) idle_.notify_all();
  }
}

Executor& makeExecutor(std::string name, size_t threads) {
  auto* executor = new Executor(std::move(name), threads);
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  all.executors.push_back(executor);
  return *executor;
}

void quietAtExit(std::function<void()> onExit) {
  Registry& all = registry();
  if (onExit) {
    const std::lock_guard lock(all.mutex);
    all.onExit.push_back(std::move(onExit));
  }
#ifdef __GLIBC__
  on_exit(leave, nullptr);
#else
  std::atexit([] { leave(kUnknownStatus, nullptr); });
#endif
}

}  // namespace weft
