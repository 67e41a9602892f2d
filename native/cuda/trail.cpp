#include "cuda/trail.h"

#include <algorithm>

#include "cuda/context-scope.h"

namespace weft::cuda {

bool Trail::hasRoom(CUcontext context) const {
  const Stretch& stretch = stretches_[current_];
  if (stretch.steps < kSteps) return true;
  // It is begun again when all of it has ended.
  const ContextScope scope(context);
  return stretch.end.isReached();
}

void Trail::add(const std::shared_ptr<const Program>& program, CUstream stream) {
  Stretch& stretch = stretches_[current_];
  if (stretch.steps >= kSteps) {
    stretch.steps = 0;
    stretch.programs.clear();
  }
  if (stretch.programs.empty() || stretch.programs.back() != program) stretch.programs.push_back(program);
  stretch.steps += std::max<size_t>(program->steps.size(), 1);
  if (stretch.steps < kSteps) return;
  stretch.end.record(stream);
  current_ = (current_ + 1) % kEvents;
}

void Trail::clear() {
  for (Stretch& stretch : stretches_) {
    stretch.steps = 0;
    stretch.programs.clear();
  }
}

}  // namespace weft::cuda
