// The simulated driver: tensor maps, which are words that a kernel on the simulated GPU can read.
#include <algorithm>

#include "driver/enter.h"

using namespace weft::sim;

namespace {

constexpr unsigned kMostRank = 5, kMostBox = 256, kMostElementStride = 8;
constexpr uint64_t kMapAlignment = 64, kAlignment = 16, kMostSize = uint64_t{1} << 32,
                   kStrideEnd = uint64_t{1} << 40;

// Bytes of an element by CUtensorMapDataType, of which the last ones are floats of 4 bytes.
int elementBytes(int dataType) {
  constexpr int kBytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
  return dataType >= 0 && dataType < static_cast<int>(std::size(kBytes)) ? kBytes[dataType] : 0;
}

}  // namespace

// The words are the address, the bytes of an element, five sizes, the four strides and five of the box.
WEFT_SIM_API cuTensorMapEncodeTiled(uint64_t* map, int dataType, unsigned rank, uint64_t address,
                                    const uint64_t* sizes, const uint64_t* strides, const unsigned* box,
                                    const unsigned* elementStrides, int interleave, int swizzle,
                                    int promotion, int fill) {
  return enter("cuTensorMapEncodeTiled", Needs::driver, [&](Simulator&, Context*) {
    const auto bytes = static_cast<uint64_t>(elementBytes(dataType));
    if (map == nullptr || reinterpret_cast<uintptr_t>(map) % kMapAlignment != 0) return kInvalidValue;
    if (bytes == 0 || rank < 1 || rank > kMostRank || address == 0 || address % kAlignment != 0)
      return kInvalidValue;
    // Others are not simulated.
    if (interleave != 0 || swizzle != 0 || promotion != 0 || fill != 0) return kInvalidValue;
    std::fill_n(map, 16, 0);
    map[0] = address;
    map[1] = bytes;
    for (unsigned i = 0; i < rank; i++) {
      if (sizes[i] < 1 || sizes[i] > kMostSize || box[i] < 1 || box[i] > kMostBox) return kInvalidValue;
      if (elementStrides[i] < 1 || elementStrides[i] > kMostElementStride) return kInvalidValue;
      map[2 + i] = sizes[i];
      if (i > 0 && (strides[i - 1] == 0 || strides[i - 1] % kAlignment != 0 || strides[i - 1] >= kStrideEnd))
        return kInvalidValue;
      if (i > 0) map[6 + i] = strides[i - 1];
      map[11 + i] = box[i];
    }
    return box[0] * bytes % kAlignment == 0 ? kSuccess : kInvalidValue;
  });
}
