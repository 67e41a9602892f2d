// DetachedRuns: runs that were queued and that nobody waits for. Bounds how many of their launches are under
// way, so that queuing one more never waits for the device, and keeps their programs, whose code they run.
//
// Under the device's issuing lock.
#pragma once
#include <array>
#include <memory>
#include <vector>

#include "cuda/event.h"
#include "runtime/program.h"

namespace weft::cuda {

class DetachedRuns {
 public:
  static constexpr size_t kEvents = 4;

  // Whether one more may be queued in the context's stream.
  bool hasRoom(CUcontext context) const;
  // Notes a run of so many launches that was queued in the stream last.
  void add(const std::shared_ptr<const Program>& program, size_t launches, CUstream stream);
  // All that was queued has ended.
  void clear();

 private:
  // Launches to an event.
  static constexpr size_t kLaunches = 64;

  struct Stretch {
    Event end;
    size_t launches = 0;
    // No two neighbours are equal.
    std::vector<std::shared_ptr<const Program>> programs;
  };
  std::array<Stretch, kEvents> stretches_;
  size_t current_ = 0;
};

}  // namespace weft::cuda
