// The machinery of reductions: 64-lane accumulators, leaves of a fixed number of steps, a pairwise cascade
// above them.
//
// The order in which elements are combined follows from the block layout alone, not from the instruction set
// or the number of threads. A monoid M says how:
//
// - In, Second, Out: dtypes of an element, its second argument and the result. kIndexed: there is a second.
// - Leaf, Node: 64 lanes being filled, and complete; often the same.
// - open(leaf): no elements yet. run(leaf, source, n): n more elements in every lane.
// - pad(), padSecond(): an element that changes nothing. kCounts: there is none, see runPart.
// - close(leaf, node): completes. copyLane(to, i, from, k).
// - finish<N>(node, out): N results; returns the first. Monoids that differ in it alone are one M and several
//   `End`, which have it.
// - merge<N>(a, b, o): lane l of a takes in lane l + o of b (which may be a), for N lanes.
// - kFolds: there is a faster way to merge all lanes into one result, folded(node).
// - kWhole: leaves of all their steps can stay in registers.
// - runWhole<Leaves>(source, level, stride, leaves): takes one leaf into the cascade, or kTogether, one
// behind
//   the other, which divides `leaves`: they meet in registers as they would in the cascade.
// - ofNeighbours(x), of some: the elements of a whole chunk as one, neighbours first. Where lanes are
// reduced,
//   such elements are combined one after the other, in lane 0: products of every 64th element would overflow
//   where those of neighbours do not.
// - foldedRows(source, rowStep, secondStep, steps, count), with kWhole and kFolds: the results of rows of so
//   many chunks, of no more rows than a vector has lanes.
//
// Functions called once for a leaf, a row or a block are compiled once (WEFT_ONCE): each monoid, dtype and
// instruction set would have them in several places.
#pragma once
#include "cpu/isa-scope.h"

#if defined(__clang__)
#define WEFT_ONCE __attribute__((noinline))
#else
#define WEFT_ONCE __attribute__((noinline, noclone))
#endif

namespace weft::cpu::WEFT_ISA {
namespace {

// Levels that hold the leaves of one row of a block.
constexpr int64_t kRowLevels = 8;

// Chunks of 64 elements, `stride` elements apart, and those of a second argument where the monoid has one:
// indices, or the other factor of a product. `ahead`: elements from each to one that is asked for with it,
// where they come from large memory; 0 where none is.
template <typename In, typename Second = int64_t>
struct Source {
  const In* x;
  int64_t stride;
  const Second* index;
  int64_t indexStride;
  int64_t ahead = 0;
  // All lanes of a chunk are equal.
  bool isRepeated = false;
  bool isSecondRepeated = false;
};

// How far ahead of what is read in order far memory is asked for: hardware prefetchers stop at the end of
// each page. It comes to the second-level cache, from where the nearer prefetchers take it. Of what the
// caches hold nothing is: sums of 4 to 16 MiB take a tenth to a sixth less.
constexpr int64_t kAheadBytes = 4096;

// Bytes of leaves that are filled row by row, at most: a half of a small first-level cache.
constexpr int64_t kRowLeafBytes = 8192;

// Asks for what will be read `ahead` elements behind vector `v` of x.
template <typename T>
inline __attribute__((always_inline)) void prefetchAhead(const T* x, int v, int64_t ahead) {
  if (v * kVectorBytes % 64 == 0)
    __builtin_prefetch(reinterpret_cast<const char*>(x + ahead) + v * kVectorBytes, 0, 2);
}

// From elements to complete nodes.
template <typename M>
struct Accumulation {
  using In = typename M::In;
  using Second = typename M::Second;
  using From = Source<In, Second>;
  using Leaf = typename M::Leaf;
  using Node = typename M::Node;
  // A step is a load and little else.
  static constexpr bool kIsCheap = M::kWhole && M::kFolds && sizeof(In) >= 4;
  static constexpr bool kHasNeighbours = requires(const In* x) { M::ofNeighbours(x); };

