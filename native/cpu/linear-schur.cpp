// The Schur form: large blocks by windows of deflation and chains of bulges, small ones by a bulge at a time.
#include "cpu/linear-schur.h"

#include "cpu/linear-bulge-chain.h"
#include "cpu/linear-deflation.h"
#include "cpu/linear-schur-steps.h"

namespace weft::cpu {
namespace schur {
namespace {

// Steps for each eigenvalue before it counts as one that does not converge, and after how many a shift is
// made up.
constexpr int kMostSteps = 30, kStrangeSteps = 10, kStrangeChains = 6;
// Rows of blocks from which on there are windows.
constexpr int64_t kLeastBlock = 96;

int64_t mostSteps(int64_t n) { return kMostSteps * std::max<int64_t>(10, n); }

// Which made up shift the try of a number has; 0: none.
int strangeOf(int64_t tried, int64_t steps) {
  return tried % (2 * steps) == 0 ? 2 : tried % steps == 0 ? 1 : 0;
}

// Whether the block [first, last] is eigenvalues, and which row is then the last.
template <typename T>
bool takeBlock(const Turned<T>& t, int64_t first, int64_t& last, Complex<RealOf<T>>* values) {
  if (first == last) {
    values[last] = complexOf(t.h.at(last, last));
    last--;
    return true;
  }
  if constexpr (!kIsComplex<T>) {
    if (first == last - 1) {
      takeTwo(t, last, values);
      last -= 2;
      return true;
    }
  }
  return false;
}

// By a bulge at a time.
template <typename T>
bool makeTriangle(const Turned<T>& t, Complex<RealOf<T>>* values, const LinearWork& work) {
  int64_t steps = mostSteps(t.h.rows), tried = 0;
  for (int64_t last = t.h.rows - 1; last >= 0;) {
    if (work.cancelled()) return true;
    const int64_t first = blockStart(t.h, 0, last);
    if (first > 0) t.h.at(first, first - 1) = T{};
    if (takeBlock(t, first, last, values)) {
      tried = 0;
      continue;
    }
    if (steps-- == 0) return false;
    chase(t, first, last, strangeOf(++tried, kStrangeSteps));
  }
  return true;
}

// Rows of the window for a block, as LAPACK's iparmq has them.
int64_t windowRows(int64_t n) {
  if (n < 150) return 10;
  if (n < 590) return std::max<int64_t>(10, n / std::lround(std::log2(n))) / 2 * 2;
  return n < 3000 ? 96 : kMostWindow;
}

// Eigenvalues as shifts of bulges: pairs of a real matrix, complex ones and real ones.
template <typename T>
std::vector<Shifts<T>> shiftsOf(const Complex<RealOf<T>>* values, int64_t count) {
  std::vector<Shifts<T>> shifts;
  int64_t alone = -1;
  for (int64_t k = 0; k < count; k++) {
    if constexpr (kIsComplex<T>) {
      shifts.push_back({values[k], values[k]});
    } else if (values[k].im != 0) {
      shifts.push_back({values[k], values[k + 1]});
      k++;
    } else if (alone < 0) {
      alone = k;
    } else {
      shifts.push_back({values[alone], values[k]});
      alone = -1;
    }
  }
  return shifts;
}

// The eigenvalues of a window that are found are taken from `last`; where those are few, the others are
// shifts.
template <typename T>
bool deflateAndChase(const Turned<T>& t, int64_t first, int64_t& last, Complex<RealOf<T>>* values, T* memory,
                     const LinearWork& work) {
  const int64_t rows = std::min(windowRows(last - first + 1), last - first + 1);
  Deflation<T> deflation(t, first, last, rows, memory, work);
  const int64_t found = deflation.run(
      values, [&](const Turned<T>& own, Complex<RealOf<T>>* to) { return makeTriangle(own, to, work); });
  if (found < 0) return false;
  const int64_t top = last - rows + 1;
  last -= found;
  // As LAPACK: so many are a reason to look for more before the next chain.
  constexpr int64_t kEnough = 7;
  if (found * kEnough >= rows) return true;
  const std::vector<Shifts<T>> shifts = shiftsOf<T>(values + top, rows - found);
  BulgeChain<T> chain(t, first, last, memory, work);
  const auto count = static_cast<int64_t>(shifts.size());
  constexpr int64_t kBulges = BulgeChain<T>::kBulges;
  for (int64_t k = 0; k < count; k += kBulges) chain.run(shifts.data() + k, std::min(kBulges, count - k));
  return true;
}

}  // namespace
}  // namespace schur

int64_t schurElements(int64_t n) {
  using namespace schur;
  return n < kLeastBlock ? 0 : 2 * kMostWindow * kMostWindow + kMostWindow * n;
}

size_t schurProductBytes(DType dtype, int64_t n) {
  using namespace schur;
  return n < kLeastBlock ? 0 : productBytes(dtype, n, kMostWindow, kMostWindow * kMostWindow);
}

template <typename T>
bool makeSchur(const MatrixView<T>& h, const MatrixView<T>& z, Complex<RealOf<T>>* values, T* memory,
               const LinearWork& work) {
  using namespace schur;
  const Turned<T> turned{h, z};
  int64_t steps = mostSteps(h.rows), tried = 0;
  for (int64_t last = h.rows - 1; last >= 0;) {
    if (work.cancelled()) return true;
    const int64_t first = blockStart(h, 0, last), before = last;
    if (first > 0) h.at(first, first - 1) = T{};
    if (takeBlock(turned, first, last, values)) {
      tried = 0;
      continue;
    }
    if (steps-- == 0) return false;
    const bool isLarge = last - first + 1 >= kLeastBlock;
    const int strange = strangeOf(++tried, isLarge ? kStrangeChains : kStrangeSteps);
    if (!isLarge || strange != 0 || !deflateAndChase(turned, first, last, values, memory, work))
      chase(turned, first, last, strange);
    if (last != before) tried = 0;
  }
  return true;
}

#define WEFT_INSTANTIATE(T)                                                                       \
  template bool makeSchur<T>(const MatrixView<T>&, const MatrixView<T>&, Complex<RealOf<T>>*, T*, \
                             const LinearWork&);
WEFT_LINEAR_TYPES(WEFT_INSTANTIATE)
#undef WEFT_INSTANTIATE

}  // namespace weft::cpu
