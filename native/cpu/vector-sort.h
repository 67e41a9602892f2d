// Rows of numbers sorted in vector registers (sort-kernels.h). Several threads sort samples of a row first,
// which split it into buckets; each finds the buckets of a stretch and moves its elements there, then buckets
// are sorted one by each thread (Frazer and McKellar, "Samplesort", 1970; Sanders and Winkel, "Super scalar
// sample sort", 2004, from which the bytes that say an element's bucket are). Items in order have one order
// of bits, whatever the buckets.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "cpu/isa.h"
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

// Memory of a row: as many items and bytes as elements, and places of each stretch.
constexpr int64_t kMostBuckets = 256;
template <typename Item>
struct VectorSpace {
  Item* items;
  uint8_t* buckets;
  std::array<int64_t, kMostBuckets>* places;
};

template <typename Form>
class VectorSort {
  using Item = typename Form::Item;

 public:
  VectorSort(const Form& form, int64_t length, const typename Form::Element* in, typename Form::Result* out,
             const VectorSpace<Item>& space)
      : form_(form), length_(length), in_(in), out_(out), space_(space) {}

  void run() const {
    form_.encode(in_, 0, length_, space_.items);
    finish(0, length_);
  }

  // By several threads, each of which begins with a stretch.
  void runByAll(int64_t stretches, ThreadPool& pool) const {
    const int64_t buckets =
        std::min<int64_t>(kMostBuckets, std::bit_ceil(static_cast<uint64_t>(kBucketsOfStretch * stretches)));
    std::array<Item, kMostBuckets> splitters;
    split(buckets, splitters.data());
    const auto firstOf = [&](int64_t stretch) { return length_ * stretch / stretches; };
    pool.parallelFor(stretches, [&](int64_t k, int) {
      classify(firstOf(k), firstOf(k + 1), splitters.data(), buckets - 1, space_.places[k].data());
    });
    std::array<int64_t, kMostBuckets + 1> firsts;
    int64_t before = 0;
    for (int64_t bucket = 0; bucket < buckets; bucket++) {
      firsts[bucket] = before;
      for (int64_t k = 0; k < stretches; k++) {
        int64_t& place = space_.places[k][bucket];
        const int64_t count = place;
        place = before;
        before += count;
      }
    }
    firsts[buckets] = before;
    pool.parallelFor(stretches,
                     [&](int64_t k, int) { move(firstOf(k), firstOf(k + 1), space_.places[k].data()); });
    pool.parallelFor(buckets, [&](int64_t bucket, int) { finish(firsts[bucket], firsts[bucket + 1]); });
  }

 private:
  static constexpr int64_t kBucketsOfStretch = 8;
  static constexpr int64_t kSamplesOfBucket = 32;
  static constexpr int64_t kBlock = 1024;

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
    form_.loops.sort(samples.data(), count);
    for (int64_t k = 1; k < buckets; k++) splitters[k - 1] = samples[k * kSamplesOfBucket];
  }

  template <typename Work>
  void eachBlock(int64_t first, int64_t last, const Work& work) const {
    Item items[kBlock];
    for (int64_t from = first; from < last; from += kBlock) {
      const int64_t count = std::min(kBlock, last - from);
      form_.encode(in_, from, count, items);
      work(items, from, count);
    }
  }

  void classify(int64_t first, int64_t last, const Item* splitters, int64_t splitterCount,
                int64_t* counts) const {
    // Neighbours are often in one bucket, whose count would wait for the store of the one before.
    std::array<std::array<int64_t, kMostBuckets>, 2> own{};
    eachBlock(first, last, [&](const Item* items, int64_t from, int64_t count) {
      uint8_t* const bucket = space_.buckets + from;
      form_.loops.classify(items, count, splitters, splitterCount, bucket);
      for (int64_t i = 0; i < count; i++) own[i & 1][bucket[i]]++;
    });
    for (int64_t b = 0; b <= splitterCount; b++) counts[b] = own[0][b] + own[1][b];
  }

  void move(int64_t first, int64_t last, int64_t* places) const {
    eachBlock(first, last, [&](const Item* items, int64_t from, int64_t count) {
      const uint8_t* const bucket = space_.buckets + from;
      for (int64_t i = 0; i < count; i++) space_.items[places[bucket[i]]++] = items[i];
    });
  }

  void finish(int64_t first, int64_t last) const {
    form_.loops.sort(space_.items + first, last - first);
    form_.decode(space_.items + first, last - first, out_ + first);
  }

  const Form form_;
  const int64_t length_;
  const typename Form::Element* const in_;
  typename Form::Result* const out_;
  const VectorSpace<Item> space_;
};

}  // namespace weft::cpu
