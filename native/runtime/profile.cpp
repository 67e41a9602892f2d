#include "runtime/profile.h"

#include <memory>
#include <optional>
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
  explicit TakeTask(uint64_t number) : number_(number) {}

  void run() override { taken_ = recorder::take(number_); }

  Napi::Value result(Napi::Env env) override {
    if (!taken_.has_value()) return env.Null();
    const recorder::Recording& recording = *taken_;
    Names names(env);
    Napi::Array tracks = Napi::Array::New(env, recording.tracks.size());
    for (uint32_t i = 0; i < recording.tracks.size(); i++) {
      Napi::Object track = Napi::Object::New(env);
      track.Set("device", recording.tracks[i].device);
      track.Set("name", recording.tracks[i].name);
      tracks.Set(i, track);
    }
    Napi::Float64Array spans = Napi::Float64Array::New(env, recording.spans.size() * kSpanFields);
    double* out = spans.Data();
    for (const recorder::Span& span : recording.spans) {
      const auto at = [&](SpanField field) -> double& { return out[static_cast<size_t>(field)]; };
      at(SpanField::track) = static_cast<double>(span.track);
      at(SpanField::kind) = static_cast<double>(span.kind);
      at(SpanField::name) = names.at(span.name);
      at(SpanField::begin) = static_cast<double>(span.begin - recording.begin);
      at(SpanField::end) = static_cast<double>(span.end - recording.begin);
      at(SpanField::bytes) = static_cast<double>(span.byteLength);
      at(SpanField::tile) = static_cast<double>(span.tile);
      out += kSpanFields;
    }
    Napi::Float64Array samples = Napi::Float64Array::New(env, recording.samples.size() * kSampleFields);
    out = samples.Data();
    for (const recorder::Sample& sample : recording.samples) {
      const auto at = [&](SampleField field) -> double& { return out[static_cast<size_t>(field)]; };
      at(SampleField::device) = names.at(sample.device);
      at(SampleField::time) = static_cast<double>(sample.time - recording.begin);
      at(SampleField::bytes) = static_cast<double>(sample.byteLength);
      out += kSampleFields;
    }
    Napi::Object result = Napi::Object::New(env);
    result.Set("tracks", tracks);
    result.Set("names", names.list());
    result.Set("spans", spans);
    result.Set("samples", samples);
    result.Set("nanoseconds", static_cast<double>(recording.end - recording.begin));
    result.Set("dropped", static_cast<double>(recording.dropped));
    return result;
  }

 private:
  uint64_t number_;
  std::optional<recorder::Recording> taken_;
};

}  // namespace

Napi::Value beginProfile(const Napi::CallbackInfo& info) {
  recorder::callThreadJavaScript();
  const std::optional<recorder::Begun> begun = recorder::begin(info[0].ToBoolean());
  if (!begun.has_value()) {
    throw Failure(FailureCode::argument,
                  "[profile] expected no other profile to be under way in this process");
  }
  // A worker may be gone before it ends what it began.
  const auto abandon = [](void* number) { recorder::abandon(reinterpret_cast<uintptr_t>(number)); };
  napi_add_env_cleanup_hook(info.Env(), abandon, reinterpret_cast<void*>(begun->number));
  for (const Device* device : openedDevices())
    recorder::sample(device->isHost() ? "host" : device->name(), device->memory().inUse);
  Napi::Object result = Napi::Object::New(info.Env());
  result.Set("begin", static_cast<double>(begun->time));
  result.Set("number", static_cast<double>(begun->number));
  return result;
}

Napi::Value endProfile(const Napi::CallbackInfo& info) {
  const auto number = static_cast<uint64_t>(info[0].ToNumber().Int64Value());
  if (!recorder::stop(number)) return info.Env().Null();
  return Environment::of(info.Env()).start(info.Env(), std::make_shared<TakeTask>(number), profileExecutor());
}

Napi::Value workTotals(const Napi::CallbackInfo& info) {
  Napi::Float64Array result = Napi::Float64Array::New(info.Env(), 2 * recorder::kKinds);
  for (size_t k = 0; k < recorder::kKinds; k++) {
    const recorder::Total& total = recorder::totals[k];
    result[2 * k] = static_cast<double>(total.count.load(std::memory_order_relaxed));
    result[2 * k + 1] = static_cast<double>(total.byteLength.load(std::memory_order_relaxed));
  }
  return result;
}

}  // namespace weft
