// Staging: copies between ordinary host memory and a device at the bus's speed.
//
// Several lanes, each a thread, take chunks from a feed until it has no more. Little is copied by the first
// lane alone, whose thread is the caller's. Everything is queued on one stream, so a transfer is ordered with
// the work around it.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "cuda/copy-worker.h"
#include "cuda/driver.h"
#include "cuda/event.h"
#include "cuda/transfer.h"
#include "runtime/cancel.h"

namespace weft::cuda {

enum class Way { up, down };

// The lanes that copy: all; as many as are of use while the device itself copies the other way; half, while
// other lanes do; or few, where those have more to do.
enum class Share { all, besideDevice, half, few };

// Where lanes get their chunks. Any lane, several at a time.
class Feed {
 public:
  struct Chunk {
    // Of at most `Staging::slotByteLength` bytes.
    Transfer transfer;
    // The tile that it belongs to; the feed's own.
    int64_t of = 0;
  };

  virtual ~Feed() = default;
  // May wait for the next chunk; nothing: there are no more.
  virtual std::optional<Chunk> next() = 0;
  // The copies of a chunk are in the stream.
  virtual void queued(const Chunk& chunk) = 0;
  // A lane has failed: from now on there are no chunks, and nobody waits for one.
  virtual void stop(const std::exception_ptr& error) noexcept = 0;
};

class Staging {
 public:
  Staging(CUcontext context, CUstream stream);

  // Lets lanes take no more pinned memory than this, from `leastPinnedBytes` on. Slots that they have in
  // other slots is given back when the device is done with it. While nothing is copied.
  void limit(size_t pinnedBytes);
  size_t slotByteLength() const { return slotByteLength_; }

  // Queues the uploads. `host` has been read when it returns, or if it is pinned, when the stream has passed
  // them.
  bool upload(const std::vector<Transfer>& transfers, const CancelFlag& cancel);
  // Queues the downloads and waits for them, and with them for all earlier work of the stream.
  void download(const std::vector<Transfer>& transfers, const CancelFlag& cancel);

  // Queues copies of memory that the device reaches by itself; gives the others, for a feed. Downloads are in
  // `host` after `awaitDirect`.
  std::vector<Transfer> queueDirect(const std::vector<Transfer>& transfers, Way way);
  void awaitDirect();
  // Lets lanes copy what the feed gives, about `byteLength` bytes, as `upload` and `download` do.
  void copy(Feed& feed, Way way, size_t byteLength, const CancelFlag& cancel, Share share = Share::all);

  // Gives pinned memory back. While nothing is copied.
  void release();

  // Forgets what is under way, after a failure. Nothing of it may be under way on the device.
  void reset();
  // Events that it keeps. The thread of the first lane, while nothing is copied.
  size_t eventCount() const;
  // Any thread.
  size_t pinnedBytes() const { return pinned_; }
  // The most that there can be, and the least to copy anything with.
  static size_t mostPinnedBytes();
  static size_t leastPinnedBytes();

 private:
  void copyAll(const std::vector<Transfer>& transfers, Way way, const CancelFlag& cancel);
  // Does the work on the first lanes.
  void onLanes(size_t count, const std::function<void(CopyWorker&)>& work);
  void helperLoop(size_t lane);

  const CUcontext context_;
  const CUstream stream_;
  std::atomic<size_t> pinned_{0};
  // The end of direct downloads that are not waited for yet.
  std::optional<Event> direct_;
  bool isDirectOpen_ = false;
  std::vector<std::unique_ptr<CopyWorker>> lanes_;
  size_t limit_ = SIZE_MAX;
  size_t slotByteLength_ = CopyWorker::kMostSlotByteLength;
  // Those that are used: the first ones.
  size_t usedLanes_ = 1;
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  const std::function<void(CopyWorker&)>* work_ = nullptr;
  uint64_t generation_ = 0;
  // Lanes that the work is for, and those of them that are not done with it.
  size_t working_ = 0;
  size_t busy_ = 0;
  std::exception_ptr error_;
  bool started_ = false;
};

}  // namespace weft::cuda
