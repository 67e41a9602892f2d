// StreamSpan: times what is queued in a stream while it lives, by two events around it, for profile().
// Without a recording it counts the work, looks at a flag and does nothing. The events' times are asked for
// when the recording ends.
#pragma once
#include <memory>
#include <mutex>
#include <string>

#include "cuda/driver.h"
#include "runtime/recorder.h"

namespace weft::cuda {

struct TimedStream;

class StreamSpan {
 public:
  // On a thread that has the stream's context. No two of one stream at a time on one thread.
  StreamSpan(CUstream stream, recorder::Kind kind, size_t byteLength) {
    recorder::count(kind, byteLength);
    if (recorder::isOn()) begin(stream, kind, {}, byteLength, -1);
  }
  // `name` gives what it is called, and is called only where that is recorded.
  template <typename Name>
  StreamSpan(CUstream stream, recorder::Kind kind, const Name& name, size_t byteLength = 0,
             int64_t tile = -1) {
    recorder::count(kind, byteLength);
    if (recorder::isOn()) begin(stream, kind, name(), byteLength, tile);
  }
  ~StreamSpan() {
    if (stream_ != nullptr) end();
  }
  StreamSpan(const StreamSpan&) = delete;
  StreamSpan& operator=(const StreamSpan&) = delete;

 private:
  void begin(CUstream stream, recorder::Kind kind, std::string name, size_t byteLength, int64_t tile);
  void end() noexcept;

  // Null: nothing is recorded.
  TimedStream* stream_ = nullptr;
  // Work that other threads queue in the stream meanwhile would be timed as well.
  std::unique_lock<std::mutex> lock_;
  CUevent begin_ = nullptr;
  uint64_t number_ = 0;
  recorder::Span span_;
};

// Makes a stream of the current context, and notes what the timeline calls it.
CUstream makeStream(CUcontext context, const std::string& device, const std::string& name);

// Waits for what was timed in all streams, and adds it to the recording. On a thread without a context of its
// own. Spans of a lost device that are still open count as dropped.
void settleStreamSpans();

}  // namespace weft::cuda