  static Leaf* leaves(ReduceState& s) { return reinterpret_cast<Leaf*>(s.leaf); }
  static Node* nodes(ReduceState& s) { return reinterpret_cast<Node*>(s.node); }
  static const Node* nodes(const ReduceState& s) { return reinterpret_cast<const Node*>(s.node); }
  static Node& level(ReduceState& s, int64_t k, int64_t a) {
    return reinterpret_cast<Node*>(s.levels)[k * s.accumulators + a];
  }

  static void reset(ReduceState& s) {
    for (int64_t a = 0; a < s.accumulators; a++) M::open(leaves(s)[a]);
    s.steps = 0;
    s.leaves = 0;
  }

  // One leaf for each accumulator goes into the cascade, like a carry into a binary counter.
  static void carry(ReduceState& s, int64_t a, Node& node) { carry(s, a, node, s.leaves); }
  // `leaves`: those before it.
  static WEFT_ONCE void carry(ReduceState& s, int64_t a, Node& node, int64_t leaves) {
    int64_t k = 0;
    for (; (leaves >> k) & 1; k++) {
      Node& earlier = level(s, k, a);
      M::template merge<kChunk>(earlier, node, 0);
      node = earlier;
    }
    level(s, k, a) = node;
  }

  static void step(ReduceState& s, int64_t count) {
    s.steps += count;
    if (s.steps < kLeafSteps) return;
    Node node;
    for (int64_t a = 0; a < s.accumulators; a++) {
      M::close(leaves(s)[a], node);
      carry(s, a, node);
      M::open(leaves(s)[a]);
    }
    s.leaves++;
    s.steps = 0;
  }

  static From source(const Operand* const* args, int64_t row, int64_t chunk) {
    const Operand& x = *args[0];
    From from{reinterpret_cast<const In*>(x.data) + row * x.rowStep + chunk * x.chunkStep, 0, nullptr, 0};
    from.isRepeated = x.chunkStep == 0;
    if constexpr (M::kIndexed) {
      const Operand& i = *args[1];
      from.index = reinterpret_cast<const Second*>(i.data) + row * i.rowStep + chunk * i.chunkStep;
      from.isSecondRepeated = i.chunkStep == 0;
    }
    return from;
  }
  // `together`: rows after which other columns of them are read, and then the next rows.
  static From alongRows(const Operand* const* args, int64_t row, int64_t chunk, int64_t together) {
    From from = source(args, row, chunk);
    from.stride = args[0]->rowStep;
    if (args[0]->ahead.isInMemory) from.ahead = together * from.stride;
    if constexpr (M::kIndexed) from.indexStride = args[1]->rowStep;
    return from;
  }
  static From alongChunks(const Operand* const* args, int64_t row, int64_t chunk) {
    From from = source(args, row, chunk);
    from.stride = args[0]->chunkStep;
    if constexpr (M::kIndexed) from.indexStride = args[1]->chunkStep;
    if (args[0]->ahead.isInMemory && from.stride == kChunk)
      from.ahead = kAheadBytes / static_cast<int64_t>(sizeof(In));
    return from;
  }

  // The first `valid` lanes of a chunk, then `pad`.
  template <typename T>
  static void takePart(T* to, const T* from, bool isRepeated, int64_t valid, T pad) {
    // Of loads under masks, where there are any.
    if (isRepeated) {
      for (int64_t l = 0; l < kChunk; l++) to[l] = l < valid ? *from : pad;
    } else {
      for (int64_t l = 0; l < kChunk; l++) to[l] = l < valid ? from[l] : pad;
    }
  }
  // Only the first `valid` lanes of a chunk.
  static WEFT_ONCE void runPart(Leaf& leaf, const From& from, int64_t valid) {
    if constexpr (M::kCounts) {
      M::runPart(leaf, from, valid);
    } else {
      In x[kChunk];
      Second index[M::kIndexed ? kChunk : 1];
      takePart(x, from.x, from.isRepeated, valid, M::pad());
      if constexpr (M::kIndexed) takePart(index, from.index, from.isSecondRepeated, valid, M::padSecond());
      M::run(leaf, {x, 0, index, 0}, 1);
    }
  }

  // Leaves that the next rows fill at once.
  static int64_t leavesTogether(const ReduceState& s, int64_t steps) {
    return s.leaves % M::kTogether == 0 && steps >= M::kTogether * kLeafSteps ? M::kTogether : 1;
  }

