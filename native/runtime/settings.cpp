#include "runtime/settings.h"

#include <array>

#include "cpu/blas.h"
#include "cpu/isa.h"
#include "cpu/threads.h"
#include "runtime/engine-memory.h"
#include "runtime/host-pool.h"
#include "runtime/values.h"

namespace weft {
namespace {

constexpr int64_t kMaxThreads = 1024;

cpu::Isa isaNamed(const std::string& name) {
  for (const cpu::Isa isa :
       std::array{cpu::Isa::baseline, cpu::Isa::avx2, cpu::Isa::avx512, cpu::Isa::neon}) {
    if (name == cpu::isaName(isa)) return isa;
  }
  values::reject("isa", "an instruction set: " + name);
}

void useBlas(const std::string& library) {
  try {
    cpu::setBlas(library);
  } catch (const std::runtime_error& error) {
    values::reject("WEFT_BLAS", std::string("a BLAS library: ") + error.what());
  }
}

}  // namespace

Napi::Value configureCpu(const Napi::CallbackInfo& info) {
  const Napi::Object settings = values::object(info[0], "settings");
  const Napi::Value threads = settings.Get("threads");
  if (!threads.IsUndefined()) {
    cpu::setThreadCount(static_cast<int>(values::integer(threads, "threads", 1, kMaxThreads)));
  }
  const Napi::Value isa = settings.Get("isa");
  if (!isa.IsUndefined()) cpu::limitIsa(isaNamed(values::text(isa, "isa")));
  const Napi::Value blas = settings.Get("blas");
  if (!blas.IsUndefined()) useBlas(values::text(blas, "blas"));
  const Napi::Value external = settings.Get("externalByteLength");
  if (!external.IsUndefined())
    setMostExternalByteLength(static_cast<size_t>(values::integer(external, "externalByteLength")));
  host::setPoison(settings.Get("poison").ToBoolean());
  return info.Env().Undefined();
}

}  // namespace weft
