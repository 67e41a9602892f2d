#include "runtime/cpu-steps.h"

#include <cstring>

#include "cpu/tape.h"
#include "cpu/threads.h"
#include "runtime/failure.h"

namespace weft {
namespace {

// A pool of the calling thread alone: to wake another costs more than a short tape.
cpu::ThreadPool& thisThread() {
  static cpu::ThreadPool& pool = *new cpu::ThreadPool(1);
  return pool;
}

[[noreturn]] void misplaced(const char* what) {
  throw Failure(FailureCode::internal, std::string(what) + " reached the CPU's steps");
}

}  // namespace

void CpuSteps::run(const Step& step) {
  struct Whole {
    CpuSteps& steps;
    void operator()(const TapeStep& s) { steps.tape(s, {0, s.tape->tileCount()}); }
    void operator()(const TapePhaseStep& s) { steps.phase(s, {0, s.tape->slotCount()}); }
    void operator()(const MatmulStep& s) { steps.product(s, {{0, s.batch * s.m}, {0, s.n}, {0, s.k}}); }
    void operator()(const ZeroStep& s) { steps.zero(s); }
    void operator()(const LaunchStep&) { misplaced("a CUDA launch"); }
    void operator()(const std::shared_ptr<const Sweep>&) { misplaced("a sweep"); }
  };
  std::visit(Whole{*this}, step);
}

void CpuSteps::run(const Step& step, const SweepRange& range) {
  if (range.x0 == range.x1) return;
  struct Part {
    CpuSteps& steps;
    const SweepRange& r;
    void operator()(const TapeStep& s) { steps.tape(s, {r.x0, r.x1}); }
    void operator()(const TapePhaseStep& s) { steps.phase(s, {r.y0, r.y1}); }
    void operator()(const MatmulStep& s) { steps.product(s, {{r.x0, r.x1}, {r.y0, r.y1}, {r.z0, r.z1}}); }
    void operator()(const ZeroStep& s) { steps.zero(s); }
    void operator()(const LaunchStep&) { misplaced("a CUDA launch"); }
    void operator()(const std::shared_ptr<const Sweep>&) { misplaced("a sweep"); }
  };
  std::visit(Part{*this, range}, step);
}

void CpuSteps::tape(const TapeStep& step, cpu::Range tiles) {
  cpu::runTape(*step.tape, tapeBuffers(*step.tape, step.buffers), tiles,
               step.isShort ? thisThread() : cpu::sharedPool(), cancel_);
}

void CpuSteps::phase(const TapePhaseStep& step, cpu::Range slots) {
  const cpu::TapeBuffer* const buffers = tapeBuffers(*step.tape, step.buffers);
  void* const scratch = views[step.scratch].data;
  if (step.finishes) {
    cpu::finishTapePhase(*step.tape, buffers, scratch, step.phase, cpu::sharedPool(), cancel_);
  } else {
    cpu::runTapePhase(*step.tape, buffers, scratch, step.phase, slots, cpu::sharedPool(), cancel_);
  }
}

void CpuSteps::product(const MatmulStep& step, const cpu::MatmulPart& part) {
  const cpu::Matmul job{step.dtype,
                        step.m,
                        step.n,
                        step.k,
                        step.batch,
                        matrix(step.a, step.dtype),
                        matrix(step.b, step.dtype),
                        matrix(step.c, step.dtype)};
  cpu::Workspace workspace;
  if (step.workspace >= 0)
    workspace = {views[step.workspace].data, program_.buffers[step.workspace].byteLength};
  cpu::matmul(job, part, cpu::sharedPool(), cancel_, workspace);
}

void CpuSteps::zero(const ZeroStep& step) {
  const HostView& view = views[step.buffer];
  if (view.last > view.first) std::memset(view.data + view.first, 0, view.last - view.first);
}

// Elements that are there as a whole.
const cpu::TapeBuffer* CpuSteps::tapeBuffers(const cpu::Tape& tape, const std::vector<int>& buffers) {
  tapeBuffers_.clear();
  for (size_t i = 0; i < buffers.size(); i++) {
    const HostView& view = views[buffers[i]];
    const auto size = static_cast<size_t>(cpu::byteLengthOf(tape.buffers[i].dtype));
    tapeBuffers_.push_back({view.data, static_cast<int64_t>((view.first + size - 1) / size),
                            static_cast<int64_t>(view.last / size)});
  }
  return tapeBuffers_.data();
}

cpu::Matrix CpuSteps::matrix(const MatrixOperand& operand, int dtype) const {
  std::byte* data = views[operand.buffer].data;
  data += operand.offset * static_cast<int64_t>(elementByteLength(dtype));
  return {data, operand.batchStride, operand.rowStride, operand.columnStride};
}

}  // namespace weft
