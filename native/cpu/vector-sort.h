// Rows of numbers sorted in vector registers (sort-kernels.h). Several threads sort samples of a row first,
// which split it into buckets (Frazer and McKellar, "Samplesort", 1970); each parts a stretch of the row into
// those, then buckets are put together and sorted one by each thread. Items in order have one order of bits,
// whatever the buckets.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "cpu/cpu.h"
#include "cpu/sort-kernels.h"
#include "cpu/threads.h"

namespace weft::cpu {

// Sorts elements.
template <typename Keys>
struct VectorValues {
  using Element = typename Keys::Element;
  using Item = std::make_signed_t<Element>;
  using Result = Element;

  const SortLoops<Item>& loops;
  KeyForm form;

  VectorValues(const SortKernels& kernels, bool isDescending)
      : loops(loopsOf(kernels)), form{Keys::kKind, isDescending, false} {}
  void encode(const Element* in, int64_t first, int64_t count, Item* items) const {
    loops.encode(form, in + first, count, items);
  }
  void decode(const Item* items, int64_t count, Result* out) const { loops.decode(form, items, count, out); }

 private:
  static const SortLoops<Item>& loopsOf(const SortKernels& kernels) {
    if constexpr (sizeof(Item) == sizeof(int32_t)) {
      return kernels.words;
    } else {
      return kernels.longs;
    }
  }
};

// Sorts the positions of elements of 32 bits.
template <typename Keys>
struct VectorPositions {
  using Element = typename Keys::Element;
  using Item = int64_t;
  using Result = int64_t;

  const SortKernels& kernels;
  const SortLoops<Item>& loops;
  KeyForm form;

  VectorPositions(const SortKernels& of, bool isDescending)
      : kernels(of), loops(of.longs), form{Keys::kKind, isDescending, true} {}
  void encode(const Element* in, int64_t first, int64_t count, Item* items) const {
    kernels.encodePairs(form, in + first, first, count, items);
  }
  void decode(const Item* items, int64_t count, Result* out) const { kernels.decodePairs(items, count, out); }
};

// Partitions of so many items one inside another that good pivots never need.
inline int levelsOf(int64_t count) {
  return 8 + 2 * static_cast<int>(std::bit_width(static_cast<uint64_t>(count)));
}

// Memory of a row: two lines of items, and where the buckets of each stretch begin.
constexpr int64_t kMostBuckets = 256;
template <typename Item>
struct VectorSpace {
  Item *items, *gathered;
  std::array<int64_t, kMostBuckets>* places;
};

template <typename Form>
class VectorSort {
  using Item = typename Form::Item;

 public:
  // `levels`: the most of each sort; 0: as many as good pivots may need.
  VectorSort(const Form& form, int64_t length, int levels, const typename Form::Element* in,
             typename Form::Result* out, const VectorSpace<Item>& space)
      : form_(form), length_(length), levels_(levels), in_(in), out_(out), space_(space) {}

  void run() const {
    form_.encode(in_, 0, length_, space_.items);
    finish(space_.items, length_, out_);
  }

  // By several threads, each of which begins with a stretch.
  void runByAll(int64_t stretches, ThreadPool& pool) const {
    const int64_t buckets =
        std::min<int64_t>(kMostBuckets, std::bit_ceil(static_cast<uint64_t>(kBucketsOfStretch * stretches)));
    std::array<Item, kMostBuckets> splitters;
    split(buckets, splitters.data());
    const auto firstOf = [&](int64_t stretch) { return length_ * stretch / stretches; };
    pool.parallelFor(stretches, [&](int64_t k, int) {
      const int64_t first = firstOf(k), last = firstOf(k + 1);
      form_.encode(in_, first, last - first, space_.items + first);
      space_.places[k][0] = first;
      part(first, last, splitters.data(), 0, buckets, space_.places[k].data());
    });
    const auto pieceOf = [&](int64_t k, int64_t bucket) {
      const auto& places = space_.places[k];
      return Range{places[bucket], bucket + 1 < buckets ? places[bucket + 1] : firstOf(k + 1)};
    };
    std::array<int64_t, kMostBuckets> firsts;
    int64_t before = 0;
    for (int64_t bucket = 0; bucket < buckets; bucket++) {
      firsts[bucket] = before;
      for (int64_t k = 0; k < stretches; k++) before += pieceOf(k, bucket).last - pieceOf(k, bucket).first;
    }
    pool.parallelFor(buckets, [&](int64_t bucket, int) {
      Item* const gathered = space_.gathered + firsts[bucket];
      int64_t count = 0;
      for (int64_t k = 0; k < stretches; k++) {
        const Range piece = pieceOf(k, bucket);
        std::copy(space_.items + piece.first, space_.items + piece.last, gathered + count);
        count += piece.last - piece.first;
      }
      finish(gathered, count, out_ + firsts[bucket]);
    });
  }

 private:
  static constexpr int64_t kBucketsOfStretch = 8;
  static constexpr int64_t kSamplesOfBucket = 32;

  // Items of which as many are expected between each two.
  void split(int64_t buckets, Item* splitters) const {
    std::array<Item, kMostBuckets * kSamplesOfBucket> samples;
    const int64_t count = buckets * kSamplesOfBucket;
    uint64_t state = 1;
    for (int64_t i = 0; i < count; i++) {
      // Drawn from each of as many parts, so that no period of the elements matters.
      state = state * 6364136223846793005u + 1442695040888963407u;
      const int64_t first = length_ * i / count,
                    size = std::max<int64_t>(1, length_ * (i + 1) / count - first);
      form_.encode(in_, first + static_cast<int64_t>((state >> 33) % static_cast<uint64_t>(size)), 1,
                   &samples[i]);
    }
    form_.loops.sort(samples.data(), count, levelsOf(count));
    for (int64_t k = 1; k < buckets; k++) splitters[k - 1] = samples[k * kSamplesOfBucket];
  }

  // Puts items [first, last) of a stretch in the order of buckets [low, high), which begin at `places`.
  void part(int64_t first, int64_t last, const Item* splitters, int64_t low, int64_t high,
            int64_t* places) const {
    if (high - low == 1) return;
    const int64_t middle = (low + high) / 2;
    const int64_t place =
        first + form_.loops.partition(space_.items + first, last - first, splitters[middle - 1]);
    places[middle] = place;
    part(first, place, splitters, low, middle, places);
    part(place, last, splitters, middle, high, places);
  }

  void finish(Item* items, int64_t count, typename Form::Result* out) const {
    form_.loops.sort(items, count, levels_ > 0 ? levels_ : levelsOf(count));
    form_.decode(items, count, out);
  }

  const Form form_;
  const int64_t length_;
  const int levels_;
  const typename Form::Element* const in_;
  typename Form::Result* const out_;
  const VectorSpace<Item> space_;
};

}  // namespace weft::cpu
