#include "runtime/buffer-handle.h"

#include <algorithm>
#include <utility>

#include "runtime/available-memory.h"
#include "runtime/engine-memory.h"
#include "runtime/host-pool.h"

namespace weft {
namespace {

// Of small blocks, which are many before the heap itself grows, all are reported to the collector.
constexpr size_t kSmall = size_t{1} << 16;

// Bytes reported to the collector for a block on a GPU. Knowing the whole size, it would collect after nearly
// every large result (which takes longer than a kernel over it); a 64th still makes it run every few GiB, and
// at most a little, or it would after each of many GiB: a device without room has it collect anyway. The
// parts of a buffer that lies on several devices weigh together what the whole would.
size_t weightOnDevice(size_t byteLength, size_t wholeByteLength) {
  constexpr size_t kMost = size_t{16} << 20;
  return std::min(byteLength / 64, kMost / ((wholeByteLength + byteLength - 1) / byteLength));
}

int64_t weightOf(const Memory& memory, size_t wholeByteLength) {
  if (memory.byteLength == 0) return 0;
  const size_t weight = memory.device.isHost() ? 0 : weightOnDevice(memory.byteLength, wholeByteLength);
  return static_cast<int64_t>(std::max(std::min(memory.byteLength, kSmall), weight));
}

void tellCollector(Napi::Env env, int64_t weight) {
  if (weight != 0) Napi::MemoryManagement::AdjustExternalMemory(env, weight);
}

// Whether collections of young objects free results of this thread, too.
thread_local bool hasYoungCollections = false;

// Host memory that handles of a JavaScript thread own; of those that collections of young objects free, the
// ones that outlived two. The collector runs soon after reports of a few MiB more than before, however much
// memory there is. So this memory is reported only once much of it was added since it ran.
class HostAccount {
 public:
  void add(Napi::Env env, size_t byteLength) {
    total_ += byteLength;
    if (total_ - least_ <= allowance(byteLength)) return;
    least_ = total_;
    // It starts to mark, a little at a time, when it hears of the pressure.
    constexpr int64_t kPressure = int64_t{128} << 20;
    tellCollector(env, kPressure);
    tellCollector(env, -kPressure);
  }
  void remove(size_t byteLength) {
    total_ -= byteLength;
    least_ = std::min(least_, total_);
  }
  // Bytes of results that are young objects and were alive in the last collection of those.
  void setYoung(size_t byteLength) { young_ = byteLength; }

