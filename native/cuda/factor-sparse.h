// The factors of a sparse matrix by cuDSS, which a handle in JavaScript keeps.
#pragma once
#include <napi.h>

namespace weft::cuda {

// factorSparse(device: string, problem: SparseProblem, arrays: handle[]):
//   Promise<{ handle, byteLength, number, stored, replacedPivots, hasFailed }>
//
// `arrays`: starts, columns and values on the device. The handle is that of `byteLength` bytes of the device,
// which say nothing: programs with solves read them, so that the factors are there as long.
Napi::Value factorSparse(const Napi::CallbackInfo& info);

}  // namespace weft::cuda
