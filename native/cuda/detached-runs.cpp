#include "cuda/detached-runs.h"

#include <algorithm>

#include "cuda/context-scope.h"

namespace weft::cuda {

bool DetachedRuns::hasRoom(CUcontext context) const {
  const Stretch& stretch = stretches_[current_];
  if (stretch.launches < kLaunches) return true;
  // It is begun again when all of it has ended.
  const ContextScope scope(context);
  return stretch.end.isReached();
}

void DetachedRuns::add(const std::shared_ptr<const Program>& program, size_t launches, CUstream stream) {
  Stretch& stretch = stretches_[current_];
  if (stretch.launches >= kLaunches) {
    stretch.launches = 0;
    stretch.programs.clear();
  }
  if (stretch.programs.empty() || stretch.programs.back() != program) stretch.programs.push_back(program);
  stretch.launches += std::max<size_t>(launches, 1);
  if (stretch.launches < kLaunches) return;
  stretch.end.record(stream);
  current_ = (current_ + 1) % kEvents;
}

void DetachedRuns::clear() {
  for (Stretch& stretch : stretches_) {
    stretch.launches = 0;
    stretch.programs.clear();
  }
}

}  // namespace weft::cuda