  // Leaves of kLeafSteps rows for each accumulator, in registers where all its lanes count.
  static void wholeColumns(ReduceState& s, int64_t row, int64_t together, int64_t valid,
                           const Operand* const* args) {
    for (int64_t a = 0; a < s.accumulators; a++) {
      const int64_t lanes = valid - a * kChunk;
      if (lanes >= kChunk) {
        const From from = alongRows(args, row, a, kLeafSteps);
        if (together == 1)
          M::template runWhole<1>(from, &level(s, 0, a), s.accumulators, s.leaves);
        else
          M::template runWhole<M::kTogether>(from, &level(s, 0, a), s.accumulators, s.leaves);
        continue;
      }
      for (int64_t leaf = 0; leaf < together; leaf++)
        takePartOfColumns(s, row + leaf * kLeafSteps, a, lanes, s.leaves + leaf, args);
    }
    s.leaves += together;
  }
  static void takePartOfColumns(ReduceState& s, int64_t row, int64_t a, int64_t lanes, int64_t leaves,
                                const Operand* const* args) {
    Leaf leaf;
    M::open(leaf);
    for (int64_t k = 0; k < kLeafSteps && lanes > 0; k++) runPart(leaf, source(args, row + k, a), lanes);
    Node node;
    M::close(leaf, node);
    carry(s, a, node, leaves);
  }

  // Rows of which all columns of a block are read before the next ones are. Where they come from memory,
  // leaves are in the first-level cache instead of one in registers. Rows that lie side by side are read one
  // by one: the hardware's prefetchers do not follow the pieces of 16 rows that a leaf has. 2^18 rows of 256
  // float32 take one thread of a Zen 4 9.6 ms for 23.4, 2^14 of 1024 2.5 for 2.7; arrays that the caches hold
  // take up to twice as long so. Of parts of rows, half a leaf: powers of two apart, they share sets of the
  // caches with what is asked for ahead. 2^13 rows of 4096 take two threads 4.2 ms for 4.8.
  static int64_t rowsTogether(const ReduceState& s, int64_t valid, const Operand& x) {
    if (!kIsCheap || s.accumulators == 1 || !x.ahead.isInMemory ||
        s.accumulators * static_cast<int64_t>(sizeof(Leaf)) > kRowLeafBytes)
      return kLeafSteps;
    return x.rowStep >= valid && x.rowStep < valid + kChunk ? 1 : kLeafSteps / 2;
  }

  static void columns(ReduceState& s, Extent n, int64_t valid, const Operand* const* args) {
    const int64_t together = rowsTogether(s, valid, *args[0]);
    for (int64_t row = 0; row < n.rows;) {
      if constexpr (M::kWhole) {
        if (together == kLeafSteps && s.steps == 0 && n.rows - row >= kLeafSteps) {
          // Of far rows all columns of a leaf are read before the next rows.
          const int64_t leaves = args[0]->ahead.isInMemory ? 1 : leavesTogether(s, n.rows - row);
          wholeColumns(s, row, leaves, valid, args);
          row += leaves * kLeafSteps;
          continue;
        }
      }
      const int64_t left = n.rows - row < kLeafSteps - s.steps ? n.rows - row : kLeafSteps - s.steps;
      const int64_t count = left < together ? left : together;
      for (int64_t c = 0; c * kChunk < valid; c++) {
        const int64_t lanes = valid - c * kChunk;
        if (lanes >= kChunk) {
          M::run(leaves(s)[c], alongRows(args, row, c, together), count);
        } else {
          for (int64_t k = 0; k < count; k++) runPart(leaves(s)[c], source(args, row + k, c), lanes);
        }
      }
      step(s, count);
      row += count;
    }
  }

  static void neighbours(ReduceState& s, Extent n, int64_t valid, const Operand* const* args) {
    for (int64_t row = 0; row < n.rows; row++) {
      for (int64_t first = 0; first < valid; first += kChunk) {
        const From from = source(args, row, first / kChunk);
        const int64_t count = valid - first < kChunk ? valid - first : kChunk;
        In part[kChunk];
        const bool isWhole = count == kChunk && !from.isRepeated;
        if (!isWhole) takePart(part, from.x, from.isRepeated, count, M::pad());
        In& to = leaves(s)[0].v[0];
        to = M::combine(to, M::ofNeighbours(isWhole ? from.x : part));
        step(s, 1);
      }
    }
  }

