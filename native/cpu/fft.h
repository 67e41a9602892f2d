// Fourier transforms: plans, and the kernels that are compiled for each instruction set (fft-lanes.cpp).
//
// A plan says how sequences of one length are transformed, and depends on nothing else: neither on how many
// there are, nor on the instruction set. Kernels compute a lane as if it were alone, without contracting
// products and sums, so that bits do not depend on the lane either.
//
//     direct   radices whose product is the length: Stockham passes over vectors that hold one element of
//              `lanes` sequences each
//     steps    n = n1 · n2 (Bailey): n2 transforms of n1 elements, twiddles, n1 transforms of n2, all direct.
//              The lanes are those of one sequence, or of several
//     chirp    a prime factor is large (Bluestein): a convolution with e^(iπ j²/n), by transforms of a length
//              of small factors
//     cycle    a prime n, where n - 1 has small factors (Rader): all elements but the first in the order of
//     the
//              powers of a generator modulo n, as a cyclic convolution of n - 1
//     library  FFTW or MKL, where one is in use (fft-library.h)
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>

namespace weft::cpu {

// Lanes of the widest vectors: what tables are padded to.
inline constexpr int64_t kMostFftLanes = 16;
// Longer sequences of small factors are transformed in steps.
inline constexpr int64_t kMostDirect = 128;
// Factors that have passes of their own.
inline constexpr int64_t kMostRadix = 61;
// Of longer ones each row is transformed by itself.
inline constexpr int64_t kMostInLanes = 2048;
// Longer sequences in steps have twiddles as products of a coarse and a fine one: those of 2^26 elements are
// a table of 64 MB in place of 512.
inline constexpr int64_t kMostWhole = 1 << 16;
// Neighbours that share a coarse twiddle.
inline constexpr int64_t kFine = kMostFftLanes;

struct FftLibrary;

struct FftPass {
  int64_t radix;
  // Elements after the pass: [m][radix][s], of which those before it are [radix][m][s].
  int64_t m, s;
  // Pairs: for each p < m and 0 < j < radix, e^(-2πi p j / (m radix)).
  const void* twiddles;
  // Of an odd radix: pairs for each j < radix, cos and sin of 2π j / radix.
  const void* roots;
};

// Tables hold elements of the plan's precision, and are there once `fillTables` has run.
struct FftPlan {
  enum class Kind { direct, steps, chirp, cycle, library };
  Kind kind;
  int64_t length;
  // direct
  const FftPass* passes;
  int passCount;
  // steps: those of n1 and n2. For each k1 < n1 a line of n2 real and a line of n2 imaginary parts of
  // e^(-2πi k1 j2 / n), each padded to a multiple of kMostFftLanes. Of sequences longer than kMostWhole the
  // lines have j2 = 0, kFine, 2 kFine …, and `fine` has for each k1 the real and the imaginary parts of j2 <
  // kFine.
  const FftPlan *first, *second;
  const void *table, *fine;
  // chirp: the plan of the convolution, e^(-iπ j²/n) in pairs, and the transform of its conjugate over the
  // length of the convolution.
  const FftPlan* padded;
  const void *chirp, *spectrum;
  // cycle: the plan of n - 1 is `padded`, and `spectrum` the transform of the roots of unity in the order of
  // the generator's powers from the last; the places of n - 1 elements that are read, and of those that are
  // written.
  const int64_t* places;
  // library: its plans of the two directions.
  const FftLibrary* library;
  void *forward, *backward;

  // Bytes of its tables and of those of its parts.
  size_t tableBytes;

  // Whether rows are transformed with a lane for each, where there are some: their elements in lanes fit the
  // second-level cache.
  bool isInLanes() const {
    return kind == Kind::direct || (kind == Kind::steps && length <= kMostInLanes) ||
           ((kind == Kind::chirp || kind == Kind::cycle) && padded->length <= kMostInLanes);
  }
  bool isWhole() const { return length <= kMostWhole; }
  int64_t tableLine() const {
    const int64_t entries = isWhole() ? second->length : (second->length + kFine - 1) / kFine;
    return (entries + kMostFftLanes - 1) / kMostFftLanes * kMostFftLanes;
  }
};

// Of a real transform of even length n by a complex one of n/2: -i e^(-2πi k/n) / 2 for k <= n/4, real parts
// and imaginary parts by themselves.
struct RealTable {
  int64_t half;
  const void *re, *im;
  size_t tableBytes;
};

// Sequences, each of elements `step` complex numbers apart, and each `next` after the one before it.
struct FftRows {
  const void* in;
  void* out;
  int64_t inNext, outNext;
};

// All take complex numbers as pairs; `inverse` transforms have the other sign and no factor. In place where
// `in` is `out`. `scratch` is aligned to a cache line.
struct FftKernels {
  int64_t lanes;
  size_t realBytes;
  // Scratch of `rows` for up to `lanes` sequences, and of `columns`.
  size_t (*rowsScratch)(const FftPlan& plan);
  size_t (*columnsScratch)(const FftPlan& plan);
  // `count` sequences whose elements follow each other.
  void (*rows)(const FftPlan& plan, const FftRows& rows, int64_t count, bool inverse, std::byte* scratch);
  // `count` <= `lanes` sequences side by side, whose elements are `stride` apart.
  void (*columns)(const FftPlan& plan, const void* in, void* out, int64_t stride, int64_t count, bool inverse,
                  std::byte* scratch);
  // The two halves of `rows` for one sequence in steps, for columns [first, last) in blocks of `lanes`.
  // `between` has `betweenBytes`, `scratch` has `stepScratch`.
  size_t (*betweenBytes)(const FftPlan& plan);
  size_t (*stepScratch)(const FftPlan& plan);
  void (*firstStep)(const FftPlan& plan, const void* in, std::byte* between, int64_t first, int64_t last,
                    bool inverse, std::byte* scratch);
  void (*secondStep)(const FftPlan& plan, const std::byte* between, void* out, int64_t first, int64_t last,
                     bool inverse, std::byte* scratch);
  // The half transform of a real sequence to its spectrum of half + 1 elements, in place; and back from one
  // to the half spectrum.
  void (*splitReal)(const RealTable& table, void* row);
  void (*joinReal)(const RealTable& table, const void* from, void* to);
  // `count` rows of real numbers to their spectra, one behind the other, and back where it is `inverse`, by
  // the direct plan of the length, or where that is even of half of it. `scratch` as of `rows`.
  void (*realRows)(const FftPlan& plan, const RealTable* table, const void* in, void* out, int64_t count,
                   bool inverse, std::byte* scratch);
};

// Of float32 or float64, for the instruction set that runs.
const FftKernels& fftKernels(bool isDouble);
// Those that a plan is run by: a library's, or these.
const FftKernels& fftKernels(const FftPlan& plan, bool isDouble);

// The plan of a length, and the table of a real one of even length: those used last are kept, as long as
// their tables are within some megabytes. Without tables until they are filled, so that sizes are known at
// once. Any thread.
using FftPlanPointer = std::shared_ptr<FftPlan>;
using RealTablePointer = std::shared_ptr<RealTable>;
FftPlanPointer fftPlan(int64_t length, bool isDouble);
RealTablePointer realTable(int64_t length, bool isDouble);
// Computes the tables that are not there yet: seconds for sequences of 2^28 elements.
void fillTables(FftPlan& plan, bool isDouble);
void fillTables(RealTable& table, bool isDouble);

}  // namespace weft::cpu
