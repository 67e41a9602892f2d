// The steps that chains are made of (`Chain` in tape.h): each takes a group of lanes in vector registers,
// changes them, and jumps to the next step with them. For files compiled once per instruction set.
//
// A group is all the vectors that go in registers from function to function, and no more than a chunk. The
// calls are tail calls, so that a chain costs one jump for each step and group, and no memory but operands'.
#pragma once
#include "cpu/scalar-ops.h"

namespace weft::cpu::WEFT_ISA {
namespace {

// Vectors that every calling convention passes in registers.
constexpr int kMostVectors = 8;

template <typename T>
constexpr int kGroupVectors = kChunk / kLanes<T> < kMostVectors ? kChunk / kLanes<T> : kMostVectors;
template <typename T>
constexpr int kGroupLanes = kGroupVectors<T>* kLanes<T>;

template <int... I>
struct Places {};
template <int N, int... I>
struct FirstPlaces : FirstPlaces<N - 1, N - 1, I...> {};
template <int... I>
struct FirstPlaces<0, I...> {
  using Type = Places<I...>;
};

// Applies a function of scalars to the lanes of a vector.
template <typename F, typename T>
inline Vector<T> eachLane(Vector<T> v) {
  alignas(64) T lanes[kLanes<T>];
  storeVector(lanes, v);
  for (int l = 0; l < kLanes<T>; l++) lanes[l] = F::run(lanes[l]);
  return loadVector(lanes);
}

struct VectorAbs {
  template <typename V>
  static V run(V a) {
    using Bits = std::conditional_t<sizeof(a[0]) == 4, uint32_t, uint64_t>;
    return reinterpret_cast<V>(reinterpret_cast<Vector<Bits>>(a) & (~Bits(0) >> 1));
  }
};
struct VectorSqrt {
#if defined(__AVX512F__)
  static Vector<float> run(Vector<float> a) { return _mm512_sqrt_ps(a); }
  static Vector<double> run(Vector<double> a) { return _mm512_sqrt_pd(a); }
#elif defined(__AVX2__)
  static Vector<float> run(Vector<float> a) { return _mm256_sqrt_ps(a); }
  static Vector<double> run(Vector<double> a) { return _mm256_sqrt_pd(a); }
#elif defined(__x86_64__)
  static Vector<float> run(Vector<float> a) { return _mm_sqrt_ps(a); }
  static Vector<double> run(Vector<double> a) { return _mm_sqrt_pd(a); }
#else
  static Vector<float> run(Vector<float> a) { return eachLane<Sqrt, float>(a); }
  static Vector<double> run(Vector<double> a) { return eachLane<Sqrt, double>(a); }
#endif
};
struct VectorReciprocalSqrt {
  template <typename V>
  static V run(V a) {
    return 1 / VectorSqrt::run(a);
  }
};
struct VectorReciprocal {
  template <typename V>
  static V run(V a) {
    return 1 / a;
  }
};
struct VectorNegative {
  template <typename V>
  static V run(V a) {
    return -a;
  }
};
struct VectorMaximum {
  template <typename V>
  static V run(V a, V b) {
    const V larger = a > b ? a : b;
    return a != a ? a : larger;
  }
};
struct VectorMinimum {
  template <typename V>
  static V run(V a, V b) {
    const V smaller = a < b ? a : b;
    return a != a ? a : smaller;
  }
};

template <typename T, typename P = typename FirstPlaces<kGroupVectors<T>>::Type>
struct Steps;

template <typename T, int... I>
struct Steps<T, Places<I...>> {
  template <int>
  using V = Vector<T>;
  using Run = void (*)(ChainStep*, V<I>...);
  using Function = WEFT_VECTOR_CALL Vector<T> (*)(Vector<T>);

  static const T* operand(ChainStep* s, int k) {
    const T* data = reinterpret_cast<const T*>(s->data[k]);
    s->data[k] += s->advance[k];
    return data;
  }
  static T* result(ChainStep* s) { return const_cast<T*>(operand(s, 0)); }
  static Vector<T> at(const T* data, int i) { return loadVector(data + i * kLanes<T>); }

