// The functions that fill a registry: one set of functions for each instruction set, and those compiled once
// for all.
#pragma once
#include "cpu/lanes.h"

namespace weft::cpu {

// One lane at a time through the C library; vector versions replace what they can.
void addScalarMath(Registry& registry);
// Gamma and beta functions, Bessel functions: one lane at a time.
void addSpecial(Registry& registry);
// Complex arithmetic and functions.
void addComplex(Registry& registry);

#define WEFT_DECLARE_ISA(isa)              \
  namespace isa {                          \
  void addArithmetic(Registry& registry);  \
  void addComparisons(Registry& registry); \
  void addIntegers(Registry& registry);    \
  void addMath(Registry& registry);        \
  void addRandom(Registry& registry);      \
  void addDraws(Registry& registry);       \
  void addFused(Registry& registry);       \
  void addChains(Registry& registry);      \
  void addCasts(Registry& registry);       \
  void addReductions(Registry& registry);  \
  void addStatistics(Registry& registry);  \
  void addMoves(Registry& registry);       \
  void addAll(Registry& registry);         \
  }
WEFT_DECLARE_ISA(baseline)
#if defined(__x86_64__)
WEFT_DECLARE_ISA(avx2)
WEFT_DECLARE_ISA(avx512)
#endif
#undef WEFT_DECLARE_ISA

// The address of a function of glibc's vector math library, such as "_ZGVeN16v_expf", or nullptr.
void* vectorMath(const char* symbol);
// Where the library was found, or nullptr.
const char* vectorMathPath();

}  // namespace weft::cpu
