// Reductions whose accumulator is a tuple: positions of extremes, squared deviations, log-sum-exp. Compiled
// once per instruction set.
#include "cpu/accumulate.h"

namespace weft::cpu::WEFT_ISA {
namespace {

static_assert(kLeafSteps < 128, "steps of a leaf are counted in eight bits");

// The value furthest to one side with its index; of equals the least index, and a NaN before all.
template <typename T, bool IsMax>
struct Position {
  using In = T;
  using Out = int64_t;
  struct Leaf {
    alignas(64) T v[kChunk];
    alignas(64) int64_t i[kChunk];
  };
  using Node = Leaf;
  using Second = int64_t;
  static constexpr bool kIndexed = true;
  static constexpr bool kCounts = false;
  static constexpr bool kFolds = false;
  static constexpr bool kWhole = false;

  // Loses to every element on its index, if not on its value.
  static T pad() {
    if constexpr (std::is_same_v<T, float>)
      return IsMax ? -__builtin_inff() : __builtin_inff();
    else if constexpr (std::is_same_v<T, double>)
      return IsMax ? -__builtin_inf() : __builtin_inf();
    else {
      constexpr T most =
          std::is_signed_v<T> ? static_cast<T>((uint64_t{1} << (sizeof(T) * 8 - 1)) - 1) : static_cast<T>(-1);
      constexpr T least = std::is_signed_v<T> ? static_cast<T>(-most - 1) : T(0);
      return IsMax ? least : most;
    }
  }
  static int64_t padSecond() { return INT64_MAX; }
  static bool wins(T a, int64_t i, T b, int64_t k) {
    const bool better = IsMax ? a > b : a < b;
    const bool same = a == b || (a != a && b != b);
    return better || (a != a && b == b) || (same && i < k);
  }
  template <int N = kChunk>
  static void take(Node& node, const T* x, const int64_t* index) {
#pragma GCC ivdep
    for (int l = 0; l < N; l++) {
      const bool won = wins(x[l], index[l], node.v[l], node.i[l]);
      node.v[l] = won ? x[l] : node.v[l];
      node.i[l] = won ? index[l] : node.i[l];
    }
  }
  static void open(Leaf& leaf) {
    for (int l = 0; l < kChunk; l++) {
      leaf.v[l] = pad();
      leaf.i[l] = INT64_MAX;
    }
  }
  // Steps of a run are counted in the elements' own width; only the winners' indices are looked up. Of equal
  // elements the first step wins, which is right where indices grow along the steps.
  static WEFT_ONCE void run(Leaf& leaf, const Source<T>& from, int64_t count) {
    if (count > 1 && from.index[from.indexStride] <= from.index[0]) {
      for (int64_t k = 0; k < count; k++)
        take(leaf, from.x + k * from.stride, from.index + k * from.indexStride);
      return;
    }
    using Step = std::conditional_t<
        sizeof(T) == 1, int8_t,
        std::conditional_t<sizeof(T) == 2, int16_t, std::conditional_t<sizeof(T) == 4, int32_t, int64_t>>>;
    alignas(64) T best[kChunk];
    alignas(64) Step at[kChunk];
    for (int l = 0; l < kChunk; l++) {
      best[l] = from.x[l];
      at[l] = 0;
    }
    for (int64_t k = 1; k < count; k++) {
      const T* x = from.x + k * from.stride;
      const Step step = static_cast<Step>(k);
#pragma GCC ivdep
      for (int l = 0; l < kChunk; l++) {
        const T a = x[l];
        const T b = best[l];
        // A NaN wins over numbers, and stays.
        bool won = IsMax ? a > b : a < b;
        if constexpr (std::is_floating_point_v<T>) won = won | ((a != a) & (b == b));
        best[l] = won ? a : b;
        at[l] = won ? step : at[l];
      }
    }
    alignas(64) int64_t index[kChunk];
    for (int l = 0; l < kChunk; l++) index[l] = from.index[at[l] * from.indexStride + l];
    take(leaf, best, index);
  }
  static void close(const Leaf& leaf, Node& node) { node = leaf; }
  template <int N>
  static void merge(Node& a, const Node& b, int offset) {
    take<N>(a, b.v + offset, b.i + offset);
  }
  static void copyLane(Node& to, int64_t i, const Node& from, int64_t k) {
    to.v[i] = from.v[k];
    to.i[i] = from.i[k];
  }
  template <int N>
  static int64_t finish(const Node& node, int64_t* d) {
    for (int l = 0; l < N; l++) d[l] = node.i[l];
    return node.i[0];
  }
};

// Sum of squared deviations. A leaf keeps sums of x - s and its square for s the lane's first element: since
// s is one of the elements, what cancels is at most a leaf's length times the result. Leaves meet as in Chan,
// Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances" (1979).
// Squares that overflow stay infinite; the mean beside them no longer counts and is 0, since the difference
// of two infinities would be NaN. Elements that are not finite make squares NaN. Parts: 1, or 2 for complex.
template <typename T, int Parts>
struct Deviations {
  struct Complex {
    T part[Parts];
  };
  using In = std::conditional_t<Parts == 1, T, Complex>;
  using Out = T;
  struct Leaf {
    alignas(64) T n[kChunk];
    T squares[kChunk];
    T shift[Parts][kChunk];
    T sum[Parts][kChunk];
  };
  struct Node {
    alignas(64) T n[kChunk];
    T squares[kChunk];
    T mean[Parts][kChunk];
  };
  using Second = int64_t;
  static constexpr bool kIndexed = false;
  static constexpr bool kCounts = true;
  static constexpr bool kFolds = false;
  static constexpr bool kWhole = Parts == 1;

