// Runs a tape again and again without going through memory each time. Threads follow one another through the
// tiles, each with a few runs of its own: of these, it computes one tile of each at a time, and each run
// stays `reach` tiles behind the one before it.
//
//     run 0:  tile 5          what the thread computes at a time (reach 1);
//     run 1:     tile 4       the next thread has runs 3 to 5, and waits for tiles of run 2
//     run 2:        tile 3
//
// Every tile of every run is computed once, by the same code as in a run by itself.
#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <vector>

#include "cpu/cpu.h"
#include "cpu/spin.h"
#include "cpu/tape-worker.h"
#include "cpu/threads.h"

namespace weft::cpu {
namespace {

// Bytes that the tiles of a pass in use at a time may take: about half of a second-level cache.
constexpr int64_t kPassBytes = int64_t{1} << 19;
constexpr int64_t kMostDepth = 64;
// Lane operations that are worth telling another thread of.
constexpr int64_t kFrontWork = 1 << 15;

// How many tiles of each pass are done, in order; published to the threads that wait for them.
class Progress {
 public:
  // At most `threads` passes are not done: what is known of those long before is not asked for.
  Progress(int64_t tiles, int threads) : tiles_(tiles), spin_(spinOf(threads)), places_(threads + 1) {}

  void publish(int64_t pass, int64_t tiles) {
    at(pass).store(pass * tiles_ + tiles);
    if (sleepers_.load() == 0) return;
    const std::lock_guard lock(mutex_);
    wake_.notify_all();
  }
  void await(int64_t pass, int64_t tiles) {
    const auto isThere = [&] { return at(pass).load() >= pass * tiles_ + tiles; };
    if (isThere() || spinFor(spin_, isThere)) return;
    std::unique_lock lock(mutex_);
    sleepers_.fetch_add(1);
    wake_.wait(lock, isThere);
    sleepers_.fetch_sub(1);
  }

 private:
  struct alignas(64) ChainOperand {
    std::atomic<int64_t> done{0};
  };
  std::atomic<int64_t>& at(int64_t pass) { return places_[pass % places_.size()].done; }

  const int64_t tiles_;
  const std::chrono::microseconds spin_;
  std::vector<ChainOperand> places_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::atomic<int> sleepers_{0};
};

// A few runs in a row, as one thread's: their buffers, and what counters read as.
class Pass {
 public:
  Pass(const std::vector<TapeJob>& turns, const TapeRuns& runs, int64_t first, int64_t last)
      : counts_((last - first) * runs.counters.size()) {
    const size_t buffers = turns[0].tape.buffers.size();
    buffers_.resize((last - first) * buffers);
    for (int64_t run = first; run < last; run++) {
      const TapeJob& turn = turns[run == 0 ? 0 : 2 - run % 2];
      TapeBuffer* const own = buffers_.data() + (run - first) * buffers;
      std::copy_n(turn.buffers, buffers, own);
      for (size_t i = 0; i < runs.counters.size(); i++) {
        int64_t& count = counts_[(run - first) * runs.counters.size() + i];
        TapeBuffer& counter = own[runs.counters[i]];
        count = *static_cast<const int64_t*>(counter.data) + runs.before + run;
        counter.data = &count;
      }
      TapeJob& job = jobs_.emplace_back(turn);
      job.buffers = own;
    }
  }
  const std::vector<TapeJob>& jobs() const { return jobs_; }

