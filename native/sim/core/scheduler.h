// Scheduler: queues work in streams and decides when it runs, within what streams, events and the default
// stream's rules allow. Nothing runs by itself: work is done inside the driver's calls, drawn from the seed.
#pragma once
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "core/objects.h"
#include "core/settings.h"

namespace weft::sim {

class Simulator;

// When queued work is done: at once; as late as the rules allow, which shows what is read or freed too early;
// or some of it, now and then.
enum class Timing { eager, late, random };

class Scheduler {
 public:
  explicit Scheduler(Simulator& simulator) : simulator_(simulator) {}

  void plan(Timing timing, uint64_t seed);
  // Of "schedule\ttiming=late\tseed=7\ttick=100000"; throws std::invalid_argument.
  void plan(const Setting& schedule);

  void addStream(Stream& stream, Context& context, bool blocking);
  void removeStream(Stream& stream);
  std::shared_ptr<Operation> issue(Stream& stream, Operation operation);
  // Runs what has to run until the operation is done; afterwards all before it is before what the host does.
  void wait(const std::shared_ptr<Operation>& operation);
  // As `wait`, but nothing is ordered by it.
  void finish(const std::shared_ptr<Operation>& operation);
  // Runs what has to run until the operation is done, or a stalled stream is in its way.
  void hurry(const std::shared_ptr<Operation>& operation);
  // Between calls.
  void advance();
  // Nothing of the stream may run for so long.
  void stall(size_t stream, unsigned milliseconds);

  std::mt19937_64& random() { return random_; }
  // The devices' clock, in nanoseconds: time passes when a kernel asks, by a tick each time, or with random
  // timing by up to two.
  uint64_t now();

 private:
  static constexpr uint64_t kTick = 100'000;

  bool mayRun(const Stream& stream) const;
  // Work that has to be done for this: the first of its stream, or of one that it waits for.
  Stream* neededFor(const Operation& operation) const;
  Stream* anyRunnable();
  void runFirst(Stream& stream);
  void forgetOld();

  Simulator& simulator_;
  Timing timing_ = Timing::late;
  std::mt19937_64 random_{1};
  uint64_t tick_ = kTick;
  uint64_t now_ = 0;
  std::vector<Stream*> streams_;
  size_t streamCount_ = 0;
  size_t queued_ = 0;
  Clock host_;
  size_t stalledStream_ = 0;
  std::chrono::steady_clock::time_point stalledUntil_;
};

}  // namespace weft::sim