  static void open(Leaf& leaf) {
    for (int l = 0; l < kChunk; l++) {
      leaf.n[l] = leaf.squares[l] = 0;
      for (int p = 0; p < Parts; p++) leaf.shift[p][l] = leaf.sum[p][l] = 0;
    }
  }
  static void take(Leaf& leaf, const T* x, int64_t lanes) {
    for (int p = 0; p < Parts; p++) {
#pragma GCC ivdep
      for (int64_t l = 0; l < lanes; l++) {
        const T value = x[l * Parts + p];
        const T shift = leaf.n[l] == 0 ? value : leaf.shift[p][l];
        const T difference = value - shift;
        leaf.shift[p][l] = shift;
        leaf.sum[p][l] += difference;
        // The second summand is 0, but NaN for what is not finite.
        leaf.squares[l] += difference * difference + (value - value);
      }
    }
#pragma GCC ivdep
    for (int64_t l = 0; l < lanes; l++) leaf.n[l] += 1;
  }
  static bool isZero(Vector<T> v) {
    T sum = 0;
    for (int l = 0; l < kLanes<T>; l++) sum += v[l];
    return sum == 0;
  }
  // Squares and mean of those lanes of a leaf, from `first` on, whose sums of squares, `all`, are not finite.
  static WEFT_ONCE void settle(const Source<In>& from, int first, Vector<T> all, Vector<T>& squares,
                               Vector<T>& mean) {
    for (int l = 0; l < kLanes<T>; l++) {
      if (all[l] - all[l] == 0) continue;
      T undefined = 0;
      for (int64_t k = 0; k < kLeafSteps; k++) {
        const T value = parts(from.x + k * from.stride)[first + l];
        undefined += value - value;
      }
      squares[l] = static_cast<T>(__builtin_inf()) + undefined;
      mean[l] = 0;
    }
  }
  static const T* parts(const In* x) { return reinterpret_cast<const T*>(x); }
  static void run(Leaf& leaf, const Source<In>& from, int64_t count) {
    for (int64_t k = 0; k < count; k++) take(leaf, parts(from.x + k * from.stride), kChunk);
  }
  // As many vectors at a time as there are registers for, three each: a leaf is then read in few passes, and
  // in one with AVX-512. Two of float64 took 13.8 ms of a core for 2^24 elements, as hardware asks for no
  // line ahead where every other 256 bytes are left out; one takes 8.2.
#if defined(__AVX512F__)
  static constexpr int kMostVectors = 8;
#else
  static constexpr int kMostVectors = 4;
#endif
  static constexpr int kVectors = kChunk / kLanes<T>;
  static constexpr int kGroup = kVectors < kMostVectors ? kVectors : kMostVectors;

