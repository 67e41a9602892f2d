// Sweeps on a GPU: while one tile is computed, the windows of later ones go to the device and those of
// earlier ones come back, each direction in a stream of its own.
//
// Three parties walk the tiles in order: lanes that copy in, the executor, which queues the steps, and lanes
// that copy out and put what has come into host memory. Each waits on the host until what it needs of another
// has been queued, and lets its stream wait on the device. A slot is used again after the last work on it.
//
// Of a sweep that several devices share, the device that comes to a tile first takes it, with the others of
// its part, once the device is nearly done with what it has: a device that is slower takes fewer.
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

// The end of some work for each tile that a run takes, by its place among those, as long as any thread may
// need it: events of one stream, in a ring.
class TileEvents {
 public:
  void record(int64_t place, CUstream stream) { at(place).record(stream); }
  // Lets the stream wait for the tile, whose event was recorded; a later tile may stand in for it.
  void holdBack(int64_t place, CUstream stream) { at(place).holdBack(stream); }
  // Whether the device has come there.
  bool isReached(int64_t place) { return at(place).isReached(); }

 private:
  Event& at(int64_t place) { return events_[static_cast<size_t>(place) % kTilesAhead]; }

  std::array<Event, kTilesAhead> events_;
};

// Resources of sweeps besides the device's stream. Made by the first sweep, lives as long as the process.
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
struct BackingStore {
  std::byte* host = nullptr;
  // The address that its first byte has, or would have: of the bytes [deviceFirst, deviceLast).
  CUdeviceptr device = 0;
  size_t deviceFirst = 0, deviceLast = SIZE_MAX;
  // The file or reader that is used instead of host memory.
  HostSource* source = nullptr;
  const HostSinks* sinks = nullptr;
  // Whether `host` is memory that nobody has written to yet: the first write has the system find its pages.
  bool isFresh = false;
  // The source of windows that do not lie on the device.
  const std::vector<MemoryPiece>* pieces = nullptr;

  bool isOnDevice() const { return device != 0 || pieces != nullptr; }
};

// One sweep of one run. On the executor's thread.
class SweepRun {
 public:
  // Of the sweep's buffers, in order: where they are as a whole, and the addresses of their slots.
  // `copies`: null where nothing is copied. `releasesHost`: the run uses JavaScript's memory only while its
  // sweeps copy in.
  SweepRun(const Sweep& sweep, std::vector<BackingStore> backing, std::vector<std::vector<CUdeviceptr>> slots,
           CopyStreams* copies, CUstream stream, CudaDevice& device, Run& run, bool releasesHost);

  // `compute` queues the steps of a tile. Throws where a call fails or the run is cancelled; then nothing is
  // under way in the streams of copies.
  void operator()(const std::function<void(int64_t tile)>& compute);

  // Whether the device reads host memory by itself, as late as that comes to it.
  bool readsDirectly() const { return readsDirectly_; }

  // The address that a buffer's first byte would have for a tile, and where its window is.
  WindowAddress place(size_t buffer, int64_t tile) const;

 private:
  // The last tile that used a slot, or whose results are copied from there, by its place; and what window was
  // brought there.
  struct SlotUse {
    int64_t user = -1;
    const SweepWindow* window = nullptr;
  };

  struct Track {
    const SweepBuffer& buffer;
    BackingStore backing;
    std::vector<CUdeviceptr> slots;
    // Whether kernels use the buffer where it is.
    bool isInPlace;
    // Of the tiles that were taken so far; none where slots are not used.
    std::vector<SlotUse> uses;
    // Whether the tile that was taken last needs its window brought in.
    bool brings = false;
  };

  // A tile that the run does, with the last tiles before it, by their places among those, that its copies in
  // and its steps have to wait for; -1: none.
  struct Taken {
    int64_t tile;
    int64_t inUser = -1, outUser = -1;
  };

  static WindowAddress placeIn(const Track& track, const SweepWindow& window);
  bool copies(const Track& track, int64_t tile, SweepDirection direction) const;
  Transfer transferOf(const Track& track, int64_t tile) const;
  std::vector<Transfer> transfersOf(int64_t tile, SweepDirection direction) const;

  // The first party: takes the run's next tile as that of a place, or finds that there are no more.
  void take(int64_t place);
  std::optional<int64_t> nextTile(int64_t place);
  // Waits until the device has not much left to do before the tile of a place. False: all is to stop.
  bool awaitDevice(int64_t place);
  Taken takenAs(int64_t tile, int64_t place);
  // Any party: waits until the tile of a place is taken and a condition on it holds. Nothing: there is none,
  // or all is to stop.
  template <typename Condition>
  std::optional<Taken> awaitTaken(int64_t place, const Condition& condition);
  // Whether what a buffer's tiles give goes through the lanes.
  bool isStaged(const Track& track) const;
  // Bytes copied in a direction in all.
  size_t byteLengthOf(SweepDirection direction) const;

  void walk(const std::function<void(int64_t tile)>& compute);
  void bringIn();
  // Brings in, using JavaScript's memory as long as that takes.
  void readInputs();
  std::optional<std::vector<Transfer>> beginIn(int64_t place);
  void endIn(int64_t place);
  void copyOnDevice(int64_t tile);
  void bringOut();
  // Brings out, in a thread of its own.
  void writeOutputs();
  std::optional<std::vector<Transfer>> beginOut(int64_t place);
  // Runs a thread's part.
  void guarded(void (SweepRun::*part)()) noexcept;

  void advance(int64_t& count);
  void stop(std::exception_ptr error);

  const Sweep& sweep_;
  CopyStreams* const copies_;
  const CUstream stream_;
  CudaDevice& device_;
  Run& run_;
  std::vector<Track> tracks_;
  bool hasIn_ = false, hasOut_ = false;
  // Whether all that is brought in lies on devices: to queue copies of it takes no thread.
  bool bringsFromDevices_ = true;
  // Whether lanes copy out, and take processors from those that copy in; and whether into fresh memory.
  bool stagesOut_ = false, findsPages_ = false;
  // Whether JavaScript's memory is used while lanes copy in, and not before or after.
  const bool releasesHost_;
  bool readsDirectly_ = false;

  // The first party's: the tile that it comes to next, and the part that it has claimed last.
  int64_t next_ = 0;
  int ownPart_ = -1;

  std::mutex mutex_;
  std::condition_variable changed_;
  // The tiles that the run does, in order, and how many there are once that is known.
  std::vector<Taken> taken_;
  int64_t end_ = INT64_MAX;
  // Tiles whose copies in, steps and copies out have been queued.
  int64_t in_ = 0, computed_ = 0, out_ = 0;
  bool stopping_ = false;
  std::exception_ptr error_;
};

}  // namespace weft::cuda
