#include "runtime/recorder.h"

#include <map>
#include <mutex>
#include <utility>

#ifdef __linux__
#include <pthread.h>
#endif

#include "runtime/device.h"

namespace weft::recorder {
namespace {

constexpr size_t kMostSamples = size_t{1} << 18, kMostYieldingSamples = size_t{1} << 13;

struct State {
  std::mutex mutex;
  bool isTaken = true;
  bool isStopped = true;
  bool yields = false;
  Recording now;
  void (*settle)() = nullptr;
  std::map<std::pair<std::string, std::string>, size_t> tracks;
};

State& state() {
  static State& it = *new State();
  return it;
}

std::atomic<uint64_t> current{0};
// Spans that the recording has room for.
std::atomic<int64_t> room{0};

thread_local bool isJavaScript = false;

std::string nameOfThread() {
  char name[32] = "thread";
#ifdef __linux__
  pthread_getname_np(pthread_self(), name, sizeof(name));
#endif
  return name;
}

// A name of its own for each thread: several are called alike.
std::string nameOfThisThread() {
  if (isJavaScript) return "JavaScript";
  static std::atomic<int> threads{0};
  thread_local const int number = ++threads;
  return nameOfThread() + " " + std::to_string(number);
}

}  // namespace

uint64_t number() { return current.load(std::memory_order_acquire); }

std::optional<Begun> begin(bool yields) {
  State& all = state();
  const std::lock_guard lock(all.mutex);
  if (!all.isTaken && (yields || !all.yields)) return std::nullopt;
  all.isTaken = all.isStopped = false;
  all.yields = yields;
  room = static_cast<int64_t>(yields ? kMostYieldingSpans : kMostSpans);
  all.now = {};
  all.tracks.clear();
  all.now.begin = Timeline::now();
  const uint64_t number = ++current;
  recording = true;
  return Begun{all.now.begin, number};
}

bool stop(uint64_t of) {
  State& all = state();
  const std::lock_guard lock(all.mutex);
  if (of != number() || all.isStopped) return false;
  all.isStopped = true;
  if (recording.exchange(false)) all.now.end = Timeline::now();
  return true;
}

bool admit() {
  if (room.fetch_sub(1, std::memory_order_relaxed) > 0) return true;
  State& all = state();
  const std::lock_guard lock(all.mutex);
  if (!all.yields) {
    all.now.dropped++;
  } else if (recording.exchange(false)) {
    all.now.end = Timeline::now();
  }
  return false;
}

void settleWith(void (*settle)()) {
  State& all = state();
  const std::lock_guard lock(all.mutex);
  all.settle = settle;
}

std::optional<Recording> take(uint64_t of) {
  State& all = state();
  void (*settle)() = nullptr;
  {
    const std::lock_guard lock(all.mutex);
    settle = all.settle;
  }
  if (settle != nullptr) settle();
  const std::lock_guard lock(all.mutex);
  if (all.isTaken || of != number()) return std::nullopt;
  all.isTaken = true;
  return std::exchange(all.now, {});
}

size_t trackOf(const std::string& device, const std::string& name) {
  State& all = state();
  const std::lock_guard lock(all.mutex);
  const auto [found, isNew] = all.tracks.try_emplace({device, name}, all.now.tracks.size());
  if (isNew) all.now.tracks.push_back({device, name});
  return found->second;
}

size_t trackOfThread() {
  thread_local uint64_t of = 0;
  thread_local size_t track = 0;
  if (const uint64_t now = number(); of != now) {
    track = trackOf("host", nameOfThisThread());
    of = now;
  }
  return track;
}

void callThreadJavaScript() { isJavaScript = true; }

void add(uint64_t of, Span span) {
  State& all = state();
  const std::lock_guard lock(all.mutex);
  if (all.isTaken || of != number()) return;
  all.now.spans.push_back(std::move(span));
}

void drop(uint64_t of, size_t count) {
  State& all = state();
  const std::lock_guard lock(all.mutex);
  if (!all.isTaken && of == number()) all.now.dropped += count;
}

void sample(const std::string& device, size_t byteLength) {
  State& all = state();
  const std::lock_guard lock(all.mutex);
  if (all.isTaken) return;
  if (all.now.samples.size() < (all.yields ? kMostYieldingSamples : kMostSamples)) {
    all.now.samples.push_back({device, Timeline::now(), byteLength});
  } else {
    all.now.dropped++;
  }
}

void abandon(uint64_t of) {
  State& all = state();
  const std::lock_guard lock(all.mutex);
  if (all.isTaken || of != number()) return;
  recording = false;
  all.isTaken = all.isStopped = true;
  all.now = {};
}

HostSpan::HostSpan(Kind kind, const char* name, size_t byteLength) {
  count(kind, byteLength);
  if (!isOn() || !admit()) return;
  number_ = number();
  span_ = {trackOfThread(), kind, name, Timeline::now(), 0, byteLength, -1};
}

HostSpan::HostSpan(Kind kind, const std::string& name, size_t byteLength)
    : HostSpan(kind, name.c_str(), byteLength) {}

HostSpan::HostSpan(OfStep, Kind kind, const std::string& name, int64_t tile) {
  if (!isOn() || !admit()) return;
  number_ = number();
  span_ = {trackOf("cpu", "steps"), kind, name, Timeline::now(), 0, 0, tile};
}

HostSpan::~HostSpan() {
  if (number_ == 0) return;
  span_.end = Timeline::now();
  add(number_, std::move(span_));
}

}  // namespace weft::recorder
