#include "cpu/scan-fold.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>
#include <vector>

namespace weft::cpu {
namespace {

// A column alone is combined in so many parts at a time.
constexpr int64_t kFoldParts = 8;

// The better of two numbers. -0 is less than 0, as in every reduction: a scan itself keeps the first of equal
// ones.
template <typename N>
typename N::Wide chosen(typename N::Wide a, typename N::Wide b) {
  using Wide = typename N::Wide;
  if constexpr (N::kSelects && std::is_floating_point_v<Wide>) {
    const bool isLarger = N::identity() < 0;
    return (a == 0) & (b == 0) & (isLarger == std::signbit(a)) ? b : N::choose(a, b);
  }
  return N::choose(a, b);
}

template <typename N>
class TypedFold : public ScanFold {
  using Element = typename N::Element;
  using Wide = typename N::Wide;

 public:
  TypedFold(std::byte* result, int64_t most)
      : out_(reinterpret_cast<Element*>(result)), elements_(most), sums_(std::max(most, kFoldParts)) {}

  void* elements() override { return elements_.data(); }

  void begin(int64_t columns) override {
    columns_ = columns;
    std::fill_n(sums_.begin(), std::max(columns, kFoldParts), N::identity());
  }

  void take(int64_t count) override { fold(elements_.data(), count); }

  void takeRows(int64_t at, int64_t rows, int64_t length) override {
    for (int64_t r = 0; r < rows; r++) {
      begin(1);
      fold(elements_.data() + r * length, length);
      end(at + r);
    }
  }

  void end(int64_t at) override {
    for (int64_t p = 1; columns_ == 1 && p < kFoldParts; p++) sums_[0] = chosen<N>(sums_[0], sums_[p]);
    for (int64_t c = 0; c < columns_; c++) out_[at + c] = N::round(sums_[c]);
  }

 private:
  void fold(const Element* elements, int64_t count) {
    // Parts of a single column are columns of their own until the end.
    const int64_t width = columns_ == 1 ? kFoldParts : columns_;
    for (int64_t at = 0; at < count; at += width) {
      const int64_t own = std::min(width, count - at);
      for (int64_t c = 0; c < own; c++) sums_[c] = chosen<N>(sums_[c], N::widen(elements[at + c]));
    }
  }

  Element* out_;
  int64_t columns_ = 1;
  std::vector<Element> elements_;
  std::vector<Wide> sums_;
};

[[noreturn]] void refuseFold() {
  throw std::invalid_argument("an operation that combines in any order, of real numbers");
}

}  // namespace

std::unique_ptr<ScanFold> makeScanFold(DType dtype, ScanOp op, std::byte* result, int64_t most) {
  return withScanNumbers(dtype, op, [&](auto type) -> std::unique_ptr<ScanFold> {
    using N = decltype(type);
    if constexpr (N::kSelects || std::is_integral_v<typename N::Element>) {
      return std::make_unique<TypedFold<N>>(result, most);
    } else {
      refuseFold();
    }
  });
}

void checkScanFold(DType dtype, int op) { makeScanFold(dtype, static_cast<ScanOp>(op), nullptr, 0); }

}  // namespace weft::cpu