  static WEFT_ONCE void lanes(ReduceState& s, Extent n, int64_t valid, const Operand* const* args) {
    if constexpr (kHasNeighbours) return neighbours(s, n, valid, args);
    const int64_t full = valid / kChunk;
    for (int64_t row = 0; row < n.rows; row++) {
      for (int64_t c = 0; c < full;) {
        if constexpr (M::kWhole) {
          if (s.steps == 0 && full - c >= kLeafSteps) {
            M::template runWhole<1>(alongChunks(args, row, c), &level(s, 0, 0), s.accumulators, s.leaves);
            s.leaves++;
            c += kLeafSteps;
            continue;
          }
        }
        const int64_t room = kLeafSteps - s.steps;
        const int64_t count = full - c < room ? full - c : room;
        M::run(leaves(s)[0], alongChunks(args, row, c), count);
        step(s, count);
        c += count;
      }
      if (valid % kChunk != 0) {
        runPart(leaves(s)[0], source(args, row, full), valid % kChunk);
        step(s, 1);
      }
    }
  }

  static WEFT_ONCE void close(ReduceState& s) {
    for (int64_t a = 0; a < s.accumulators; a++) {
      Node& node = nodes(s)[a];
      int64_t k = 0;
      if (s.steps > 0 || s.leaves == 0) {
        M::close(leaves(s)[a], node);
      } else {
        while (!((s.leaves >> k) & 1)) k++;
        node = level(s, k++, a);
      }
      for (; s.leaves >> k; k++) {
        if (!((s.leaves >> k) & 1)) continue;
        Node earlier = level(s, k, a);
        M::template merge<kChunk>(earlier, node, 0);
        node = earlier;
      }
    }
  }

  static void push(ReduceState& into, const ReduceState& from) {
    for (int64_t a = 0; a < into.accumulators; a++) {
      Node node = nodes(from)[a];
      carry(into, a, node);
    }
    into.leaves++;
  }

  // The first n lanes take in lanes [from, from + n) of the accumulators seen as one long row; n <= from.
  static void mergeLanes(Node* nodes, int64_t from, int64_t n) {
    for (int64_t done = 0; done < n; done += kChunk) {
      Node& into = nodes[done / kChunk];
      const int64_t count = n - done < kChunk ? n - done : kChunk;
      // They lie in two accumulators.
      const int64_t first = (from + done) % kChunk;
      const Node* const others = nodes + (from + done) / kChunk;
      const int64_t split = count < kChunk - first ? count : kChunk - first;
      Node other = into;
      for (int64_t l = 0; l < split; l++) M::copyLane(other, l, others[0], first + l);
      for (int64_t l = split; l < count; l++) M::copyLane(other, l, others[1], l - split);
      if (count == kChunk) {
        M::template merge<kChunk>(into, other, 0);
        continue;
      }
      Node merged = into;
      M::template merge<kChunk>(merged, other, 0);
      for (int64_t l = 0; l < count; l++) M::copyLane(into, l, merged, l);
    }
  }

  // Lane l meets lane l + Half, then l + Half / 2 and so on.
  template <int Half = kChunk / 2>
  static void fold(Node& node) {
    M::template merge<Half>(node, node, Half);
    if constexpr (Half > 1) fold<Half / 2>(node);
  }
};

template <typename M, typename End = M>
struct Reducer : Accumulation<M> {
  using Core = Accumulation<M>;
  using typename Core::In;
  using typename Core::Leaf;
  using typename Core::Node;
  using typename Core::Second;
  using Out = typename M::Out;

  // All lanes make one value, which goes to the first lanes of `d`.
  static WEFT_ONCE void finishFolded(Node& node, Out* d, int64_t lanes = kChunk) {
    Out value;
    if constexpr (M::kFolds) {
      value = M::folded(node);
    } else {
      Core::fold(node);
      value = End::template finish<1>(node, d);
    }
    for (int64_t l = 0; l < lanes; l++) d[l] = value;
  }

