#include "cuda/staging.h"

#include <algorithm>
#include <thread>

#include "cpu/threads.h"

namespace weft::cuda {
namespace {

// Eight lanes keep up with PCIe 5 where host memory is fast: 53 GB/s up or down, where the bus moves 55; 96
// of 102 both ways. Where it is shared with others, and nothing goes the other way, more help. Where the
// device itself copies the other way, they are in its way: two devices then move 95 GB/s with twelve lanes
// each, 112 with eight.
constexpr size_t kMostLanes = 12;
constexpr size_t kMostLanesBesideDevice = 8;
// Below this the first lane alone is faster than waking the others.
constexpr size_t kManyLanesByteLength = size_t{2} << 20;

// Chunks that are all known.
class ListFeed : public Feed {
 public:
  ListFeed(const std::vector<Transfer>& transfers, size_t most) : chunks_(chunksOf(transfers, most)) {}

  std::optional<Chunk> next() override {
    const size_t i = next_++;
    if (i >= chunks_.size()) return std::nullopt;
    return Chunk{chunks_[i]};
  }
  void queued(const Chunk&) override {}
  void stop(const std::exception_ptr&) noexcept override { next_ = chunks_.size(); }

 private:
  const std::vector<Transfer> chunks_;
  std::atomic<size_t> next_{0};
};

// Has the system find the pages of memory that is to be written, while the device still works on what goes
// there: for many, it takes as long as to write them.
void findPages(const Transfer& to) {
  constexpr size_t kPage = 4096;
  if (!to.isInMemory()) return;
  for (size_t row = 0; row < to.rows; row++) {
    volatile std::byte* const begin = static_cast<std::byte*>(to.host) + row * to.hostPitch;
    for (size_t at = 0; at < to.byteLength; at += kPage) begin[at] = std::byte{0};
    if (to.byteLength > 0) begin[to.byteLength - 1] = std::byte{0};
  }
}

// Of the processors, in eighths.
size_t laneCount(Share share) {
  constexpr size_t kEighths[] = {6, 6, 4, 3};
  const size_t processors = cpu::availableThreads();
  const size_t least = std::min<size_t>(processors, 2);
  const size_t most = share == Share::besideDevice ? kMostLanesBesideDevice : kMostLanes;
  return std::clamp(processors * kEighths[static_cast<size_t>(share)] / 8, least, most);
}

}  // namespace

size_t Staging::mostPinnedBytes() {
  return laneCount(Share::all) * CopyWorker::kSlots * CopyWorker::kMostSlotByteLength;
}
size_t Staging::leastPinnedBytes() { return CopyWorker::kSlots * CopyWorker::kLeastSlotByteLength; }

Staging::Staging(CUcontext context, CUstream stream) : context_(context), stream_(stream) {
  for (size_t i = 0; i < laneCount(Share::all); i++)
    lanes_.push_back(std::make_unique<CopyWorker>(stream, pinned_));
  usedLanes_ = lanes_.size();
}

// Smaller slots first, which cost little, then fewer lanes.
void Staging::limit(size_t pinnedBytes) {
  if (pinnedBytes == limit_) return;
  size_t slot = CopyWorker::kMostSlotByteLength;
  while (slot > CopyWorker::kLeastSlotByteLength && lanes_.size() * CopyWorker::kSlots * slot > pinnedBytes)
    slot /= 2;
  slotByteLength_ = slot;
  usedLanes_ = std::clamp<size_t>(pinnedBytes / (CopyWorker::kSlots * slot), 1, lanes_.size());
  for (size_t i = 0; i < lanes_.size(); i++) lanes_[i]->resize(i < usedLanes_ ? slot : 0);
  limit_ = pinnedBytes;
}

void Staging::release() {
  for (const auto& lane : lanes_) lane->release();
}

bool Staging::upload(const std::vector<Transfer>& transfers, const CancelFlag& cancel) {
  const std::vector<Transfer> staged = queueDirect(transfers, Way::up);
  copyAll(staged, Way::up, cancel);
  return staged.size() == inMemory(transfers).size();
}

void Staging::download(const std::vector<Transfer>& transfers, const CancelFlag& cancel) {
  copyAll(queueDirect(transfers, Way::down), Way::down, cancel);
  awaitDirect();
}

std::vector<Transfer> Staging::queueDirect(const std::vector<Transfer>& transfers, Way way) {
  std::vector<Transfer> staged;
  for (const Transfer& transfer : inMemory(transfers)) {
    if (!isPinned(transfer)) {
      staged.push_back(transfer);
    } else if (way == Way::up) {
      queueUpload(transfer, stream_);
    } else {
      queueDownload(transfer, stream_);
      isDirectOpen_ = true;
    }
  }
  return staged;
}

void Staging::awaitDirect() {
  if (!isDirectOpen_) return;
  if (!direct_) direct_.emplace();
  direct_->record(stream_);
  direct_->wait();
  isDirectOpen_ = false;
}

void Staging::copyAll(const std::vector<Transfer>& transfers, Way way, const CancelFlag& cancel) {
  size_t byteLength = 0;
  for (const Transfer& transfer : transfers) byteLength += transfer.total();
  ListFeed feed(transfers, slotByteLength_);
  copy(feed, way, byteLength, cancel);
}

void Staging::copy(Feed& feed, Way way, size_t byteLength, const CancelFlag& cancel, Share share) {
  const bool isLittle = byteLength < kManyLanesByteLength;
  const std::function<void(CopyWorker&)> work = [&](CopyWorker& lane) {
    try {
      while (const std::optional<Feed::Chunk> chunk = feed.next()) {
        checkCancelled(cancel);
        way == Way::up ? lane.upload(chunk->transfer) : lane.download(chunk->transfer);
        if (isLittle && way == Way::down) findPages(chunk->transfer);
        feed.queued(*chunk);
      }
      way == Way::up ? lane.flush() : lane.drain();
    } catch (...) {
      feed.stop(std::current_exception());
      throw;
    }
  };
  if (isLittle || usedLanes_ == 1) {
    work(*lanes_.front());
  } else {
    onLanes(std::min(laneCount(share), usedLanes_), work);
  }
}

void Staging::onLanes(size_t count, const std::function<void(CopyWorker&)>& work) {
  {
    const std::lock_guard lock(mutex_);
    if (!started_) {
      for (size_t i = 1; i < lanes_.size(); i++) std::thread([this, i] { helperLoop(i); }).detach();
      started_ = true;
    }
    work_ = &work;
    working_ = count;
    error_ = nullptr;
    busy_ = count - 1;
    generation_++;
  }
  wake_.notify_all();
  std::exception_ptr error;
  try {
    work(*lanes_.front());
  } catch (...) {
    error = std::current_exception();
  }
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return busy_ == 0; });
  work_ = nullptr;
  if (!error) error = error_;
  if (error) std::rethrow_exception(error);
}

void Staging::helperLoop(size_t lane) {
  uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [&] { return generation_ != seen; });
    seen = generation_;
    if (lane >= working_) continue;
    const std::function<void(CopyWorker&)>& work = *work_;
    lock.unlock();
    std::exception_ptr error;
    try {
      WEFT_CU(cuCtxSetCurrent, context_);
      work(*lanes_[lane]);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    if (error && !error_) error_ = error;
    if (--busy_ == 0) done_.notify_one();
  }
}

size_t Staging::eventCount() const {
  size_t count = direct_ ? 1 : 0;
  for (const auto& lane : lanes_) count += lane->eventCount();
  return count;
}

void Staging::reset() {
  for (const auto& lane : lanes_) lane->reset();
  isDirectOpen_ = false;
}

}  // namespace weft::cuda
