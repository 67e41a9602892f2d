// Loops over the rows of bins, compiled once for each instruction set (bin-lanes.cpp).
#pragma once
#include <cstdint>

namespace weft::cpu::bins {

// Bins between equally spaced edges, of which `first` and `last` are the outer ones: x is in bin (x - first)
// · scale, unless it is within `margin` of an edge.
template <typename Real>
struct EvenEdges {
  Real first, last, scale, margin;
};

// The place of an x that has to be compared with edges.
inline constexpr int64_t kAskEdges = -2;

// Units of sums, 1 / scale, and their parts.
struct Split {
  double scale, unit, parts;
};

// Whether values are the whole numbers that they were split into, and the bits that any of these has.
struct Wholes {
  bool areAll;
  int64_t bits;
};

struct BinKernels {
  // Whether all of the keys are 0 … bins - 1.
  bool (*areWithin)(const int64_t* keys, int64_t count, int64_t bins);
  bool (*areWithin32)(const int32_t* keys, int64_t count, int64_t bins);
  void (*evenFloats)(const EvenEdges<float>& edges, const float* x, int64_t count, int64_t* bins);
  void (*evenDoubles)(const EvenEdges<double>& edges, const double* x, int64_t count, int64_t* bins);
  // The bits of the largest magnitude.
  uint64_t (*mostOfFloats)(const float* x, int64_t count);
  uint64_t (*mostOfDoubles)(const double* x, int64_t count);
  // x in whole multiples of `unit`, rounded to 0, whose number is x · scale.
  Wholes (*splitFloats)(const float* x, int64_t count, double scale, double unit, int64_t* whole);
  Wholes (*splitDoubles)(const double* x, int64_t count, double scale, double unit, int64_t* whole);
  // The rest of each x beyond whole units, in parts of which a unit has `parts`, a power of two.
  Wholes (*restsOfFloats)(const float* x, int64_t count, const Split& by, const int64_t* whole,
                          int64_t* rest);
  Wholes (*restsOfDoubles)(const double* x, int64_t count, const Split& by, const int64_t* whole,
                           int64_t* rest);
  // Whole numbers times a unit, a power of two.
  void (*multiplesOf)(const int64_t* whole, int64_t count, double unit, double* out);
};

}  // namespace weft::cpu::bins

namespace weft::cpu {

// Those of the instruction set that runs.
const bins::BinKernels& binKernels();

}  // namespace weft::cpu
