// Executor: native threads with a queue. Each device has one of one thread, from which all of its work is
// issued, in order; a GPU has another, which sees the work end; compilation has one of several.
//
// A single thread looks for its next job for a moment before it sleeps, so that a caller who comes back at
// once does not pay for waking it.
//
// Executors live as long as the process. `quietAtExit` makes the process wait, for a bounded time, for work
// that is under way when it exits, before the libraries that the work uses are torn down. Work that is not
// done by then (a long kernel, a compiler) ends with the process, which leaves at once.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>

namespace weft {

class Executor {
 public:
  explicit Executor(std::string name, size_t threads = 1) : name_(std::move(name)), threads_(threads) {}
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // Adds a job, which must not throw. Any thread. Threads start when they are first needed.
  void post(std::function<void()> job);
  // Waits until nothing is queued or running, at most until `deadline`. Whether it came to that.
  bool waitIdle(std::chrono::steady_clock::time_point deadline);

 private:
  void loop();

  const std::string name_;
  const size_t threads_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable idle_;
  std::deque<std::function<void()>> queue_;
  // The queue's length, for those that do not lock.
  std::atomic<size_t> queued_{0};
  size_t started_ = 0;
  size_t busy_ = 0;
};

// An executor that is never destroyed.
Executor& makeExecutor(std::string name, size_t threads = 1);

// Registers the exit handler; call it again after loading a library, so that the handler runs before the
// library's. `onExit` is called first when the process exits, and stops what it can.
void quietAtExit(std::function<void()> onExit = {});

}  // namespace weft
