#include "core/status.h"

#include <array>

namespace weft::sim {
namespace {

struct Entry {
  int status;
  const char* name;
};

constexpr std::array kNames = {
    Entry{kSuccess, "CUDA_SUCCESS"},
    Entry{kInvalidValue, "CUDA_ERROR_INVALID_VALUE"},
    Entry{kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY"},
    Entry{kNotInitialized, "CUDA_ERROR_NOT_INITIALIZED"},
    Entry{4, "CUDA_ERROR_DEINITIALIZED"},
    Entry{46, "CUDA_ERROR_DEVICE_UNAVAILABLE"},
    Entry{100, "CUDA_ERROR_NO_DEVICE"},
    Entry{kInvalidDevice, "CUDA_ERROR_INVALID_DEVICE"},
    Entry{kInvalidImage, "CUDA_ERROR_INVALID_IMAGE"},
    Entry{kInvalidContext, "CUDA_ERROR_INVALID_CONTEXT"},
    Entry{kNoBinaryForGpu, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
    Entry{214, "CUDA_ERROR_ECC_UNCORRECTABLE"},
    Entry{218, "CUDA_ERROR_INVALID_PTX"},
    Entry{kInvalidHandle, "CUDA_ERROR_INVALID_HANDLE"},
    Entry{kNotFound, "CUDA_ERROR_NOT_FOUND"},
    Entry{kNotReady, "CUDA_ERROR_NOT_READY"},
    Entry{kIllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS"},
    Entry{kLaunchOutOfResources, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"},
    Entry{702, "CUDA_ERROR_LAUNCH_TIMEOUT"},
    Entry{709, "CUDA_ERROR_CONTEXT_IS_DESTROYED"},
    Entry{710, "CUDA_ERROR_ASSERT"},
    Entry{714, "CUDA_ERROR_HARDWARE_STACK_ERROR"},
    Entry{715, "CUDA_ERROR_ILLEGAL_INSTRUCTION"},
    Entry{kMisalignedAddress, "CUDA_ERROR_MISALIGNED_ADDRESS"},
    Entry{kLaunchFailed, "CUDA_ERROR_LAUNCH_FAILED"},
    Entry{801, "CUDA_ERROR_NOT_SUPPORTED"},
    Entry{kIllegalState, "CUDA_ERROR_ILLEGAL_STATE"},
    Entry{kCaptureUnsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
    Entry{kCaptureInvalidated, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"},
    Entry{kCaptureWrongThread, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD"},
    Entry{kGraphUpdateFailed, "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE"},
    Entry{999, "CUDA_ERROR_UNKNOWN"},
};

}  // namespace

const char* statusName(int status) {
  for (const Entry& entry : kNames) {
    if (entry.status == status) return entry.name;
  }
  return nullptr;
}

}  // namespace weft::sim
