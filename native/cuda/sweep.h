// Sweeps on a GPU: while one tile is computed, the windows of later ones go to the device and those of
// earlier ones come back, each direction in a stream of its own.
//
// Three parties walk the tiles in order: lanes that copy in, the executor, which queues the steps, and lanes
// that copy out and put what has come into host memory. Each waits on the host until what it needs of another
// has been queued, and lets its stream wait on the device. A slot is used again after the last work on it.
#pragma once
#include <array>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cuda/driver.h"
#include "cuda/event.h"
#include "cuda/staging.h"
#include "runtime/device.h"
#include "runtime/sweep.h"

namespace weft::cuda {

class CudaDevice;

// Tiles that any of the threads may be ahead of another.
inline constexpr size_t kTilesAhead = 16;

// The end of some work for each tile, as long as any thread may need it: events of one stream, in a ring.
class TileEvents {
 public:
  void record(int64_t tile, CUstream stream) { at(tile).record(stream); }
  // Lets the stream wait for the tile, whose event was recorded; a later tile may stand in for it.
  void holdBack(int64_t tile, CUstream stream) { at(tile).holdBack(stream); }

 private:
  Event& at(int64_t tile) { return events_[static_cast<size_t>(tile) % kTilesAhead]; }

  std::array<Event, kTilesAhead> events_;
};

// What sweeps need besides the device's stream. Made by the first sweep, lives as long as the process.
class CopyStreams {
 public:
  CopyStreams(CUcontext context, const std::string& device);
  CopyStreams(const CopyStreams&) = delete;
  CopyStreams& operator=(const CopyStreams&) = delete;

  // Waits until nothing is under way, and forgets what was, after a failure. Gives the first bad status.
  CUresult reset();
  size_t pinnedBytes() const { return in.pinnedBytes() + out.pinnedBytes(); }
  // While no sweep runs.
  size_t eventCount() const { return in.eventCount() + out.eventCount() + 1 + 3 * kTilesAhead; }
  static constexpr size_t kStreams = 2;

  const CUcontext context;
  const CUstream inStream, outStream;
  Staging in, out;
  Event start;
  TileEvents broughtIn, computed, broughtOut;
};

// Where the whole of a windowed buffer is: in host memory, in files, on the device, in pieces on several, or
// nowhere.
struct SweepHome {
  std::byte* host = nullptr;
  // The address that its first byte has, or would have: of the bytes [deviceFirst, deviceLast).
  CUdeviceptr device = 0;
  size_t deviceFirst = 0, deviceLast = SIZE_MAX;
  // What is read or written instead of host memory.
  HostSource* source = nullptr;
  const HostSinks* sinks = nullptr;
  // Whether `host` is memory that nobody has written to yet: whoever does has the system find its pages.
  bool isFresh = false;
  // What windows that do not lie on the device are copied from.
  const std::vector<MemoryPiece>* pieces = nullptr;

  bool isOnDevice() const { return device != 0 || pieces != nullptr; }
};

// One sweep of one run. On the executor's thread.
class SweepRun {
 public:
  // Of the sweep's buffers, in order: where they are as a whole, and the addresses of their slots.
  // `leavesHost`: the run uses JavaScript's memory only while its sweeps copy in.
  SweepRun(const Sweep& sweep, std::vector<SweepHome> homes, std::vector<std::vector<CUdeviceptr>> slots,
           CopyStreams& copies, CUstream stream, CudaDevice& device, Run& run, bool leavesHost);

  // `compute` queues the steps of a tile. Throws where a call fails or the run is cancelled; then nothing is
  // under way in the streams of copies.
  void operator()(const std::function<void(int64_t tile)>& compute);

  // Whether the device reads host memory by itself, as late as that comes to it.
  bool readsDirectly() const { return readsDirectly_; }

  // The address that a buffer's first byte would have for a tile, and where its window is.
  SweepPlace place(size_t buffer, int64_t tile) const;

 private:
  struct Track {
    const SweepBuffer& buffer;
    SweepHome home;
    std::vector<CUdeviceptr> slots;
    // Whether kernels use the buffer where it is.
    bool isInPlace;
    // For each tile whose window is copied: the last tile before it that used the slot, or whose results were
    // copied from there; -1: none.
    std::vector<int64_t> slotUser;
  };

  static SweepPlace placeIn(const Track& track, const SweepWindow& window);
  void findUsers(Track& track) const;
  bool copies(const Track& track, int64_t tile, SweepDirection direction) const;
  Transfer transferOf(const Track& track, int64_t tile) const;
  // The transfers of a tile in a direction, and the last tile that it has to wait for.
  std::vector<Transfer> transfersOf(int64_t tile, SweepDirection direction) const;
  int64_t userOf(int64_t tile, SweepDirection direction) const;
  // Whether what a buffer's tiles give goes through the lanes.
  bool isStaged(const Track& track) const;
  // What is copied in a direction in all.
  size_t byteLengthOf(SweepDirection direction) const;

  void walk(const std::function<void(int64_t tile)>& compute);
  void bringIn();
  // Brings in, using JavaScript's memory as long as that takes.
  void readInputs();
  std::optional<std::vector<Transfer>> beginIn(int64_t tile);
  void copyOnDevice(int64_t tile);
  void bringOut();
  std::optional<std::vector<Transfer>> beginOut(int64_t tile);
  // Runs a thread's part.
  void guarded(void (SweepRun::*part)()) noexcept;

  // Waits until the condition holds. False: all is to stop.
  template <typename Condition>
  bool await(const Condition& condition);
  void advance(int64_t& count);
  void stop(std::exception_ptr error);

  const Sweep& sweep_;
  CopyStreams& copies_;
  const CUstream stream_;
  CudaDevice& device_;
  Run& run_;
  std::vector<Track> tracks_;
  bool hasIn_ = false, hasOut_ = false;
  // Whether lanes copy out, and take processors from those that copy in; and whether into fresh memory.
  bool stagesOut_ = false, findsPages_ = false;
  // Whether JavaScript's memory is used while lanes copy in, and not before or after.
  const bool leavesHost_;
  bool readsDirectly_ = false;

  std::mutex mutex_;
  std::condition_variable changed_;
  // Tiles whose copies in, steps and copies out have been queued.
  int64_t in_ = 0, computed_ = 0, out_ = 0;
  bool stopping_ = false;
  std::exception_ptr error_;
};

}  // namespace weft::cuda
