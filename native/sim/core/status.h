// Status: the driver's result codes that the simulator returns, with CUDA's own values and names.
#pragma once

namespace weft::sim {

inline constexpr int kSuccess = 0, kInvalidValue = 1, kOutOfMemory = 2, kNotInitialized = 3,
                     kInvalidDevice = 101, kInvalidImage = 200, kInvalidContext = 201, kNoBinaryForGpu = 209,
                     kInvalidHandle = 400, kNotFound = 500, kNotReady = 600, kIllegalAddress = 700,
                     kLaunchOutOfResources = 701, kAlreadyRegistered = 712, kMisalignedAddress = 716,
                     kLaunchFailed = 719, kCaptureUnsupported = 900, kCaptureInvalidated = 901,
                     kCaptureWrongThread = 908, kGraphUpdateFailed = 910, kIllegalState = 401;

// "CUDA_ERROR_…"; null for a value that is no status.
const char* statusName(int status);

}  // namespace weft::sim
