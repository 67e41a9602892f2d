#include "runtime/reader-source.h"

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>

#include "runtime/failure.h"

namespace weft {
namespace {

// How soon a thread that waits sees that its run was stopped.
constexpr std::chrono::milliseconds kPatience{20};

}  // namespace

// A range that is wanted. Its waiter may give up, and `to` is then no longer there.
struct ReaderSource::Request {
  enum class State { waiting, there, failed, givenUp };
  std::mutex mutex;
  std::condition_variable changed;
  State state = State::waiting;
  void* to;
  size_t byteLength;

  void settle(const Napi::Value& value) {
    const std::lock_guard lock(mutex);
    if (state != State::waiting) return;
    state = State::failed;
    if (value.IsTypedArray()) {
      const auto bytes = value.As<Napi::TypedArray>();
      if (bytes.TypedArrayType() == napi_uint8_array && bytes.ByteLength() == byteLength) {
        std::memcpy(to, bytes.As<Napi::Uint8Array>().Data(), byteLength);
        state = State::there;
      }
    }
    changed.notify_all();
  }
};

ReaderSource::ReaderSource(const Napi::Function& read, size_t byteLength)
    : call_(Environment::of(read.Env()).caller()),
      read_(std::make_shared<Napi::FunctionReference>(Napi::Persistent(read))),
      byteLength_(byteLength) {}

ReaderSource::~ReaderSource() {
  // A reference is let go on its own thread; with its environment, if that goes away.
  Napi::FunctionReference* const last = read_.get();
  if (!call_([read = std::move(read_)](Napi::Env) mutable { read.reset(); })) last->SuppressDestruct();
}

void ReaderSource::read(size_t offset, size_t byteLength, void* to) {
  if (byteLength == 0) return;
  const auto request = std::make_shared<Request>();
  request->to = to;
  request->byteLength = byteLength;
  const auto ask = [request, read = read_, offset](Napi::Env env) {
    const auto done = [request](const Napi::CallbackInfo& info) { request->settle(info[0]); };
    try {
      read->Call({Napi::Number::New(env, static_cast<double>(offset)),
                  Napi::Number::New(env, static_cast<double>(request->byteLength)),
                  Napi::Function::New(env, done)});
    } catch (const Napi::Error&) {
      request->settle(env.Undefined());
    }
  };
  if (!call_(ask)) throw Failure(FailureCode::aborted, "the run was stopped");
  std::unique_lock lock(request->mutex);
  while (request->state == Request::State::waiting) {
    request->changed.wait_for(lock, kPatience);
    if (cancel_ == nullptr || !cancel_->load(std::memory_order_relaxed)) continue;
    if (request->state != Request::State::waiting) break;
    request->state = Request::State::givenUp;
    checkCancelled(*cancel_);
  }
  if (request->state == Request::State::failed)
    throw Failure(FailureCode::file, "elements could not be read");
}

}  // namespace weft
