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
#include "runtime/host-sink.h"
#include "runtime/host-source.h"

namespace weft::cuda {

using HostSinks = std::vector<std::shared_ptr<HostSink>>;

// Bytes to copy: one row, or several of `byteLength` bytes.
struct Transfer {
  CUdeviceptr device;
  // Read when it goes up, written when it comes down.
  void* host;
  size_t byteLength;
  // Where what goes up is read from, or what comes down is written to, instead of memory, if not null; and
  // where in it.
  HostSource* source = nullptr;
  size_t hostOffset = 0;
  const HostSinks* sinks = nullptr;
  size_t rows = 1;
  // From row to row.
  size_t devicePitch = 0, hostPitch = 0;
};

// Queues the copy between the device and host memory that is pinned, or the driver's to deal with.
void queueUpload(const Transfer& transfer, CUstream stream);
void queueDownload(const Transfer& transfer, CUstream stream);
// Queues a copy within the device; `hostPitch` is the pitch at `from`.
void queueOnDevice(const Transfer& transfer, CUdeviceptr from, CUstream stream);

// A thread's share of the copying. Uploads may be read from `host` until `flush`, and are in the stream after
// it; downloads are in `host` after `drain`.
class Lane {
 public:
  static constexpr size_t kSlots = 2;

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
  size_t eventCount() const;

 private:
  struct Landing {
    Transfer to;
    const std::byte* from;
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
  // Takes bytes of the open slot, piece by piece for a single row; closes it when it is full after `use`.
  template <typename Use>
  void fill(const Transfer& transfer, const Use& use);
  void close();
  void land(Slot& slot);

  const CUstream stream_;
  std::atomic<size_t>& pinned_;
  std::array<Slot, kSlots> slots_;
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
  // Queues the downloads; the last of them are in `host` after `drain`, or once later ones need their room.
  void queueDownloads(const std::vector<Transfer>& transfers, const CancelFlag& cancel);
  void drain(const CancelFlag& cancel);
  // Forgets what is under way, after a failure. Nothing of it may be under way on the device.
  void reset();
  // Events that it keeps. The thread of the first lane, while nothing is copied.
  size_t eventCount() const;
  // Any thread.
  size_t pinnedBytes() const { return pinned_; }
  // The most that there can be.
  static size_t mostPinnedBytes();

 private:
  // Queues copies of pinned memory; gives the others.
  std::vector<Transfer> queueDirect(const std::vector<Transfer>& transfers, bool up);
  // Lets lanes copy chunks, and then each do what `end` says.
  void copyStaged(const std::vector<Transfer>& transfers, const CancelFlag& cancel, bool up,
                  void (Lane::*end)());
  void awaitDirect();
  void onAllLanes(const std::function<void(Lane&)>& work);
  void helperLoop(size_t lane);

  const CUcontext context_;
  const CUstream stream_;
  std::atomic<size_t> pinned_{0};
  // The end of direct downloads that are not waited for yet.
  std::optional<Event> direct_;
  bool isDirectOpen_ = false;
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
