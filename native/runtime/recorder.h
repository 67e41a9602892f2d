// Recorder: what profile() records while it is on: spans of work, on threads of this process and in streams
// of devices, and how much memory is out. While it is off, work pays for one look at a flag.
//
// One recording at a time in a process, whichever thread of JavaScript's asked for it. One that yields (the
// dashboard's) is dropped where another begins, so that profile() always gets its turn, and stops where it is
// full, so that its cost is bounded however short the calls are. Times are nanoseconds of the steady clock;
// those of streams come from their devices (cuda/stream-span.*) when the recording ends.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shared/layout.h"

namespace weft::recorder {

// A row of the timeline: a stream of a device, or a thread of the host.
struct Track {
  std::string device, name;
};

struct Span {
  size_t track = 0;
  Kind kind = Kind::kernel;
  std::string name;
  int64_t begin = 0, end = 0;
  size_t byteLength = 0;
  // Of a sweep; -1: it belongs to none.
  int64_t tile = -1;
};

// Bytes that a device has out from a time on.
struct Sample {
  std::string device;
  int64_t time;
  size_t byteLength;
};

struct Recording {
  int64_t begin = 0, end = 0;
  std::vector<Track> tracks;
  std::vector<Span> spans;
  std::vector<Sample> samples;
  // Dropped spans: too many of them, or of unknown time.
  size_t dropped = 0;
};

// Work of a kind since the process began, whether it is recorded or not: how often, and its bytes.
struct Total {
  std::atomic<uint64_t> count{0}, byteLength{0};
};
#define WEFT_ONE(...) +1
inline constexpr size_t kKinds = 0 WEFT_SPAN_KINDS(WEFT_ONE);
#undef WEFT_ONE
inline std::array<Total, kKinds> totals;
// Any thread.
inline void count(Kind kind, size_t byteLength) {
  Total& total = totals[static_cast<size_t>(kind)];
  total.count.fetch_add(1, std::memory_order_relaxed);
  if (byteLength > 0) total.byteLength.fetch_add(byteLength, std::memory_order_relaxed);
}

inline std::atomic<bool> recording{false};
// Any thread.
inline bool isOn() { return recording.load(std::memory_order_relaxed); }
// Any thread. Whether there is room for one more span, which the caller begins then; one that is refused
// costs no event and no lock.
bool admit();
// Counts recordings: what was begun in one is no part of the next.
uint64_t number();

// When a recording began, and its number.
struct Begun {
  int64_t time;
  uint64_t number;
};

// Begins one; none: there is one already that does not yield to it.
std::optional<Begun> begin(bool yields);
// Nothing more is begun in the recording of a number. False: it was dropped, or stopped before.
bool stop(uint64_t number);
// Waits for what devices have to tell, and gives what there is. Once after `stop`; none: it was dropped.
std::optional<Recording> take(uint64_t number);
// Ends a recording whose timeline nobody will ask for any more, if it is under way.
void abandon(uint64_t number);
// Has `settle` called by `take`, to add what was recorded on devices. Called once.
void settleWith(void (*settle)());

// Any thread. The place of a row; those of one device and name are one.
size_t trackOf(const std::string& device, const std::string& name);
// The row of this thread.
size_t trackOfThread();
// This thread is the one that JavaScript runs on and that began a recording.
void callThreadJavaScript();
// Adds a span that was admitted to the recording of a number.
void add(uint64_t number, Span span);
// Counts spans of a recording that are lost.
void drop(uint64_t number, size_t count);
// Notes what a device has out now.
void sample(const std::string& device, size_t byteLength);

// The most spans of a recording, and of one that yields: nobody waits for that, so it is to be short work. A
// span of a stream takes two events of the driver, some 30 us on the thread of a call of 9 us.
inline constexpr size_t kMostSpans = size_t{1} << 18, kMostYieldingSpans = size_t{1} << 11;

// A span of this thread for the object's lifetime; on the row of the thread, or of a device that computes on
// it.
class HostSpan {
 public:
  HostSpan(Kind kind, const char* name, size_t byteLength = 0);
  HostSpan(Kind kind, const std::string& name, size_t byteLength = 0);
  // Work of the CPU as a device, on a row of its own.
  enum class OfStep { yes };
  HostSpan(OfStep, Kind kind, const std::string& name, int64_t tile = -1);
  ~HostSpan();
  HostSpan(const HostSpan&) = delete;
  HostSpan& operator=(const HostSpan&) = delete;

 private:
  // 0: nothing is recorded.
  uint64_t number_ = 0;
  Span span_;
};

}  // namespace weft::recorder
