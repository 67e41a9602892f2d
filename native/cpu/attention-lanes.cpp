// The innermost loops of attention for one instruction set.
#include "cpu/attention-kernels.h"
#include "cpu/half-lanes.h"
#include "cpu/vector-functions.h"

namespace weft::cpu::WEFT_ISA {
namespace {

constexpr float kInfinity = __builtin_inff();

#if defined(__AVX2__)
inline Vector<float> exponential(Vector<float> x) { return VectorExp::run(x); }
#else
inline Vector<float> exponential(Vector<float> x) {
  for (int l = 0; l < kLanes<float>; l++) x[l] = __builtin_expf(x[l]);
  return x;
}
#endif

// A sum of lanes in an order that is the same for vectors of any length.
inline float sumOf(float* lanes) {
  for (int64_t apart = kAttentionLanes / 2; apart > 0; apart /= 2)
    for (int64_t k = 0; k < apart; k++) lanes[k] += lanes[k + apart];
  return lanes[0];
}

// NaN is no largest: it becomes an exponential that is NaN.
float largestOf(int64_t count, const float* scores) {
  float lanes[kAttentionLanes];
  for (float& lane : lanes) lane = -kInfinity;
  for (int64_t i = 0; i < count; i += kAttentionLanes)
    for (int64_t k = 0; k < kAttentionLanes; k++)
      lanes[k] = scores[i + k] > lanes[k] ? scores[i + k] : lanes[k];
  float largest = lanes[0];
  for (const float lane : lanes) largest = lane > largest ? lane : largest;
  return largest;
}

float exponentials(int64_t count, float scale, float* scores, AttentionRow& row) {
  constexpr int kVector = kLanes<float>;
  const float largest = largestOf(count, scores) * scale;
  const float most = largest > row.most ? largest : row.most;
  // A row of which nothing is there yet: no difference of infinities.
  const float base = most == -kInfinity ? 0 : most;
  float lanes[kAttentionLanes] = {};
  for (int64_t i = 0; i < count; i += kAttentionLanes)
    for (int64_t k = 0; k < kAttentionLanes; k += kVector) {
      const Vector<float> power = exponential(loadVector(scores + i + k) * scale - base);
      storeVector(scores + i + k, power);
      storeVector(lanes + k, loadVector(lanes + k) + power);
    }
  const Vector<float> before = Vector<float>{} + (row.most - base);
  const float factor = exponential(before)[0];
  row = {most, row.total * factor + sumOf(lanes)};
  return factor;
}

void multiply(int64_t count, float factor, float* x) {
  for (int64_t i = 0; i < count; i++) x[i] *= factor;
}

template <typename Cast>
void widen(int64_t count, const uint16_t* from, float* to) {
  for (int64_t i = 0; i < count; i++) to[i] = Cast::run(from[i]);
}

struct Same {
  static float run(float value) { return value; }
};

template <typename Cast, typename To>
void narrow(int64_t count, float divisor, const float* x, To* to) {
  for (int64_t i = 0; i < count; i++) to[i] = Cast::run(x[i] / divisor);
}

}  // namespace

const AttentionKernels& attentionKernels() {
  static constexpr AttentionKernels kKernels{exponentials,
                                             multiply,
                                             widen<FromHalf>,
                                             widen<FromBrain>,
                                             narrow<Same, float>,
                                             narrow<ToHalf, uint16_t>,
                                             narrow<ToBrain, uint16_t>};
  return kKernels;
}

}  // namespace weft::cpu::WEFT_ISA