 private:
  // Two results, or what is sooner computed than collected; no more than a 16th of the memory that there is.
  // More would only be more memory to get from the system. Twice as much where young objects are collected:
  // only results that were kept for long are left then, and one that is in use while the heap is collected.
  // A collection of the whole heap makes old objects of all that are alive, which are dropped later: they
  // alone are no reason for the next one.
  size_t allowance(size_t byteLength) const {
    constexpr size_t kLeast = size_t{128} << 20, kMost = size_t{4} << 30;
    static const size_t most = std::min(host::usableMemory() / 16, kMost);
    const size_t wanted = std::max(2 * byteLength, kLeast) * (hasYoungCollections ? 2 : 1);
    return std::min(std::max(wanted, young_ + young_ / 4), most);
  }
  size_t total_ = 0;
  // The least that it was since the collector last heard of it.
  size_t least_ = 0;
  size_t young_ = 0;
};
// A part of other memory, which it keeps.
struct MemorySlice : Memory {
  MemorySlice(const std::shared_ptr<Memory>& whole, size_t first, size_t byteLength)
      : Memory(whole->device, whole->address + first, byteLength), whole(whole) {}
  const std::shared_ptr<Memory> whole;
};

// Handles are made and deleted on the thread of their environment.
thread_local HostAccount hostAccount;
// The first of those that are watched. Handles may outlive what the thread destroys.
thread_local BufferHandle* firstWatched = nullptr;
thread_local size_t collectedBytes = 0;
// Weak, of an object that nobody has: it is gone once young objects are collected. Null: there is none yet.
thread_local napi_ref sentinel = nullptr;

}  // namespace

BufferHandle::BufferHandle(Napi::Env env, std::shared_ptr<Memory> memory, size_t wholeByteLength,
                           bool isResult)
    : env(env),
      memory(std::move(memory)),
      weight(weightOf(*this->memory, wholeByteLength)),
      isHost(this->memory->device.isHost()) {
  tellCollector(env, weight);
  if (isHost && !(isResult && hasYoungCollections)) count();
}

BufferHandle::BufferHandle(Napi::Env env, const Napi::ArrayBuffer& array)
    : env(env),
      memory(std::make_shared<EngineMemory>(array)),
      array(Napi::Persistent(array.As<Napi::Object>())),
      weight(0),
      isHost(false) {}

BufferHandle::BufferHandle(const BufferHandle& whole, size_t first, size_t byteLength)
    : env(whole.env),
      memory(std::make_shared<MemorySlice>(whole.memory, first, byteLength)),
      weight(memory->device.isHost() ? 0 : weightOf(*memory, byteLength)),
      isHost(false) {
  tellCollector(env, weight);
  if (!whole.array.IsEmpty()) array = Napi::Persistent(whole.array.Value());
}

BufferHandle::~BufferHandle() {
  if (isHost && memory) noteCollected(*memory);
  dispose();
}

void BufferHandle::count() {
  if (std::exchange(isCounted_, true)) return;
  hostAccount.add(env, memory->byteLength);
}

void BufferHandle::watch(napi_value value) {
  // Where the engine has no weak references to such values, its finalizer frees the memory.
  if (napi_create_reference(env, value, 0, &value_) != napi_ok) return count();
  next_ = std::exchange(firstWatched, this);
  if (next_ != nullptr) next_->previous_ = this;
}

void BufferHandle::unwatch() {
  if (value_ == nullptr) return;
  (previous_ == nullptr ? firstWatched : previous_->next_) = next_;
  if (next_ != nullptr) next_->previous_ = previous_;
  napi_delete_reference(env, std::exchange(value_, nullptr));
}

void BufferHandle::dispose() {
  unwatch();
  if (!memory) return;
  tellCollector(env, -weight);
  if (isCounted_) hostAccount.remove(memory->byteLength);
  memory.reset();
  array.Reset();
}

Napi::Value releaseCollected(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  hasYoungCollections = true;
  size_t young = 0, aged = 0;
  for (BufferHandle *handle = firstWatched, *next = nullptr; handle != nullptr; handle = next) {
    next = handle->next_;
    const Napi::HandleScope scope(env);
    napi_value value = nullptr;
    if (napi_get_reference_value(env, handle->value_, &value) != napi_ok) continue;
    if (value == nullptr) {
      noteCollected(*handle->memory);
      handle->dispose();
      continue;
    }
    const size_t byteLength = handle->memory->byteLength;
    if (!std::exchange(handle->wasSeen_, true)) {
      young += byteLength;
    } else if (!handle->isCounted_) {
      aged += byteLength;
      handle->count();
    }
  }
  hostAccount.setYoung(young);
  Napi::Array told = Napi::Array::New(env, 3);
  uint32_t at = 0;
  for (const size_t bytes : {std::exchange(collectedBytes, 0), young, aged})
    told.Set(at++, static_cast<double>(bytes));
  return told;
}

Napi::Value hasCollected(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  bool isGone = false;
  {
    const Napi::HandleScope scope(env);  // no handle is left to the object
    if (sentinel != nullptr) {
      napi_value value = nullptr;
      isGone = napi_get_reference_value(env, sentinel, &value) == napi_ok && value == nullptr;
      napi_delete_reference(env, std::exchange(sentinel, nullptr));
    }
    if (napi_create_reference(env, Napi::Object::New(env), 0, &sentinel) != napi_ok) sentinel = nullptr;
  }
  return Napi::Boolean::New(env, isGone);
}

void noteCollected(const Memory& memory) { collectedBytes += memory.byteLength; }

}  // namespace weft
