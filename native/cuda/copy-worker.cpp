#include "cuda/copy-worker.h"

#include <algorithm>
#include <cstring>

#include "runtime/copy-past-caches.h"
#include "runtime/recorder.h"
#include "shared/layout.h"

namespace weft::cuda {
namespace {

// Packed pieces begin at multiples of this.
// From here on a result is not read back from the caches.
constexpr size_t kPastCachesByteLength = size_t{1} << 20;

void copyInCaches(void* to, const void* from, size_t byteLength) { std::memcpy(to, from, byteLength); }

std::byte* bytesAt(void* host) { return static_cast<std::byte*>(host); }

}  // namespace

// Fails only on a lost device; devices live as long as the process, so this runs only when opening one
// failed.
CopyWorker::~CopyWorker() {
  for (Slot& slot : slots_) {
    if (slot.memory != nullptr) static_cast<void>(driver().cuMemFreeHost(slot.memory));
  }
}

CopyWorker::Slot& CopyWorker::open() {
  Slot& slot = slots_[current_];
  if (slot.flying) land(slot);
  if (!slot.event) slot.event.emplace();
  if (slot.memory == nullptr) {
    void* memory = nullptr;
    WEFT_CU(cuMemHostAlloc, &memory, slotByteLength_, kHostPortable);
    slot.memory = bytesAt(memory);
    pinned_ += slotByteLength_;
  }
  return slot;
}

template <typename Use>
void CopyWorker::fill(const Transfer& chunk, const Use& use) {
  if (open().used + chunk.total() > slotByteLength_) close();
  Slot& slot = open();
  // The same between the slot, where rows have no gaps, and the device.
  Transfer inner = chunk;
  inner.source = nullptr;
  inner.sinks = nullptr;
  inner.host = slot.memory + slot.used;
  inner.hostPitch = chunk.byteLength;
  use(slot, inner);
  slot.used += (chunk.total() + kDeviceAlignment - 1) / kDeviceAlignment * kDeviceAlignment;
  if (slot.used >= slotByteLength_) close();
}

void CopyWorker::close() {
  Slot& slot = slots_[current_];
  if (slot.used == 0 || slot.flying) return;
  slot.event->record(stream_);
  slot.flying = true;
  current_ = (current_ + 1) % slots_.size();
}

void CopyWorker::land(Slot& slot) {
  slot.event->wait();
  for (const PendingCopy& pending : slot.pendingCopies) {
    const Transfer& to = pending.to;
    const recorder::HostSpan span(recorder::Kind::stage, "from pinned memory", to.total());
    const auto copy = to.total() < kPastCachesByteLength ? copyInCaches : copyPastCaches;
    for (size_t row = 0; row < to.rows; row++) {
      const std::byte* const from = pending.from + row * to.byteLength;
      const size_t offset = row * to.hostPitch;
      if (to.sinks == nullptr) {
        copy(bytesAt(to.host) + offset, from, to.byteLength);
        continue;
      }
      for (const auto& sink : *to.sinks) sink->write(to.hostOffset + offset, to.byteLength, from);
    }
  }
  slot.pendingCopies.clear();
  slot.used = 0;
  slot.flying = false;
}

void CopyWorker::upload(const Transfer& chunk) {
  fill(chunk, [&](Slot&, const Transfer& inner) {
    const recorder::HostSpan span(recorder::Kind::stage, "to pinned memory", chunk.total());
    for (size_t row = 0; row < chunk.rows; row++) {
      std::byte* const to = bytesAt(inner.host) + row * inner.hostPitch;
      const size_t from = row * chunk.hostPitch;
      if (chunk.source != nullptr) {
        chunk.source->read(chunk.hostOffset + from, chunk.byteLength, to);
      } else {
        std::memcpy(to, bytesAt(chunk.host) + from, chunk.byteLength);
      }
    }
    queueUpload(inner, stream_);
  });
}

void CopyWorker::download(const Transfer& chunk) {
  fill(chunk, [&](Slot& slot, const Transfer& inner) {
    queueDownload(inner, stream_);
    slot.pendingCopies.push_back({chunk, bytesAt(inner.host)});
  });
}

void CopyWorker::flush() { close(); }

void CopyWorker::drain() {
  close();
  // Oldest first.
  for (size_t i = 0; i < slots_.size(); i++) {
    Slot& slot = slots_[(current_ + i) % slots_.size()];
    if (slot.flying) land(slot);
  }
}

void CopyWorker::resize(size_t slotByteLength) {
  if (slotByteLength == slotByteLength_) return;
  release();
  slotByteLength_ = slotByteLength;
}

void CopyWorker::release() {
  drain();
  for (Slot& slot : slots_) {
    if (slot.memory == nullptr) continue;
    WEFT_CU(cuMemFreeHost, slot.memory);
    slot.memory = nullptr;
    pinned_ -= slotByteLength_;
  }
}

void CopyWorker::reset() {
  for (Slot& slot : slots_) {
    slot.pendingCopies.clear();
    slot.used = 0;
    slot.flying = false;
  }
}

size_t CopyWorker::eventCount() const {
  return static_cast<size_t>(
      std::count_if(slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.event.has_value(); }));
}

}  // namespace weft::cuda
