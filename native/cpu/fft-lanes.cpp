// Kernels of Fourier transforms for one instruction set: sequences side by side here, rows and the passes of
// real ones in their headers.
#include "cpu/fft-real-lanes.h"
#include "cpu/fft-rows.h"

namespace weft::cpu::WEFT_ISA {
namespace {

template <typename T>
size_t columnsScratch(const FftPlan& plan) {
  switch (plan.kind) {
    case FftPlan::Kind::direct:
      return 2 * localBytes<T>(plan.length);
    case FftPlan::Kind::steps:
      return stepScratch<T>(plan) + localBytes<T>(plan.length + plan.first->length);
    default:
      return padded(static_cast<size_t>(plan.length) * 2 * sizeof(T)) * kLanes<T> + rowsScratch<T>(plan);
  }
}

// Sequences of a chirp are moved apart first.
template <typename T>
void columns(const FftPlan& plan, const void* from, void* to, int64_t stride, int64_t count, bool inverse,
             std::byte* scratch) {
  T* const in = const_cast<T*>(static_cast<const T*>(from));
  T* const out = static_cast<T*>(to);
  const int64_t n = plan.length;
  if (plan.kind == FftPlan::Kind::direct)
    return transform<T>(plan, Pairs<T>{in, 2 * stride, count, inverse},
                        Pairs<T>{out, 2 * stride, count, inverse}, localAt<T>(scratch),
                        localAt<T>(scratch + localBytes<T>(n)));
  if (plan.kind == FftPlan::Kind::steps) {
    const int64_t n1 = plan.first->length, n2 = plan.second->length;
    const auto columnOf = [&](int64_t j) {
      return Pairs<T>{in + 2 * j * stride, 2 * n2 * stride, count, inverse};
    };
    const auto sinkOf = [&](int64_t k) {
      return Pairs<T>{out + 2 * k * stride, 2 * n1 * stride, count, inverse};
    };
    return stepsInLanes<T>(plan, columnOf, sinkOf, scratch);
  }
  const size_t line = padded(static_cast<size_t>(n) * 2 * sizeof(T));
  const auto next = static_cast<int64_t>(line / (2 * sizeof(T)));
  T* const lines = reinterpret_cast<T*>(scratch);
  for (int64_t i = 0; i < n; i++)
    for (int64_t l = 0; l < count; l++)
      for (int64_t part = 0; part < 2; part++)
        lines[2 * (l * next + i) + part] = in[2 * (i * stride + l) + part];
  rows<T>(plan, {lines, lines, next, next}, count, inverse, scratch + line * kLanes<T>);
  for (int64_t i = 0; i < n; i++)
    for (int64_t l = 0; l < count; l++)
      for (int64_t part = 0; part < 2; part++)
        out[2 * (i * stride + l) + part] = lines[2 * (l * next + i) + part];
}

template <typename T>
constexpr FftKernels kKernels{kLanes<T>,    sizeof(T),       rowsScratch<T>, columnsScratch<T>, rows<T>,
                              columns<T>,   betweenBytes<T>, stepScratch<T>, firstStep<T>,      secondStep<T>,
                              splitReal<T>, joinReal<T>,     realRows<T>};

}  // namespace

const FftKernels& fftKernels(bool isDouble) { return isDouble ? kKernels<double> : kKernels<float>; }

}  // namespace weft::cpu::WEFT_ISA
