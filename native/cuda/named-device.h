// The GPU that JavaScript names.
#pragma once
#include <napi.h>

#include "cuda/device.h"

namespace weft::cuda {

// Throws where the value is no name of a GPU.
CudaDevice& namedCudaDevice(const Napi::Value& name);

}  // namespace weft::cuda
