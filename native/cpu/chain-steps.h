// The steps that chains are made of (`Chain` in tape.h): each takes a group of lanes in vector registers,
// changes them, and jumps to the next step with them. For files compiled once per instruction set.
//
// A group is all the vectors that go in registers from function to function, and no more than a chunk; where
// a chunk takes half of those registers, a wide group is two chunks. The calls are tail calls, so that a
// chain costs one jump for each step and group, and no memory but operands'.
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

template <typename T>
constexpr bool kHasWideGroups = 2 * kGroupVectors<T> <= kMostVectors;

template <int... I>
struct Indices {};
template <int N, int... I>
struct FirstIndices : FirstIndices<N - 1, N - 1, I...> {};
template <int... I>
struct FirstIndices<0, I...> {
  using Type = Indices<I...>;
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
    return largerOf(a, b);
  }
};
struct VectorMinimum {
  template <typename V>
  static V run(V a, V b) {
    return smallerOf(a, b);
  }
};

template <typename T, typename P = typename FirstIndices<kGroupVectors<T>>::Type>
struct Steps;
template <typename T>
using WideSteps = Steps<T, typename FirstIndices<2 * kGroupVectors<T>>::Type>;

template <typename T, int... I>
struct Steps<T, Indices<I...>> {
  template <int>
  using V = Vector<T>;
  using Run = void (*)(ChainStep*, V<I>...);
  using Function = WEFT_VECTOR_CALL Vector<T> (*)(Vector<T>);
  static constexpr int kVectors = sizeof...(I);
  static constexpr bool kIsWide = kVectors > kGroupVectors<T>;

  // Where a group is: the second half of a wide one may be anywhere.
  struct VectorGroup {
    T* first;
    T* second;
    T* at(int i) const {
      return kIsWide && i >= kVectors / 2 ? second + (i - kVectors / 2) * kLanes<T> : first + i * kLanes<T>;
    }
  };
  static VectorGroup operand(ChainStep* s, int k) {
    char* const data = s->data[k];
    s->data[k] += s->advance[k];
    return {reinterpret_cast<T*>(data), kIsWide ? reinterpret_cast<T*>(data + s->half[k]) : nullptr};
  }
  // Of equal lanes.
  static Vector<T> repeatedOperand(ChainStep* s, int k) {
    return loadVector(reinterpret_cast<const T*>(s->data[k]));
  }
  static Vector<T> at(const VectorGroup& group, int i) { return loadVector(group.at(i)); }