 private:
  std::vector<int64_t> counts_;
  std::vector<TapeBuffer> buffers_;
  std::vector<TapeJob> jobs_;
};

// How the runs are given to threads.
struct Shares {
  int threads;
  int64_t passes;
};

Shares sharesOf(const Tape& tape, const TapeRuns& runs, const ThreadPool& pool) {
  const int64_t tiles = tape.tileCount();
  const int64_t work = workOfTile(tape);
  int64_t bytes = 1;
  for (size_t i = 0; i < tape.buffers.size(); i++) {
    const TapeBuffer& buffer = runs.buffers[0][i];
    bytes += (buffer.last - buffer.first) * byteLengthOf(tape.buffers[i].dtype) / tiles;
  }
  const int64_t most = std::min<int64_t>(pool.workers(), runs.count);
  // Threads that are all at work, each as far behind another as it has to be.
  const int64_t least = (kFrontWork + work - 1) / work;
  const bool isLittle = runs.count * tiles * work < 2 * kTaskWork;
  const int64_t threads = isLittle ? 1 : std::clamp<int64_t>(tiles / ((runs.reach + 1) * least), 1, most);
  const int64_t cached = kPassBytes / (bytes * std::max<int64_t>(1, runs.reach));
  const int64_t spread = threads == 1 ? kMostDepth : tiles / ((runs.reach + 1) * threads);
  const int64_t depth = std::clamp<int64_t>(std::min(cached, spread), 1, kMostDepth);
  // As many for each thread.
  const int64_t each = (runs.count + depth * threads - 1) / (depth * threads);
  return {static_cast<int>(threads), std::min(runs.count, each * threads)};
}

class SkewedRun {
 public:
  SkewedRun(const Tape& tape, const TapeRuns& runs, const std::atomic<bool>* cancel, Shares shares)
      : tiles_(tape.tileCount()), runs_(runs), shares_(shares), progress_(tiles_, shares.threads) {
    for (const TapeBuffer* buffers : runs.buffers) {
      TapeJob& turn = turns_.emplace_back(jobOf(tape, buffers, cancel));
      turn.isRepeated = true;
    }
  }

  // Takes passes until none is left. They are taken in order, so that whoever waits for one waits for a
  // thread at work.
  void takePart() {
    const WorkerLease worker(turns_[0]);
    for (;;) {
      const int64_t pass = next_.fetch_add(1);
      if (pass >= shares_.passes || hasStopped()) return;
      run(pass, *worker);
    }
  }

 private:
  bool hasStopped() const { return failed_.load(std::memory_order_relaxed) || turns_[0].cancelled(); }

  void run(int64_t number, TapeWorker& worker) {
    // Of a pass that stops half way nobody waits for the rest.
    struct Ending {
      SkewedRun& own;
      const int64_t number;
      bool isWhole = false;
      const int exceptions = std::uncaught_exceptions();
      ~Ending() {
        if (std::uncaught_exceptions() > exceptions) own.failed_.store(true);
        if (!isWhole) own.progress_.publish(number, own.tiles_);
      }
    } ending{*this, number};
    const int64_t first = number * runs_.count / shares_.passes;
    const int64_t last = (number + 1) * runs_.count / shares_.passes;
    const Pass pass(turns_, runs_, first, last);
    const int64_t depth = static_cast<int64_t>(pass.jobs().size());
    const int64_t behind = (depth - 1) * runs_.reach;
    for (int64_t front = 0; front < tiles_ + behind; front++) {
      if (number > 0) progress_.await(number - 1, std::min(tiles_, front + runs_.reach + 1));
      int64_t tile = front;
      for (const TapeJob& job : pass.jobs()) {
        if (hasStopped()) return;
        if (tile >= 0 && tile < tiles_) {
          worker.rebind(job);
          worker.runTile(tile);
        }
        tile -= runs_.reach;
      }
      // Once all is published, the place is that of a later pass.
      ending.isWhole = front == tiles_ + behind - 1;
      if (front >= behind) progress_.publish(number, front - behind + 1);
    }
    if (runs_.done != nullptr) *runs_.done += last - first;
  }

  const int64_t tiles_;
  const TapeRuns& runs_;
  const Shares shares_;
  // The first run, and the two that come by turns after it.
  std::vector<TapeJob> turns_;
  Progress progress_;
  std::atomic<int64_t> next_{0};
  std::atomic<bool> failed_{false};
};

}  // namespace

void runTapeAgain(const Tape& tape, const TapeRuns& runs, ThreadPool& pool, const std::atomic<bool>* cancel) {
  if (runs.count == 0 || tape.tileCount() == 0) return;
  const Shares shares = sharesOf(tape, runs, pool);
  SkewedRun all(tape, runs, cancel, shares);
  pool.parallelFor(shares.threads, [&](int64_t, int) { all.takePart(); });
}

}  // namespace weft::cpu
