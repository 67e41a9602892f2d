#include "cuda/library-status.h"

#include <algorithm>
#include <string>

#include "runtime/failure.h"

namespace weft::cuda {
namespace {

// cuBLAS, cuBLASLt and cuTENSOR share their numbers.
constexpr StatusName kBlasStatuses[] = {
    {1, "NOT_INITIALIZED"},         {3, "ALLOC_FAILED"},
    {7, "INVALID_VALUE"},           {8, "ARCH_MISMATCH"},
    {11, "MAPPING_ERROR"},          {13, "EXECUTION_FAILED"},
    {14, "INTERNAL_ERROR"},         {15, "NOT_SUPPORTED"},
    {17, "CUBLAS_ERROR"},           {18, "CUDA_ERROR"},
    {19, "INSUFFICIENT_WORKSPACE"}, {20, "INSUFFICIENT_DRIVER"},
};
constexpr StatusName kFftStatuses[] = {
    {1, "INVALID_PLAN"},     {2, "ALLOC_FAILED"},        {3, "INVALID_TYPE"},   {4, "INVALID_VALUE"},
    {5, "INTERNAL_ERROR"},   {6, "EXEC_FAILED"},         {7, "SETUP_FAILED"},   {8, "INVALID_SIZE"},
    {9, "UNALIGNED_DATA"},   {11, "INVALID_DEVICE"},     {13, "NO_WORKSPACE"},  {14, "NOT_IMPLEMENTED"},
    {16, "NOT_SUPPORTED"},   {17, "MISSING_DEPENDENCY"}, {18, "NVRTC_FAILURE"}, {19, "NVJITLINK_FAILURE"},
    {20, "NVSHMEM_FAILURE"},
};
constexpr StatusName kSolverStatuses[] = {
    {1, "NOT_INITIALIZED"},  {2, "ALLOC_FAILED"},
    {3, "INVALID_VALUE"},    {4, "ARCH_MISMATCH"},
    {5, "MAPPING_ERROR"},    {6, "EXECUTION_FAILED"},
    {7, "INTERNAL_ERROR"},   {8, "MATRIX_TYPE_NOT_SUPPORTED"},
    {9, "NOT_SUPPORTED"},    {10, "ZERO_PIVOT"},
    {11, "INVALID_LICENSE"}, {31, "INVALID_WORKSPACE"},
};
constexpr StatusName kDssStatuses[] = {
    {1, "NOT_INITIALIZED"},  {2, "ALLOC_FAILED"},   {3, "INVALID_VALUE"}, {4, "NOT_SUPPORTED"},
    {5, "EXECUTION_FAILED"}, {6, "INTERNAL_ERROR"}, {7, "IR_FAILED"},
};

std::string nameOf(int status, const StatusNames& names) {
  const auto found = std::ranges::find(names.names, status, &StatusName::status);
  return names.prefix + (found == names.names.end() ? std::to_string(status) : found->name);
}

}  // namespace

constexpr StatusNames kCublasNames{"cuBLAS", "CUBLAS_STATUS_", 3, kBlasStatuses};
constexpr StatusNames kCublasLtNames{"cuBLASLt", "CUBLAS_STATUS_", 3, kBlasStatuses};
constexpr StatusNames kCutensorNames{"cuTENSOR", "CUTENSOR_STATUS_", 3, kBlasStatuses};
constexpr StatusNames kCufftNames{"cuFFT", "CUFFT_", 2, kFftStatuses};
constexpr StatusNames kCusolverNames{"cuSOLVER", "CUSOLVER_STATUS_", 2, kSolverStatuses};
constexpr StatusNames kCudssNames{"cuDSS", "CUDSS_STATUS_", 2, kDssStatuses};

void checkStatus(int status, const StatusNames& names, const char* call) {
  if (status == 0) return;
  const FailureCode code = status == names.allocationFailed ? FailureCode::memory : FailureCode::device;
  throw Failure(code, std::string("[cuda] ") + names.library + " failed", nameOf(status, names), call);
}

}  // namespace weft::cuda
