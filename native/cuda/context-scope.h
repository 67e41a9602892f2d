// ContextScope: a device's context on a thread that is not the runtime's. The context current there before is
// so again after it.
#pragma once
#include "cuda/driver.h"

namespace weft::cuda {

class ContextScope {
 public:
  explicit ContextScope(CUcontext context) { WEFT_CU(cuCtxPushCurrent, context); }
  ~ContextScope() {
    CUcontext context = nullptr;
    // Fails only where nothing is pushed.
    static_cast<void>(driver().cuCtxPopCurrent(&context));
  }
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;
};

}  // namespace weft::cuda
