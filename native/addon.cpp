// The addon's exports, and nothing else. Their typed mirror, the only caller, is src/exec/native/native.ts.
#include <napi.h>

#include "cuda/cut-memory.h"
#include "cuda/factor-sparse.h"
#include "cuda/info.h"
#include "cuda/kernel-resources.h"
#include "cuda/kernel-times.h"
#include "cuda/lt-tuning.h"
#include "cuda/nvrtc.h"
#include "cuda/pinned.h"
#include "runtime/buffer-handle.h"
#include "runtime/cancel.h"
#include "runtime/dlpack.h"
#include "runtime/environment.h"
#include "runtime/foreign-memory.h"
#include "runtime/info.h"
#include "runtime/memory-limit.h"
#include "runtime/process.h"
#include "runtime/product-workspace.h"
#include "runtime/profile.h"
#include "runtime/program.h"
#include "runtime/run.h"
#include "runtime/settings.h"
#include "runtime/sink-output.h"
#include "runtime/small-run.h"
#include "runtime/temporary-path.h"
#include "runtime/tile-queue.h"
#include "runtime/time-tape.h"
#include "runtime/values.h"
#include "shared/constants.h"

namespace {

template <Napi::Value (*F)(const Napi::CallbackInfo&)>
void add(Napi::Object exports, const char* name) {
  exports.Set(name, Napi::Function::New<weft::values::guarded<F>>(exports.Env(), name));
}

// Of a process that was forked while its event loop looked for the ends of tasks, the loop goes on, and has
// none.
Napi::Value settleOwn(const Napi::CallbackInfo& info) {
  if (weft::isForked()) return Napi::Number::New(info.Env(), 0);
  return weft::values::guarded<weft::settle>(info);
}

Napi::Object init(Napi::Env env, Napi::Object exports) {
  weft::settleIntoProcess();
  weft::Environment::create(env);
  add<weft::constants>(exports, "constants");
  add<weft::beginProgram>(exports, "beginProgram");
  add<weft::addBuffers>(exports, "addBuffers");
  add<weft::addTapes>(exports, "addTapes");
  add<weft::addSteps>(exports, "addSteps");
  add<weft::endProgram>(exports, "endProgram");
  add<weft::run>(exports, "run");
  add<weft::runSmall>(exports, "runSmall");
  exports.Set("settle", Napi::Function::New<settleOwn>(env, "settle"));
  add<weft::guardPath>(exports, "guardPath");
  add<weft::releasePath>(exports, "releasePath");
  add<weft::exchangePaths>(exports, "exchangePaths");
  add<weft::writeFiles>(exports, "writeFiles");
  add<weft::reserveFile>(exports, "reserveFile");
  add<weft::allocateHost>(exports, "allocateHost");
  add<weft::sliceMemory>(exports, "sliceMemory");
  add<weft::hostArray>(exports, "hostArray");
  add<weft::disposeBuffer>(exports, "disposeBuffer");
  add<weft::releaseCollected>(exports, "releaseCollected");
  add<weft::hasCollected>(exports, "hasCollected");
  add<weft::bufferAddress>(exports, "bufferAddress");
  add<weft::wrapMemory>(exports, "wrapMemory");
  add<weft::makeDlpack>(exports, "makeDlpack");
  add<weft::describeDlpack>(exports, "describeDlpack");
  add<weft::takeDlpack>(exports, "takeDlpack");
  add<weft::deleteDlpack>(exports, "deleteDlpack");
  add<weft::makeStreamWait>(exports, "makeStreamWait");
  add<weft::waitForStream>(exports, "waitForStream");
  add<weft::createCancel>(exports, "createCancel");
  add<weft::cancel>(exports, "cancel");
  add<weft::tilesDone>(exports, "tilesDone");
  add<weft::createTileQueue>(exports, "createTileQueue");
  add<weft::configureCpu>(exports, "configureCpu");
  add<weft::beginProfile>(exports, "beginProfile");
  add<weft::endProfile>(exports, "endProfile");
  add<weft::workTotals>(exports, "workTotals");
  add<weft::cpuInfo>(exports, "cpuInfo");
  add<weft::timeTape>(exports, "timeTape");
  add<weft::productWorkspace>(exports, "productWorkspace");
  add<weft::routineWorkspace>(exports, "routineWorkspace");
  add<weft::routineLibrary>(exports, "routineLibrary");
  add<weft::hostMemory>(exports, "hostMemory");
  add<weft::limitMemory>(exports, "limitMemory");
  add<weft::memoryLimitOf>(exports, "memoryLimit");
  add<weft::memory>(exports, "memory");
  add<weft::lostDevices>(exports, "lostDevices");
  add<weft::collectGarbage>(exports, "collectGarbage");
  add<weft::trim>(exports, "trim");
  add<weft::cuda::configureCuda>(exports, "configureCuda");
  add<weft::cuda::driverInfo>(exports, "driverInfo");
  add<weft::cuda::nvrtcInfo>(exports, "nvrtcInfo");
  add<weft::cuda::cublasInfo>(exports, "cublasInfo");
  add<weft::cuda::cublasLtInfo>(exports, "cublasLtInfo");
  add<weft::cuda::cutensorInfo>(exports, "cutensorInfo");
  add<weft::cuda::probeCutensor>(exports, "probeCutensor");
  add<weft::cuda::cufftInfo>(exports, "cufftInfo");
  add<weft::cuda::cusolverInfo>(exports, "cusolverInfo");
  add<weft::cuda::cudssInfo>(exports, "cudssInfo");
  add<weft::cuda::probeCudss>(exports, "probeCudss");
  add<weft::cuda::probeCuda>(exports, "probeCuda");
  add<weft::cuda::openDevice>(exports, "openDevice");
  add<weft::cuda::allocatePinned>(exports, "allocatePinned");
  add<weft::cuda::keptObjects>(exports, "keptObjects");
  add<weft::cuda::refusesLoops>(exports, "refusesLoops");
  add<weft::cuda::stagingLimits>(exports, "stagingLimits");
  add<weft::cuda::cudaEntryPoints>(exports, "cudaEntryPoints");
  add<weft::cuda::compileCuda>(exports, "compileCuda");
  add<weft::cuda::tuneProduct>(exports, "tuneProduct");
  add<weft::cuda::factorSparse>(exports, "factorSparse");
  add<weft::cuda::cutMemory>(exports, "cutMemory");
  add<weft::cuda::kernelResources>(exports, "kernelResources");
  add<weft::cuda::kernelSeconds>(exports, "kernelSeconds");
  return exports;
}

}  // namespace

NODE_API_MODULE(weft, init)
