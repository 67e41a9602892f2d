#include "cuda/lt-tuning.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <vector>

#include "cuda/lt-problem.h"
#include "cuda/named-device.h"
#include "cuda/trial.h"
#include "runtime/environment.h"
#include "runtime/failure.h"
#include "runtime/fields.h"
#include "runtime/program-steps.h"

namespace weft::cuda {
namespace {

using Seconds = std::chrono::duration<double>;

// Each byte of the operands: small numbers of every dtype.
constexpr uint8_t kFill = 0x3c;
// An algorithm is timed in rounds of so many calls that they take about so long, of which the shortest
// counts.
constexpr double kRoundSeconds = 5e-4;
constexpr int kMostCalls = 64;
constexpr int kRounds = 3;
// Calls that take longer need no second round.
constexpr double kLongSeconds = 5e-3;

struct Measured {
  LtAlgorithm algorithm;
  double seconds;
};

// A product on memory of the pool, which it gives back.
class Trial {
 public:
  Trial(Resources& resources, const MatmulStep& step, const std::vector<size_t>& byteLengths)
      : resources_(resources),
        step_(step),
        byteLengths_(byteLengths),
        memory_(resources, filled(byteLengths)),
        problem_(step, memory_.addresses()) {}

  std::vector<Measured> measure(ltHandle handle, size_t most, const CancelFlag& cancel) {
    std::vector<Measured> measured;
    for (const LtAlgorithm& algorithm : problem_.algorithms(handle, workspaceBytes(), most)) {
      checkCancelled(cancel);
      if (const std::optional<double> seconds = secondsOf(handle, algorithm))
        measured.push_back({algorithm, *seconds});
    }
    return measured;
  }

 private:
  static std::vector<Filled> filled(const std::vector<size_t>& byteLengths) {
    std::vector<Filled> buffers;
    for (const size_t byteLength : byteLengths) buffers.push_back({byteLength, {kFill}});
    return buffers;
  }

  size_t workspaceBytes() const {
    return step_.workspace < 0 ? 0 : byteLengths_[static_cast<size_t>(step_.workspace)];
  }

  // None where the library refuses it for all that its heuristic says. Throws where the device is lost.
  std::optional<double> secondsOf(ltHandle handle, const LtAlgorithm& algorithm) {
    try {
      const double first = secondsOf(handle, algorithm, 1);
      const int calls = repeatsIn(kRoundSeconds, first, kMostCalls);
      // The first call may load the algorithm's code.
      double least = secondsOf(handle, algorithm, calls);
      const int rounds = least > kLongSeconds ? 1 : kRounds;
      for (int round = 1; round < rounds; round++)
        least = std::min(least, secondsOf(handle, algorithm, calls));
      return least;
    } catch (const Failure& failure) {
      if (failure.code == FailureCode::lost || failure.code == FailureCode::aborted) throw;
      return std::nullopt;
    }
  }

  // Of one of so many calls in a row.
  double secondsOf(ltHandle handle, const LtAlgorithm& algorithm, int calls) {
    WEFT_CU(cuStreamSynchronize, resources_.stream);
    const auto begin = std::chrono::steady_clock::now();
    for (int call = 0; call < calls; call++)
      problem_.queue(handle, algorithm, workspaceBytes(), resources_.stream);
    WEFT_CU(cuStreamSynchronize, resources_.stream);
    return Seconds(std::chrono::steady_clock::now() - begin).count() / calls;
  }

  Resources& resources_;
  const MatmulStep& step_;
  const std::vector<size_t>& byteLengths_;
  TrialMemory memory_;
  LtProblem problem_;
};

class TuneTask : public NativeTask {
 public:
  TuneTask(CudaDevice& device, MatmulStep step, std::vector<size_t> byteLengths, size_t most)
      : device_(device), step_(std::move(step)), byteLengths_(std::move(byteLengths)), most_(most) {}

  void run() override {
    checkCancelled(cancelFlag());
    device_.use([this](Resources& resources) {
      measured_ =
          Trial(resources, step_, byteLengths_).measure(device_.blasLt().handle(), most_, cancelFlag());
    });
  }

  Napi::Value result(Napi::Env env) override {
    Napi::Array list = Napi::Array::New(env, measured_.size());
    for (size_t i = 0; i < measured_.size(); i++) {
      Napi::Array words = Napi::Array::New(env, 2 * measured_[i].algorithm.data.size());
      uint32_t at = 0;
      for (const uint64_t word : measured_[i].algorithm.data) {
        words.Set(at++, static_cast<double>(word & UINT32_MAX));
        words.Set(at++, static_cast<double>(word >> 32));
      }
      Napi::Object entry = Napi::Object::New(env);
      entry.Set("algorithm", words);
      entry.Set("seconds", measured_[i].seconds);
      list.Set(static_cast<uint32_t>(i), entry);
    }
    return list;
  }

 private:
  CudaDevice& device_;
  const MatmulStep step_;
  const std::vector<size_t> byteLengths_;
  const size_t most_;
  std::vector<Measured> measured_;
};

}  // namespace

Napi::Value tuneProduct(const Napi::CallbackInfo& info) {
  CudaDevice& device = namedCudaDevice(info[0]);
  Program program{};
  program.device = &device;
  std::vector<size_t> byteLengths;
  const Napi::Array lengths = values::array(info[2], "byteLengths");
  for (uint32_t i = 0; i < lengths.Length(); i++) {
    const std::string path = values::item("byteLengths", i);
    byteLengths.push_back(static_cast<size_t>(values::integer(lengths.Get(i), path, 1)));
    program.buffers.push_back({Role::temporary, byteLengths.back(), 0, false});
  }
  const Step step = readStep(Fields(info[1], "product"), program);
  const auto* product = std::get_if<MatmulStep>(&step);
  if (product == nullptr || !product->epilogue || product->m == 0 || product->n == 0 || product->batch == 0)
    values::reject("product", "a product with an epilogue and a result");
  const auto most = static_cast<size_t>(values::integer(info[3], "most", 1));
  return Environment::of(info.Env())
      .start(info.Env(), std::make_shared<TuneTask>(device, *product, byteLengths, most), device.executor());
}

}  // namespace weft::cuda
