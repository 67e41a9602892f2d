// Loops over the rows of bins for one instruction set.
#include "cpu/bin-kernels.h"
#include "cpu/isa-scope.h"

namespace weft::cpu::WEFT_ISA {
namespace {

using bins::EvenEdges;

bool areWithin(const int64_t* keys, int64_t count, int64_t bins) {
  // A sign wherever a key is below 0 or above the last bin.
  int64_t outside = 0;
  for (int64_t i = 0; i < count; i++) outside |= keys[i] | (bins - 1 - keys[i]);
  return outside >= 0;
}

bool areWithin32(const int32_t* keys, int64_t count, int64_t bins) {
  constexpr int64_t kMost = int64_t{1} << 31;
  const auto size = static_cast<uint32_t>(bins < kMost ? bins : kMost);
  uint32_t outside = 0;
  for (int64_t i = 0; i < count; i++) outside |= static_cast<uint32_t>(keys[i]) >= size ? 1 : 0;
  return outside == 0;
}

void multiplesOf(const int64_t* whole, int64_t count, double unit, double* out) {
  for (int64_t i = 0; i < count; i++) out[i] = static_cast<double>(whole[i]) * unit;
}

// The next whole number, of those that are small against the bits of a fraction, by adding what has no bits
// for more.
inline float nearest(float x) { return (x + 12582912.0f) - 12582912.0f; }
inline double nearest(double x) { return (x + 6755399441055744.0) - 6755399441055744.0; }

template <typename Real, typename Whole>
void evenBins(const EvenEdges<Real>& given, const Real* x, int64_t count, int64_t* bins) {
  const EvenEdges<Real> edges = given;
  for (int64_t i = 0; i < count; i++) {
    const Real place = (x[i] - edges.first) * edges.scale;
    const Real distance = place - nearest(place);
    const Real away = distance < 0 ? -distance : distance;
    const bool isInside = (x[i] >= edges.first) & (x[i] <= edges.last) & (away >= edges.margin);
    // A NaN is nowhere, so that what is converted is a number.
    const Whole bin = static_cast<Whole>(isInside ? place : 0);
    bins[i] = isInside ? bin : bins::kAskEdges;
  }
}

template <typename Real, typename Bits>
uint64_t mostOf(const Real* x, int64_t count) {
  constexpr Bits kMagnitude = static_cast<Bits>(~Bits{0}) >> 1;
  Bits most = 0;
  for (int64_t i = 0; i < count; i++) {
    Bits word;
    __builtin_memcpy(&word, x + i, sizeof word);
    word &= kMagnitude;
    most = word > most ? word : most;
  }
  return most;
}

template <typename Real>
bins::Wholes split(const Real* x, int64_t count, double scale, double unit, int64_t* whole) {
  int64_t rests = 0, bits = 0;
  for (int64_t i = 0; i < count; i++) {
    const double value = static_cast<double>(x[i]);
    whole[i] = static_cast<int64_t>(value * scale);
    bits |= whole[i];
    rests |= static_cast<double>(whole[i]) * unit != value ? 1 : 0;
  }
  return {rests == 0, bits};
}

template <typename Real>
bins::Wholes restsOf(const Real* x, int64_t count, const bins::Split& by, const int64_t* whole,
                     int64_t* rest) {
  int64_t broken = 0, bits = 0;
  for (int64_t i = 0; i < count; i++) {
    const double left = static_cast<double>(x[i]) - static_cast<double>(whole[i]) * by.unit;
    const double number = left * by.scale * by.parts;
    rest[i] = static_cast<int64_t>(number);
    bits |= rest[i];
    broken |= ((static_cast<double>(rest[i]) != number) | ((number == 0) & (left != 0))) ? 1 : 0;
  }
  return {broken == 0, bits};
}

}  // namespace

const bins::BinKernels& binKernels() {
  static constexpr bins::BinKernels kKernels{areWithin,
                                             areWithin32,
                                             evenBins<float, int32_t>,
                                             evenBins<double, int64_t>,
                                             mostOf<float, uint32_t>,
                                             mostOf<double, uint64_t>,
                                             split<float>,
                                             split<double>,
                                             restsOf<float>,
                                             restsOf<double>,
                                             multiplesOf};
  return kKernels;
}

}  // namespace weft::cpu::WEFT_ISA
