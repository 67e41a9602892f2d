#include "cuda/library-status.h"

#include <string>

#include "runtime/failure.h"

namespace weft::cuda {
namespace {

constexpr int kAllocationFailed = 3;

std::string nameOf(int status) {
  switch (status) {
    case 1:
      return "NOT_INITIALIZED";
    case kAllocationFailed:
      return "ALLOC_FAILED";
    case 7:
      return "INVALID_VALUE";
    case 8:
      return "ARCH_MISMATCH";
    case 11:
      return "MAPPING_ERROR";
    case 13:
      return "EXECUTION_FAILED";
    case 14:
      return "INTERNAL_ERROR";
    case 15:
      return "NOT_SUPPORTED";
    case 17:
      return "CUBLAS_ERROR";
    case 18:
      return "CUDA_ERROR";
    case 19:
      return "INSUFFICIENT_WORKSPACE";
    case 20:
      return "INSUFFICIENT_DRIVER";
    default:
      return std::to_string(status);
  }
}

}  // namespace

void checkStatus(int status, const StatusNames& names, const char* call) {
  if (status == 0) return;
  const FailureCode code = status == kAllocationFailed ? FailureCode::memory : FailureCode::device;
  throw Failure(code, std::string("[cuda] ") + names.library + " failed", names.prefix + nameOf(status),
                call);
}

}  // namespace weft::cuda