  // Copies the first `period` elements behind themselves, until there are n.
  static void repeat(Out* d, int64_t period, int64_t n) {
    for (int64_t done = period; done < n; done *= 2) {
      const int64_t count = n - done < done ? n - done : done;
      __builtin_memcpy(d + done, d, static_cast<size_t>(count) * sizeof(Out));
    }
  }

  static void finish(ReduceState& s, const Fold& rule, const Operand& out) {
    Out* d = reinterpret_cast<Out*>(out.data);
    if (rule.kind == 1) {
      finishFolded(Core::nodes(s)[0], d);
      return;
    }
    if (rule.kind == 2) {
      for (int64_t count = rule.take; count > 1;) {
        const int64_t half = (count + 1) / 2;
        Core::mergeLanes(Core::nodes(s), half * rule.inner, (count - half) * rule.inner);
        count = half;
      }
    }
    const int64_t results = rule.kind == 2 ? (rule.inner + kChunk - 1) / kChunk : s.accumulators;
    for (int64_t a = 0; a < results; a++) End::template finish<kChunk>(Core::nodes(s)[a], d + a * kChunk);
    if (rule.kind == 2) repeat(d, rule.inner, s.accumulators * kChunk);
  }

  // Lanes that the value of a row goes to: those of its chunk, or one where the values of rows lie side by
  // side.
  static int64_t lanesOf(const Operand& out) { return out.rowStep == 1 ? 1 : kChunk; }

  // Rows of whole chunks, no more of them than a leaf takes: as many rows at a time as a vector has lanes.
  static void wholeSegments(Extent n, int64_t steps, const Operand* const* args, const Operand& out) {
    Out* const d = reinterpret_cast<Out*>(out.data);
    const int64_t secondStep = M::kIndexed ? args[1]->rowStep : 0;
    const int64_t lanes = lanesOf(out);
    for (int64_t row = 0; row < n.rows; row += kLanes<In>) {
      const int64_t count = n.rows - row < kLanes<In> ? n.rows - row : kLanes<In>;
      const Vector<Out> values =
          M::foldedRows(Core::alongChunks(args, row, 0), args[0]->rowStep, secondStep, steps, count);
      if (lanes == 1 && count == kLanes<In>) {
        storeVector(d + row, values);
        continue;
      }
      for (int64_t r = 0; r < count; r++) {
        const Out value = values[r];
        for (int64_t l = 0; l < lanes; l++) d[(row + r) * out.rowStep + l] = value;
      }
    }
  }

  static void segments(Extent n, int64_t valid, const Operand* const* args, const Operand& out) {
    if constexpr (Core::kIsCheap && !Core::kHasNeighbours) {
      if (valid > 0 && valid % kChunk == 0 && valid <= kLeafSteps * kChunk)
        return wholeSegments(n, valid / kChunk, args, out);
    }
    Leaf leaf;
    Node levels[kRowLevels];
    Node node;
    ReduceState s{reinterpret_cast<char*>(&leaf),
                  reinterpret_cast<char*>(levels),
                  reinterpret_cast<char*>(&node),
                  1,
                  0,
                  0};
    for (int64_t row = 0; row < n.rows; row++) {
      const Operand x{args[0]->data + row * args[0]->rowStep * static_cast<int64_t>(sizeof(In)), 0,
                      args[0]->chunkStep, false, args[0]->ahead};
      const Operand* rowArgs[2] = {&x, nullptr};
      Operand index{};
      if constexpr (M::kIndexed) {
        index = {args[1]->data + row * args[1]->rowStep * static_cast<int64_t>(sizeof(Second)), 0,
                 args[1]->chunkStep};
        rowArgs[1] = &index;
      }
      Core::reset(s);
      Core::lanes(s, {1, n.chunks}, valid, rowArgs);
      Core::close(s);
      finishFolded(node, reinterpret_cast<Out*>(out.data) + row * out.rowStep, lanesOf(out));
    }
  }

  static ReduceFunctions functions() {
    return {sizeof(Leaf), sizeof(Node), Core::reset, Core::step, Core::columns,
            Core::lanes,  Core::close,  Core::push,  finish,     segments};
  }
};

}  // namespace
}  // namespace weft::cpu::WEFT_ISA
