#include "cuda/staging.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>

namespace weft::cuda {
namespace {

constexpr size_t kSlotByteLength = size_t{4} << 20;
// Packed pieces begin at multiples of this.
constexpr size_t kPackAlignment = 256;
// Eight lanes of about 8 GB/s each keep up with PCIe 5.
constexpr size_t kMaxLanes = 8;
// Below this the first lane alone is faster than waking the others.
constexpr size_t kManyLanesByteLength = size_t{2} << 20;
// Above this it is worth asking whether the host memory is pinned.
constexpr size_t kDirectByteLength = size_t{64} << 10;

std::byte* bytesOf(void* host) { return static_cast<std::byte*>(host); }

bool isPinned(const Transfer& transfer) {
  if (transfer.source != nullptr || transfer.byteLength < kDirectByteLength) return false;
  unsigned type = 0;
  const auto address = reinterpret_cast<CUdeviceptr>(transfer.host);
  // Memory the driver does not know is an error, which is the usual answer here.
  return driver().cuPointerGetAttribute(&type, kPointerMemoryType, address) == kSuccess &&
         type == kMemoryTypeHost;
}

// Transfers cut to slots; small ones stay whole.
std::vector<Transfer> chunksOf(const std::vector<Transfer>& transfers) {
  std::vector<Transfer> chunks;
  for (const Transfer& transfer : transfers) {
    for (size_t at = 0; at < transfer.byteLength; at += kSlotByteLength) {
      void* host = transfer.source == nullptr ? bytesOf(transfer.host) + at : nullptr;
      chunks.push_back({transfer.device + at, host, std::min(kSlotByteLength, transfer.byteLength - at),
                        transfer.source, transfer.sourceOffset + at});
    }
  }
  return chunks;
}

}  // namespace

// Fails only on a lost device; devices live as long as the process, so this runs only when opening one
// failed.
Lane::~Lane() {
  for (Slot& slot : slots_) {
    if (slot.memory != nullptr) static_cast<void>(driver().cuMemFreeHost(slot.memory));
  }
}

Lane::Slot& Lane::open() {
  Slot& slot = slots_[current_];
  if (slot.flying) land(slot);
  if (!slot.event) slot.event.emplace();
  if (slot.memory == nullptr) {
    void* memory = nullptr;
    WEFT_CU(cuMemHostAlloc, &memory, kSlotByteLength, kHostPortable);
    slot.memory = bytesOf(memory);
    pinned_ += kSlotByteLength;
  }
  return slot;
}

template <typename Use>
void Lane::fill(size_t byteLength, const Use& use) {
  for (size_t at = 0; at < byteLength;) {
    Slot& slot = open();
    const size_t part = std::min(byteLength - at, kSlotByteLength - slot.used);
    use(slot, slot.memory + slot.used, at, part);
    slot.used += (part + kPackAlignment - 1) / kPackAlignment * kPackAlignment;
    if (slot.used == kSlotByteLength) close();
    at += part;
  }
}

void Lane::close() {
  Slot& slot = slots_[current_];
  if (slot.used == 0 || slot.flying) return;
  slot.event->record(stream_);
  slot.flying = true;
  current_ = (current_ + 1) % slots_.size();
}

void Lane::land(Slot& slot) {
  slot.event->wait();
  for (const Landing& landing : slot.landings) std::memcpy(landing.to, landing.from, landing.byteLength);
  slot.landings.clear();
  slot.used = 0;
  slot.flying = false;
}

void Lane::upload(const Transfer& transfer) {
  fill(transfer.byteLength, [&](Slot&, std::byte* place, size_t at, size_t part) {
    if (transfer.source != nullptr) {
      transfer.source->read(transfer.sourceOffset + at, part, place);
    } else {
      std::memcpy(place, bytesOf(transfer.host) + at, part);
    }
    WEFT_CU(cuMemcpyHtoDAsync, transfer.device + at, place, part, stream_);
  });
}

void Lane::download(const Transfer& transfer) {
  fill(transfer.byteLength, [&](Slot& slot, std::byte* place, size_t at, size_t part) {
    WEFT_CU(cuMemcpyDtoHAsync, place, transfer.device + at, part, stream_);
    slot.landings.push_back({bytesOf(transfer.host) + at, place, part});
  });
}

void Lane::flush() { close(); }

void Lane::drain() {
  close();
  // Oldest first.
  for (size_t i = 0; i < slots_.size(); i++) {
    Slot& slot = slots_[(current_ + i) % slots_.size()];
    if (slot.flying) land(slot);
  }
}

void Lane::reset() {
  for (Slot& slot : slots_) {
    slot.landings.clear();
    slot.used = 0;
    slot.flying = false;
  }
}

Staging::Staging(CUcontext context, CUstream stream) : context_(context), stream_(stream) {
  const size_t processors = std::max<size_t>(std::thread::hardware_concurrency(), 1);
  const size_t count = std::clamp<size_t>(processors / 2, std::min<size_t>(processors, 2), kMaxLanes);
  for (size_t i = 0; i < count; i++) lanes_.push_back(std::make_unique<Lane>(stream, pinned_));
}

void Staging::upload(const std::vector<Transfer>& transfers, const CancelFlag& cancel) {
  transfer(transfers, cancel, true);
}

void Staging::download(const std::vector<Transfer>& transfers, const CancelFlag& cancel) {
  transfer(transfers, cancel, false);
}

void Staging::transfer(const std::vector<Transfer>& transfers, const CancelFlag& cancel, bool up) {
  std::vector<Transfer> staged;
  bool direct = false;
  for (const Transfer& transfer : transfers) {
    if (!isPinned(transfer)) {
      staged.push_back(transfer);
    } else if (up) {
      WEFT_CU(cuMemcpyHtoDAsync, transfer.device, transfer.host, transfer.byteLength, stream_);
    } else {
      WEFT_CU(cuMemcpyDtoHAsync, transfer.host, transfer.device, transfer.byteLength, stream_);
      direct = true;
    }
  }
  copyStaged(chunksOf(staged), cancel, up);
  if (!direct) return;
  if (!direct_) direct_.emplace();
  direct_->record(stream_);
  direct_->wait();
}

void Staging::copyStaged(const std::vector<Transfer>& chunks, const CancelFlag& cancel, bool up) {
  size_t total = 0;
  for (const Transfer& chunk : chunks) total += chunk.byteLength;
  std::atomic<size_t> next{0};
  const std::function<void(Lane&)> work = [&](Lane& lane) {
    for (size_t i = next++; i < chunks.size(); i = next++) {
      checkCancelled(cancel);
      up ? lane.upload(chunks[i]) : lane.download(chunks[i]);
    }
    up ? lane.flush() : lane.drain();
  };
  if (total < kManyLanesByteLength || lanes_.size() == 1) {
    work(*lanes_.front());
  } else {
    onAllLanes(work);
  }
}

void Staging::onAllLanes(const std::function<void(Lane&)>& work) {
  {
    const std::lock_guard lock(mutex_);
    if (!started_) {
      for (size_t i = 1; i < lanes_.size(); i++) std::thread([this, i] { helperLoop(i); }).detach();
      started_ = true;
    }
    work_ = &work;
    error_ = nullptr;
    busy_ = lanes_.size() - 1;
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
    const std::function<void(Lane&)>& work = *work_;
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

void Staging::reset() {
  for (const auto& lane : lanes_) lane->reset();
}

}  // namespace weft::cuda
