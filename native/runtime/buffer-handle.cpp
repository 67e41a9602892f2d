#include "runtime/buffer-handle.h"

#include <algorithm>

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

// Host memory that the handles of a JavaScript thread own. The collector runs soon after reports of a few
// MiB more than before, however much memory there is. So this memory is reported only once much of it was
// added since it ran.
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

 private:
  // Two results, or what is sooner computed than collected; no more than a 32nd of the machine's memory.
  // More would only be more memory to get from the system.
  static size_t allowance(size_t byteLength) {
    constexpr size_t kLeast = size_t{128} << 20, kMost = size_t{1} << 30;
    static const size_t most = std::min(host::usableMemory() / 32, kMost);
    return std::min(std::max(2 * byteLength, kLeast), most);
  }
  size_t total_ = 0;
  // The least that it was since the collector last heard of it.
  size_t least_ = 0;
};
// A part of other memory, which it keeps.
struct MemorySlice : Memory {
  MemorySlice(const std::shared_ptr<Memory>& whole, size_t first, size_t byteLength)
      : Memory(whole->device, whole->address + first, byteLength), whole(whole) {}
  const std::shared_ptr<Memory> whole;
};

// Handles are made and deleted on the thread of their environment.
thread_local HostAccount hostAccount;

}  // namespace

BufferHandle::BufferHandle(Napi::Env env, std::shared_ptr<Memory> memory, size_t wholeByteLength)
    : env(env),
      memory(std::move(memory)),
      weight(weightOf(*this->memory, wholeByteLength)),
      isCounted(this->memory->device.isHost()) {
  tellCollector(env, weight);
  if (isCounted) hostAccount.add(env, this->memory->byteLength);
}

BufferHandle::BufferHandle(Napi::Env env, const Napi::ArrayBuffer& array)
    : env(env),
      memory(std::make_shared<EngineMemory>(array)),
      array(Napi::Persistent(array.As<Napi::Object>())),
      weight(0),
      isCounted(false) {}

BufferHandle::BufferHandle(const BufferHandle& whole, size_t first, size_t byteLength)
    : env(whole.env),
      memory(std::make_shared<MemorySlice>(whole.memory, first, byteLength)),
      weight(memory->device.isHost() ? 0 : weightOf(*memory, byteLength)),
      isCounted(false) {
  tellCollector(env, weight);
  if (!whole.array.IsEmpty()) array = Napi::Persistent(whole.array.Value());
}

void BufferHandle::dispose() {
  if (!memory) return;
  tellCollector(env, -weight);
  if (isCounted) hostAccount.remove(memory->byteLength);
  memory.reset();
  array.Reset();
}

}  // namespace weft