  static constexpr int64_t kTogether = 1;

  // As run and close of a leaf of all its steps, and its merges.
  template <int64_t Leaves>
  static void runWhole(const Source<In>& from, Node* levels, int64_t stride, int64_t leaves) {
    static_assert(Leaves == kTogether);
    for (int l = 0; l < kChunk; l += kGroup * kLanes<T>) {
      Vector<T> shift[kGroup], sum[kGroup], squares[kGroup];
      const T* x = parts(from.x) + l;
#pragma GCC unroll 8
      for (int v = 0; v < kGroup; v++) {
        shift[v] = loadVector(x + v * kLanes<T>);
        // Not 0: an infinite or undefined element has to show.
        sum[v] = shift[v] - shift[v];
        squares[v] = sum[v] * sum[v];
      }
      for (int64_t k = 1; k < kLeafSteps; k++) {
        x += from.stride;
#pragma GCC unroll 8
        for (int v = 0; v < kGroup; v++) {
          const Vector<T> difference = loadVector(x + v * kLanes<T>) - shift[v];
          sum[v] += difference;
          squares[v] += difference * difference;
        }
      }
      const T steps = kLeafSteps;
      Vector<T> n[kGroup], all[kGroup], undefined{};
#pragma GCC unroll 8
      for (int v = 0; v < kGroup; v++) {
        all[v] = squares[v];
        undefined += all[v] - all[v];
        // In this order, since the square of the sum may overflow where the squares do not.
        squares[v] -= sum[v] * (1 / steps) * sum[v];
        squares[v] = squares[v] < 0 ? Vector<T>{} : squares[v];
        // The mean from here on.
        sum[v] = shift[v] + sum[v] * (1 / steps);
        n[v] = Vector<T>{} + steps;
      }
      if (!isZero(undefined)) {
        for (int v = 0; v < kGroup; v++) settle(from, l + v * kLanes<T>, all[v], squares[v], sum[v]);
      }
      Node* level = levels;
      for (int64_t left = leaves; left & 1; left >>= 1) {
#pragma GCC unroll 8
        for (int v = 0; v < kGroup; v++) {
          const int at = l + v * kLanes<T>;
          const Vector<T> mean = loadVector(level->mean[0] + at);
          const Vector<T> apart = sum[v] - mean;
          // Leaves that end with a row have fewer elements in some lanes.
          const Vector<T> earlier = loadVector(level->n + at);
          const Vector<T> share = n[v] / (earlier + n[v]);
          sum[v] = mean + apart * share;
          squares[v] = loadVector(level->squares + at) + squares[v] + apart * (earlier * share) * apart;
          sum[v] = squares[v] - squares[v] == 0 ? sum[v] : Vector<T>{};
          n[v] += earlier;
        }
        level += stride;
      }
#pragma GCC unroll 8
      for (int v = 0; v < kGroup; v++) {
        const int at = l + v * kLanes<T>;
        storeVector(level->mean[0] + at, sum[v]);
        storeVector(level->squares + at, squares[v]);
        storeVector(level->n + at, n[v]);
      }
    }
  }
  static void runPart(Leaf& leaf, const Source<In>& from, int64_t valid) { take(leaf, parts(from.x), valid); }
  static void close(const Leaf& leaf, Node& node) {
    for (int l = 0; l < kChunk; l++) {
      const T n = leaf.n[l];
      const T share = n == 0 ? T(0) : T(1) / n;
      T squares = leaf.squares[l];
      const bool isFinite = squares - squares == 0;
      for (int p = 0; p < Parts; p++) {
        const T sum = leaf.sum[p][l];
        node.mean[p][l] = isFinite ? leaf.shift[p][l] + sum * share : T(0);
        squares = isFinite ? squares - sum * share * sum : squares;
      }
      node.n[l] = n;
      // Rounding may leave less than nothing; NaN stays.
      node.squares[l] = squares < 0 ? T(0) : squares;
    }
  }
  template <int N>
  static void merge(Node& a, const Node& b, int offset) {
#pragma GCC ivdep
    for (int l = 0; l < N; l++) {
      const int k = l + offset;
      const T n = a.n[l] + b.n[k];
      const T share = n == 0 ? T(0) : b.n[k] / n;
      T squares = a.squares[l] + b.squares[k];
      for (int p = 0; p < Parts; p++) {
        const T apart = b.mean[p][k] - a.mean[p][l];
        a.mean[p][l] += apart * share;
        // Weighed before it is squared: an empty side must not meet an infinity.
        squares += apart * (a.n[l] * share) * apart;
      }
      a.n[l] = n;
      a.squares[l] = squares;
      for (int p = 0; p < Parts; p++) a.mean[p][l] = squares - squares == 0 ? a.mean[p][l] : T(0);
    }
  }
  static void copyLane(Node& to, int64_t i, const Node& from, int64_t k) {
    to.n[i] = from.n[k];
    to.squares[i] = from.squares[k];
    for (int p = 0; p < Parts; p++) to.mean[p][i] = from.mean[p][k];
  }
  template <int N>
  static T finish(const Node& node, T* d) {
    for (int l = 0; l < N; l++) d[l] = node.squares[l];
    return node.squares[0];
  }
};

// Lane functions found in the registry when the reductions are entered into it.
template <typename T>
LaneFunction expOf = nullptr;
template <typename T>
LaneFunction logOf = nullptr;

template <typename T>
void applyTo(LaneFunction function, T* chunk) {
  const Operand operand{reinterpret_cast<char*>(chunk), kChunk, kChunk};
  const Operand* const args[] = {&operand};
  function({1, 1}, operand, args);
}

// Sums of exponentials, and their logarithms: the largest element and the sum of e^(x - base), where base is
// that element if finite. The steps of a leaf are added up together, so that it makes no difference how many
// come at a time.
template <typename T>
struct Exponentials {
  using In = T;
  using Out = T;
  struct Node {
    alignas(64) T most[kChunk];
    alignas(64) T sum[kChunk];
  };
  // The steps so far, unless all of them came at once.
  struct Leaf {
    Node node;
    int64_t steps;
    alignas(64) T x[kLeafSteps * kChunk];
  };
  using Second = int64_t;
  static constexpr bool kIndexed = false;
  static constexpr bool kCounts = false;
  static constexpr bool kFolds = false;
  static constexpr bool kWhole = false;
  static constexpr T kInfinity = static_cast<T>(__builtin_inf());