  static void end(ChainStep*, V<I>...) {}
  static void load(ChainStep* s, V<I>...) {
    const VectorGroup x = operand(s, 0);
    return reinterpret_cast<Run>(s[1].run)(s + 1, at(x, I)...);
  }
  // Asks for the operand's group, which is not read here.
  static void prefetch(ChainStep* s, V<I>... v) {
    const VectorGroup x = operand(s, 0);
    ((I * kVectorBytes % 64 == 0 ? __builtin_prefetch(x.at(I)) : void()), ...);
    return reinterpret_cast<Run>(s[1].run)(s + 1, v...);
  }
  static void save(ChainStep* s, V<I>... v) {
    const VectorGroup d = operand(s, 0);
    (storeVector(d.at(I), v), ...);
    return reinterpret_cast<Run>(s[1].run)(s + 1, v...);
  }
  // Past the caches; aligned to 64 bytes.
  static void stream(ChainStep* s, V<I>... v) {
    const VectorGroup d = operand(s, 0);
    (streamVector(d.at(I), v), ...);
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
  // A lane function: its chunks are the group, and what is left of them is not used.
  static void function(ChainStep* s, V<I>... v) {
    constexpr int64_t chunks = kIsWide ? 2 : 1;
    alignas(64) T lanes[chunks * kChunk] = {};
    (storeVector(lanes + I * kLanes<T>, v), ...);
    const Operand operand{reinterpret_cast<char*>(lanes), 0, kChunk};
    const Operand* args[1] = {&operand};
    reinterpret_cast<LaneFunction>(s->data[0])({1, chunks}, operand, args);
    return reinterpret_cast<Run>(s[1].run)(s + 1, loadVector(lanes + I * kLanes<T>)...);
  }
  // With the group as argument `ChainOperand`.
  template <typename F, int ChainOperand>
  static void binary(ChainStep* s, V<I>... v) {
    const VectorGroup x = operand(s, 0);
    return reinterpret_cast<Run>(s[1].run)(
        s + 1, (ChainOperand == 0 ? F::run(v, at(x, I)) : F::run(at(x, I), v))...);
  }
  template <typename F, int ChainOperand>
  static void binaryOfRepeated(ChainStep* s, V<I>... v) {
    const Vector<T> x = repeatedOperand(s, 0);
    return reinterpret_cast<Run>(s[1].run)(s + 1, (ChainOperand == 0 ? F::run(v, x) : F::run(x, v))...);
  }
  // x ? y : a, b: the group is x.
  template <typename F>
  static void choose(ChainStep* s, V<I>... v) {
    const VectorGroup y = operand(s, 0);
    const VectorGroup a = operand(s, 1);
    const VectorGroup b = operand(s, 2);
    return reinterpret_cast<Run>(s[1].run)(s + 1, (F::holds(v, at(y, I)) ? at(a, I) : at(b, I))...);
  }
  template <typename F>
  static void chooseRepeated(ChainStep* s, V<I>... v) {
    const Vector<T> y = repeatedOperand(s, 0);
    const Vector<T> a = repeatedOperand(s, 1);
    const Vector<T> b = repeatedOperand(s, 2);
    return reinterpret_cast<Run>(s[1].run)(s + 1, (F::holds(v, y) ? a : b)...);
  }
  // Takes the group into a leaf, the halves of a wide one into two or one after the other into the same.
  template <typename M>
  static void reduce(ChainStep* s, V<I>... v) {
    const VectorGroup leaf = operand(s, 0);
    const Vector<T> group[] = {v...};
    if (kIsWide && leaf.first == leaf.second) {
#pragma GCC unroll 8
      for (int i = 0; i < kVectors / 2; i++) {
        const Vector<T> first = M::combine(at(leaf, i), group[i]);
        storeVector(leaf.at(i), M::combine(first, group[i + kVectors / 2]));
      }
    } else {
#pragma GCC unroll 8
      for (int i = 0; i < kVectors; i++) storeVector(leaf.at(i), M::combine(at(leaf, i), group[i]));
    }
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

// The arithmetic of steps, by function.
#define WEFT_FORM(name, function, operandCount)           \
  struct name {                                           \
    static constexpr int kOperands = operandCount;        \
    template <typename S>                                 \
    static StepForm of() {                                \
      return {reinterpret_cast<void (*)()>(S::function)}; \
    }                                                     \
  };
WEFT_FORM(End, end, 0)
WEFT_FORM(Load, load, 1)
WEFT_FORM(PrefetchGroup, prefetch, 1)
WEFT_FORM(Save, save, 1)
WEFT_FORM(Stream, stream, 1)
WEFT_FORM(FunctionOfLanes, function, 0)
WEFT_FORM(VectorCall, call, 0)
template <typename F>
WEFT_FORM(UnaryOf, template unary<F>, 0)
template <typename F>
WEFT_FORM(LanesOf, template lanes<F>, 0)
template <typename M>
WEFT_FORM(Take, template reduce<M>, 1)
#undef WEFT_FORM

template <typename F, int ChainOperand>
constexpr Arithmetic kArithmeticOf = Arithmetic::none;
template <int ChainOperand>
constexpr Arithmetic kArithmeticOf<Add, ChainOperand> = Arithmetic::add;
template <int ChainOperand>
constexpr Arithmetic kArithmeticOf<Multiply, ChainOperand> = Arithmetic::multiply;
template <>
constexpr Arithmetic kArithmeticOf<Subtract, 0> = Arithmetic::subtract;
template <>
constexpr Arithmetic kArithmeticOf<Subtract, 1> = Arithmetic::subtractFrom;

template <typename F, int ChainOperand>
struct BinaryOf {
  static constexpr int kOperands = 1;
  static constexpr Arithmetic kArithmetic = kArithmeticOf<F, ChainOperand>;
  template <typename S>
  static StepForm of() {
    return {reinterpret_cast<void (*)()>(S::template binary<F, ChainOperand>),
            reinterpret_cast<void (*)()>(S::template binaryOfRepeated<F, ChainOperand>)};
  }
};
template <typename F>
struct Choose {
  static constexpr int kOperands = 3;
  template <typename S>
  static StepForm of() {
    return {reinterpret_cast<void (*)()>(S::template choose<F>),
            reinterpret_cast<void (*)()>(S::template chooseRepeated<F>)};
  }
};

template <typename T, typename Form>
inline void addStep(Registry& registry, const char* name, void* fixed = nullptr) {
  StepFunction step{Form::template of<Steps<T>>(), {}, Form::kOperands, fixed};
  if constexpr (kHasWideGroups<T>) step.wide = Form::template of<WideSteps<T>>();
  if constexpr (requires { Form::kArithmetic; }) step.arithmetic = Form::kArithmetic;
  registry.addStep(name, kDTypeOf<T>, step);
}

template <typename T>
inline void addDrive(Registry& registry) {
  DriveFunction drive{Steps<T>::drive, nullptr, kGroupLanes<T>};
  if constexpr (kHasWideGroups<T>) drive.wide = WideSteps<T>::drive;
  registry.addDrive(kDTypeOf<T>, drive);
}

}  // namespace
}  // namespace weft::cpu::WEFT_ISA
