// A run as JavaScript asked for it: it begins on the thread that asks or on its device's executor, and its
// outputs become JavaScript values.
#pragma once
#include <napi.h>

#include <exception>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/device.h"
#include "runtime/environment.h"

namespace weft {

// An ArrayBuffer over a result's memory; a copy where it is small, or the engine does not allow such buffers.
Napi::Value toArrayBuffer(Napi::Env env, std::shared_ptr<Memory> memory);

// The owner of the memory of an ArrayBuffer that nobody has seen yet: it may be let go of before the
// collector comes round.
using SharedOwner = std::shared_ptr<std::shared_ptr<Memory>>;

class RunTask : public Task, public Run {
 public:
  RunTask() { timeline.asked = Timeline::now(); }

  // Whether the result tells when things happened.
  bool tellsTimeline = false;
  // Whether results are written to memory that is JavaScript's, which it uses then until its end.
  bool writesJavaScript = false;
  // To begin on the thread that asks for it.
  InlinePermit permit;

  void begin() override;
  // Where it has a permit that settles it.
  Napi::Value settleNow(Napi::Env env);
  void leaveInputs() noexcept override {
    if (!writesJavaScript) leaveJavaScript();
  }
  bool enterInputs() noexcept override { return enterJavaScript(); }
  void queued() noexcept override;
  // Gives results that are too large for an ArrayBuffer over memory of ours ArrayBuffers of the engine's,
  // before the run begins. Whether there are any.
  bool placeInEngine(Napi::Env env);
  // Gives results of a run that settles at once, which would be copied into ArrayBuffers of the engine's,
  // these as their memory.
  void placeCopied(Napi::Env env);
  // Gives results that a GPU copies to the host their memory, before the run begins.
  void placeAhead();
  // Makes ArrayBuffers over that memory, when the run has begun.
  void makeAhead(Napi::Env env);
  void finish(std::exception_ptr error) noexcept override;
  Napi::Value result(Napi::Env env) override;

 private:
  // Outputs that do not go to files are left as they are.
  void writeFiles() noexcept;
  // Whether a result becomes an ArrayBuffer: it goes to no file, and to no memory that is there already.
  bool becomesArray(size_t output) const;
  Napi::Value valueOf(Napi::Env env, uint32_t output, std::shared_ptr<Memory> memory) const;

  bool wasAhead_ = false;
  // By output: what owns the memory of results that is there before the run; null: none is.
  std::vector<SharedOwner> ahead_;
  // The held list of the ArrayBuffers over it, and of those that the engine allocated.
  std::optional<size_t> made_;
  // By output: those of a run that settles at once, in the scope of the call; empty, or null: there is none.
  std::vector<napi_value> arrays_;
};

}  // namespace weft
