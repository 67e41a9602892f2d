#include "cpu/threads.h"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

#include "cpu/cpu.h"
#include "cpu/spin.h"

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#include <signal.h>
#endif

namespace weft::cpu {
namespace {

// How long a thread looks for work, or for the end of a job, before it sleeps: calls from JavaScript one
// after the other come 50 to 80 us apart, and a thread that was woken begins 30 us late.
constexpr auto kSpin = std::chrono::microseconds(100);
// Pieces that each thread's share is claimed in, at least: what is lost at the end of a job is a fraction of
// one.
constexpr int64_t kPiecesPerThread = 64;

// Fields of ThreadPool::state_.
constexpr int kNumberShift = 32;
constexpr int kPlacesShift = 16;
constexpr uint64_t kPlacesMask = uint64_t{0xffff} << kPlacesShift;
constexpr uint64_t kInsideMask = 0xffff;
constexpr int kMaxThreads = 0x7fff;

uint32_t numberOf(uint64_t state) { return static_cast<uint32_t>(state >> kNumberShift); }

// A thread that leaves every signal to the threads of Node.
template <typename F>
std::thread startQuietThread(F body) {
#if defined(__unix__) || defined(__APPLE__)
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  struct Restore {
    const sigset_t& mask;
    ~Restore() { pthread_sigmask(SIG_SETMASK, &mask, nullptr); }
  } const restore{before};
#endif
  return std::thread(std::move(body));
}

// The job that this thread is inside.
struct Inside {
  const ThreadPool* pool = nullptr;
  int worker = 0;
};
thread_local Inside inside;

}  // namespace

// More threads than processors only take time from each other when they spin.
std::chrono::microseconds spinOf(int threads) {
  static const int available = availableThreads();
  return threads <= available ? kSpin : std::chrono::microseconds(0);
}

ThreadPool::ThreadPool(int threads) : size_(std::clamp(threads, 1, kMaxThreads)) {}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(sleep_);
    stopping_.store(true);
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::resize(int threads) {
  size_.store(std::clamp(threads, 1, kMaxThreads), std::memory_order_relaxed);
}

int ThreadPool::workers() const { return inside.pool == this ? inside.worker + 1 : size(); }

void ThreadPool::run(int64_t tasks, Call call, void* context, int maxThreads, Distribution distribution) {
  if (tasks <= 0) return;
  if (inside.pool == this) return call(context, 0, tasks, inside.worker);
  const int64_t wanted = std::min<int64_t>({size(), maxThreads, tasks});
  if (wanted <= 1) return call(context, 0, tasks, 0);

  const std::lock_guard lock(running_);
  const int threads = static_cast<int>(wanted);
  startThreads(threads - 1);
  share(tasks, distribution == Distribution::shares ? threads : 1);
  job_ = {call, context, std::max<int64_t>(1, tasks / (kPiecesPerThread * threads)),
          static_cast<int>(shares_.size())};
  failed_.store(false, std::memory_order_relaxed);
  const uint64_t number = numberOf(state_.load(std::memory_order_relaxed)) + uint64_t{1};
  state_.store((number << kNumberShift) | (static_cast<uint64_t>(threads - 1) << kPlacesShift));
  wake(threads - 1);

  const Inside outer = inside;
  inside = {this, 0};
  work(0);
  inside = outer;
  closeAndWait(threads);
  if (failed_.load(std::memory_order_relaxed)) std::rethrow_exception(std::exchange(failure_, nullptr));
}

// Cuts the tasks into shares, while no thread is inside a job.
void ThreadPool::share(int64_t tasks, int shares) {
  if (static_cast<int>(shares_.size()) != shares) shares_ = std::vector<Share>(shares);
  for (int64_t s = 0; s < shares; s++) {
    shares_[s].next.store(tasks * s / shares, std::memory_order_relaxed);
    shares_[s].end = tasks * (s + 1) / shares;
  }
}

// A system that gives no more threads leaves the pool as large as it got.
void ThreadPool::startThreads(int threads) {
  while (static_cast<int>(threads_.size()) < threads) {
    try {
      threads_.push_back(startQuietThread([this] { loop(); }));
    } catch (const std::system_error&) {
      resize(static_cast<int>(threads_.size()) + 1);
      return;
    }
  }
}

void ThreadPool::wake(int threads) {
  if (sleepers_.load() == 0) return;
  int sleepers = 0;
  {
    const std::lock_guard lock(sleep_);
    sleepers = sleepers_.load();
  }
  // Without the lock: a thread that wakes on this processor takes its place, and would wait for it.
  if (threads >= sleepers) {
    wake_.notify_all();
  } else {
    for (int i = 0; i < threads; i++) wake_.notify_one();
  }
}

void ThreadPool::work(int worker) {
  const Job job = job_;
  try {
    // Its own first.
    for (int i = 0; i < job.shares; i++) {
      Share& share = shares_[(worker + i) % job.shares];
      for (;;) {
        const int64_t begin = share.next.fetch_add(job.chunk, std::memory_order_relaxed);
        if (begin >= share.end) break;
        job.call(job.context, begin, std::min(begin + job.chunk, share.end), worker);
      }
    }
  } catch (...) {
    for (Share& share : shares_) share.next.store(share.end, std::memory_order_relaxed);
    if (!failed_.exchange(true)) failure_ = std::current_exception();
  }
}

void ThreadPool::closeAndWait(int threads) {
  state_.fetch_and(~kPlacesMask);
  const auto empty = [this] { return (state_.load() & kInsideMask) == 0; };
  if (spinFor(spinOf(threads), empty)) return;
  std::unique_lock lock(sleep_);
  callerSleeps_.store(true);
  done_.wait(lock, empty);
  callerSleeps_.store(false);
}

void ThreadPool::join() {
  constexpr uint64_t kPlace = uint64_t{1} << kPlacesShift;
  uint64_t state = state_.load();
  do {
    if ((state & kPlacesMask) == 0) return;
  } while (!state_.compare_exchange_weak(state, state - kPlace + 1));

  // The caller is worker 0.
  const int worker = static_cast<int>((state & kPlacesMask) >> kPlacesShift);
  inside = {this, worker};
  work(worker);
  inside = {};

  state = state_.fetch_sub(1) - 1;
  if ((state & (kPlacesMask | kInsideMask)) == 0 && callerSleeps_.load()) {
    { const std::lock_guard lock(sleep_); }
    done_.notify_all();
  }
}

void ThreadPool::awaitJobAfter(uint32_t number) {
  const auto news = [this, number] {
    return numberOf(state_.load()) != number || stopping_.load(std::memory_order_relaxed);
  };
  if (spinFor(spinOf(size()), news, Courtesy::yields)) return;
  std::unique_lock lock(sleep_);
  sleepers_.fetch_add(1);
  wake_.wait(lock, news);
  sleepers_.fetch_sub(1);
}

void ThreadPool::loop() {
#ifdef __linux__
  pthread_setname_np(pthread_self(), "weft-pool");
#endif
  // A thread starts for a job that is about to open.
  uint32_t number = numberOf(state_.load());
  join();
  for (;;) {
    awaitJobAfter(number);
    if (stopping_.load()) return;
    number = numberOf(state_.load());
    join();
  }
}

ThreadPool& sharedPool() {
  // Never destroyed: its threads run until the process is gone.
  static ThreadPool& pool = *new ThreadPool(availableThreads());
  return pool;
}

void setThreadCount(int threads) { sharedPool().resize(threads); }

}  // namespace weft::cpu
