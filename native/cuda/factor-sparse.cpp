#include "cuda/factor-sparse.h"

#include <memory>
#include <utility>

#include "cuda/named-device.h"
#include "cuda/resources.h"
#include "cuda/sparse-solver.h"
#include "runtime/buffer-handle.h"
#include "runtime/environment.h"
#include "runtime/executor.h"
#include "runtime/values.h"

namespace weft::cuda {
namespace {

// The end of factors, on the device's executor: nobody waits for it.
void dropFactors(CudaDevice& device, int64_t number, const PoolBlock& block) {
  device.executor().post([&device, number, block] {
    try {
      device.use([&](Resources&) { device.sparseSolver().remove(number); });
      device.release(block);
    } catch (const Failure&) {
      // Of a lost device nothing is given back.
    }
  });
}

class FactorsMemory : public Memory {
 public:
  FactorsMemory(CudaDevice& device, const PoolBlock& block, int64_t number)
      : Memory(device, block.address, block.byteLength), device_(device), block_(block), number_(number) {}
  ~FactorsMemory() override { dropFactors(device_, number_, block_); }

 private:
  CudaDevice& device_;
  const PoolBlock block_;
  const int64_t number_;
};

class FactorTask : public NativeTask {
 public:
  FactorTask(CudaDevice& device, const SparseProblem& problem, SparseArrays arrays, size_t most)
      : device_(device), problem_(problem), arrays_(std::move(arrays)), most_(most) {}

  void run() override {
    device_.use([&](Resources& resources) {
      const PoolBlock block = resources.pool->allocate(kFactorsBytes);
      try {
        const auto [number, factors] = device_.sparseSolver().add(problem_, arrays_, most_);
        number_ = number;
        stored_ = factors->stored();
        replaced_ = factors->replacedPivots();
        hasFailed_ = factors->hasFailed();
        byteLength_ = factors->byteLength();
      } catch (...) {
        resources.pool->free(block);
        throw;
      }
      memory_ = std::make_shared<FactorsMemory>(device_, block, number_);
    });
    arrays_ = {};
  }

  Napi::Value result(Napi::Env env) override {
    Napi::Object result = Napi::Object::New(env);
    result.Set("handle",
               values::makeHandle(env, std::make_unique<BufferHandle>(env, std::move(memory_), byteLength_)));
    result.Set("byteLength", static_cast<double>(kFactorsBytes));
    result.Set("number", static_cast<double>(number_));
    result.Set("stored", static_cast<double>(stored_));
    result.Set("replacedPivots", static_cast<double>(replaced_));
    result.Set("hasFailed", hasFailed_);
    return result;
  }

 private:
  CudaDevice& device_;
  const SparseProblem problem_;
  SparseArrays arrays_;
  const size_t most_;
  std::shared_ptr<Memory> memory_;
  int64_t number_ = 0, stored_ = 0, replaced_ = 0;
  bool hasFailed_ = false;
  size_t byteLength_ = 0;
};

SparseProblem readProblem(const Napi::Object& given) {
  const auto flag = [&](const char* name) {
    const Napi::Value value = given.Get(name);
    if (!value.IsBoolean()) values::reject(name, "a boolean");
    return value.As<Napi::Boolean>().Value();
  };
  SparseProblem problem{};
  problem.dtype = static_cast<DType>(values::integer(given.Get("dtype"), "dtype", 0, UINT8_MAX));
  if (problem.dtype != DType::float32 && problem.dtype != DType::float64 &&
      problem.dtype != DType::complex64 && problem.dtype != DType::complex128)
    values::reject("dtype", "that of a float or a complex number");
  problem.hasWideStarts = flag("hasWideStarts");
  problem.hasWideColumns = flag("hasWideColumns");
  problem.n = values::integer(given.Get("n"), "n", 1);
  problem.stored = values::integer(given.Get("stored"), "stored", 1);
  problem.isPositive = flag("isPositive");
  return problem;
}

}  // namespace

Napi::Value factorSparse(const Napi::CallbackInfo& info) {
  CudaDevice& device = namedCudaDevice(info[0]);
  const Napi::Object given = values::object(info[1], "problem");
  const SparseProblem problem = readProblem(given);
  const auto most = static_cast<size_t>(values::integer(given.Get("most"), "most"));
  const Napi::Array list = values::array(info[2], "arrays");
  const size_t stored = static_cast<size_t>(problem.stored);
  const std::array<size_t, 3> least{(static_cast<size_t>(problem.n) + 1) * (problem.hasWideStarts ? 8 : 4),
                                    stored * (problem.hasWideColumns ? 8 : 4),
                                    stored * kElementBytes[static_cast<size_t>(problem.dtype)]};
  SparseArrays arrays;
  for (uint32_t k = 0; k < arrays.size(); k++) {
    const std::string field = values::item("arrays", k);
    arrays[k] = values::handle<BufferHandle>(list.Get(k), field).memory;
    if (!arrays[k] || &arrays[k]->device != &device || arrays[k]->byteLength < least[k])
      values::reject(field, "memory of the device, as large as the matrix");
  }
  return Environment::of(info.Env())
      .start(info.Env(), std::make_shared<FactorTask>(device, problem, std::move(arrays), most),
             device.executor());
}

}  // namespace weft::cuda
