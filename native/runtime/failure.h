// Failure: what went wrong on the native side, with what TypeScript needs to choose the error's class.
//
// Thrown by everything below native/; `guarded` (values.h) and the tasks turn it into a JavaScript error with
// the properties `code`, `status`, `call` and `path`, which src/exec/native/native-addon.ts maps to the
// classes of src/host/errors.ts.
#pragma once
#include <napi.h>

#include <exception>
#include <stdexcept>
#include <string>

namespace weft {

enum class FailureCode { argument, memory, device, lost, compile, file, aborted, internal };

class Failure : public std::runtime_error {
 public:
  Failure(FailureCode code, const std::string& message, std::string status = {}, std::string call = {},
          std::string path = {})
      : std::runtime_error(message),
        code(code),
        status(std::move(status)),
        call(std::move(call)),
        path(std::move(path)) {}

  FailureCode code;
  // The name the driver or library gives its status, and the call that returned it; empty where there was
  // none.
  std::string status;
  std::string call;
  // The file, for failures of files; `status` is then the system's error number.
  std::string path;
};

// The JavaScript error for an exception. JavaScript thread only.
Napi::Error toError(Napi::Env env, const std::exception_ptr& exception);

}  // namespace weft
