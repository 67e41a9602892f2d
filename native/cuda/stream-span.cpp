#include "cuda/stream-span.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "cuda/context-scope.h"
#include "runtime/device.h"
#include "runtime/failure.h"

namespace weft::cuda {

// A stream, and what was timed in it and is not settled.
struct TimedStream {
  struct Timed {
    uint64_t number;
    recorder::Span span;
    CUevent begin, end;
  };

  CUstream handle;
  CUcontext context;
  std::string device, name;
  // Held while something is queued between two events.
  std::mutex queueing;
  std::mutex mutex;
  std::vector<Timed> timed;
};

namespace {

struct Streams {
  std::mutex mutex;
  std::map<CUstream, std::unique_ptr<TimedStream>> all;
};

Streams& streams() {
  static Streams& it = *new Streams();
  return it;
}

// Events with times, of the current context.
CUevent makeEvent() {
  CUevent event = nullptr;
  WEFT_CU(cuEventCreate, &event, kEventBlockingSync);
  return event;
}

// Fails only on a lost device.
void destroy(CUevent event) {
  if (event != nullptr) static_cast<void>(driver().cuEventDestroy(event));
}

constexpr double kNanosecondsOfMillisecond = 1e6;

int64_t nanosecondsBetween(CUevent begin, CUevent end) {
  float milliseconds = 0;
  WEFT_CU(cuEventElapsedTime, &milliseconds, begin, end);
  return static_cast<int64_t>(static_cast<double>(milliseconds) * kNanosecondsOfMillisecond);
}

// A point of a device's time whose time on the host is known.
struct Anchor {
  CUevent event = nullptr;
  int64_t time = 0;
  ~Anchor() { destroy(event); }
};

// Of a few, the one that was seen soonest.
void drop(Anchor& anchor, CUstream stream) {
  constexpr int kTries = 5;
  int64_t least = INT64_MAX;
  for (int i = 0; i < kTries; i++) {
    Anchor other;
    other.event = makeEvent();
    const int64_t before = Timeline::now();
    WEFT_CU(cuEventRecord, other.event, stream);
    WEFT_CU(cuEventSynchronize, other.event);
    const int64_t after = Timeline::now();
    other.time = before + (after - before) / 2;
    if (after - before >= least) continue;
    least = after - before;
    std::swap(anchor.event, other.event);
    std::swap(anchor.time, other.time);
  }
}

void settle(TimedStream& stream, std::vector<TimedStream::Timed>& timed, const Anchor& anchor) {
  const size_t track = recorder::trackOf(stream.device, stream.name);
  // The times of far events are rounded: what comes after something does not begin before its end.
  int64_t last = INT64_MIN;
  for (TimedStream::Timed& one : timed) {
    const int64_t begin = std::max(last, anchor.time - nanosecondsBetween(one.begin, anchor.event));
    one.span.track = track;
    one.span.begin = begin;
    one.span.end = last = begin + nanosecondsBetween(one.begin, one.end);
    recorder::add(one.number, std::move(one.span));
    destroy(std::exchange(one.begin, nullptr));
    destroy(std::exchange(one.end, nullptr));
  }
}

}  // namespace

CUstream makeStream(CUcontext context, const std::string& device, const std::string& name) {
  CUstream stream = nullptr;
  WEFT_CU(cuStreamCreate, &stream, kStreamNonBlocking);
  recorder::settleWith(settleStreamSpans);
  const std::lock_guard lock(streams().mutex);
  streams().all[stream] =
      std::unique_ptr<TimedStream>(new TimedStream{stream, context, device, name, {}, {}, {}});
  return stream;
}

void StreamSpan::begin(CUstream stream, recorder::Kind kind, std::string name, size_t byteLength,
                       int64_t tile) {
  if (!recorder::admit()) return;
  TimedStream* found = nullptr;
  {
    const std::lock_guard lock(streams().mutex);
    const auto entry = streams().all.find(stream);
    if (entry == streams().all.end()) return;
    found = entry->second.get();
  }
  lock_ = std::unique_lock(found->queueing);
  begin_ = makeEvent();
  number_ = recorder::number();
  span_ = {0, kind, std::move(name), 0, 0, byteLength, tile};
  const CUresult status = driver().cuEventRecord(begin_, stream);
  if (status != kSuccess) {
    destroy(begin_);
    throwStatus(status, "cuEventRecord");
  }
  stream_ = found;
}

// Where that fails, what was queued has failed, or will: it goes without its time.
void StreamSpan::end() noexcept {
  CUevent end = nullptr;
  if (driver().cuEventCreate(&end, kEventBlockingSync) == kSuccess &&
      driver().cuEventRecord(end, stream_->handle) == kSuccess) {
    const std::lock_guard lock(stream_->mutex);
    stream_->timed.push_back({number_, std::move(span_), begin_, end});
    return;
  }
  destroy(end);
  destroy(begin_);
  recorder::drop(number_, 1);
}

void settleStreamSpans() {
  std::vector<TimedStream*> all;
  {
    const std::lock_guard lock(streams().mutex);
    for (const auto& [stream, timed] : streams().all) all.push_back(timed.get());
  }
  std::map<CUcontext, Anchor> anchors;
  for (TimedStream* stream : all) {
    std::vector<TimedStream::Timed> timed;
    {
      const std::lock_guard lock(stream->mutex);
      timed.swap(stream->timed);
    }
    if (timed.empty()) continue;
    try {
      const ContextScope scope(stream->context);
      WEFT_CU(cuEventSynchronize, timed.back().end);
      Anchor& anchor = anchors[stream->context];
      if (anchor.event == nullptr) drop(anchor, stream->handle);
      settle(*stream, timed, anchor);
    } catch (const Failure&) {
      // The run that met the failure tells of it.
      const auto isOpen = [](const TimedStream::Timed& one) { return one.begin != nullptr; };
      const auto open = static_cast<size_t>(std::count_if(timed.begin(), timed.end(), isOpen));
      recorder::drop(timed.front().number, open);
      for (const TimedStream::Timed& one : timed) {
        destroy(one.begin);
        destroy(one.end);
      }
    }
  }
}

}  // namespace weft::cuda
