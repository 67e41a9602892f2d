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

bool inMemory(const Transfer& transfer) { return transfer.source == nullptr && transfer.sinks == nullptr; }

bool isPinned(const Transfer& transfer) {
  if (!inMemory(transfer) || transfer.byteLength * transfer.rows < kDirectByteLength) return false;
  unsigned type = 0;
  const auto address = reinterpret_cast<CUdeviceptr>(transfer.host);
  // Memory the driver does not know is an error, which is the usual answer here.
  return driver().cuPointerGetAttribute(&type, kPointerMemoryType, address) == kSuccess &&
         type == kMemoryTypeHost;
}

// The most that the driver takes as the distance of rows.
constexpr size_t kMostPitch = (size_t{1} << 31) - 1;

// Some rows of a transfer.
Transfer rowsOf(const Transfer& transfer, size_t first, size_t rows) {
  Transfer part = transfer;
  part.device += first * transfer.devicePitch;
  if (inMemory(part)) part.host = bytesOf(transfer.host) + first * transfer.hostPitch;
  part.hostOffset += first * transfer.hostPitch;
  part.rows = rows;
  return part;
}

// Some bytes of a transfer of one row.
Transfer bytesOf(const Transfer& transfer, size_t first, size_t byteLength) {
  void* const host = inMemory(transfer) ? bytesOf(transfer.host) + first : nullptr;
  return {transfer.device + first,     host,          byteLength, transfer.source,
          transfer.hostOffset + first, transfer.sinks};
}

// Rows without gaps are one.
Transfer joined(const Transfer& transfer) {
  if (transfer.devicePitch != transfer.byteLength || transfer.hostPitch != transfer.byteLength)
    return transfer;
  return {transfer.device, transfer.host,       transfer.byteLength * transfer.rows,
          transfer.source, transfer.hostOffset, transfer.sinks};
}

void cutRow(const Transfer& row, std::vector<Transfer>& chunks) {
  for (size_t at = 0; at < row.byteLength; at += kSlotByteLength) {
    chunks.push_back(bytesOf(row, at, std::min(kSlotByteLength, row.byteLength - at)));
  }
}

// Transfers cut to slots: a piece of a row, or as many rows as a slot has room for.
std::vector<Transfer> chunksOf(const std::vector<Transfer>& transfers) {
  std::vector<Transfer> chunks;
  for (const Transfer& given : transfers) {
    const Transfer transfer = joined(given);
    if (transfer.rows == 1) {
      cutRow(transfer, chunks);
    } else if (transfer.byteLength > kSlotByteLength / 2) {
      for (size_t row = 0; row < transfer.rows; row++) cutRow(rowsOf(transfer, row, 1), chunks);
    } else if (transfer.byteLength > 0) {
      const size_t most = kSlotByteLength / transfer.byteLength;
      for (size_t first = 0; first < transfer.rows; first += most)
        chunks.push_back(rowsOf(transfer, first, std::min(most, transfer.rows - first)));
    }
  }
  return chunks;
}

size_t laneCount() {
  const size_t processors = std::max<size_t>(std::thread::hardware_concurrency(), 1);
  return std::clamp<size_t>(processors / 2, std::min<size_t>(processors, 2), kMaxLanes);
}

RowsCopy::Side hostSide(const Transfer& transfer) {
  return {0, 0, kMemoryTypeHost, transfer.host, 0, nullptr, transfer.hostPitch};
}
RowsCopy::Side deviceSide(const Transfer& transfer) {
  return {0, 0, kMemoryTypeDevice, nullptr, transfer.device, nullptr, transfer.devicePitch};
}

}  // namespace

void queueUpload(const Transfer& transfer, CUstream stream) {
  if (transfer.rows == 1) {
    WEFT_CU(cuMemcpyHtoDAsync, transfer.device, transfer.host, transfer.byteLength, stream);
  } else if (transfer.hostPitch > kMostPitch) {
    for (size_t row = 0; row < transfer.rows; row++) queueUpload(rowsOf(transfer, row, 1), stream);
  } else {
    const RowsCopy copy{hostSide(transfer), deviceSide(transfer), transfer.byteLength, transfer.rows};
    WEFT_CU(cuMemcpy2DAsync, &copy, stream);
  }
}

void queueDownload(const Transfer& transfer, CUstream stream) {
  if (transfer.rows == 1) {
    WEFT_CU(cuMemcpyDtoHAsync, transfer.host, transfer.device, transfer.byteLength, stream);
  } else if (transfer.hostPitch > kMostPitch) {
    for (size_t row = 0; row < transfer.rows; row++) queueDownload(rowsOf(transfer, row, 1), stream);
  } else {
    const RowsCopy copy{deviceSide(transfer), hostSide(transfer), transfer.byteLength, transfer.rows};
    WEFT_CU(cuMemcpy2DAsync, &copy, stream);
  }
}

