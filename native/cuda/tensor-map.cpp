#include "cuda/tensor-map.h"

#include "runtime/failure.h"

namespace weft::cuda {
namespace {

constexpr CUdeviceptr kTensorAlignment = 16;

// CUtensorMapDataType of unsigned integers of so many bytes: copies change no bits.
int tensorDataType(int byteLength) {
  constexpr int kBytes = 0, kShorts = 1, kWords = 2, kLongs = 4;
  switch (byteLength) {
    case 1:
      return kBytes;
    case 2:
      return kShorts;
    case 4:
      return kWords;
    default:
      return kLongs;
  }
}

}  // namespace

void EncodedTensorMap::encode(const std::vector<CUdeviceptr>& addresses) {
  const CUdeviceptr address = addresses[map_.buffer];
  if (address == address_) return;
  words_ = {};
  // Of no buffer: where the driver refuses, the next run asks again.
  address_ = 0;
  if (address % kTensorAlignment == 0) {
    const std::vector<unsigned> elementStrides(map_.sizes.size(), 1);
    // Rows lie side by side, elements beyond an end are zeros.
    WEFT_CU(cuTensorMapEncodeTiled, words_.data(), tensorDataType(map_.elementBytes),
            static_cast<unsigned>(map_.sizes.size()), address, map_.sizes.data(), map_.strides.data(),
            map_.box.data(), elementStrides.data(), 0, 0, 0, 0);
  }
  address_ = address;
}

}  // namespace weft::cuda
