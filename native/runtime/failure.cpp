#include "runtime/failure.h"

#include <new>

namespace weft {
namespace {

const char* nameOf(FailureCode code) {
  switch (code) {
    case FailureCode::argument:
      return "argument";
    case FailureCode::memory:
      return "memory";
    case FailureCode::device:
      return "device";
    case FailureCode::lost:
      return "lost";
    case FailureCode::compile:
      return "compile";
    case FailureCode::file:
      return "file";
    case FailureCode::aborted:
      return "aborted";
    case FailureCode::internal:
      break;
  }
  return "internal";
}

Napi::Error make(Napi::Env env, FailureCode code, const char* message) {
  Napi::Error error = Napi::Error::New(env, message);
  error.Value().Set("code", nameOf(code));
  return error;
}

}  // namespace

Napi::Error toError(Napi::Env env, const std::exception_ptr& exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const Napi::Error& error) {
    return error;
  } catch (const Failure& failure) {
    Napi::Error error = make(env, failure.code, failure.what());
    if (!failure.status.empty()) error.Value().Set("status", failure.status);
    if (!failure.call.empty()) error.Value().Set("call", failure.call);
    if (!failure.path.empty()) error.Value().Set("path", failure.path);
    return error;
  } catch (const std::invalid_argument& error) {
    return make(env, FailureCode::argument, error.what());
  } catch (const std::bad_alloc&) {
    return make(env, FailureCode::memory, "out of host memory");
  } catch (const std::exception& error) {
    return make(env, FailureCode::internal, error.what());
  } catch (...) {
    return make(env, FailureCode::internal, "an unknown exception");
  }
}

}  // namespace weft
