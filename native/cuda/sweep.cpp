#include "cuda/sweep.h"

#ifdef __linux__
#include <pthread.h>
#endif

#include <algorithm>
#include <thread>
#include <utility>

#include "cuda/peer.h"
#include "cuda/stream-span.h"
#include "cuda/tile-feed.h"
#include "runtime/failure.h"

namespace weft::cuda {
namespace {

constexpr int64_t kAhead = static_cast<int64_t>(kTilesAhead);

void nameThread(const char* name) {
#ifdef __linux__
  pthread_setname_np(pthread_self(), name);
#else
  static_cast<void>(name);
#endif
}

// In place, rows must lie as kernels expect them: as far apart as in a slot.
bool liesAsInSlots(const SweepBuffer& buffer) {
  return std::all_of(buffer.windows.begin(), buffer.windows.end(), [&](const SweepWindow& window) {
    return window.rows == 0 || !liesInRows(buffer, window) || window.pitch == buffer.slotPitch;
  });
}

// Whether all of the windows are in the part of the buffer that is on the device.
bool liesOnDevice(const SweepBuffer& buffer, const BackingStore& backing) {
  if (backing.device == 0) return false;
  return std::all_of(buffer.windows.begin(), buffer.windows.end(), [&](const SweepWindow& window) {
    if (window.rows == 0) return true;
    const size_t last = window.first + (window.rows - 1) * window.pitch + window.rowBytes;
    return window.first >= backing.deviceFirst && last <= backing.deviceLast;
  });
}

}  // namespace

CopyStreams::CopyStreams(CUcontext context, const std::string& device)
    : context(context),
      inStream(makeStream(context, device, "copies in")),
      outStream(makeStream(context, device, "copies out")),
      in(context, inStream),
      out(context, outStream) {}

CUresult CopyStreams::reset() {
  CUresult worst = kSuccess;
  for (const CUstream stream : {inStream, outStream}) {
    const CUresult status = driver().cuStreamSynchronize(stream);
    if (worst == kSuccess) worst = status;
  }
  in.reset();
  out.reset();
  return worst;
}

SweepRun::SweepRun(const Sweep& sweep, std::vector<BackingStore> backing,
                   std::vector<std::vector<CUdeviceptr>> slots, CopyStreams* copies, CUstream stream,
                   CudaDevice& device, Run& run, bool releasesHost)
    : sweep_(sweep),
      copies_(copies),
      stream_(stream),
      device_(device),
      run_(run),
      releasesHost_(releasesHost) {
  for (size_t i = 0; i < sweep.buffers.size(); i++) {
    const SweepBuffer& buffer = sweep.buffers[i];
    const bool isInPlace = liesOnDevice(buffer, backing[i]) && liesAsInSlots(buffer);
    const bool isUsed = std::any_of(buffer.windows.begin(), buffer.windows.end(),
                                    [](const SweepWindow& window) { return window.rows > 0; });
    if (!isInPlace && slots[i].empty() && isUsed)
      throw Failure(FailureCode::internal, "a buffer without slots is not where its sweep needs it");
    const bool goesNowhere = backing[i].host == nullptr && backing[i].sinks == nullptr;
    if (!isInPlace && isUsed && buffer.direction == SweepDirection::out && goesNowhere)
      throw Failure(FailureCode::internal, "a result of a sweep that has no place to go to");
    Track track{buffer, backing[i], std::move(slots[i]), isInPlace, {}};
    if (!isInPlace && isUsed) track.uses.resize(static_cast<size_t>(buffer.slots));
    const bool isBrought = !isInPlace && isUsed && buffer.direction == SweepDirection::in;
    hasIn_ |= isBrought;
    bringsFromDevices_ &= !isBrought || backing[i].isOnDevice();
    hasOut_ |= !isInPlace && isUsed && buffer.direction == SweepDirection::out;
    tracks_.push_back(std::move(track));
  }
  for (const Track& track : tracks_) {
    const bool isOut = track.buffer.direction == SweepDirection::out;
    stagesOut_ |= isOut && isStaged(track);
    findsPages_ |= isOut && track.backing.isFresh && isStaged(track);
    if (!isOut && track.backing.host != nullptr && !isStaged(track)) readsDirectly_ = true;
  }
}

bool SweepRun::isStaged(const Track& track) const {
  const auto isCopied = [](const SweepWindow& window) { return window.copies && window.rows > 0; };
  const auto& windows = track.buffer.windows;
  const auto first = std::find_if(windows.begin(), windows.end(), isCopied);
  if (track.isInPlace || first == windows.end()) return false;
  return !isPinned(transferOf(track, first - windows.begin()));
}

WindowAddress SweepRun::place(size_t buffer, int64_t tile) const {
  const Track& track = tracks_[buffer];
  const SweepWindow& window = track.buffer.windows[tile];
  if (track.isInPlace) return {track.backing.device + window.first, track.backing.device};
  return placeIn(track, window);
}

// A tile that does not touch the buffer has none of its slots.
WindowAddress SweepRun::placeIn(const Track& track, const SweepWindow& window) {
  return window.rows == 0 ? WindowAddress{} : placeOf(track.buffer, window, track.slots[window.slot]);
}

bool SweepRun::copies(const Track& track, int64_t tile, SweepDirection direction) const {
  const SweepWindow& window = track.buffer.windows[tile];
  return track.buffer.direction == direction && !track.isInPlace && window.copies && window.rows > 0;
}

Transfer SweepRun::transferOf(const Track& track, int64_t tile) const {
  const SweepWindow& window = track.buffer.windows[tile];
  const CUdeviceptr device = placeIn(track, window).window;
  const BackingStore& backing = track.backing;
  std::byte* const host = backing.host == nullptr ? nullptr : backing.host + window.first;
  return {device,        host,        window.rowBytes,        backing.source, window.first,
          backing.sinks, window.rows, track.buffer.slotPitch, window.pitch};
}

std::vector<Transfer> SweepRun::transfersOf(int64_t tile, SweepDirection direction) const {
  std::vector<Transfer> transfers;
  for (const Track& track : tracks_) {
    const bool isThere = direction == SweepDirection::in && !track.brings;
    if (!track.backing.isOnDevice() && !isThere && copies(track, tile, direction))
      transfers.push_back(transferOf(track, tile));
  }
  return transfers;
}

size_t SweepRun::byteLengthOf(SweepDirection direction) const {
  size_t byteLength = 0;
  for (const Track& track : tracks_) {
    if (track.backing.device != 0) continue;
    for (int64_t tile = 0; tile < sweep_.tiles; tile++) {
      const SweepWindow& window = track.buffer.windows[tile];
      if (copies(track, tile, direction)) byteLength += window.rowBytes * window.rows;
    }
  }
  return byteLength;
}

void SweepRun::operator()(const std::function<void(int64_t tile)>& compute) {
  if (copies_ == nullptr) {
    for (int64_t tile = 0; tile < sweep_.tiles; tile++) {
      checkCancelled(*run_.cancel);
      compute(tile);
      run_.tilesDone->fetch_add(1, std::memory_order_relaxed);
    }
    return;
  }
  // Work queued before the sweep used the arena.
  copies_->start.record(stream_);
  copies_->start.holdBack(copies_->inStream);
  copies_->start.holdBack(copies_->outStream);
  std::vector<std::thread> threads;
  try {
    if (hasIn_ && !bringsFromDevices_) threads.emplace_back([this] { guarded(&SweepRun::readInputs); });
    // The results of one tile come when there is nothing left to queue: for them a thread only takes time.
    const bool isOne = sweep_.tiles == 1;
    if (hasOut_ && !isOne) threads.emplace_back([this] { guarded(&SweepRun::writeOutputs); });
    walk(compute);
    if (hasOut_ && isOne) bringOut();
  } catch (...) {
    stop(std::current_exception());
  }
  for (std::thread& thread : threads) thread.join();
  if (!error_) return;
  const CUresult status = copies_->reset();
  // That the device is lost is what matters most.
  if (isFatal(status)) throwStatus(status, "cuStreamSynchronize");
  std::rethrow_exception(error_);
}

void SweepRun::walk(const std::function<void(int64_t tile)>& compute) {
  for (int64_t place = 0;; place++) {
    checkCancelled(*run_.cancel);
    if (!hasIn_) take(place);
    if (hasIn_ && bringsFromDevices_ && beginIn(place)) endIn(place);
    const std::optional<Taken> taken = awaitTaken(place, [&](const Taken& one) {
      return (!hasIn_ || in_ > place) && (!hasOut_ || (out_ > one.outUser && out_ + kAhead > place));
    });
    if (!taken) return;
    if (hasIn_) copies_->broughtIn.holdBack(place, stream_);
    if (taken->outUser >= 0) copies_->broughtOut.holdBack(taken->outUser, stream_);
    compute(taken->tile);
    copies_->computed.record(place, stream_);
    advance(computed_);
    if (!hasOut_) run_.tilesDone->fetch_add(1, std::memory_order_relaxed);
  }
}

void SweepRun::bringIn() {
  TileFeed feed({[this](int64_t place) { return beginIn(place); }, [this](int64_t place) { endIn(place); },
                 [this](const std::exception_ptr& error) { stop(error); }},
                copies_->in.slotByteLength());
  const Share beside = findsPages_ ? Share::few : stagesOut_ ? Share::half : Share::besideDevice;
  const Share share = hasOut_ ? beside : Share::all;
  copies_->in.copy(feed, Way::up, byteLengthOf(SweepDirection::in), *run_.cancel, share);
}

std::optional<std::vector<Transfer>> SweepRun::beginIn(int64_t place) {
  checkCancelled(*run_.cancel);
  take(place);
  const std::optional<Taken> taken = awaitTaken(
      place, [&](const Taken& one) { return computed_ > one.inUser && computed_ + kAhead > place; });
  if (!taken) return std::nullopt;
  if (taken->inUser >= 0) copies_->computed.holdBack(taken->inUser, copies_->inStream);
  copyOnDevice(taken->tile);
  return copies_->in.queueDirect(transfersOf(taken->tile, SweepDirection::in), Way::up);
}

void SweepRun::endIn(int64_t place) {
  copies_->broughtIn.record(place, copies_->inStream);
  advance(in_);
}

// Windows of buffers that are on devices, but not here, or whose rows have to lie otherwise.
void SweepRun::copyOnDevice(int64_t tile) {
  for (const Track& track : tracks_) {
    if (!track.backing.isOnDevice() || !track.brings || !copies(track, tile, SweepDirection::in)) continue;
    const Transfer t = transferOf(track, tile);
    const size_t first = track.buffer.windows[tile].first;
    if (track.backing.pieces == nullptr) {
      queueOnDevice(t, track.backing.device + first, copies_->inStream);
      continue;
    }
    for (size_t row = 0; row < t.rows; row++) {
      queueGather(device_, t.device + row * t.devicePitch, *track.backing.pieces,
                  {first + row * t.hostPitch, t.byteLength}, copies_->inStream, *run_.cancel);
    }
  }
}

// An environment that closes waits for the lanes, but not for the kernels; for what the device reads by
// itself, to the end.
void SweepRun::readInputs() {
  nameThread("weft-in");
  if (releasesHost_ && !run_.enterInputs()) throwCancelled();
  try {
    bringIn();
  } catch (...) {
    stop(std::current_exception());
  }
  if (releasesHost_ && !readsDirectly_) run_.leaveInputs();
}

void SweepRun::writeOutputs() {
  nameThread("weft-out");
  bringOut();
}

void SweepRun::bringOut() {
  TileFeed feed({[this](int64_t place) { return beginOut(place); },
                 [this](int64_t place) {
                   copies_->broughtOut.record(place, copies_->outStream);
                   advance(out_);
                   run_.tilesDone->fetch_add(1, std::memory_order_relaxed);
                 },
                 [this](const std::exception_ptr& error) { stop(error); }},
                copies_->out.slotByteLength());
  const Share share = !hasIn_ || findsPages_ ? Share::all : Share::half;
  copies_->out.copy(feed, Way::down, byteLengthOf(SweepDirection::out), *run_.cancel, share);
  copies_->out.awaitDirect();
}

std::optional<std::vector<Transfer>> SweepRun::beginOut(int64_t place) {
  checkCancelled(*run_.cancel);
  const std::optional<Taken> taken = awaitTaken(place, [&](const Taken&) { return computed_ > place; });
  if (!taken) return std::nullopt;
  const std::vector<Transfer> transfers = transfersOf(taken->tile, SweepDirection::out);
  if (!transfers.empty()) copies_->computed.holdBack(place, copies_->outStream);
  return copies_->out.queueDirect(transfers, Way::down);
}

void SweepRun::guarded(void (SweepRun::*part)()) noexcept {
  try {
    WEFT_CU(cuCtxSetCurrent, copies_->context);
    (this->*part)();
  } catch (...) {
    stop(std::current_exception());
  }
}

template <typename Condition>
std::optional<SweepRun::Taken> SweepRun::awaitTaken(int64_t place, const Condition& condition) {
  std::unique_lock lock(mutex_);
  const auto isTaken = [&] { return place < static_cast<int64_t>(taken_.size()); };
  changed_.wait(lock, [&] { return stopping_ || place == end_ || (isTaken() && condition(taken_[place])); });
  if (stopping_ || place == end_) return std::nullopt;
  return taken_[place];
}

void SweepRun::advance(int64_t& count) {
  const std::lock_guard lock(mutex_);
  count++;
  changed_.notify_all();
}

void SweepRun::stop(std::exception_ptr error) {
  const std::lock_guard lock(mutex_);
  if (!error_) error_ = std::move(error);
  stopping_ = true;
  changed_.notify_all();
}

}  // namespace weft::cuda