void queueOnDevice(const Transfer& transfer, CUdeviceptr from, CUstream stream) {
  const size_t pitches[] = {transfer.hostPitch, transfer.devicePitch};
  const bool isOne = transfer.rows == 1;
  const auto side = [&](CUdeviceptr address, size_t pitch) -> RowsCopy::Side {
    return {0, 0, kMemoryTypeDevice, nullptr, address, nullptr, isOne ? transfer.byteLength : pitch};
  };
  const RowsCopy copy{side(from, pitches[0]), side(transfer.device, pitches[1]), transfer.byteLength,
                      transfer.rows};
  WEFT_CU(cuMemcpy2DAsync, &copy, stream);
}

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
void Lane::fill(const Transfer& transfer, const Use& use) {
  const size_t total = transfer.byteLength * transfer.rows;
  // Several rows stay together.
  if (transfer.rows > 1 && open().used + total > kSlotByteLength) close();
  for (size_t at = 0; at < total;) {
    Slot& slot = open();
    const size_t part = std::min(total - at, kSlotByteLength - slot.used);
    const Transfer outer = transfer.rows == 1 ? bytesOf(transfer, at, part) : transfer;
    // The same between the slot, where rows have no gaps, and the device.
    Transfer inner = outer;
    inner.source = nullptr;
    inner.sinks = nullptr;
    inner.host = slot.memory + slot.used;
    inner.hostPitch = transfer.byteLength;
    use(slot, outer, inner);
    slot.used += (part + kPackAlignment - 1) / kPackAlignment * kPackAlignment;
    if (slot.used >= kSlotByteLength) close();
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
  for (const Landing& landing : slot.landings) {
    const Transfer& to = landing.to;
    for (size_t row = 0; row < to.rows; row++) {
      const std::byte* const from = landing.from + row * to.byteLength;
      const size_t offset = row * to.hostPitch;
      if (to.sinks == nullptr) {
        std::memcpy(bytesOf(to.host) + offset, from, to.byteLength);
        continue;
      }
      for (const auto& sink : *to.sinks) sink->write(to.hostOffset + offset, to.byteLength, from);
    }
  }
  slot.landings.clear();
  slot.used = 0;
  slot.flying = false;
}

void Lane::upload(const Transfer& transfer) {
  fill(transfer, [&](Slot&, const Transfer& outer, const Transfer& inner) {
    for (size_t row = 0; row < outer.rows; row++) {
      std::byte* const to = bytesOf(inner.host) + row * inner.hostPitch;
      const size_t from = row * outer.hostPitch;
      if (outer.source != nullptr) {
        outer.source->read(outer.hostOffset + from, outer.byteLength, to);
      } else {
        std::memcpy(to, bytesOf(outer.host) + from, outer.byteLength);
      }
    }
    queueUpload(inner, stream_);
  });
}

void Lane::download(const Transfer& transfer) {
  fill(transfer, [&](Slot& slot, const Transfer& outer, const Transfer& inner) {
    queueDownload(inner, stream_);
    slot.landings.push_back({outer, bytesOf(inner.host)});
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

size_t Staging::mostPinnedBytes() { return laneCount() * Lane::kSlots * kSlotByteLength; }

Staging::Staging(CUcontext context, CUstream stream) : context_(context), stream_(stream) {
  for (size_t i = 0; i < laneCount(); i++) lanes_.push_back(std::make_unique<Lane>(stream, pinned_));
}

void Staging::upload(const std::vector<Transfer>& transfers, const CancelFlag& cancel) {
  copyStaged(queueDirect(transfers, true), cancel, true, &Lane::flush);
}

void Staging::download(const std::vector<Transfer>& transfers, const CancelFlag& cancel) {
  copyStaged(queueDirect(transfers, false), cancel, false, &Lane::drain);
  awaitDirect();
}

void Staging::queueDownloads(const std::vector<Transfer>& transfers, const CancelFlag& cancel) {
  copyStaged(queueDirect(transfers, false), cancel, false, &Lane::flush);
}

void Staging::drain(const CancelFlag& cancel) {
  checkCancelled(cancel);
  if (started_) {
    onAllLanes([](Lane& lane) { lane.drain(); });
  } else {
    lanes_.front()->drain();
  }
  awaitDirect();
}

std::vector<Transfer> Staging::queueDirect(const std::vector<Transfer>& transfers, bool up) {
  std::vector<Transfer> staged;
  for (const Transfer& transfer : transfers) {
    if (!isPinned(transfer)) {
      staged.push_back(transfer);
    } else if (up) {
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

void Staging::copyStaged(const std::vector<Transfer>& transfers, const CancelFlag& cancel, bool up,
                         void (Lane::*end)()) {
  const std::vector<Transfer> chunks = chunksOf(transfers);
  size_t total = 0;
  for (const Transfer& chunk : chunks) total += chunk.byteLength * chunk.rows;
  std::atomic<size_t> next{0};
  const std::function<void(Lane&)> work = [&](Lane& lane) {
    for (size_t i = next++; i < chunks.size(); i = next++) {
      checkCancelled(cancel);
      up ? lane.upload(chunks[i]) : lane.download(chunks[i]);
    }
    (lane.*end)();
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

size_t Lane::eventCount() const {
  return static_cast<size_t>(
      std::count_if(slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.event.has_value(); }));
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