  static T pad() { return -kInfinity; }
  static T base(T most) { return most - most == 0 ? most : T(0); }
  static T larger(T a, T b) { return a != a ? a : a > b ? a : b; }

  static void open(Leaf& leaf) {
    leaf.steps = 0;
    for (int l = 0; l < kChunk; l++) {
      leaf.node.most[l] = -kInfinity;
      leaf.node.sum[l] = 0;
    }
  }
  // Rescales a sum to a larger maximum. An empty sum stays so whatever the bases are.
  static WEFT_ONCE void raise(Node& leaf, const T* most) {
    alignas(64) T factor[kChunk];
    for (int l = 0; l < kChunk; l++) {
      factor[l] = leaf.sum[l] == 0 ? T(0) : base(leaf.most[l]) - base(most[l]);
    }
    applyTo(expOf<T>, factor);
    for (int l = 0; l < kChunk; l++) {
      leaf.sum[l] *= factor[l];
      leaf.most[l] = most[l];
    }
  }
  static void addUp(Node& node, const T* from, int64_t stride, int64_t count) {
    for (int64_t k = 0; k < count; k++) {
      const T* x = from + k * stride;
      for (int l = 0; l < kChunk; l++) node.most[l] = larger(node.most[l], x[l]);
    }
    for (int64_t k = 0; k < count; k++) {
      const T* x = from + k * stride;
      alignas(64) T term[kChunk];
      for (int l = 0; l < kChunk; l++) term[l] = x[l] - base(node.most[l]);
      applyTo(expOf<T>, term);
      for (int l = 0; l < kChunk; l++) node.sum[l] += term[l];
    }
  }
  static void run(Leaf& leaf, const Source<T>& from, int64_t count) {
    if (count == kLeafSteps) return addUp(leaf.node, from.x, from.stride, count);
    for (int64_t k = 0; k < count; k++, leaf.steps++) {
      const T* x = from.x + k * from.stride;
      for (int l = 0; l < kChunk; l++) leaf.x[leaf.steps * kChunk + l] = x[l];
    }
  }
  static void close(const Leaf& leaf, Node& node) {
    node = leaf.node;
    if (leaf.steps > 0) addUp(node, leaf.x, kChunk, leaf.steps);
  }
  // All lanes go through the vector functions, whether they are wanted or not.
  static WEFT_ONCE void mergeAll(Node& a, const Node& b, int offset) {
    Node other;
    alignas(64) T most[kChunk];
    for (int l = 0; l < kChunk; l++) {
      const int k = (l + offset) % kChunk;
      other.most[l] = b.most[k];
      other.sum[l] = b.sum[k];
      most[l] = larger(a.most[l], other.most[l]);
    }
    raise(a, most);
    raise(other, most);
    for (int l = 0; l < kChunk; l++) a.sum[l] += other.sum[l];
  }
  template <int N>
  static void merge(Node& a, const Node& b, int offset) {
    mergeAll(a, b, offset);
  }
  static void copyLane(Node& to, int64_t i, const Node& from, int64_t k) {
    to.most[i] = from.most[k];
    to.sum[i] = from.sum[k];
  }
};

// The sum, or its logarithm.
template <typename T, bool kIsLog>
struct EndOfExponentials : Exponentials<T> {
  using typename Exponentials<T>::Node;
  template <int N>
  static T finish(const Node& node, T* d) {
    alignas(64) T result[kChunk];
    for (int l = 0; l < kChunk; l++) result[l] = node.sum[l];
    if constexpr (kIsLog) applyTo(logOf<T>, result);
    for (int l = 0; l < kChunk; l++) {
      const T most = node.most[l];
      // e^(x - most) is NaN of an infinity.
      if constexpr (kIsLog)
        result[l] = most != most ? most : result[l] + EndOfExponentials::base(most);
      else
        result[l] += most - most;
    }
    for (int l = 0; l < N; l++) d[l] = result[l];
    return result[0];
  }
};

template <typename T>
void addPositions(Registry& registry, DType dtype) {
  registry.addReduction("argmin", dtype, Reducer<Position<T, false>>::functions());
  registry.addReduction("argmax", dtype, Reducer<Position<T, true>>::functions());
}

template <typename T>
void addExponentials(Registry& registry) {
  expOf<T> = registry.op("exp", kDTypeOf<T>);
  logOf<T> = registry.op("log", kDTypeOf<T>);
  registry.addReduction("logsumexp", kDTypeOf<T>,
                        Reducer<Exponentials<T>, EndOfExponentials<T, true>>::functions());
  registry.addReduction("sumexp", kDTypeOf<T>,
                        Reducer<Exponentials<T>, EndOfExponentials<T, false>>::functions());
}

}  // namespace

void addStatistics(Registry& registry) {
  addPositions<uint8_t>(registry, DType::boolean);
  addPositions<int8_t>(registry, DType::int8);
  addPositions<int16_t>(registry, DType::int16);
  addPositions<int32_t>(registry, DType::int32);
  addPositions<int64_t>(registry, DType::int64);
  addPositions<uint8_t>(registry, DType::uint8);
  addPositions<uint16_t>(registry, DType::uint16);
  addPositions<uint32_t>(registry, DType::uint32);
  addPositions<uint64_t>(registry, DType::uint64);
  addPositions<float>(registry, DType::float32);
  addPositions<double>(registry, DType::float64);
  registry.addReduction("squaredDeviations", DType::float32, Reducer<Deviations<float, 1>>::functions());
  registry.addReduction("squaredDeviations", DType::float64, Reducer<Deviations<double, 1>>::functions());
  registry.addReduction("squaredDeviations", DType::complex64, Reducer<Deviations<float, 2>>::functions());
  registry.addReduction("squaredDeviations", DType::complex128, Reducer<Deviations<double, 2>>::functions());
  addExponentials<float>(registry);
  addExponentials<double>(registry);
}

}  // namespace weft::cpu::WEFT_ISA
