// Sorts of numbers in vector registers, compiled once for each instruction set (sort-lanes.cpp).
#pragma once
#include <cstdint>

#include "cpu/sort-keys.h"

namespace weft::cpu {

// How elements turn into the signed integers that are sorted, whose order is that of the keys in sort-keys.h.
struct KeyForm {
  KeyKind kind;
  bool isDescending;
  // Positions are sorted: -0 is 0.
  bool isArgument;
};

// Loops over signed integers of 32 or of 64 bits.
template <typename T>
struct SortLoops {
  // Ascending, in place: by heap sort where more than so many partitions would be one inside another.
  void (*sort)(T* keys, int64_t count, int levels);
  // Puts keys that are not above the pivot first, and gives how many those are.
  int64_t (*partition)(T* keys, int64_t count, T pivot);
  // Elements of as many bits.
  void (*encode)(const KeyForm& form, const void* elements, int64_t count, T* keys);
  void (*decode)(const KeyForm& form, const T* keys, int64_t count, void* elements);
};

struct SortKernels {
  SortLoops<int32_t> words;
  SortLoops<int64_t> longs;
  // Keys of 32 bits above their positions, from `first` on: one order, which is stable.
  void (*encodePairs)(const KeyForm& form, const void* elements, int64_t first, int64_t count,
                      int64_t* pairs);
  void (*decodePairs)(const int64_t* pairs, int64_t count, int64_t* positions);
};

// Of the instruction set that runs; null where it has no such sorts.
const SortKernels* sortKernels();

}  // namespace weft::cpu
