// Staging: copies between ordinary host memory and a device at the bus's speed.
//
// A lane is a thread with a ring of two pinned slots: while one slot is on the bus, the thread fills or
// empties the other. Large transfers are cut into chunks that all lanes take from; small ones are packed into
// the slots of the first lane, whose thread is the device's executor. Everything is queued on the device's
// one stream, so a transfer is ordered with the kernels around it.
#pragma once
#include <array>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "cuda/driver.h"
#include "cuda/event.h"
#include "runtime/cancel.h"
#include "runtime/host-source.h"

namespace weft::cuda {

struct Transfer {
  CUdeviceptr device;
  // Read when it goes up, written when it comes down.
  void* host;
  size_t byteLength;
  // Where what goes up is read from instead, if not null, and where in it.
  HostSource* source = nullptr;
  size_t sourceOffset = 0;
};

// A thread's share of the copying. Uploads may be read from `host` until `flush`, and are in the stream after
// it; downloads are in `host` after `drain`.
class Lane {
 public:
  // `pinned` counts the bytes of its slots.
  Lane(CUstream stream, std::atomic<size_t>& pinned) : stream_(stream), pinned_(pinned) {}
  ~Lane();
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  void upload(const Transfer& transfer);
  void download(const Transfer& transfer);
  void flush();
  void drain();
  // Forgets what is under way, after a failure.
  void reset();

 private:
  struct Landing {
    void* to;
    const std::byte* from;
    size_t byteLength;
  };
  struct Slot {
    std::byte* memory = nullptr;
    std::optional<Event> event;
    size_t used = 0;
    // On the bus: `event` says until when.
    bool flying = false;
    std::vector<Landing> landings;
  };

  // The open slot, which has room for at least one byte.
  Slot& open();
  // Takes up to `byteLength` bytes of the open slot; closes it when it is full after `use`.
  template <typename Use>
  void fill(size_t byteLength, const Use& use);
  void close();
  void land(Slot& slot);

  const CUstream stream_;
  std::atomic<size_t>& pinned_;
  std::array<Slot, 2> slots_;
  size_t current_ = 0;
};

class Staging {
 public:
  Staging(CUcontext context, CUstream stream);

  // Queues the uploads. `host` has been read when it returns, or if it is pinned, when the stream has passed
  // them.
  void upload(const std::vector<Transfer>& transfers, const CancelFlag& cancel);
  // Queues the downloads and waits for them, and with them for all earlier work of the stream.
  void download(const std::vector<Transfer>& transfers, const CancelFlag& cancel);
  void reset();
  // Any thread.
  size_t pinnedBytes() const { return pinned_; }

 private:
  void transfer(const std::vector<Transfer>& transfers, const CancelFlag& cancel, bool up);
  void copyStaged(const std::vector<Transfer>& chunks, const CancelFlag& cancel, bool up);
  void onAllLanes(const std::function<void(Lane&)>& work);
  void helperLoop(size_t lane);

  const CUcontext context_;
  const CUstream stream_;
  std::atomic<size_t> pinned_{0};
  std::optional<Event> direct_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  const std::function<void(Lane&)>* work_ = nullptr;
  uint64_t generation_ = 0;
  size_t busy_ = 0;
  std::exception_ptr error_;
  bool started_ = false;
};

}  // namespace weft::cuda
