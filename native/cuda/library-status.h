// The statuses of cuBLAS, cuBLASLt and cuTENSOR, which share their numbers.
#pragma once

namespace weft::cuda {

struct StatusNames {
  // For messages: "cuBLAS", and what its names begin with: "CUBLAS_STATUS_".
  const char* library;
  const char* prefix;
};
inline constexpr StatusNames kCublasNames{"cuBLAS", "CUBLAS_STATUS_"};
inline constexpr StatusNames kCublasLtNames{"cuBLASLt", "CUBLAS_STATUS_"};
inline constexpr StatusNames kCutensorNames{"cuTENSOR", "CUTENSOR_STATUS_"};

// Throws a Failure that names the call, where the status is not success.
void checkStatus(int status, const StatusNames& names, const char* call);

}  // namespace weft::cuda
