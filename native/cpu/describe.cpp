// describe (cpu.h): what the CPU backend found and uses.
#include "cpu/blas.h"
#include "cpu/cpu.h"
#include "cpu/isa.h"
#include "cpu/ops.h"
#include "cpu/threads.h"

namespace weft::cpu {

Napi::Object describe(Napi::Env env) {
  Napi::Object result = Napi::Object::New(env);
  result.Set("isa", isaName(currentIsa()));
  result.Set("threads", sharedPool().size());
  const char* vectorMath = vectorMathPath();
  result.Set("vectorMath", vectorMath == nullptr ? env.Null() : Napi::String::New(env, vectorMath));
  result.Set("blas", env.Null());
  if (const std::optional<BlasInfo> blas = blasInUse()) {
    Napi::Object found = Napi::Object::New(env);
    found.Set("name", blas->name);
    found.Set("path", blas->path);
    result.Set("blas", found);
  }
  return result;
}

}  // namespace weft::cpu
