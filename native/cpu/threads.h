// ThreadPool: the threads that the CPU backend computes with. The thread that calls takes part.
//
// `tape` and `gemm` hand it numbered tasks; which thread runs which task is not fixed, so results must not
// depend on it. `sharedPool` (cpu.h) is the process's pool; it is never destroyed.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

namespace weft::cpu {

// Threads that can run at once: processors this process may use, within its cgroup's quota. At least 1.
int availableThreads();

// Sets the size of the shared pool, from its next job on. Any thread.
void setThreadCount(int threads);

// How long one of so many threads looks for something before it sleeps.
std::chrono::microseconds spinOf(int threads);

enum class Distribution { inOrder, shares };

class ThreadPool {
 public:
  // `threads` counts the caller; at least 1. Threads start with the first job that can use them.
  explicit ThreadPool(int threads);
  // No job may be running.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // Threads that may take part in a job, the caller among them.
  int size() const { return size_.load(std::memory_order_relaxed); }
  // From the next job on. Any thread.
  void resize(int threads);

  // Calls fn(task, worker) for each task in [0, tasks) and returns when all are done. No two calls that run
  // at once have the same `worker`. Jobs of several threads run one after the other; a job started inside a
  // task runs on that task's thread, with that task's worker. At most `maxThreads` threads take part.
  //
  // Tasks are claimed in order, by all threads from the front. With `Distribution::shares` each thread begins
  // with a share of its own, tasks in a row, and then helps others with theirs: the memory that it reads and
  // writes is in a row, too, and the next job that goes through the same memory finds it in the same thread's
  // caches.
  //
  // For scratch of each worker, take `workers()` pieces and give that number as `maxThreads`: `worker` is
  // less.
  //
  // The first exception that a task throws is thrown here; tasks not yet begun are then left out.
  template <typename F>
  void parallelFor(int64_t tasks, F&& fn, int maxThreads = std::numeric_limits<int>::max(),
                   Distribution distribution = Distribution::inOrder) {
    using Function = std::remove_reference_t<F>;
    const Call call = [](void* context, int64_t begin, int64_t end, int worker) {
      Function& function = *static_cast<Function*>(context);
      for (int64_t task = begin; task < end; task++) function(task, worker);
    };
    run(tasks, call, const_cast<void*>(static_cast<const void*>(&fn)), maxThreads, distribution);
  }

  int workers() const;

 private:
  using Call = void (*)(void* context, int64_t begin, int64_t end, int worker);

  // The job of the threads that entered it. Written while no thread is inside.
  struct Job {
    Call call = nullptr;
    void* context = nullptr;
    // Tasks claimed at a time.
    int64_t chunk = 1;
    int shares = 1;
  };
  // Tasks in a row, claimed from the front.
  struct alignas(64) Share {
    std::atomic<int64_t> next{0};
    int64_t end = 0;
  };

  void run(int64_t tasks, Call call, void* context, int maxThreads, Distribution distribution);
  void share(int64_t tasks, int shares);
  void startThreads(int threads);
  void wake(int threads);
  // Takes part in the job that is open; returns at once where none is, or it has all the threads it wants.
  void join();
  // Runs tasks until none is left to claim.
  void work(int worker);
  void closeAndWait(int threads);
  void loop();
  void awaitJobAfter(uint32_t number);

  std::atomic<int> size_;
  // Held by the thread whose job runs.
  std::mutex running_;
  std::vector<std::thread> threads_;

  alignas(64) Job job_;
  std::vector<Share> shares_;
  // The job's number (high 32 bits), how many more threads may enter it (16 bits), how many are inside (16
  // bits).
  alignas(64) std::atomic<uint64_t> state_{0};
  alignas(64) std::atomic<bool> failed_{false};
  std::exception_ptr failure_;

  std::mutex sleep_;
  std::condition_variable wake_;
  std::condition_variable done_;
  std::atomic<int> sleepers_{0};
  std::atomic<bool> callerSleeps_{false};
  std::atomic<bool> stopping_{false};
};

}  // namespace weft::cpu
