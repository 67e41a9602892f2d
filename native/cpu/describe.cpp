// describe (cpu.h): what the CPU backend found and uses.
#include "cpu/blas.h"
#include "cpu/cpu.h"
#include "cpu/fft-library.h"
#include "cpu/isa.h"
#include "cpu/jit/native-loop.h"
#include "cpu/lapack.h"
#include "cpu/loop-counts.h"
#include "cpu/ops.h"
#include "cpu/threads.h"

namespace weft::cpu {

namespace {

Napi::Object libraryValue(Napi::Env env, const MathLibrary& library) {
  Napi::Object value = Napi::Object::New(env);
  value.Set("name", library.name);
  value.Set("path", library.path);
  return value;
}

}  // namespace

Napi::Object describe(Napi::Env env) {
  Napi::Object result = Napi::Object::New(env);
  result.Set("isa", isaName(currentIsa()));
  result.Set("threads", sharedPool().size());
  result.Set("compilesLoops", jit::compilesLoops());
  Napi::Object blocks = Napi::Object::New(env);
  const auto counts = loopBlocks();
  for (size_t k = 0; k < counts.size(); k++) blocks.Set(kLoopFormNames[k], static_cast<double>(counts[k]));
  result.Set("loopBlocks", blocks);
  result.Set("chainCodes", static_cast<double>(chainCodes()));
  const char* vectorMath = vectorMathPath();
  result.Set("vectorMath", vectorMath == nullptr ? env.Null() : Napi::String::New(env, vectorMath));
  const MathLibrary* const blas = blasInUse();
  result.Set("blas", blas == nullptr ? env.Null() : libraryValue(env, *blas));
  Napi::Object fft = Napi::Object::New(env);
  for (const bool isDouble : {false, true}) {
    const MathLibrary* const library = fftInUse(isDouble);
    fft.Set(isDouble ? "float64" : "float32", library == nullptr ? env.Null() : libraryValue(env, *library));
  }
  result.Set("fft", fft);
  result.Set("lapack", env.Null());
  if (const Lapack* const lapack = lapackInUse()) {
    Napi::Object found = libraryValue(env, lapack->library);
    const std::vector<std::string> missing = lapackMissing(*lapack);
    Napi::Array names = Napi::Array::New(env, missing.size());
    for (uint32_t k = 0; k < missing.size(); k++) names.Set(k, missing[k]);
    found.Set("missing", names);
    result.Set("lapack", found);
  }
  return result;
}

}  // namespace weft::cpu