  static void end(ChainStep*, V<I>...) {}
  static void load(ChainStep* s, V<I>...) {
    const T* x = operand(s, 0);
    return reinterpret_cast<Run>(s[1].run)(s + 1, at(x, I)...);
  }
  // Asks for the operand's group, which is not read here.
  static void prefetch(ChainStep* s, V<I>... v) {
    const T* x = operand(s, 0);
    ((I * kVectorBytes % 64 == 0 ? __builtin_prefetch(x + I * kLanes<T>) : void()), ...);
    return reinterpret_cast<Run>(s[1].run)(s + 1, v...);
  }
  static void save(ChainStep* s, V<I>... v) {
    T* d = result(s);
    (storeVector(d + I * kLanes<T>, v), ...);
    return reinterpret_cast<Run>(s[1].run)(s + 1, v...);
  }
  // Past the caches; aligned to 64 bytes.
  static void stream(ChainStep* s, V<I>... v) {
    T* d = result(s);
    (streamVector(d + I * kLanes<T>, v), ...);
    return reinterpret_cast<Run>(s[1].run)(s + 1, v...);
  }
  template <typename F>
  static void unary(ChainStep* s, V<I>... v) {
    return reinterpret_cast<Run>(s[1].run)(s + 1, F::run(v)...);
  }
  // A function without a form for vectors.
  template <typename F>
  static void lanes(ChainStep* s, V<I>... v) {
    return reinterpret_cast<Run>(s[1].run)(s + 1, eachLane<F, T>(v)...);
  }
  // A function of a vector library's.
  static void call(ChainStep* s, V<I>... v) {
    const Function function = reinterpret_cast<Function>(s->data[0]);
    return reinterpret_cast<Run>(s[1].run)(s + 1, function(v)...);
  }
  // A lane function: its chunk is the group, and what is left of it is not used.
  static void function(ChainStep* s, V<I>... v) {
    alignas(64) T chunk[kChunk] = {};
    (storeVector(chunk + I * kLanes<T>, v), ...);
    const Operand lanes{reinterpret_cast<char*>(chunk), 0, 0};
    const Operand* args[1] = {&lanes};
    reinterpret_cast<LaneFunction>(s->data[0])({1, 1}, lanes, args);
    return reinterpret_cast<Run>(s[1].run)(s + 1, at(chunk, I)...);
  }
  // With the group as argument `Place`.
  template <typename F, int Place>
  static void binary(ChainStep* s, V<I>... v) {
    const T* x = operand(s, 0);
    return reinterpret_cast<Run>(s[1].run)(s + 1,
                                           (Place == 0 ? F::run(v, at(x, I)) : F::run(at(x, I), v))...);
  }
  // x ? y : a, b: the group is x.
  template <typename F>
  static void choose(ChainStep* s, V<I>... v) {
    const T* y = operand(s, 0);
    const T* a = operand(s, 1);
    const T* b = operand(s, 2);
    return reinterpret_cast<Run>(s[1].run)(s + 1, (F::holds(v, at(y, I)) ? at(a, I) : at(b, I))...);
  }
  // Takes the group into a leaf.
  template <typename M>
  static void reduce(ChainStep* s, V<I>... v) {
    T* leaf = result(s);
    (storeVector(leaf + I * kLanes<T>, M::combine(at(leaf, I), v)), ...);
    return reinterpret_cast<Run>(s[1].run)(s + 1, v...);
  }

  static void drive(ChainStep* first, int64_t groups) {
    const Vector<T> none{};
    for (int64_t g = 0; g < groups; g++) reinterpret_cast<Run>(first->run)(first, ((void)I, none)...);
#if defined(__AVX__)
    // Steps end with values in wide registers, which code for older processors would have to wait for.
    _mm256_zeroupper();
#endif
  }

 private:
  static void streamVector(T* to, Vector<T> v) {
#if defined(__AVX512F__)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to), reinterpret_cast<__m512i>(v));
#elif defined(__AVX2__)
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to), reinterpret_cast<__m256i>(v));
#elif defined(__x86_64__)
    _mm_stream_si128(reinterpret_cast<__m128i*>(to), reinterpret_cast<__m128i>(v));
#else
    storeVector(to, v);
#endif
  }
};

template <typename T>
inline void addStep(Registry& registry, const char* name, typename Steps<T>::Run run, int operands,
                    void* fixed = nullptr) {
  registry.addStep(name, kDTypeOf<T>, {reinterpret_cast<void (*)()>(run), operands, fixed});
}

}  // namespace
}  // namespace weft::cpu::WEFT_ISA
