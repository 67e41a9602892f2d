#include "cpu/bin-keys.h"

#include <cmath>

#include "cpu/bin-kernels.h"
#include "cpu/isa.h"

namespace weft::cpu {

#define WEFT_DECLARE_BINS(isa)          \
  namespace isa {                       \
  const bins::BinKernels& binKernels(); \
  }
WEFT_DECLARE_BINS(baseline)
#ifdef WEFT_HAS_AVX
WEFT_DECLARE_BINS(avx2)
WEFT_DECLARE_BINS(avx512)
#endif
#undef WEFT_DECLARE_BINS

const bins::BinKernels& binKernels() {
#ifdef WEFT_HAS_AVX
  if (currentIsa() == Isa::avx512) return avx512::binKernels();
  if (currentIsa() == Isa::avx2) return avx2::binKernels();
#endif
  return baseline::binKernels();
}

namespace bins {
namespace {

// Bins from which on places between equally spaced edges may be too large for the rounding of bin-lanes.cpp.
constexpr int64_t kMostEven = int64_t{1} << 21;

// Keys become bins, or -1 for none.
void adjust(Mode mode, bool isUnsigned64, int64_t bins, int64_t* k, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    int64_t at = k[i];
    // Of 64 bits without a sign, those beyond the others look negative.
    const bool isLarge = isUnsigned64 && at < 0;
    switch (mode) {
      case Mode::fromEnd:
      case Mode::raiseFromEnd:
        if (!isLarge && at < 0) at += bins;
        break;
      case Mode::wrap:
        if (isLarge) {
          at = static_cast<int64_t>(static_cast<uint64_t>(at) % static_cast<uint64_t>(bins));
        } else {
          at %= bins;
          if (at < 0) at += bins;
        }
        break;
      case Mode::clip:
        at = isLarge ? bins - 1 : std::clamp<int64_t>(at, 0, bins - 1);
        break;
      default:
        break;
    }
    k[i] = static_cast<uint64_t>(at) < static_cast<uint64_t>(bins) ? at : -1;
  }
}

// Between which edges a number lies. Of equally spaced ones its distance from the first one says it, but
// within rounding of an edge, where the edges are asked. As codegen/cuda/routines/bins.ts.
template <typename Real>
class Search {
 public:
  Search(const Real* edges, int64_t bins, bool isEven) : edges_(edges), bins_(bins), isEven_(isEven) {
    first_ = edges[0];
    last_ = edges[bins];
    scale_ = static_cast<Real>(bins) / (last_ - first_);
    const Real most = std::max(std::abs(first_), std::abs(last_));
    margin_ = (4 * static_cast<Real>(bins) + 4 * most * scale_) * std::numeric_limits<Real>::epsilon();
  }

  EvenEdges<Real> evenEdges() const { return {first_, last_, scale_, margin_}; }

  int64_t operator()(Real x) const {
    if (!(x >= first_ && x <= last_)) return -1;
    if (!isEven_) {
      int64_t low = 0, high = bins_;
      while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        (x >= edges_[middle] ? low : high) = middle;
      }
      return low;
    }
    const Real place = (x - first_) * scale_;
    int64_t k = place < static_cast<Real>(bins_) ? static_cast<int64_t>(place) : bins_ - 1;
    if (!(std::abs(place - std::nearbyint(place)) >= margin_)) {
      while (k > 0 && x < edges_[k]) k--;
      while (k < bins_ - 1 && x >= edges_[k + 1]) k++;
    }
    return k;
  }

 private:
  const Real* edges_;
  int64_t bins_;
  bool isEven_;
  Real first_, last_, scale_, margin_;
};

void evenBins(const EvenEdges<float>& edges, const float* x, int64_t count, int64_t* bins) {
  binKernels().evenFloats(edges, x, count, bins);
}
void evenBins(const EvenEdges<double>& edges, const double* x, int64_t count, int64_t* bins) {
  binKernels().evenDoubles(edges, x, count, bins);
}

template <typename Real>
void search(const Job& job, const RoutineJob& arrays, int64_t first, int64_t count, int64_t* bins) {
  const Search<Real> find(reinterpret_cast<const Real*>(arrays.operands[1]), job.bins, job.isEven);
  Real block[kBlock];
  readAs(job.keys, arrays.operands[0], first, count, block);
  if (!job.isEven || job.bins >= kMostEven) {
    for (int64_t i = 0; i < count; i++) bins[i] = find(block[i]);
    return;
  }
  evenBins(find.evenEdges(), block, count, bins);
  for (int64_t i = 0; i < count; i++)
    if (bins[i] == kAskEdges) bins[i] = find(block[i]);
}

}  // namespace

Found findBins(const Job& job, const RoutineJob& arrays, int64_t first, int64_t count, int64_t* room) {
  if (job.hasEdges) {
    if (job.keys == DType::float32) {
      search<float>(job, arrays, first, count, room);
    } else {
      search<double>(job, arrays, first, count, room);
    }
    return {room, false};
  }
  const bool isWide = job.keys == DType::int64 || job.keys == DType::uint64;
  const int64_t* keys = room;
  if (isWide) {
    keys = reinterpret_cast<const int64_t*>(arrays.operands[0]) + first;
  } else {
    readAs(job.keys, arrays.operands[0], first, count, room);
  }
  if (binKernels().areWithin(keys, count, job.bins)) return {keys, true};
  if (isWide) std::copy_n(keys, count, room);
  adjust(job.mode, job.keys == DType::uint64, job.bins, room, count);
  return {room, false};
}

}  // namespace bins
}  // namespace weft::cpu
