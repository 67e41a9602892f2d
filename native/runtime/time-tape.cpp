#include "runtime/time-tape.h"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <limits>
#include <memory>
#include <vector>

#include "cpu/cpu.h"
#include "cpu/tape.h"
#include "cpu/threads.h"
#include "runtime/cpu-steps.h"
#include "runtime/device.h"
#include "runtime/environment.h"
#include "runtime/host-pool.h"
#include "runtime/program-steps.h"
#include "runtime/values.h"

namespace weft {
namespace {

// The first run touches the memory and is not counted.
constexpr size_t kLeastRuns = 4;
// A run of so many seconds is not repeated: computes wait for it.
constexpr double kLongRun = 1;
// The part of the readings of a processor's clock that are too short: a virtual machine takes time away that
// others had, and now and then too much of it.
constexpr size_t kTooShort = 10;

// Writes equal elements.
template <typename T>
void fill(void* data, size_t byteLength, T element) {
  std::fill_n(static_cast<T*>(data), byteLength / sizeof(T), element);
}

// Ordinary numbers; index 0, which lies in every array.
void fillInput(void* data, size_t byteLength, DType dtype) {
  switch (dtype) {
    case DType::float16:
      return fill<uint16_t>(data, byteLength, 0x3a00);
    case DType::bfloat16:
      return fill<uint16_t>(data, byteLength, 0x3f40);
    case DType::float32:
    case DType::complex64:
      return fill<float>(data, byteLength, 0.75F);
    case DType::float64:
    case DType::complex128:
      return fill<double>(data, byteLength, 0.75);
    default:
      std::memset(data, 0, byteLength);
  }
}

double secondsNow(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// The time of a run. The least of the clock is exact where some run was not interrupted, which long ones are
// on a busy machine; the processor's own time is not that of others.
class RunTimes {
 public:
  explicit RunTimes(bool hasOneThread) : hasOneThread_(hasOneThread) {}

  template <typename Function>
  void add(const Function& run) {
    const double begin = secondsNow(CLOCK_MONOTONIC);
    const double beginOwn = secondsNow(CLOCK_THREAD_CPUTIME_ID);
    run();
    const double own = secondsNow(CLOCK_THREAD_CPUTIME_ID) - beginOwn;
    const double elapsed = secondsNow(CLOCK_MONOTONIC) - begin;
    if (hasOneThread_ && own > 0) own_.push_back(own);
    least_ = std::min(least_, elapsed);
  }

  double seconds() {
    if (own_.empty()) return least_;
    const size_t skipped = std::min(own_.size() - 1, std::max<size_t>(1, own_.size() / kTooShort));
    std::nth_element(own_.begin(), own_.begin() + skipped, own_.end());
    return std::min(least_, own_[skipped]);
  }

 private:
  bool hasOneThread_;
  double least_ = std::numeric_limits<double>::infinity();
  std::vector<double> own_;
};

class TimeTapeTask : public NativeTask {
 public:
  TimeTapeTask(std::shared_ptr<const cpu::Tape> tape, double seconds, bool isAlone)
      : tape_(std::move(tape)), seconds_(seconds), isAlone_(isAlone) {}

  void run() override {
    std::vector<host::Block> blocks;
    std::vector<cpu::TapeBuffer> buffers;
    for (const cpu::Buffer& buffer : tape_->buffers) {
      const size_t byteLength =
          static_cast<size_t>(buffer.elementCount) * kElementBytes[static_cast<int>(buffer.dtype)];
      blocks.push_back(host::allocate(byteLength, host::Purpose::work));
      if (!buffer.isOutput) fillInput(blocks.back().data(), byteLength, buffer.dtype);
      buffers.push_back({blocks.back().data(), 0, buffer.elementCount});
    }
    // Those that come with a run are in the tape, too.
    std::vector<char> constants = tape_->constants;
    if (!tape_->numbers.empty()) buffers.push_back({constants.data(), 0, 0});
    // A step without work runs in this thread.
    cpu::ThreadPool& pool = poolOf({tape_, {}, isAlone_ ? 0 : workOf(*tape_)});
    const auto run = [&] {
      cpu::runTape(*tape_, buffers.data(), {0, tape_->tileCount()}, pool, &cancelFlag());
    };
    const double end = secondsNow(CLOCK_MONOTONIC) + seconds_;
    RunTimes times(pool.size() == 1);
    for (size_t k = 0; k < kLeastRuns || secondsNow(CLOCK_MONOTONIC) < end; k++) {
      checkCancelled(cancelFlag());
      if (k == 1) times = RunTimes(pool.size() == 1);
      times.add(run);
      if (k < kLeastRuns && times.seconds() >= kLongRun) break;
    }
    measured_ = times.seconds();
  }

  Napi::Value result(Napi::Env env) override { return Napi::Number::New(env, measured_); }

 private:
  const std::shared_ptr<const cpu::Tape> tape_;
  const double seconds_;
  const bool isAlone_;
  double measured_ = 0;
};

}  // namespace

Napi::Value timeTape(const Napi::CallbackInfo& info) {
  std::shared_ptr<const cpu::Tape> tape = cpu::parseTape(values::object(info[0], "tape"));
  const double seconds = 1e-3 * info[1].ToNumber().DoubleValue();
  return Environment::of(info.Env())
      .start(info.Env(), std::make_shared<TimeTapeTask>(std::move(tape), seconds, info[2].ToBoolean()),
             cpuDevice().executor());
}

}  // namespace weft
