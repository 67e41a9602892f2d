// Addresses on a device as the pointers that libraries take.
#pragma once
#include "cuda/driver.h"

namespace weft::cuda {

template <typename T = void>
T* pointer(CUdeviceptr address) {
  return reinterpret_cast<T*>(address);
}

}  // namespace weft::cuda
