// Numbers of CUDA's libraries: their statuses, of which each has its own and 0 is success, and the properties
// that they are asked for.
#pragma once
#include <span>

namespace weft::cuda {

// libraryPropertyType.
inline constexpr int kMajorVersion = 0, kMinorVersion = 1;

struct StatusName {
  int status;
  const char* name;
};

struct StatusNames {
  // For messages: "cuBLAS", and the beginning of its names: "CUBLAS_STATUS_".
  const char* library;
  const char* prefix;
  // The status of a call that memory did not suffice for.
  int allocationFailed;
  std::span<const StatusName> names;
};
extern const StatusNames kCublasNames, kCublasLtNames, kCutensorNames, kCufftNames, kCusolverNames,
    kCudssNames;

// Throws a Failure that names the call, where the status is not success.
void checkStatus(int status, const StatusNames& names, const char* call);

}  // namespace weft::cuda
