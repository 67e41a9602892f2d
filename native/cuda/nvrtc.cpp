#include "cuda/nvrtc.h"

#include <algorithm>
#include <cstring>
#include <thread>

#include "cuda/driver.h"
#include "cuda/signal-guard.h"
#include "runtime/environment.h"
#include "runtime/executor.h"
#include "runtime/recorder.h"
#include "runtime/values.h"

namespace weft::cuda {
namespace {

// NVRTC scales to a few compilations at a time, and each takes a core and about 100 MB.
constexpr size_t kMaxCompilers = 4;

NvrtcState* findNvrtc() {
  auto* state = new NvrtcState();
  Nvrtc& api = state->nvrtc;
#define WEFT_ENTRY(name, ...) {reinterpret_cast<void**>(&api.name), #name, false},
  std::vector<EntryPoint> entryPoints = {WEFT_NVRTC(WEFT_ENTRY)};
#undef WEFT_ENTRY
  entryPoints.push_back({reinterpret_cast<void**>(&api.nvrtcGetErrorString), "nvrtcGetErrorString", false});
  // Its images must load in the driver, which takes those of its own major version and older.
  const auto accept = [&]() -> std::string {
    if (api.nvrtcVersion(&state->major, &state->minor) != 0) return "nvrtcVersion failed";
    const int driverVersion = driverState().version;
    if (driverVersion == 0 || state->major <= driverVersion / 1000) return {};
    return "it is of CUDA " + std::to_string(state->major) + ", the driver of " + versionText(driverVersion);
  };
  // NVRTC loads its builtins by name, which finds them only if they are loaded or in the loader's path.
  state->library = openLibrary(candidates().nvrtc, entryPoints, {"libnvrtc-builtins.so"}, accept);
  if (!state->library.found()) return state;
  int count = 0;
  if (api.nvrtcGetNumSupportedArchs(&count) == 0 && count > 0) {
    state->architectures.resize(count);
    if (api.nvrtcGetSupportedArchs(state->architectures.data()) != 0) state->architectures.clear();
  }
  return state;
}

const Nvrtc& nvrtc() {
  const NvrtcState& state = nvrtcState();
  if (!state.library.found()) {
    throw Failure(FailureCode::device, "[cuda] expected NVRTC (libnvrtc): " + describeTried(state.library));
  }
  return state.nvrtc;
}

// Throws for any status but success.
void checkNvrtc(nvrtcResult status, const char* call) {
  if (status == 0) return;
  const char* name = nvrtc().nvrtcGetErrorString(status);
  throw Failure(FailureCode::compile, "[cuda] NVRTC failed", name == nullptr ? "unknown" : name, call);
}
#define WEFT_NVRTC_CALL(name, ...) checkNvrtc(nvrtc().name(__VA_ARGS__), #name)

class SourceProgram {
 public:
  explicit SourceProgram(const std::string& source) {
    WEFT_NVRTC_CALL(nvrtcCreateProgram, &program_, source.c_str(), "weft.cu", 0, nullptr, nullptr);
  }
  ~SourceProgram() { nvrtc().nvrtcDestroyProgram(&program_); }
  SourceProgram(const SourceProgram&) = delete;
  SourceProgram& operator=(const SourceProgram&) = delete;

  nvrtcResult compile(const std::vector<std::string>& options) {
    std::vector<const char*> pointers;
    for (const std::string& option : options) pointers.push_back(option.c_str());
    const SignalGuard kept;
    return nvrtc().nvrtcCompileProgram(program_, static_cast<int>(pointers.size()), pointers.data());
  }

  // Asks for a function, or an instantiation of a template: it is in the image.
  void want(const std::string& entry) { WEFT_NVRTC_CALL(nvrtcAddNameExpression, program_, entry.c_str()); }

  // The name that it has in the image.
  std::string nameOf(const std::string& entry) const {
    const char* name = nullptr;
    WEFT_NVRTC_CALL(nvrtcGetLoweredName, program_, entry.c_str(), &name);
    return name;
  }

  std::string log() const {
    size_t size = 0;
    WEFT_NVRTC_CALL(nvrtcGetProgramLogSize, program_, &size);
    std::string text(size, '\0');
    if (size > 0) WEFT_NVRTC_CALL(nvrtcGetProgramLog, program_, text.data());
    while (!text.empty() && (text.back() == '\0' || text.back() == '\n')) text.pop_back();
    return text;
  }

  // Machine code where the options name a real architecture, else PTX.
  std::vector<char> image() const {
    size_t size = 0;
    WEFT_NVRTC_CALL(nvrtcGetCUBINSize, program_, &size);
    if (size > 0) {
      std::vector<char> image(size);
      WEFT_NVRTC_CALL(nvrtcGetCUBIN, program_, image.data());
      return image;
    }
    WEFT_NVRTC_CALL(nvrtcGetPTXSize, program_, &size);
    std::vector<char> image(size);
    WEFT_NVRTC_CALL(nvrtcGetPTX, program_, image.data());
    return image;
  }

 private:
  nvrtcProgram program_ = nullptr;
};

class CompileTask : public NativeTask {
 public:
  CompileTask(std::string source, std::vector<std::string> options, std::string entry)
      : source_(std::move(source)), options_(std::move(options)), entry_(std::move(entry)) {}

  void run() override {
    checkCancelled(cancelFlag());
    const recorder::HostSpan span(recorder::Kind::compile, "NVRTC");
    SourceProgram program(source_);
    if (!entry_.empty()) program.want(entry_);
    const nvrtcResult status = program.compile(options_);
    log_ = program.log();
    if (status != 0) {
      throw Failure(FailureCode::compile, "[cuda] a kernel did not compile:\n" + log_,
                    nvrtc().nvrtcGetErrorString(status), "nvrtcCompileProgram");
    }
    image_ = program.image();
    if (!entry_.empty()) name_ = program.nameOf(entry_);
  }

  Napi::Value result(Napi::Env env) override {
    Napi::Uint8Array image = Napi::Uint8Array::New(env, image_.size());
    std::memcpy(image.Data(), image_.data(), image_.size());
    Napi::Object result = Napi::Object::New(env);
    result.Set("image", image);
    result.Set("log", log_);
    if (!entry_.empty()) result.Set("entry", name_);
    return result;
  }

 private:
  const std::string source_;
  const std::vector<std::string> options_;
  // Empty: none is asked for.
  const std::string entry_;
  std::string name_;
  std::vector<char> image_;
  std::string log_;
};

}  // namespace

const NvrtcState& nvrtcState() {
  static const NvrtcState& state = *findNvrtc();
  return state;
}

std::vector<std::string> nvrtcEntryPoints() {
#define WEFT_SYMBOL(name, ...) #name,
  return {WEFT_NVRTC(WEFT_SYMBOL) "nvrtcGetErrorString"};
#undef WEFT_SYMBOL
}

Executor& compileExecutor() {
  static Executor& executor =
      makeExecutor("weft-compile", std::clamp<size_t>(std::thread::hardware_concurrency(), 1, kMaxCompilers));
  return executor;
}

Napi::Value compileCuda(const Napi::CallbackInfo& info) {
  const std::string source = values::text(info[0], "source");
  const std::vector<std::string> options = values::texts(info[1], "options");
  const std::string entry = info[2].IsUndefined() ? "" : values::text(info[2], "entry");
  return Environment::of(info.Env())
      .start(info.Env(), std::make_shared<CompileTask>(source, options, entry), compileExecutor());
}

}  // namespace weft::cuda
