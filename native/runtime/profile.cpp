#include "runtime/profile.h"

#include <memory>
#include <unordered_map>

#include "runtime/device.h"
#include "runtime/environment.h"
#include "runtime/executor.h"
#include "runtime/failure.h"
#include "runtime/recorder.h"
#include "shared/layout.h"

namespace weft {
namespace {

Executor& profileExecutor() {
  static Executor& executor = makeExecutor("weft-profile");
  return executor;
}

// Texts by position, each once.
class Names {
 public:
  explicit Names(Napi::Env env) : list_(Napi::Array::New(env)) {}
  uint32_t at(const std::string& text) {
    const auto [found, isNew] = positions_.try_emplace(text, static_cast<uint32_t>(positions_.size()));
    if (isNew) list_.Set(found->second, text);
    return found->second;
  }
  Napi::Array list() const { return list_; }

 private:
  Napi::Array list_;
  std::unordered_map<std::string, uint32_t> positions_;
};

class TakeTask : public BlockingTask {
 public:
  void run() override { recording_ = recorder::take(); }

  Napi::Value result(Napi::Env env) override {
    Names names(env);
    Napi::Array tracks = Napi::Array::New(env, recording_.tracks.size());
    for (uint32_t i = 0; i < recording_.tracks.size(); i++) {
      Napi::Object track = Napi::Object::New(env);
      track.Set("device", recording_.tracks[i].device);
      track.Set("name", recording_.tracks[i].name);
      tracks.Set(i, track);
    }
    Napi::Float64Array spans = Napi::Float64Array::New(env, recording_.spans.size() * kSpanFields);
    double* out = spans.Data();
    for (const recorder::Span& span : recording_.spans) {
      const auto at = [&](SpanField field) -> double& { return out[static_cast<size_t>(field)]; };
      at(SpanField::track) = static_cast<double>(span.track);
      at(SpanField::kind) = static_cast<double>(span.kind);
      at(SpanField::name) = names.at(span.name);
      at(SpanField::begin) = static_cast<double>(span.begin - recording_.begin);
      at(SpanField::end) = static_cast<double>(span.end - recording_.begin);
      at(SpanField::bytes) = static_cast<double>(span.byteLength);
      at(SpanField::tile) = static_cast<double>(span.tile);
      out += kSpanFields;
    }
    Napi::Float64Array samples = Napi::Float64Array::New(env, recording_.samples.size() * kSampleFields);
    out = samples.Data();
    for (const recorder::Sample& sample : recording_.samples) {
      const auto at = [&](SampleField field) -> double& { return out[static_cast<size_t>(field)]; };
      at(SampleField::device) = names.at(sample.device);
      at(SampleField::time) = static_cast<double>(sample.time - recording_.begin);
      at(SampleField::bytes) = static_cast<double>(sample.byteLength);
      out += kSampleFields;
    }
    Napi::Object result = Napi::Object::New(env);
    result.Set("tracks", tracks);
    result.Set("names", names.list());
    result.Set("spans", spans);
    result.Set("samples", samples);
    result.Set("nanoseconds", static_cast<double>(recording_.end - recording_.begin));
    result.Set("dropped", static_cast<double>(recording_.dropped));
    return result;
  }

 private:
  recorder::Recording recording_;
};

}  // namespace

Napi::Value beginProfile(const Napi::CallbackInfo& info) {
  recorder::callThreadJavaScript();
  const int64_t begin = recorder::begin();
  if (begin == 0) {
    throw Failure(FailureCode::argument,
                  "[profile] expected no other profile to be under way in this process");
  }
  // A worker may be gone before it ends what it began.
  const auto abandon = [](void* number) { recorder::abandon(reinterpret_cast<uintptr_t>(number)); };
  napi_add_env_cleanup_hook(info.Env(), abandon, reinterpret_cast<void*>(recorder::number()));
  for (const Device* device : openedDevices())
    recorder::sample(device->isHost() ? "host" : device->name(), device->memory().inUse);
  return Napi::Number::New(info.Env(), static_cast<double>(begin));
}

Napi::Value endProfile(const Napi::CallbackInfo& info) {
  if (!recorder::stop()) throw Failure(FailureCode::argument, "[profile] expected a profile under way");
  return Environment::of(info.Env()).start(info.Env(), std::make_shared<TakeTask>(), profileExecutor());
}

}  // namespace weft
