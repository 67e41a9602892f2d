#include "runtime/settings.h"

#include <array>

#include "cpu/blas.h"
#include "cpu/fft-library.h"
#include "cpu/isa.h"
#include "cpu/jit/native-loop.h"
#include "cpu/lapack.h"
#include "cpu/threads.h"
#include "runtime/engine-memory.h"
#include "runtime/fields.h"
#include "runtime/host-pool.h"
#include "runtime/scratch-file.h"
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

void useLibrary(const char* setting, const char* kind, void (*use)(const std::string&),
                const std::string& library) {
  try {
    use(library);
  } catch (const std::runtime_error& error) {
    values::reject(setting, std::string(kind) + " library: " + error.what());
  }
}

}  // namespace

Napi::Value configureCpu(const Napi::CallbackInfo& info) {
  const Fields settings(info[0], "");
  if (settings.has("threads"))
    cpu::setThreadCount(static_cast<int>(settings.integer("threads", 1, kMaxThreads)));
  if (settings.has("isa")) cpu::limitIsa(isaNamed(settings.text("isa")));
  if (settings.has("compilesLoops")) cpu::jit::allowLoopCode(settings.flag("compilesLoops"));
  if (settings.has("blasFiles")) cpu::searchBlas(settings.list("blasFiles", values::text));
  if (settings.has("blas")) useLibrary("WEFT_BLAS", "a BLAS", cpu::setBlas, settings.text("blas"));
  if (settings.has("lapack")) useLibrary("WEFT_LAPACK", "a LAPACK", cpu::setLapack, settings.text("lapack"));
  if (settings.has("fftFiles")) {
    const Fields files = settings.object("fftFiles");
    cpu::searchFft(files.list("float32", values::text), files.list("float64", values::text));
  }
  if (settings.has("fft")) useLibrary("WEFT_FFT", "an FFT", cpu::setFft, settings.text("fft"));
  if (settings.has("externalByteLength"))
    setMostExternalByteLength(static_cast<size_t>(settings.integer("externalByteLength")));
  if (settings.has("scratchFolder")) setScratchFolder(settings.text("scratchFolder"));
  host::setPoison(settings.flag("poison"));
  return info.Env().Undefined();
}

}  // namespace weft
