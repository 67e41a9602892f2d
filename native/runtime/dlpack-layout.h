// The structures of DLPack 1.x (dmlc/dlpack, dlpack.h): tensors that libraries of one process hand to each
// other. Their layout is the same in all versions with this major number.
#pragma once
#include <cstdint>

namespace weft::dlpack {

struct Version {
  uint32_t major, minor;
};

inline constexpr Version kVersion{1, 0};

struct Device {
  int32_t type, id;
};

struct DataType {
  uint8_t code, bits;
  uint16_t lanes;
};

struct Tensor {
  void* data;
  Device device;
  int32_t ndim;
  DataType dtype;
  int64_t* shape;
  // In elements; null: C order.
  int64_t* strides;
  uint64_t byteOffset;
};

inline constexpr uint64_t kReadOnly = 1;

// DLManagedTensorVersioned. Its holder calls `deleter` once, on any thread, and uses nothing of it after.
struct ManagedTensor {
  Version version;
  void* context;
  void (*deleter)(ManagedTensor* self);
  uint64_t flags;
  Tensor tensor;
};

static_assert(sizeof(void*) != 8 || sizeof(ManagedTensor) == 80, "as DLPack 1.0 lays it out");

}  // namespace weft::dlpack
