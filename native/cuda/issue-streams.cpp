// Steps in several streams: each begins when the steps of other streams that it comes after have ended, and
// what comes after the program waits for all of them. In graphs of the whole program, streams are branches.
#include <algorithm>
#include <numeric>

#include "cuda/device.h"
#include "cuda/issue.h"
#include "cuda/stream-span.h"
#include "runtime/failure.h"

namespace weft::cuda {

Issue::~Issue() {
  for (std::unique_ptr<Event>& mark : marks_) {
    if (mark) resources_.events.give(std::move(mark));
  }
}

bool Issue::areBranches() const {
  size_t count = 0;
  for (const Program::Stretch& stretch : program_.graphs) count += stretch.count;
  return count == program_.steps.size();
}

CUstream Issue::streamAt(size_t position) {
  if (position == 0) return resources_.stream;
  std::atomic<CUstream>& stream = resources_.others[position - 1];
  if (stream == nullptr)
    stream = makeStream(resources_.context, device_.name(), "stream " + std::to_string(position));
  return stream;
}

void Issue::enterStream(size_t step) {
  const Program::StreamStep& order = program_.orders[step];
  stream_ = streamAt(order.stream);
  // The steps that it comes after came after the program's begin.
  if (!entered_[order.stream] && order.stream > 0 && order.after.empty()) marks_.back()->holdBack(stream_);
  entered_[order.stream] = true;
  for (const size_t before : order.after) marks_[before]->holdBack(stream_);
}

void Issue::leaveStream(size_t step) {
  if (!program_.orders[step].isAwaited) return;
  marks_[step] = resources_.events.take();
  marks_[step]->record(stream_);
}

void Issue::joinStreams() {
  stream_ = resources_.stream;
  for (const size_t end : program_.ends) marks_[end]->holdBack(stream_);
}

void Issue::abandonStreams() noexcept {
  stream_ = resources_.stream;
  for (size_t position = 1; position < entered_.size(); position++) {
    if (!entered_[position]) continue;
    try {
      Event& mark = *marks_.back();
      mark.record(streamAt(position));
      mark.holdBack(stream_);
    } catch (const Failure&) {
      // The device is of no use then, and whoever finds out drains it.
    }
  }
}

void Issue::branch(const Program::Stretch& stretch, size_t step) {
  const Program::StreamStep& order = program_.orders[step];
  std::vector<size_t> positions;
  for (const size_t before : order.after) {
    if (before >= stretch.first) positions.push_back(before - stretch.first);
  }
  for (size_t before = step; before-- > stretch.first;) {
    if (program_.orders[before].stream != order.stream) continue;
    positions.push_back(before - stretch.first);
    break;
  }
  exec_->comeAfter(positions);
}

}  // namespace weft::cuda
