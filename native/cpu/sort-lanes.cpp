// Sorts of numbers for one instruction set: quicksort by vectors (sort-partition.h), which ends in networks
// (sort-network.h).
#include "cpu/isa-scope.h"
#include "cpu/sort-kernels.h"

#if defined(__AVX2__)
#include "cpu/sort-partition.h"

namespace weft::cpu::WEFT_ISA {
namespace {

// Places in an array that no order of its keys is likely to agree with.
class Draws {
 public:
  int64_t below(int64_t count) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<int64_t>((state_ >> 33) * static_cast<uint64_t>(count) >> 31);
  }

 private:
  uint64_t state_ = 1;
};

// The middle one of a sample; of few keys, of the middle ones of three vectors.
template <typename T>
T pivotOf(const T* keys, int64_t count, Draws& draws) {
  if (count < 4096) {
    const auto drawn = [&] { return loadVector(keys + draws.below(count - kLanes<T> + 1)); };
    const Vector<T> a = drawn(), b = drawn(), c = drawn();
    Vector<T> middle[1] = {mostOf<T>(leastOf<T>(a, b), leastOf<T>(mostOf<T>(a, b), c))};
    mergeColumns<T, 1, 1>(middle, Indices<1>{});
    return middle[0][kLanes<T> / 2];
  }
  T sample[kNetworkLength<T>];
  const int64_t drawn = count < 65536 ? 4 * kLanes<T> : kNetworkLength<T>;
  for (int64_t i = 0; i < drawn; i++) sample[i] = keys[draws.below(count)];
  sortFew(sample, drawn);
  return sample[drawn / 2];
}

// For keys whose pivots were bad again and again.
template <typename T>
void heapSort(T* keys, int64_t count) {
  const auto sink = [keys](int64_t at, int64_t end) {
    const T key = keys[at];
    for (int64_t child = 2 * at + 1; child < end; child = 2 * at + 1) {
      if (child + 1 < end && keys[child] < keys[child + 1]) child++;
      if (keys[child] <= key) break;
      keys[at] = keys[child];
      at = child;
    }
    keys[at] = key;
  };
  for (int64_t k = count / 2 - 1; k >= 0; k--) sink(k, count);
  for (int64_t end = count - 1; end > 0; end--) {
    const T last = keys[end];
    keys[end] = keys[0];
    keys[0] = last;
    sink(0, end);
  }
}

template <typename T>
void quicksort(T* keys, int64_t count, int depth, Draws& draws) {
  constexpr T kLeast = static_cast<T>(T{1} << (8 * sizeof(T) - 1));
  while (count > kNetworkLength<T>) {
    if (depth-- == 0) return heapSort(keys, count);
    const T pivot = pivotOf(keys, count, draws);
    int64_t low = partition(keys, count, pivot);
    if (low == count) {
      // None is greater: those that are the pivot are in their places.
      count = pivot == kLeast ? 0 : partition(keys, count, static_cast<T>(pivot - 1));
      continue;
    }
    // The shorter half first, so that few calls are open at once.
    if (low < count - low) {
      quicksort(keys, low, depth, draws);
      keys += low;
      count -= low;
    } else {
      quicksort(keys + low, count - low, depth, draws);
      count = low;
    }
  }
  if (count > 1) sortFew(keys, count);
}

template <typename T>
void sort(T* keys, int64_t count, int levels) {
  Draws draws;
  quicksort(keys, count, levels, draws);
}

// Keys of sort-keys.h without their highest bits' meaning: signed.
template <typename T>
struct KeyBits {
  static constexpr T kSign = static_cast<T>(T{1} << (8 * sizeof(T) - 1));
  static constexpr T kLast = static_cast<T>(~kSign);
  static constexpr int kExponentBits = sizeof(T) == 4 ? 8 : 11;
  static constexpr T kInfinity =
      static_cast<T>(((T{1} << kExponentBits) - 1) << (8 * sizeof(T) - 1 - kExponentBits));
  static constexpr T kQuiet = static_cast<T>(kInfinity | T{1} << (8 * sizeof(T) - 2 - kExponentBits));
};

// The key of an element's bits: those of NaN are the last ones.
template <typename T>
WEFT_SORT_INLINE T keyOf(T a, KeyKind kind, T flip, bool isArgument) {
  using B = KeyBits<T>;
  if (kind == KeyKind::plain) return static_cast<T>((a ^ B::kSign) ^ flip);
  if (kind == KeyKind::integer) return static_cast<T>(a ^ flip);
  const T magnitude = static_cast<T>(a & B::kLast);
  const T given = isArgument && magnitude == 0 ? T{0} : a;
  const T key = static_cast<T>((given ^ (given < 0 ? B::kLast : T{0})) ^ flip);
  return magnitude > B::kInfinity ? B::kLast : key;
}
template <typename T>
WEFT_SORT_INLINE T elementOf(T key, KeyKind kind, T flip) {
  using B = KeyBits<T>;
  const T a = static_cast<T>(key ^ flip);
  if (kind == KeyKind::plain) return static_cast<T>(a ^ B::kSign);
  if (kind == KeyKind::integer) return a;
  return key == B::kLast ? B::kQuiet : static_cast<T>(a ^ (a < 0 ? B::kLast : T{0}));
}

// Calls `loop` with a function of an element's bits, one for each kind.
template <typename T, typename Loop>
WEFT_SORT_INLINE void withKind(const KeyForm& form, const Loop& loop) {
  const T flip = form.isDescending ? T{-1} : T{0};
  if (form.kind == KeyKind::plain) return loop(std::integral_constant<KeyKind, KeyKind::plain>{}, flip);
  if (form.kind == KeyKind::integer) return loop(std::integral_constant<KeyKind, KeyKind::integer>{}, flip);
  loop(std::integral_constant<KeyKind, KeyKind::real>{}, flip);
}

template <typename T>
void encode(const KeyForm& form, const void* elements, int64_t count, T* keys) {
  const auto* const in = static_cast<const T*>(elements);
  const bool isArgument = form.isArgument;
  withKind<T>(form, [=](auto kind, T flip) {
    for (int64_t i = 0; i < count; i++) keys[i] = keyOf<T>(in[i], decltype(kind)::value, flip, isArgument);
  });
}

template <typename T>
void decode(const KeyForm& form, const T* keys, int64_t count, void* elements) {
  auto* const out = static_cast<T*>(elements);
  withKind<T>(form, [=](auto kind, T flip) {
    for (int64_t i = 0; i < count; i++) out[i] = elementOf<T>(keys[i], decltype(kind)::value, flip);
  });
}

void encodePairs(const KeyForm& form, const void* elements, int64_t first, int64_t count, int64_t* pairs) {
  const auto* const in = static_cast<const int32_t*>(elements);
  withKind<int32_t>(form, [=](auto kind, int32_t flip) {
    for (int64_t i = 0; i < count; i++)
      pairs[i] =
          static_cast<int64_t>(keyOf<int32_t>(in[i], decltype(kind)::value, flip, true)) << 32 | (first + i);
  });
}

void decodePairs(const int64_t* pairs, int64_t count, int64_t* positions) {
  for (int64_t i = 0; i < count; i++) positions[i] = pairs[i] & 0xffffffff;
}

template <typename T>
constexpr SortLoops<T> kLoops{sort<T>, partition<T>, encode<T>, decode<T>};

}  // namespace

const SortKernels* sortKernels() {
  static constexpr SortKernels kKernels{kLoops<int32_t>, kLoops<int64_t>, encodePairs, decodePairs};
  return &kKernels;
}

}  // namespace weft::cpu::WEFT_ISA
#else

namespace weft::cpu::WEFT_ISA {

const SortKernels* sortKernels() { return nullptr; }

}  // namespace weft::cpu::WEFT_ISA
#endif
